/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of convolution layers. */
#include "nn/conv.h"
#include "comm/dist.h"

enum {
    FIRST,
    SECOND,
    RESULT
};

enum {
    HOWS = WEFT_TF32 | WEFT_F32_STRICT | WEFT_F32_WEIGHTS
};

static size_t or_one(size_t given) {
    return given ? given : 1;
}

static wi_window down_of(const weft_conv *c) {
    return (wi_window){"kernel_h",  "stride_h",          "pad_h",  "dilation_h",
                       c->kernel_h, or_one(c->stride_h), c->pad_h, or_one(c->dilation_h)};
}

static wi_window across_of(const weft_conv *c) {
    return (wi_window){"kernel_w",  "stride_w",          "pad_w",  "dilation_w",
                       c->kernel_w, or_one(c->stride_w), c->pad_w, or_one(c->dilation_w)};
}

static weft_status check_channels(weft_context *ctx, const char *call, const weft_images *x,
                                  const weft_conv *c) {
    const size_t groups = or_one(c->groups);
    if (c->filters == 0 || c->filters > WI_IMAGES_MOST)
        return wi_fail(ctx, WEFT_EARG, "%s: filters is %zu; pass 1 to 2^30", call, c->filters);
    if (x->c % groups != 0 || c->filters % groups != 0)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: groups is %zu, which does not divide the %zu channels and the %zu "
                       "filters; pass a divisor of both",
                       call, groups, x->c, c->filters);
    size_t weights;
    if (__builtin_mul_overflow(c->kernel_h, c->kernel_w, &weights) ||
        __builtin_mul_overflow(weights, x->c / groups, &weights) ||
        __builtin_mul_overflow(weights, c->filters, &weights) || weights > INT32_MAX)
        return wi_fail(
            ctx, WEFT_EARG,
            "%s: %zu filters of %zu x %zu x %zu are 2^31 weights or more; check filters, "
            "kernel_h and kernel_w",
            call, c->filters, x->c / groups, c->kernel_h, c->kernel_w);
    return WEFT_OK;
}

static weft_status check_how(weft_context *ctx, const char *call, weft_type type, unsigned how) {
    wi_accuracy accuracy;
    if (how & ~(unsigned)HOWS)
        return wi_fail(
            ctx, WEFT_EARG,
            "%s: how is %u; combine WEFT_TF32 or WEFT_F32_STRICT, and WEFT_F32_WEIGHTS, with |",
            call, how);
    if (how & WEFT_F32_WEIGHTS && type == WEFT_F64)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: how has WEFT_F32_WEIGHTS, which is of f16 and bf16, and type is f64",
                       call);
    return wi_gemm_check_accuracy(ctx, call, how, type, &accuracy);
}

/* Checks everything but the arrays, and fills `out`. */
static weft_status check(weft_context *ctx, const char *call, const weft_images *x,
                         const weft_conv *c, weft_images *out) {
    weft_status status = wi_check_context(ctx);
    if (status == WEFT_OK)
        status = wi_images_check(ctx, call, "x", x);
    if (status != WEFT_OK)
        return status;
    if (!c)
        return wi_fail(ctx, WEFT_EARG, "%s: conv is NULL; pass a weft_conv", call);
    const wi_window down = down_of(c), across = across_of(c);
    status = wi_window_check(ctx, call, &down);
    if (status == WEFT_OK)
        status = wi_window_check(ctx, call, &across);
    if (status == WEFT_OK)
        status = check_channels(ctx, call, x, c);
    if (status == WEFT_OK)
        status = check_how(ctx, call, x->type, c->how);
    if (status != WEFT_OK)
        return status;
    *out = (weft_images){x->type,
                         x->layout,
                         x->n,
                         c->filters,
                         wi_window_count(&down, x->h),
                         wi_window_count(&across, x->w)};
    return wi_images_check(ctx, call, "the result", out);
}

weft_status weft_conv_output(weft_context *ctx, const weft_images *x, const weft_conv *conv,
                             weft_images *y) {
    static const char call[] = "weft_conv_output";
    weft_images out;
    const weft_status status = check(ctx, call, x, conv, &out);
    if (status != WEFT_OK)
        return status;
    if (!y)
        return wi_fail(ctx, WEFT_EARG, "%s: y is NULL; pass a weft_images", call);
    *y = out;
    return WEFT_OK;
}

