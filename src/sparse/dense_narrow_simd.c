/* SPDX-License-Identifier: Apache-2.0 */
/* Elimination of columns, and the products that follow, of floats, for one instruction set. */
#include <math.h>
#include <stdbool.h>

#include "cpu/lanes.h"
#include "sparse/dense.h"
#include "sparse/dense_simd.h"

typedef float real;
typedef wi_floats reals;

/* Sums of a tile, its rows and a factor have to fit the registers: 16, or 32 with AVX-512. */
#define LANES wi_lanes_f32
#define TILE_COLUMNS (WI_VECTOR_BYTES > 32 ? 8 : 4)
#define SPLAT wi_splat_f32
#define MINUS_PRODUCT wi_minus_product_f32
#define LOAD wi_load_f32
#define STORE wi_store_f32
#define LANES_BETWEEN wi_lanes_between_f32
#define LOAD_LANES wi_load_lanes_f32
#define STORE_LANES wi_store_lanes_f32
#include "sparse/dense_simd_tiles.inc"

static void widen(int64_t m, int64_t n, const float *a, int64_t lda, double *to, int64_t ldt) {
    for (int64_t j = 0; j < n; j++) {
        int64_t i = 0;
        for (; i + WI_WIDE <= m; i += WI_WIDE)
            wi_store(to + i + j * ldt, wi_doubles_of_f32(a + i + j * lda));
        for (; i < m; i++)
            to[i + j * ldt] = a[i + j * lda];
    }
}

const wi_dense_narrow_simd WI_FOR_ISA(wi_dense_narrow_simd) = {
    .group = TILE_ROWS, .eliminate = eliminate, .update = update, .widen = widen};
