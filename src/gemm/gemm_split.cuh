/* SPDX-License-Identifier: Apache-2.0 */
/* f32 as the sum of smaller floats, whose products tensor cores make. */
#ifndef WI_GEMM_SPLIT_CUH
#define WI_GEMM_SPLIT_CUH

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "gemm/gemm.h"

/* k from which on the sum of three products of tf32 is as accurate as fused multiply-adds. */
constexpr size_t wi_gemm_split_least_k = 16;

/* May the sums of a product be made so? */
inline bool wi_gemm_may_split(const wi_gemm_args *g) {
    return g->accuracy != WI_STRICT_F32 && g->k >= wi_gemm_split_least_k;
}

/* Is x not the sum of two or three smaller floats? Other ones but 0 have parts that are too small,
 * or may round to infinity. */
__device__ inline bool wi_gemm_has_no_parts(float x) {
    constexpr float least = 0x1p-100f, end = 0x1p127f;
    return x != 0 && !(fabsf(x) >= least && fabsf(x) < end);
}

/* x = high + low, both tf32, high rounded to the nearest; what low loses is 2^-23 of x. */
__device__ inline void wi_gemm_split(float x, uint32_t &high, uint32_t &low) {
    constexpr uint32_t unit = 1u << 13; /* of a tf32's last bit */
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    high = (bits + unit / 2) & ~(unit - 1);
    float rounded;
    memcpy(&rounded, &high, sizeof rounded);
    const float rest = x - rounded;
    memcpy(&low, &rest, sizeof low);
}

#endif
