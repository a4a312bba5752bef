/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of gemm_batch. */
#include "gemm/gemm_batch.h"

#include <stdio.h>

#include "comm/gpus.h"

enum {
    A,
    B,
    C,
    ARRAYS,
    LOOKED_AT = 64 /* addresses of which the library asks where they lie; each takes a while */
};

static const char strided_name[] = "weft_gemm_batch_strided", pointers_name[] = "weft_gemm_batch";

/* A matrix of each product as the caller describes it. */
typedef struct operand {
    const char *name, *ld_name, *stride_name;
    size_t lines, length; /* lines of that many elements, ld apart */
    size_t ld, stride;
    weft_type type;
    unsigned use;
} operand;

typedef struct batch {
    wi_gemm_batch_args args;
    operand of[ARRAYS];
    bool by_rows;
} batch;

static operand operand_of(const char *name, const char *ld_name, const char *stride_name, size_t r,
                          size_t c, bool by_rows, size_t ld, size_t stride, weft_type type,
                          unsigned use) {
    return (operand){.name = name,
                     .ld_name = ld_name,
                     .stride_name = stride_name,
                     .lines = by_rows ? r : c,
                     .length = by_rows ? c : r,
                     .ld = ld,
                     .stride = stride,
                     .type = type,
                     .use = use};
}

/* What both calls are told of the matrices. */
typedef struct layout {
    size_t ld[ARRAYS], stride[ARRAYS];
} layout;

static weft_status describe(weft_context *ctx, const char *call, unsigned how, const layout *l,
                            batch *x) {
    wi_gemm_args *const g = &x->args.one;
    weft_status status = wi_check_context(ctx);
    if (status == WEFT_OK)
        status = wi_gemm_describe(ctx, call, how, g);
    if (status != WEFT_OK)
        return status;
    x->by_rows = how & WEFT_ROW_MAJOR;
    const bool a_by_rows = x->by_rows != g->transposed_a, b_by_rows = x->by_rows != g->transposed_b;
    x->of[A] = operand_of("a", "lda", "stride_a", g->m, g->k, a_by_rows, l->ld[A], l->stride[A],
                          g->type, WI_IN);
    x->of[B] = operand_of("b", "ldb", "stride_b", g->k, g->n, b_by_rows, l->ld[B], l->stride[B],
                          g->type, WI_IN);
    x->of[C] = operand_of("c", "ldc", "stride_c", g->m, g->n, x->by_rows, l->ld[C], l->stride[C],
                          g->out, g->beta == 0 ? WI_OUT : WI_IN | WI_OUT);
    for (int k = A; k < ARRAYS && status == WEFT_OK; k++) {
        const operand *const o = &x->of[k];
        static const _Alignas(16) char somewhere[16];
        const wi_array one =
            (k == C   ? x->by_rows
             : k == A ? a_by_rows
                      : b_by_rows)
                ? wi_matrix(o->name, somewhere, o->lines, o->length, o->ld_name, o->ld, o->type, 0)
                : wi_columns(o->name, somewhere, o->length, o->lines, o->ld_name, o->ld, o->type,
                             0);
        status = wi_call_check_one(ctx, call, one);
    }
    return status;
}

static bool is_empty(const batch *x) {
    return x->args.count == 0 || x->args.one.m == 0 || x->args.one.n == 0;
}

/* Rungs know columns only. */
static void turn_to_columns(batch *x) {
    if (!x->by_rows)
        return;
    const wi_gemm_matrices a = x->args.a;
    const size_t lda = x->args.one.lda;
    x->args.one = wi_gemm_by_columns(&x->args.one);
    x->args.a = x->args.b;
    x->args.one.lda = x->args.one.ldb;
    x->args.b = a;
    x->args.one.ldb = lda;
}

wi_gemm_args wi_gemm_batch_product(const wi_gemm_batch_args *g, size_t i) {
    const wi_gemm_matrices *const where[ARRAYS] = {&g->a, &g->b, &g->c};
    const size_t width[ARRAYS] = {weft_type_size(g->one.type), weft_type_size(g->one.type),
                                  weft_type_size(g->one.out)};
    const void *p[ARRAYS];
    for (int k = A; k < ARRAYS; k++)
        p[k] = where[k]->each    ? where[k]->each_on_host[i]
               : where[k]->first ? (const char *)where[k]->first + i * where[k]->stride * width[k]
                                 : NULL;
    wi_gemm_args one = g->one;
    one.a = p[A];
    one.b = p[B];
    one.c = (void *)(uintptr_t)p[C];
    return one;
}

