/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of cholesky that eliminate blocks of columns by products of matrices. An element's bits
 * depend on how columns are cut alone, as those of the products do: not on the number of threads.
 */
#include <math.h>
#include <string.h>

#include "cholesky/cholesky.h"
#include "cholesky/cholesky_simd.h"
#include "core/smaller.h"
#include "gemm/syrk.h"
#include "gemm/trsm.h"

enum {
    SIDE = WI_CHOLESKY_SIDE,
    PANEL = 256 /* columns that "recursive" takes from the others at once: the depth of a product */
};

typedef struct work {
    weft_context *ctx;
    const wi_cholesky_args *g;
    wi_cholesky_block *factor;
    char *square, *memory; /* a block; of trsm and syrk */
} work;

/* Columns first ... first + count - 1 of L. */
typedef struct columns {
    size_t first, count;
} columns;

/* Element (row, column) of L; of the upper triangle, U = L'. */
static void *at(const wi_cholesky_args *g, size_t row, size_t column) {
    const size_t k = g->upper ? column + row * g->lda : row + column * g->lda;
    return (char *)g->a + k * weft_type_size(g->type);
}

/* ---- a block on the diagonal ---- */

#define NAME(f) f##_f64
#define WORD double
#include "cholesky/cholesky_cpu_loops.inc"

#define NAME(f) f##_f32
#define WORD float
#include "cholesky/cholesky_cpu_loops.inc"

/* False, and args.first tells, if it is not positive definite. */
static bool factor_block(const work *w, columns c) {
    const wi_cholesky_args *const g = w->g;
    const bool f64 = g->type == WEFT_F64;
    (f64 ? load_f64 : load_f32)(g, c, w->square);
    const size_t done = w->factor(c.count, w->square);
    (f64 ? store_f64 : store_f32)(g, c, w->square);
    if (done == c.count)
        return true;
    const double pivot = wi_element_value(g->type, at(g, c.first + done, c.first + done));
    g->first[isfinite(pivot) ? WI_CHOLESKY_INDEFINITE : WI_CHOLESKY_INFINITE] =
        (int64_t)(c.first + done);
    return false;
}

/* ---- what is below and right of it ---- */

/* L21 = A21 / L11', or U12 = U11' \ A12 */
static wi_triangle_args triangle_of(const work *w, columns done, columns rest) {
    const wi_cholesky_args *const g = w->g;
    return (wi_triangle_args){.type = g->type,
                              .right = !g->upper,
                              .upper = g->upper,
                              .transposed = true,
                              .m = g->upper ? done.count : rest.count,
                              .n = g->upper ? rest.count : done.count,
                              .alpha = 1,
                              .a = at(g, done.first, done.first),
                              .lda = g->lda,
                              .b = at(g, rest.first, done.first),
                              .ldb = g->lda};
}

/* A22 -= L21 L21', or U12' U12 */
static wi_syrk_args product_of(const work *w, columns done, columns rest) {
    const wi_cholesky_args *const g = w->g;
    return (wi_syrk_args){.type = g->type,
                          .upper = g->upper,
                          .transposed = g->upper,
                          .n = rest.count,
                          .k = done.count,
                          .alpha = -1,
                          .beta = 1,
                          .a = at(g, rest.first, done.first),
                          .lda = g->lda,
                          .c = at(g, rest.first, rest.first),
                          .ldc = g->lda};
}

/* Updates the columns `rest` by the factored columns `done` on their left. */
static void update(const work *w, columns done, columns rest) {
    const wi_triangle_args triangle = triangle_of(w, done, rest);
    const wi_syrk_args product = product_of(w, done, rest);
    if (rest.count == 0)
        return;
    wi_trsm_packed_in(w->ctx, &triangle, w->memory);
    wi_syrk_packed_in(w->ctx, &product, w->memory);
}

