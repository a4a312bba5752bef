/* SPDX-License-Identifier: Apache-2.0 */
/* Quick approximate roots, to be made exact by the arithmetic around them. */
#ifndef WI_ROOT_CUH
#define WI_ROOT_CUH

#include "cuda/types.cuh"

/* y near 1 / sqrt(x): off by at most 2^-22 of itself in f32 and by about 2^-20 in f64. Of a
 * subnormal x it is infinite. */
#ifdef WEFT_EMU
inline float wi_near_root(float x) {
    return x < 0x1p-126f ? INFINITY : 1 / sqrtf(x) * (1 + 0x1p-23f);
}
inline double wi_near_root(double x) {
    const double y = x < 0x1p-1022 ? INFINITY : 1 / sqrt(x);
    return wi_bit_cast<double>(wi_bit_cast<uint64_t>(y) & ~(uint64_t)UINT32_MAX);
}
#else
__device__ inline float wi_near_root(float x) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ inline double wi_near_root(double x) {
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return y;
}
#endif

#endif
