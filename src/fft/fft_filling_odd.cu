/* SPDX-License-Identifier: Apache-2.0 */
/* Dense lines of f32 that fill a multiprocessor, of an odd length A B A, in place: a set's results
 * are where its numbers were, so threads wait for each other only between stages. With
 * j = j2 + A j1 and results k = k1 + A k2 + A B k3 (decimation in frequency),
 *
 *     stage 1  numbers A B apart,                  results k1 times w(A B A)^(j k1)
 *     stage 2  of each k1, numbers A apart,        results k2 times w(A B)^(j2 k2)
 *     stage 3  of each k1 and k2, A numbers next to each other.
 *
 * As all distances are odd, few accesses meet a bank twice. As in fft_filling.cu one block goes
 * from line to line, copies bring the first rows of the next line beside this one, and the others
 * where this line was; what it does for other lines would take these 6 to 9 % longer (an H200). */
#include "cuda/ahead.cuh"
#include "cuda/anew.cuh"
#include "cuda/async.cuh"
#include "cuda/bulk.cuh"
#include "cuda/prefetch.cuh"
#include "fft/fft_cuda.h"
#include "fft/fft_few.cuh"
#include "fft/fft_shape.cuh"

namespace {

constexpr unsigned odd_optin = 227 << 10; /* shared memory of a block, 9.0 */

/* Sets of a stage are shared by `apart` threads; a thread's are so far apart. */
template <int A_, int B_, int apart_>
struct odd_shape {
    static constexpr int A = A_, B = B_, n = A * B * A, width = A * B;
    static constexpr int apart = apart_, threads = (apart + 31) / 32 * 32;
    static constexpr int sets = (A * A + apart - 1) / apart, columns = (width + apart - 1) / apart;
    static constexpr unsigned radix[] = {A, B, A};
    /* Numbers of shared memory: the line, and rows of the next one. */
    static constexpr int most = (int)odd_optin / 8 - 16, line = n + 3,
                         fit = (most - line - 4) / width, rows = fit < A ? fit : A - 1;
    static constexpr int ahead = (rows * width + 5) / 2 * 2;
    static constexpr size_t bytes = (line + ahead) * sizeof(wi_fft_number<float>);
    static_assert(n % 2 == 1 && apart % A == 0, "distances, and sets with the same twiddles");

    /* Set i of thread j, of so many; one of another if it has none. */
    template <int all>
    static __device__ __forceinline__ bool has(unsigned j, int i) {
        return (i + 1) * apart <= all || j + (unsigned)(i * apart) < (unsigned)all;
    }
    template <int all>
    static __device__ __forceinline__ unsigned set_of(unsigned j, int i) {
        return has<all>(j, i) ? j + (unsigned)(i * apart) : j;
    }
};

/* How lines come to shared memory. A line at an odd place begins one number further on, for copies
 * bring pieces of two; what is alone at an end comes by itself. */
template <class Shape>
struct odd_copies {
    using number = wi_fft_number<float>;
    static constexpr unsigned early_numbers = Shape::rows * Shape::width, n = Shape::n;
    number *line, *ahead;     /* shared */
    wi_barrier *early, *late; /* the two parts of a line are there */

    static __device__ __forceinline__ unsigned shift_of(const number *x) {
        return (unsigned)((uintptr_t)x / sizeof(number)) % 2;
    }
    __device__ __forceinline__ number *edge() const {
        return ahead + (early_numbers + 2);
    }
    __device__ __forceinline__ void bring_early(const number *x) const {
        const unsigned shift = shift_of(x), to = early_numbers + (shift + early_numbers) % 2,
                       from = early_numbers - (shift + early_numbers) % 2;
        const uint32_t bytes = (to - shift) * (uint32_t)sizeof(number);
        wi_barrier_arrive_expect(early, bytes);
        wi_bulk_load(ahead + 2 * shift, x + shift, bytes, early);
        if (shift)
            wi_async_copy<sizeof(number)>(ahead + 1, x);
        if ((shift + n) % 2)
            wi_async_copy<sizeof(number)>(edge(), x + (n - 1));
        wi_async_commit();
        wi_bulk_prefetch(x + from, (n - (shift + n) % 2 - from) * (uint32_t)sizeof(number));
    }
    __device__ __forceinline__ void bring_late(const number *x) const {
        const unsigned shift = shift_of(x), from = early_numbers - (shift + early_numbers) % 2;
        const uint32_t bytes = (n - (shift + n) % 2 - from) * (uint32_t)sizeof(number);
        wi_barrier_arrive_expect(late, bytes);
        wi_bulk_load(line + (shift + from), x + from, bytes, late);
    }
    /* By one thread, before any waits. */
    __device__ __forceinline__ void begin(const number *x) const {
        wi_barrier_init(early, 1);
        wi_barrier_init(late, 1);
        wi_barrier_publish();
        bring_early(x);
        bring_late(x);
        wi_async_wait<0>();
    }
    __device__ __forceinline__ void await(unsigned parity) const {
        wi_barrier_wait(early, parity);
        wi_barrier_wait(late, parity);
    }

