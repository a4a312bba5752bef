/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of f32 that fill a multiprocessor: 2^14, 7^5 and 3^9 numbers. One block goes from line to
 * line. A line is in shared memory between three stages, and beside it there is room for the first
 * rows of the next one, which copies bring meanwhile; the others come where this line was, when its
 * last stage has read it. So memory does not rest while a block computes. Of the twiddles of a set
 * few are loaded, and the others are products of two of these: all would be as many bytes as the
 * line has. */
#include "cuda/ahead.cuh"
#include "cuda/anew.cuh"
#include "cuda/async.cuh"
#include "cuda/bulk.cuh"
#include "cuda/prefetch.cuh"
#include "fft/fft_cuda.h"
#include "fft/fft_few.cuh"
#include "fft/fft_shape.cuh"

namespace {

constexpr unsigned optin = 227 << 10; /* shared memory of a block, 9.0 */

/* Lines of R1 R2 R3 numbers. `width` sets of the first stage and the last one, and those of the
 * other, are shared by `apart` threads; a thread's sets are so far apart. */
template <int R1_, int R2_, int R3_, int apart_>
struct fill_shape {
    static constexpr int R1 = R1_, R2 = R2_, R3 = R3_, n = R1 * R2 * R3, width = n / R1;
    static constexpr int apart = apart_, threads = (apart + 31) / 32 * 32;
    static constexpr int sets = (n / R2 + apart - 1) / apart, columns = (width + apart - 1) / apart;
    static constexpr unsigned gap = n % 2 ? 0 : (unsigned)R1;
    /* Of an odd length so many numbers are left out after each R1 R2 between the last two stages,
     * so that 16 threads next to each other write to as many places modulo 16. */
    static constexpr unsigned pad = gap ? 0 : (16 + R1 % 16 - R1 * R2 % 16) % 16;
    static constexpr unsigned radix[] = {(unsigned)R1, (unsigned)R2, (unsigned)R3};
    /* Numbers of shared memory: the line, rows of the next one, and turns. */
    static constexpr unsigned most = optin / 8 - 16, turns = (unsigned)(R3 + 1) / 2 * 2;
    static constexpr unsigned line = (wi_fft_spread<gap>(n) + pad * (unsigned)R3 + 3) / 2 * 2;
    static constexpr int rows = (int)((most - line - turns - 4) / (unsigned)width);
    static constexpr unsigned ahead = ((unsigned)(rows * width) + 5) / 2 * 2;
    static constexpr size_t alone = (line + turns) * sizeof(wi_fft_number<float>),
                            bytes = alone + ahead * sizeof(wi_fft_number<float>);
    static_assert(R1 == R3 && apart % R1 == 0, "sets of a thread");
    static_assert(rows < R1, "else a line has no numbers that come late");
};

/* Copies from global to shared memory that are not a thread's need compute capability 9.0: below it
 * what belongs to them is not compiled. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
constexpr bool can_stream = true;
#else
constexpr bool can_stream = false;
#endif

template <class Shape>
struct fill_block {
    using number = wi_fft_number<float>;
    using Lines = wi_fft_block<float, wi_fft_fixed<1>, Shape::gap, false, false, true, true>;
    static constexpr unsigned rows = Shape::rows, n = Shape::n, width = Shape::width;
    const wi_fft_pass<float> &p;
    number *line, *ahead;     /* shared */
    wi_barrier *early, *late; /* the two parts of a line are there */

    /* The line at x is at an odd place? Bulk copies bring pieces of two numbers. */
    static __device__ __forceinline__ unsigned shift_of(const number *x) {
        return (unsigned)((uintptr_t)x / sizeof(number)) % 2;
    }
    __device__ __forceinline__ number *edge() const {
        return ahead + (rows * width + 2);
    }

