/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a thread of convolve, for one instruction set. All sets give the same bits: only how
 * many sums are made at a time differs. */
#include "convolve/convolve_simd.h"

#include <stdatomic.h>

#include "convolve/convolve_border.h"
#include "cpu/half_simd.h"
#include "cpu/lanes.h"
#include "cpu/stream.h"

enum {
    /* Vectors of a row that are computed together: with four rows that fills the registers. */
    VECTORS = WI_VECTOR_BYTES == 64 ? 4 : 2
};

/* Rows of x that are taken next. They are prefetched while sums are made, a part with each sum:
 * memory answers only so many requests at a time. */
typedef struct ahead {
    const char *row[WI_CONVOLVE_ROWS]; /* NULL: none */
    size_t bytes;                      /* of x, for an element of a line */
} ahead;

WI_INLINE void fetch_part(const ahead *next, size_t at, size_t n) {
    for (int o = 0; o < WI_CONVOLVE_ROWS; o++)
        if (next->row[o])
            wi_fetch(next->row[o] + at * next->bytes, n * next->bytes);
}

#if WI_VECTOR_BYTES >= 32
#    define STRIPS
enum {
    MOST_STRIP = 4, /* vectors of a strip */
    TALL_STRIP = WI_VECTOR_BYTES == 64 ? 4 : 2,
    TALL_ROWS = WI_CONVOLVE_TALL_ROWS,
    HAS_PARTS = WI_VECTOR_BYTES == 32, /* of filters of 7 x 7 */
    PART_ROWS = WI_CONVOLVE_PART_ROWS,
    MOST_PART = 4,  /* rows of the filter */
    PART_STRIP = 3, /* vectors of a strip, as strip_vectors says */
    /* The widest filter of which a strip prefetches its own rows: of more rows the second-level
     * cache of a processor with AVX2 does not hold those of the next task as well. */
    QUICK_SIDE = WI_VECTOR_BYTES == 64 ? 5 : WI_CONVOLVE_MOST_SIDE,
    /* Loads wait for stores under way whose addresses have the same lowest 12 bits, as those of x
     * and y often do; and memory takes a cache line of each of many rows at a fifth of its rate. So
     * outputs that bypass the cache are written later, so many bytes of a row together, or,
     * if these are no whole number of strips, half as many more. */
    WAITS = WI_VECTOR_BYTES == 32,
    WAITING_BYTES = 512
};

/* As many as leave `side` times as many sums in registers. */
WI_INLINE int strip_vectors(const int side) {
    return WI_VECTOR_BYTES == 64 ? (side < 7 ? 3 : 2) : side == 3 ? 4 : side == 5 ? 2 : PART_STRIP;
}

WI_INLINE void stream_vector(void *to, wi_longs v) {
#    if defined(__AVX512F__)
    _mm512_stream_si512(to, (__m512i)v);
#    else
    _mm256_stream_si256(to, (__m256i)v);
#    endif
}
#endif

#ifdef __AVX512F__
/* The vector that begins with element i of `low` and goes on in `high`. Loads at any address take
 * twice as long where they cross the end of a cache line, as these all do. */
#    define SHIFT(bits, i)                                                                         \
    case i:                                                                                        \
        return (wi_longs)_mm512_alignr_epi##bits((__m512i)high, (__m512i)low, i)
#    define SHIFTS(bits)                                                                           \
        WI_INLINE wi_longs shifted_##bits(wi_longs low, wi_longs high, const int i) {              \
            switch (i) {                                                                           \
                SHIFT(bits, 1);                                                                    \
                SHIFT(bits, 2);                                                                    \
                SHIFT(bits, 3);                                                                    \
                SHIFT(bits, 4);                                                                    \
                SHIFT(bits, 5);                                                                    \
                SHIFT(bits, 6);                                                                    \
            default:                                                                               \
                return low;                                                                        \
            }                                                                                      \
        }
SHIFTS(32)
SHIFTS(64)
#endif

typedef float wi_floats_there __attribute__((vector_size(WI_VECTOR_BYTES), aligned(4), may_alias));

#define SUM float
#define VECTOR wi_floats
#define VECTOR_THERE wi_floats_there
#define PLUS_PRODUCT wi_plus_product_f32
#define SPLAT wi_splat_f32
#define NAME(name) name##_f32
#define STEPS
#ifdef __AVX512F__
#    define SHIFTED(low, high, i) (wi_floats) shifted_32((wi_longs)(low), (wi_longs)(high), i)
#endif
#include "convolve/convolve_simd_band.inc"
#ifdef STRIPS
#    include "convolve/convolve_simd_strip.inc"
#    if WI_VECTOR_BYTES == 32
#        include "convolve/convolve_simd_parts.inc"
#    endif
#    include "convolve/convolve_simd_strip_tall.inc"
#    include "convolve/convolve_simd_strips.inc"
#endif
#undef SUM
#undef VECTOR
#undef VECTOR_THERE
#undef PLUS_PRODUCT
#undef SPLAT
#undef NAME
#undef STEPS
#undef SHIFTED

#define SUM double
#define VECTOR wi_doubles
#define VECTOR_THERE wi_doubles_there
#define PLUS_PRODUCT wi_plus_product
#define SPLAT wi_splat
#define NAME(name) name##_f64
#ifdef __AVX512F__
#    define SHIFTED(low, high, i) (wi_doubles) shifted_64((wi_longs)(low), (wi_longs)(high), i)
#endif
#include "convolve/convolve_simd_band.inc"
#ifdef STRIPS
#    include "convolve/convolve_simd_strip.inc"
#    if WI_VECTOR_BYTES == 32
#        include "convolve/convolve_simd_parts.inc"
#    endif
#    include "convolve/convolve_simd_strip_tall.inc"
#    include "convolve/convolve_simd_strips.inc"
#endif

const wi_convolve_simd WI_FOR_ISA(wi_convolve_simd) = {
    .f32 = work_f32,
    .f64 = work_f64,
#ifdef STRIPS
    .strips_f32 = work_by_strips_f32,
    .strips_f64 = work_by_strips_f64,
    .has_parts = HAS_PARTS,
#endif
};
