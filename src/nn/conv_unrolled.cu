/* SPDX-License-Identifier: Apache-2.0 */
/* conv, the rung unrolled: pixels are laid out as the matrix of columns in memory, and gemm
 * multiplies. The images are taken so many at a time that the matrix stays below 256 MiB. */
#include "cuda/memory.cuh"
#include "gemm/gemm.h"
#include "nn/conv_columns.h"
#include "nn/conv_cuda.cuh"
#include "nn/divisor.cuh"

constexpr int unrolled_threads = 256, each = 4; /* elements of a thread, a block's threads apart */
constexpr size_t most_bytes = (size_t)256 << 20;

namespace {

/* The matrix of columns of one group of some images. */
struct unrolling {
    wi_conv_sizes z;
    size_t image, group; /* the first image; elements of x before the group */
    bool planes;
    size_t elements; /* of the matrix */
    bool narrow;     /* are these fewer than 2^32? */
    /* Elements of an image's columns and of a line, and what else places are found by. */
    wi_nn_divisor one, side, in_window, kernel_w, out_width;
};

struct place {
    size_t image;
    int channel, r, s, p, q;
};

} // namespace

/* What element i of the matrix stands for. */
static __device__ place place_of(const unrolling &u, size_t i) {
    place at;
    at.image = u.narrow ? u.one.of((unsigned)i) : i / u.one.by;
    const unsigned rest = (unsigned)(i - at.image * u.one.by);
    const unsigned line = u.side.of(rest), in_line = rest - line * u.side.by;
    const unsigned pixel = u.planes ? in_line : line, weight = u.planes ? line : in_line;
    const unsigned outer = u.in_window.of(weight), inner = weight - outer * u.in_window.by;
    const unsigned in_window = u.planes ? inner : outer;
    at.channel = (int)(u.planes ? outer : inner);
    at.r = (int)u.kernel_w.of(in_window);
    at.s = (int)(in_window - (unsigned)at.r * u.kernel_w.by);
    at.p = (int)u.out_width.of(pixel);
    at.q = (int)(pixel - (unsigned)at.p * u.out_width.by);
    return at;
}

/* T is one element of the images, or several channels side by side: then every step is a multiple
 * of their number. */
template <class T>
static __global__ void __launch_bounds__(unrolled_threads, 4)
    unfold(const __grid_constant__ unrolling u, const T *x, T *columns) {
    const wi_conv_sizes &z = u.z;
    const size_t first = (size_t)blockIdx.x * unrolled_threads * each + threadIdx.x;
#pragma unroll
    for (int k = 0; k < each; k++) {
        const size_t i = first + (size_t)(k * unrolled_threads);
        if (i >= u.elements)
            return;
        const place at = place_of(u, i);
        const int row = at.p * z.stride_h - z.pad_h + at.r * z.dilation_h;
        const int column = at.q * z.stride_w - z.pad_w + at.s * z.dilation_w;
        T pixel = {};
        if (row >= 0 && row < z.height && column >= 0 && column < z.width)
            pixel = x[(u.image + at.image) * z.x.n + u.group + (size_t)at.channel * z.x.c +
                      (size_t)row * z.x.h + (size_t)column * z.x.w];
        columns[i] = pixel;
    }
}

/* Each pixel of x takes the sum of the columns' elements that stand for it, in the order of
 * weights. A thread makes pixel i of the group in these images, channels last if there are no
 * planes. */
