/* SPDX-License-Identifier: Apache-2.0 */
/* conv's rung implicit, of f32; and the choice of the type. */
#include "nn/conv_implicit_launch.cuh"

weft_status wi_conv_implicit_f32(weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_run_implicit<float>(ctx, args);
}

weft_status wi_conv_implicit(weft_context *ctx, const void *arguments) {
    const wi_conv_args *const args = (const wi_conv_args *)arguments;
    return args->in.type == WEFT_F32 ? wi_conv_implicit_f32(ctx, args)
                                     : wi_conv_implicit_f64(ctx, args);
}
