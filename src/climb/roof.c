/* SPDX-License-Identifier: Apache-2.0 */
/* The table of roofs. */
#include "climb/meter.h"

const wi_roof_row wi_roof_rows[WI_ROOFS] = {
    [WI_ROOF_READ] = {"read", WI_UNIT_BYTES, "reading memory"},
    [WI_ROOF_WRITE] = {"write", WI_UNIT_BYTES, "writing memory"},
    [WI_ROOF_COPY] = {"copy", WI_UNIT_BYTES, "copying memory, read + written"},
    [WI_ROOF_LINK] = {"link", WI_UNIT_BYTES, "pinned host memory to the GPU"},
    [WI_ROOF_LINK_BACK] = {"link_back", WI_UNIT_BYTES, "the GPU to pinned host memory"},
    [WI_ROOF_PEER] = {"peer", WI_UNIT_BYTES, "this GPU to another one"},
    [WI_ROOF_FMA_F32] = {"fma_f32", WI_UNIT_FLOPS,
                         "f32 fused multiply-adds in registers, on all threads"},
    [WI_ROOF_FMA_F64] = {"fma_f64", WI_UNIT_FLOPS,
                         "f64 fused multiply-adds in registers, on all threads"},
    [WI_ROOF_TENSOR_F64] = {"tensor_f64", WI_UNIT_FLOPS, "tensor cores by mma, f64"},
    [WI_ROOF_TENSOR_TF32] = {"tensor_tf32", WI_UNIT_FLOPS, "tensor cores by mma, tf32 into f32"},
    [WI_ROOF_TENSOR_BF16] = {"tensor_bf16", WI_UNIT_FLOPS, "tensor cores by mma, bf16 into f32"},
    [WI_ROOF_TENSOR_INT8] = {"tensor_int8", WI_UNIT_OPS, "tensor cores by mma, int8 into int32"},
    [WI_ROOF_LAUNCH] = {"launch", WI_UNIT_SECONDS,
                        "from starting work that does nothing to knowing that it is done"},
};

weft_status wi_roof_measure(const wi_meter *meter, wi_roof roof, double *value) {
    *value = meter->roofs ? meter->roofs[roof] : 0;
    if (*value > 0)
        return WEFT_OK;
    const weft_status status = meter->ctx->kind == WI_CPU ? wi_cpu_roof(meter, roof, value)
                                                          : wi_gpu_roof(meter, roof, value);
    if (meter->roofs && status == WEFT_OK)
        meter->roofs[roof] = *value;
    return status;
}
