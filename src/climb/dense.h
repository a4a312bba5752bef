/* SPDX-License-Identifier: Apache-2.0 */
/* What the climbs of dense linear algebra share: numbers of a matrix of f32 or f64; the roof. */
#ifndef WI_CLIMB_DENSE_H
#define WI_CLIMB_DENSE_H

#include "climb/climb.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline double wi_dense_get(weft_type type, const void *array, size_t at) {
    return type == WEFT_F64 ? ((const double *)array)[at] : ((const float *)array)[at];
}

static inline void wi_dense_put(weft_type type, void *array, size_t at, double value) {
    if (type == WEFT_F64)
        ((double *)array)[at] = value;
    else
        ((float *)array)[at] = (float)value;
}

/* The roof of multiply-adds in full precision: for f32 not that of tensor cores, which round to
 * tf32. */
static inline wi_roof wi_dense_roof(const wi_setup *setup) {
    if (setup->type == WEFT_F32)
        return WI_ROOF_FMA_F32;
    return setup->ctx->kind == WI_CPU ? WI_ROOF_FMA_F64 : WI_ROOF_TENSOR_F64;
}

#ifdef __cplusplus
}
#endif
#endif
