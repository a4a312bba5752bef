/* SPDX-License-Identifier: Apache-2.0 */
/* conv's rung tensor, of f16. */
#include "nn/conv_tensor_tiles.cuh"

template <class Extents>
using shape = wi_gemm_half_shape<__half, Extents>;

weft_status wi_conv_tensor_f16(weft_context *ctx, const wi_conv_args *args) {
    return wi_conv_on_tensor_cores<wi_conv_tensor_engine<shape, __half>, __half>(ctx, args);
}
