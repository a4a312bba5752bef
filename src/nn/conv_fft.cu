/* SPDX-License-Identifier: Apache-2.0 */
/* conv, the rung fft: planes become spectra, and the sums of a pass over channels, filters or
 * images are sums of products at each frequency by itself.
 *
 *     forward   Y(n, k)  = sum over c of X(n, c) conj(F(k, c))
 *     data      dX(n, c) = sum over k of dY(n, k) F(k, c)
 *     weights   dF(k, c) = sum over n of X(n, c) conj(dY(n, k)) */
#include "core/gpu.h"
#include "cuda/limit.cuh"
#include "fft/fft.h"
#include "nn/conv_cuda.cuh"
#include "nn/conv_fft.h"

constexpr int fft_threads = 256;
constexpr int fft_side = 4; /* results of a thread: side x side, at one frequency */
/* Of the spectra of images and results that are in memory at a time, besides one image's. */
WI_LIMIT(size_t, wi_conv_fft_bytes, (size_t)1 << 30)

namespace {

/* Planes [outer][inner] of an array, and of the memory in which they are transformed. */
struct conv_planes {
    int inner;
    size_t of_outer, of_inner, of_row, of_column; /* steps in the array */
    int rows, columns;                            /* of a plane of the array */
    int first_h, first_w, step_h, step_w;         /* where they are in a transform */
    int height, pitch;                            /* a transform's rows, and their real numbers */
};

/* What is multiplied: planes from one index to the next. */
struct spectrum_steps {
    size_t row, term, group;
};

struct spectra_product {
    int rows, columns, terms, groups;
    spectrum_steps a, b; /* b: of columns */
    size_t to_row, to_column, to_group;
    unsigned numbers; /* of a spectrum */
    bool adds;
};

template <class T>
struct alignas(2 * sizeof(T)) complex_number {
    T re, im;
};

} // namespace

/* A thread makes one number of the transforms' memory. */
template <class T>
static __global__ void __launch_bounds__(fft_threads)
    spread_planes(const __grid_constant__ conv_planes p, size_t n, const T *from, T *to) {
    const size_t i = (size_t)blockIdx.x * fft_threads + threadIdx.x;
    if (i >= n)
        return;
    const unsigned one = (unsigned)(p.height * p.pitch);
    const size_t plane = i / one;
    const unsigned rest = (unsigned)(i - plane * one);
    const int row = (int)(rest / (unsigned)p.pitch) - p.first_h;
    const int column = (int)(rest % (unsigned)p.pitch) - p.first_w;
    const int r = row / p.step_h, s = column / p.step_w;
    T value = 0;
    if (row >= 0 && column >= 0 && r * p.step_h == row && s * p.step_w == column && r < p.rows &&
        s < p.columns)
        value =
            from[plane / (unsigned)p.inner * p.of_outer + plane % (unsigned)p.inner * p.of_inner +
                 (size_t)r * p.of_row + (size_t)s * p.of_column];
    to[i] = value;
}

/* A thread fetches one number of the array. */
template <class T>
static __global__ void __launch_bounds__(fft_threads)
    fetch_planes(const __grid_constant__ conv_planes p, size_t n, const T *from, T *to) {
    const size_t i = (size_t)blockIdx.x * fft_threads + threadIdx.x;
    if (i >= n)
        return;
    const unsigned one = (unsigned)(p.rows * p.columns);
    const size_t plane = i / one;
    const unsigned rest = (unsigned)(i - plane * one);
    const unsigned r = rest / (unsigned)p.columns, s = rest % (unsigned)p.columns;
    const size_t row = (size_t)p.first_h + r * (size_t)p.step_h;
    const size_t column = (size_t)p.first_w + s * (size_t)p.step_w;
    to[plane / (unsigned)p.inner * p.of_outer + plane % (unsigned)p.inner * p.of_inner +
       r * p.of_row + s * p.of_column] =
        from[(plane * (size_t)p.height + row) * (size_t)p.pitch + column];
}

/* sum += a b, or a conj(b). */
template <bool Conj, class T>
static __device__ void add_product(complex_number<T> *sum, const complex_number<T> &a,
                                   const complex_number<T> &b) {
    const T im = Conj ? -b.im : b.im;
    sum->re = wi_fma(a.re, b.re, wi_fma(-a.im, im, sum->re));
    sum->im = wi_fma(a.re, im, wi_fma(a.im, b.re, sum->im));
}

/* Neighbouring threads have neighbouring frequencies. Rows and columns beyond the last are read as
 * the last, and not written. */
