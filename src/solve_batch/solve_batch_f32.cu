/* SPDX-License-Identifier: Apache-2.0 */
/* Small systems of f32. */
#include "solve_batch/solve_batch_cuda.cuh"

weft_status wi_solve_batch_registers_f32(weft_context *ctx, const wi_solve_batch_args *g) {
    return wi_batch_of_type<float>(ctx, g);
}
