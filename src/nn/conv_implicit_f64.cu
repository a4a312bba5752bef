/* SPDX-License-Identifier: Apache-2.0 */
/* conv's rung implicit, of f64. */
#include "nn/conv_implicit_launch.cuh"

weft_status wi_conv_implicit_f64(weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_run_implicit<double>(ctx, args);
}
