/* SPDX-License-Identifier: Apache-2.0 */
/* The public call of blend, and its table of rungs. */
#include "blend/blend.h"

#include <math.h>

#include "comm/dist.h"
#include "cpu/team.h"

static const char name[] = "weft_blend";

enum {
    A,
    B,
    OUT,
    MASK,
    MOST_CHANNELS = 4
};

#define PIXELS (WI_TYPE(WEFT_U8) | WI_TYPE(WEFT_U16) | WI_TYPE(WEFT_F32))

/* ---- the ladder ---- */

static double bytes_of(const wi_blend_args *a) {
    const double elements = (double)a->rows * (double)a->cols;
    return (3 * elements + (a->mask ? elements / (double)a->channels : 0)) *
           (double)weft_type_size(a->type);
}

static double threads_seconds(const weft_context *ctx, const void *args) {
    const wi_blend_args *const a = args;
    const double elements = (double)a->rows * (double)a->cols;
    const int team = wi_team_size(ctx, (size_t)-1, (size_t)bytes_of(a));
    return wi_team_seconds(ctx, team, elements * (a->mask ? 2.0 : 0.5), bytes_of(a));
}

#ifdef WEFT_CUDA
static double vectors_seconds(const weft_context *ctx, const void *args) {
    const wi_machine *const m = wi_machine_of(ctx);
    return m->launch_s + wi_seconds_moving(m, bytes_of(args));
}
#endif

static const wi_row table[] = {
    {.name = "serial",
     .what = "the loop you would write",
     .kinds = WI_ON_CPU,
     .types = PIXELS,
     .run = wi_blend_serial},
    {.name = "threads",
     .what = "vector registers, all cores",
     .kinds = WI_ON_CPU,
     .types = PIXELS,
     .seconds = threads_seconds,
     .run = wi_blend_threads},
#ifdef WEFT_OPENACC
    {.name = "openacc",
     .what = "the serial loop under a directive, its data named",
     .kinds = WI_ON_CPU,
     .types = PIXELS,
     .run = wi_blend_openacc},
    {.name = "openacc_blocks",
     .what = "blocks of rows on asynchronous queues: copies and loops overlap",
     .kinds = WI_ON_CPU,
     .types = PIXELS,
     .run = wi_blend_openacc_blocks},
#endif
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "direct",
     .what = "one thread for one element",
     .kinds = WI_ON_CUDA,
     .types = PIXELS,
     .run = wi_blend_direct},
#    endif
    {.name = "vectors",
     .what = "16 bytes an access, two or four of each image in flight; begun ahead",
     .kinds = WI_ON_CUDA,
     .types = PIXELS,
     .seconds = vectors_seconds,
     .run = wi_blend_vectors},
#endif
    {.name = "ranks",
     .what = "every rank blends its own rows; a GPU of several has a host thread and a stream",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = PIXELS,
     .seconds = wi_no_rival,
     .run = wi_blend_ranks},
};

const wi_ladder wi_blend_ladder = {"blend", table, sizeof table / sizeof table[0]};

wi_blend_args wi_blend_flat(const wi_blend_args *args) {
    wi_blend_args flat = *args;
    const bool has_gaps = flat.lda != flat.cols || flat.ldb != flat.cols ||
                          flat.ldout != flat.cols ||
                          (flat.mask && flat.ldmask != flat.cols / flat.channels);
    if (!has_gaps) {
        flat.cols *= flat.rows;
        flat.rows = 1;
    }
    return flat;
}

/* ---- the call ---- */

static weft_status check_type(weft_context *ctx, weft_type type) {
    if (wi_check_type(ctx, name, type) != WEFT_OK)
        return WEFT_EARG;
    if (PIXELS & WI_TYPE(type))
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: type is %s; there are u8, u16 and f32", name,
                   weft_type_name(type));
}

static weft_status check_weight(weft_context *ctx, const char *what, double weight) {
    if (isfinite((float)weight))
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG, "%s: %s is %g; pass a finite number of the range of f32", name,
                   what, weight);
}

