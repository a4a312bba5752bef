/* SPDX-License-Identifier: Apache-2.0 */
/* conv's rung tensor, of f32 cut to tf32; and the choice of the type. */
#include "nn/conv_tensor_tiles.cuh"

template <class Extents>
using shape = wi_gemm_tf32_shape<Extents>;

weft_status wi_conv_tensor_tf32(weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_on_tensor_cores<wi_conv_tensor_engine<shape, float>, float>(ctx, args);
}

weft_status wi_conv_tensor(weft_context *ctx, const void *arguments) {
    const wi_conv_args *const args = (const wi_conv_args *)arguments;
    switch (args->in.type) {
    case WEFT_F16:
        return wi_conv_tensor_f16(ctx, args);
    case WEFT_BF16:
        return wi_conv_tensor_bf16(ctx, args);
    default:
        return wi_conv_tensor_tf32(ctx, args);
    }
}
