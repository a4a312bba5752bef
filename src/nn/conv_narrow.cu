/* SPDX-License-Identifier: Apache-2.0 */
/* conv: images with a few channels are laid out in whole lines, their weights accordingly, and
 * results taken apart again. */
#include "nn/conv_narrow.cuh"

#include "nn/divisor.cuh"

constexpr int narrow_threads = 256;
constexpr int line_length = 64, chunk = 8; /* elements of 16 bits */

/* ---- rows of windows in lines ---- */

namespace {

struct rows_task {
    wi_nn_divisor width, height;  /* of the lines: pixels of y along a row, and rows */
    int row_length, line;         /* elements that a window meets in a row, and in a line */
    int channels, from_h, from_w; /* of x */
    int stride_h, stride_w, pad_h, pad_w;
};

struct alignas(16) chunk_of_line {
    uint16_t at[chunk];
};

} // namespace

static __global__ void __launch_bounds__(narrow_threads)
    lay_out_rows(const __grid_constant__ rows_task t, size_t chunks, const uint16_t *x,
                 chunk_of_line *to) {
    const size_t i = (size_t)blockIdx.x * narrow_threads + threadIdx.x;
    if (i >= chunks)
        return;
    const unsigned pixel = (unsigned)(i / (line_length / chunk));
    const unsigned above = t.width.of(pixel), image = t.height.of(above);
    const int q = (int)(pixel - above * t.width.by), row = (int)(above - image * t.height.by);
    const int first = (int)(i % (line_length / chunk)) * chunk;
    int down = first / t.row_length, along = first % t.row_length;
    const int column = q * t.stride_w - t.pad_w, end = (t.from_w - column) * t.channels;
    chunk_of_line c;
#pragma unroll
    for (int e = 0; e < chunk; e++) {
        const int h = row * t.stride_h + down - t.pad_h;
        c.at[e] = 0;
        if (first + e < t.line && (unsigned)h < (unsigned)t.from_h && along < end &&
            along >= -column * t.channels)
            c.at[e] = x[(((size_t)image * (unsigned)t.from_h + (unsigned)h) * (unsigned)t.from_w) *
                            (unsigned)t.channels +
                        (size_t)((long long)column * t.channels + along)];
        if (++along == t.row_length) {
            along = 0;
            down++;
        }
    }
    to[i] = c;
}

/* Weights [filter][length], as lines of `line` of them and zeros; or back. */
template <class T>
static __global__ void __launch_bounds__(narrow_threads)
    lay_out_filters(size_t filters, unsigned length, unsigned line, unsigned lines, const T *from,
                    T *to) {
    const size_t i = (size_t)blockIdx.x * narrow_threads + threadIdx.x;
    const unsigned in_filter = lines * line_length;
    if (i >= filters * in_filter)
        return;
    const size_t filter = i / in_filter;
    const unsigned rest = (unsigned)(i - filter * in_filter), e = rest % line_length;
    const unsigned at = rest / line_length * line + e;
    to[i] = e < line && at < length ? from[filter * length + at] : (T)0;
}
template <class T>
static __global__ void __launch_bounds__(narrow_threads)
    take_filters(size_t filters, unsigned length, unsigned line, unsigned lines, const T *from,
                 T *to) {
    const size_t i = (size_t)blockIdx.x * narrow_threads + threadIdx.x;
    if (i >= filters * length)
        return;
    const size_t filter = i / length;
    const unsigned at = (unsigned)(i - filter * length);
    to[i] = from[filter * lines * line_length + at / line * line_length + at % line];
}

/* ---- blocks of pixels as one ---- */

namespace {

/* Of one direction: a block of `stride` pixels of x meets `window` pixels of y, the first of which
 * is `before` pixels before it. */
struct block_window {
    int stride, pad, kernel, window, before;
    /* The weight that pixel i of the block meets at pixel j of the window. */
    __device__ int weight(int i, int j) const {
        return i + pad - (j - before) * stride;
    }
};

struct blocks_task {
    block_window h, w;
    int channels, filters, columns; /* of x; of y; of a block, all its channels, filled up */
};

} // namespace

static block_window window_of(size_t stride, size_t pad, size_t kernel) {
    const int s = (int)stride, most = (int)((stride - 1 + pad) / stride);
    const int before = ((int)kernel - 1 - (int)pad) / s;
    return {s, (int)pad, (int)kernel, most + before + 1, before};
}

static blocks_task blocks_of(const wi_conv_args *a) {
    const size_t channels = a->stride_h * a->stride_w * a->in.c;
    return {window_of(a->stride_h, a->pad_h, a->kernel_h),
            window_of(a->stride_w, a->pad_w, a->kernel_w), (int)a->in.c, (int)a->out.c,
            (int)wi_conv_pieces(channels, chunk) * chunk};
}