/* ---- strided ---- */

/* How the matrices of an array lie, in rows of elements as wi_array has them. */
typedef enum pattern {
    SINGLE, /* one matrix */
    ROWS,   /* a matrix a row, `stride` apart */
    PILED,  /* each right behind the one before, with gaps between lines */
    BESIDE, /* lines of all matrices in the gaps between those of the first */
    MIXED   /* they share elements, which are only read */
} pattern;

typedef struct shape {
    pattern pattern;
    wi_array array;
    bool loose; /* some of the array's elements are of no matrix */
} shape;

static weft_status too_large(weft_context *ctx, const operand *o, size_t count) {
    return wi_fail(ctx, WEFT_EARG,
                   "%s: %zu matrices, %zu elements apart, exceed the address space; check count "
                   "and %s",
                   strided_name, count, o->stride, o->stride_name);
}

/* The array of `count` matrices. One that is written must have them apart from each other. */
static weft_status shape_of(weft_context *ctx, const operand *o, const void *p, size_t count,
                            shape *s) {
    const char *const name = o->name;
    if (o->lines == 0 || o->length == 0 || count == 0) {
        *s = (shape){SINGLE, wi_elements(name, p, 0, o->type, o->use), false};
        return WEFT_OK;
    }
    const bool dense = o->lines == 1 || o->ld == o->length;
    const size_t extent = (o->lines - 1) * o->ld + o->length; /* checked by describe() */
    size_t before, all, lines = 0;
    if (__builtin_mul_overflow(count - 1, o->stride, &before) ||
        __builtin_add_overflow(before, extent, &all) ||
        __builtin_mul_overflow(count, o->lines, &lines))
        return too_large(ctx, o, count);
    if (count == 1 || (o->stride == 0 && !(o->use & WI_OUT)))
        *s = (shape){SINGLE,
                     wi_matrix(name, p, o->lines, o->length, o->ld_name, o->ld, o->type, o->use),
                     false};
    else if (o->stride >= extent && !dense && o->stride == o->lines * o->ld)
        *s = (shape){
            PILED, wi_matrix(name, p, lines, o->length, o->ld_name, o->ld, o->type, o->use), false};
    else if (o->stride >= extent)
        *s = (shape){ROWS,
                     wi_matrix(name, p, count, extent, o->stride_name, o->stride, o->type, o->use),
                     !dense};
    else if (o->stride >= o->length && before + o->length <= o->ld)
        *s = (shape){
            BESIDE,
            wi_matrix(name, p, o->lines, before + o->length, o->ld_name, o->ld, o->type, o->use),
            o->stride != o->length};
    else if (!(o->use & WI_OUT))
        *s = (shape){MIXED, wi_elements(name, p, all, o->type, o->use), false};
    else
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %s is %zu, and matrices of %s of %zu elements would overlap; pass at "
                       "least that many",
                       strided_name, o->stride_name, o->stride, name, extent);
    return WEFT_OK;
}

typedef struct strided {
    batch *x;
    pattern pattern[ARRAYS];
} strided;

/* A copy of an array has no gaps between its rows. */
static void place(const wi_part *part, int k, const operand *o, pattern as, wi_gemm_matrices *to,
                  size_t *ld) {
    const bool by_line = as == SINGLE || as == PILED || as == BESIDE;
    *ld = by_line ? part->ld[k] : o->ld;
    *to = (wi_gemm_matrices){.first = part->p[k],
                             .stride = as == SINGLE  ? 0
                                       : as == ROWS  ? part->ld[k]
                                       : as == PILED ? o->lines * part->ld[k]
                                                     : o->stride};
}

static weft_status run_strided(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    const strided *const s = user;
    batch x = *s->x;
    wi_gemm_args *const one = &x.args.one;
    place(part, A, &x.of[A], s->pattern[A], &x.args.a, &one->lda);
    place(part, B, &x.of[B], s->pattern[B], &x.args.b, &one->ldb);
    place(part, C, &x.of[C], s->pattern[C], &x.args.c, &one->ldc);
    turn_to_columns(&x);
    return wi_run(ctx, &wi_gemm_batch_ladder, call->name, one->type, &x.args);
}

