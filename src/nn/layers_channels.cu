/* SPDX-License-Identifier: Apache-2.0 */
/* Biases and batch normalisation on a GPU. Sums over the pixels of a channel are made in f64:
 * blocks sum parts of them, and one thread for each channel adds up its parts in their order. */
#include "cuda/memory.cuh"
#include "nn/layers_cuda.cuh"

constexpr int threads = wi_layer_threads, warps = threads / 32;
constexpr int most_parts = 64; /* of a channel */

namespace {

/* What is summed, for each pixel of a channel: u; u and u (v - centre); or u - centre and its
 * square. */
enum summed {
    ALONE,
    PRODUCTS,
    SQUARES
};

struct sums {
    double first, second;
};

struct channel_params {
    wi_layer layer;
    wi_layer_step step;
    unsigned channels, plane; /* pixels of an image */
    size_t images;
    unsigned parts;
    bool planes;
    double pixels; /* that sums stand for */
    double epsilon, momentum;
    wi_layer_finder finder;
    bool joined;
};

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
struct channel_factors {
    double minus, times, plus;
};

} // namespace

template <summed What, class T>
static __device__ void add(sums *s, const T *u, const T *v, double centre, size_t i) {
    if constexpr (What == SQUARES) {
        const double x = (double)wi_load(u[i]) - centre;
        s->first += x;
        s->second = fma(x, x, s->second);
    } else {
        const double x = (double)wi_load(u[i]);
        s->first += x;
        if constexpr (What == PRODUCTS)
            s->second = fma(x, (double)wi_load(v[i]) - centre, s->second);
    }
}

/* What the sums of squares are taken around: any pixel of the channel. */
template <summed What, class T>
static __device__ double centre_of(const channel_params &p, const T *u, const wi_compute<T> *mean,
                                   unsigned c) {
    if constexpr (What == SQUARES)
        return (double)wi_load(u[p.planes ? (size_t)c * p.plane : c]);
    else
        return What == PRODUCTS ? (double)mean[c] : 0;
}

/* The sums of all warps, in their order; thread 0 has them. */
static __device__ sums sum_of_block(sums s) {
    WEFT_SHARED(sums, of_warps, [warps]);
    const auto plus = [](double a, double b) { return a + b; };
    s.first = wi_warp_reduce(s.first, plus);
    s.second = wi_warp_reduce(s.second, plus);
    if (threadIdx.x % 32 == 0)
        of_warps[threadIdx.x / 32] = s;
    __syncthreads();
    sums all = {0, 0};
    for (int w = 0; threadIdx.x == 0 && w < warps; w++) {
        all.first += of_warps[w].first;
        all.second += of_warps[w].second;
    }
    return all;
}

/* Planes: a block sums a channel of some images, a warp of one image at a time. */
template <summed What, class T>
static __global__ void __launch_bounds__(threads)
    sum_planes(channel_params p, const T *u, const T *v, const wi_compute<T> *mean, sums *to) {
    constexpr int unrolled = 8;
    const unsigned c = blockIdx.x / p.parts, part = blockIdx.x % p.parts, lane = threadIdx.x % 32;
    const double centre = centre_of<What>(p, u, mean, c);
    sums s[unrolled] = {};
    for (size_t image = part + (size_t)(threadIdx.x / 32) * p.parts; image < p.images;
         image += (size_t)p.parts * warps) {
        const size_t first = (image * p.channels + c) * p.plane;
        unsigned i = lane;
        for (; i + 32 * (unrolled - 1) < p.plane; i += 32 * unrolled)
#pragma unroll
            for (int k = 0; k < unrolled; k++)
                add<What>(&s[k], u, v, centre, first + i + (unsigned)(32 * k));
        for (; i < p.plane; i += 32)
            add<What>(&s[0], u, v, centre, first + i);
    }
#pragma unroll
    for (int k = 1; k < unrolled; k++) {
        s[0].first += s[k].first;
        s[0].second += s[k].second;
    }
    const sums all = sum_of_block(s[0]);
    if (threadIdx.x == 0)
        to[(size_t)c * p.parts + part] = all;
}

/* Channels side by side: a block sums 32 of them over some pixels. */
template <summed What, class T>
static __global__ void __launch_bounds__(threads)
    sum_pixels(channel_params p, const T *u, const T *v, const wi_compute<T> *mean, sums *to) {
    constexpr int unrolled = 4;
    WEFT_SHARED(sums, of_warps, [warps][32]);
    const unsigned part = blockIdx.x % p.parts, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned c = blockIdx.x / p.parts * 32 + lane;
    const size_t pixels = p.images * p.plane, step = (size_t)p.parts * warps;
    sums s = {0, 0};
    if (c < p.channels) {
        const double centre = centre_of<What>(p, u, mean, c);
        size_t i = (size_t)part * warps + warp;
        for (; i + (unrolled - 1) * step < pixels; i += unrolled * step)
#pragma unroll
            for (int k = 0; k < unrolled; k++)
                add<What>(&s, u, v, centre, (i + (size_t)k * step) * p.channels + c);
        for (; i < pixels; i += step)
            add<What>(&s, u, v, centre, i * p.channels + c);
    }
    of_warps[warp][lane] = s;
    __syncthreads();
    if (warp > 0 || c >= p.channels)
        return;
    for (int w = 1; w < warps; w++) {
        s.first += of_warps[w][lane].first;
        s.second += of_warps[w][lane].second;
    }
    to[(size_t)c * p.parts + part] = s;
}