    /* Set b of the first stage. */
    __device__ __forceinline__ void take(const number *base, unsigned shift, unsigned b, float *re,
                                         float *im) const {
        constexpr unsigned width = Shape::width;
        const bool is_edge = b == width - 1 && (shift + n) % 2;
#pragma unroll
        for (unsigned k = 0; k < (unsigned)Shape::A; k++) {
            const number *from =
                k < (unsigned)Shape::rows ? ahead + (shift + b) + k * width : base + b + k * width;
            if (k + 1 == (unsigned)Shape::A)
                from = is_edge ? edge() : from;
            const number v = *from;
            re[k] = v.re;
            im[k] = v.im;
        }
    }
};

/* Transforms a set, and puts results, turned, so far apart. */
template <int R>
__device__ __forceinline__ void odd_put(wi_fft_number<float> *to, int step, bool is,
                                        const wi_fft_few<R, float> &w, float *re, float *im) {
    wi_fft_butterfly<R>(re, im);
    if (!is)
        return;
    to[0] = {re[0], im[0]};
#pragma unroll
    for (int k = 1; k < R; k++)
        to[k * step] = wi_fft_product(wi_fft_number<float>{re[k], im[k]}, w.at(k));
}

/* The stages of a line that begins at `base`; a thread without sets does those of another, and puts
 * nothing. */
template <class Shape>
struct odd_thread {
    using number = wi_fft_number<float>;
    static constexpr int A = Shape::A, B = Shape::B, width = Shape::width;
    const wi_fft_pass<float> &p;
    number *base;
    unsigned j;
    bool has_set;

    /* `first`: twiddles of column 0; of the others they are loaded. */
    __device__ __forceinline__ void first_stage(const odd_copies<Shape> &copies, unsigned shift,
                                                wi_fft_few<A, float> w) const {
        float re[Shape::columns][A], im[Shape::columns][A];
#pragma unroll
        for (int c = 0; c < Shape::columns; c++)
            copies.take(base, shift, Shape::template set_of<width>(j, c), re[c], im[c]);
#pragma unroll
        for (int c = 0; c < Shape::columns; c++) {
            const unsigned b = Shape::template set_of<width>(j, c);
            if (p.sign_in < 0) {
#pragma unroll
                for (int k = 0; k < A; k++)
                    im[c][k] *= p.sign_in;
            }
            if (c > 0)
                w.load(p.twiddles + (B - 1) * A + b, width);
            odd_put<A>(base + b, width, has_set && Shape::template has<width>(j, c), w, re[c],
                       im[c]);
        }
    }
    __device__ __forceinline__ void middle_stage(const wi_fft_few<B, float> &w) const {
        float re[Shape::sets][B], im[Shape::sets][B];
#pragma unroll
        for (int i = 0; i < Shape::sets; i++) {
            const unsigned b = Shape::template set_of<A * A>(j, i);
            const number *const from = base + b / A * width + b % A;
#pragma unroll
            for (int k = 0; k < B; k++) {
                const number v = from[k * A];
                re[i][k] = v.re;
                im[i][k] = v.im;
            }
        }
#pragma unroll
        for (int i = 0; i < Shape::sets; i++) {
            const unsigned b = Shape::template set_of<A * A>(j, i);
            odd_put<B>(base + b / A * width + b % A, A, has_set && Shape::template has<A * A>(j, i),
                       w, re[i], im[i]);
        }
    }
    /* `meanwhile` is done when the line has been read. */
    template <class Work>
    __device__ __forceinline__ void last_stage(unsigned line, const Work &meanwhile) const {
        float re[Shape::columns][A], im[Shape::columns][A];
#pragma unroll
        for (int c = 0; c < Shape::columns; c++) {
            const unsigned b = Shape::template set_of<width>(j, c);
            const number *const from = base + b % A * width + b / A * A;
#pragma unroll
            for (int k = 0; k < A; k++) {
                const number v = from[k];
                re[c][k] = v.re;
                im[c][k] = v.im;
            }
        }
        meanwhile();
        number *const y = p.y + wi_fft_place_of(p.grid, wi_anew(line), -1).out;
#pragma unroll
        for (int c = 0; c < Shape::columns; c++) {
            wi_fft_butterfly<A>(re[c], im[c]);
            if (!has_set || !Shape::template has<width>(j, c))
                continue;
            number *const to = y + Shape::template set_of<width>(j, c);
#pragma unroll
            for (int k = 0; k < A; k++)
                to[k * width] = {re[c][k] * p.scale_re, im[c][k] * p.scale_im};
        }
    }
};

} // namespace