/* ---- running ---- */

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_conv_args args = *(const wi_conv_args *)user;
    args.x = args.pass == WI_CONV_DATA ? part->p[RESULT] : part->p[FIRST];
    args.f = args.pass == WI_CONV_WEIGHTS ? part->p[RESULT] : part->p[SECOND];
    args.y = args.pass == WI_CONV_FORWARD ? part->p[RESULT]
             : args.pass == WI_CONV_DATA  ? part->p[FIRST]
                                          : part->p[SECOND];
    return wi_run(ctx, &wi_conv_ladder, call->name, args.in.type, &args);
}

static wi_array weights_of(const char *name, const void *f, const wi_conv_args *a, unsigned use) {
    return wi_elements(name, f, a->out.c * wi_conv_weights(a), a->f_type, use);
}

/* Describes a checked convolution, and its arrays. */
static weft_status describe(weft_context *ctx, const wi_conv_call *c, wi_conv_args *a,
                            wi_call *call) {
    const weft_conv *const v = c->conv;
    const weft_status status =
        wi_gemm_check_accuracy(ctx, c->name, v->how, c->x->type, &a->accuracy);
    a->in = *c->x;
    a->f_type = a->pass == WI_CONV_WEIGHTS && v->how & WEFT_F32_WEIGHTS ? WEFT_F32 : c->x->type;
    a->groups = or_one(v->groups);
    a->kernel_h = v->kernel_h;
    a->kernel_w = v->kernel_w;
    a->stride_h = or_one(v->stride_h);
    a->stride_w = or_one(v->stride_w);
    a->pad_h = v->pad_h;
    a->pad_w = v->pad_w;
    a->dilation_h = or_one(v->dilation_h);
    a->dilation_w = or_one(v->dilation_w);
    wi_call_begin(call, c->name, 0, 0);
    call->distributed = true;
    wi_call_add(call, a->pass == WI_CONV_DATA ? wi_images_array("dy", c->first, &a->out, WI_IN)
                                              : wi_images_array("x_data", c->first, &a->in, WI_IN));
    wi_call_add(call, a->pass == WI_CONV_WEIGHTS ? wi_images_array("dy", c->second, &a->out, WI_IN)
                                                 : weights_of("f", c->second, a, WI_IN));
    wi_call_add(call, a->pass == WI_CONV_FORWARD ? wi_images_array("y", c->result, &a->out, WI_OUT)
                      : a->pass == WI_CONV_DATA  ? wi_images_array("dx", c->result, &a->in, WI_OUT)
                                                 : weights_of("df", c->result, a, WI_OUT));
    return status == WEFT_OK ? wi_call_check(ctx, call) : status;
}

static weft_status run_call(weft_context *ctx, const char *name, const weft_images *x,
                            const weft_conv *conv, wi_conv_args *a, const void *first,
                            const void *second, void *result) {
    const wi_conv_call c = {name, x, conv, a, first, second, result};
    wi_call call;
    weft_status status = check(ctx, name, x, conv, &a->out);
    if (status == WEFT_OK)
        status = describe(ctx, &c, a, &call);
    if (wi_is_dist(ctx))
        return wi_conv_over_ranks(ctx, &c, status);
    if (status != WEFT_OK || call.array[RESULT].bytes == 0)
        return status;
    if (wi_conv_wants_gpus(ctx, &c))
        return wi_conv_over_gpus(ctx, &c);
    return wi_call_run(ctx, &call, run, a);
}

weft_status weft_conv_forward(weft_context *ctx, const weft_images *x, const weft_conv *conv,
                              const void *x_data, const void *f, void *y) {
    wi_conv_args args = {.pass = WI_CONV_FORWARD};
    return run_call(ctx, "weft_conv_forward", x, conv, &args, x_data, f, y);
}

weft_status weft_conv_backward_data(weft_context *ctx, const weft_images *x, const weft_conv *conv,
                                    const void *dy, const void *f, void *dx) {
    wi_conv_args args = {.pass = WI_CONV_DATA};
    return run_call(ctx, "weft_conv_backward_data", x, conv, &args, dy, f, dx);
}

weft_status weft_conv_backward_weights(weft_context *ctx, const weft_images *x,
                                       const weft_conv *conv, const void *x_data, const void *dy,
                                       void *df) {
    wi_conv_args args = {.pass = WI_CONV_WEIGHTS};
    return run_call(ctx, "weft_conv_backward_weights", x, conv, &args, x_data, dy, df);
}