/* Must an array be copied to the place whose gaps are not the library's to copy? */
static bool has_loose_copy(const weft_context *ctx, const shape s[ARRAYS]) {
    bool any = false;
    for (int k = A; k < ARRAYS && ctx->kind != WI_CPU; k++)
        any = any || (s[k].loose && !wi_is_device(ctx, s[k].array.p));
    return any;
}

/* A call as the user made it. */
typedef struct strided_call {
    unsigned how;
    weft_type type, out;
    size_t m, n, k;
    double alpha, beta;
    const void *p[ARRAYS];
    layout l;
    size_t count;
} strided_call;

static weft_status multiply_strided(weft_context *ctx, const strided_call *g);

static weft_status multiply_own(weft_context *own, void *user) {
    return multiply_strided(own, user);
}

/* The bytes from a matrix to the next. */
static size_t step_of(const strided_call *g, int k) {
    return g->l.stride[k] * weft_type_size(k == C ? g->out : g->type);
}

/* Each GPU has the products whose results it holds. */
static weft_status multiply_share(weft_context *rank, void *user) {
    strided_call g = *(const strided_call *)user;
    const wi_share share = wi_gpus_share(rank, g.p[C], g.count, step_of(&g, C));
    for (int k = A; k < ARRAYS; k++)
        g.p[k] = wi_share_of(g.p[k], share, step_of(&g, k));
    g.count = share.n;
    return multiply_strided(rank, &g);
}

/* One product after the other. */
static weft_status multiply_each(weft_context *ctx, const strided_call *g) {
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < g->count && status == WEFT_OK; i++)
        status = weft_gemm(ctx, g->how, g->type, g->out, g->m, g->n, g->k, g->alpha,
                           (const char *)g->p[A] + i * step_of(g, A), g->l.ld[A],
                           (const char *)g->p[B] + i * step_of(g, B), g->l.ld[B], g->beta,
                           (char *)(uintptr_t)g->p[C] + i * step_of(g, C), g->l.ld[C]);
    return status;
}

static weft_status multiply_strided(weft_context *ctx, const strided_call *g) {
    batch x = {.args = {.one = {.type = g->type,
                                .out = g->out,
                                .m = g->m,
                                .n = g->n,
                                .k = g->k,
                                .alpha = g->alpha,
                                .beta = g->beta},
                        .count = g->count}};
    shape s[ARRAYS];
    strided user = {.x = &x};
    wi_call call;
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_gemm_batch_ladder, strided_name, WI_NO_TYPE, 0, WEFT_OK,
                           &(wi_own_call){multiply_own, (void *)(uintptr_t)g});
    wi_call_begin(&call, strided_name, 0, 0);
    weft_status status = describe(ctx, strided_name, g->how, &g->l, &x);
    for (int q = A; q < ARRAYS && status == WEFT_OK; q++) {
        status = shape_of(ctx, &x.of[q], g->p[q], g->count, &s[q]);
        if (status == WEFT_OK) {
            user.pattern[q] = s[q].pattern;
            wi_call_add(&call, s[q].array);
        }
    }
    if (status == WEFT_OK)
        status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || is_empty(&x))
        return status;
    if (wi_gpus_wanted(ctx, &wi_gemm_batch_ladder, g->p[C], g->count, step_of(g, C)))
        return wi_gpus_run(ctx, &wi_gemm_batch_ladder, strided_name, multiply_share,
                           (void *)(uintptr_t)g);
    return has_loose_copy(ctx, s) ? multiply_each(ctx, g)
                                  : wi_call_run(ctx, &call, run_strided, &user);
}

weft_status weft_gemm_batch_strided(weft_context *ctx, unsigned how, weft_type type, weft_type out,
                                    size_t m, size_t n, size_t k, double alpha, const void *a,
                                    size_t lda, size_t stride_a, const void *b, size_t ldb,
                                    size_t stride_b, double beta, void *c, size_t ldc,
                                    size_t stride_c, size_t count) {
    const strided_call g = {.how = how,
                            .type = type,
                            .out = out,
                            .m = m,
                            .n = n,
                            .k = k,
                            .alpha = alpha,
                            .beta = beta,
                            .p = {a, b, c},
                            .l = {{lda, ldb, ldc}, {stride_a, stride_b, stride_c}},
                            .count = count};
    return multiply_strided(ctx, &g);
}

/* ---- by pointers ---- */

