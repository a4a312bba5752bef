/* SPDX-License-Identifier: Apache-2.0 */
/* Lines whose length n has a large prime factor in one kernel (Bluestein's algorithm): with the
 * chirp c(k) = exp(-pi i k^2 / n) and transforms F of M >= 2 n - 1 numbers,
 *
 *     X = c F'(S F(x c)),  S = F(conj(c)) / M,  F' the inverse of F without its factor 1 / M.
 *
 * F'(v) is computed as conj(F(conj(v))). As nobody asks in which order S F(x c) lies, both
 * transforms are in place. With radices R1, R2, ... and m1 = M / R1, m2 = m1 / R2, ... stage t of
 * the first one does for j < mt, k < Rt and i a multiple of Rt mt
 *
 *     x(i + j + k mt) = w(Rt mt)^(j k) sum over q < Rt of x(i + j + q mt) w(Rt)^(q k),
 *
 * and those of the second one do the same backwards: the product first, then the sum. The last
 * stage of the first, the product with S and the first stage of the second have the same sets of
 * numbers, so that nothing is exchanged between them. A stage ends with one barrier. */
#include "fft/fft_cuda.h"
#include "fft/fft_shape.cuh"

/* Of R numbers of which the second half is zeros. */
template <int R, class T>
static __device__ __forceinline__ void half_butterfly(T *re, T *im) {
    if constexpr (R == 8)
        wi_fft_butterfly_half_8(re, im);
    if constexpr (R == 16)
        wi_fft_butterfly_half_16(re, im);
    if constexpr (R == 32)
        wi_fft_butterfly_half_32(re, im);
}

/* M, the product of the radices; so many numbers, threads, and blocks of a multiprocessor. */
template <class T, int points, int threads_, int blocks_, int... radices>
struct chirp_shape {
    using Type = T;
    using number = wi_fft_number<T>;
    static constexpr unsigned threads = threads_, blocks = blocks_, n = (1 * ... * radices),
                              stages = sizeof...(radices), lines = points / n;
    using Lines = wi_fft_fixed<(int)lines>;
    static constexpr unsigned radix[] = {radices...};
    static constexpr unsigned last = radix[stages - 1];
    static constexpr unsigned gap = wi_fft_gap<T> % last == 0 ? wi_fft_gap<T> : last;
    static constexpr unsigned pitch = wi_fft_pitch_of<T, gap>(n, lines);
    static constexpr size_t bytes = (size_t)lines * pitch * sizeof(number);

