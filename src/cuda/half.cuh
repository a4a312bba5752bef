/* SPDX-License-Identifier: Apache-2.0 */
/* The narrow floats, f16 and bf16: storage, and conversions that each round once, to nearest and
 * ties to even. CUDA's own headers of them have all their arithmetic, and a compiler of kernels
 * reads it four times: 1.3 s for each file, more than most kernels take. The instructions here are
 * theirs. */
#ifndef WI_HALF_CUH
#define WI_HALF_CUH

#include <stdint.h>

#ifdef WEFT_EMU
#    include "cuda/half_emu.cuh"
#else
struct alignas(2) wi_f16 {
    uint16_t bits;

    wi_f16() = default;
    __device__ wi_f16(float x) {
        asm("{  cvt.rn.f16.f32 %0, %1;}\n" : "=h"(bits) : "f"(x));
    }
    __device__ wi_f16(double x) {
        asm("{  cvt.rn.f16.f64 %0, %1;}\n" : "=h"(bits) : "d"(x));
    }
    __device__ wi_f16(int x) {
        asm("cvt.rn.f16.s32 %0, %1;" : "=h"(bits) : "r"(x));
    }
    __device__ operator float() const {
        float x;
        asm("{  cvt.f32.f16 %0, %1;}\n" : "=f"(x) : "h"(bits));
        return x;
    }
};

struct alignas(2) wi_bf16 {
    uint16_t bits;

    wi_bf16() = default;
    __device__ wi_bf16(float x) {
        asm("{  cvt.rn.bf16.f32 %0, %1;}\n" : "=h"(bits) : "f"(x));
    }
    /* x is cut to an f32, whose last bit is set if that has changed it: rounding that rounds x. */
    __device__ wi_bf16(double x) {
#    if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        asm("{  cvt.rn.bf16.f64 %0, %1;}\n" : "=h"(bits) : "d"(x));
#    else
        float near;
        double back;
        asm("cvt.rn.f32.f64 %0, %1;" : "=f"(near) : "d"(x));
        asm("cvt.f64.f32 %0, %1;" : "=d"(back) : "f"(near));
        uint32_t cut = __float_as_uint(near);
        const bool is_number = cut << 1 <= 0xff000000u;
        if (x > 0.0 && back > x)
            cut--;
        if (x < 0.0 && back < x)
            cut--;
        if (back != x && is_number)
            cut |= 1u;
        *this = wi_bf16(__uint_as_float(cut));
#    endif
    }
    __device__ wi_bf16(int x) {
        const float above = __int2float_ru(x), below = __int2float_rd(x);
        float cut = __int2float_rz(x);
        if (above != below)
            cut = __uint_as_float(__float_as_uint(cut) | 1u);
        *this = wi_bf16(cut);
    }
    __device__ operator float() const {
        float x;
#    if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        asm("{ cvt.f32.bf16 %0, %1;}\n" : "=f"(x) : "h"(bits));
#    else
        asm("{ mov.b32 %0, {0,%1};}\n" : "=f"(x) : "h"(bits));
#    endif
        return x;
    }
};
#endif

#endif
