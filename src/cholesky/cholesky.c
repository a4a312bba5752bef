/* SPDX-License-Identifier: Apache-2.0 */
/* The public call that factors, on every kind of place. */
#include "cholesky/cholesky_dist.h"
#include "cholesky/cholesky_streamed.h"
#include "comm/gpus.h"

#include "core/call.h"
#include "core/gpu.h"

enum {
    HOWS = WEFT_ROW_MAJOR | WEFT_UPPER_TRIANGLE
};

static const char name[] = "weft_cholesky_factor";
static const char words_on_device; /* its address is the key of that scratch memory */

weft_status wi_cholesky_check(weft_context *ctx, const char *call, weft_type type, unsigned how) {
    const weft_status known = wi_check_wide_float(ctx, call, type);
    if (known != WEFT_OK)
        return known;
    if (how & ~(unsigned)HOWS)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: how is %u; it takes WEFT_ROW_MAJOR and WEFT_UPPER_TRIANGLE of "
                       "weft/gemm.h",
                       call, how);
    return WEFT_OK;
}

typedef struct request {
    wi_cholesky_args args;
    int64_t words[WI_CHOLESKY_WORDS]; /* what the rung found */
} request;

static weft_status run_entered(weft_context *ctx, request *r) {
    void *first = r->words;
    weft_status status = WEFT_OK;
    if (ctx->kind == WI_CUDA)
        status = wi_gpu_scratch(ctx, &words_on_device, sizeof r->words, &first);
    if (status == WEFT_OK && ctx->kind == WI_CUDA)
        status = wi_gpu_take_words(ctx);
    if (status != WEFT_OK)
        return status;
    r->args.first = first;
    status = wi_run(ctx, &wi_cholesky_ladder, name, r->args.type, &r->args);
    if (status == WEFT_OK && ctx->kind == WI_CUDA)
        return wi_gpu_bring_words(ctx, r->words, (const int64_t *)first, WI_CHOLESKY_WORDS);
    if (ctx->kind == WI_CUDA)
        wi_gpu_sync(ctx); /* the caller's matrix may still be on its way back */
    return status;
}

static weft_status run(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    request *const r = user;
    int before;
    (void)call;
    r->args.a = part->p[0];
    r->args.lda = part->ld[0];
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = run_entered(ctx, r);
    wi_gpu_leave(ctx, before);
    return status;
}

typedef struct streamed_call {
    const wi_host_matrix *matrix;
    int64_t *words;
} streamed_call;

static weft_status factor_streamed(weft_context *ctx, const void *args) {
    const streamed_call *const c = args;
    const weft_status status = wi_cholesky_factor_streamed(ctx, c->matrix, c->words);
    wi_gpu_sync(ctx);
    return status;
}

/* A matrix that is larger than a GPU's memory, in host memory. What is the upper triangle by
 * columns is the lower one by rows. The row is none of the ladder's: it is how weft_used tells. */
static weft_status run_streamed(weft_context *ctx, const wi_host_matrix *s, request *r) {
    static const wi_row row = {
        .name = "streamed", .what = "panels of a host matrix", .run = factor_streamed};
    const streamed_call call = {s, r->words};
    return wi_run_row(ctx, &wi_cholesky_ladder, &row, &call);
}

static weft_status tell(weft_context *ctx, const int64_t *words) {
    if (words[WI_CHOLESKY_INFINITE] != WI_CHOLESKY_NONE)
        return wi_fail(ctx, WEFT_ENONFINITE,
                       "%s: the pivot of column %lld (counted from 0) is NaN or infinite: a has "
                       "such an element, or numbers grew beyond its type",
                       name, (long long)words[WI_CHOLESKY_INFINITE]);
    if (words[WI_CHOLESKY_INDEFINITE] != WI_CHOLESKY_NONE)
        return wi_fail(ctx, WEFT_ENOTSPD,
                       "%s: a is not positive definite: the pivot of column %lld (counted from "
                       "0) is not above 0; use weft_lu_factor for other matrices",
                       name, (long long)words[WI_CHOLESKY_INDEFINITE]);
    return WEFT_OK;
}

/* ---- over ranks, and over all GPUs ---- */

static weft_status run_ranks(weft_context *ctx, const wi_cholesky_call *call, weft_status status) {
    return wi_dist_run(ctx, &wi_cholesky_ladder, name, call->args.type,
                       wi_alike(wi_alike(0, call->args.upper), call->by_rows), status, call);
}

