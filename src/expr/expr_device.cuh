/* SPDX-License-Identifier: Apache-2.0 */
/* What expr_host.h has for a cpu: on a GPU by instructions; those to integers saturate. */
#ifndef WI_EXPR_DEVICE_CUH
#define WI_EXPR_DEVICE_CUH

#include "cuda/types.cuh"
#include "expr/expr_math.h"

#ifdef WEFT_EMU
#    include "expr/expr_host.h"
#else
__device__ static inline float wi_x_min_f32(float a, float b) {
    return wi_minimum(a, b);
}
__device__ static inline float wi_x_max_f32(float a, float b) {
    return wi_maximum(a, b);
}
__device__ static inline double wi_x_min_f64(double a, double b) {
    return wi_minimum(a, b);
}
__device__ static inline double wi_x_max_f64(double a, double b) {
    return wi_maximum(a, b);
}
__device__ static inline float wi_x_round_f32(float a) {
    return rintf(a);
}
__device__ static inline float wi_x_floor_f32(float a) {
    return floorf(a);
}
__device__ static inline float wi_x_ceil_f32(float a) {
    return ceilf(a);
}
__device__ static inline double wi_x_round_f64(double a) {
    return rint(a);
}
__device__ static inline double wi_x_floor_f64(double a) {
    return floor(a);
}
__device__ static inline double wi_x_ceil_f64(double a) {
    return ceil(a);
}
__device__ static inline int32_t wi_x_i32_of_f32(float a) {
    return __float2int_rz(a);
}
__device__ static inline uint32_t wi_x_u32_of_f32(float a) {
    return __float2uint_rz(a);
}
__device__ static inline float wi_x_round_f16(float a) {
    return (float)(__half)a;
}
__device__ static inline float wi_x_round_bf16(float a) {
    return (float)(__nv_bfloat16)a;
}
__device__ static inline float wi_x_sqrt_f32(float a) {
    return sqrtf(a);
}
__device__ static inline double wi_x_sqrt_f64(double a) {
    return sqrt(a);
}
#endif

#endif
