/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of solve_batch, and the table of rungs. */
#include "solve_batch/solve_batch.h"

#include "comm/gpus.h"

static const wi_row rows[] = {
    {.name = "serial",
     .what = "one system after the other, as on paper",
     .kinds = WI_ON_CPU,
     .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
     .run = wi_solve_batch_serial},
    {.name = "threads",
     .what = "threads share the systems; columns in vector registers",
     .kinds = WI_ON_CPU,
     .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
     .seconds = wi_no_rival,
     .run = wi_solve_batch_threads},
#ifdef WEFT_CUDA
    {.name = "registers",
     .what = "threads have a row or two each in registers, systems share a warp; no row moves",
     .kinds = WI_ON_CUDA,
     .types = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
     .seconds = wi_no_rival,
     .run = wi_solve_batch_registers},
#endif
    {.name = "ranks",
     .what = "every rank its own systems",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_run_own},
};

const wi_ladder wi_solve_batch_ladder = {"solve_batch", rows, sizeof rows / sizeof rows[0]};

/* ---- a call ---- */

/* Matrices as the caller describes them. */
typedef struct operand {
    const char *name, *ld_name, *stride_name;
    const void *p;
    size_t columns, ld, stride; /* of n rows each */
    unsigned use;
} operand;

typedef struct request {
    const char *name;
    unsigned how;
    operand a, b;
    wi_solve_batch_args args;
    int at_b, at_pivot, at_info; /* which array of the call each is; a is 0, so 0: there is none */
} request;

enum {
    LU_FLAGS = WEFT_ROW_MAJOR | WEFT_TRANSPOSE_A,
    SPD_FLAGS = WEFT_ROW_MAJOR | WEFT_UPPER_TRIANGLE
};

static weft_status check(weft_context *ctx, const request *r) {
    const wi_solve_batch_args *const g = &r->args;
    const unsigned allowed = g->spd                       ? SPD_FLAGS
                             : g->task == WI_BATCH_FACTOR ? WEFT_ROW_MAJOR
                                                          : LU_FLAGS;
    const weft_status status = wi_check_wide_float(ctx, r->name, g->type);
    if (status != WEFT_OK)
        return status;
    if (r->how & ~allowed)
        return wi_fail(ctx, WEFT_EARG, "%s: how is %u; it takes WEFT_ROW_MAJOR%s of weft/gemm.h",
                       r->name, r->how,
                       g->spd                       ? " and WEFT_UPPER_TRIANGLE"
                       : allowed & WEFT_TRANSPOSE_A ? " and WEFT_TRANSPOSE_A"
                                                    : "");
    if (g->n > WEFT_BATCH_MOST)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: n is %zu; systems of a batch have at most %d unknowns: solve each by "
                       "calls of its own",
                       r->name, g->n, WEFT_BATCH_MOST);
    return WEFT_OK;
}

/* Adds `count` matrices to the call, as one array that has a row for each: all elements from the
 * first of a matrix to its last. The shape of a matrix is checked first, without its address. */
static weft_status add(weft_context *ctx, wi_call *call, const request *r, const operand *o) {
    static const _Alignas(16) char somewhere[16]; /* any address that is not NULL */
    const wi_solve_batch_args *const g = &r->args;
    const bool by_rows = r->how & WEFT_ROW_MAJOR;
    const size_t lines = by_rows ? g->n : o->columns, length = by_rows ? o->columns : g->n;
    const weft_status status = wi_call_check_one(
        ctx, r->name,
        by_rows ? wi_matrix(o->name, somewhere, lines, length, o->ld_name, o->ld, g->type, 0)
                : wi_columns(o->name, somewhere, length, lines, o->ld_name, o->ld, g->type, 0));
    if (status != WEFT_OK)
        return status;
    if (lines == 0 || length == 0 || g->count == 0) {
        wi_call_add(call, wi_elements(o->name, o->p, 0, g->type, o->use));
        return WEFT_OK;
    }
    const size_t extent = (lines - 1) * o->ld + length;
    if (g->count > 1 && o->stride < extent)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %s is %zu, and matrices of %s of %zu elements would overlap; pass at "
                       "least that many",
                       r->name, o->stride_name, o->stride, o->name, extent);
    wi_call_add(call, wi_matrix(o->name, o->p, g->count, extent, o->stride_name,
                                g->count > 1 ? o->stride : extent, g->type, o->use));
    return WEFT_OK;
}

static int add_numbers(wi_call *call, const char *name, const int32_t *p, size_t n, unsigned use) {
    wi_call_add(call, wi_elements(name, p, n, WEFT_I32, use));
    return call->count - 1;
}

/* The matrices that are array `k` of the call. */
static wi_batch_matrices placed(const wi_part *part, int k, bool by_rows, const operand *o) {
    return (wi_batch_matrices){part->p[k], by_rows ? o->ld : 1, by_rows ? 1 : o->ld, part->ld[k]};
}

