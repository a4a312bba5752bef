/* SPDX-License-Identifier: Apache-2.0 */
/* The public call of transpose, and its rungs. */
#include "gemm/transpose.h"

#include <string.h>

#include "comm/gpus.h"
#include "core/gpu.h"

enum {
    A,
    B,
    MOST_WIDTH = 16
};

static const char name[] = "weft_transpose";

wi_array wi_transpose_matrix(const char *which, const void *p, size_t lines, size_t length,
                             const char *ld_name, size_t ld, size_t width, unsigned use) {
    wi_array array = wi_matrix(which, p, lines, length, ld_name, ld, WEFT_U8, use | WI_UNALIGNED);
    array.width = width;
    return array;
}

#if defined(WEFT_CUDA) && WEFT_LADDER
static const char *fits_taught(const weft_context *ctx, const void *args) {
    const wi_transpose_args *const t = args;
    (void)ctx;
    if (t->width != 4 && t->width != 8)
        return "needs elements of 4 or 8 bytes";
    if ((uintptr_t)t->a % t->width || (uintptr_t)t->b % t->width)
        return "needs matrices aligned to their elements";
    return t->a == t->b ? "does not work in place" : NULL;
}
#endif

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the two loops you would write",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .run = wi_transpose_serial},
    {.name = "tiles",
     .what = "tiles that stay in the first-level cache, whole lines written, all cores",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_transpose_tiles},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "naive",
     .what = "one thread for one element: reads together, writes far apart",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_taught,
     .run = wi_transpose_naive},
    {.name = "shared",
     .what = "through a tile in shared memory: reads and writes together",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_taught,
     .run = wi_transpose_shared},
    {.name = "padded",
     .what = "lines of the tile one longer: lanes meet different banks",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .misfit = fits_taught,
     .run = wi_transpose_padded},
#    endif
    {.name = "packs",
     .what = "small squares turned in registers, up to 16 bytes an access",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_transpose_packs},
#endif
    {.name = "ranks",
     .what = "every rank transposes its lines; the parts of other ranks' lines are sent there",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_transpose_ranks},
};

const wi_ladder wi_transpose_ladder = {"transpose", rows, sizeof rows / sizeof rows[0]};

weft_status wi_transpose_part(weft_context *ctx, const wi_transpose_args *args) {
    return wi_pick(ctx, &wi_transpose_ladder, WI_NO_TYPE, args)->run(ctx, args);
}

static weft_status run_ladder(weft_context *ctx, const wi_transpose_args *args) {
    return wi_run(ctx, &wi_transpose_ladder, name, WI_NO_TYPE, args);
}

static weft_status run_apart(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_transpose_args args = *(const wi_transpose_args *)user;
    (void)call;
    args.a = part->p[A];
    args.lda = part->ld[A];
    args.b = part->p[B];
    args.ldb = part->ld[B];
    return run_ladder(ctx, &args);
}

static weft_status run_square(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_transpose_args args = *(const wi_transpose_args *)user;
    (void)call;
    args.a = args.b = part->p[A];
    args.lda = args.ldb = part->ld[A];
    return run_ladder(ctx, &args);
}

/* A matrix without gaps that is not square goes by way of a copy. */
static weft_status run_by_copy(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_transpose_args args = *(const wi_transpose_args *)user;
    const size_t bytes = call->array[A].bytes;
    void *copy = NULL;
    weft_status status = WEFT_OK;
    if (ctx->kind == WI_CPU)
        copy = wi_host_alloc(bytes);
    else
        status = wi_gpu_alloc(ctx, &copy, bytes);
    if (ctx->kind == WI_CPU && !copy)
        status =
            wi_fail(ctx, WEFT_ENOMEM,
                    "%s: no memory for the %zu bytes of a copy; pass separate arrays", name, bytes);
    if (status != WEFT_OK)
        return status;
    args.a = copy;
    args.b = part->p[A];
    if (ctx->kind == WI_CPU)
        memcpy(copy, part->p[A], bytes);
    else
        status = wi_gpu_copy_within(ctx, copy, part->p[A], bytes);
    if (status == WEFT_OK)
        status = run_ladder(ctx, &args);
    if (ctx->kind == WI_CPU) {
        wi_host_free(copy);
        return status;
    }
    const weft_status freed = wi_gpu_free(ctx, copy);
    return status == WEFT_OK ? freed : status;
}

