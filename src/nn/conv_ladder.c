/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of conv: what they can do, and what they cost. */
#include "nn/conv.h"

enum {
    WIDE_FLOATS = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64)
};

#ifdef WEFT_CUDA
#    include "core/gpu.h"
#    include "gemm/gemm.h"
#    include "nn/conv_columns.h"
#    include "nn/conv_fft.h"

enum {
    MOST_SHARED = 99 << 10,
    MOST_TAP = 32767, /* rows or columns from a pixel to one that a weight reads, in 16 bits */
    MOST_STRIDE = 8   /* of the gradient for data, which is as many launches as its square */
};

static const char *fits_implicit(const weft_context *ctx, const void *args) {
    const wi_conv_args *const a = args;
    (void)ctx;
    if (a->dilation_h * (a->kernel_h - 1) > MOST_TAP ||
        a->dilation_w * (a->kernel_w - 1) > MOST_TAP || a->pad_h > MOST_TAP || a->pad_w > MOST_TAP)
        return "needs windows and padding of fewer than 32768 rows and columns";
    if (a->out.n * a->out.h * a->out.w > INT32_MAX || a->in.n * a->in.h * a->in.w > INT32_MAX)
        return "counts pixels of all images with 32 bits: split the batch";
    if (a->pass == WI_CONV_DATA && (a->stride_h > MOST_STRIDE || a->stride_w > MOST_STRIDE))
        return "needs strides of at most 8 in the gradient for data";
    return NULL;
}

static const char *fits_unrolled(const weft_context *ctx, const void *args) {
    const wi_conv_args *const a = args;
    (void)ctx;
    const bool sums = a->pass == WI_CONV_WEIGHTS
                          ? !wi_conv_is_pointwise(a) || a->in.layout == WEFT_NCHW
                          : a->pass == WI_CONV_DATA && !wi_conv_is_pointwise(a);
    if (wi_nn_is_half(a->in.type) && sums)
        return "would add up products that f16 or bf16 has rounded";
    return (double)wi_conv_pixels(a) * (double)wi_conv_weights(a) > INT32_MAX
               ? "counts the elements of an image's columns with 32 bits: there are too many"
               : NULL;
}

static const char *fits_fft(const weft_context *ctx, const void *args) {
    const wi_conv_args *const a = args;
    (void)ctx;
    if (a->stride_h != 1 || a->stride_w != 1)
        return "needs strides of 1";
    if (a->accuracy == WI_STRICT_F32)
        return "adds up what transforms have rounded: leave out WEFT_F32_STRICT to allow it";
    const double reach_h = (double)a->dilation_h * (double)a->kernel_h;
    const double reach_w = (double)a->dilation_w * (double)a->kernel_w;
    const double height = 2 * ((double)a->in.h + 2 * (double)a->pad_h + reach_h);
    const double width = 2 * ((double)a->in.w + 2 * (double)a->pad_w + reach_w);
    return height * width > INT32_MAX ? "counts the numbers of a transform with 31 bits" : NULL;
}

static const char *fits_depthwise(const weft_context *ctx, const void *args) {
    const wi_conv_args *const a = args;
    (void)ctx;
    if (a->groups != a->in.c || a->groups != a->out.c)
        return "needs as many groups as channels, and as many filters";
    return NULL;
}

enum {
    CHUNK_BYTES = 16 /* that are gathered at once: channels side by side */
};

/* Channels of a group, filled up to whole chunks. */
static double padded(const wi_conv_args *a, size_t channels) {
    const size_t chunk = CHUNK_BYTES / weft_type_size(a->in.type);
    return (double)((channels + chunk - 1) / chunk * chunk);
}