static wi_batch_matrices transposed(wi_batch_matrices m) {
    return (wi_batch_matrices){m.p, m.column, m.row, m.stride};
}

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const request *const r = user;
    const bool by_rows = r->how & WEFT_ROW_MAJOR;
    wi_solve_batch_args g = r->args;
    g.a = placed(part, 0, by_rows, &r->a);
    g.b = r->at_b ? placed(part, r->at_b, by_rows, &r->b) : g.b;
    g.pivot = r->at_pivot ? part->p[r->at_pivot] : NULL;
    g.info = r->at_info ? part->p[r->at_info] : NULL;
    /* U' U of the upper triangle is L L' of the transpose; and elimination reads A' where it lies.
     */
    if ((r->how & WEFT_UPPER_TRIANGLE) || (g.task == WI_BATCH_SOLVE && (r->how & WEFT_TRANSPOSE_A)))
        g.a = transposed(g.a);
    g.transposed = g.task == WI_BATCH_SUBSTITUTE && (r->how & WEFT_TRANSPOSE_A);
    return wi_run(ctx, &wi_solve_batch_ladder, call->name, g.type, &g);
}

static weft_status check_pivots(weft_context *ctx, const request *r) {
    const wi_solve_batch_args *const g = &r->args;
    for (size_t e = 0; e < g->count * g->n; e++)
        if (g->pivot[e] < (int32_t)(e % g->n) || (size_t)g->pivot[e] >= g->n)
            return wi_fail(ctx, WEFT_EARG,
                           "%s: pivot[%zu] is %d, not a row from %zu to %zu; pass what "
                           "weft_lu_factor_batch_strided gave",
                           r->name, e, g->pivot[e], e % g->n, g->n - 1);
    return WEFT_OK;
}

static weft_status run_request(weft_context *ctx, request *r);

static weft_status run_own(weft_context *own, void *user) {
    return run_request(own, user);
}

/* Each GPU has the systems whose matrices it holds. */
static weft_status run_share(weft_context *rank, void *user) {
    request r = *(const request *)user;
    wi_solve_batch_args *const g = &r.args;
    const size_t size = weft_type_size(g->type);
    const wi_share share = wi_gpus_share(rank, r.a.p, g->count, r.a.stride * size);
    g->count = share.n;
    r.a.p = wi_share_of(r.a.p, share, r.a.stride * size);
    r.b.p = wi_share_of(r.b.p, share, r.b.stride * size);
    g->pivot = wi_share_of(g->pivot, share, g->n * sizeof *g->pivot);
    g->info = wi_share_of(g->info, share, sizeof *g->info);
    return run_request(rank, &r);
}

static weft_status run_checked(weft_context *ctx, wi_call *call, request *r) {
    const wi_solve_batch_args *const g = &r->args;
    return wi_gpus_wanted(ctx, &wi_solve_batch_ladder, r->a.p, g->count,
                          r->a.stride * weft_type_size(g->type))
               ? wi_gpus_run(ctx, &wi_solve_batch_ladder, r->name, run_share, r)
               : wi_call_run(ctx, call, run, r);
}

static weft_status run_request(weft_context *ctx, request *r) {
    const wi_solve_batch_args *const g = &r->args;
    const bool keeps_pivots = !g->spd && g->task != WI_BATCH_SOLVE;
    const bool substitutes = g->task == WI_BATCH_SUBSTITUTE;
    size_t pivots = 0;
    wi_call call;
    weft_status status = wi_check_context(ctx);
    if (status == WEFT_OK && wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_solve_batch_ladder, r->name, WI_NO_TYPE, 0, WEFT_OK,
                           &(wi_own_call){run_own, r});
    if (status == WEFT_OK)
        status = check(ctx, r);
    if (status != WEFT_OK)
        return status;
    wi_call_begin(&call, r->name, 0, 0);
    status = add(ctx, &call, r, &r->a);
    if (status == WEFT_OK && g->task != WI_BATCH_FACTOR) {
        r->at_b = call.count;
        status = add(ctx, &call, r, &r->b);
    }
    if (status != WEFT_OK)
        return status;
    if (__builtin_mul_overflow(g->count, g->n, &pivots))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %zu systems of %zu exceed the address space; check count", r->name,
                       g->count, g->n);
    if (keeps_pivots)
        r->at_pivot = add_numbers(&call, "pivot", g->pivot, pivots, substitutes ? WI_IN : WI_OUT);
    if (!substitutes)
        r->at_info = add_numbers(&call, "info", g->info, g->n > 0 ? g->count : 0, WI_OUT);
    status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || pivots == 0 || (substitutes && g->nrhs == 0))
        return status;
    if (substitutes && keeps_pivots && wi_is_host(ctx, g->pivot))
        status = check_pivots(ctx, r);
    return status == WEFT_OK ? run_checked(ctx, &call, r) : status;
}

