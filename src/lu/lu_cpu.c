/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of lu that eliminate blocks of columns by products of matrices. An element's bits
 * depend on how columns are cut alone, as those of the products do: not on the number of threads.
 */
#include "gemm/trsm.h"
#include "lu/lu.h"
#include "lu/lu_simd.h"

enum {
    BLOCK = 64, /* columns of a panel of "blocked" */
    FEW = 8     /* columns that "recursive" eliminates one by one */
};

typedef struct work {
    weft_context *ctx;
    const wi_lu_args *g;
    wi_lu_eliminate *eliminate;
    char *memory; /* of trsm and gemm */
} work;

/* Columns first ... first + count - 1. */
typedef struct columns {
    size_t first, count;
} columns;

static void *at(const wi_lu_args *g, size_t row, size_t column) {
    return (char *)g->a + (row + column * g->lda) * weft_type_size(g->type);
}

static void eliminate(const work *w, columns c) {
    const wi_lu_args *const g = w->g;
    const wi_lu_panel panel = {.rows = g->m - c.first,
                               .columns = c.count,
                               .a = at(g, c.first, c.first),
                               .lda = g->lda,
                               .row = (int64_t)c.first,
                               .pivot = g->pivot + c.first,
                               .first = g->first};
    w->eliminate(&panel);
}

/* Exchanges of the rows of these pivots, in other columns. */
static void exchange(const work *w, columns pivots, columns in) {
    wi_lu_swap_some(w->ctx, w->g->type, in.count, at(w->g, 0, in.first), w->g->lda, pivots.first,
                    pivots.first + pivots.count, w->g->pivot);
}

/* U12 = L11 \ A12 */
static wi_triangle_args triangle_of(const work *w, columns done, columns rest) {
    const wi_lu_args *const g = w->g;
    return (wi_triangle_args){.type = g->type,
                              .unit = true,
                              .m = done.count,
                              .n = rest.count,
                              .alpha = 1,
                              .a = at(g, done.first, done.first),
                              .lda = g->lda,
                              .b = at(g, done.first, rest.first),
                              .ldb = g->lda};
}

/* A22 -= L21 U12 */
static wi_gemm_args product_of(const work *w, columns done, columns rest) {
    const wi_lu_args *const g = w->g;
    const size_t below = done.first + done.count;
    return (wi_gemm_args){.type = g->type,
                          .out = g->type,
                          .accuracy = WI_FULL_F32,
                          .m = g->m - below,
                          .n = rest.count,
                          .k = done.count,
                          .alpha = -1,
                          .beta = 1,
                          .a = at(g, below, done.first),
                          .lda = g->lda,
                          .b = at(g, done.first, rest.first),
                          .ldb = g->lda,
                          .c = at(g, below, rest.first),
                          .ldc = g->lda};
}

/* Takes columns that are done from others on their right. */
static void take(const work *w, columns done, columns rest) {
    if (rest.count == 0)
        return;
    const wi_triangle_args triangle = triangle_of(w, done, rest);
    const wi_gemm_args product = product_of(w, done, rest);
    exchange(w, done, rest);
    wi_trsm_packed_in(w->ctx, &triangle, w->memory);
    if (product.m > 0)
        wi_gemm_packed_in(w->ctx, &product, w->memory);
}

static size_t most(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t bytes_of_take(const work *w, columns done, columns rest) {
    if (rest.count == 0)
        return 0;
    const wi_triangle_args triangle = triangle_of(w, done, rest);
    const wi_gemm_args product = product_of(w, done, rest);
    return most(wi_trsm_packed_bytes(w->ctx, &triangle),
                product.m > 0 ? wi_gemm_packed_bytes(w->ctx, &product) : 0);
}

/* ---- blocked ---- */

static columns block_at(const wi_lu_args *g, size_t first) {
    const size_t steps = g->m < g->n ? g->m : g->n, left = steps - first;
    return (columns){first, left < BLOCK ? left : BLOCK};
}

static columns right_of(const wi_lu_args *g, columns c) {
    return (columns){c.first + c.count, g->n - c.first - c.count};
}

static size_t bytes_of_blocks(const work *w) {
    const wi_lu_args *const g = w->g;
    size_t bytes = 0;
    for (size_t first = 0; first < g->m && first < g->n; first += BLOCK)
        bytes = most(bytes, bytes_of_take(w, block_at(g, first), right_of(g, block_at(g, first))));
    return bytes;
}

static void do_blocks(const work *w) {
    const wi_lu_args *const g = w->g;
    for (size_t first = 0; first < g->m && first < g->n; first += BLOCK) {
        const columns block = block_at(g, first);
        eliminate(w, block);
        exchange(w, block, (columns){0, first});
        take(w, block, right_of(g, block));
    }
}

/* ---- recursive ---- */

static columns left_half(columns c) {
    return (columns){c.first, (c.count / 2 + FEW - 1) / FEW * FEW};
}

static columns right_half(columns c) {
    const size_t left = left_half(c).count;
    return (columns){c.first + left, c.count - left};
}

static size_t bytes_of_halves(const work *w, columns c) {
    if (c.count <= FEW)
        return 0;
    const columns left = left_half(c), right = right_half(c);
    return most(bytes_of_take(w, left, right),
                most(bytes_of_halves(w, left), bytes_of_halves(w, right)));
}

/* Half of the columns, what they take from the other half, and that. */
static void halve(const work *w, columns c) {
    if (c.count <= FEW) {
        eliminate(w, c);
        return;
    }
    const columns left = left_half(c), right = right_half(c);
    halve(w, left);
    take(w, left, right);
    halve(w, right);
    exchange(w, right, left);
}

static columns eliminated(const wi_lu_args *g) {
    return (columns){0, g->m < g->n ? g->m : g->n};
}

static size_t bytes_of_recursion(const work *w) {
    const columns all = eliminated(w->g);
    return most(bytes_of_halves(w, all), bytes_of_take(w, all, right_of(w->g, all)));
}

static void do_recursion(const work *w) {
    const columns all = eliminated(w->g);
    halve(w, all);
    take(w, all, right_of(w->g, all));
}

/* ---- both ---- */

static weft_status run(weft_context *ctx, const wi_lu_args *g, size_t (*bytes_of)(const work *w),
                       void (*body)(const work *w)) {
    const wi_lu_simd *const simd = WI_OF_ISA(wi_cpu_isa(), wi_lu_simd);
    work w = {ctx, g, g->type == WEFT_F64 ? simd->f64 : simd->f32, NULL};
    const size_t bytes = bytes_of(&w);
    w.memory = bytes ? wi_host_alloc(bytes) : NULL;
    if (bytes && !w.memory)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_lu_factor: no memory for %zu bytes of packed blocks",
                       bytes);
    g->first[WI_LU_SINGULAR] = g->first[WI_LU_INFINITE] = WI_LU_NONE;
    body(&w);
    wi_host_free(w.memory);
    return WEFT_OK;
}

weft_status wi_lu_blocked(weft_context *ctx, const void *args) {
    return run(ctx, args, bytes_of_blocks, do_blocks);
}

weft_status wi_lu_recursive(weft_context *ctx, const void *args) {
    return run(ctx, args, bytes_of_recursion, do_recursion);
}