static weft_status check(weft_context *ctx, const weft_blending *b, bool has_mask) {
    size_t all;
    if (!b)
        return wi_fail(ctx, WEFT_EARG, "%s: blending is NULL; pass a weft_blending", name);
    weft_status status = check_type(ctx, b->type);
    if (status == WEFT_OK && (b->channels < 1 || b->channels > MOST_CHANNELS))
        status = wi_fail(ctx, WEFT_EARG, "%s: channels is %u; pass 1 to %d", name, b->channels,
                         MOST_CHANNELS);
    if (status == WEFT_OK && __builtin_mul_overflow(b->width, (size_t)b->channels, &all))
        status =
            wi_fail(ctx, WEFT_EARG, "%s: width is %zu, whose elements do not fit the address space",
                    name, b->width);
    if (status == WEFT_OK && !has_mask)
        status = check_weight(ctx, "weight_a", b->weight_a);
    if (status == WEFT_OK && !has_mask)
        status = check_weight(ctx, "weight_b", b->weight_b);
    return status;
}

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const weft_blending *const b = user;
    const bool has_mask = call->count > MASK;
    const wi_blend_args args = {.type = b->type,
                                .rows = has_mask ? b->height : part->rows,
                                .cols = has_mask ? b->width * b->channels : part->cols,
                                .channels = b->channels,
                                .a = part->p[A],
                                .b = part->p[B],
                                .out = part->p[OUT],
                                .mask = has_mask ? part->p[MASK] : NULL,
                                .lda = part->ld[A],
                                .ldb = part->ld[B],
                                .ldout = part->ld[OUT],
                                .ldmask = has_mask ? part->ld[MASK] : 0,
                                .weight_a = (float)b->weight_a,
                                .weight_b = (float)b->weight_b,
                                .over_link = part->over_link};
    return wi_run(ctx, &wi_blend_ladder, call->name, args.type, &args);
}

/* Is the image one line of whole vectors? Such may stay in pinned memory (blend_cuda.cu). */
static bool is_line(const wi_array *a) {
    return (uintptr_t)a->p % 16 == 0 && (a->rows == 1 || a->ld == a->cols);
}

/* A call with a mask of fewer columns than the images goes to a GPU in one piece. */
static void describe(wi_call *call, const weft_blending *s, const void *a, const void *b,
                     const void *mask, void *out) {
    const size_t rows = s->height, cols = s->width * s->channels;
    wi_call_begin(call, name, mask ? 0 : rows, mask ? 0 : cols);
    wi_call_add(call, wi_matrix("a", a, rows, cols, "lda", s->lda ? s->lda : cols, s->type, WI_IN));
    wi_call_add(call, wi_matrix("b", b, rows, cols, "ldb", s->ldb ? s->ldb : cols, s->type, WI_IN));
    wi_array *const to = wi_call_add(call, wi_matrix("out", out, rows, cols, "ldout",
                                                     s->ldout ? s->ldout : cols, s->type, WI_OUT));
    to->in_place = 1u << A | 1u << B;
    if (mask)
        wi_call_add(call, wi_matrix("mask", mask, rows, s->width, "ldmask",
                                    s->ldmask ? s->ldmask : s->width, s->type, WI_IN));
    call->distributed = true;
    call->over_link =
        !mask && is_line(&call->array[A]) && is_line(&call->array[B]) && is_line(&call->array[OUT]);
}

weft_status wi_blend_call_run(weft_context *ctx, wi_call *call, const weft_blending *blending) {
    const bool empty = blending->height == 0 || blending->width == 0;
    return empty ? WEFT_OK : wi_call_run(ctx, call, run, (void *)blending);
}

weft_status weft_blend(weft_context *ctx, const weft_blending *blending, const void *a,
                       const void *b, const void *mask, void *out) {
    wi_call call;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = check(ctx, blending, mask);
    if (status == WEFT_OK) {
        describe(&call, blending, a, b, mask, out);
        status = wi_call_check(ctx, &call);
    }
    if (wi_is_dist(ctx))
        return wi_blend_over_ranks(ctx, &call, blending, status);
    if (status == WEFT_OK && wi_blend_wants_gpus(ctx, &call))
        return wi_blend_over_gpus(ctx, &call, blending);
    return status == WEFT_OK ? wi_blend_call_run(ctx, &call, blending) : status;
}
