/* SPDX-License-Identifier: Apache-2.0 */
/* LU and Cholesky factorization in f32, a panel of columns at a time, whose products are made of
 * tf32, bf16 or f16. Numbers of L are at most 1, and those of U and of Cholesky's L are scaled by a
 * power of two so that A's largest would be about 1: f16 then leaves room for a growth of 2^16. */
#include "lu/lu_narrow.h"
#include "core/smaller.h"

#include <math.h>

#include "core/gpu.h"
#include "cpu/half.h"
#include "gemm/syrk.h"
#include "gemm/trsm.h"

enum {
#ifdef WEFT_EMU
    WIDE = 16, /* so that its small matrices have several panels */
#else
    WIDE = 128,
#endif
    LINE = 8 /* elements to whose multiple columns of copies begin */
};

/* Both factorizations: the matrix, and copies of what is multiplied. */
typedef struct narrow_work {
    weft_context *ctx;
    const wi_narrow *how;
    float *a;
    size_t lda, rows, columns;
    uint16_t *left, *right;
    size_t left_ld, right_ld;
} narrow_work;

static float *at(const narrow_work *w, size_t i, size_t j) {
    return w->a + i + j * w->lda;
}

static size_t padded(size_t n) {
    return (n + LINE - 1) / LINE * LINE;
}

/* ---- memory ---- */

static weft_status open_work(narrow_work *w) {
    w->left_ld = padded(w->rows);
    w->right_ld = padded(WIDE);
    if (w->how->products == WI_TF32_PRODUCTS)
        return WEFT_OK;
    weft_status status = weft_alloc(w->ctx, (void **)&w->left, w->left_ld * WIDE * sizeof *w->left);
    if (status == WEFT_OK)
        status =
            weft_alloc(w->ctx, (void **)&w->right, w->right_ld * w->columns * sizeof *w->right);
    return status;
}

static weft_status close_work(const narrow_work *w, weft_status status) {
    const weft_status left = weft_free(w->ctx, w->left), right = weft_free(w->ctx, w->right);
    return status != WEFT_OK ? status : left != WEFT_OK ? left : right;
}

/* ---- products ---- */

static weft_status narrow(const narrow_work *w, const wi_narrowing *block) {
    uint16_t *const to = block->to;
#ifdef WEFT_CUDA
    if (w->ctx->kind == WI_CUDA)
        return wi_narrow_gpu(w->ctx, block);
#endif
    const float factor = ldexpf(1, block->power);
    (void)w;
    for (size_t j = 0; j < block->n; j++)
        for (size_t i = 0; i < block->m; i++) {
            const float x = factor * block->from[i + j * block->ld_from];
            to[i + j * block->ld] = block->type == WEFT_F16 ? wi_f16_narrow(x) : wi_bf16_narrow(x);
        }
    return WEFT_OK;
}

/* C, m x n, less a product of an inner size k, of which both factors are in the matrix: `left` m x
 * k, and `right` k x n or its transpose. */
typedef struct narrow_product {
    size_t m, n, k;
    const float *left, *right;
    bool transposed;
    int left_power, right_power; /* that scale them to about 1 */
    float *c;
} narrow_product;

static weft_status subtract(const narrow_work *w, const narrow_product *p) {
    const weft_type type = w->how->products == WI_F16_PRODUCTS ? WEFT_F16 : WEFT_BF16;
    const size_t lines = p->transposed ? p->k : p->n, length = p->transposed ? p->n : p->k;
    const wi_narrowing left = {type,   p->m,          p->k,    p->left,
                               w->lda, p->left_power, w->left, w->left_ld};
    const wi_narrowing right = {type,   length,         lines,    p->right,
                                w->lda, p->right_power, w->right, padded(length)};
    wi_gemm_args g = {.type = WEFT_F32,
                      .out = WEFT_F32,
                      .accuracy = WI_TF32,
                      .transposed_b = p->transposed,
                      .m = p->m,
                      .n = p->n,
                      .k = p->k,
                      .alpha = -1,
                      .beta = 1,
                      .a = p->left,
                      .lda = w->lda,
                      .b = p->right,
                      .ldb = w->lda,
                      .c = p->c,
                      .ldc = w->lda};
    weft_status status = WEFT_OK;
    if (p->m == 0 || p->n == 0)
        return WEFT_OK;
    if (w->how->products != WI_TF32_PRODUCTS) {
        g.type = type;
        g.accuracy = WI_FULL_F32;
        g.alpha = -ldexp(1, -p->left_power - p->right_power);
        g.a = left.to;
        g.lda = left.ld;
        g.b = right.to;
        g.ldb = right.ld;
        status = narrow(w, &left);
        if (status == WEFT_OK)
            status = narrow(w, &right);
    }
    return status == WEFT_OK ? wi_pick(w->ctx, &wi_gemm_ladder, g.type, &g)->run(w->ctx, &g)
                             : status;
}