static const char *fits_tensor(const weft_context *ctx, const void *args) {
    const wi_conv_args *const a = args;
    if (a->in.type == WEFT_F32 && a->accuracy != WI_TF32)
        return "cuts f32 to tf32: pass WEFT_TF32 to allow it";
    if (ctx->gpu->shared_optin < MOST_SHARED)
        return "needs 99 KiB of shared memory for a block";
    const double most =
        a->pass == WI_CONV_DATA ? padded(a, wi_conv_filters(a)) : padded(a, wi_conv_channels(a));
    if (most * (double)a->kernel_h * (double)a->kernel_w > INT32_MAX)
        return "counts the weights of a filter with 32 bits, channels in 16 bytes: there are too "
               "many";
    return fits_implicit(ctx, args);
}

#    ifdef WEFT_RING
static const char *fits_ring(const weft_context *ctx, const void *args) {
    const wi_conv_args *const a = args;
    if (ctx->gpu->capability != 90)
        return "needs a GPU of compute capability 9.0";
    if (a->in.type == WEFT_F32 && a->pass == WI_CONV_WEIGHTS)
        return "multiplies tf32 along taps alone: not in the gradient for weights";
    return fits_tensor(ctx, args);
}
#    endif

/* ---- what they cost ---- */

static double bytes_of(const wi_conv_args *a) {
    const double width = (double)weft_type_size(a->in.type);
    return width * ((double)wi_image_elements(&a->in) + (double)wi_image_elements(&a->out) +
                    (double)a->out.c * (double)wi_conv_weights(a));
}

static double peak_of(const weft_context *ctx, const wi_conv_args *a) {
    const wi_machine *const m = wi_machine_of(ctx);
    return a->in.type == WEFT_F64 ? m->f64_flops : m->f32_flops;
}

/* One thread makes each result: of weights, few results with long sums. */
static double direct_seconds(const weft_context *ctx, const void *args) {
    const wi_conv_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double rate = 0.05 * peak_of(ctx, a);
    const double terms =
        a->pass == WI_CONV_WEIGHTS ? (double)a->out.n * (double)a->out.h * (double)a->out.w : 0;
    const double alone = terms * 400 / m->unit_hz; /* a read from memory after the other */
    return m->launch_s + wi_seconds_moving(m, bytes_of(a)) + wi_conv_flops(a) / rate + alone;
}

static double up_to(size_t n, double unit) {
    double units = (double)n / unit;
    units = (double)(size_t)units < units ? (double)(size_t)units + 1 : units;
    return units * unit;
}

/* Tiles of 128 (64 where that is enough) x 128. */
static double implicit_seconds(const weft_context *ctx, const void *args) {
    const wi_conv_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double rate = 0.65 * peak_of(ctx, a), groups = (double)a->groups;
    const double taps = (double)wi_conv_weights(a);
    const double pixels = (double)a->out.n * (double)a->out.h * (double)a->out.w;
    const size_t rows = a->pass == WI_CONV_DATA ? wi_conv_channels(a) : wi_conv_filters(a);
    double flops = 2 * up_to(rows, 64) * groups;
    if (a->pass == WI_CONV_WEIGHTS)
        flops *= up_to((size_t)taps, 128) * pixels;
    else if (a->pass == WI_CONV_FORWARD)
        flops *= taps * pixels;
    else
        flops *= taps / (double)wi_conv_channels(a) * (double)wi_conv_filters(a) * pixels;
    const double launches = a->pass == WI_CONV_DATA ? (double)(a->stride_h * a->stride_w) + 1 : 2;
    return launches * m->launch_s + wi_seconds_moving(m, bytes_of(a)) * 0.2 + flops / rate;
}

/* Columns are written and read once, except for pointwise convolutions; each product is a call of
 * gemm, which takes what gemm's ladder says. */
