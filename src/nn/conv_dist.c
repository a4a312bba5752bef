/* SPDX-License-Identifier: Apache-2.0 */
/* conv over ranks and GPUs. Each has images of its own, which need nothing of the others. The
 * gradient for weights is the sum of all ranks' gradients: each rank gets a share of the weights
 * from all, adds them up in f64 in the order of the ranks, rounds once, and gives its share to all.
 */
#include "comm/gpus.h"
#include "nn/conv.h"
#include "weft/expr.h"

/* The call on one rank. */
typedef struct request {
    const wi_conv_call *call;
    bool owns_whole; /* it writes the gradient; on a place of GPUs one rank alone does */
} request;

/* ---- the gradient for weights ---- */

/* Memory of a sum over ranks, of this rank's place where the communicator takes such. */
typedef struct summing {
    weft_context *ctx;
    weft_type from, to; /* of the ranks' gradients, and of the sum */
    size_t n, own_n;    /* weights, and those in this rank's share */
    size_t *counts;     /* weights in each rank's share, then own_n for each rank */
    void *own;          /* this rank's gradient */
    void *all;          /* own_n of each rank */
    void *sum;          /* f64 */
    void *rounded;      /* the share's sum */
    void *whole;        /* that of all shares */
} summing;

static size_t share_begin(size_t n, int rank, int size) {
    return n / (size_t)size * (size_t)rank + n % (size_t)size * (size_t)rank / (size_t)size;
}

static weft_status open_summing(summing *s) {
    const int size = s->ctx->comm->size, rank = s->ctx->comm->rank;
    const size_t wide = weft_type_size(s->from), narrow = weft_type_size(s->to);
    void *counts;
    weft_status status = wi_dist_take(s->ctx, 2 * (size_t)size, sizeof *s->counts, &counts);
    if (status != WEFT_OK)
        return status;
    s->counts = counts;
    s->own_n = share_begin(s->n, rank + 1, size) - share_begin(s->n, rank, size);
    for (int r = 0; r < size; r++) {
        s->counts[r] = share_begin(s->n, r + 1, size) - share_begin(s->n, r, size);
        s->counts[size + r] = s->own_n;
    }
    status = wi_dist_take_near(s->ctx, s->n, wide, &s->own);
    if (status == WEFT_OK)
        status = wi_dist_take_near(s->ctx, s->own_n * (size_t)size, wide, &s->all);
    if (status == WEFT_OK)
        status = wi_dist_take_near(s->ctx, s->own_n, sizeof(double), &s->sum);
    if (status == WEFT_OK)
        status = wi_dist_take_near(s->ctx, s->own_n, narrow, &s->rounded);
    return status == WEFT_OK ? wi_dist_take_near(s->ctx, s->n, narrow, &s->whole) : status;
}

static void close_summing(summing *s) {
    wi_host_free(s->counts);
    wi_dist_give_near(s->ctx, s->own);
    wi_dist_give_near(s->ctx, s->all);
    wi_dist_give_near(s->ctx, s->sum);
    wi_dist_give_near(s->ctx, s->rounded);
    wi_dist_give_near(s->ctx, s->whole);
}

/* This rank's gradient: of f16 and bf16 in f32, in which it is made. */
static weft_status make_own(const summing *s, const wi_conv_call *c) {
    weft_context *const child = s->ctx->child;
    weft_conv conv = *c->conv;
    if (wi_nn_is_half(c->x->type))
        conv.how |= WEFT_F32_WEIGHTS;
    weft_status status =
        weft_conv_backward_weights(child, c->x, &conv, c->first, c->second, s->own);
    if (status == WEFT_OK)
        status = weft_sync(child);
    return wi_local(s->ctx, status);
}

/* rounded = the sum of this share over the ranks, in their order. */
static weft_status add_up(const summing *s) {
    static const weft_expr_step add[] = {{.op = WEFT_X_INPUT, .argument = 0},
                                         {.op = WEFT_X_INPUT, .argument = 1},
                                         {.op = WEFT_X_SATURATE, .argument = WEFT_F64},
                                         {.op = WEFT_X_ADD}};
    weft_context *const child = s->ctx->child;
    const size_t n = s->own_n, bytes = n * weft_type_size(s->from);
    weft_status status = weft_convert(child, WEFT_X_SATURATE, s->from, WEFT_F64, n, s->all, s->sum);
    for (int r = 1; r < s->ctx->comm->size && status == WEFT_OK; r++) {
        const weft_expr_input in[] = {{WEFT_F64, s->sum},
                                      {s->from, (char *)s->all + (size_t)r * bytes}};
        status = weft_expr(child, add, sizeof add / sizeof *add, n, in, 2, WEFT_F64, s->sum);
    }
    if (status == WEFT_OK)
        status = weft_convert(child, WEFT_X_SATURATE, WEFT_F64, s->to, n, s->sum, s->rounded);
    if (status == WEFT_OK)
        status = weft_sync(child);
    return wi_local(s->ctx, status);
}

