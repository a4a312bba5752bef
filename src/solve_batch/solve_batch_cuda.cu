/* SPDX-License-Identifier: Apache-2.0 */
/* The rung of small systems on a GPU. */
#include "solve_batch/solve_batch_cuda.cuh"

weft_status wi_solve_batch_registers(weft_context *ctx, const void *args) {
    const wi_solve_batch_args *const g = (const wi_solve_batch_args *)args;
    return g->type == WEFT_F64 ? wi_solve_batch_registers_f64(ctx, g)
                               : wi_solve_batch_registers_f32(ctx, g);
}