static double unrolled_seconds(const weft_context *ctx, const void *args) {
    const wi_conv_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const bool merged = a->in.layout == WEFT_NHWC;
    const size_t images = merged ? a->in.n : 1;
    const wi_gemm_args g = wi_conv_product(a, 0, images, 0, wi_conv_columns_of(a, 0, 0, NULL), 0);
    if (wi_conv_flops(a) == 0)
        return m->launch_s;
    const wi_row *const row = wi_pick(ctx, &wi_gemm_ladder, g.type, &g);
    const double products = (double)a->groups * (merged ? 1 : (double)a->in.n);
    const double columns = (double)a->in.n * (double)wi_conv_pixels(a) *
                           (double)wi_conv_weights(a) * (double)a->groups *
                           (double)weft_type_size(a->in.type);
    const double moving =
        wi_conv_is_pointwise(a) ? 0 : products * m->launch_s + wi_seconds_moving(m, 2 * columns);
    return moving + products * row->seconds(ctx, &g);
}

/* To copy images so that their channels lie side by side, at half of the memory's rate. */
static double turning_seconds(const weft_context *ctx, const wi_conv_args *a,
                              const weft_images *x) {
    const wi_machine *const m = wi_machine_of(ctx);
    const size_t channels = x->c / a->groups;
    const double own = (double)channels, all = padded(a, channels);
    if (x->layout == WEFT_NHWC && own == all)
        return 0;
    const double pixels = (double)x->n * (double)x->h * (double)x->w;
    return m->launch_s + 2 * wi_seconds_moving(m, pixels * (double)a->groups * (own + all) *
                                                      (double)weft_type_size(x->type));
}

/* Tiles of 128 x 128, or half of it, with so many flops a second; for each class of pixels, or
 * pass, so many launches. */
static double on_tensor_cores(const weft_context *ctx, const wi_conv_args *a, double rate,
                              double each) {
    const wi_machine *const m = wi_machine_of(ctx);
    const bool data = a->pass == WI_CONV_DATA, weights = a->pass == WI_CONV_WEIGHTS;
    const double window = (double)a->kernel_h * (double)a->kernel_w;
    const double pixels = (double)a->out.n * (double)a->out.h * (double)a->out.w;
    const size_t channels = wi_conv_channels(a), filters = wi_conv_filters(a);
    const double taps = window * padded(a, data ? filters : channels);
    const double results = weights ? up_to(filters, 64) : up_to(data ? channels : filters, 64);
    const double flops =
        2 * (double)a->groups * results * (weights ? up_to((size_t)taps, 128) : taps) * pixels;
    const double launches = each * (data ? (double)(a->stride_h * a->stride_w) : 1);
    const double turning = turning_seconds(ctx, a, &a->in) + turning_seconds(ctx, a, &a->out);
    const double moving = wi_seconds_moving(m, bytes_of(a)), working = flops / rate;
    return launches * m->launch_s + turning + (working > moving ? working : moving);
}

/* Rates beside that of multiply-adds of f32. */
static double tensor_seconds(const weft_context *ctx, const void *args) {
    const wi_conv_args *const a = args;
    return on_tensor_cores(ctx, a, (a->in.type == WEFT_F32 ? 2 : 3.5) * peak_of(ctx, a), 2);
}

#    ifdef WEFT_RING
static double ring_seconds(const weft_context *ctx, const void *args) {
    const wi_conv_args *const a = args;
    const bool narrow = wi_nn_is_half(a->in.type) && a->in.layout == WEFT_NHWC;
    const double each = a->pass == WI_CONV_WEIGHTS ? 3 : narrow ? 1 : 2;
    const double by_engine = wi_conv_ring_seconds(ctx, a);
    if (by_engine > 0)
        return by_engine + turning_seconds(ctx, a, &a->in) + turning_seconds(ctx, a, &a->out);
    return on_tensor_cores(ctx, a, (a->in.type == WEFT_F32 ? 3 : 4.5) * peak_of(ctx, a), each);
}
#    endif

/* Six passes over the spectra, and a complex product for each frequency, image, channel and filter,
 * at a fifth of the peak. */
