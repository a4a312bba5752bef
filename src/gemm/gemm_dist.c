/* SPDX-License-Identifier: Apache-2.0 */
/* gemm over ranks. Every rank computes its own columns of C, for which it needs its own columns of
 * B and all of A. On GPUs that reach each other's memory A is read where it lies, in pieces that
 * are copied while others are multiplied. Elsewhere the ranks gather A, some rows at a time: so k
 * is never cut, and sums have the bits that they have on one place where these do not depend on m
 * and n. */
#include <string.h>

#include "comm/gpus.h"
#include "gemm/gemm.h"

enum {
    A,
    B,
    C,
    PANELS = 4,              /* of A that are gathered one after another, or more: */
    PANEL_BYTES = 256 << 20, /* of one, at most */
    ROUND_ROWS = 64
};

#define LEAST_PRODUCTS 0x1p34 /* less is done faster by one GPU: 2600^3 */

/* A call on one rank: `call` and `args` describe its columns of B and C. */
typedef struct product {
    const wi_call *call;
    const wi_gemm_args *args;
    bool reaches_a; /* `call` describes all of A, or else own_k columns of it */
    size_t own_k;
} product;

/* What ranks must pass alike. */
static uint64_t alike_of(const wi_gemm_args *g) {
    const double scalars[2] = {g->alpha, g->beta};
    const uint64_t h = wi_alike(wi_alike(wi_alike(0, g->out), g->accuracy), g->m);
    return wi_alike_bytes(h, scalars, sizeof scalars);
}

/* ---- ranks that gather A ---- */

/* This rank's share of some rows of A, without gaps; and these rows of all ranks. */
typedef struct gathering {
    weft_context *ctx;
    const product *r;
    size_t *parts, *counts; /* of each rank: its columns of A, and elements of these rows */
    void *own, *all;
} gathering;

/* Depends on what all ranks know, so that all gather the same rows. */
static size_t rows_of_panel(const wi_gemm_args *g) {
    const size_t even = (g->m + PANELS - 1) / PANELS,
                 most = PANEL_BYTES / weft_type_size(g->type) / (g->k > 0 ? g->k : 1);
    const size_t rows = (even < most ? even : most) / ROUND_ROWS * ROUND_ROWS;
    return rows > 0 ? rows : g->m < ROUND_ROWS ? g->m : ROUND_ROWS;
}

/* All ranks learn how many columns each has. */
static weft_status open_gathering(gathering *x, size_t rows) {
    const size_t width = weft_type_size(x->r->args->type), size = (size_t)x->ctx->comm->size;
    const uint64_t own_k = x->r->own_k, *all = NULL;
    void *parts;
    weft_status status = wi_dist_take(x->ctx, 2 * size, sizeof *x->parts, &parts);
    if (status == WEFT_OK)
        status = wi_dist_take_near(x->ctx, x->r->own_k * rows, width, &x->own);
    if (status == WEFT_OK)
        status = wi_dist_take_near(x->ctx, x->r->args->k * rows, width, &x->all);
    x->parts = parts;
    status = wi_agree(x->ctx, 0, status);
    if (status == WEFT_OK)
        status = wi_all_words(x->ctx, &own_k, 1, &all);
    if (status != WEFT_OK)
        return status;
    x->counts = x->parts + size;
    memcpy(x->parts, all, size * sizeof *x->parts);
    return WEFT_OK;
}

static void close_gathering(gathering *x) {
    wi_host_free(x->parts);
    wi_dist_give_near(x->ctx, x->own);
    wi_dist_give_near(x->ctx, x->all);
}

/* own = rows first ... first + rows - 1 of this rank's columns of op(A), by columns. */
static weft_status pack(const gathering *x, size_t first, size_t rows) {
    const wi_gemm_args *const g = x->r->args;
    const wi_array *const a = &x->r->call->array[A];
    const size_t width = a->width, pitch = a->ld * width;
    weft_context *const child = x->ctx->child;
    char *const from = (char *)(uintptr_t)a->p + (g->transposed_a ? first * pitch : first * width);
    if (x->r->own_k == 0)
        return WEFT_OK;
    if (g->transposed_a)
        return wi_local(
            x->ctx, weft_transpose(child, 0, width, x->r->own_k, rows, from, a->ld, x->own, rows));
    const weft_status status =
        wi_dist_copy_rows(x->ctx, x->own, rows * width, from, pitch, x->r->own_k, rows * width);
    return status == WEFT_OK ? wi_local(x->ctx, weft_sync(child)) : status;
}

