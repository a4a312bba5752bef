/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of f32 in one piece, of lengths that the compiler knows: those that stages which are told
 * their radices (fft_any_kernel.cuh) leave furthest behind. As all distances are constants, a
 * number takes half as many instructions. Stages are in place: a thread has all its sets in
 * registers before any are put back. */
#ifndef WI_FFT_KNOWN_CUH
#define WI_FFT_KNOWN_CUH

#include "cuda/prefetch.cuh"
#include "fft/fft_ahead.cuh"
#include "fft/fft_any_primes.cuh"

/* Lines and threads of a block, blocks of a multiprocessor, and radices. No places stay empty
 * between stages: the first radix should be odd. */
template <int lines_, int threads_, int blocks_, int... radices>
struct known_shape {
    using number = wi_fft_number<float>;
    static constexpr unsigned lines = lines_, threads = threads_, blocks = blocks_,
                              n = (1 * ... * radices), stages = sizeof...(radices);
    static constexpr unsigned radix[] = {radices...};
    static constexpr size_t bytes = lines * n * sizeof(number);

    /* Of a stage of radix R the sets of a thread, the last of which it may lack. */
    template <int R>
    struct sets_of {
        static constexpr unsigned m = n / R, all = lines * m, each = (all + threads - 1) / threads;
        float re[each][R], im[each][R];

        /* Set i of this thread, if it has one: there may be fewer, and fewer lines. */
        struct spot {
            unsigned line, j;
            bool is;
        };
        static __device__ __forceinline__ spot spot_of(const wi_fft_place &place, unsigned i) {
            const unsigned b = threadIdx.x + i * threads, line = b / m;
            const bool has = (i + 1) * threads <= all || b < all;
            return {line, b - line * m, has && (lines == 1 || line < place.lines)};
        }

        __device__ __forceinline__ void load(const wi_fft_pass<float> &p, const wi_fft_place &place,
                                             const spot &s, unsigned i) {
            const number *const from = p.x + (place.in + s.line * p.near_in + s.j);
#pragma unroll
            for (unsigned k = 0; k < R; k++) {
                const number v = from[k * m];
                re[i][k] = v.re;
                im[i][k] = v.im;
            }
        }
        __device__ __forceinline__ void conjugate(unsigned i) {
#pragma unroll
            for (unsigned k = 0; k < R; k++)
                im[i][k] = -im[i][k];
        }
        template <unsigned before>
        __device__ __forceinline__ void fetch(const number *shared, const number *twiddles,
                                              const spot &s, unsigned i) {
            const number *const from = shared + (s.line * n + s.j);
            const number *const factors = twiddles + s.j % before;
#pragma unroll
            for (unsigned k = 0; k < R; k++) {
                const number v =
                    k > 0 ? wi_fft_product(from[k * m], factors[(k - 1) * before]) : from[0];
                re[i][k] = v.re;
                im[i][k] = v.im;
            }
        }
        __device__ __forceinline__ void transform(unsigned i) {
            any_split_butterfly<R>(re[i], im[i]);
        }
        template <unsigned before>
        __device__ __forceinline__ void keep(number *shared, const spot &s, unsigned i) const {
            number *const to = shared + (s.line * n + s.j + s.j / before * (before * (R - 1)));
#pragma unroll
            for (unsigned k = 0; k < R; k++)
                to[k * before] = {re[i][k], im[i][k]};
        }
        __device__ __forceinline__ void
        store(const wi_fft_pass<float> &p, const wi_fft_place &place, const spot &s, unsigned i) {
            number *const to = p.y + (place.out + s.line * p.near_out + s.j);
            if (p.scale_re != 1 || p.scale_im != 1) {
#pragma unroll
                for (unsigned k = 0; k < R; k++) {
                    re[i][k] *= p.scale_re;
                    im[i][k] *= p.scale_im;
                }
            }
#pragma unroll
            for (unsigned k = 0; k < R; k++)
                to[k * m] = {re[i][k], im[i][k]};
        }
    };

    template <int R, int... rest>
    static __device__ __forceinline__ void run_first(const wi_fft_pass<float> &p,
                                                     const wi_fft_place &place, number *shared) {
        using sets = sets_of<R>;
        sets s;
#pragma unroll
        for (unsigned i = 0; i < sets::each; i++) {
            const typename sets::spot at = sets::spot_of(place, i);
            if (at.is)
                s.load(p, place, at, i);
        }
#pragma unroll
        for (unsigned i = 0; i < sets::each; i++) {
            const typename sets::spot at = sets::spot_of(place, i);
            if (!at.is)
                continue;
            if (p.sign_in < 0)
                s.conjugate(i);
            s.transform(i);
            s.template keep<1>(shared, at, i);
        }
        __syncthreads();
        run_next<R, rest...>(p, place, shared, p.twiddles);
    }
    template <int before, int R, int... rest>
    static __device__ __forceinline__ void run_next(const wi_fft_pass<float> &p,
                                                    const wi_fft_place &place, number *shared,
                                                    const number *twiddles) {
        using sets = sets_of<R>;
        constexpr bool is_last = sizeof...(rest) == 0;
        sets s;
#pragma unroll
        for (unsigned i = 0; i < sets::each; i++) {
            const typename sets::spot at = sets::spot_of(place, i);
            if (!at.is)
                continue;
            s.template fetch<before>(shared, twiddles, at, i);
            s.transform(i);
            if constexpr (is_last)
                s.store(p, place, at, i);
        }
        if constexpr (!is_last) {
            __syncthreads();
#pragma unroll
            for (unsigned i = 0; i < sets::each; i++) {
                const typename sets::spot at = sets::spot_of(place, i);
                if (at.is)
                    s.template keep<before>(shared, at, i);
            }
            __syncthreads();
            run_next<before * R, rest...>(p, place, shared, twiddles + (R - 1) * before);
        }
    }
    static __device__ __forceinline__ void run(const wi_fft_pass<float> &p,
                                               const wi_fft_place &place, number *shared) {
        run_first<radices...>(p, place, shared);
    }
};

template <class Shape>
static __global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    known_length(const __grid_constant__ wi_fft_pass<float> p) {
    WEFT_DYNAMIC_SHARED(shared);
    if (threadIdx.x == Shape::threads - 1)
        wi_fft_look_ahead(p, Shape::n);
    const wi_fft_place place = wi_fft_place_of(p.grid, blockIdx.x, p.turning);
    Shape::run(p, place, (typename Shape::number *)shared);
}

/* `queues`: else only tables are made. */
template <class Shape>
static weft_status run_known(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    wi_fft_pass<float> p;
    unsigned blocks = 0;
    const weft_status status = wi_fft_pass_of(ctx, l, Shape::radix, Shape::stages, Shape::lines, &p,
                                              queues ? &blocks : NULL);
    if (status != WEFT_OK || !queues)
        return status;
    p.ahead = wi_fft_ahead_of(ctx, l, Shape::lines);
    return WEFT_LAUNCH(known_length<Shape>, ctx, blocks, Shape::threads, Shape::bytes, p);
}

#endif