    /* The first rows, and what is alone at an end. */
    __device__ __forceinline__ void bring_early(const number *x) const {
        const unsigned shift = shift_of(x), to = rows * width + (shift + rows * width) % 2;
        const uint32_t bytes = (to - shift) * (uint32_t)sizeof(number);
        wi_barrier_arrive_expect(early, bytes);
        wi_bulk_load(ahead + 2 * shift, x + shift, bytes, early);
        if (shift)
            wi_async_copy<sizeof(number)>(ahead + 1, x);
        if ((shift + n) % 2)
            wi_async_copy<sizeof(number)>(edge(), x + (n - 1));
        wi_async_commit();
        const unsigned from = rows * width - (shift + rows * width) % 2;
        wi_bulk_prefetch(x + from, (n - (shift + n) % 2 - from) * (uint32_t)sizeof(number));
    }
    __device__ __forceinline__ void bring_late(const number *x) const {
        const unsigned shift = shift_of(x), from = rows * width - (shift + rows * width) % 2;
        const uint32_t bytes = (n - (shift + n) % 2 - from) * (uint32_t)sizeof(number);
        wi_barrier_arrive_expect(late, bytes);
        wi_bulk_load(line, x + from, bytes, late);
    }

    __device__ __forceinline__ void await(unsigned parity) const {
        wi_barrier_wait(early, parity);
        wi_barrier_wait(late, parity);
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

    /* Set j of the first stage. */
    __device__ __forceinline__ void take(const number *x, unsigned j, float *re, float *im) const {
        const unsigned shift = shift_of(x), other = (shift + rows * width) % 2;
        const bool is_edge = j == width - 1 && (shift + n) % 2;
#pragma unroll
        for (unsigned k = 0; k < (unsigned)Shape::R1; k++) {
            const number *from = k < rows ? ahead + (shift + j) + k * width
                                          : line + (other + j) + (k - rows) * width;
            if (k + 1 == (unsigned)Shape::R1)
                from = is_edge ? edge() : from;
            const number v = *from;
            re[k] = v.re;
            im[k] = v.im;
        }
    }

    /* Set i of thread j, of so many; one of another if it has none. */
    template <int all>
    static __device__ __forceinline__ bool has(unsigned j, int i) {
        return (i + 1) * Shape::apart <= all || j + (unsigned)(i * Shape::apart) < (unsigned)all;
    }
    template <int all>
    static __device__ __forceinline__ unsigned set_of(unsigned j, int i) {
        return has<all>(j, i) ? j + (unsigned)(i * Shape::apart) : j;
    }

    /* Sets of a later stage, their twiddles, and where they go. */
    template <int R, int sets, unsigned pad>
    __device__ __forceinline__ void fetch(unsigned j, float (*re)[R], float (*im)[R]) const {
        constexpr unsigned m = n / R;
#pragma unroll
        for (int i = 0; i < sets; i++) {
            const number *const from = line + wi_fft_spread<Shape::gap>(set_of<(int)m>(j, i));
#pragma unroll
            for (int k = 0; k < R; k++) {
                const number v =
                    from[wi_fft_spread<Shape::gap>((unsigned)k * m) + (unsigned)k * pad];
                re[i][k] = v.re;
                im[i][k] = v.im;
            }
        }
    }
    template <int R, int sets>
    __device__ __forceinline__ static void turn(const wi_fft_few<R, float> &w, float (*re)[R],
                                                float (*im)[R]) {
#pragma unroll
        for (int k = 1; k < R; k++) {
            const number by = w.at(k);
#pragma unroll
            for (int i = 0; i < sets; i++) {
                const number v = wi_fft_product(number{re[i][k], im[i][k]}, by);
                re[i][k] = v.re;
                im[i][k] = v.im;
            }
        }
    }
    template <int R, int sets, int before, unsigned pad>
    __device__ __forceinline__ void keep(unsigned j, const float (*re)[R],
                                         const float (*im)[R]) const {
#pragma unroll
        for (int i = 0; i < sets; i++) {
            if (!has<n / R>(j, i))
                continue;
            const unsigned b = j + (unsigned)(i * Shape::apart), rest = b % before,
                           first = (b - rest) * R + rest;
            number *const to = line + (wi_fft_spread<Shape::gap>(first) + b / before * pad);
#pragma unroll
            for (int k = 0; k < R; k++)
                to[wi_fft_spread<Shape::gap>((unsigned)(k * before))] = {re[i][k], im[i][k]};
        }
    }
};

} // namespace