static weft_status solve(const narrow_work *w, const wi_triangle_args *t) {
    return t->m > 0 && t->n > 0 ? wi_pick(w->ctx, &wi_trsm_ladder, t->type, t)->run(w->ctx, t)
                                : WEFT_OK;
}

/* ---- what was found ---- */

/* Words of a panel that begins at column `first`; those of earlier panels stay. */
static weft_status note(const narrow_work *w, const int64_t *found, size_t first, int64_t *words) {
    int64_t here[WI_LU_WORDS];
    const weft_status status = weft_copy(w->ctx, here, found, sizeof here);
    for (int k = 0; k < WI_LU_WORDS && status == WEFT_OK; k++)
        if (words[k] == WI_LU_NONE && here[k] != WI_LU_NONE)
            words[k] = here[k] + (int64_t)first;
    return status;
}

static bool ended(const int64_t *words, bool spd) {
    return words[WI_LU_INFINITE] != WI_LU_NONE || (spd && words[WI_LU_SINGULAR] != WI_LU_NONE);
}

/* ---- lu ---- */

static weft_status factor_panel(const narrow_work *w, const wi_lu_args *args, size_t k, size_t wide,
                                int64_t *words) {
    const wi_lu_args panel = {WEFT_F32, args->m - k,     wide,       at(w, k, k),
                              w->lda,   args->pivot + k, args->first};
    const weft_status status = wi_run(w->ctx, &wi_lu_ladder, w->how->call, WEFT_F32, &panel);
    return status == WEFT_OK ? note(w, args->first, k, words) : status;
}

/* What a panel of L does to the columns on both sides of it. */
static weft_status take_effect(const narrow_work *w, const wi_lu_args *args, size_t k,
                               size_t wide) {
    const size_t next = k + wide, right = args->n - next;
    const wi_triangle_args triangle = {.type = WEFT_F32,
                                       .unit = true,
                                       .m = wide,
                                       .n = right,
                                       .alpha = 1,
                                       .a = at(w, k, k),
                                       .lda = w->lda,
                                       .b = at(w, k, next),
                                       .ldb = w->lda};
    const narrow_product rest = {.m = args->m - next,
                                 .n = right,
                                 .k = wide,
                                 .left = at(w, next, k),
                                 .right = at(w, k, next),
                                 .right_power = -w->how->power,
                                 .c = at(w, next, next)};
    weft_status status = WEFT_OK;
    if (k > 0)
        status =
            wi_lu_swap_rows(w->ctx, WEFT_F32, k, at(w, k, 0), w->lda, wide, args->pivot + k, true);
    if (status == WEFT_OK && right > 0)
        status = wi_lu_swap_rows(w->ctx, WEFT_F32, right, at(w, k, next), w->lda, wide,
                                 args->pivot + k, true);
    if (status == WEFT_OK)
        status = solve(w, &triangle);
    return status == WEFT_OK ? subtract(w, &rest) : status;
}

/* Of panels, rows are counted from their own first. */
static weft_status count_pivots(const narrow_work *w, int64_t *pivot, size_t steps) {
    const size_t bytes = steps * sizeof *pivot;
    int64_t *const host = wi_host_alloc(bytes);
    if (!host)
        return wi_fail(w->ctx, WEFT_ENOMEM, "%s: no host memory for %zu bytes", w->how->call,
                       bytes);
    weft_status status = weft_copy(w->ctx, host, pivot, bytes);
    for (size_t k = 0; k < steps && status == WEFT_OK; k++)
        host[k] += (int64_t)(k / WIDE * WIDE);
    if (status == WEFT_OK)
        status = weft_copy(w->ctx, pivot, host, bytes);
    wi_host_free(host);
    return status;
}

