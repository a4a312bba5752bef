/* SPDX-License-Identifier: Apache-2.0 */
/* The packed rung of trsm. */
#include "gemm/triangle_cpu.h"
#include "gemm/triangle_simd.h"
#include "gemm/trsm.h"

/* X(rows) = alpha T(rows, rows) \ X(rows): the first half, what it contributes to the second, and
 * that. */
static weft_status solve(weft_context *ctx, const wi_triangle *t, wi_rows_part rows, double alpha) {
    if (rows.count <= WI_TRIANGLE_SIDE) {
        wi_triangle_do_block(ctx, t, rows, WI_TRIANGLE_SOLVE, alpha);
        return WEFT_OK;
    }
    const size_t half = wi_triangle_half(rows.count, WI_TRIANGLE_SIDE);
    const wi_rows_part above = {rows.first, half}, below = {rows.first + half, rows.count - half};
    weft_status status = solve(ctx, t, above, alpha);
    if (status == WEFT_OK)
        status = wi_triangle_multiply(ctx, t, below, above, -1, alpha);
    if (status == WEFT_OK)
        status = solve(ctx, t, below, 1);
    return status;
}

weft_status wi_trsm_packed(weft_context *ctx, const void *args) {
    const wi_triangle_args *const g = args;
    if (g->alpha == 0)
        return wi_triangle_zero(ctx, g);
    const wi_triangle t = wi_triangle_of(g);
    return solve(ctx, &t, (wi_rows_part){0, t.order}, t.alpha);
}
