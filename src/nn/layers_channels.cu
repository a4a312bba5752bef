/* SPDX-License-Identifier: Apache-2.0 */
/* Biases and batch normalisation on a GPU. Sums over the pixels of a channel are made in f64:
 * blocks sum parts of them, and one thread for each channel adds up its parts in their order. */
#include "cuda/ahead.cuh"
#include "nn/layers_sums.cuh"

constexpr int threads = wi_layer_threads, warps = threads / 32;
constexpr int pixels_each = 16; /* that a thread makes */

namespace {

/* The arrays of a call: pixels, and numbers of channels in the type they are computed in. */
template <class T>
struct channel_arrays {
    using C = wi_compute<T>;
    const T *x, *dy;
    T *y;
    const C *scale, *shift, *mean;
    C *mean_out, *inverse, *running_mean, *running_variance, *dscale, *dshift;
};

/* The factors of a channel: y = (x - minus) times + plus, or dx = times dy + minus x + plus. */
template <class R>
struct channel_factors {
    R minus, times, plus;
};

/* Those of a layer are of the type that its elements are computed in. */
template <wi_layer Layer, class T>
using factors_for =
    channel_factors<typename wi_choose<Layer == WI_LAYER_NORM_BACK, double, wi_compute<T>>::type>;

} // namespace

/* ---- what is made of the sums: one warp for a channel ---- */

/* The mean of a channel, and the sum of squared differences from it. */
template <class T>
static __device__ sums moments_of(const channel_params &p, const channel_arrays<T> &a, unsigned c,
                                  sums s) {
    const double centre = centre_of<SQUARES>(p, a.x, a.mean, c);
    const double spread = s.first * s.first / p.pixels;
    return {centre + s.first / p.pixels, s.second > spread ? s.second - spread : 0};
}

template <class T>
static __device__ factors_for<WI_LAYER_NORM, T>
statistics_of(const channel_params &p, const channel_arrays<T> &a, unsigned c, sums s) {
    using C = wi_compute<T>;
    const double m = p.pixels, middle = s.first, variance = s.second / m;
    const double root = 1 / sqrt(variance + p.epsilon);
    a.mean_out[c] = (C)middle;
    a.inverse[c] = (C)root;
    if (a.running_mean) {
        const double unbiased = m > 1 ? variance * (m / (m - 1)) : variance, rest = 1 - p.momentum;
        a.running_mean[c] = (C)(rest * (double)a.running_mean[c] + p.momentum * middle);
        a.running_variance[c] = (C)(rest * (double)a.running_variance[c] + p.momentum * unbiased);
    }
    return {(C)middle, (C)(root * (double)a.scale[c]), a.shift[c]};
}

template <class T>
static __device__ channel_factors<double>
gradients_of(const channel_params &p, const channel_arrays<T> &a, unsigned c, sums s) {
    using C = wi_compute<T>;
    const double m = p.pixels, root = (double)a.inverse[c];
    const double by_z = s.second * root, whole = (double)a.scale[c] * root;
    a.dshift[c] = (C)s.first;
    a.dscale[c] = (C)by_z;
    const double of_x = m > 0 ? -whole * by_z * root / m : 0;
    return {of_x, whole, m > 0 ? -whole * s.first / m - of_x * (double)a.mean[c] : 0};
}

/* The lanes of a warp add up the parts of a channel, and the first makes of the sums what is asked
 * for. */
template <class T>
static __global__ void __launch_bounds__(threads)
    finish(const __grid_constant__ channel_params p, const __grid_constant__ channel_arrays<T> a,
           const sums *parts, void *factors, sums *wanted) {
    const unsigned c = blockIdx.x * warps + threadIdx.x / 32;
    sums s = {0, 0};
    wi_wait_for_earlier();
    if (c >= p.channels)
        return;
#pragma unroll(4)
    for (unsigned part = threadIdx.x % 32; part < p.parts; part += 32) {
        const sums of_part = parts[(size_t)c * p.parts + part];
        s.first += of_part.first;
        s.second += of_part.second;
    }
    s = sum_of_warp<SQUARES>(s);
    if (threadIdx.x % 32 > 0)
        return;
    if (p.layer == WI_LAYER_NORM && p.step != WI_LAYER_REST)
        s = moments_of(p, a, c, s);
    if (p.step == WI_LAYER_SUMS) {
        wanted[c] = s;
    } else if (p.layer == WI_LAYER_BIAS_BACK) {
        a.dshift[c] = (wi_compute<T>)s.first;
    } else if (p.layer == WI_LAYER_NORM) { /* emu does not see what a function returns to memory */
        const factors_for<WI_LAYER_NORM, T> made = statistics_of(p, a, c, s);
        ((factors_for<WI_LAYER_NORM, T> *)factors)[c] = made;
    } else {
        const channel_factors<double> made = gradients_of(p, a, c, s);
        ((channel_factors<double> *)factors)[c] = made;
    }
}

