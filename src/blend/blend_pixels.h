/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of blend, on a cpu and in kernels: each step is one rounding of f32. */
#ifndef WI_BLEND_PIXELS_H
#define WI_BLEND_PIXELS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#    define WI_BLEND_BOTH __host__ __device__ static inline
#else
#    define WI_BLEND_BOTH static inline
#endif

#ifdef _OPENACC
#    pragma acc routine seq
#endif
WI_BLEND_BOTH float wi_blend_mix(float weight_a, float a, float weight_b, float b) {
    return fmaf(weight_a, a, weight_b * b);
}

#ifdef _OPENACC
#    pragma acc routine seq
#endif
/* A whole number from 0 to `most`, to nearest, ties to even; NaN becomes 0. Adding 1.5 2^23 leaves
 * it in the last bits. */
WI_BLEND_BOTH uint32_t wi_blend_whole(float v, float most) {
    uint32_t bits;
    v = v > 0 ? v : 0;
    v = (v < most ? v : most) + 0x1.8p23f;
    memcpy(&bits, &v, sizeof bits);
    return bits & 0xffff;
}

#ifdef _OPENACC
#    pragma acc routine seq
#endif
WI_BLEND_BOTH void wi_blend_put_u8(uint8_t *out, float v) {
    *out = (uint8_t)wi_blend_whole(v, 255);
}
#ifdef _OPENACC
#    pragma acc routine seq
#endif
WI_BLEND_BOTH void wi_blend_put_u16(uint16_t *out, float v) {
    *out = (uint16_t)wi_blend_whole(v, 65535);
}
#ifdef _OPENACC
#    pragma acc routine seq
#endif
WI_BLEND_BOTH void wi_blend_put_f32(float *out, float v) {
    *out = v;
}

/* What a mask's number is multiplied by. */
static const float wi_blend_unit_u8 = 1.0f / 255, wi_blend_unit_u16 = 1.0f / 65535,
                   wi_blend_unit_f32 = 1;

#endif
