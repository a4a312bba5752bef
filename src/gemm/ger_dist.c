/* SPDX-License-Identifier: Apache-2.0 */
/* ger over ranks: every rank has lines of A (columns or, by rows, rows) and their elements of one
 * vector. It gathers the other, and changes its lines as one place would. */
#include <string.h>

#include "comm/gpus.h"
#include "gemm/ger.h"

static const char name[] = "weft_ger";

static weft_status change(weft_context *ctx, const wi_ger_call *g) {
    return wi_local(ctx, weft_ger(ctx->child, g->how, g->type, g->m, g->n, g->alpha, g->x, g->incx,
                                  g->y, g->incy, g->a, g->lda));
}

weft_status wi_ger_ranks(weft_context *ctx, const void *call) {
    const wi_ger_call *const g = call;
    const bool by_rows = g->how & WEFT_ROW_MAJOR;
    const wi_vector_part own = by_rows ? (wi_vector_part){g->type, g->y, g->n, g->incy}
                                       : (wi_vector_part){g->type, g->x, g->m, g->incx};
    wi_ger_call local = *g;
    void *whole = NULL;
    if (g->alpha == 0)
        return WEFT_OK;
    if (g->has_both)
        return change(ctx, g);
    weft_status status =
        wi_vector_gather(ctx, &own, by_rows ? g->starts.n : g->starts.m, g->starts.sent, &whole);
    if (by_rows) {
        local.y = whole;
        local.incy = 1;
        local.n = wi_starts_all(ctx, g->starts.n);
    } else {
        local.x = whole;
        local.incx = 1;
        local.m = wi_starts_all(ctx, g->starts.m);
    }
    if (status == WEFT_OK)
        status = change(ctx, &local);
    wi_host_free(whole);
    return status;
}

/* ---- calls ---- */

static weft_status run_all(weft_context *ctx, const wi_ger_call *g, weft_status status) {
    const uint64_t alike = wi_alike_bytes(wi_alike(0, g->how), &g->alpha, sizeof g->alpha);
    return wi_dist_run(ctx, &wi_ger_ladder, name, g->type, alike, status, g);
}

weft_status wi_ger_over_ranks(weft_context *ctx, const wi_ger_call *call, weft_status status) {
    const bool by_rows = call->how & WEFT_ROW_MAJOR;
    wi_ger_call g = *call;
    wi_call arrays;
    status = wi_starts_join(ctx, name, g.m, g.n, status, &g.starts);
    if (status == WEFT_OK) {
        wi_ger_describe(&arrays, &g, by_rows ? g.m : wi_starts_all(ctx, g.starts.m),
                        by_rows ? wi_starts_all(ctx, g.starts.n) : g.n);
        arrays.distributed = true;
        status = run_all(ctx, &g, wi_call_check(ctx, &arrays));
    }
    wi_starts_give(&g.starts);
    return status;
}

bool wi_ger_wants_gpus(weft_context *ctx, const wi_ger_call *g) {
    const size_t lines = g->how & WEFT_ROW_MAJOR ? g->m : g->n;
    return wi_gpus_wanted(ctx, &wi_ger_ladder, g->a, lines * g->lda, weft_type_size(g->type));
}

/* The lines that this GPU holds. */
static weft_status run_share(weft_context *rank, void *user) {
    wi_ger_call g = *(const wi_ger_call *)user;
    const bool by_rows = g.how & WEFT_ROW_MAJOR;
    const size_t pitch = g.lda * weft_type_size(g.type);
    const wi_vector_part x = {g.type, g.x, g.m, g.incx}, y = {g.type, g.y, g.n, g.incy};
    const wi_share lines = wi_gpus_share(rank, g.a, by_rows ? g.m : g.n, pitch);
    g.has_both = true;
    g.a = wi_share_of(g.a, lines, pitch);
    g.m = by_rows ? lines.n : g.m;
    g.n = by_rows ? g.n : lines.n;
    g.x = by_rows ? wi_vector_some(&x, lines.first, lines.n).p : g.x;
    g.y = by_rows ? g.y : wi_vector_some(&y, lines.first, lines.n).p;
    return run_all(rank, &g, WEFT_OK);
}

weft_status wi_ger_over_gpus(weft_context *ctx, const wi_ger_call *g) {
    return wi_gpus_run(ctx, &wi_ger_ladder, name, run_share, (void *)(uintptr_t)g);
}
