/* SPDX-License-Identifier: Apache-2.0 */
/* The narrow floats, f16 and bf16: storage, and conversions that each round once, to nearest and
 * ties to even. CUDA's own headers of them have all their arithmetic, and a compiler of kernels
 * reads it four times: 1.3 s for each file, more than most kernels take. */
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
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    }
    __device__ wi_f16(double x) {
        asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
    }
    __device__ wi_f16(int x) {
        asm("cvt.rn.f16.s32 %0, %1;" : "=h"(bits) : "r"(x));
    }
    __device__ operator float() const {
        float x;
        asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
        return x;
    }
};

struct alignas(2) wi_bf16 {
    uint16_t bits;

    wi_bf16() = default;
    __device__ wi_bf16(float x) {
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    }
    __device__ wi_bf16(double x) {
#    if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        asm("cvt.rn.bf16.f64 %0, %1;" : "=h"(bits) : "d"(x));
#    else
        const float cut = __double2float_rz(x);
        *this = of_cut(cut, (double)cut != x);
#    endif
    }
    __device__ wi_bf16(int x) {
        const float cut = __int2float_rz(x);
        *this = of_cut(cut, __float2int_rz(cut) != x);
    }
    __device__ operator float() const {
        float x;
#    if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        asm("cvt.f32.bf16 %0, %1;" : "=f"(x) : "h"(bits));
#    else
        asm("mov.b32 %0, {0, %1};" : "=f"(x) : "h"(bits));
#    endif
        return x;
    }

  private:
    /* A number that was cut to an f32 has the last bit set where that has changed it. So it is
     * rounded as it was, for an f32 has more than two bits beyond those of a bf16. */
    static __device__ wi_bf16 of_cut(float cut, bool changed) {
        return wi_bf16(__uint_as_float(__float_as_uint(cut) | (changed ? 1u : 0u)));
    }
};
#endif

#endif