/* ---- elements ---- */

/* The factors of a channel. Inference and biases have theirs in the arrays of the call. */
template <wi_layer Layer, class T>
static __device__ factors_for<Layer, T>
factors_of(const channel_params &p, const channel_arrays<T> &a, const void *factors, unsigned c) {
    using C = wi_compute<T>;
    if constexpr (Layer == WI_LAYER_BIAS)
        return {0, 1, a.shift[c]};
    else if constexpr (Layer == WI_LAYER_NORM_INFERENCE)
        return {a.mean[c], (C)((double)a.scale[c] / sqrt((double)a.inverse[c] + p.epsilon)),
                a.shift[c]};
    else
        return ((const factors_for<Layer, T> *)factors)[c];
}

/* What an element becomes. */
template <wi_layer Layer, class C, class R>
static __device__ C made_of(const channel_factors<R> &f, C x, C dy) {
    if constexpr (Layer == WI_LAYER_BIAS)
        return x + f.plus;
    else if constexpr (Layer == WI_LAYER_NORM_BACK)
        return (C)(f.times * (double)dy + f.minus * (double)x + f.plus);
    else
        return (x - f.minus) * f.times + f.plus;
}

/* The block that a launch begins with takes the end of the arrays: the sums have just read it, and
 * it may still be in the cache. */
static __device__ size_t block_from_end() {
    return gridDim.x - 1 - blockIdx.x;
}

/* Element by element. */
template <wi_layer Layer, class T>
static __global__ void __launch_bounds__(threads, 4)
    make_elements(const __grid_constant__ channel_params p,
                  const __grid_constant__ channel_arrays<T> a, const void *factors, size_t n) {
    wi_layer_each_of(n, [&](size_t i) {
        const auto f = factors_of<Layer, T>(p, a, factors, p.finder.of(i).channel);
        const wi_compute<T> x = wi_load(a.x[i]);
        a.y[i] = (T)made_of<Layer>(f, x, Layer == WI_LAYER_NORM_BACK ? wi_load(a.dy[i]) : x);
    });
}

/* Planes, by 16 bytes, which are of one channel. */
template <wi_layer Layer, class T>
static __global__ void __launch_bounds__(threads, 4)
    make_planes(const __grid_constant__ channel_params p,
                const __grid_constant__ channel_arrays<T> a, const void *factors, size_t n) {
    using vector = wi_vector<T>;
    constexpr int ahead = Layer == WI_LAYER_NORM_BACK ? 2 : wi_layer_each;
    const size_t vectors = n / vector::count;
    const size_t first = block_from_end() * wi_layer_block + threadIdx.x;
    for (int round = 0; round < wi_layer_each; round += ahead) {
        vector x[ahead], dy[ahead];
#pragma unroll
        for (int k = 0; k < ahead; k++) {
            const size_t i = first + (size_t)((round + k) * threads);
            if (i < vectors) {
                x[k] = ((const vector *)a.x)[i];
                dy[k] = Layer == WI_LAYER_NORM_BACK ? ((const vector *)a.dy)[i] : x[k];
            }
        }
#pragma unroll
        for (int k = 0; k < ahead; k++) {
            const size_t i = first + (size_t)((round + k) * threads);
            if (i >= vectors)
                return;
            const unsigned c = p.finder.of(i * vector::count).channel;
            const auto f = factors_of<Layer, T>(p, a, factors, c);
#pragma unroll
            for (int v = 0; v < vector::count; v++)
                x[k].at[v] = (T)made_of<Layer>(f, wi_load(x[k].at[v]), wi_load(dy[k].at[v]));
            ((vector *)a.y)[i] = x[k];
        }
    }
}

