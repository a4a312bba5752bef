/* SPDX-License-Identifier: Apache-2.0 */
/* What gemv and ger share: vectors of f32, and strided vectors without their gaps in the type that
 * sums are made in. For *_simd.c files. */
#ifndef WI_VECTOR_SIMD_H
#define WI_VECTOR_SIMD_H

#include "cpu/half_simd.h"
#include "cpu/lanes.h"

typedef float wi_floats_there
    __attribute__((vector_size(WI_VECTOR_BYTES), aligned(sizeof(float)), may_alias));

enum {
    WI_WIDE_F32 = WI_VECTOR_BYTES / 4
};

static inline void wi_take_f64(size_t n, const void *from, ptrdiff_t step, void *to) {
    const double *const x = from;
    double *const wide = to;
    for (size_t i = 0; i < n; i++)
        wide[i] = x[(ptrdiff_t)i * step];
}

static inline void wi_take_f32(size_t n, const void *from, ptrdiff_t step, void *to) {
    const float *const x = from;
    float *const wide = to;
    for (size_t i = 0; i < n; i++)
        wide[i] = x[(ptrdiff_t)i * step];
}

static inline void wi_take_f16(size_t n, const void *from, ptrdiff_t step, void *to) {
    const uint16_t *const x = from;
    float *const wide = to;
    for (size_t i = 0; i < n; i++)
        wide[i] = wi_f16_widen(x[(ptrdiff_t)i * step]);
}

static inline void wi_take_bf16(size_t n, const void *from, ptrdiff_t step, void *to) {
    const uint16_t *const x = from;
    float *const wide = to;
    for (size_t i = 0; i < n; i++)
        wide[i] = wi_bf16_widen(x[(ptrdiff_t)i * step]);
}

#endif
