/* SPDX-License-Identifier: Apache-2.0 */
/* The public call that factors, on every kind of place. */
#include "lu/lu.h"

#include <string.h>

#include "comm/gpus.h"
#include "core/call.h"
#include "core/gpu.h"
#include "gemm/transpose.h"
#include "lu/lu_dist.h"
#include "lu/lu_streamed.h"

enum {
    A,
    PIVOT
};

static const char name[] = "weft_lu_factor";
static const char words_on_device; /* its address is the key of that scratch memory */

weft_status wi_lu_check(weft_context *ctx, const char *call, weft_type type, unsigned how,
                        unsigned allowed, const char *names) {
    const weft_status known = wi_check_wide_float(ctx, call, type);
    if (known != WEFT_OK)
        return known;
    if (how & ~allowed)
        return wi_fail(ctx, WEFT_EARG, "%s: how is %u; it takes %s of weft/gemm.h", call, how,
                       names);
    return WEFT_OK;
}

/* ---- the factorization ---- */

static weft_status factor(weft_context *ctx, const wi_lu_args *args) {
    return wi_run(ctx, &wi_lu_ladder, name, args->type, args);
}

/* Of a square matrix stored by rows, in place. */
static weft_status factor_square(weft_context *ctx, const wi_lu_args *args) {
    const wi_transpose_args turn = {.width = weft_type_size(args->type),
                                    .rows = args->n,
                                    .columns = args->n,
                                    .a = args->a,
                                    .lda = args->lda,
                                    .b = args->a,
                                    .ldb = args->lda};
    weft_status status = wi_transpose_part(ctx, &turn);
    if (status != WEFT_OK)
        return status;
    status = factor(ctx, args);
    const weft_status back = wi_transpose_part(ctx, &turn);
    return status == WEFT_OK ? back : status;
}

/* Of another one, by way of a copy. */
static weft_status factor_copy(weft_context *ctx, const wi_lu_args *args) {
    const size_t width = weft_type_size(args->type), m = args->m, n = args->n;
    wi_lu_args columns = *args;
    columns.lda = m;
    weft_status status = weft_alloc(ctx, &columns.a, m * n * width);
    if (status != WEFT_OK)
        return status;
    const wi_transpose_args turn = {width, n, m, args->a, args->lda, columns.a, m};
    const wi_transpose_args back = {width, m, n, columns.a, m, args->a, args->lda};
    status = wi_transpose_part(ctx, &turn);
    if (status == WEFT_OK)
        status = factor(ctx, &columns);
    if (status == WEFT_OK)
        status = wi_transpose_part(ctx, &back);
    const weft_status freed = weft_free(ctx, columns.a);
    return status == WEFT_OK ? freed : status;
}

/* ---- the call ---- */

typedef struct request {
    wi_lu_args args;
    bool by_rows;
    int64_t words[WI_LU_WORDS]; /* what the rung found */
} request;

static weft_status run_entered(weft_context *ctx, request *r) {
    void *first = r->words;
    weft_status status = WEFT_OK;
    if (ctx->kind == WI_CUDA)
        status = wi_gpu_scratch(ctx, &words_on_device, sizeof r->words, &first);
    if (status != WEFT_OK)
        return status;
    r->args.first = first;
    if (!r->by_rows)
        status = factor(ctx, &r->args);
    else
        status = (r->args.m == r->args.n ? factor_square : factor_copy)(ctx, &r->args);
    if (status == WEFT_OK && ctx->kind == WI_CUDA)
        return wi_gpu_copy(ctx, r->words, first, sizeof r->words);
    if (ctx->kind == WI_CUDA)
        wi_gpu_sync(ctx); /* the caller's matrix may still be on its way back */
    return status;
}

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    request *const r = user;
    int before;
    (void)call;
    r->args.a = part->p[A];
    r->args.lda = part->ld[A];
    r->args.pivot = part->p[PIVOT];
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = run_entered(ctx, r);
    wi_gpu_leave(ctx, before);
    return status;
}

typedef struct streamed_call {
    const wi_host_matrix *matrix;
    int64_t *pivot, *words;
} streamed_call;

static weft_status factor_streamed(weft_context *ctx, const void *args) {
    const streamed_call *const c = args;
    const wi_host_matrix *const s = c->matrix;
    const size_t bytes = (s->m < s->n ? s->m : s->n) * sizeof *c->pivot;
    int64_t *const found = wi_host_alloc(bytes);
    if (!found)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no host memory for %zu bytes", name, bytes);
    weft_status status = wi_lu_factor_streamed(ctx, s, found, c->words);
    if (status == WEFT_OK)
        status = wi_gpu_copy(ctx, c->pivot, found, bytes);
    wi_gpu_sync(ctx);
    wi_host_free(found);
    return status;
}

/* A matrix that is larger than a GPU's memory, in host memory. The row is none of the ladder's: it
 * is how weft_used tells. */
static weft_status run_streamed(weft_context *ctx, const wi_host_matrix *s, int64_t *pivot,
                                int64_t *words) {
    static const wi_row row = {
        .name = "streamed", .what = "panels of a host matrix", .run = factor_streamed};
    const streamed_call call = {s, pivot, words};
    return wi_run_row(ctx, &wi_lu_ladder, &row, &call);
}

