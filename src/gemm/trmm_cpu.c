/* SPDX-License-Identifier: Apache-2.0 */
/* The packed rung of trmm. */
#include "gemm/triangle_cpu.h"
#include "gemm/triangle_simd.h"
#include "gemm/trmm.h"

/* X(rows) = alpha T(rows, rows) X(rows): the second half, what the first contributes to it, and
 * that. */
static void multiply(const wi_triangle_run *r, wi_rows_part rows, double alpha) {
    if (rows.count <= WI_TRIANGLE_SIDE) {
        wi_triangle_do_block(r, rows, WI_TRIANGLE_MULTIPLY, alpha);
        return;
    }
    const wi_rows_part above = wi_triangle_above(rows, WI_TRIANGLE_SIDE);
    const wi_rows_part below = wi_triangle_below(rows, WI_TRIANGLE_SIDE);
    multiply(r, below, alpha);
    wi_triangle_multiply(r, below, above, alpha, 1);
    multiply(r, above, alpha);
}

weft_status wi_trmm_packed(weft_context *ctx, const void *args) {
    return wi_triangle_run_all(ctx, args, "weft_trmm", multiply);
}