    /* The distance of stage k's numbers, and where its twiddles begin: the last stage has none, and
     * those before follow, as in tables for the same radices backwards. */
    static __host__ __device__ constexpr unsigned distance(unsigned k) {
        unsigned m = 1;
        for (unsigned i = k + 1; i < stages; i++)
            m *= radix[i];
        return m;
    }
    static __host__ __device__ constexpr unsigned twiddles(unsigned k) {
        unsigned at = 0;
        for (unsigned i = k + 1; i + 1 < stages; i++)
            at += (radix[i] - 1) * distance(i);
        return at;
    }
};

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

    /* Is number i of a line one of x? */
    __device__ __forceinline__ bool has(unsigned line, unsigned i) const {
        return i < c.n && line < block.at.lines;
    }
    /* The chirp at j + k M / R, of a number that x has not any. */
    template <int R>
    __device__ __forceinline__ void load_chirp(unsigned line, unsigned j, number *v) const {
#pragma unroll
        for (int k = 0; k < R / 2; k++) {
            const unsigned i = j + (unsigned)k * (Shape::n / R);
            v[k] = c.chirp[has(line, i) ? i : 0];
        }
    }

    /* x c, then zeros; as n <= M / 2 the second half is not looked at. All is loaded before any of
     * it is waited for: instead of a number that there is not, the first one. */
    template <int R>
    __device__ __forceinline__ void load(unsigned line, unsigned j, T *re, T *im) const {
        const size_t from = block.at.in + (line < block.at.lines ? line : 0) * c.p.near_in;
        number v[R / 2], factor[R / 2];
#pragma unroll
        for (int k = 0; k < R / 2; k++) {
            const unsigned i = j + (unsigned)k * (Shape::n / R);
            v[k] = wi_fft_number_at<T>(c.p.x, is_narrow && c.p.half_in,
                                       from + (has(line, i) ? i : 0) * c.p.stride_in);
        }
        load_chirp<R>(line, j, factor);
#pragma unroll
        for (int k = 0; k < R / 2; k++) {
            const bool is = has(line, j + (unsigned)k * (Shape::n / R));
            v[k].im *= c.p.sign_in;
            v[k] = wi_fft_product(v[k], factor[k]);
            re[k] = is ? v[k].re : 0;
            im[k] = is ? v[k].im : 0;
        }
    }

    /* c times the conjugates of the first half of what the last stage of F' gives. Lines that are
     * part of longer ones have their results turned. */
    template <int R>
    __device__ __forceinline__ void store(unsigned line, unsigned j, const T *re,
                                          const T *im) const {
        const size_t to = block.at.out + line * c.p.near_out;
        const bool turns = Shape::n <= 2 * WI_FFT_MOST_TURNED && c.p.turning >= 0;
        number by = {1, 0}, step = {1, 0}, factor[R / 2];
        load_chirp<R>(line, j, factor);
        if (turns) {
            by = c.p.circle.template at<T>(block.turn_of(line) * j);
            step = c.p.circle.template at<T>(block.turn_of(line) * (Shape::n / R));
        }
#pragma unroll
        for (int k = 0; k < R / 2; k++) {
            const unsigned i = j + (unsigned)k * (Shape::n / R);
            number v = wi_fft_product(number{re[k], -im[k]}, factor[k]);
            if (turns) {
                v = wi_fft_product(v, by);
                by = wi_fft_product(by, step);
            }
            if (has(line, i))
                wi_fft_set_number<T>(c.p.y, is_narrow && c.p.half_out, to + i * c.p.stride_out,
                                     {v.re * c.p.scale_re, v.im * c.p.scale_im});
        }
    }

    /* Where a set of stage k begins: its number r in a line. Number q is wi_fft_spread(q m) on. */
    template <unsigned k>
    __device__ __forceinline__ number *set_at(unsigned line, unsigned r) const {
        constexpr unsigned R = Shape::radix[k], m = Shape::distance(k);
        static_assert(wi_fft_writes_apart(Shape::gap, m, R), "places of a set are sums");
        const unsigned j = r % m, first = (r - j) * R + j;
        return block.numbers + line * Shape::pitch + wi_fft_spread<Shape::gap>(first);
    }
    template <unsigned k>
    __device__ __forceinline__ void fetch(const number *set, T *re, T *im) const {
        constexpr unsigned R = Shape::radix[k], m = Shape::distance(k);
#pragma unroll
        for (unsigned q = 0; q < R; q++) {
            const number v = set[wi_fft_spread<Shape::gap>(q * m)];
            re[q] = v.re;
            im[q] = v.im;
        }
    }
    template <unsigned k>
    __device__ __forceinline__ void keep(number *set, const T *re, const T *im) const {
        constexpr unsigned R = Shape::radix[k], m = Shape::distance(k);
#pragma unroll
        for (unsigned q = 0; q < R; q++)
            set[wi_fft_spread<Shape::gap>(q * m)] = {re[q], im[q]};
    }

    /* Multiplies by w^q, w = w(R m)^j. Not all powers are read if there are many, for which tables
     * of 60 KB would come from the second-level cache for each line: they are products of up to
     * three of w, w^4, w^8, w^16. */
    template <unsigned k>
    __device__ __forceinline__ void turn(unsigned j, T *re, T *im) const {
        constexpr unsigned R = Shape::radix[k], m = Shape::distance(k);
        constexpr bool by_powers = R >= 16 && R * m >= 3072;
        const number *const w = c.p.twiddles + Shape::twiddles(k) + j;
        number low[4], high[R / 4 > 0 ? R / 4 : 1];
        if constexpr (by_powers) {
            low[1] = w[0];
            low[2] = wi_fft_product(low[1], low[1]);
            low[3] = wi_fft_product(low[2], low[1]);
#pragma unroll
            for (unsigned a = 1; a < R / 4; a++) {
                const unsigned part = a >= 4 ? 4 : a >= 2 ? 2 : 1; /* a power of 2 */
                high[a] =
                    a == part ? w[(4 * a - 1) * m] : wi_fft_product(high[part], high[a - part]);
            }
        }
#pragma unroll
        for (unsigned q = 1; q < R; q++) {
            number by;
            if constexpr (by_powers)
                by = q < 4        ? low[q]
                     : q % 4 == 0 ? high[q / 4]
                                  : wi_fft_product(high[q / 4], low[q % 4]);
            else
                by = w[(q - 1) * m];
            const number v = wi_fft_product(number{re[q], im[q]}, by);
            re[q] = v.re;
            im[q] = v.im;
        }
    }

    /* Calls work(line, r) for each set of R numbers, r < M / R, that is this thread's. */
    template <int R, class Work>
    __device__ __forceinline__ void each(bool by_lines, const Work &work) const {
        constexpr unsigned count = Shape::lines * Shape::n / R;
#pragma unroll
        for (unsigned i = 0; i * Shape::threads < count; i++) {
            unsigned line, r;
            const unsigned b = threadIdx.x + i * Shape::threads;
            block.find(b, by_lines, wi_fft_fixed<(int)Shape::n / R>(), line, r);
            if ((i + 1) * Shape::threads <= count || b < count)
                work(line, r);
        }
    }

    /* Stages k, k + 1, ... of F, and then those of F' back to stage k. */
    template <unsigned k>
    __device__ __forceinline__ void run() const {
        constexpr int R = Shape::radix[k];
        constexpr unsigned m = Shape::distance(k);
        each<R>(k == 0 && c.p.lines_in, [&](unsigned line, unsigned r) {
            T re[R], im[R];
            number *const set = set_at<k>(line, r);
            if constexpr (k == 0) {
                load<R>(line, r, re, im);
                half_butterfly<R>(re, im);
            } else {
                fetch<k>(set, re, im);
                wi_fft_butterfly<R>(re, im);
            }
            if constexpr (k + 1 < Shape::stages)
                turn<k>(r % m, re, im);
            else
                turn_round<R>(r, re, im);
            keep<k>(set, re, im);
        });
        __syncthreads();
        if constexpr (k + 1 < Shape::stages) {
            run<k + 1>();
            each<R>(k == 0 && c.p.lines_out, [&](unsigned line, unsigned r) {
                T re[R], im[R];
                number *const set = set_at<k>(line, r);
                fetch<k>(set, re, im);
                turn<k>(r % m, re, im);
                wi_fft_butterfly<R>(re, im);
                if constexpr (k == 0)
                    store<R>(line, r, re, im);
                else
                    keep<k>(set, re, im);
            });
            if constexpr (k > 0)
                __syncthreads();
        }
    }

    /* The product with S, which is told in the order of these sets, and the first sums of F', of
     * conjugates. */
    template <int R>
    __device__ __forceinline__ void turn_round(unsigned r, T *re, T *im) const {
#pragma unroll
        for (int q = 0; q < R; q++) {
            const number v =
                wi_fft_product(number{re[q], im[q]}, c.spectrum[r + (unsigned)q * (Shape::n / R)]);
            re[q] = v.re;
            im[q] = -v.im;
        }
        wi_fft_butterfly<R>(re, im);
    }
};