static size_t bytes_of_update(const work *w, columns done, columns rest) {
    if (rest.count == 0)
        return 0;
    const wi_triangle_args triangle = triangle_of(w, done, rest);
    const wi_syrk_args product = product_of(w, done, rest);
    return wi_greater(wi_trsm_packed_bytes(w->ctx, &triangle),
                      wi_syrk_packed_bytes(w->ctx, &product));
}

/* ---- blocked ---- */

static columns block_at(const wi_cholesky_args *g, size_t first) {
    const size_t left = g->n - first;
    return (columns){first, left < SIDE ? left : SIDE};
}

static columns right_of(const wi_cholesky_args *g, columns c) {
    return (columns){c.first + c.count, g->n - c.first - c.count};
}

static size_t bytes_of_blocks(const work *w) {
    size_t bytes = 0;
    for (size_t first = 0; first < w->g->n; first += SIDE) {
        const columns block = block_at(w->g, first);
        bytes = wi_greater(bytes, bytes_of_update(w, block, right_of(w->g, block)));
    }
    return bytes;
}

static void do_blocks(const work *w) {
    for (size_t first = 0; first < w->g->n; first += SIDE) {
        const columns block = block_at(w->g, first);
        if (!factor_block(w, block))
            return;
        update(w, block, right_of(w->g, block));
    }
}

/* ---- recursive ---- */

/* A panel of several, or half of one. */
static columns left_half(columns c) {
    const size_t half = (c.count / 2 + SIDE - 1) / SIDE * SIDE;
    return (columns){c.first, c.count > 2 * PANEL ? PANEL : half};
}

static columns right_half(columns c) {
    const size_t left = left_half(c).count;
    return (columns){c.first + left, c.count - left};
}

static size_t bytes_of_halves(const work *w, columns c) {
    if (c.count <= SIDE)
        return 0;
    const columns left = left_half(c), right = right_half(c);
    return wi_greater(bytes_of_update(w, left, right),
                      wi_greater(bytes_of_halves(w, left), bytes_of_halves(w, right)));
}

/* Factors columns recursively: the left half, an update of the right half, the right half. */
static bool halve(const work *w, columns c) {
    if (c.count <= SIDE)
        return factor_block(w, c);
    const columns left = left_half(c), right = right_half(c);
    if (!halve(w, left))
        return false;
    update(w, left, right);
    return halve(w, right);
}

static columns all_of(const work *w) {
    return (columns){0, w->g->n};
}

static size_t bytes_of_recursion(const work *w) {
    return bytes_of_halves(w, all_of(w));
}

static void do_recursion(const work *w) {
    halve(w, all_of(w));
}

/* ---- both ---- */

static weft_status run(weft_context *ctx, const wi_cholesky_args *g,
                       size_t (*bytes_of)(const work *w), void (*body)(const work *w)) {
    const wi_cholesky_simd *const simd = WI_OF_ISA(wi_cpu_isa(), wi_cholesky_simd);
    const size_t square = SIDE * SIDE * weft_type_size(g->type);
    work w = {.ctx = ctx, .g = g, .factor = g->type == WEFT_F64 ? simd->f64 : simd->f32};
    const size_t bytes = square + bytes_of(&w);
    w.square = wi_host_alloc(bytes);
    if (!w.square)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "weft_cholesky_factor: no memory for %zu bytes of packed blocks", bytes);
    w.memory = w.square + square;
    g->first[WI_CHOLESKY_INDEFINITE] = g->first[WI_CHOLESKY_INFINITE] = WI_CHOLESKY_NONE;
    body(&w);
    wi_host_free(w.square);
    return WEFT_OK;
}

weft_status wi_cholesky_blocked(weft_context *ctx, const void *args) {
    return run(ctx, args, bytes_of_blocks, do_blocks);
}

weft_status wi_cholesky_recursive(weft_context *ctx, const void *args) {
    return run(ctx, args, bytes_of_recursion, do_recursion);
}