/* ---- the public calls ---- */

weft_status weft_lu_factor_batch_strided(weft_context *ctx, unsigned how, weft_type type, size_t n,
                                         void *a, size_t lda, size_t stride_a, int32_t *pivot,
                                         int32_t *info, size_t count) {
    request r = {.name = "weft_lu_factor_batch_strided",
                 .how = how,
                 .a = {"a", "lda", "stride_a", a, n, lda, stride_a, WI_IN | WI_OUT},
                 .args = {.type = type,
                          .task = WI_BATCH_FACTOR,
                          .n = n,
                          .count = count,
                          .pivot = pivot,
                          .info = info}};
    return run_request(ctx, &r);
}

weft_status weft_lu_solve_batch_strided(weft_context *ctx, unsigned how, weft_type type, size_t n,
                                        size_t nrhs, const void *lu, size_t lda, size_t stride_a,
                                        const int32_t *pivot, void *b, size_t ldb, size_t stride_b,
                                        size_t count) {
    request r = {.name = "weft_lu_solve_batch_strided",
                 .how = how,
                 .a = {"lu", "lda", "stride_a", lu, n, lda, stride_a, WI_IN},
                 .b = {"b", "ldb", "stride_b", b, nrhs, ldb, stride_b, WI_IN | WI_OUT},
                 .args = {.type = type,
                          .task = WI_BATCH_SUBSTITUTE,
                          .n = n,
                          .nrhs = nrhs,
                          .count = count,
                          .pivot = (int32_t *)(uintptr_t)pivot}};
    return run_request(ctx, &r);
}

weft_status weft_solve_batch_strided(weft_context *ctx, unsigned how, weft_type type, size_t n,
                                     size_t nrhs, const void *a, size_t lda, size_t stride_a,
                                     void *b, size_t ldb, size_t stride_b, int32_t *info,
                                     size_t count) {
    request r = {.name = "weft_solve_batch_strided",
                 .how = how,
                 .a = {"a", "lda", "stride_a", a, n, lda, stride_a, WI_IN},
                 .b = {"b", "ldb", "stride_b", b, nrhs, ldb, stride_b, WI_IN | WI_OUT},
                 .args = {.type = type,
                          .task = WI_BATCH_SOLVE,
                          .n = n,
                          .nrhs = nrhs,
                          .count = count,
                          .info = info}};
    return run_request(ctx, &r);
}

weft_status weft_cholesky_factor_batch_strided(weft_context *ctx, unsigned how, weft_type type,
                                               size_t n, void *a, size_t lda, size_t stride_a,
                                               int32_t *info, size_t count) {
    request r = {.name = "weft_cholesky_factor_batch_strided",
                 .how = how,
                 .a = {"a", "lda", "stride_a", a, n, lda, stride_a, WI_IN | WI_OUT},
                 .args = {.type = type,
                          .task = WI_BATCH_FACTOR,
                          .spd = true,
                          .n = n,
                          .count = count,
                          .info = info}};
    return run_request(ctx, &r);
}

weft_status weft_cholesky_solve_batch_strided(weft_context *ctx, unsigned how, weft_type type,
                                              size_t n, size_t nrhs, const void *l, size_t lda,
                                              size_t stride_a, void *b, size_t ldb, size_t stride_b,
                                              size_t count) {
    request r = {.name = "weft_cholesky_solve_batch_strided",
                 .how = how,
                 .a = {"l", "lda", "stride_a", l, n, lda, stride_a, WI_IN},
                 .b = {"b", "ldb", "stride_b", b, nrhs, ldb, stride_b, WI_IN | WI_OUT},
                 .args = {.type = type,
                          .task = WI_BATCH_SUBSTITUTE,
                          .spd = true,
                          .n = n,
                          .nrhs = nrhs,
                          .count = count}};
    return run_request(ctx, &r);
}

weft_status weft_solve_spd_batch_strided(weft_context *ctx, unsigned how, weft_type type, size_t n,
                                         size_t nrhs, const void *a, size_t lda, size_t stride_a,
                                         void *b, size_t ldb, size_t stride_b, int32_t *info,
                                         size_t count) {
    request r = {.name = "weft_solve_spd_batch_strided",
                 .how = how,
                 .a = {"a", "lda", "stride_a", a, n, lda, stride_a, WI_IN},
                 .b = {"b", "ldb", "stride_b", b, nrhs, ldb, stride_b, WI_IN | WI_OUT},
                 .args = {.type = type,
                          .task = WI_BATCH_SOLVE,
                          .spd = true,
                          .n = n,
                          .nrhs = nrhs,
                          .count = count,
                          .info = info}};
    return run_request(ctx, &r);
}
