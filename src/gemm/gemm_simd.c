/* SPDX-License-Identifier: Apache-2.0 */
/* Products of packed blocks for one instruction set: the sums of a tile of C, 3 vectors of rows by
 * 4 or 8 columns, stay in registers over all k of the block. */
#include <stdbool.h>

#include "gemm/gemm_simd.h"

#include "cpu/half_simd.h"
#include "cpu/lanes.h"

enum {
    LINE_BYTES = 64,
    TILE_VECTORS = 3,
#if defined(__AVX512F__) || !defined(__x86_64__)
    TILE_COLUMNS = 8, /* sums take 24 of 32 registers */
#else
    TILE_COLUMNS = 4, /* 12 of 16 */
#endif
    HALF_COLUMNS = TILE_COLUMNS / 2,
    MOST_DEPTH = 256,            /* the most k of a block */
    PAIR_DEPTH = 2 * MOST_DEPTH, /* the same of i8, two to a word */
    NEXT_BYTES = 1024, /* of the next panel of A, at most, that are prefetched during a tile */
    B_AHEAD = 16       /* steps along k that B is prefetched ahead */
};

#define AS_IT_IS(k) (k)
#define PAIRS(k) (((k) + 1) / 2)

/* ---- integers ---- */

/* Of i32 sums; unsigned, as they wrap. */
typedef uint32_t wholes __attribute__((vector_size(WI_VECTOR_BYTES)));

WI_INLINE wholes splat_whole(uint32_t x) {
    return x - (wholes){0};
}

/* Each word of a and b is a pair of signed 16-bit numbers; both products are added to c. */
WI_INLINE wholes plus_pairs(wholes a, wholes b, wholes c) {
#if defined(__AVX512BW__)
    return c + (wholes)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return c + (wholes)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return c + (wholes)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
    typedef int32_t signs __attribute__((vector_size(WI_VECTOR_BYTES)));
    const signs a_low = (signs)(a << 16) >> 16, b_low = (signs)(b << 16) >> 16;
    return c + (wholes)(a_low * b_low) + (wholes)(((signs)a >> 16) * ((signs)b >> 16));
#endif
}

#define WHOLE(x) ((uint32_t)(int32_t)(x))
#define AS_F32(x) ((float)(x))
#define PLUS_WHOLE(a, b, c) ((c) + (a) * (b))

/* ---- packing ---- */

#define COPY_RUN(n, from, to) memcpy(to, from, (n) * sizeof *(to))

#define NAME(f) f##_f64
#define WORD double
#include "gemm/gemm_simd_turn.inc"

#define NAME(f) f##_f64
#define IN double
#define WORD double
#define COPY COPY_RUN
#define TURN turn_f64
#include "gemm/gemm_simd_pack.inc"

#define NAME(f) f##_f64
#define WORD double
#define STEPS AS_IT_IS
#include "gemm/gemm_simd_panels.inc"

#define NAME(f) f##_f32
#define WORD float
#include "gemm/gemm_simd_turn.inc"

#define NAME(f) f##_f32
#define IN float
#define WORD float
#define COPY COPY_RUN
#define TURN turn_f32
#include "gemm/gemm_simd_pack.inc"

#define NAME(f) f##_f32
#define WORD float
#define STEPS AS_IT_IS
#include "gemm/gemm_simd_panels.inc"

#define NAME(f) f##_f16
#define IN uint16_t
#define WORD float
#define COPY wi_f16_widen_run
#define TURN turn_f32
#include "gemm/gemm_simd_pack.inc"

#define NAME(f) f##_f16
#define WORD float
#define STEPS AS_IT_IS
#include "gemm/gemm_simd_panels.inc"

#define NAME(f) f##_bf16
#define IN uint16_t
#define WORD float
#define COPY wi_bf16_widen_run
#define TURN turn_f32
#include "gemm/gemm_simd_pack.inc"

#define NAME(f) f##_bf16
#define WORD float
#define STEPS AS_IT_IS
#include "gemm/gemm_simd_panels.inc"

WI_INLINE uint32_t pair_of(int8_t low, int8_t high) {
    return ((uint32_t)low & 0xffff) | (uint32_t)high << 16;
}

/* Two steps of k to a word; if k is odd the last one is paired with 0. `next` leads to the next k,
 * `apart` to the next row or column. */
