/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a thread of nbody, for one instruction set: lanes are targets, and every source is
 * spread over all lanes. */
#include "nbody/nbody_simd.h"

#include <stdatomic.h>

#include "cpu/lanes.h"

enum {
    /* Vectors of targets that are pulled together: two take the time of each other's roots. */
    VECTORS = WI_VECTOR_BYTES == 16 ? 1 : 2
};

typedef int32_t ints __attribute__((vector_size(WI_VECTOR_BYTES)));

/* y near 1 / sqrt(x), and by how much: to -12 bits or better. */
WI_INLINE wi_floats near_root_f32(wi_floats x) {
#if defined(__AVX512F__)
    return (wi_floats)_mm512_rsqrt14_ps((__m512)x);
#elif defined(__AVX2__)
    return (wi_floats)_mm256_rsqrt_ps((__m256)x);
#elif defined(__SSE2__)
    return (wi_floats)_mm_rsqrt_ps((__m128)x);
#else
    for (int k = 0; k < WI_VECTOR_BYTES / 4; k++)
        x[k] = 1 / sqrtf(x[k]);
    return x;
#endif
}

/* With AVX-512 close enough that one more Newton step on the third power ends it. */
WI_INLINE wi_doubles near_root_f64(wi_doubles x) {
#if defined(__AVX512F__)
    const wi_doubles y = (wi_doubles)_mm512_rsqrt14_pd((__m512d)x);
    const wi_doubles e = wi_minus_product(x * y, y, wi_splat(1));
    return wi_plus_product(y * e, wi_plus_product(e, wi_splat(0.375), wi_splat(0.5)), y);
#elif defined(__AVX2__)
    return (wi_doubles)_mm256_div_pd(_mm256_set1_pd(1), _mm256_sqrt_pd((__m256d)x));
#else
    for (int k = 0; k < WI_WIDE; k++)
        x[k] = 1 / wi_sqrt(x[k]);
    return x;
#endif
}

WI_INLINE wi_floats minus_product_f32(wi_floats a, wi_floats b, wi_floats c) {
    return wi_plus_product_f32(-a, b, c);
}

/* Is a lane of the mask set? */
WI_INLINE bool is_any(wi_longs mask) {
#if defined(__AVX512F__)
    return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__AVX2__)
    return _mm256_movemask_epi8((__m256i)mask) != 0;
#else
    return (mask[0] | mask[1]) != 0;
#endif
}

#define REAL float
#define VECTOR wi_floats
#define MASKS ints
#define PLUS_PRODUCT wi_plus_product_f32
#define MINUS_PRODUCT minus_product_f32
#define SPLAT wi_splat_f32
#define NEAR_ROOT near_root_f32
#define NAME(name) name##_f32
#include "nbody/nbody_simd_sums.inc"
#undef REAL
#undef VECTOR
#undef MASKS
#undef PLUS_PRODUCT
#undef MINUS_PRODUCT
#undef SPLAT
#undef NEAR_ROOT
#undef NAME

#define REAL double
#define VECTOR wi_doubles
#define MASKS wi_longs
#define PLUS_PRODUCT wi_plus_product
#define MINUS_PRODUCT wi_minus_product
#define SPLAT wi_splat
#define NEAR_ROOT near_root_f64
#define NAME(name) name##_f64
#include "nbody/nbody_simd_sums.inc"

const wi_nbody_simd WI_FOR_ISA(wi_nbody_simd) = {
    .f32 = group_f32, .f64 = group_f64, .walk_f32 = walk_f32, .walk_f64 = walk_f64};