template <class T>
static __global__ void fold(const __grid_constant__ unrolling u, size_t n, const T *columns, T *x) {
    const wi_conv_sizes &z = u.z;
    const size_t i = (size_t)blockIdx.x * unrolled_threads + threadIdx.x;
    if (i >= n)
        return;
    const unsigned plane = (unsigned)(z.height * z.width), channels = (unsigned)z.channels;
    const size_t image = i / ((size_t)plane * channels);
    const unsigned rest = (unsigned)(i - image * plane * channels);
    const int channel = (int)(u.planes ? rest / plane : rest % channels);
    const unsigned in_plane = u.planes ? rest % plane : rest / channels;
    const int row = (int)(in_plane / (unsigned)z.width),
              column = (int)(in_plane % (unsigned)z.width);
    const size_t pixels = (size_t)z.out_height * (size_t)z.out_width;
    const size_t window = (size_t)z.kernel_h * (size_t)z.kernel_w;
    columns += image * pixels * window * channels;
    T sum = 0;
    for (int r = 0; r < z.kernel_h; r++) {
        const int down = row + z.pad_h - r * z.dilation_h, p = down / z.stride_h;
        if (down < 0 || p * z.stride_h != down || p >= z.out_height)
            continue;
        for (int s = 0; s < z.kernel_w; s++) {
            const int across = column + z.pad_w - s * z.dilation_w, q = across / z.stride_w;
            if (across < 0 || q * z.stride_w != across || q >= z.out_width)
                continue;
            const size_t pixel = (size_t)p * (size_t)z.out_width + (size_t)q;
            const size_t in_window = (size_t)r * (size_t)z.kernel_w + (size_t)s;
            sum += u.planes ? columns[((size_t)channel * window + in_window) * pixels + pixel]
                            : columns[(pixel * window + in_window) * channels + (size_t)channel];
        }
    }
    x[(u.image + image) * z.x.n + u.group + (size_t)channel * z.x.c + (size_t)row * z.x.h +
      (size_t)column * z.x.w] = sum;
}

/* ---- the products ---- */

static weft_status multiply(weft_context *ctx, const wi_gemm_args *g) {
    return wi_pick(ctx, &wi_gemm_ladder, g->type, g)->run(ctx, g);
}

/* Images of one group that are taken together: `columns` are those of the first. */
static weft_status multiply_images(weft_context *ctx, const wi_conv_args *a, size_t image,
                                   size_t images, size_t group, wi_conv_matrix columns) {
    const bool merged = a->in.layout == WEFT_NHWC;
    const size_t step = wi_conv_is_pointwise(a) ? a->in.c * wi_conv_pixels(a)
                                                : wi_conv_weights(a) * wi_conv_pixels(a);
    const size_t count = merged ? 1 : images;
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < count && status == WEFT_OK; i++) {
        const wi_conv_matrix own = {wi_conv_at(a, columns.p, i * step), columns.ld};
        const double beta = a->pass == WI_CONV_WEIGHTS && image + i > 0;
        const wi_gemm_args g = wi_conv_product(a, image + i, merged ? images : 1, group, own, beta);
        status = multiply(ctx, &g);
    }
    return status;
}

/* Takes `count` channels as one element. */
static void join_channels(unrolling *u, int count) {
    const size_t by = (size_t)count;
    u->z.channels /= count;
    u->z.x.n /= by;
    u->z.x.h /= by;
    u->z.x.w /= by;
    u->group /= by;
    u->elements /= by;
}

static void find_divisors(unrolling *u) {
    const wi_conv_sizes &z = u->z;
    const unsigned pixels = (unsigned)(z.out_height * z.out_width);
    const unsigned window = (unsigned)(z.kernel_h * z.kernel_w), channels = (unsigned)z.channels;
    u->narrow = u->elements <= UINT32_MAX;
    u->one = wi_nn_divisor(pixels * window * channels);
    u->side = wi_nn_divisor(u->planes ? pixels : window * channels);
    u->in_window = wi_nn_divisor(u->planes ? window : channels);
    u->kernel_w = wi_nn_divisor((unsigned)z.kernel_w);
    u->out_width = wi_nn_divisor((unsigned)z.out_width);
}

template <class T>
static weft_status launch_unfold(weft_context *ctx, unrolling u, const T *x, T *columns) {
    using vector = wi_vector<T>;
    constexpr int count = vector::count;
    const bool joined =
        !u.planes && u.z.channels % count == 0 && u.z.x.w % (size_t)count == 0 && wi_is_aligned(x);
    if (joined)
        join_channels(&u, count);
    find_divisors(&u);
    const size_t blocks = wi_conv_pieces(u.elements, unrolled_threads * each);
    const weft_status status = wi_conv_check_grid(ctx, blocks);
    if (status != WEFT_OK)
        return status;
    if (joined)
        return WEFT_LAUNCH(unfold<vector>, ctx, (unsigned)blocks, unrolled_threads, 0, u,
                           (const vector *)x, (vector *)columns);
    return WEFT_LAUNCH(unfold<T>, ctx, (unsigned)blocks, unrolled_threads, 0, u, x, columns);
}

