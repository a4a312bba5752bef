/* SPDX-License-Identifier: Apache-2.0 */
/* Lines whose length n has a large prime factor in one kernel (Bluestein's algorithm): with the
 * chirp c(k) = exp(-pi i k^2 / n) and transforms F of M >= 2 n - 1 numbers,
 *
 *     X = c F'(S F(x c)),  S = F(conj(c)) / M,  F' the inverse of F without its factor 1 / M. */
#include "cuda/prefetch.cuh"
#include "fft/fft_ahead.cuh"
#include "fft/fft_chirp.cuh"

template <class T>
struct wi_fft_chirp_params {
    wi_fft_pass<T> p;
    unsigned n; /* of a line; Shape::n is M */
    const wi_fft_number<T> *chirp, *spectrum;
};

/* Where lines come from and go to. */
template <class Shape>
struct line_ends {
    using T = typename Shape::Type;
    using number = wi_fft_number<T>;
    static constexpr bool adds = false, is_narrow = sizeof(T) == 4; /* arrays may be f16 */
    const wi_fft_chirp_params<T> &c;
    const wi_fft_place &at;

    __device__ __forceinline__ bool lines_in() const {
        return c.p.lines_in;
    }
    __device__ __forceinline__ bool lines_out() const {
        return c.p.lines_out;
    }
    __device__ __forceinline__ const number *spectrum_of(unsigned) const {
        return c.spectrum;
    }
    static constexpr __device__ unsigned apart() {
        return Shape::n / Shape::last;
    }
    /* Of which loop `turning` counts. */
    __device__ __forceinline__ size_t turn_of(unsigned line) const {
        return c.p.turning == 0 ? at.first + line : at.turn;
    }
    /* Is number i of a line one of x? */
    __device__ __forceinline__ bool has(unsigned line, unsigned i) const {
        return i < c.n && line < at.lines;
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
        const size_t from = at.in + (line < at.lines ? line : 0) * c.p.near_in;
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
        wi_fft_half_butterfly<R>(re, im);
    }

    /* c times the conjugates of the first half of what the last stage of F' gives. Lines that are
     * part of longer ones have their results turned. */
    template <int R>
    __device__ __forceinline__ void store(unsigned line, unsigned j, const T *re,
                                          const T *im) const {
        const size_t to = at.out + line * c.p.near_out;
        const bool turns = Shape::n <= 2 * WI_FFT_MOST_TURNED && c.p.turning >= 0;
        number by = {1, 0}, step = {1, 0}, factor[R / 2];
        load_chirp<R>(line, j, factor);
        if (turns) {
            by = c.p.circle.template at<T>(turn_of(line) * j);
            step = c.p.circle.template at<T>(turn_of(line) * (Shape::n / R));
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
};

template <class Shape>
static __global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    chirped(const __grid_constant__ wi_fft_chirp_params<typename Shape::Type> c) {
    using number = typename Shape::number;
    WEFT_DYNAMIC_SHARED(shared);
    if (threadIdx.x == Shape::threads - 1)
        wi_fft_look_ahead(c.p, c.n);
    const wi_fft_place at = wi_fft_place_of(c.p.grid, blockIdx.x, c.p.turning);
    const line_ends<Shape> ends = {c, at};
    const wi_fft_chirper<Shape, line_ends<Shape>> worker = {ends, (number *)shared, c.p.twiddles};
    worker.template run<0>();
}

/* ---- launches ---- */

weft_status wi_fft_chirp_tables(weft_context *ctx, const wi_fft_lines *l, size_t m,
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
        wi_fft_chirp_tables(ctx, l, Shape::n, Shape::radix, Shape::stages, &chirp, &spectrum);
    if (status == WEFT_OK)
        status = wi_fft_pass_of(ctx, &whole, backwards, Shape::stages, Shape::lines, &c.p,
                                queues ? &blocks : NULL);
    if (status != WEFT_OK || !queues)
        return status;
    c.n = (unsigned)l->n;
    c.p.ahead = wi_fft_ahead_of(ctx, l, Shape::lines);
    c.chirp = (const wi_fft_number<T> *)chirp;
    c.spectrum = (const wi_fft_number<T> *)spectrum;
    return WEFT_LAUNCH(chirped<Shape>, ctx, blocks, Shape::threads, Shape::bytes, c);
}

/* The least length for which there is a kernel. */
size_t wi_fft_chirps(const weft_context *ctx, weft_type type, size_t n) {
    static const unsigned f32[] = {128,  256,  384,  512,  1024, 1536,
                                   2048, 3072, 4096, 6144, 8192, 16384},
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
    case wi_fft_chirp_shape<__VA_ARGS__>::n:                                                       \
        return run_chirp<wi_fft_chirp_shape<__VA_ARGS__>>(ctx, l, queues)

static weft_status run_f32(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    switch (wi_fft_chirps(ctx, l->type, l->n)) {
        CHIRP(float, 4096, 256, 4, 16, 8);
        CHIRP(float, 4096, 256, 4, 16, 16);
        CHIRP(float, 3072, 192, 4, 16, 24);
        CHIRP(float, 4096, 256, 4, 8, 8, 8);
        CHIRP(float, 4096, 256, 4, 16, 8, 8);
        CHIRP(float, 3072, 192, 5, 16, 8, 12);
        CHIRP(float, 4096, 256, 4, 16, 16, 8);
        CHIRP(float, 3072, 192, 5, 16, 16, 12);
        CHIRP(float, 4096, 256, 4, 16, 16, 16);
        CHIRP(float, 6144, 192, 4, 16, 16, 24);
        CHIRP(float, 8192, 256, 3, 16, 16, 32);
    default:
        return run_chirp<wi_fft_chirp_shape<float, 16384, 512, 1, 16, 32, 32>>(ctx, l, queues);
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
        return run_chirp<wi_fft_chirp_shape<double, 4096, 256, 2, 16, 16, 16>>(ctx, l, queues);
    }
}

weft_status wi_fft_chirp(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    if (wi_fft_is_cyclic(l))
        return wi_fft_cyclic_line(ctx, l, queues);
    return l->type == WEFT_F64 ? run_f64(ctx, l, queues) : run_f32(ctx, l, queues);
}
