/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of lu that eliminate blocks of columns by products of matrices. An element's bits
 * depend on how columns are cut alone, as those of the products do: not on the number of threads.
 */
#include "lu/lu_cpu.h"

#include "core/smaller.h"

enum {
    BLOCK = 64, /* columns of a panel of "blocked" */
    FEW = 8     /* columns that "recursive" eliminates one by one */
};

static void eliminate(const wi_lu_work *w, wi_lu_columns c) {
    const wi_lu_args *const g = w->g;
    const wi_lu_panel panel = {.rows = g->m - c.first,
                               .columns = c.count,
                               .a = wi_lu_at(g, c.first, c.first),
                               .lda = g->lda,
                               .row = (int64_t)c.first,
                               .pivot = g->pivot + c.first,
                               .first = g->first};
    w->eliminate(&panel);
}

void wi_lu_exchange(const wi_lu_work *w, wi_lu_columns pivots, wi_lu_columns in) {
    wi_lu_swap_some(w->ctx, w->g->type, in.count, wi_lu_at(w->g, 0, in.first), w->g->lda,
                    pivots.first, pivots.first + pivots.count, w->g->pivot);
}

wi_triangle_args wi_lu_triangle_of(const wi_lu_work *w, wi_lu_columns done, wi_lu_columns rest) {
    const wi_lu_args *const g = w->g;
    return (wi_triangle_args){.type = g->type,
                              .unit = true,
                              .m = done.count,
                              .n = rest.count,
                              .alpha = 1,
                              .a = wi_lu_at(g, done.first, done.first),
                              .lda = g->lda,
                              .b = wi_lu_at(g, done.first, rest.first),
                              .ldb = g->lda};
}

/* A22 -= L21 U12 */
static wi_gemm_args product_of(const wi_lu_work *w, wi_lu_columns done, wi_lu_columns rest) {
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
                          .a = wi_lu_at(g, below, done.first),
                          .lda = g->lda,
                          .b = wi_lu_at(g, done.first, rest.first),
                          .ldb = g->lda,
                          .c = wi_lu_at(g, below, rest.first),
                          .ldc = g->lda};
}

void wi_lu_update(const wi_lu_work *w, wi_lu_columns done, wi_lu_columns rest) {
    if (rest.count == 0)
        return;
    const wi_triangle_args triangle = wi_lu_triangle_of(w, done, rest);
    const wi_gemm_args product = product_of(w, done, rest);
    wi_lu_exchange(w, done, rest);
    wi_trsm_packed_in(w->ctx, &triangle, w->memory);
    if (product.m > 0)
        wi_gemm_packed_in(w->ctx, &product, w->memory);
}

size_t wi_lu_bytes_of_update(const wi_lu_work *w, wi_lu_columns done, wi_lu_columns rest) {
    if (rest.count == 0)
        return 0;
    const wi_triangle_args triangle = wi_lu_triangle_of(w, done, rest);
    const wi_gemm_args product = product_of(w, done, rest);
    return wi_greater(wi_trsm_packed_bytes(w->ctx, &triangle),
                      product.m > 0 ? wi_gemm_packed_bytes(w->ctx, &product) : 0);
}

/* ---- blocked ---- */

static wi_lu_columns block_at(const wi_lu_args *g, size_t first) {
    const size_t steps = g->m < g->n ? g->m : g->n, left = steps - first;
    return (wi_lu_columns){first, left < BLOCK ? left : BLOCK};
}

static size_t bytes_of_blocks(const wi_lu_work *w) {
    const wi_lu_args *const g = w->g;
    size_t bytes = 0;
    for (size_t first = 0; first < g->m && first < g->n; first += BLOCK)
        bytes = wi_greater(bytes, wi_lu_bytes_of_update(w, block_at(g, first),
                                                        wi_lu_right_of(g, block_at(g, first))));
    return bytes;
}

static void do_blocks(const wi_lu_work *w) {
    const wi_lu_args *const g = w->g;
    for (size_t first = 0; first < g->m && first < g->n; first += BLOCK) {
        const wi_lu_columns block = block_at(g, first);
        eliminate(w, block);
        wi_lu_exchange(w, block, (wi_lu_columns){0, first});
        wi_lu_update(w, block, wi_lu_right_of(g, block));
    }
}

/* ---- recursive ---- */

static wi_lu_columns left_half(wi_lu_columns c) {
    return (wi_lu_columns){c.first, (c.count / 2 + FEW - 1) / FEW * FEW};
}

static wi_lu_columns right_half(wi_lu_columns c) {
    const size_t left = left_half(c).count;
    return (wi_lu_columns){c.first + left, c.count - left};
}

size_t wi_lu_bytes_of_halves(const wi_lu_work *w, wi_lu_columns c) {
    if (c.count <= FEW)
        return 0;
    const wi_lu_columns left = left_half(c), right = right_half(c);
    return wi_greater(wi_lu_bytes_of_update(w, left, right),
                      wi_greater(wi_lu_bytes_of_halves(w, left), wi_lu_bytes_of_halves(w, right)));
}

void wi_lu_halve(const wi_lu_work *w, wi_lu_columns c) {
    if (c.count <= FEW) {
        eliminate(w, c);
        return;
    }
    const wi_lu_columns left = left_half(c), right = right_half(c);
    wi_lu_halve(w, left);
    wi_lu_update(w, left, right);
    wi_lu_halve(w, right);
    wi_lu_exchange(w, right, left);
}

static wi_lu_columns eliminated(const wi_lu_args *g) {
    return (wi_lu_columns){0, g->m < g->n ? g->m : g->n};
}

static size_t bytes_of_recursion(const wi_lu_work *w) {
    const wi_lu_columns all = eliminated(w->g);
    return wi_greater(wi_lu_bytes_of_halves(w, all),
                      wi_lu_bytes_of_update(w, all, wi_lu_right_of(w->g, all)));
}

static void do_recursion(const wi_lu_work *w) {
    const wi_lu_columns all = eliminated(w->g);
    wi_lu_halve(w, all);
    wi_lu_update(w, all, wi_lu_right_of(w->g, all));
}

/* ---- both ---- */

weft_status wi_lu_run(weft_context *ctx, const wi_lu_args *g,
                      size_t (*bytes_of)(const wi_lu_work *w), void (*body)(const wi_lu_work *w)) {
    const wi_lu_simd *const simd = WI_OF_ISA(wi_cpu_isa(), wi_lu_simd);
    wi_lu_work w = {ctx, g, g->type == WEFT_F64 ? simd->f64 : simd->f32, NULL};
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
    return wi_lu_run(ctx, args, bytes_of_blocks, do_blocks);
}

weft_status wi_lu_recursive(weft_context *ctx, const void *args) {
    return wi_lu_run(ctx, args, bytes_of_recursion, do_recursion);
}