template <class T>
static weft_status launch_fold(weft_context *ctx, const unrolling &u, size_t n, const T *columns,
                               T *x) {
    const size_t blocks = wi_conv_pieces(n, unrolled_threads);
    const weft_status status = wi_conv_check_grid(ctx, blocks);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH(fold<T>, ctx, (unsigned)blocks, unrolled_threads, 0, u, n, columns, x);
}

static weft_status move_pixels(weft_context *ctx, const wi_conv_args *a, size_t image,
                               size_t images, size_t group, void *columns) {
    unrolling u = {};
    u.z = wi_conv_sizes_of(a);
    u.image = image;
    u.group = group * wi_conv_channels(a) * u.z.x.c;
    u.planes = a->in.layout == WEFT_NCHW;
    u.elements = images * wi_conv_pixels(a) * wi_conv_weights(a);
    return wi_with_float_type(a->in.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (sizeof(T) > 2)
            if (a->pass == WI_CONV_DATA) {
                const size_t n = images * (size_t)u.z.channels * a->in.h * a->in.w;
                return launch_fold(ctx, u, n, (const T *)columns, (T *)a->x);
            }
        return launch_unfold(ctx, u, (const T *)a->x, (T *)columns);
    });
}

/* One group of some images. */
static weft_status run_group(weft_context *ctx, const wi_conv_args *a, size_t image, size_t images,
                             size_t group, void *room) {
    const wi_conv_matrix columns = wi_conv_columns_of(a, image, group, room);
    const bool apart = !wi_conv_is_pointwise(a);
    weft_status status = WEFT_OK;
    if (apart && a->pass != WI_CONV_DATA)
        status = move_pixels(ctx, a, image, images, group, room);
    if (status == WEFT_OK)
        status = multiply_images(ctx, a, image, images, group, columns);
    if (status == WEFT_OK && apart && a->pass == WI_CONV_DATA)
        status = move_pixels(ctx, a, image, images, group, room);
    return status;
}

static weft_status run_all(weft_context *ctx, const wi_conv_args *a, size_t together, void *room) {
    weft_status status = WEFT_OK;
    for (size_t image = 0; image < a->in.n; image += together) {
        const size_t images = a->in.n - image < together ? a->in.n - image : together;
        for (size_t group = 0; group < a->groups && status == WEFT_OK; group++)
            status = run_group(ctx, a, image, images, group, room);
    }
    return status;
}

/* Nothing to multiply: zeros. */
static weft_status clear(weft_context *ctx, const wi_conv_args *a) {
    return wi_cuda(ctx,
                   cudaMemsetAsync(wi_conv_result(a), 0, wi_conv_result_bytes(a), ctx->gpu->stream),
                   "cudaMemsetAsync: a result that is zero");
}

/* All memory is taken first, so that none lacks after the first product. */
weft_status wi_conv_unrolled(weft_context *ctx, const void *args) {
    constexpr size_t for_gaps = 4096;
    const wi_conv_args *const a = (const wi_conv_args *)args;
    if (wi_conv_flops(a) == 0)
        return clear(ctx, a);
    const bool apart = !wi_conv_is_pointwise(a);
    const size_t one = wi_conv_pixels(a) * wi_conv_weights(a) * weft_type_size(a->in.type);
    size_t together = apart ? most_bytes / one : a->in.n;
    together = together < 1 ? 1 : together > a->in.n ? a->in.n : together;
    wi_gemm_args g = wi_conv_product(a, 0, together, 0, wi_conv_columns_of(a, 0, 0, NULL), 1);
    g.a = g.b = (const void *)(uintptr_t)1; /* as if each product had to align them */
    void *room = NULL;
    weft_status status = apart ? wi_gpu_alloc(ctx, &room, together * one) : WEFT_OK;
    if (status != WEFT_OK)
        return status;
    status = wi_gpu_reserve(ctx, wi_gemm_most_bytes(ctx, &g) + for_gaps);
    if (status == WEFT_OK) {
        status = run_all(ctx, a, together, room);
        const weft_status released = wi_gpu_release(ctx);
        status = status == WEFT_OK ? released : status;
    }
    const weft_status freed = room ? wi_gpu_free(ctx, room) : WEFT_OK;
    return status == WEFT_OK ? freed : status;
}