/* Rows of this rank's C from the same rows of A. A GPU multiplies while the next are gathered. */
static weft_status multiply(const gathering *x, size_t first, size_t rows) {
    const wi_gemm_args *const g = x->r->args;
    const unsigned accuracy = g->accuracy == WI_STRICT_F32 ? WEFT_F32_STRICT
                              : g->accuracy == WI_TF32     ? WEFT_TF32
                                                           : 0;
    const wi_array *const b = &x->r->call->array[B], *const c = &x->r->call->array[C];
    if (g->n == 0)
        return WEFT_OK;
    return wi_local(x->ctx,
                    weft_gemm(x->ctx->child, accuracy | (g->transposed_b ? WEFT_TRANSPOSE_B : 0),
                              g->type, g->out, rows, g->n, g->k, g->alpha, x->all, rows, b->p,
                              b->ld, g->beta, (char *)(uintptr_t)c->p + first * c->width, c->ld));
}

static weft_status gather(gathering *x, size_t rows) {
    for (int r = 0; r < x->ctx->comm->size; r++)
        x->counts[r] = x->parts[r] * rows;
    return x->ctx->comm->calls->all_gather_v(x->ctx, x->own, x->all, x->counts, x->r->args->type);
}

/* A of no columns is not gathered: C = beta C. */
static weft_status multiply_gathered(weft_context *ctx, const product *r) {
    const wi_gemm_args *const g = r->args;
    const size_t rows = rows_of_panel(g);
    gathering x = {.ctx = ctx, .r = r};
    weft_status status = g->k > 0 ? open_gathering(&x, rows) : WEFT_OK;
    for (size_t i = 0; i < g->m && status == WEFT_OK; i += rows) {
        const size_t count = g->m - i < rows ? g->m - i : rows;
        if (g->k > 0)
            status = wi_agree(ctx, 0, pack(&x, i, count));
        if (g->k > 0 && status == WEFT_OK)
            status = gather(&x, count);
        if (status == WEFT_OK)
            status = multiply(&x, i, count);
        status = wi_agree(ctx, 0, status);
    }
    close_gathering(&x);
    return status;
}

/* ---- ranks that reach all of A ---- */

static weft_status multiply_reached(weft_context *ctx, const product *r) {
    wi_call call = *r->call;
    wi_gemm_args args = *r->args;
    if (args.n == 0)
        return WEFT_OK;
    weft_status status = wi_call_check(ctx->child, &call);
    if (status == WEFT_OK)
        status = wi_gemm_call_run(ctx->child, &call, &args);
    return wi_local(ctx, status);
}

weft_status wi_gemm_ranks(weft_context *ctx, const void *request) {
    const product *const r = request;
    return r->reaches_a ? multiply_reached(ctx, r) : multiply_gathered(ctx, r);
}

/* ---- calls ---- */

weft_status wi_gemm_join(weft_context *ctx, const char *name, wi_gemm_args *args,
                         weft_status status) {
    const uint64_t alike = wi_alike_bytes(0, name, strlen(name));
    uint64_t before, all = 0;
    ctx->comm->call = name;
    status = wi_agree(ctx, alike, status);
    if (status == WEFT_OK)
        status = wi_all_counts(ctx, args->k, &before, &all);
    args->k = all;
    return status;
}

weft_status wi_gemm_over_ranks(weft_context *ctx, const wi_call *call, const wi_gemm_args *args,
                               size_t own_k, weft_status status) {
    return wi_dist_run(ctx, &wi_gemm_ladder, call->name, args->type, alike_of(args), status,
                       &(product){call, args, false, own_k});
}

bool wi_gemm_wants_gpus(weft_context *ctx, const wi_call *call, const wi_gemm_args *args) {
    const wi_array *const c = &call->array[C];
    const double products = (double)args->m * (double)args->n * (double)args->k;
    return (products >= LEAST_PRODUCTS || wi_is_forced(ctx, &wi_gemm_ladder)) &&
           wi_gpus_wanted(ctx, &wi_gemm_ladder, c->p, args->m * args->n, c->width);
}

/* Narrows a matrix to some of its lines, or to some elements of each line. */
static void narrow(wi_array *a, bool lines, wi_share share) {
    const size_t step = lines ? a->ld : 1;
    a->p = (const char *)a->p + share.first * step * a->width;
    *(lines ? &a->rows : &a->cols) = share.n;
}

static weft_status run_share(weft_context *rank, void *user) {
    const product *const whole = user;
    wi_call call = *whole->call;
    wi_gemm_args args = *whole->args;
    wi_array *const c = &call.array[C];
    const wi_share share = wi_gpus_share(rank, c->p, args.n, c->ld * c->width);
    narrow(&call.array[B], !args.transposed_b, share);
    narrow(c, true, share);
    args.n = share.n;
    return wi_dist_run(rank, &wi_gemm_ladder, call.name, args.type, alike_of(&args), WEFT_OK,
                       &(product){&call, &args, true, args.k});
}

weft_status wi_gemm_over_gpus(weft_context *ctx, const wi_call *call, const wi_gemm_args *args) {
    return wi_gpus_run(ctx, &wi_gemm_ladder, call->name, run_share,
                       &(product){call, args, true, args->k});
}