/* Line number k. */
static __device__ __forceinline__ const wi_fft_number<float> *odd_line(const wi_fft_pass<float> &p,
                                                                       unsigned k) {
    return p.x + wi_fft_place_of(p.grid, k, -1).in;
}

/* Below 9.0, which has no such copies, it is not launched. */
template <class Shape>
static __global__ void __launch_bounds__(Shape::threads, 1)
    odd_lines(const __grid_constant__ wi_fft_pass<float> p, unsigned lines) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using number = wi_fft_number<float>;
    constexpr int A = Shape::A, B = Shape::B;
    WEFT_DYNAMIC_SHARED(shared);
    WEFT_SHARED(wi_barrier, arrived, [2]);
    number *const numbers = (number *)shared;
    const odd_copies<Shape> copies = {numbers, numbers + Shape::line, &arrived[0], &arrived[1]};
    const bool is_first = threadIdx.x == 0, has_set = threadIdx.x < Shape::apart;
    const unsigned j = has_set ? threadIdx.x : Shape::apart - 1;
    wi_wait_for_earlier();
    if (is_first)
        copies.begin(odd_line(p, blockIdx.x));
    __syncthreads();
    unsigned parity = 0;
#    pragma unroll 1
    for (unsigned k = blockIdx.x; k < lines; k += gridDim.x, parity ^= 1) {
        const bool brings = is_first && k + gridDim.x < lines;
        const unsigned shift = odd_copies<Shape>::shift_of(odd_line(p, k));
        const odd_thread<Shape> thread = {p, numbers + shift, j, has_set};
        wi_fft_few<A, float> first;
        wi_fft_few<B, float> middle;
        first.load(p.twiddles + (B - 1) * A + j, Shape::width);
        copies.await(parity);
        thread.first_stage(copies, shift, first);
        middle.load(p.twiddles + j % A, A);
        wi_bulk_fence();
        __syncthreads();
        if (brings)
            copies.bring_early(odd_line(p, wi_anew(k) + gridDim.x));
        thread.middle_stage(middle);
        if (is_first)
            wi_async_wait<0>();
        __syncthreads();
        thread.last_stage(k, [&] {
            wi_bulk_fence();
            __syncthreads();
            if (brings)
                copies.bring_late(odd_line(p, wi_anew(k) + gridDim.x));
        });
    }
#endif
}

/* ---- launches ---- */

template <class Shape>
static weft_status run_odd(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    wi_fft_pass<float> p;
    unsigned lines = 0;
    const weft_status status =
        wi_fft_pass_of(ctx, l, Shape::radix, 3, 1, &p, queues ? &lines : NULL);
    if (status != WEFT_OK || !queues)
        return status;
    const unsigned most = (unsigned)ctx->gpu->multiprocessors;
    return WEFT_LAUNCH_AHEAD(odd_lines<Shape>, ctx, lines > most ? most : lines, Shape::threads,
                             Shape::bytes, p, lines);
}

bool wi_fft_filling_odd_line(weft_context *ctx, const wi_fft_lines *l, bool queues,
                             weft_status *status) {
    if (!wi_fft_is_dense(l) || (uintptr_t)l->x % sizeof(wi_fft_number<float>) != 0 ||
        ctx->gpu->capability < 90 || ctx->gpu->shared_optin < odd_optin)
        return false;
    switch (l->n) {
    case 15625:
        *status = run_odd<odd_shape<25, 25, 625>>(ctx, l, queues);
        return true;
    case 16807:
        *status = run_odd<odd_shape<49, 7, 343>>(ctx, l, queues);
        return true;
    case 19683:
        *status = run_odd<odd_shape<27, 27, 378>>(ctx, l, queues);
        return true;
    default:
        return false;
    }
}
