/* SPDX-License-Identifier: Apache-2.0 */
/* conv, the rungs direct, one thread for one result, and depthwise, for channels that are filtered
 * by themselves. */
#include "nn/conv_cuda.cuh"

constexpr int threads = 256;
constexpr int taps_at_once = 9; /* sums of weights that a thread of depthwise keeps */

namespace {

struct position {
    size_t image;
    int channel, row, column;
};

} // namespace

/* Where element i of images of these steps is. */
static __device__ position position_of(size_t i, bool planes, const wi_image_steps &s, int width) {
    position at;
    at.image = i / s.n;
    const unsigned rest = (unsigned)(i - at.image * s.n);
    if (planes) {
        const unsigned plane = (unsigned)s.c, in_plane = rest % plane;
        at.channel = (int)(rest / plane);
        at.row = (int)(in_plane / (unsigned)width);
        at.column = (int)(in_plane % (unsigned)width);
    } else {
        const unsigned channels = (unsigned)s.w, pixel = rest / channels;
        at.channel = (int)(rest % channels);
        at.row = (int)(pixel / (unsigned)width);
        at.column = (int)(pixel % (unsigned)width);
    }
    return at;
}

template <class T>
static __device__ wi_compute<T> result_of(const wi_conv_sizes &z, const T *x, const T *f,
                                          position at) {
    const int group = at.channel / z.filters;
    x += at.image * z.x.n + (size_t)(group * z.channels) * z.x.c;
    f += (size_t)at.channel * z.f.n;
    wi_compute<T> sum = 0;
    for (int c = 0; c < z.channels; c++)
        for (int r = 0; r < z.kernel_h; r++) {
            const int row = at.row * z.stride_h - z.pad_h + r * z.dilation_h;
            if (row < 0 || row >= z.height)
                continue;
            for (int s = 0; s < z.kernel_w; s++) {
                const int column = at.column * z.stride_w - z.pad_w + s * z.dilation_w;
                if (column >= 0 && column < z.width)
                    sum = wi_fma(
                        wi_load(f[(size_t)c * z.f.c + (size_t)r * z.f.h + (size_t)s * z.f.w]),
                        wi_load(
                            x[(size_t)c * z.x.c + (size_t)row * z.x.h + (size_t)column * z.x.w]),
                        sum);
            }
        }
    return sum;
}

/* Of the windows, those that have the pixel at one of their weights. */
template <class T>
static __device__ wi_compute<T> gradient_of(const wi_conv_sizes &z, const T *y, const T *f,
                                            position at) {
    const int group = at.channel / z.channels, c = at.channel - group * z.channels;
    y += at.image * z.y.n + (size_t)(group * z.filters) * z.y.c;
    f += (size_t)(group * z.filters) * z.f.n + (size_t)c * z.f.c;
    wi_compute<T> sum = 0;
    for (int k = 0; k < z.filters; k++)
        for (int r = 0; r < z.kernel_h; r++) {
            const int row = at.row + z.pad_h - r * z.dilation_h, p = row / z.stride_h;
            if (row < 0 || p * z.stride_h != row || p >= z.out_height)
                continue;
            for (int s = 0; s < z.kernel_w; s++) {
                const int column = at.column + z.pad_w - s * z.dilation_w;
                const int q = column / z.stride_w;
                if (column >= 0 && q * z.stride_w == column && q < z.out_width)
                    sum = wi_fma(
                        wi_load(f[(size_t)k * z.f.n + (size_t)r * z.f.h + (size_t)s * z.f.w]),
                        wi_load(y[(size_t)k * z.y.c + (size_t)p * z.y.h + (size_t)q * z.y.w]), sum);
            }
        }
    return sum;
}

template <class T>
static __global__ void direct_forward(wi_conv_sizes z, size_t n, const T *x, const T *f, T *y) {
    const size_t i = (size_t)blockIdx.x * threads + threadIdx.x;
    if (i < n)
        y[i] = (T)result_of(z, x, f, position_of(i, z.planes, z.y, z.out_width));
}

template <class T>
static __global__ void direct_data(wi_conv_sizes z, size_t n, T *x, const T *f, const T *y) {
    const size_t i = (size_t)blockIdx.x * threads + threadIdx.x;
    if (i < n)
        x[i] = (T)gradient_of(z, y, f, position_of(i, z.planes, z.x, z.width));
}

template <class T, class F>
static __global__ void direct_weights(wi_conv_sizes z, size_t n, size_t images, const T *x, F *f,
                                      const T *y) {
    const size_t i = (size_t)blockIdx.x * threads + threadIdx.x;
    if (i >= n)
        return;
    const position at = position_of(i, z.planes, z.f, z.kernel_w);
    const int filter = (int)at.image, group = filter / z.filters;
    x += (size_t)(group * z.channels + at.channel) * z.x.c;
    y += (size_t)filter * z.y.c;
    wi_compute<T> sum = 0;
    for (size_t image = 0; image < images; image++, x += z.x.n, y += z.y.n)
        for (int p = 0; p < z.out_height; p++) {
            const int row = p * z.stride_h - z.pad_h + at.row * z.dilation_h;
            if (row < 0 || row >= z.height)
                continue;
            for (int q = 0; q < z.out_width; q++) {
                const int column = q * z.stride_w - z.pad_w + at.column * z.dilation_w;
                if (column >= 0 && column < z.width)
                    sum = wi_fma(wi_load(x[(size_t)row * z.x.h + (size_t)column * z.x.w]),
                                 wi_load(y[(size_t)p * z.y.h + (size_t)q * z.y.w]), sum);
            }
        }
    f[i] = (F)sum;
}