weft_status wi_lu_factor_narrow(weft_context *ctx, const wi_lu_args *args, const wi_narrow *how) {
    const size_t steps = wi_smaller(args->m, args->n);
    narrow_work w = {.ctx = ctx,
                     .how = how,
                     .a = args->a,
                     .lda = args->lda,
                     .rows = args->m,
                     .columns = args->n};
    int64_t words[WI_LU_WORDS] = {WI_LU_NONE, WI_LU_NONE};
    weft_status status = open_work(&w);
    for (size_t k = 0; k < steps && !ended(words, false) && status == WEFT_OK; k += WIDE) {
        const size_t wide = wi_smaller(WIDE, steps - k);
        status = factor_panel(&w, args, k, wide, words);
        if (status == WEFT_OK)
            status = take_effect(&w, args, k, wide);
    }
    if (status == WEFT_OK && !ended(words, false))
        status = count_pivots(&w, args->pivot, steps);
    if (status == WEFT_OK)
        status = weft_copy(ctx, args->first, words, sizeof words);
    return close_work(&w, status);
}

/* ---- cholesky ---- */

/* The triangle on the diagonal, and what is below it. */
static weft_status factor_columns(const narrow_work *w, const wi_cholesky_args *args, size_t k,
                                  size_t wide, int64_t *words) {
    const wi_cholesky_args diagonal = {
        .type = WEFT_F32, .n = wide, .a = at(w, k, k), .lda = w->lda, .first = args->first};
    const wi_triangle_args below = {.type = WEFT_F32,
                                    .right = true,
                                    .transposed = true,
                                    .m = args->n - k - wide,
                                    .n = wide,
                                    .alpha = 1,
                                    .a = at(w, k, k),
                                    .lda = w->lda,
                                    .b = at(w, k + wide, k),
                                    .ldb = w->lda};
    weft_status status = wi_run(w->ctx, &wi_cholesky_ladder, w->how->call, WEFT_F32, &diagonal);
    if (status == WEFT_OK)
        status = note(w, args->first, k, words);
    return status == WEFT_OK && !ended(words, true) ? solve(w, &below) : status;
}

/* What columns k ... k + wide take from those at j: of f32 from the triangle on the diagonal, and
 * by products from what is below. */
static weft_status take_columns(const narrow_work *w, size_t n, size_t k, size_t wide, size_t j) {
    const int power = -(w->how->power / 2);
    const size_t columns = wi_smaller(WIDE, n - j), below = j + columns;
    const wi_syrk_args triangle = {.type = WEFT_F32,
                                   .n = columns,
                                   .k = wide,
                                   .alpha = -1,
                                   .beta = 1,
                                   .a = at(w, j, k),
                                   .lda = w->lda,
                                   .c = at(w, j, j),
                                   .ldc = w->lda};
    const narrow_product rest = {n - below, columns, wide,  at(w, below, k), at(w, j, k),
                                 true,      power,   power, at(w, below, j)};
    const weft_status status =
        wi_pick(w->ctx, &wi_syrk_ladder, WEFT_F32, &triangle)->run(w->ctx, &triangle);
    return status == WEFT_OK ? subtract(w, &rest) : status;
}

weft_status wi_cholesky_factor_narrow(weft_context *ctx, const wi_cholesky_args *args,
                                      const wi_narrow *how) {
    const size_t n = args->n;
    narrow_work w = {
        .ctx = ctx, .how = how, .a = args->a, .lda = args->lda, .rows = n, .columns = WIDE};
    int64_t words[WI_LU_WORDS] = {WI_LU_NONE, WI_LU_NONE};
    weft_status status = open_work(&w);
    for (size_t k = 0; k < n && !ended(words, true) && status == WEFT_OK; k += WIDE) {
        const size_t wide = wi_smaller(WIDE, n - k);
        status = factor_columns(&w, args, k, wide, words);
        for (size_t j = k + wide; j < n && !ended(words, true) && status == WEFT_OK; j += WIDE)
            status = take_columns(&w, n, k, wide, j);
    }
    if (status == WEFT_OK)
        status = weft_copy(ctx, args->first, words, sizeof words);
    return close_work(&w, status);
}
