/* SPDX-License-Identifier: Apache-2.0 */
/* A tree over ranks and GPUs. Every rank has all bodies and makes the whole tree of them; then each
 * walks a share of the bodies, in the order of their keys, in the very groups in which one place
 * walks them. So all walk as many, wherever the bodies came from, and the bits are those of one
 * place of the same kind. What they found goes to all, and each keeps what is of its own bodies. */
#include "nbody/nbody_dist.h"

#include "weft/gather.h"

/* ---- the choice ---- */

static size_t largest_part(const wi_nbody_ranked *x) {
    size_t most = 1;
    for (int r = 0; r < x->ctx->comm->size; r++)
        most = x->parts[r] > most ? x->parts[r] : most;
    return most;
}

/* Would this rank take a tree? The slowest rank counts: with all pairs, the one that has most. */
static weft_status prefers_tree(wi_nbody_ranked *x, uint64_t *prefers) {
    wi_nbody_args args = wi_nbody_args_of_ranks(x);
    args.tolerance = x->r->system->tolerance;
    args.own = largest_part(x);
    args.shares = (size_t)x->ctx->comm->size;
    *prefers = 0;
    const weft_status status = wi_choose_row(x->ctx->child, &wi_nbody_ladder, x->r->call->name,
                                             args.type, &args, &x->tree.row);
    if (status == WEFT_OK)
        *prefers = wi_nbody_is_tree(x->tree.row);
    return wi_local(x->ctx, status);
}

/* ---- memory ---- */

static weft_status take_tree(wi_nbody_ranked *x) {
    wi_nbody_shared *const t = &x->tree;
    weft_context *const ctx = x->ctx;
    const size_t size = (size_t)ctx->comm->size, rank = (size_t)ctx->comm->rank;
    void *parts;
    weft_status status = wi_dist_take(ctx, size, sizeof *t->parts, &parts);
    t->parts = parts;
    if (status != WEFT_OK)
        return status;
    for (size_t r = 0; r < size; r++)
        t->parts[r] =
            wi_nbody_share_begin(x->all, r + 1, size) - wi_nbody_share_begin(x->all, r, size);
    t->begin = wi_nbody_share_begin(x->all, rank, size);
    t->end = t->begin + t->parts[rank];
    status = wi_local(ctx, weft_alloc(ctx->child, &t->order, x->all * sizeof(uint32_t)));
    if (status == WEFT_OK)
        status = wi_local(ctx, weft_alloc(ctx->child, &t->bad, sizeof(uint64_t)));
    if (status == WEFT_OK) /* accelerations, and then potentials */
        status = wi_nbody_take(x, WI_NBODY_ROW * t->parts[rank], &t->walked);
    if (status == WEFT_OK)
        status = wi_nbody_take(x, 3 * x->all, &t->sorted);
    if (status == WEFT_OK)
        status = wi_nbody_take(x, 3 * x->all, &t->whole);
    return status;
}

void wi_nbody_end_tree(wi_nbody_ranked *x) {
    weft_context *const child = x->ctx->child;
    wi_nbody_shared *const t = &x->tree;
    wi_host_free(t->parts);
    weft_free(child, t->order);
    weft_free(child, t->bad);
    weft_free(child, t->walked);
    weft_free(child, t->sorted);
    weft_free(child, t->whole);
}

weft_status wi_nbody_plan_tree(wi_nbody_ranked *x, bool accelerations, bool potentials) {
    const int size = x->ctx->comm->size;
    const uint64_t *all = NULL;
    uint64_t own[3] = {0, accelerations, potentials}, count[3] = {0};
    if (x->r->system->tolerance == 0 || x->all == 0)
        return WEFT_OK;
    weft_status status = wi_agree(x->ctx, 0, prefers_tree(x, &own[0]));
    if (status == WEFT_OK)
        status = wi_all_words(x->ctx, own, 3, &all);
    for (int k = 0; k < 3 * size && status == WEFT_OK; k++)
        count[k % 3] += all[k];
    if (status != WEFT_OK || count[0] < (uint64_t)size)
        return status;
    x->tree.accelerations = count[1] > 0;
    x->tree.potentials = count[2] > 0;
    return wi_agree(x->ctx, 0, take_tree(x));
}

/* ---- a walk ---- */

/* Potentials lie behind the accelerations, which have room in any case. */
static char *potentials_of(const wi_nbody_ranked *x) {
    const wi_nbody_shared *const t = &x->tree;
    return (char *)t->walked + 3 * (t->end - t->begin) * x->width;
}

static weft_status walk_share(const wi_nbody_ranked *x) {
    const wi_nbody_shared *const t = &x->tree;
    wi_nbody_args args = wi_nbody_args_of_ranks(x);
    args.tolerance = x->r->system->tolerance;
    args.first = 0;
    args.own = x->all;
    args.share = (size_t)x->ctx->comm->rank;
    args.shares = (size_t)x->ctx->comm->size;
    args.order = t->order;
    args.accelerations = t->accelerations ? t->walked : NULL;
    args.potentials = t->potentials ? potentials_of(x) : NULL;
    return wi_local(x->ctx, wi_run_row(x->ctx->child, &wi_nbody_ladder, t->row, &args));
}

/* to = the rows of this rank's bodies, of all those that the ranks have walked; or NULL. */
static weft_status share_out(wi_nbody_ranked *x, weft_status status, const void *walked, size_t row,
                             void *to) {
    const wi_nbody_shared *const t = &x->tree;
    weft_context *const child = x->ctx->child;
    const size_t bytes = row * x->width;
    status = wi_nbody_gather(x, status, walked, t->parts, t->sorted, row);
    if (status == WEFT_OK)
        status = wi_local(x->ctx, weft_scatter(child, x->all, bytes, t->sorted, WEFT_U32, t->order,
                                               WEFT_REPEATS_ANY, x->all, t->whole, t->bad));
    if (status == WEFT_OK && to && x->own.n > 0)
        status = wi_local(
            x->ctx, weft_copy(child, to, (char *)t->whole + x->first * bytes, x->own.n * bytes));
    return status;
}

weft_status wi_nbody_walk_shares(wi_nbody_ranked *x, weft_status status, void *accelerations,
                                 void *potentials) {
    const wi_nbody_shared *const t = &x->tree;
    if (status == WEFT_OK)
        status = walk_share(x);
    if (t->accelerations)
        status = share_out(x, status, t->walked, 3, accelerations);
    if (t->potentials)
        status = share_out(x, status, potentials_of(x), 1, potentials);
    return status;
}