static double fft_seconds(const weft_context *ctx, const void *args) {
    const wi_conv_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    if (wi_conv_flops(a) == 0)
        return 2 * m->launch_s;
    const wi_conv_plane p = wi_conv_plane_of(a);
    const double numbers = (double)wi_conv_spectrum(&p), channels = (double)wi_conv_channels(a);
    const double images = (double)a->in.n, filters = (double)a->out.c;
    const double planes = images * ((double)a->in.c + filters) + filters * channels;
    const double bytes = 2 * (double)weft_type_size(a->in.type) * numbers * planes;
    const double flops = 8 * numbers * images * channels * filters;
    return 12 * m->launch_s + 6 * wi_seconds_moving(m, bytes) + flops / (0.2 * peak_of(ctx, a));
}

static double depthwise_seconds(const weft_context *ctx, const void *args) {
    const wi_conv_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    return m->launch_s + 1.3 * wi_seconds_moving(m, bytes_of(a)) +
           wi_conv_flops(a) / (0.1 * peak_of(ctx, a));
}
#endif

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the loops of the definition",
     .kinds = WI_ON_CPU,
     .types = WI_FLOATS,
     .run = wi_conv_serial},
    {.name = "columns",
     .what = "pixels laid out as a matrix, products by gemm, all cores",
     .kinds = WI_ON_CPU,
     .types = WI_FLOATS,
     .seconds = wi_no_rival,
     .run = wi_conv_columns},
#ifdef WEFT_CUDA
    {.name = "direct",
     .what = "one thread for one result, all from global memory",
     .kinds = WI_ON_CUDA,
     .types = WI_FLOATS,
     .seconds = direct_seconds,
     .run = wi_conv_direct},
    {.name = "unrolled",
     .what = "pixels laid out as a matrix in memory, products by gemm",
     .kinds = WI_ON_CUDA,
     .types = WI_FLOATS,
     .misfit = fits_unrolled,
     .seconds = unrolled_seconds,
     .run = wi_conv_unrolled},
    {.name = "implicit",
     .what = "the matrix's tiles gathered into shared memory, 8 x 8 sums a thread",
     .kinds = WI_ON_CUDA,
     .types = WIDE_FLOATS,
     .misfit = fits_implicit,
     .seconds = implicit_seconds,
     .run = wi_conv_implicit},
    {.name = "fft",
     .what = "planes are transformed: a product for each frequency, whatever the filters' size",
     .kinds = WI_ON_CUDA,
     .types = WIDE_FLOATS,
     .misfit = fits_fft,
     .seconds = fft_seconds,
     .run = wi_conv_fft},
    {.name = "tensor",
     .what = "channels side by side: gathered for tensor cores, sums in f32",
     .kinds = WI_ON_CUDA,
     .types = WI_HALF_FLOATS | WI_TYPE(WEFT_F32),
     .misfit = fits_tensor,
     .seconds = tensor_seconds,
     .run = wi_conv_tensor},
#    ifdef WEFT_RING
    {.name = "ring",
     .what = "one warp group gathers, two multiply on tensor cores that read shared memory",
     .kinds = WI_ON_CUDA,
     .types = WI_HALF_FLOATS | WI_TYPE(WEFT_F32),
     .misfit = fits_ring,
     .seconds = ring_seconds,
     .run = wi_conv_ring},
#    endif
    {.name = "depthwise",
     .what = "channels by themselves: one thread for one result, of weights a block",
     .kinds = WI_ON_CUDA,
     .types = WI_FLOATS,
     .misfit = fits_depthwise,
     .seconds = depthwise_seconds,
     .run = wi_conv_depthwise},
#endif
    {.name = "ranks",
     .what = "every rank has images of its own; gradients for weights are added up in order",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_FLOATS,
     .seconds = wi_no_rival,
     .run = wi_conv_ranks},
};

const wi_ladder wi_conv_ladder = {"conv", rows, sizeof rows / sizeof rows[0]};