template <class T, bool Conj>
static __global__ void __launch_bounds__(fft_threads)
    multiply_spectra(const __grid_constant__ spectra_product p, const complex_number<T> *a,
                     const complex_number<T> *b, complex_number<T> *to) {
    const unsigned pieces = (p.numbers + fft_threads - 1) / fft_threads;
    const unsigned down = (unsigned)((p.rows + fft_side - 1) / fft_side);
    const unsigned across = (unsigned)((p.columns + fft_side - 1) / fft_side);
    const unsigned at = blockIdx.x % pieces * fft_threads + threadIdx.x;
    unsigned rest = blockIdx.x / pieces;
    const int row = (int)(rest % down) * fft_side;
    rest /= down;
    const int column = (int)(rest % across) * fft_side;
    const size_t group = rest / across;
    if (at >= p.numbers)
        return;
    complex_number<T> sum[fft_side][fft_side] = {};
    const complex_number<T> *of_a[fft_side], *of_b[fft_side];
#pragma unroll
    for (int k = 0; k < fft_side; k++) {
        const int i = row + k < p.rows ? row + k : p.rows - 1;
        const int j = column + k < p.columns ? column + k : p.columns - 1;
        of_a[k] = a + (group * p.a.group + (size_t)i * p.a.row) * p.numbers + at;
        of_b[k] = b + (group * p.b.group + (size_t)j * p.b.row) * p.numbers + at;
    }
    for (int t = 0; t < p.terms; t++) {
        complex_number<T> x[fft_side], y[fft_side];
#pragma unroll
        for (int k = 0; k < fft_side; k++) {
            x[k] = of_a[k][(size_t)t * p.a.term * p.numbers];
            y[k] = of_b[k][(size_t)t * p.b.term * p.numbers];
        }
#pragma unroll
        for (int i = 0; i < fft_side; i++)
#pragma unroll
            for (int j = 0; j < fft_side; j++)
                add_product<Conj>(&sum[i][j], x[i], y[j]);
    }
#pragma unroll
    for (int i = 0; i < fft_side; i++)
#pragma unroll
        for (int j = 0; j < fft_side; j++) {
            if (row + i >= p.rows || column + j >= p.columns)
                continue;
            complex_number<T> *const own = to +
                                           (group * p.to_group + (size_t)(row + i) * p.to_row +
                                            (size_t)(column + j) * p.to_column) *
                                               p.numbers +
                                           at;
            if (p.adds) {
                sum[i][j].re += own->re;
                sum[i][j].im += own->im;
            }
            *own = sum[i][j];
        }
}

/* ---- the works of a pass ---- */

namespace {

/* A pass: `images` are taken together, from `first` on. Spectra of x, f and y. */
struct fft_pass {
    weft_context *ctx;
    const wi_conv_args *a;
    wi_conv_plane plane;
    void *x, *f, *y;
    size_t first, images;
};

} // namespace

static conv_planes planes_of(const fft_pass &p, const wi_image_steps &s, size_t inner, size_t rows,
                             size_t columns) {
    return {(int)inner,
            s.n,
            s.c,
            s.h,
            s.w,
            (int)rows,
            (int)columns,
            0,
            0,
            1,
            1,
            (int)p.plane.height,
            (int)(2 * p.plane.half)};
}

static conv_planes planes_of_x(const fft_pass &p) {
    conv_planes of = planes_of(p, wi_image_steps_of(&p.a->in), p.a->in.c, p.a->in.h, p.a->in.w);
    of.first_h = (int)p.a->pad_h;
    of.first_w = (int)p.a->pad_w;
    return of;
}
static conv_planes planes_of_y(const fft_pass &p) {
    return planes_of(p, wi_image_steps_of(&p.a->out), p.a->out.c, p.a->out.h, p.a->out.w);
}
static conv_planes planes_of_f(const fft_pass &p) {
    conv_planes of = planes_of(p, wi_conv_filter_steps(p.a), wi_conv_channels(p.a), p.a->kernel_h,
                               p.a->kernel_w);
    of.step_h = (int)p.a->dilation_h;
    of.step_w = (int)p.a->dilation_w;
    return of;
}

static wi_fft_args transforms_of(const fft_pass &p, size_t batch, bool back, void *numbers) {
    const wi_conv_plane &z = p.plane;
    wi_fft_args f = {};
    f.d.type = p.a->in.type;
    f.d.kind = back ? WEFT_FFT_COMPLEX_TO_REAL : WEFT_FFT_REAL_TO_COMPLEX;
    f.d.direction = back ? WEFT_FFT_INVERSE : WEFT_FFT_FORWARD;
    f.d.rank = 2;
    f.d.n[0] = z.height;
    f.d.n[1] = z.width;
    f.d.batch = batch;
    f.d.scale = back ? 1 / ((double)z.height * (double)z.width) : 1;
    size_t *const real = back ? f.d.stride_y : f.d.stride_x;
    size_t *const complex = back ? f.d.stride_x : f.d.stride_y;
    real[0] = 2 * z.half;
    complex[0] = z.half;
    real[1] = complex[1] = 1;
    f.d.apart_x = back ? wi_conv_spectrum(&z) : 2 * wi_conv_spectrum(&z);
    f.d.apart_y = back ? 2 * wi_conv_spectrum(&z) : wi_conv_spectrum(&z);
    f.x = f.y = numbers;
    return f;
}