static weft_status tell(weft_context *ctx, const int64_t *words) {
    if (words[WI_LU_INFINITE] != WI_LU_NONE)
        return wi_fail(ctx, WEFT_ENONFINITE,
                       "%s: the pivot of column %lld (counted from 0) is NaN or infinite: a has "
                       "such an element, or numbers grew beyond its type; scale its rows and "
                       "columns",
                       name, (long long)words[WI_LU_INFINITE]);
    if (words[WI_LU_SINGULAR] != WI_LU_NONE)
        return wi_fail(ctx, WEFT_ESINGULAR,
                       "%s: the pivot of column %lld (counted from 0) is 0, and so is all below "
                       "it: a is singular; its factors are complete",
                       name, (long long)words[WI_LU_SINGULAR]);
    return WEFT_OK;
}

/* ---- over ranks, and over all GPUs ---- */

static weft_status run_ranks(weft_context *ctx, const request *r, bool shared, int64_t *words,
                             weft_status status) {
    const wi_lu_call call = {r->args, r->by_rows, shared, words};
    const uint64_t alike = wi_alike(wi_alike(0, r->args.m), r->by_rows);
    return wi_dist_run(ctx, &wi_lu_ladder, name, r->args.type, alike, status, &call);
}

/* All ranks have the whole matrix, and find the same words. */
static weft_status run_share(weft_context *rank, void *user) {
    request *const r = user;
    int64_t unused[WI_LU_WORDS];
    return run_ranks(rank, r, true, weft_rank(rank) == 0 ? r->words : unused, WEFT_OK);
}

bool wi_lu_wants_gpus(weft_context *ctx, const wi_lu_args *g) {
    enum {
        LEAST = 8192 /* one GPU factors smaller ones as fast */
    };
    if (!wi_is_gpus(ctx) || wi_gpu_capturing(ctx))
        return false;
    const wi_row *const forced = wi_forced_row(ctx, &wi_lu_ladder);
    if (forced)
        return forced->scope == WI_DISTRIBUTED;
    return wi_gpus_count(ctx) > 1 && g->m >= LEAST && g->n >= LEAST;
}

weft_status wi_lu_run_gpus(weft_context *ctx, const char *call, const wi_lu_args *args,
                           bool by_rows, int64_t *words) {
    request r = {.args = *args, .by_rows = by_rows};
    const weft_status status = wi_gpus_run(ctx, &wi_lu_ladder, call, run_share, &r);
    memcpy(words, r.words, sizeof r.words);
    return status;
}

/* A matrix in memory of one GPU stays there, unless a rung over all is forced. */
static bool wants_gpus(weft_context *ctx, const request *r) {
    const wi_lu_args *const g = &r->args;
    return wi_lu_wants_gpus(ctx, g) &&
           wi_gpus_wanted(ctx, &wi_lu_ladder, g->a, (r->by_rows ? g->m : g->n) * g->lda,
                          weft_type_size(g->type));
}

static void describe(wi_call *call, const request *r) {
    const unsigned use = WI_IN | WI_OUT;
    const wi_lu_args *const g = &r->args;
    wi_call_begin(call, name, 0, 0);
    call->distributed = true;
    wi_call_add(call, r->by_rows ? wi_matrix("a", g->a, g->m, g->n, "lda", g->lda, g->type, use)
                                 : wi_columns("a", g->a, g->m, g->n, "lda", g->lda, g->type, use));
    wi_call_add(call, wi_elements("pivot", g->pivot, g->m < g->n ? g->m : g->n, WEFT_I64, WI_OUT));
}

/* The call is checked. */
static weft_status run_local(weft_context *ctx, wi_call *call, request *r) {
    if (ctx->kind == WI_CUDA && wi_gpu_capturing(ctx))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: waits to tell whether a is singular, and cannot be captured; factor "
                       "before the capture",
                       name);
    if (wants_gpus(ctx, r))
        return wi_lu_run_gpus(ctx, name, &r->args, r->by_rows, r->words);
    const wi_lu_args *const g = &r->args;
    const wi_host_matrix streamed = {name, g->type, r->by_rows, g->m, g->n, g->a, g->lda};
    return wi_wants_streaming(ctx, &streamed, r->by_rows && g->m != g->n ? 2 : 1)
               ? run_streamed(ctx, &streamed, g->pivot, r->words)
               : wi_call_run(ctx, call, run, r);
}

weft_status weft_lu_factor(weft_context *ctx, unsigned how, weft_type type, size_t m, size_t n,
                           void *a, size_t lda, int64_t *pivot) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_lu_check(ctx, name, type, how, WEFT_ROW_MAJOR, "WEFT_ROW_MAJOR or 0");
    request r = {.args = {.type = type, .m = m, .n = n, .a = a, .lda = lda, .pivot = pivot},
                 .by_rows = how & WEFT_ROW_MAJOR,
                 .words = {WI_LU_NONE, WI_LU_NONE}};
    wi_call call;
    if (status == WEFT_OK) {
        describe(&call, &r);
        status = wi_call_check(ctx, &call);
    }
    if (wi_is_dist(ctx))
        status = run_ranks(ctx, &r, false, r.words, status);
    else if (status == WEFT_OK && m > 0 && n > 0)
        status = run_local(ctx, &call, &r);
    return status == WEFT_OK ? tell(ctx, r.words) : status;
}
