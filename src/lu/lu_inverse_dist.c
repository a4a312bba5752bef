/* SPDX-License-Identifier: Apache-2.0 */
/* Inverses over ranks: each solves for the columns of the unit matrix that its columns of the
 * factors are in, and puts the solutions there. */
#include <string.h>

#include "core/rowcopy.h"
#include "gemm/starts.h"
#include "lu/lu_dist.h"
#include "weft/map.h"

enum {
    LU,
    PIVOT
};

static const char name[] = "weft_lu_inverse";

typedef struct work {
    const wi_lu_inverting *g;
    size_t all, first, width; /* columns of all ranks, and before this one's */
    size_t lines, length;     /* this rank's columns as they lie */
    void *x;                  /* they lie so, but without gaps */
    void *diagonal;           /* of the own columns, in host memory */
} work;

static weft_status take(weft_context *ctx, work *w) {
    const size_t n = w->g->n;
    weft_status status = wi_dist_take(ctx, n, w->width, &w->diagonal);
    if (status == WEFT_OK && n > 0)
        status = wi_local(ctx, weft_alloc(ctx->child, &w->x, w->all * n * w->width));
    return status;
}

static void give(weft_context *ctx, work *w) {
    weft_free(ctx->child, w->x);
    wi_host_free(w->diagonal);
}

/* The diagonal elements of own columns, of a matrix that lies as the factors do. */
static wi_vector_part diagonal_of(const work *w, const void *matrix, size_t ld) {
    const size_t before = w->first * (w->g->by_rows ? ld : 1) * w->width;
    return (wi_vector_part){w->g->type, w->g->n > 0 ? (const char *)matrix + before : NULL, w->g->n,
                            (ptrdiff_t)ld + 1};
}

/* All ranks find the first column whose diagonal element of U is 0. */
static weft_status check_diagonal(weft_context *ctx, work *w, const wi_part *part,
                                  weft_status status) {
    const wi_vector_part u = diagonal_of(w, part->p[LU], part->ld[LU]);
    uint64_t own = UINT64_MAX, least = UINT64_MAX;
    if (status == WEFT_OK)
        status = wi_vector_fetch(ctx, &u, w->diagonal);
    for (size_t k = w->g->n; k-- > 0 && status == WEFT_OK;)
        if (wi_element_value(w->g->type, (const char *)w->diagonal + k * w->width) == 0)
            own = w->first + k;
    status = wi_agree(ctx, 0, status);
    if (status == WEFT_OK)
        status = ctx->comm->calls->all_reduce(ctx, &own, &least, 1, WEFT_U64, WEFT_MIN);
    if (status == WEFT_OK && least != UINT64_MAX)
        return wi_lu_no_inverse(ctx, (size_t)least);
    return status;
}

static weft_status make_unit(weft_context *ctx, const work *w) {
    const wi_vector_part ones = diagonal_of(w, w->x, w->length);
    const double zero = 0; /* of either type */
    weft_status status =
        wi_local(ctx, weft_fill(ctx->child, w->g->type, w->all * w->g->n, &zero, w->x));
    for (size_t k = 0; k < w->g->n; k++)
        if (w->g->type == WEFT_F64)
            ((double *)w->diagonal)[k] = 1;
        else
            ((float *)w->diagonal)[k] = 1;
    return status == WEFT_OK ? wi_vector_put(ctx, &ones, w->diagonal) : status;
}

/* X = A^-1, of which this rank finds its columns. */
static weft_status solve(weft_context *ctx, const work *w, const wi_part *part) {
    const wi_lu_inverting *const g = w->g;
    const wi_lu_solving system = {.call = name,
                                  .type = g->type,
                                  .by_rows = g->by_rows,
                                  .columns = g->n,
                                  .nrhs = g->n,
                                  .lu = part->p[LU],
                                  .lda = part->ld[LU],
                                  .pivot = part->p[PIVOT],
                                  .b = w->x,
                                  .ldb = w->length};
    return wi_lu_solve_ranks(ctx, &system, make_unit(ctx, w));
}

static weft_status invert(weft_context *ctx, const wi_part *part, void *user) {
    work *const w = user;
    weft_status status = check_diagonal(ctx, w, part, take(ctx, w));
    if (status == WEFT_OK)
        status = solve(ctx, w, part);
    if (status != WEFT_OK || w->g->n == 0)
        return status;
    const size_t line = w->length * w->width;
    const wi_pitched to = {part->p[LU], part->ld[LU] * w->width}, from = {w->x, line};
    return wi_local(ctx, wi_copy_rows(ctx->child, to, from, w->lines, line));
}

static weft_status run_checked(weft_context *ctx, work *w) {
    const wi_lu_inverting *const g = w->g;
    const unsigned lines = g->by_rows ? 0 : WI_COLUMNS;
    wi_call call;
    wi_call_begin(&call, name, 0, 0);
    wi_call_add(&call, wi_matrix("lu", g->lu, w->lines, w->length, "lda", g->lda, g->type,
                                 WI_IN | WI_OUT | lines));
    wi_call_add(&call, wi_elements("pivot", g->pivot, w->all, WEFT_I64, WI_IN));
    weft_status status = wi_call_check(ctx->child, &call);
    if (status == WEFT_OK)
        status = wi_lu_check_pivots(ctx->child, name, w->all, g->pivot);
    status = wi_agree(ctx, 0, wi_local(ctx, status));
    if (status == WEFT_OK && w->all > 0)
        status = wi_dist_call_run(ctx, &call, invert, w);
    give(ctx, w);
    return status;
}

weft_status wi_lu_inverse_ranks(weft_context *ctx, const wi_lu_inverting *g, weft_status status) {
    const uint64_t alike = wi_alike(wi_alike_bytes(0, name, sizeof name),
                                    (uint64_t)g->type << 1 | (uint64_t)g->by_rows);
    wi_starts starts;
    status = wi_starts_join(ctx, name, g->n, 0, status, &starts);
    status = wi_agree(ctx, alike, status);
    if (status == WEFT_OK) {
        const size_t all = wi_starts_all(ctx, starts.m);
        work w = {.g = g,
                  .all = all,
                  .first = starts.m[ctx->comm->rank],
                  .width = weft_type_size(g->type),
                  .lines = g->by_rows ? all : g->n,
                  .length = g->by_rows ? g->n : all};
        status = run_checked(ctx, &w);
        status = wi_agree(ctx, alike, status);
    }
    wi_starts_give(&starts);
    return status;
}
