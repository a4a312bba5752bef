/* SPDX-License-Identifier: Apache-2.0 */
/* Lines whose length n has a large prime factor in one kernel (Bluestein's algorithm): with the
 * chirp c(k) = exp(-pi i k^2 / n) and transforms F of M >= 2 n - 1 numbers,
 *
 *     X = c F'(S F(x c)),  S = F(conj(c)) / M,  F' the inverse of F without its factor 1 / M.
 *
 * F'(v) is computed as conj(F(conj(v))). The radices of F read the same forwards and backwards, so
 * what the last stage of F leaves in a thread's registers is what the first stage of F' wants: the
 * product with S needs no exchange. */
#include "fft/fft_cuda.h"
#include "fft/fft_shape.cuh"

template <class T>
struct wi_fft_chirp_params {
    wi_fft_pass<T> p;
    unsigned n; /* of a line; Shape::n is M */
    const wi_fft_number<T> *chirp, *spectrum;
};

template <class Shape>
struct chirper {
    using T = typename Shape::Type;
    using number = wi_fft_number<T>;
    using Block = wi_fft_block<T, typename Shape::Lines, Shape::gap>;
    static constexpr bool is_narrow = sizeof(T) == 4; /* arrays may be f16 */
    const wi_fft_chirp_params<T> &c;
    const Block &block;

    static __host__ __device__ constexpr int sets_of(int R) {
        return (int)(Shape::lines * Shape::n / Shape::threads) / R;
    }

    /* Calls work(line, j, re, im) for each set of the thread: the R numbers of a line that a
     * butterfly takes, j + k M / R. */
    template <int R, class Work>
    static __device__ __forceinline__ void each(const Block &block, bool by_lines, T (&re)[][R],
                                                T (&im)[][R], const Work &work) {
#pragma unroll
        for (int i = 0; i < sets_of(R); i++) {
            unsigned line, j;
            block.find(threadIdx.x + (unsigned)i * Shape::threads, by_lines,
                       wi_fft_fixed<(int)Shape::n / R>(), line, j);
            work(line, j, re[i], im[i]);
        }
    }

    /* x c; numbers n to M - 1 are zeros. */
    template <int R>
    __device__ __forceinline__ void load(unsigned line, unsigned j, T *re, T *im) const {
        const size_t from = block.at.in + line * c.p.near_in;
#pragma unroll
        for (int k = 0; k < R; k++) {
            const unsigned i = j + (unsigned)k * (Shape::n / R);
            number v = {0, 0};
            if (i < c.n && line < block.at.lines) {
                v = wi_fft_number_at<T>(c.p.x, is_narrow && c.p.half_in, from + i * c.p.stride_in);
                v.im *= c.p.sign_in;
                v = wi_fft_product(v, c.chirp[i]);
            }
            re[k] = v.re;
            im[k] = v.im;
        }
    }

    /* c times the conjugates of what the last stage of F' gives. */
    template <int R>
    __device__ __forceinline__ void store(unsigned line, unsigned j, const T *re,
                                          const T *im) const {
        const size_t to = block.at.out + line * c.p.near_out;
#pragma unroll
        for (int k = 0; k < R; k++) {
            const unsigned i = j + (unsigned)k * (Shape::n / R);
            if (i < c.n && line < block.at.lines) {
                const number v = wi_fft_product(number{re[k], -im[k]}, c.chirp[i]);
                wi_fft_set_number<T>(c.p.y, is_narrow && c.p.half_out, to + i * c.p.stride_out,
                                     {v.re * c.p.scale_re, v.im * c.p.scale_im});
            }
        }
    }

    /* The last stage of F, the product with S, and the first stage of F', on conjugates. */
    template <int R>
    __device__ __forceinline__ void turn_round(const number *twiddles) const {
        constexpr int m = (int)Shape::n / R;
        T re[sets_of(R)][R], im[sets_of(R)][R];
        each<R>(block, false, re, im, [&](unsigned line, unsigned j, T *r, T *i) {
            block.template fetch<R>(line, j, wi_fft_fixed<m>(), wi_fft_fixed<m>(), twiddles, r, i);
            wi_fft_butterfly<R>(r, i);
#pragma unroll
            for (int k = 0; k < R; k++) {
                const number v =
                    wi_fft_product(number{r[k], i[k]}, c.spectrum[j + (unsigned)(k * m)]);
                r[k] = v.re;
                i[k] = -v.im;
            }
            wi_fft_butterfly<R>(r, i);
        });
        __syncthreads();
        each<R>(block, false, re, im, [&](unsigned line, unsigned j, T *r, T *i) {
            block.template keep<R>(line, j, wi_fft_fixed<1>(), r, i);
        });
        __syncthreads();
    }

    /* The stages of F (forward) or F' from the second one on. */
    template <bool is_forward, int before, int R, int... rest>
    __device__ __forceinline__ void stages(const number *twiddles) const {
        constexpr int m = (int)Shape::n / R;
        if constexpr (sizeof...(rest) > 0) {
            block.template stage<R, sets_of(R), true>(wi_fft_fixed<before>(), wi_fft_fixed<m>(),
                                                      false, false, twiddles);
            stages<is_forward, before * R, rest...>(twiddles + (R - 1) * before);
        } else if constexpr (is_forward) {
            turn_round<R>(twiddles);
        } else {
            T re[sets_of(R)][R], im[sets_of(R)][R];
            each<R>(block, c.p.lines_out, re, im, [&](unsigned line, unsigned j, T *r, T *i) {
                block.template fetch<R>(line, j, wi_fft_fixed<m>(), wi_fft_fixed<m>(), twiddles, r,
                                        i);
                wi_fft_butterfly<R>(r, i);
                store<R>(line, j, r, i);
            });
        }
    }