static weft_status run_in_place(weft_context *ctx, wi_transpose_args *args, unsigned columns) {
    const size_t r = args->rows, c = args->columns;
    const bool is_square = r == c && args->lda == args->ldb;
    wi_call call;
    if (!is_square && (args->lda != r || args->ldb != c))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: b is a, and the matrix has gaps or two leading dimensions; pass equal "
                       "lda and ldb for a square one, none with gaps for another, or separate "
                       "arrays",
                       name);
    wi_call_begin(&call, name, 0, 0);
    wi_call_add(&call, wi_transpose_matrix("a", args->a, c, r, "lda", args->lda, args->width,
                                           WI_IN | WI_OUT | columns));
    const weft_status status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || r == 0 || c == 0)
        return status;
    return wi_call_run(ctx, &call, is_square ? run_square : run_by_copy, args);
}

/* ---- over ranks ---- */

static weft_status run_ranks(weft_context *ctx, wi_transpose_request *r, weft_status status) {
    const wi_transpose_args *const a = &r->args;
    if (status == WEFT_OK && a->a == a->b && a->a)
        status =
            wi_fail(ctx, WEFT_EUNSUPPORTED,
                    "%s: b is a, and over ranks their parts differ; pass separate arrays", name);
    const uint64_t alike = wi_alike(wi_alike(wi_alike(0, a->width), a->rows), r->columns);
    return wi_dist_run(ctx, &wi_transpose_ladder, name, WI_NO_TYPE, alike, status, r);
}

/* Each GPU has the lines that it holds of both matrices. */
static weft_status run_share(weft_context *rank, void *user) {
    wi_transpose_request r = *(const wi_transpose_request *)user;
    wi_transpose_args *const a = &r.args;
    const wi_share of_a = wi_gpus_share(rank, a->a, a->columns, a->lda * a->width);
    const wi_share of_b = wi_gpus_share(rank, a->b, a->rows, a->ldb * a->width);
    a->columns = of_a.n;
    a->a = wi_share_of(a->a, of_a, a->lda * a->width);
    a->b = wi_share_of(a->b, of_b, a->ldb * a->width);
    r.has_share = true;
    r.share = of_b.n;
    return run_ranks(rank, &r, WEFT_OK);
}

/* ---- the call ---- */

static weft_status check_how(weft_context *ctx, unsigned how, size_t width) {
    if (how & ~(unsigned)WEFT_ROW_MAJOR)
        return wi_fail(ctx, WEFT_EARG, "%s: how is %u; it takes WEFT_ROW_MAJOR or 0", name, how);
    if (width < 1 || width > MOST_WIDTH)
        return wi_fail(ctx, WEFT_EARG, "%s: width is %zu; pass the bytes of an element, 1 to 16",
                       name, width);
    return WEFT_OK;
}

static weft_status run_here(weft_context *ctx, wi_transpose_request *r) {
    wi_transpose_args *const a = &r->args;
    wi_call call;
    if (a->a == a->b && a->a)
        return run_in_place(ctx, a, r->columns);
    wi_call_begin(&call, name, 0, 0);
    wi_call_add(&call, wi_transpose_matrix("a", a->a, a->columns, a->rows, "lda", a->lda, a->width,
                                           WI_IN | r->columns));
    wi_call_add(&call, wi_transpose_matrix("b", a->b, a->rows, a->columns, "ldb", a->ldb, a->width,
                                           WI_OUT | r->columns));
    const weft_status status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || a->rows == 0 || a->columns == 0)
        return status;
    return wi_gpus_forced(ctx, &wi_transpose_ladder)
               ? wi_gpus_run(ctx, &wi_transpose_ladder, name, run_share, r)
               : wi_call_run(ctx, &call, run_apart, a);
}

weft_status weft_transpose(weft_context *ctx, unsigned how, size_t width, size_t m, size_t n,
                           const void *a, size_t lda, void *b, size_t ldb) {
    const bool by_rows = how & WEFT_ROW_MAJOR;
    wi_transpose_request r = {.args = {.width = width,
                                       .rows = by_rows ? n : m,
                                       .columns = by_rows ? m : n,
                                       .a = a,
                                       .lda = lda,
                                       .b = b,
                                       .ldb = ldb},
                              .columns = by_rows ? 0 : WI_COLUMNS};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    const weft_status status = check_how(ctx, how, width);
    if (wi_is_dist(ctx))
        return run_ranks(ctx, &r, status);
    return status == WEFT_OK ? run_here(ctx, &r) : status;
}
