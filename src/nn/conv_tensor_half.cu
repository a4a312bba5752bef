/* SPDX-License-Identifier: Apache-2.0 */
/* conv's rung tensor, of f16 and bf16. Their kernels differ in a bit of some instructions, so they
 * are compressed together. */
#include "nn/conv_tensor_tiles.cuh"

template <class Extents>
using f16_shape = wi_gemm_half_shape<__half, Extents>;
template <class Extents>
using bf16_shape = wi_gemm_half_shape<__nv_bfloat16, Extents>;

weft_status wi_conv_tensor_f16(weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_on_tensor_cores<wi_conv_tensor_engine<f16_shape, __half>, __half>(ctx, args);
}

weft_status wi_conv_tensor_bf16(weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_on_tensor_cores<wi_conv_tensor_engine<bf16_shape, __nv_bfloat16>, __nv_bfloat16>(
        ctx, args);
}