static weft_status check_addresses(weft_context *ctx, const operand *o, const void *const *each,
                                   size_t count) {
    const size_t apart = count / LOOKED_AT + 1, width = weft_type_size(o->type);
    for (size_t i = 0; i < count; i++) {
        char name[64];
        const bool wrong = !each[i] || (uintptr_t)each[i] % width != 0;
        const bool on_host =
            !wrong && ctx->kind != WI_CPU && i % apart == 0 && !wi_is_device(ctx, each[i]);
        if (!wrong && !on_host)
            continue;
        snprintf(name, sizeof name, "%s[%zu]", o->name, i);
        if (wrong)
            return wi_check_array(ctx, pointers_name, name, each[i], o->length, o->type);
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %s is not memory of this GPU, and matrices given by pointers are not "
                       "copied; pass memory of weft_alloc, or use weft_gemm_batch_strided",
                       pointers_name, name);
    }
    return WEFT_OK;
}

/* Adds an array of addresses; of matrices without elements there need be none. */
static weft_status add_addresses(weft_context *ctx, wi_call *call, const operand *o,
                                 const void *const *each, size_t count, wi_gemm_matrices *to) {
    const bool any = o->lines > 0 && o->length > 0;
    const wi_array array =
        wi_elements(o->name, (const void *)each, any ? count : 0, WEFT_U64, WI_IN);
    wi_call_add(call, array);
    weft_status status = wi_call_check_one(ctx, pointers_name, array);
    if (status == WEFT_OK && any && count > 0 && wi_is_host(ctx, (const void *)each)) {
        to->each_on_host = each;
        status = check_addresses(ctx, o, each, count);
    }
    return status;
}

static weft_status run_pointers(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    batch x = *(const batch *)user;
    wi_gemm_matrices *const to[ARRAYS] = {&x.args.a, &x.args.b, &x.args.c};
    for (int k = A; k < ARRAYS; k++)
        to[k]->each = call->array[k].bytes > 0 ? (const void *const *)part->p[k] : NULL;
    turn_to_columns(&x);
    return wi_run(ctx, &wi_gemm_batch_ladder, call->name, x.args.one.type, &x.args);
}

/* A call as the user made it. */
typedef struct pointed_call {
    unsigned how;
    wi_gemm_batch_args args;
    const void *const *p[ARRAYS];
} pointed_call;

static weft_status multiply_pointed(weft_context *ctx, const pointed_call *g);

static weft_status multiply_own_pointed(weft_context *own, void *user) {
    return multiply_pointed(own, user);
}

static weft_status multiply_pointed(weft_context *ctx, const pointed_call *g) {
    const wi_gemm_args *const one = &g->args.one;
    const layout l = {{one->lda, one->ldb, one->ldc}, {0}};
    batch x = {.args = g->args};
    wi_gemm_matrices *const to[ARRAYS] = {&x.args.a, &x.args.b, &x.args.c};
    wi_call call;
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_gemm_batch_ladder, pointers_name, WI_NO_TYPE, 0, WEFT_OK,
                           &(wi_own_call){multiply_own_pointed, (void *)(uintptr_t)g});
    wi_call_begin(&call, pointers_name, 0, 0);
    weft_status status = describe(ctx, pointers_name, g->how, &l, &x);
    for (int k = A; k < ARRAYS && status == WEFT_OK; k++)
        status = add_addresses(ctx, &call, &x.of[k], g->p[k], g->args.count, to[k]);
    if (status == WEFT_OK)
        status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || is_empty(&x))
        return status;
    return wi_call_run(ctx, &call, run_pointers, &x);
}

weft_status weft_gemm_batch(weft_context *ctx, unsigned how, weft_type type, weft_type out,
                            size_t m, size_t n, size_t k, double alpha, const void *const *a,
                            size_t lda, const void *const *b, size_t ldb, double beta,
                            void *const *c, size_t ldc, size_t count) {
    const pointed_call g = {.how = how,
                            .args = {.one = {.type = type,
                                             .out = out,
                                             .m = m,
                                             .n = n,
                                             .k = k,
                                             .alpha = alpha,
                                             .lda = lda,
                                             .ldb = ldb,
                                             .beta = beta,
                                             .ldc = ldc},
                                     .count = count},
                            .p = {a, b, (const void *const *)c}};
    return multiply_pointed(ctx, &g);
}