WI_INLINE void pack_panel_i8(const size_t width, size_t count, size_t k, const wi_gemm_side *side,
                             size_t first, uint32_t *to) {
    const size_t next = side->across ? 1 : side->ld, apart = side->across ? side->ld : 1;
    const int8_t *x = (const int8_t *)side->x + first * apart;
    for (size_t p = 0; p < k; p += 2, x += 2 * next, to += width) {
        if (p + 1 < k)
            for (size_t i = 0; i < count; i++)
                to[i] = pair_of(x[i * apart], x[i * apart + next]);
        else
            for (size_t i = 0; i < count; i++)
                to[i] = pair_of(x[i * apart], 0);
        for (size_t i = count; i < width; i++)
            to[i] = 0;
    }
}

#define NAME(f) f##_i8
#define WORD uint32_t
#define STEPS PAIRS
#include "gemm/gemm_simd_panels.inc"

/* ---- products ---- */

#define NAME(f) f##_f64
#define WORD double
#define VECTOR wi_doubles
#define SCALAR AS_IT_IS
#define SPLAT wi_splat
#define PLUS_PRODUCT wi_plus_product
#define PLUS_SCALED wi_plus_product
#define PLUS_SCALED_WORD fma
#define STEPS AS_IT_IS
#define UNROLL_STEPS _Pragma("GCC unroll 4")
#include "gemm/gemm_simd_tile.inc"

#define NAME(f) f##_f64
#define WORD double
#include "gemm/gemm_simd_thin.inc"

#define NAME(f) f##_f32
#define WORD float
#define VECTOR wi_floats
#define SCALAR AS_F32
#define SPLAT wi_splat_f32
#define PLUS_PRODUCT wi_plus_product_f32
#define PLUS_SCALED wi_plus_product_f32
#define PLUS_SCALED_WORD fmaf
#define STEPS AS_IT_IS
#define UNROLL_STEPS _Pragma("GCC unroll 4")
#include "gemm/gemm_simd_tile.inc"

#define NAME(f) f##_f32
#define WORD float
#include "gemm/gemm_simd_thin.inc"

/* plus_pairs takes a multiplication and an addition, and so a register for the product: an unrolled
 * loop would have none left. */
#define NAME(f) f##_i32
#define WORD uint32_t
#define VECTOR wholes
#define SCALAR WHOLE
#define SPLAT splat_whole
#define PLUS_PRODUCT plus_pairs
#define PLUS_SCALED PLUS_WHOLE
#define PLUS_SCALED_WORD PLUS_WHOLE
#define STEPS PAIRS
#define UNROLL_STEPS _Pragma("GCC unroll 1")
#include "gemm/gemm_simd_tile.inc"

/* ---- columns of C in f16 and bf16 ---- */

static void widen_f16(size_t n, const void *from, float *to) {
    wi_f16_widen_run(n, from, to);
}

static void widen_bf16(size_t n, const void *from, float *to) {
    wi_bf16_widen_run(n, from, to);
}

static void narrow_f16(size_t n, const float *from, void *to) {
    wi_f16_narrow_run(n, from, to);
}

static void narrow_bf16(size_t n, const float *from, void *to) {
    wi_bf16_narrow_run(n, from, to);
}

#define F32_KERNEL(type, thin)                                                                     \
    {                                                                                              \
        WEFT_F32, ROWS_f32, TILE_COLUMNS, WIDE_f32, MOST_DEPTH, pack_a_##type, pack_b_##type,      \
            multiply_f32, thin                                                                     \
    }

const wi_gemm_simd WI_FOR_ISA(wi_gemm_simd) = {
    .kernel = {[WEFT_F64] = {WEFT_F64, ROWS_f64, TILE_COLUMNS, WIDE_f64, MOST_DEPTH, pack_a_f64,
                             pack_b_f64, multiply_f64, multiply_thin_f64},
               [WEFT_F32] = F32_KERNEL(f32, multiply_thin_f32),
               [WEFT_F16] = F32_KERNEL(f16, NULL),
               [WEFT_BF16] = F32_KERNEL(bf16, NULL),
               [WEFT_I8] = {WEFT_I32, ROWS_i32, TILE_COLUMNS, WIDE_i32, PAIR_DEPTH, pack_a_i8,
                            pack_b_i8, multiply_i32, NULL}},
    .widen = {[WEFT_F16] = widen_f16, [WEFT_BF16] = widen_bf16},
    .narrow = {[WEFT_F16] = narrow_f16, [WEFT_BF16] = narrow_bf16},
};