/* Weights [channel of a block][row][column][filter]. */
static __global__ void __launch_bounds__(narrow_threads)
    weights_of_blocks(const __grid_constant__ blocks_task t, size_t count, const uint16_t *f,
                      uint16_t *to) {
    const size_t i = (size_t)blockIdx.x * narrow_threads + threadIdx.x;
    if (i >= count)
        return;
    unsigned rest = (unsigned)i;
    const unsigned filter = rest % (unsigned)t.filters;
    rest /= (unsigned)t.filters;
    const int q = (int)(rest % (unsigned)t.w.window);
    rest /= (unsigned)t.w.window;
    const int p = (int)(rest % (unsigned)t.h.window), column = (int)(rest / (unsigned)t.h.window);
    const int channel = column % t.channels, pixel = column / t.channels;
    const int r = t.h.weight(pixel / t.w.stride, p), s = t.w.weight(pixel % t.w.stride, q);
    const bool there = pixel < t.h.stride * t.w.stride && (unsigned)r < (unsigned)t.h.kernel &&
                       (unsigned)s < (unsigned)t.w.kernel;
    to[i] = there
                ? f[(((size_t)filter * (unsigned)t.h.kernel + (unsigned)r) * (unsigned)t.w.kernel +
                     (unsigned)s) *
                        (unsigned)t.channels +
                    (unsigned)channel]
                : (uint16_t)0;
}

/* Pixels of x from their blocks. */
static __global__ void __launch_bounds__(narrow_threads)
    take_blocks(const __grid_constant__ blocks_task t, unsigned height, unsigned width,
                size_t elements, const uint16_t *from, uint16_t *x) {
    const size_t i = (size_t)blockIdx.x * narrow_threads + threadIdx.x;
    if (i >= elements)
        return;
    const size_t pixel = i / (unsigned)t.channels, above = pixel / width;
    const unsigned channel = (unsigned)(i - pixel * (unsigned)t.channels);
    const unsigned column = (unsigned)(pixel - above * width), row = (unsigned)(above % height);
    const unsigned sh = (unsigned)t.h.stride, sw = (unsigned)t.w.stride;
    const size_t block =
        (above / height * ((height + sh - 1) / sh) + row / sh) * ((width + sw - 1) / sw) +
        column / sw;
    x[i] = from[block * (unsigned)t.columns + (row % sh * sw + column % sw) * (unsigned)t.channels +
                channel];
}

/* ---- the calls ---- */

static size_t line_of(const wi_conv_args *a) {
    return a->stride_h * a->kernel_w * a->in.c;
}

/* A line is worth it if a third of it is used. */
static bool widen_rows(const wi_conv_args *a, wi_conv_args *wide) {
    const size_t line = line_of(a), length = wi_conv_weights(a);
    const size_t used = length < line ? length : line;
    if (a->in.c % chunk == 0 || line > line_length || 3 * used < line_length)
        return false;
    wide->kernel_h = wi_conv_pieces(a->kernel_h, a->stride_h);
    wide->kernel_w = 1;
    wide->in.c = line_length;
    wide->in.h = a->out.h + wide->kernel_h - 1;
    wide->in.w = a->out.w;
    wide->pad_h = wide->pad_w = 0;
    return true;
}

static bool widen_blocks(const wi_conv_args *a, wi_conv_args *wide) {
    if (a->stride_h * a->stride_w == 1 || a->stride_h * a->stride_w * a->in.c > line_length ||
        a->out.c % line_length != 0 || a->pad_h >= a->kernel_h || a->pad_w >= a->kernel_w)
        return false;
    const blocks_task t = blocks_of(a);
    wide->pass = WI_CONV_FORWARD;
    wide->kernel_h = (size_t)t.h.window;
    wide->kernel_w = (size_t)t.w.window;
    wide->in = a->out;
    wide->out = a->in;
    wide->out.c = (size_t)t.columns;
    wide->out.h = wi_conv_pieces(a->in.h, a->stride_h);
    wide->out.w = wi_conv_pieces(a->in.w, a->stride_w);
    wide->pad_h = (size_t)t.h.before;
    wide->pad_w = (size_t)t.w.before;
    return true;
}

