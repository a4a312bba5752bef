/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of multiply-adds for one instruction set. */
#include "climb/chains.h"
#include "cpu/lanes.h"

enum {
#if defined(__AVX512F__) || !defined(__x86_64__)
    CHAINS = 24, /* of 32 registers; some processors start four multiply-adds per cycle */
#else
    CHAINS = 12, /* of 16 registers, two of which hold the factor and the addend */
#endif
    WIDE_F32 = WI_VECTOR_BYTES / 4
};

typedef float floats __attribute__((vector_size(WI_VECTOR_BYTES)));

/* s x + y, rounded once where the processor has fused multiply-add; else as two operations. */
WI_INLINE wi_doubles link_f64(wi_doubles s, wi_doubles x, wi_doubles y) {
#if defined(__FMA__) || defined(__FP_FAST_FMA)
    return wi_plus_product(s, x, y);
#else
    return s * x + y;
#endif
}

WI_INLINE floats link_f32(floats s, floats x, floats y) {
#if defined(__AVX512F__)
    return (floats)_mm512_fmadd_ps((__m512)s, (__m512)x, (__m512)y);
#elif defined(__FMA__)
    return (floats)_mm256_fmadd_ps((__m256)s, (__m256)x, (__m256)y);
#elif defined(__FP_FAST_FMAF)
    for (int k = 0; k < WIDE_F32; k++)
        s[k] = fmaf(s[k], x[k], y[k]);
    return s;
#else
    return s * x + y;
#endif
}

/* s = 0.999 s + 0.001 goes slowly towards 1: the compiler cannot treat it as a constant, and it is
 * never a subnormal number, an infinity or NaN. */
static void run_f64(int64_t links) {
    const wi_doubles x = wi_splat(0.999), y = wi_splat(0.001);
    wi_doubles s[CHAINS];
    volatile wi_doubles sink; /* stores a result, so that it must be computed */
#pragma GCC unroll 24
    for (int c = 0; c < CHAINS; c++)
        s[c] = wi_splat(2 + c);
    for (int64_t i = 0; i < links; i++) {
#pragma GCC unroll 24
        for (int c = 0; c < CHAINS; c++)
            s[c] = link_f64(s[c], x, y);
    }
#pragma GCC unroll 24
    for (int c = 1; c < CHAINS; c++)
        s[0] += s[c];
    sink = s[0];
    (void)sink;
}

static void run_f32(int64_t links) {
    const floats zero = {0}, x = zero + 0.999f, y = zero + 0.001f;
    floats s[CHAINS];
    volatile floats sink;
#pragma GCC unroll 24
    for (int c = 0; c < CHAINS; c++)
        s[c] = zero + (float)(2 + c);
    for (int64_t i = 0; i < links; i++) {
#pragma GCC unroll 24
        for (int c = 0; c < CHAINS; c++)
            s[c] = link_f32(s[c], x, y);
    }
#pragma GCC unroll 24
    for (int c = 1; c < CHAINS; c++)
        s[0] += s[c];
    sink = s[0];
    (void)sink;
}

const wi_chains WI_FOR_ISA(wi_chains) = {
    .f64 = run_f64,
    .f32 = run_f32,
    .f64_flops = 2 * CHAINS * WI_WIDE,
    .f32_flops = 2 * CHAINS * WIDE_F32,
};
