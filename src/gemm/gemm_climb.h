/* SPDX-License-Identifier: Apache-2.0 */
/* What the climbs of gemm and of gemm_batch share. Matrices hold whole numbers or eighths, whose
 * sums are exact. */
#ifndef WI_GEMM_CLIMB_H
#define WI_GEMM_CLIMB_H

#include "climb/data.h"

/* The type of C. Sums of 16-bit floats are not rounded to them, so that each can be compared. */
static inline weft_type wi_gemm_climb_out(weft_type type) {
    switch (type) {
    case WEFT_F16:
    case WEFT_BF16:
        return WEFT_F32;
    case WEFT_I8:
        return WEFT_I32;
    default:
        return type;
    }
}

/* What element `at` of C stands for, in 64ths or whole; sums of so few eighths have no other part.
 * INT64_MIN: for nothing. */
static inline int64_t wi_gemm_climb_found(const wi_data *data, size_t at) {
    const weft_type out = wi_gemm_climb_out(data->setup.type);
    const double value =
        wi_element_value(out, (const char *)data->host_z + at * weft_type_size(out));
    const double whole = out == WEFT_I32 ? value : value * 64;
    return whole > -0x1p62 && whole < 0x1p62 && whole == (double)(int64_t)whole ? (int64_t)whole
                                                                                : INT64_MIN;
}

/* Element j of a vector that products are tried with: none is 0, so that one wrong element is
 * always seen. */
static inline uint64_t wi_gemm_climb_factor(size_t j) {
    return 1 + (uint64_t)j * 37 % 101;
}

/* Where there are tensor cores they are the roof, save for f32, which they round. */
static inline wi_roof wi_gemm_climb_roof(const wi_setup *setup, bool rounds_f32) {
    if (setup->ctx->kind == WI_CPU)
        return setup->type == WEFT_F64 ? WI_ROOF_FMA_F64 : WI_ROOF_FMA_F32;
    switch (setup->type) {
    case WEFT_F64:
        return WI_ROOF_TENSOR_F64;
    case WEFT_F32:
        return rounds_f32 ? WI_ROOF_TENSOR_TF32 : WI_ROOF_FMA_F32;
    case WEFT_I8:
        return WI_ROOF_TENSOR_INT8;
    default:
        return WI_ROOF_TENSOR_BF16;
    }
}

#endif
