/* SPDX-License-Identifier: Apache-2.0 */
/* The packed rung of trmm. */
#include "gemm/triangle_cpu.h"
#include "gemm/triangle_simd.h"
#include "gemm/trmm.h"

/* X(rows) = alpha T(rows, rows) X(rows): the second half, what the first contributes to it, and
 * that. */
static weft_status multiply(weft_context *ctx, const wi_triangle *t, wi_rows_part rows) {
    if (rows.count <= WI_TRIANGLE_SIDE) {
        wi_triangle_do_block(ctx, t, rows, WI_TRIANGLE_MULTIPLY, t->alpha);
        return WEFT_OK;
    }
    const size_t half = wi_triangle_half(rows.count, WI_TRIANGLE_SIDE);
    const wi_rows_part above = {rows.first, half}, below = {rows.first + half, rows.count - half};
    weft_status status = multiply(ctx, t, below);
    if (status == WEFT_OK)
        status = wi_triangle_multiply(ctx, t, below, above, t->alpha, 1);
    if (status == WEFT_OK)
        status = multiply(ctx, t, above);
    return status;
}

weft_status wi_trmm_packed(weft_context *ctx, const void *args) {
    const wi_triangle_args *const g = args;
    if (g->alpha == 0)
        return wi_triangle_zero(ctx, g);
    const wi_triangle t = wi_triangle_of(g);
    return multiply(ctx, &t, (wi_rows_part){0, t.order});
}