    template <int R, int... rest>
    __device__ __forceinline__ void run(const number *twiddles) const {
        T re[sets_of(R)][R], im[sets_of(R)][R];
        each<R>(block, c.p.lines_in, re, im, [&](unsigned line, unsigned j, T *r, T *i) {
            load<R>(line, j, r, i);
            wi_fft_butterfly<R>(r, i);
            block.template keep<R>(line, j, wi_fft_fixed<1>(), r, i);
        });
        __syncthreads();
        stages<true, R, rest...>(twiddles);
        stages<false, R, rest...>(twiddles);
    }
};

/* A shape, with its radices once more as a pack, which run takes. */
template <class T, int points, int threads, int... radices>
struct chirp_shape : wi_fft_shape<T, points, threads, radices...> {
    using Shape = wi_fft_shape<T, points, threads, radices...>;
    /* Of a multiprocessor at a time, at least. */
    static constexpr unsigned blocks = (sizeof(T) == 4 ? 16384 : 8192) / points;
    static __device__ __forceinline__ void go(const wi_fft_chirp_params<T> &c,
                                              const typename chirper<Shape>::Block &block) {
        const chirper<Shape> worker = {c, block};
        worker.template run<radices...>(c.p.twiddles);
    }
};

template <class Chirp>
static __global__ void __launch_bounds__(Chirp::threads, Chirp::blocks)
    chirped(const __grid_constant__ wi_fft_chirp_params<typename Chirp::Type> c) {
    using Block = typename chirper<typename Chirp::Shape>::Block;
    WEFT_DYNAMIC_SHARED(shared);
    const wi_fft_place at = wi_fft_place_of(c.p.grid, blockIdx.x, -1);
    typename Chirp::number *const numbers = (typename Chirp::number *)shared;
    const Block block = {c.p, at, numbers, numbers, Chirp::n, Chirp::pitch, Chirp::threads, {}};
    Chirp::go(c, block);
}

/* ---- launches ---- */

/* Without `queues` only the tables are made. */
template <class Chirp>
static weft_status run_chirp(weft_context *ctx, const wi_fft_lines *l, const void *chirp,
                             const void *spectrum, bool queues) {
    using T = typename Chirp::Type;
    wi_fft_chirp_params<T> c = {};
    wi_fft_lines whole = *l;
    unsigned blocks = 0;
    whole.n = Chirp::n;
    const weft_status status = wi_fft_pass_of(ctx, &whole, Chirp::radix, Chirp::stages,
                                              Chirp::lines, &c.p, queues ? &blocks : NULL);
    if (status != WEFT_OK || !queues)
        return status;
    c.n = (unsigned)l->n;
    c.chirp = (const wi_fft_number<T> *)chirp;
    c.spectrum = (const wi_fft_number<T> *)spectrum;
    return WEFT_LAUNCH(chirped<Chirp>, ctx, blocks, Chirp::threads, Chirp::bytes, c);
}

size_t wi_fft_chirps(const weft_context *ctx, weft_type type, size_t n) {
    const size_t spare = 64; /* numbers */
    size_t length = 128;
    while (length < 2 * n - 1)
        length *= 2;
    const size_t bytes = (length + length / 16 + spare) * wi_fft_number_bytes(type);
    return length <= (type == WEFT_F64 ? 4096 : 16384) && bytes <= ctx->gpu->shared_optin ? length
                                                                                          : 0;
}

#define CHIRP(...)                                                                                 \
    case chirp_shape<__VA_ARGS__>::n:                                                              \
        return run_chirp<chirp_shape<__VA_ARGS__>>(ctx, l, chirp, spectrum, queues)

static weft_status run_f32(weft_context *ctx, const wi_fft_lines *l, const void *chirp,
                           const void *spectrum, bool queues) {
    switch (wi_fft_chirps(ctx, l->type, l->n)) {
        CHIRP(float, 4096, 256, 8, 2, 8);
        CHIRP(float, 4096, 256, 16, 16);
        CHIRP(float, 4096, 256, 8, 8, 8);
        CHIRP(float, 4096, 256, 8, 16, 8);
        CHIRP(float, 4096, 256, 16, 8, 16);
        CHIRP(float, 4096, 256, 16, 16, 16);
        CHIRP(float, 8192, 256, 16, 32, 16);
    default:
        return run_chirp<chirp_shape<float, 16384, 512, 32, 16, 32>>(ctx, l, chirp, spectrum,
                                                                     queues);
    }
}

static weft_status run_f64(weft_context *ctx, const wi_fft_lines *l, const void *chirp,
                           const void *spectrum, bool queues) {
    switch (wi_fft_chirps(ctx, l->type, l->n)) {
        CHIRP(double, 2048, 128, 8, 2, 8);
        CHIRP(double, 2048, 128, 16, 16);
        CHIRP(double, 2048, 128, 8, 8, 8);
        CHIRP(double, 2048, 128, 8, 16, 8);
        CHIRP(double, 2048, 128, 16, 8, 16);
    default:
        return run_chirp<chirp_shape<double, 4096, 256, 16, 16, 16>>(ctx, l, chirp, spectrum,
                                                                     queues);
    }
}

weft_status wi_fft_chirp(weft_context *ctx, const wi_fft_lines *l, const void *chirp,
                         const void *spectrum, bool queues) {
    return l->type == WEFT_F64 ? run_f64(ctx, l, chirp, spectrum, queues)
                               : run_f32(ctx, l, chirp, spectrum, queues);
}