static weft_status sum_weights(weft_context *ctx, const request *r) {
    const wi_conv_call *const c = r->call;
    summing s = {.ctx = ctx,
                 .from = wi_nn_wide_type(c->x->type),
                 .to = c->args->f_type,
                 .n = wi_conv_results(c->args)};
    weft_status status = open_summing(&s);
    if (status == WEFT_OK)
        status = make_own(&s, c);
    status = wi_agree(ctx, 0, status);
    if (status == WEFT_OK)
        status = wi_dist_exchange(ctx, s.own, s.counts, s.all, s.counts + ctx->comm->size,
                                  weft_type_size(s.from));
    if (status == WEFT_OK)
        status = wi_agree(ctx, 0, add_up(&s));
    if (status == WEFT_OK)
        status = ctx->comm->calls->all_gather_v(ctx, s.rounded, s.whole, s.counts, s.to);
    if (status == WEFT_OK && r->owns_whole)
        status =
            wi_local(ctx, weft_copy(ctx->child, c->result, s.whole, s.n * weft_type_size(s.to)));
    close_summing(&s);
    return status;
}

/* ---- the rung ---- */

static weft_status run_alone(weft_context *child, const wi_conv_call *c) {
    switch (c->args->pass) {
    case WI_CONV_FORWARD:
        return weft_conv_forward(child, c->x, c->conv, c->first, c->second, c->result);
    case WI_CONV_DATA:
        return weft_conv_backward_data(child, c->x, c->conv, c->first, c->second, c->result);
    default:
        return weft_conv_backward_weights(child, c->x, c->conv, c->first, c->second, c->result);
    }
}

weft_status wi_conv_ranks(weft_context *ctx, const void *arguments) {
    const request *const r = arguments;
    const wi_conv_args *const a = r->call->args;
    if (a->pass == WI_CONV_WEIGHTS && ctx->comm->size > 1)
        return wi_conv_results(a) > 0 ? sum_weights(ctx, r) : WEFT_OK;
    return wi_local(ctx, run_alone(ctx->child, r->call));
}

/* ---- calls ---- */

/* What ranks must pass alike: all but the count of images. */
static uint64_t alike_of(const wi_conv_args *a, unsigned how) {
    const size_t sizes[] = {a->in.layout, a->in.c,     a->in.h,       a->in.w,       a->out.c,
                            a->groups,    a->kernel_h, a->kernel_w,   a->stride_h,   a->stride_w,
                            a->pad_h,     a->pad_w,    a->dilation_h, a->dilation_w, how};
    return wi_alike_bytes(0, sizes, sizeof sizes);
}

weft_status wi_conv_over_ranks(weft_context *ctx, const wi_conv_call *call, weft_status status) {
    const bool valid = status == WEFT_OK;
    return wi_dist_run(ctx, &wi_conv_ladder, call->name, valid ? call->x->type : WEFT_F32,
                       valid ? alike_of(call->args, call->conv->how) : 0, status,
                       &(request){call, true});
}

/* The images that say which GPU does what, and elements of each. */
static const void *guide_of(const wi_conv_call *c, size_t *each) {
    const bool of_y = c->args->pass == WI_CONV_FORWARD;
    const weft_images *const images = of_y ? &c->args->out : &c->args->in;
    *each = images->c * images->h * images->w;
    return c->args->pass == WI_CONV_WEIGHTS ? c->first : c->result;
}

bool wi_conv_wants_gpus(weft_context *ctx, const wi_conv_call *c) {
    size_t each;
    const void *const guide = guide_of(c, &each);
    if (!wi_is_gpus(ctx))
        return false;
    const bool enough = c->x->n >= (size_t)wi_gpus_count(ctx);
    return (enough || wi_gpus_forced(ctx, &wi_conv_ladder)) &&
           wi_gpus_wanted(ctx, &wi_conv_ladder, guide, c->x->n * each, weft_type_size(c->x->type));
}

/* Image `first` of a share. */
static void *image_of(const void *p, const weft_images *images, wi_share share) {
    return wi_share_of(p, share, images->c * images->h * images->w * weft_type_size(images->type));
}

static weft_status run_share(weft_context *rank, void *user) {
    const wi_conv_call *const whole = user;
    wi_conv_call c = *whole;
    wi_conv_args args = *whole->args;
    weft_images x = *whole->x;
    size_t each;
    const void *const guide = guide_of(whole, &each);
    const wi_share share = wi_gpus_share(rank, guide, x.n, each * weft_type_size(x.type));
    args.in.n = args.out.n = x.n = share.n;
    c.x = &x;
    c.args = &args;
    c.first = image_of(c.first, args.pass == WI_CONV_DATA ? &args.out : &args.in, share);
    if (args.pass == WI_CONV_WEIGHTS)
        c.second = image_of(c.second, &args.out, share);
    else
        c.result = image_of(c.result, args.pass == WI_CONV_DATA ? &args.in : &args.out, share);
    return wi_dist_run(rank, &wi_conv_ladder, c.name, x.type, alike_of(&args, c.conv->how), WEFT_OK,
                       &(request){&c, rank->comm->rank == 0});
}

weft_status wi_conv_over_gpus(weft_context *ctx, const wi_conv_call *call) {
    return wi_gpus_run(ctx, &wi_conv_ladder, call->name, run_share, (void *)(uintptr_t)call);
}