static weft_status run_fft(const fft_pass &p, const wi_fft_args &f) {
    return wi_pick(p.ctx, &wi_fft_ladder, f.d.type, &f)->run(p.ctx, &f);
}

/* Planes to spectra. */
template <class T>
static weft_status enter(const fft_pass &p, const conv_planes &of, size_t planes, const void *from,
                         void *to) {
    const size_t n = planes * (size_t)of.height * (size_t)of.pitch;
    const size_t blocks = wi_conv_pieces(n, fft_threads);
    weft_status status = wi_conv_check_grid(p.ctx, blocks);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(spread_planes<T>, p.ctx, (unsigned)blocks, fft_threads, 0, of, n,
                             (const T *)from, (T *)to);
    return status == WEFT_OK ? run_fft(p, transforms_of(p, planes, false, to)) : status;
}

/* And back. */
template <class T>
static weft_status leave(const fft_pass &p, const conv_planes &of, size_t planes, void *from,
                         void *to) {
    const size_t n = planes * (size_t)of.rows * (size_t)of.columns;
    const size_t blocks = wi_conv_pieces(n, fft_threads);
    weft_status status = run_fft(p, transforms_of(p, planes, true, from));
    if (status == WEFT_OK)
        status = wi_conv_check_grid(p.ctx, blocks);
    return status != WEFT_OK ? status
                             : WEFT_LAUNCH(fetch_planes<T>, p.ctx, (unsigned)blocks, fft_threads, 0,
                                           of, n, (const T *)from, (T *)to);
}

static spectra_product product_of(const fft_pass &p) {
    const int channels = (int)wi_conv_channels(p.a), filters = (int)wi_conv_filters(p.a);
    const size_t c = p.a->in.c, k = p.a->out.c, own_c = (size_t)channels, own_k = (size_t)filters;
    const int images = (int)p.images;
    spectra_product m = {};
    m.groups = (int)p.a->groups;
    m.numbers = (unsigned)wi_conv_spectrum(&p.plane);
    switch (p.a->pass) {
    case WI_CONV_FORWARD:
        m.rows = images, m.columns = filters, m.terms = channels;
        m.a = {c, 1, own_c};
        m.b = {own_c, 1, own_k * own_c};
        m.to_row = k, m.to_column = 1, m.to_group = own_k;
        return m;
    case WI_CONV_DATA:
        m.rows = images, m.columns = channels, m.terms = filters;
        m.a = {k, 1, own_k};
        m.b = {1, own_c, own_k * own_c};
        m.to_row = c, m.to_column = 1, m.to_group = own_c;
        return m;
    default:
        m.rows = channels, m.columns = filters, m.terms = images;
        m.a = {1, c, own_c};
        m.b = {1, k, own_k};
        m.to_row = 1, m.to_column = own_c, m.to_group = own_k * own_c;
        m.adds = p.first > 0;
        return m;
    }
}

template <class T>
static weft_status launch_multiply(const fft_pass &p) {
    using number = complex_number<T>;
    const spectra_product m = product_of(p);
    const wi_conv_pass pass = p.a->pass;
    const number *const a = (const number *)(pass == WI_CONV_DATA ? p.y : p.x);
    const number *const b = (const number *)(pass == WI_CONV_WEIGHTS ? p.y : p.f);
    number *const to = (number *)(pass == WI_CONV_FORWARD ? p.y : pass == WI_CONV_DATA ? p.x : p.f);
    const size_t blocks = wi_conv_pieces(m.numbers, fft_threads) *
                          wi_conv_pieces((size_t)m.rows, fft_side) *
                          wi_conv_pieces((size_t)m.columns, fft_side) * (size_t)m.groups;
    const weft_status status = wi_conv_check_grid(p.ctx, blocks);
    if (status != WEFT_OK)
        return status;
    if (pass == WI_CONV_DATA)
        return WEFT_LAUNCH((multiply_spectra<T, false>), p.ctx, (unsigned)blocks, fft_threads, 0, m,
                           a, b, to);
    return WEFT_LAUNCH((multiply_spectra<T, true>), p.ctx, (unsigned)blocks, fft_threads, 0, m, a,
                       b, to);
}