static __device__ __forceinline__ const wi_fft_number<float> *line_at(const wi_fft_pass<float> &p,
                                                                      unsigned k) {
    return p.x + wi_fft_place_of(p.grid, k, -1).in;
}

namespace {

/* What a thread does with a line. */
template <class Shape>
struct fill_thread {
    static constexpr int R1 = Shape::R1, R2 = Shape::R2, R3 = Shape::R3, sets = Shape::sets;
    static constexpr int before = R1 * R2, columns = Shape::columns;
    using Lines = typename fill_block<Shape>::Lines;
    const fill_block<Shape> &block;
    wi_fft_number<float> *turns; /* shared */
    unsigned j;
    bool streams, has_set, is_plain;

    __device__ __forceinline__ Lines lines_of(const wi_fft_place &at) const {
        return {block.p, at, block.line, turns, Shape::n, 0, Shape::threads, {}};
    }

    /* `next`: the line that shall be brought meanwhile, if there is one and by this thread. */
    template <class Next>
    __device__ __forceinline__ void first_stage(unsigned k, unsigned parity, bool brings,
                                                const Next &next) const {
        const wi_fft_pass<float> &p = block.p;
        float re[columns][R1], im[columns][R1];
        if constexpr (can_stream)
            if (streams)
                block.await(parity);
        const wi_fft_place at = wi_fft_place_of(p.grid, k, p.turning);
        const Lines all = lines_of(at);
#pragma unroll
        for (int c = 0; c < columns; c++) {
            const unsigned b = block.template set_of<Shape::width>(j, c);
            if (streams)
                block.take(p.x + at.in, b, re[c], im[c]);
            else
                all.template load<R1>(0, b, Shape::width, re[c], im[c]);
            if (p.sign_in < 0) {
#pragma unroll
                for (int i = 0; i < R1; i++)
                    im[c][i] *= p.sign_in;
            }
            wi_fft_butterfly<R1>(re[c], im[c]);
        }
        if constexpr (can_stream)
            if (streams)
                wi_bulk_fence();
        __syncthreads();
        if constexpr (can_stream)
            if (brings)
                block.bring_early(next());
        if (has_set)
            block.template keep<R1, columns, 1, 0>(j, re, im);
        all.fill_turns(R3);
    }

    __device__ __forceinline__ void middle_stage(const wi_fft_few<R2, float> &w) const {
        float re[sets][R2], im[sets][R2];
        block.template fetch<R2, sets, 0>(j, re, im);
        block.template turn<R2, sets>(w, re, im);
#pragma unroll
        for (int i = 0; i < sets; i++)
            wi_fft_butterfly<R2>(re[i], im[i]);
        __syncthreads();
        if (has_set)
            block.template keep<R2, sets, R1, Shape::pad>(j, re, im);
    }

    template <class Next>
    __device__ __forceinline__ void last_stage(unsigned k, bool brings, const Next &next,
                                               const wi_fft_few<R3, float> *w) const {
        float re[columns][R3], im[columns][R3];
        block.template fetch<R3, columns, Shape::pad>(j, re, im);
        if constexpr (can_stream) {
            if (streams) {
                wi_bulk_fence();
                __syncthreads();
                if (brings)
                    block.bring_late(next());
            }
        }
        const wi_fft_place at = wi_fft_place_of(block.p.grid, wi_anew(k), block.p.turning);
#pragma unroll
        for (int c = 0; c < columns; c++) {
            const unsigned b = block.template set_of<before>(j, c);
            block.template turn<R3, 1>(w[c], &re[c], &im[c]);
            wi_fft_butterfly<R3>(re[c], im[c]);
            if (has_set && block.template has<before>(j, c))
                store(at, b, re[c], im[c]);
        }
    }
    __device__ __forceinline__ void store(const wi_fft_place &at, unsigned b, const float *re,
                                          const float *im) const {
        if (!is_plain) {
            lines_of(at).template store<R3>(0, b, before, re, im);
            return;
        }
        wi_fft_number<float> *const to = block.p.y + (at.out + b);
#pragma unroll
        for (int i = 0; i < R3; i++)
            to[i * before] = {re[i], im[i]};
    }
};

} // namespace

