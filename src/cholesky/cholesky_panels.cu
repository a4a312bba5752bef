/* SPDX-License-Identifier: Apache-2.0 */
/* The rung of cholesky that goes from panel to panel: of a block of 256 columns, which a panel of
 * 64 after the other makes columns of L as far down as they reach; then what they take from the
 * rest, in one product. */
#include "cholesky/cholesky_cuda.cuh"
#include "gemm/syrk.h"

namespace {

constexpr size_t side = wi_cholesky_side, block_width = 4 * side;

struct panels {
    weft_context *ctx;
    const wi_cholesky_args *args;
    size_t *asked; /* not NULL: nothing runs, and the most bytes of a step are found */

    weft_status ask(const wi_gemm_args &g) const {
        const size_t bytes = wi_gemm_most_bytes(ctx, &g);
        *asked = bytes > *asked ? bytes : *asked;
        return WEFT_OK;
    }
    /* What columns first ... first + k - 1 take from the triangle of `order` columns at `next`. */
    weft_status take_from_triangle(size_t first, size_t k, size_t next, size_t order) const {
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
        return asked ? ask(g) : wi_pick(ctx, &wi_gemm_ladder, g.type, &g)->run(ctx, &g);
    }
    /* Makes these columns columns of L: the left half, what it takes from the right one, that. */
    weft_status factor(size_t first, size_t columns) const {
        if (columns <= side)
            return asked ? WEFT_OK : wi_cholesky_panel(ctx, args, first, columns);
        const size_t left = (columns / 2 + side - 1) / side * side, right = columns - left;
        weft_status status = factor(first, left);
        if (status == WEFT_OK)
            status = take_from_triangle(first, left, first + left, right);
        if (status == WEFT_OK)
            status = take_from_rows(first, left, first + left, right);
        return status == WEFT_OK ? factor(first + left, right) : status;
    }
    weft_status run() const {
        weft_status status = WEFT_OK;
        for (size_t first = 0; first < args->n && status == WEFT_OK; first += block_width) {
            const size_t left = args->n - first, columns = left < block_width ? left : block_width;
            status = factor(first, columns);
            if (status == WEFT_OK && columns < left)
                status = take_from_triangle(first, columns, first + columns, left - columns);
        }
        return status;
    }
};

} // namespace

/* All memory is taken before the first step. */
weft_status wi_cholesky_panels(weft_context *ctx, const void *args) {
    constexpr size_t room_for_gaps = 1 << 12;
    const wi_cholesky_args *const a = (const wi_cholesky_args *)args;
    size_t bytes = 0;
    (void)panels{ctx, a, &bytes}.run();
    weft_status status = wi_gpu_reserve(ctx, bytes + room_for_gaps);
    if (status != WEFT_OK)
        return status;
    status = wi_cholesky_clear_words(ctx, a);
    if (status == WEFT_OK)
        status = panels{ctx, a, NULL}.run();
    const weft_status released = wi_gpu_release(ctx);
    return status == WEFT_OK ? released : status;
}