bool wi_conv_widen_lines(const wi_conv_args *a, wi_conv_args *wide) {
    *wide = *a;
    wide->x = wide->f = wide->y = NULL;
    wide->stride_h = wide->stride_w = 1;
    if (a->in.layout != WEFT_NHWC || a->groups != 1 || a->dilation_h != 1 || a->dilation_w != 1 ||
        !wi_nn_is_half(a->in.type) || wi_conv_flops(a) == 0)
        return false;
    const bool can = a->pass == WI_CONV_DATA ? widen_blocks(a, wide) : widen_rows(a, wide);
    return can && wi_image_elements(&wide->in) <= INT32_MAX * (size_t)chunk;
}

static unsigned blocks_for(size_t count) {
    return (unsigned)wi_conv_pieces(count, narrow_threads);
}

template <class T>
static weft_status move_filters(weft_context *ctx, const wi_conv_args *a, const wi_conv_args *wide,
                                bool back, const void *from, void *to) {
    const unsigned length = (unsigned)wi_conv_weights(a), line = (unsigned)line_of(a);
    const unsigned lines = (unsigned)wide->kernel_h;
    const size_t count = a->out.c * (back ? length : wi_conv_weights(wide));
    if (back)
        return WEFT_LAUNCH(take_filters<T>, ctx, blocks_for(count), narrow_threads, 0, a->out.c,
                           length, line, lines, (const T *)from, (T *)to);
    return WEFT_LAUNCH(lay_out_filters<T>, ctx, blocks_for(count), narrow_threads, 0, a->out.c,
                       length, line, lines, (const T *)from, (T *)to);
}

static weft_status by_rows(weft_context *ctx, const wi_conv_args *a, wi_conv_args *wide,
                           wi_conv_runner *run) {
    const rows_task t = {wi_nn_divisor((unsigned)wide->in.w),
                         wi_nn_divisor((unsigned)wide->in.h),
                         (int)(a->kernel_w * a->in.c),
                         (int)line_of(a),
                         (int)a->in.c,
                         (int)a->in.h,
                         (int)a->in.w,
                         (int)a->stride_h,
                         (int)a->stride_w,
                         (int)a->pad_h,
                         (int)a->pad_w};
    const size_t chunks = wi_image_elements(&wide->in) / chunk;
    const bool forward = a->pass == WI_CONV_FORWARD;
    wide->y = a->y;
    weft_status status = WEFT_LAUNCH(lay_out_rows, ctx, blocks_for(chunks), narrow_threads, 0, t,
                                     chunks, (const uint16_t *)a->x, (chunk_of_line *)wide->x);
    if (status == WEFT_OK && forward)
        status = move_filters<uint16_t>(ctx, a, wide, false, a->f, wide->f);
    if (status == WEFT_OK)
        status = run(ctx, wide);
    if (status != WEFT_OK || forward)
        return status;
    return weft_type_size(a->f_type) == 2
               ? move_filters<uint16_t>(ctx, a, wide, true, wide->f, a->f)
               : move_filters<uint32_t>(ctx, a, wide, true, wide->f, a->f);
}

static weft_status by_blocks(weft_context *ctx, const wi_conv_args *a, wi_conv_args *wide,
                             wi_conv_runner *run) {
    const blocks_task t = blocks_of(a);
    const size_t weights = wide->out.c * wi_conv_weights(wide);
    const size_t elements = wi_image_elements(&a->in);
    wide->x = a->y;
    weft_status status = WEFT_LAUNCH(weights_of_blocks, ctx, blocks_for(weights), narrow_threads, 0,
                                     t, weights, (const uint16_t *)a->f, (uint16_t *)wide->f);
    if (status == WEFT_OK)
        status = run(ctx, wide);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH(take_blocks, ctx, blocks_for(elements), narrow_threads, 0, t,
                       (unsigned)a->in.h, (unsigned)a->in.w, elements, (const uint16_t *)wide->y,
                       (uint16_t *)a->x);
}

weft_status wi_conv_narrow(weft_context *ctx, const wi_conv_args *a, wi_conv_args wide,
                           wi_conv_runner *run) {
    constexpr size_t align = 1024;
    const bool data = a->pass == WI_CONV_DATA;
    const size_t images = wi_image_elements(data ? &wide.out : &wide.in) * sizeof(uint16_t);
    const size_t weights =
        wide.out.c * wi_conv_weights(&wide) * weft_type_size(data ? a->in.type : a->f_type);
    const size_t before = wi_conv_pieces(images, align) * align;
    void *memory = nullptr;
    weft_status status = wi_gpu_alloc(ctx, &memory, before + weights);
    if (status != WEFT_OK)
        return status;
    (data ? wide.y : wide.x) = memory;
    wide.f = (char *)memory + before;
    status = data ? by_blocks(ctx, a, &wide, run) : by_rows(ctx, a, &wide, run);
    const weft_status freed = wi_gpu_free(ctx, memory);
    return status == WEFT_OK ? freed : status;
}