/* `is_piece`: each line is in one piece. */
template <class Shape>
static __global__ void __launch_bounds__(Shape::threads, 1)
    filling_lines(const __grid_constant__ wi_fft_pass<float> p, unsigned lines, bool is_piece) {
    using number = wi_fft_number<float>;
    using Thread = fill_thread<Shape>;
    WEFT_DYNAMIC_SHARED(shared);
    WEFT_SHARED(wi_barrier, arrived, [2]);
    number *const numbers = (number *)shared, *const turns = numbers + Shape::line;
    const fill_block<Shape> block = {p, numbers, turns + Shape::turns, &arrived[0], &arrived[1]};
    const bool is_first = threadIdx.x == 0, has_set = threadIdx.x < Shape::apart;
    const bool streams = can_stream && is_piece;
    const unsigned j = has_set ? threadIdx.x : Shape::apart - 1;
    const Thread thread = {
        block,
        turns,
        j,
        streams,
        has_set,
        p.turning < 0 && p.stride_out == 1 && !p.half_out && p.scale_re == 1 && p.scale_im == 1};
    wi_wait_for_earlier();
    if constexpr (can_stream)
        if (streams && is_first)
            block.begin(line_at(p, blockIdx.x));
    __syncthreads();
    unsigned parity = 0;
#pragma unroll 1
    for (unsigned k = blockIdx.x; k < lines; k += gridDim.x, parity ^= 1) {
        wi_fft_few<Shape::R2, float> middle;
        wi_fft_few<Shape::R3, float> last[Shape::columns];
        const bool brings = is_first && streams && k + gridDim.x < lines;
        const auto next = [&] { return line_at(p, wi_anew(k) + gridDim.x); };
        thread.first_stage(k, parity, brings, next);
        middle.load(p.twiddles + j % Shape::R1, Shape::R1);
        __syncthreads();
        thread.middle_stage(middle);
#pragma unroll
        for (int c = 0; c < Shape::columns; c++)
            last[c].load(p.twiddles + (Shape::R2 - 1) * Shape::R1 +
                             block.template set_of<Thread::before>(j, c),
                         Thread::before);
        if (streams)
            wi_async_wait<0>();
        __syncthreads();
        thread.last_stage(k, brings, next, last);
        if (p.turning >= 0)
            __syncthreads(); /* before others are there */
    }
}

/* ---- launches ---- */

template <class Shape>
static weft_status run_filling(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    wi_fft_pass<float> p;
    unsigned lines = 0;
    const weft_status status =
        wi_fft_pass_of(ctx, l, Shape::radix, 3, 1, &p, queues ? &lines : NULL);
    if (status != WEFT_OK || !queues)
        return status;
    const bool streams = l->stride_in == 1 && !l->half_in &&
                         (uintptr_t)l->x % sizeof(wi_fft_number<float>) == 0 &&
                         ctx->gpu->capability >= 90 && ctx->gpu->shared_optin >= optin;
    const unsigned most = (unsigned)ctx->gpu->multiprocessors;
    return WEFT_LAUNCH_AHEAD(filling_lines<Shape>, ctx, lines > most ? most : lines, Shape::threads,
                             streams ? Shape::bytes : Shape::alone, p, lines, streams);
}

weft_status wi_fft_filling_line(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    if (l->n == 16384)
        return run_filling<fill_shape<32, 16, 32, 512>>(ctx, l, queues);
    return l->n == 16807 ? run_filling<fill_shape<49, 7, 49, 343>>(ctx, l, queues)
                         : run_filling<fill_shape<27, 27, 27, 378>>(ctx, l, queues);
}