/* Pixels: a thread has 16 bytes of neighbouring channels, whose factors it keeps. */
template <wi_layer Layer, class T>
static __global__ void __launch_bounds__(threads)
    make_pixels(const __grid_constant__ channel_params p,
                const __grid_constant__ channel_arrays<T> a, const void *factors) {
    using vector = wi_vector<T>;
    constexpr int ahead = Layer == WI_LAYER_NORM_BACK ? 2 : 4;
    const channel_rows &share = p.share;
    const size_t block = block_from_end();
    const unsigned row = threadIdx.x / share.across;
    const unsigned c =
        ((unsigned)(block % share.groups) * share.across + threadIdx.x - row * share.across) *
        vector::count;
    if (row >= share.rows || c >= p.channels)
        return;
    factors_for<Layer, T> f[vector::count];
#pragma unroll
    for (int v = 0; v < vector::count; v++)
        f[v] = factors_of<Layer, T>(p, a, factors, c + (unsigned)v);
    const size_t pixels = p.images * p.plane, each = (size_t)pixels_each * share.rows;
    const size_t from = block / share.groups * each;
    const size_t end = from + each < pixels ? from + each : pixels;
    for (size_t i = from + row; i < end; i += ahead * share.rows) {
        vector x[ahead], dy[ahead];
#pragma unroll
        for (int k = 0; k < ahead; k++) {
            const size_t pixel = i + (unsigned)k * share.rows, at = pixel * p.channels + c;
            if (pixel < end) {
                x[k] = *(const vector *)(a.x + at);
                dy[k] = Layer == WI_LAYER_NORM_BACK ? *(const vector *)(a.dy + at) : x[k];
            }
        }
#pragma unroll
        for (int k = 0; k < ahead; k++) {
            const size_t pixel = i + (unsigned)k * share.rows, at = pixel * p.channels + c;
            if (pixel >= end)
                break;
#pragma unroll
            for (int v = 0; v < vector::count; v++)
                x[k].at[v] = (T)made_of<Layer>(f[v], wi_load(x[k].at[v]), wi_load(dy[k].at[v]));
            *(vector *)(a.y + at) = x[k];
        }
    }
}

/* ---- launches ---- */

template <class T>
static channel_arrays<T> arrays_of(const wi_layer_args *a) {
    using C = wi_compute<T>;
    C *p[WI_LAYER_ARRAYS];
    channel_arrays<T> r = {};
    for (int k = 0; k < WI_LAYER_ARRAYS; k++)
        p[k] = (C *)a->array[k];
    r.x = (const T *)a->array[0];
    r.scale = p[1];
    r.shift = p[2];
    switch (a->layer) {
    case WI_LAYER_BIAS:
        r.shift = p[1];
        r.y = (T *)a->array[2];
        break;
    case WI_LAYER_BIAS_BACK:
        r.dy = r.x;
        r.dshift = p[1];
        break;
    case WI_LAYER_NORM:
        r.y = (T *)a->array[3];
        r.mean = r.mean_out = p[4];
        r.inverse = p[5];
        r.running_mean = p[6];
        r.running_variance = p[7];
        break;
    case WI_LAYER_NORM_INFERENCE:
        r.mean = p[3];
        r.inverse = p[4];
        r.y = (T *)a->array[5];
        break;
    default:
        r.mean = p[2];
        r.inverse = p[3];
        r.dy = (const T *)a->array[4];
        r.y = (T *)a->array[5];
        r.dscale = p[6];
        r.dshift = p[7];
    }
    return r;
}

template <wi_layer Layer, class T>
static weft_status make_layer(weft_context *ctx, channel_params p, const channel_arrays<T> &a,
                              const void *factors, size_t n) {
    constexpr unsigned width = wi_vector<T>::count;
    const bool joined = (p.planes ? p.plane : p.channels) % width == 0 && wi_is_aligned(a.x) &&
                        wi_is_aligned(a.y) && wi_is_aligned(a.dy);
    size_t blocks = wi_layer_pieces(joined ? n / width : n, wi_layer_block);
    if (joined && !p.planes) {
        p.share = wi_channel_rows(p.channels / width, threads);
        blocks = p.share.groups *
                 wi_layer_pieces(p.images * p.plane, (size_t)pixels_each * p.share.rows);
    }
    const weft_status status = wi_layer_check_grid(ctx, blocks);
    if (status != WEFT_OK || n == 0)
        return status;
    if (!joined)
        return WEFT_LAUNCH((make_elements<Layer, T>), ctx, (unsigned)blocks, threads, 0, p, a,
                           factors, n);
    if (p.planes)
        return WEFT_LAUNCH((make_planes<Layer, T>), ctx, (unsigned)blocks, threads, 0, p, a,
                           factors, n);
    return WEFT_LAUNCH((make_pixels<Layer, T>), ctx, (unsigned)blocks, threads, 0, p, a, factors);
}

