/* SPDX-License-Identifier: Apache-2.0 */
/* gemv over ranks. A rank that has rows of op(A) gathers x and computes its own elements of y, as
 * one place would. Ranks that have columns multiply them with their own elements of x, and send
 * each rank what belongs to its elements of y; it adds that up in the order of the ranks, in f64.
 */
#include <string.h>

#include "comm/gpus.h"
#include "cpu/half.h"
#include "gemm/gemv.h"

static const char name[] = "weft_gemv";

static weft_status multiply(weft_context *ctx, const wi_gemv_call *g, size_t n, const void *x,
                            ptrdiff_t incx) {
    return wi_local(ctx, weft_gemv(ctx->child, g->how, g->type, g->out, g->m, n, g->alpha, g->a,
                                   g->lda, x, incx, g->beta, g->y, g->incy));
}

/* ---- rows of op(A) ---- */

static weft_status multiply_rows(weft_context *ctx, const wi_gemv_call *g) {
    const wi_vector_part own = {g->type, g->x, g->n, g->incx};
    void *x = NULL;
    if (g->has_x)
        return multiply(ctx, g, g->n, g->x, g->incx);
    weft_status status = wi_vector_gather(ctx, &own, g->starts.n, g->starts.sent, &x);
    if (status == WEFT_OK)
        status = multiply(ctx, g, wi_starts_all(ctx, g->starts.n), x, 1);
    wi_host_free(x);
    return status;
}

/* ---- columns ---- */

/* Sums of own columns for all of y; those of all ranks for own elements of y; and these. */
typedef struct sums {
    weft_type type;
    void *own, *come, *y;
} sums;

static weft_status take(weft_context *ctx, const wi_gemv_call *g, sums *s) {
    const size_t width = weft_type_size(s->type), ranks = (size_t)ctx->comm->size;
    weft_status status = wi_dist_take(ctx, wi_starts_all(ctx, g->starts.m), width, &s->own);
    if (status == WEFT_OK)
        status = wi_dist_take(ctx, ranks * g->m, width, &s->come);
    return status == WEFT_OK ? wi_dist_take(ctx, g->m, weft_type_size(g->out), &s->y) : status;
}

static void store(weft_type type, void *p, size_t i, double sum) {
    switch (type) {
    case WEFT_F64:
        ((double *)p)[i] = sum;
        return;
    case WEFT_F16:
        ((uint16_t *)p)[i] = wi_f16_narrow_double(sum);
        return;
    case WEFT_BF16:
        ((uint16_t *)p)[i] = wi_bf16_narrow_double(sum);
        return;
    default:
        ((float *)p)[i] = (float)sum;
    }
}

/* y = alpha times the sums of all ranks + beta y */
static void add(const weft_context *ctx, const wi_gemv_call *g, const sums *s) {
    const size_t width = weft_type_size(s->type), out_width = weft_type_size(g->out);
    for (size_t i = 0; i < g->m; i++) {
        double sum = wi_element_value(s->type, (const char *)s->come + i * width);
        for (size_t r = 1; r < (size_t)ctx->comm->size; r++)
            sum += wi_element_value(s->type, (const char *)s->come + (r * g->m + i) * width);
        sum *= g->alpha;
        if (g->beta != 0)
            sum += g->beta * wi_element_value(g->out, (const char *)s->y + i * out_width);
        store(g->out, s->y, i, sum);
    }
}

static weft_status multiply_columns(weft_context *ctx, const wi_gemv_call *g) {
    const wi_vector_part y = {g->out, g->y, g->m, g->incy};
    const size_t all = wi_starts_all(ctx, g->starts.m);
    sums s = {.type = g->type == WEFT_F64 ? WEFT_F64 : WEFT_F32};
    weft_status status = take(ctx, g, &s);
    if (status == WEFT_OK)
        status = wi_local(ctx, weft_gemv(ctx->child, g->how, g->type, s.type, all, g->n, 1, g->a,
                                         g->lda, g->x, g->incx, 0, s.own, 1));
    if (status == WEFT_OK && g->beta != 0)
        status = wi_vector_fetch(ctx, &y, s.y);
    for (int r = 0; r < ctx->comm->size; r++) {
        g->starts.sent[r] = wi_starts_count(g->starts.m, r);
        g->starts.come[r] = g->m;
    }
    status = wi_agree(ctx, 0, status);
    if (status == WEFT_OK)
        status = ctx->comm->calls->all_to_all_v(ctx, s.own, g->starts.sent, s.come, g->starts.come,
                                                s.type);
    if (status == WEFT_OK) {
        add(ctx, g, &s);
        status = wi_vector_put(ctx, &y, s.y);
    }
    wi_host_free(s.own);
    wi_host_free(s.come);
    wi_host_free(s.y);
    return status;
}

