/* SPDX-License-Identifier: Apache-2.0 */
/* blend over ranks and GPUs: every one blends its own rows, and nobody waits for another. */
#include "blend/blend.h"
#include "comm/gpus.h"

enum {
    A,
    B,
    OUT,
    MASK
};

static const char name[] = "weft_blend";

typedef struct images {
    const wi_call *call;
    const weft_blending *blending;
} images;

weft_status wi_blend_ranks(weft_context *ctx, const void *request) {
    const images *const r = request;
    wi_call call = *r->call;
    return wi_local(ctx, wi_blend_call_run(ctx->child, &call, r->blending));
}

/* What ranks must pass alike. */
static uint64_t alike_of(const wi_call *call, const weft_blending *b) {
    const double weights[2] = {b->weight_a, b->weight_b};
    const bool has_mask = call->count > MASK;
    const uint64_t h = wi_alike(wi_alike(0, b->channels), has_mask);
    return has_mask ? h : wi_alike_bytes(h, weights, sizeof weights);
}

weft_status wi_blend_over_ranks(weft_context *ctx, const wi_call *call,
                                const weft_blending *blending, weft_status status) {
    const bool valid = status == WEFT_OK;
    return wi_dist_run(ctx, &wi_blend_ladder, name, valid ? blending->type : WEFT_U8,
                       valid ? alike_of(call, blending) : 0, status, &(images){call, blending});
}

bool wi_blend_wants_gpus(weft_context *ctx, const wi_call *call) {
    const wi_array *const out = &call->array[OUT];
    return wi_gpus_wanted(ctx, &wi_blend_ladder, out->p, out->rows * out->cols, out->width);
}

/* Element `first` of the share of an image. */
static void *part_of(const wi_call *call, int k, wi_share share, size_t elements) {
    const wi_array *const a = &call->array[k];
    return wi_share_of(a->p, share, elements * a->width);
}

static weft_status run_share(weft_context *rank, void *user) {
    const images *const r = user;
    const wi_array *const array = r->call->array, *const out = &array[OUT];
    weft_blending b = *r->blending;
    const bool one_row = b.height == 1, has_mask = r->call->count > MASK;
    const size_t channels = b.channels;
    const wi_share share = one_row ? wi_gpus_share(rank, out->p, b.width, channels * out->width)
                                   : wi_gpus_share(rank, out->p, b.height, out->ld * out->width);
    b.lda = array[A].ld;
    b.ldb = array[B].ld;
    b.ldout = out->ld;
    b.ldmask = has_mask ? array[MASK].ld : 0;
    *(one_row ? &b.width : &b.height) = share.n;
    return weft_blend(rank, &b, part_of(r->call, A, share, one_row ? channels : b.lda),
                      part_of(r->call, B, share, one_row ? channels : b.ldb),
                      has_mask ? part_of(r->call, MASK, share, one_row ? 1 : b.ldmask) : NULL,
                      part_of(r->call, OUT, share, one_row ? channels : b.ldout));
}

weft_status wi_blend_over_gpus(weft_context *ctx, const wi_call *call,
                               const weft_blending *blending) {
    return wi_gpus_run(ctx, &wi_blend_ladder, name, run_share, &(images){call, blending});
}