template <class T>
static weft_status make_all(weft_context *ctx, const channel_params &p, const channel_arrays<T> &a,
                            const void *factors, size_t n) {
    switch (p.layer) {
    case WI_LAYER_BIAS:
        return make_layer<WI_LAYER_BIAS>(ctx, p, a, factors, n);
    case WI_LAYER_NORM_INFERENCE:
        return make_layer<WI_LAYER_NORM_INFERENCE>(ctx, p, a, factors, n);
    case WI_LAYER_NORM:
        return make_layer<WI_LAYER_NORM>(ctx, p, a, factors, n);
    default:
        return make_layer<WI_LAYER_NORM_BACK>(ctx, p, a, factors, n);
    }
}

/* What the layer sums up. */
template <class T>
static weft_status sum_layer(weft_context *ctx, const channel_params &p, const channel_arrays<T> &a,
                             sums *to) {
    if (p.layer == WI_LAYER_NORM)
        return sum_channels<SQUARES>(ctx, p, a.x, a.x, a.mean, to);
    if (p.layer == WI_LAYER_NORM_BACK)
        return sum_channels<PRODUCTS>(ctx, p, a.dy, a.x, a.mean, to);
    return sum_channels<ALONE>(ctx, p, a.dy, a.dy, a.mean, to);
}

/* Sums, what is made of them, and the elements. `known` are the sums of a step, or NULL. */
template <class T>
static weft_status run_sums(weft_context *ctx, channel_params p, const channel_arrays<T> &a,
                            size_t n, sums *known) {
    const bool rest = p.step == WI_LAYER_REST;
    p.parts = 1;
    if (!rest)
        share_sums<T>(ctx, &p);
    void *memory = NULL;
    const size_t sums_bytes = (size_t)p.channels * p.parts * sizeof(sums);
    weft_status status =
        wi_gpu_alloc(ctx, &memory, sums_bytes + p.channels * sizeof(channel_factors<double>));
    if (status != WEFT_OK)
        return status;
    sums *const parts = rest ? known : (sums *)memory;
    void *const factors = (char *)memory + sums_bytes;
    if (!rest)
        status = sum_layer(ctx, p, a, parts);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH_AHEAD(finish<T>, ctx, (unsigned)wi_layer_pieces(p.channels, warps),
                                   threads, 0, p, a, (const sums *)parts, factors, known);
    if (status == WEFT_OK && p.layer != WI_LAYER_BIAS_BACK && p.step != WI_LAYER_SUMS)
        status = make_all(ctx, p, a, factors, n);
    const weft_status freed = wi_gpu_free(ctx, memory);
    return status == WEFT_OK ? freed : status;
}

/* Threads of a block of a gradient of biases that is made by one kernel; else 0. Where memory
 * begins does not matter, for it decides no bits. */
template <class T>
static int whole_threads(const weft_context *ctx, const channel_params &p) {
    const bool fits = p.layer == WI_LAYER_BIAS_BACK && p.step == WI_LAYER_WHOLE && p.planes &&
                      width_of_sums<T>(p) > 1;
    return fits ? wi_sums_whole_threads(ctx, p.channels) : 0;
}

weft_status wi_layers_channels(weft_context *ctx, const wi_layer_args *a) {
    channel_params p = {};
    p.layer = a->layer;
    p.step = a->step;
    p.channels = (unsigned)a->in.c;
    p.plane = (unsigned)(a->in.h * a->in.w);
    p.images = a->in.n;
    p.planes = a->in.layout == WEFT_NCHW;
    p.epsilon = a->factor[0];
    p.momentum = a->factor[1];
    p.pixels = wi_layer_pixels(a);
    p.finder = wi_layer_finder(p.planes, a->n, p.channels, p.plane);
    return wi_with_float_type(a->type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const channel_arrays<T> arrays = arrays_of<T>(a);
        if (p.layer == WI_LAYER_BIAS || p.layer == WI_LAYER_NORM_INFERENCE)
            return make_all(ctx, p, arrays, (const void *)NULL, a->n);
        p.parts = 1;
        if (const int of_block = whole_threads<T>(ctx, p))
            return sum_whole(ctx, p, of_block, arrays.dy, arrays.dshift);
        return run_sums(ctx, p, arrays, a->n, (sums *)a->sums);
    });
}
