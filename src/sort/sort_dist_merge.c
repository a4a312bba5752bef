/* SPDX-License-Identifier: Apache-2.0 */
/* merge over ranks: both arrays are cut where the ranks' shares of the result begin, the pieces go
 * to their ranks, and every rank merges what it got. */
#include "sort/sort_cut.h"
#include "sort/sort_run.h"

enum {
    A,
    B
};

/* A call while it runs, in memory that the communicator takes. */
typedef struct work {
    weft_context *ctx;
    const wi_merge_args *args;
    wi_sort_cut cut;
    void *copy[2], *copy_values[2]; /* of what is in device memory */
    const void *values[2];
    void *got[2], *got_values[2];
    size_t n[2]; /* that this rank got */
} work;

/* Makes n elements of `width` bytes readable for the communicator: *host is p or, with a *copy, in
 * memory that it takes. */
static weft_status bring(weft_context *ctx, const void *p, size_t n, size_t width, void **copy,
                         const void **host) {
    *host = p;
    const bool stays = wi_dist_stays(ctx);
    if (n == 0 || width == 0 || (stays ? wi_is_device(ctx->child, p) : wi_is_host(ctx->child, p)))
        return WEFT_OK;
    const weft_status status = wi_dist_take_near(ctx, n, width, copy);
    *host = *copy;
    return status == WEFT_OK ? wi_local(ctx, weft_copy(ctx->child, *copy, p, n * width)) : status;
}

static weft_status bring_all(work *w) {
    const wi_merge_args *const a = w->args;
    const size_t size = weft_type_size(a->type), n[2] = {a->na, a->nb};
    const void *const keys[2] = {a->a, a->b}, *const values[2] = {a->a_values, a->b_values};
    weft_status status = wi_sort_cut_open(w->ctx, &w->cut);
    for (int k = A; k <= B && status == WEFT_OK; k++) {
        status = bring(w->ctx, keys[k], n[k], size, &w->copy[k], &w->cut.x[k]);
        if (status == WEFT_OK)
            status =
                bring(w->ctx, values[k], n[k], a->value_bytes, &w->copy_values[k], &w->values[k]);
    }
    return status;
}

static weft_status take_got(work *w) {
    const wi_merge_args *const a = w->args;
    weft_status status = WEFT_OK;
    for (int k = A; k <= B && status == WEFT_OK; k++) {
        for (int r = 0; r < w->ctx->comm->size; r++)
            w->n[k] += w->cut.got[k][r];
        status = wi_dist_take_near(w->ctx, w->n[k], weft_type_size(a->type), &w->got[k]);
        if (status == WEFT_OK)
            status = wi_dist_take_near(w->ctx, w->n[k], a->value_bytes, &w->got_values[k]);
    }
    return status;
}

static weft_status exchange(work *w) {
    const wi_merge_args *const a = w->args;
    weft_status status = WEFT_OK;
    for (int k = A; k <= B && status == WEFT_OK; k++) {
        status = wi_sort_cut_exchange(w->ctx, &w->cut, k, w->cut.x[k], w->got[k],
                                      weft_type_size(a->type));
        if (status == WEFT_OK && a->value_bytes > 0)
            status = wi_sort_cut_exchange(w->ctx, &w->cut, k, w->values[k], w->got_values[k],
                                          a->value_bytes);
    }
    return status;
}

static weft_status run(work *w) {
    const wi_merge_args *const a = w->args;
    weft_status status = wi_agree(w->ctx, 0, bring_all(w));
    if (status == WEFT_OK)
        status = wi_sort_cut_find(w->ctx, &w->cut);
    if (status == WEFT_OK)
        status = wi_agree(w->ctx, 0, take_got(w));
    if (status == WEFT_OK)
        status = exchange(w);
    if (status != WEFT_OK)
        return status;
    return wi_local(w->ctx,
                    weft_merge(w->ctx->child, a->descending ? WEFT_DESCENDING : WEFT_ASCENDING,
                               a->type, w->n[A], w->got[A], w->n[B], w->got[B], a->out,
                               a->value_bytes, w->got_values[A], w->got_values[B], a->values_out));
}

weft_status wi_merge_ranks(weft_context *ctx, const void *arguments) {
    const wi_merge_args *const a = ((const wi_dist_args *)arguments)->args;
    work w = {.ctx = ctx,
              .args = a,
              .cut = {.type = a->type,
                      .descending = a->descending,
                      .end_bit = 8 * (unsigned)weft_type_size(a->type),
                      .runs = 2,
                      .n = {a->na, a->nb}}};
    const weft_status status = run(&w);
    wi_sort_cut_close(&w.cut);
    for (int k = A; k <= B; k++) {
        wi_dist_give_near(ctx, w.copy[k]);
        wi_dist_give_near(ctx, w.copy_values[k]);
        wi_dist_give_near(ctx, w.got[k]);
        wi_dist_give_near(ctx, w.got_values[k]);
    }
    return status;
}