template <class T, class F>
static weft_status run_direct(weft_context *ctx, const wi_conv_args *a) {
    const wi_conv_sizes z = wi_conv_sizes_of(a);
    const size_t n = wi_conv_results(a), blocks = wi_conv_pieces(n, threads);
    T *const x = (T *)a->x, *const f = (T *)a->f, *const y = (T *)a->y;
    const weft_status status = wi_conv_check_grid(ctx, blocks);
    if (status != WEFT_OK)
        return status;
    switch (a->pass) {
    case WI_CONV_FORWARD:
        return WEFT_LAUNCH(direct_forward<T>, ctx, (unsigned)blocks, threads, 0, z, n, x, f, y);
    case WI_CONV_DATA:
        return WEFT_LAUNCH(direct_data<T>, ctx, (unsigned)blocks, threads, 0, z, n, x, f, y);
    default:
        return WEFT_LAUNCH((direct_weights<T, F>), ctx, (unsigned)blocks, threads, 0, z, n, a->in.n,
                           x, (F *)a->f, y);
    }
}

/* Calls f(tag of the type of images, tag of that of the result for weights). */
template <class F>
static weft_status with_types(const wi_conv_args *a, F f) {
    return wi_with_float_type(a->in.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (sizeof(T) == 2)
            if (a->f_type == WEFT_F32)
                return f(tag, wi_tag<float>{});
        return f(tag, tag);
    });
}

weft_status wi_conv_direct(weft_context *ctx, const void *args) {
    const wi_conv_args *const a = (const wi_conv_args *)args;
    return with_types(a, [=](auto tag, auto of_f) {
        return run_direct<typename decltype(tag)::type, typename decltype(of_f)::type>(ctx, a);
    });
}

/* ---- depthwise ---- */

/* What a thread adds to the weights from `first` on of its channel. */
template <class T>
static __device__ void add_pixels(const wi_conv_sizes &z, size_t pixels, int first, int count,
                                  const T *x, const T *y, wi_compute<T> sum[taps_at_once]) {
    for (size_t i = threadIdx.x; i < pixels; i += threads) {
        const unsigned plane = (unsigned)(z.out_height * z.out_width);
        const size_t image = i / plane;
        const unsigned in_plane = (unsigned)(i - image * plane);
        const int p = (int)(in_plane / (unsigned)z.out_width);
        const int q = (int)(in_plane % (unsigned)z.out_width);
        const wi_compute<T> dy = wi_load(y[image * z.y.n + (size_t)p * z.y.h + (size_t)q * z.y.w]);
#pragma unroll
        for (int k = 0; k < taps_at_once; k++) {
            const int r = (first + k) / z.kernel_w, s = (first + k) % z.kernel_w;
            const int row = p * z.stride_h - z.pad_h + r * z.dilation_h;
            const int column = q * z.stride_w - z.pad_w + s * z.dilation_w;
            if (k < count && row >= 0 && row < z.height && column >= 0 && column < z.width)
                sum[k] =
                    wi_fma(wi_load(x[image * z.x.n + (size_t)row * z.x.h + (size_t)column * z.x.w]),
                           dy, sum[k]);
        }
    }
}

/* A block makes up to nine weights of one channel. */
template <class T, class F>
static __global__ void __launch_bounds__(threads)
    depthwise_weights(wi_conv_sizes z, size_t images, int pieces, const T *x, F *f, const T *y) {
    const size_t channel = blockIdx.x / (unsigned)pieces;
    const int first = (int)(blockIdx.x % (unsigned)pieces) * taps_at_once;
    const int rest = z.kernel_h * z.kernel_w - first;
    const int count = rest < taps_at_once ? rest : taps_at_once;
    wi_compute<T> sum[taps_at_once] = {};
    add_pixels(z, images * (size_t)z.out_height * (size_t)z.out_width, first, count,
               x + channel * z.x.c, y + channel * z.y.c, sum);
#pragma unroll
    for (int k = 0; k < taps_at_once; k++) {
        const wi_compute<T> all = wi_conv_block_sum<threads>(sum[k]);
        if (threadIdx.x == 0 && k < count)
            f[channel * z.f.n + (size_t)(first + k)] = (F)all;
    }
}

weft_status wi_conv_depthwise(weft_context *ctx, const void *args) {
    const wi_conv_args *const a = (const wi_conv_args *)args;
    if (a->pass != WI_CONV_WEIGHTS)
        return wi_conv_direct(ctx, args);
    const wi_conv_sizes z = wi_conv_sizes_of(a);
    const size_t pieces = wi_conv_pieces(a->kernel_h * a->kernel_w, taps_at_once);
    const size_t blocks = pieces * a->in.c;
    const weft_status status = wi_conv_check_grid(ctx, blocks);
    if (status != WEFT_OK)
        return status;
    return with_types(a, [=](auto tag, auto of_f) {
        using T = typename decltype(tag)::type;
        using F = typename decltype(of_f)::type;
        return WEFT_LAUNCH((depthwise_weights<T, F>), ctx, (unsigned)blocks, threads, 0, z, a->in.n,
                           (int)pieces, (const T *)a->x, (F *)a->f, (const T *)a->y);
    });
}
