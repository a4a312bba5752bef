/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a thread of convolve, for one instruction set. All sets give the same bits: only how
 * many sums are made at a time differs. */
#include "convolve/convolve_simd.h"

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

typedef float wi_floats_there __attribute__((vector_size(WI_VECTOR_BYTES), aligned(4), may_alias));

#define SUM float
#define VECTOR wi_floats
#define VECTOR_THERE wi_floats_there
#define PLUS_PRODUCT wi_plus_product_f32
#define SPLAT wi_splat_f32
#define NAME(name) name##_f32
#include "convolve/convolve_simd_band.inc"
#undef SUM
#undef VECTOR
#undef VECTOR_THERE
#undef PLUS_PRODUCT
#undef SPLAT
#undef NAME

#define SUM double
#define VECTOR wi_doubles
#define VECTOR_THERE wi_doubles_there
#define PLUS_PRODUCT wi_plus_product
#define SPLAT wi_splat
#define NAME(name) name##_f64
#include "convolve/convolve_simd_band.inc"

const wi_convolve_simd WI_FOR_ISA(wi_convolve_simd) = {.f32 = work_f32, .f64 = work_f64};