/* Some images. */
template <class T>
static weft_status run_images(const fft_pass &p) {
    const wi_conv_args *const a = p.a;
    const wi_image_steps sx = wi_image_steps_of(&a->in), sy = wi_image_steps_of(&a->out);
    T *const x = (T *)a->x + p.first * sx.n, *const y = (T *)a->y + p.first * sy.n;
    const size_t of_x = p.images * a->in.c, of_y = p.images * a->out.c;
    weft_status status = WEFT_OK;
    if (a->pass != WI_CONV_DATA)
        status = enter<T>(p, planes_of_x(p), of_x, x, p.x);
    if (status == WEFT_OK && a->pass != WI_CONV_FORWARD)
        status = enter<T>(p, planes_of_y(p), of_y, y, p.y);
    if (status == WEFT_OK)
        status = launch_multiply<T>(p);
    if (status == WEFT_OK && a->pass == WI_CONV_FORWARD)
        status = leave<T>(p, planes_of_y(p), of_y, p.y, y);
    if (status == WEFT_OK && a->pass == WI_CONV_DATA)
        status = leave<T>(p, planes_of_x(p), of_x, p.x, x);
    return status;
}

template <class T>
static weft_status run_pass(fft_pass p, size_t together) {
    const wi_conv_args *const a = p.a;
    const size_t filters = a->out.c * wi_conv_channels(a);
    weft_status status = WEFT_OK;
    if (a->pass != WI_CONV_WEIGHTS)
        status = enter<T>(p, planes_of_f(p), filters, a->f, p.f);
    for (p.first = 0; p.first < a->in.n && status == WEFT_OK; p.first += together) {
        p.images = a->in.n - p.first < together ? a->in.n - p.first : together;
        status = run_images<T>(p);
    }
    if (status == WEFT_OK && a->pass == WI_CONV_WEIGHTS)
        status = leave<T>(p, planes_of_f(p), filters, p.f, a->f);
    return status;
}

/* Makes the tables of transforms, and counts their scratch memory: all before the first work. */
static weft_status ask_fft(const fft_pass &p, const size_t batches[3], size_t *most) {
    weft_status status = WEFT_OK;
    for (int k = 0; k < 6 && status == WEFT_OK; k++) {
        size_t bytes = 0;
        wi_fft_args f = transforms_of(p, batches[k / 2], k % 2, NULL);
        f.asks_bytes = &bytes;
        status = run_fft(p, f);
        *most = bytes > *most ? bytes : *most;
    }
    return status;
}

/* Images whose spectra are in memory at a time. */
static size_t images_of(const wi_conv_args *a, const wi_conv_plane &p) {
    const size_t each = wi_conv_spectrum(&p) * 2 * weft_type_size(a->in.type);
    const size_t fit = wi_conv_fft_bytes / (each * (a->in.c + a->out.c));
    return fit < 1 ? 1 : fit < a->in.n ? fit : a->in.n;
}

weft_status wi_conv_fft(weft_context *ctx, const void *args) {
    const wi_conv_args *const a = (const wi_conv_args *)args;
    if (wi_conv_flops(a) == 0)
        return wi_conv_unrolled(ctx, args); /* writes zeros */
    fft_pass p = {ctx, a, wi_conv_plane_of(a), NULL, NULL, NULL, 0, 0};
    const size_t together = images_of(a, p.plane), rest = a->in.n % together;
    const size_t one = wi_conv_spectrum(&p.plane) * 2 * weft_type_size(a->in.type);
    const size_t of_x = together * a->in.c, of_y = together * a->out.c;
    const size_t of_f = a->out.c * wi_conv_channels(a);
    const size_t batches[3] = {of_x, of_y, of_f};
    const size_t last[3] = {(rest ? rest : together) * a->in.c, (rest ? rest : together) * a->out.c,
                            of_f};
    size_t scratch = 0;
    weft_status status = ask_fft(p, batches, &scratch);
    if (status == WEFT_OK)
        status = ask_fft(p, last, &scratch);
    if (status == WEFT_OK)
        status = wi_gpu_reserve(ctx, (of_x + of_y + of_f) * one + scratch);
    if (status != WEFT_OK)
        return status;
    status = wi_gpu_alloc(ctx, &p.x, (of_x + of_y + of_f) * one);
    if (status == WEFT_OK) {
        p.y = (char *)p.x + of_x * one;
        p.f = (char *)p.y + of_y * one;
        status =
            a->in.type == WEFT_F32 ? run_pass<float>(p, together) : run_pass<double>(p, together);
        const weft_status freed = wi_gpu_free(ctx, p.x);
        status = status == WEFT_OK ? freed : status;
    }
    const weft_status released = wi_gpu_release(ctx);
    return status == WEFT_OK ? released : status;
}