/* ---- what is made of the sums: one thread for a channel ---- */

/* The mean of a channel, and the sum of squared differences from it. */
template <class T>
static __device__ sums moments_of(const channel_params &p, const channel_arrays<T> &a, unsigned c,
                                  sums s) {
    const double centre = centre_of<SQUARES>(p, a.x, a.mean, c);
    const double spread = s.first * s.first / p.pixels;
    return {centre + s.first / p.pixels, s.second > spread ? s.second - spread : 0};
}

template <class T>
static __device__ channel_factors statistics_of(const channel_params &p, const channel_arrays<T> &a,
                                                unsigned c, sums s) {
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
    return {(double)(C)middle, root * (double)a.scale[c], (double)a.shift[c]};
}

template <class T>
static __device__ channel_factors gradients_of(const channel_params &p, const channel_arrays<T> &a,
                                               unsigned c, sums s) {
    using C = wi_compute<T>;
    const double m = p.pixels, root = (double)a.inverse[c];
    const double by_z = s.second * root, whole = (double)a.scale[c] * root;
    a.dshift[c] = (C)s.first;
    a.dscale[c] = (C)by_z;
    const double of_x = m > 0 ? -whole * by_z * root / m : 0;
    return {of_x, whole, m > 0 ? -whole * s.first / m - of_x * (double)a.mean[c] : 0};
}

template <class T>
static __global__ void __launch_bounds__(threads)
    finish(channel_params p, channel_arrays<T> a, const sums *parts, channel_factors *factors,
           sums *wanted) {
    const unsigned c = blockIdx.x * threads + threadIdx.x;
    sums s = {0, 0};
    if (c >= p.channels)
        return;
    for (unsigned part = 0; part < p.parts; part++) {
        s.first += parts[(size_t)c * p.parts + part].first;
        s.second += parts[(size_t)c * p.parts + part].second;
    }
    if (p.layer == WI_LAYER_NORM && p.step != WI_LAYER_REST)
        s = moments_of(p, a, c, s);
    if (p.step == WI_LAYER_SUMS)
        wanted[c] = s;
    else if (p.layer == WI_LAYER_BIAS_BACK)
        a.dshift[c] = (wi_compute<T>)s.first;
    else if (p.layer == WI_LAYER_NORM)
        factors[c] = statistics_of(p, a, c, s);
    else
        factors[c] = gradients_of(p, a, c, s);
}

/* ---- elements ---- */

/* What an element becomes. Inference has its factors in the arrays of the call. */
template <wi_layer Layer, class T>
static __device__ wi_compute<T> made_of(const channel_params &p, const channel_arrays<T> &a,
                                        const channel_factors *factors, wi_compute<T> x,
                                        wi_compute<T> dy, unsigned c) {
    using C = wi_compute<T>;
    if constexpr (Layer == WI_LAYER_BIAS)
        return x + a.shift[c];
    else if constexpr (Layer == WI_LAYER_NORM_INFERENCE) {
        const C times = (C)((double)a.scale[c] / sqrt((double)a.inverse[c] + p.epsilon));
        return (x - a.mean[c]) * times + a.shift[c];
    } else if constexpr (Layer == WI_LAYER_NORM)
        return (x - (C)factors[c].minus) * (C)factors[c].times + (C)factors[c].plus;
    else
        return (C)(factors[c].times * (double)dy + factors[c].minus * (double)x + factors[c].plus);
}

/* A thread takes 16 bytes at a time if these are of one line, planes or channels: p.joined. */
template <wi_layer Layer, class T>
static __global__ void __launch_bounds__(threads, 4)
    make_elements(const __grid_constant__ channel_params p,
                  const __grid_constant__ channel_arrays<T> a, const channel_factors *factors,
                  size_t n) {
    using vector = wi_vector<T>;
    constexpr bool reads_dy = Layer == WI_LAYER_NORM_BACK;
    if (!p.joined) {
        wi_layer_each_of(n, [&](size_t i) {
            a.y[i] = (T)made_of<Layer>(p, a, factors, wi_load(a.x[i]),
                                       reads_dy ? wi_load(a.dy[i]) : 0, p.finder.of(i).channel);
        });
        return;
    }
    wi_layer_each_of<2>(n / vector::count, [&](size_t k) {
        const size_t i = k * vector::count;
        const unsigned c = p.finder.of(i).channel;
        const vector x = *(const vector *)(a.x + i);
        const vector dy = reads_dy ? *(const vector *)(a.dy + i) : x;
        vector y;
#pragma unroll
        for (int v = 0; v < vector::count; v++)
            y.at[v] = (T)made_of<Layer>(p, a, factors, wi_load(x.at[v]), wi_load(dy.at[v]),
                                        p.planes ? c : c + (unsigned)v);
        *(vector *)(a.y + i) = y;
    });
}