/* A call on place mpi: which rung is to run depends on the columns of all ranks. */
static weft_status run_parts(weft_context *ctx, wi_cholesky_call *call, weft_status status) {
    uint64_t before, all = 0;
    ctx->comm->call = name;
    status = wi_agree(ctx, wi_alike_bytes(0, name, sizeof name), status);
    if (status == WEFT_OK)
        status = wi_all_counts(ctx, call->args.n, &before, &all);
    call->order = all;
    return status == WEFT_OK ? run_ranks(ctx, call, status) : status;
}

/* All ranks have the whole matrix, and find the same words. */
static weft_status run_share(weft_context *rank, void *user) {
    wi_cholesky_call call = *(const wi_cholesky_call *)user;
    int64_t unused[WI_CHOLESKY_WORDS];
    call.words = weft_rank(rank) == 0 ? call.words : unused;
    return run_ranks(rank, &call, WEFT_OK);
}

bool wi_cholesky_wants_gpus(weft_context *ctx, const wi_cholesky_args *g) {
    enum {
        LEAST = 16384 /* one GPU factors smaller ones as fast */
    };
    if (!wi_is_gpus(ctx) || wi_gpu_capturing(ctx))
        return false;
    const wi_row *const forced = wi_forced_row(ctx, &wi_cholesky_ladder);
    if (forced)
        return forced->scope == WI_DISTRIBUTED;
    return wi_gpus_count(ctx) > 1 && g->n >= LEAST;
}

weft_status wi_cholesky_run_gpus(weft_context *ctx, const char *call, const wi_cholesky_args *args,
                                 int64_t *words) {
    /* What is the upper triangle by columns in memory is the lower one by rows. */
    wi_cholesky_call spread = {*args, args->upper, args->n, true, words};
    spread.args.upper = false;
    return wi_gpus_run(ctx, &wi_cholesky_ladder, call, run_share, &spread);
}

/* A matrix in memory of one GPU stays there, unless a rung over all is forced. */
static bool wants_gpus(weft_context *ctx, const wi_cholesky_args *g) {
    return wi_cholesky_wants_gpus(ctx, g) &&
           wi_gpus_wanted(ctx, &wi_cholesky_ladder, g->a, g->n * g->lda, weft_type_size(g->type));
}

static weft_status run_local(weft_context *ctx, wi_call *call, request *r) {
    if (ctx->kind == WI_CUDA && wi_gpu_capturing(ctx))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: waits to tell whether a is positive definite, and cannot be captured; "
                       "factor before the capture",
                       name);
    const wi_cholesky_args *const g = &r->args;
    const wi_host_matrix streamed = {name, g->type, g->upper, g->n, g->n, g->a, g->lda};
    if (wants_gpus(ctx, g))
        return wi_cholesky_run_gpus(ctx, name, g, r->words);
    return wi_wants_streaming(ctx, &streamed, 1) ? run_streamed(ctx, &streamed, r)
                                                 : wi_call_run(ctx, call, run, r);
}

weft_status weft_cholesky_factor(weft_context *ctx, unsigned how, weft_type type, size_t n, void *a,
                                 size_t lda) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_cholesky_check(ctx, name, type, how);
    const bool by_rows = how & WEFT_ROW_MAJOR, upper = how & WEFT_UPPER_TRIANGLE;
    request r = {.args = {.type = type, .upper = upper != by_rows, .n = n, .a = a, .lda = lda},
                 .words = {WI_CHOLESKY_NONE, WI_CHOLESKY_NONE}};
    if (wi_is_dist(ctx)) {
        wi_cholesky_call call = {.args = r.args, .by_rows = by_rows, .words = r.words};
        call.args.upper = upper;
        status = run_parts(ctx, &call, status);
        return status == WEFT_OK ? tell(ctx, r.words) : status;
    }
    const unsigned use = WI_IN | WI_OUT; /* of the other triangle all is kept */
    wi_call call;
    wi_call_begin(&call, name, 0, 0);
    wi_call_add(&call, by_rows ? wi_matrix("a", a, n, n, "lda", lda, type, use)
                               : wi_columns("a", a, n, n, "lda", lda, type, use));
    if (status == WEFT_OK)
        status = wi_call_check(ctx, &call);
    if (status == WEFT_OK && n > 0)
        status = run_local(ctx, &call, &r);
    return status == WEFT_OK ? tell(ctx, r.words) : status;
}
