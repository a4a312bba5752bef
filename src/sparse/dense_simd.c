/* SPDX-License-Identifier: Apache-2.0 */
/* Elimination of columns, and the products that follow, of doubles, for one instruction set. */
#include "sparse/dense_simd.h"

#include <math.h>
#include <stdbool.h>

#include "cpu/lanes.h"
#include "sparse/dense.h"

typedef double real;
typedef wi_doubles reals;

#define LANES wi_lanes
#define TILE_COLUMNS (WI_VECTOR_BYTES / 8)
#define SPLAT wi_splat
#define MINUS_PRODUCT wi_minus_product
#define LOAD wi_load
#define STORE wi_store
#define LANES_BETWEEN wi_lanes_between
#define LOAD_LANES wi_load_lanes
#define STORE_LANES wi_store_lanes
#include "sparse/dense_simd_tiles.inc"

static void multiply(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda, const double *b,
                     int64_t ldb, double *c, int64_t ldc) {
    for (int64_t j = 0; j < n; j += TILE_COLUMNS) {
        const strip s = {.k = k,
                         .a = a,
                         .b = b + j,
                         .a_step = lda,
                         .b_step = ldb,
                         .a_next = TILE_ROWS,
                         .c = c + j * ldc,
                         .ldc = ldc};
        strip_any(CHAIN, m, wi_least(TILE_COLUMNS, n - j), &s);
    }
}

const wi_dense_simd WI_FOR_ISA(wi_dense_simd) = {
    .group = TILE_ROWS, .eliminate = eliminate, .update = update, .multiply = multiply};