/* ---- launches ---- */

template <summed What, class T>
static weft_status sum_channels(weft_context *ctx, const channel_params &p, const T *u, const T *v,
                                const wi_compute<T> *mean, sums *to) {
    const size_t across = p.planes ? p.channels : wi_layer_pieces(p.channels, 32);
    const size_t blocks = across * p.parts;
    const weft_status status = wi_layer_check_grid(ctx, blocks);
    if (status != WEFT_OK)
        return status;
    if (p.planes)
        return WEFT_LAUNCH((sum_planes<What, T>), ctx, (unsigned)blocks, threads, 0, p, u, v, mean,
                           to);
    return WEFT_LAUNCH((sum_pixels<What, T>), ctx, (unsigned)blocks, threads, 0, p, u, v, mean, to);
}

/* So many parts of a channel that blocks fill the device several times. */
static unsigned parts_of(const weft_context *ctx, const channel_params &p) {
    constexpr size_t rounds = 32;
    const size_t across = p.planes ? p.channels : wi_layer_pieces(p.channels, 32);
    const size_t wanted = rounds * (size_t)ctx->gpu->multiprocessors / across + 1;
    const size_t units =
        wi_layer_pieces(p.planes ? p.images : p.images * p.plane, p.planes ? warps : 4 * warps);
    const size_t parts = wanted < units ? wanted : units;
    return parts < 1 ? 1 : parts < most_parts ? (unsigned)parts : most_parts;
}

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

template <class T>
static weft_status make_all(weft_context *ctx, channel_params p, const channel_arrays<T> &a,
                            const channel_factors *factors, size_t n) {
    constexpr size_t width = wi_vector<T>::count;
    p.joined = (p.planes ? p.plane : p.channels) % width == 0 && wi_is_aligned(a.x) &&
               wi_is_aligned(a.y) && wi_is_aligned(a.dy);
    const size_t blocks = wi_layer_pieces(p.joined ? n / width : n, wi_layer_block);
    const weft_status status = wi_layer_check_grid(ctx, blocks);
    if (status != WEFT_OK || n == 0)
        return status;
    switch (p.layer) {
    case WI_LAYER_BIAS:
        return WEFT_LAUNCH((make_elements<WI_LAYER_BIAS, T>), ctx, (unsigned)blocks, threads, 0, p,
                           a, factors, n);
    case WI_LAYER_NORM_INFERENCE:
        return WEFT_LAUNCH((make_elements<WI_LAYER_NORM_INFERENCE, T>), ctx, (unsigned)blocks,
                           threads, 0, p, a, factors, n);
    case WI_LAYER_NORM:
        return WEFT_LAUNCH((make_elements<WI_LAYER_NORM, T>), ctx, (unsigned)blocks, threads, 0, p,
                           a, factors, n);
    default:
        return WEFT_LAUNCH((make_elements<WI_LAYER_NORM_BACK, T>), ctx, (unsigned)blocks, threads,
                           0, p, a, factors, n);
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
static weft_status run_sums(weft_context *ctx, const channel_params &p, const channel_arrays<T> &a,
                            size_t n, sums *known) {
    void *memory = NULL;
    const size_t sums_bytes = (size_t)p.channels * p.parts * sizeof(sums);
    weft_status status =
        wi_gpu_alloc(ctx, &memory, sums_bytes + p.channels * sizeof(channel_factors));
    if (status != WEFT_OK)
        return status;
    const bool rest = p.step == WI_LAYER_REST;
    sums *const parts = rest ? known : (sums *)memory;
    channel_factors *const factors = (channel_factors *)((char *)memory + sums_bytes);
    if (!rest)
        status = sum_layer(ctx, p, a, parts);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(finish<T>, ctx, (unsigned)wi_layer_pieces(p.channels, threads),
                             threads, 0, p, a, (const sums *)parts, factors, known);
    if (status == WEFT_OK && p.layer != WI_LAYER_BIAS_BACK && p.step != WI_LAYER_SUMS)
        status = make_all(ctx, p, a, factors, n);
    const weft_status freed = wi_gpu_free(ctx, memory);
    return status == WEFT_OK ? freed : status;
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
    p.parts = a->step == WI_LAYER_REST ? 1 : parts_of(ctx, p);
    p.finder = wi_layer_finder(p.planes, a->n, p.channels, p.plane);
    return wi_with_float_type(a->type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const channel_arrays<T> arrays = arrays_of<T>(a);
        if (p.layer == WI_LAYER_BIAS || p.layer == WI_LAYER_NORM_INFERENCE)
            return make_all(ctx, p, arrays, (const channel_factors *)NULL, a->n);
        return run_sums(ctx, p, arrays, a->n, (sums *)a->sums);
    });
}
