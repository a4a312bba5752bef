/* SPDX-License-Identifier: Apache-2.0 */
/* The packed rung of trsm. */
#include "gemm/triangle_cpu.h"
#include "gemm/triangle_simd.h"
#include "gemm/trsm.h"

/* X(rows) = alpha T(rows, rows) \ X(rows): the first half, what it contributes to the second, and
 * that. */
static void solve(const wi_triangle_run *r, wi_rows_part rows, double alpha) {
    if (rows.count <= WI_TRIANGLE_SIDE) {
        wi_triangle_do_block(r, rows, WI_TRIANGLE_SOLVE, alpha);
        return;
    }
    const wi_rows_part above = wi_triangle_above(rows, WI_TRIANGLE_SIDE);
    const wi_rows_part below = wi_triangle_below(rows, WI_TRIANGLE_SIDE);
    solve(r, above, alpha);
    wi_triangle_multiply(r, below, above, -1, alpha);
    solve(r, below, 1);
}

size_t wi_trsm_packed_bytes(const weft_context *ctx, const wi_triangle_args *args) {
    const wi_triangle t = wi_triangle_of(args);
    const wi_rows_part all = {0, t.order};
    return wi_triangle_bytes(ctx, &t, all, WI_TRIANGLE_SIDE, wi_gemm_packed_bytes);
}

void wi_trsm_packed_in(weft_context *ctx, const wi_triangle_args *args, void *memory) {
    const wi_triangle t = wi_triangle_of(args);
    const wi_triangle_run run = {ctx, &t, memory};
    const wi_rows_part all = {0, t.order};
    solve(&run, all, t.alpha);
}

weft_status wi_trsm_packed(weft_context *ctx, const void *args) {
    return wi_triangle_run_all(ctx, args, "weft_trsm", solve);
}
