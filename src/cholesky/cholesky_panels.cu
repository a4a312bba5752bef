/* SPDX-License-Identifier: Apache-2.0 */
/* The rung of cholesky that factors blocks of 256 columns, each by halves down to panels of 64
 * columns and all rows below the diagonal; after each block one product subtracts its part from the
 * columns behind it. */
#include "cholesky/cholesky_products.cuh"
#include "cuda/limit.cuh"

WI_LIMIT(size_t, wi_cholesky_columns_at_once, 256) /* columns: panels of 64 */

namespace {

constexpr size_t side = wi_cholesky_side;

struct panels : wi_cholesky_products {
    /* Replaces these columns by those of L: the left half, its part subtracted from the right half,
     * then the right half. With `asked` it only asks for the bytes. */
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
        const size_t n = args->n;
        weft_status status = WEFT_OK;
        if (args->columns > 0)
            return factor(0, args->columns);
        for (size_t first = 0; first < n && status == WEFT_OK;
             first += wi_cholesky_columns_at_once) {
            const size_t rest = n - first;
            const size_t columns =
                rest < wi_cholesky_columns_at_once ? rest : wi_cholesky_columns_at_once;
            status = factor(first, columns);
            if (status == WEFT_OK && columns < rest)
                status = take_from_triangle(first, columns, first + columns, rest - columns);
        }
        return status;
    }
};

} // namespace

/* The first run only finds the most bytes that a step needs: all memory is taken before anything is
 * written. */
weft_status wi_cholesky_panels(weft_context *ctx, const void *args) {
    const wi_cholesky_args *const a = (const wi_cholesky_args *)args;
    size_t bytes = 0;
    (void)panels{{ctx, a, &bytes, 0}}.run();
    weft_status status = wi_gpu_reserve(ctx, bytes + wi_cholesky_gaps);
    if (status != WEFT_OK)
        return status;
    status = wi_cholesky_clear_words(ctx, a);
    if (status == WEFT_OK)
        status = panels{{ctx, a, NULL, 0}}.run();
    const weft_status released = wi_gpu_release(ctx);
    return status == WEFT_OK ? released : status;
}