template <class Shape>
static __global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    chirped(const __grid_constant__ wi_fft_chirp_params<typename Shape::Type> c) {
    using Worker = chirper<Shape>;
    WEFT_DYNAMIC_SHARED(shared);
    const wi_fft_place at = wi_fft_place_of(c.p.grid, blockIdx.x, c.p.turning);
    typename Shape::number *const numbers = (typename Shape::number *)shared;
    const typename Worker::Block block = {c.p,      at,           numbers,        numbers,
                                          Shape::n, Shape::pitch, Shape::threads, {}};
    const Worker worker = {c, block};
    worker.template run<0>();
}

/* ---- launches ---- */

/* The chirp, and its spectrum in the order in which sets of the last stage want it. */
static weft_status tables_of(weft_context *ctx, const wi_fft_lines *l, size_t m,
                             const unsigned *radix, unsigned stages, const void **chirp,
                             const void **spectrum) {
    wi_fft_table_key own = {}, whole = {};
    own.kind = WI_FFT_CHIRP;
    whole.kind = WI_FFT_SPECTRUM;
    own.type = whole.type = l->type;
    own.n = whole.n = l->n;
    whole.part = m;
    for (unsigned k = 0; k < stages; k++)
        whole.radix[k] = (unsigned char)radix[k];
    const weft_status status = wi_fft_table(ctx, &own, chirp);
    return status == WEFT_OK ? wi_fft_table(ctx, &whole, spectrum) : status;
}