weft_status wi_gemv_ranks(weft_context *ctx, const void *call) {
    const wi_gemv_call *const g = call;
    return g->has_rows ? multiply_rows(ctx, g) : multiply_columns(ctx, g);
}

/* ---- calls ---- */

static uint64_t alike_of(const wi_gemv_call *g) {
    const double scalars[2] = {g->alpha, g->beta};
    return wi_alike_bytes(wi_alike(wi_alike(0, g->out), g->how), scalars, sizeof scalars);
}

/* Without terms nothing but own elements of y is needed: y = beta y. */
static weft_status run_checked(weft_context *ctx, wi_gemv_call *g) {
    const bool by_rows = g->how & WEFT_ROW_MAJOR;
    const size_t rows = wi_starts_all(ctx, g->starts.m), columns = wi_starts_all(ctx, g->starts.n);
    wi_call call;
    wi_gemv_describe(&call, g, by_rows ? g->m : rows, by_rows ? columns : g->n);
    call.distributed = true;
    g->has_rows = by_rows || columns == 0;
    g->has_x = columns == 0;
    return wi_dist_run(ctx, &wi_gemv_ladder, name, g->type, alike_of(g), wi_call_check(ctx, &call),
                       g);
}

weft_status wi_gemv_over_ranks(weft_context *ctx, const wi_gemv_call *call, weft_status status) {
    wi_gemv_call g = *call;
    status = wi_starts_join(ctx, name, g.m, g.n, status, &g.starts);
    if (status == WEFT_OK)
        status = run_checked(ctx, &g);
    wi_starts_give(&g.starts);
    return status;
}

/* Do the lines of memory belong to rows of op(A)? Without terms they may. */
static bool lies_by_rows(const wi_gemv_call *g) {
    return g->n == 0 || !(g->how & WEFT_ROW_MAJOR) != !(g->how & WEFT_TRANSPOSE_A);
}

bool wi_gemv_wants_gpus(weft_context *ctx, const wi_gemv_call *g) {
    const size_t lines = lies_by_rows(g) ? g->m : g->n;
    return (g->n > 0 || wi_gpus_forced(ctx, &wi_gemv_ladder)) &&
           wi_gpus_wanted(ctx, &wi_gemv_ladder, g->a, lines * g->lda, weft_type_size(g->type));
}

/* The lines that this GPU holds. */
static weft_status run_share(weft_context *rank, void *user) {
    wi_gemv_call g = *(const wi_gemv_call *)user;
    const size_t pitch = g.lda * weft_type_size(g.type);
    const wi_vector_part x = {g.type, g.x, g.n, g.incx}, y = {g.out, g.y, g.m, g.incy};
    weft_status status = wi_starts_even(rank, g.m, 0, &g.starts);
    g.has_rows = g.has_x = lies_by_rows(&g);
    const wi_share lines = wi_gpus_share(rank, g.a, g.has_rows ? g.m : g.n, pitch);
    g.a = wi_share_of(g.a, lines, pitch);
    if (g.has_rows) {
        g.m = lines.n;
        g.y = (void *)(uintptr_t)wi_vector_some(&y, lines.first, lines.n).p;
    } else if (status == WEFT_OK) {
        const size_t first = g.starts.m[rank->comm->rank];
        g.n = lines.n;
        g.x = wi_vector_some(&x, lines.first, lines.n).p;
        g.m = wi_starts_count(g.starts.m, rank->comm->rank);
        g.y = (void *)(uintptr_t)wi_vector_some(&y, first, g.m).p;
    }
    status = wi_dist_run(rank, &wi_gemv_ladder, name, g.type, alike_of(&g), status, &g);
    wi_starts_give(&g.starts);
    return status;
}

weft_status wi_gemv_over_gpus(weft_context *ctx, const wi_gemv_call *g) {
    return wi_gpus_run(ctx, &wi_gemv_ladder, name, run_share, (void *)(uintptr_t)g);
}
