/* SPDX-License-Identifier: Apache-2.0 */
/* Subtracts the products of finished columns of L from the columns after them, for the rungs that
 * leave this to gemm and syrk. */
#ifndef WI_CHOLESKY_PRODUCTS_CUH
#define WI_CHOLESKY_PRODUCTS_CUH

#include "cholesky/cholesky_cuda.cuh"
#include "gemm/syrk.h"

constexpr size_t wi_cholesky_gaps = 1 << 12; /* bytes between the memory of products */

struct wi_cholesky_products {
    weft_context *ctx;
    const wi_cholesky_args *args;
    size_t *asked;        /* not NULL: nothing runs; gets the most bytes that a step needs */
    unsigned blocks_most; /* the blocks_most of the products (gemm.h) */

    weft_status ask(const wi_gemm_args &g) const {
        const size_t bytes = wi_gemm_most_bytes(ctx, &g);
        *asked = bytes > *asked ? bytes : *asked;
        return WEFT_OK;
    }
    /* The update of the triangle of `order` columns at `next` by columns first ... first + k - 1.
     */
    wi_syrk_args of_triangle(size_t first, size_t k, size_t next, size_t order) const {
        wi_syrk_args s = {};
        s.type = args->type;
        s.upper = s.transposed = args->upper;
        s.n = order;
        s.k = k;
        s.alpha = -1;
        s.beta = 1;
        s.a = wi_cholesky_at(args, next, first);
        s.c = wi_cholesky_at(args, next, next);
        s.lda = s.ldc = args->lda;
        s.blocks_most = blocks_most;
        return s;
    }
    weft_status take_from_triangle(size_t first, size_t k, size_t next, size_t order) const {
        const wi_syrk_args s = of_triangle(first, k, next, order);
        if (asked)
            return ask(wi_syrk_part(&s, 0, order, 0, order));
        return wi_pick(ctx, &wi_syrk_ladder, s.type, &s)->run(ctx, &s);
    }
    /* ... and from the rows below it: A(rows, next ...) -= L(rows, first ...) L(next ...)' */
    weft_status take_from_rows(size_t first, size_t k, size_t next, size_t order) const {
        const size_t row = next + order, rows = args->n - row;
        const void *const below = wi_cholesky_at(args, row, first);
        const void *const beside = wi_cholesky_at(args, next, first);
        wi_gemm_args g = {};
        if (rows == 0)
            return WEFT_OK;
        g.type = g.out = args->type;
        g.accuracy = WI_FULL_F32;
        g.transposed_a = args->upper;
        g.transposed_b = !args->upper;
        g.m = args->upper ? order : rows;
        g.n = args->upper ? rows : order;
        g.k = k;
        g.alpha = -1;
        g.beta = 1;
        g.a = args->upper ? beside : below;
        g.b = args->upper ? below : beside;
        g.c = wi_cholesky_at(args, row, next);
        g.lda = g.ldb = g.ldc = args->lda;
        g.blocks_most = blocks_most;
        return asked ? ask(g) : wi_pick(ctx, &wi_gemm_ladder, g.type, &g)->run(ctx, &g);
    }
};

#endif