/* Without `queues` only the tables are made. */
template <class Shape>
static weft_status run_chirp(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    using T = typename Shape::Type;
    wi_fft_chirp_params<T> c = {};
    wi_fft_lines whole = *l;
    const void *chirp = NULL, *spectrum = NULL;
    unsigned blocks = 0, backwards[Shape::stages];
    whole.n = Shape::n;
    for (unsigned k = 0; k < Shape::stages; k++)
        backwards[k] = Shape::radix[Shape::stages - 1 - k];
    weft_status status =
        tables_of(ctx, l, Shape::n, Shape::radix, Shape::stages, &chirp, &spectrum);
    if (status == WEFT_OK)
        status = wi_fft_pass_of(ctx, &whole, backwards, Shape::stages, Shape::lines, &c.p,
                                queues ? &blocks : NULL);
    if (status != WEFT_OK || !queues)
        return status;
    c.n = (unsigned)l->n;
    c.chirp = (const wi_fft_number<T> *)chirp;
    c.spectrum = (const wi_fft_number<T> *)spectrum;
    return WEFT_LAUNCH(chirped<Shape>, ctx, blocks, Shape::threads, Shape::bytes, c);
}

/* The least power of 2, or three times one, for which there is a kernel. */
size_t wi_fft_chirps(const weft_context *ctx, weft_type type, size_t n) {
    static const unsigned f32[] = {128, 256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 16384},
                          f64[] = {128, 256, 512, 1024, 2048, 4096};
    const bool is_wide = type == WEFT_F64;
    const unsigned *const lengths = is_wide ? f64 : f32;
    const size_t count = is_wide ? sizeof f64 / sizeof *f64 : sizeof f32 / sizeof *f32;
    const size_t spare = 64; /* numbers */
    size_t k = 0;
    while (k < count && lengths[k] < 2 * n - 1)
        k++;
    if (k == count)
        return 0;
    const size_t bytes = (lengths[k] + lengths[k] / 8 + spare) * wi_fft_number_bytes(type);
    return bytes <= ctx->gpu->shared_optin ? lengths[k] : 0;
}

#define CHIRP(...)                                                                                 \
    case chirp_shape<__VA_ARGS__>::n:                                                              \
        return run_chirp<chirp_shape<__VA_ARGS__>>(ctx, l, queues)

static weft_status run_f32(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    switch (wi_fft_chirps(ctx, l->type, l->n)) {
        CHIRP(float, 4096, 256, 4, 16, 8);
        CHIRP(float, 4096, 256, 4, 16, 16);
        CHIRP(float, 4096, 256, 4, 8, 8, 8);
        CHIRP(float, 4096, 256, 4, 16, 8, 8);
        CHIRP(float, 3072, 192, 5, 16, 8, 12);
        CHIRP(float, 4096, 256, 4, 16, 16, 8);
        CHIRP(float, 3072, 192, 5, 16, 16, 12);
        CHIRP(float, 4096, 256, 4, 16, 16, 16);
        CHIRP(float, 6144, 192, 4, 16, 16, 24);
        CHIRP(float, 8192, 256, 3, 16, 16, 32);
    default:
        return run_chirp<chirp_shape<float, 16384, 512, 1, 16, 32, 32>>(ctx, l, queues);
    }
}

static weft_status run_f64(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    switch (wi_fft_chirps(ctx, l->type, l->n)) {
        CHIRP(double, 2048, 128, 4, 16, 8);
        CHIRP(double, 2048, 128, 4, 16, 16);
        CHIRP(double, 2048, 128, 4, 8, 8, 8);
        CHIRP(double, 2048, 128, 4, 16, 8, 8);
        CHIRP(double, 2048, 128, 4, 16, 16, 8);
    default:
        return run_chirp<chirp_shape<double, 4096, 256, 2, 16, 16, 16>>(ctx, l, queues);
    }
}

weft_status wi_fft_chirp(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    return l->type == WEFT_F64 ? run_f64(ctx, l, queues) : run_f32(ctx, l, queues);
}
