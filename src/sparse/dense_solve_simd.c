/* SPDX-License-Identifier: Apache-2.0 */
/* Solves with right-hand sides, for one instruction set. */
#include <math.h>

#include "sparse/chains.h"
#include "sparse/dense.h"
#include "sparse/dense_simd.h"

enum {
    BLOCK = 8, /* columns of L solved at a time, and right-hand sides multiplied at a time */
    /* The part of A that stays in cache for GROUP right-hand sides: DEPTH columns of ROWS rows. */
    DEPTH = 32,
    ROWS = 192,
    GROUP = 32,
    /* How many columns are summed side by side, for one right-hand side and for SIDES of them. */
    COLUMNS_OF_ONE = WI_WIDE == 8 ? 8 : 4,
    COLUMNS = WI_WIDE == 8 ? 4 : 2,
    SIDES = COLUMNS
};

/* ---- y -= A x ---- */

/* N columns and one right-hand side. */
WI_INLINE void subtract_columns(const int N, int64_t m, const double *a, int64_t lda,
                                const double *x, double *y) {
    wi_doubles factor[BLOCK];
#pragma GCC unroll 8
    for (int p = 0; p < N; p++)
        factor[p] = wi_splat(x[p]);
    int64_t i = 0;
    for (; i + WI_WIDE <= m; i += WI_WIDE) {
        wi_doubles sum = wi_load(y + i);
#pragma GCC unroll 8
        for (int p = 0; p < N; p++)
            sum = wi_minus_product(wi_load(a + i + p * lda), factor[p], sum);
        wi_store(y + i, sum);
    }
    if (i < m) {
        const wi_lanes rest = wi_lanes_between(0, m - i);
        wi_doubles sum = wi_load_lanes(y + i, rest);
#pragma GCC unroll 8
        for (int p = 0; p < N; p++)
            sum = wi_minus_product(wi_load_lanes(a + i + p * lda, rest), factor[p], sum);
        wi_store_lanes(y + i, rest, sum);
    }
}

static void subtract_one(int64_t m, int64_t n, const double *a, int64_t lda, const double *x,
                         double *y) {
    int64_t j = 0;
    for (; j + BLOCK <= n; j += BLOCK)
        subtract_columns(BLOCK, m, a + j * lda, lda, x + j, y);
    if (n & 4) {
        subtract_columns(4, m, a + j * lda, lda, x + j, y);
        j += 4;
    }
    for (; j < n; j++)
        subtract_columns(1, m, a + j * lda, lda, x + j, y);
}

/* y -= A x for k <= DEPTH columns and up to GROUP right-hand sides: a matrix product, after the
 * rows of x are copied to be contiguous. A block of rows of A stays in cache for all of them. */
static void subtract_group(int64_t m, int64_t k, int64_t count, const double *a, int64_t lda,
                           const double *x, int64_t ldx, double *y, int64_t ldy) {
    double turned[DEPTH * GROUP];
    for (int64_t r = 0; r < count; r++)
        for (int64_t p = 0; p < k; p++)
            turned[r / BLOCK * BLOCK * DEPTH + p * BLOCK + r % BLOCK] = x[p + r * ldx];
    for (int64_t i = 0; i < m; i += ROWS)
        for (int64_t r = 0; r < count; r += BLOCK)
            WI_FOR_ISA(wi_dense_simd)
                .multiply(wi_least(ROWS, m - i), wi_least(BLOCK, count - r), k, a + i, lda,
                          turned + r * DEPTH, BLOCK, y + i + r * ldy, ldy);
}

static void subtract(int64_t m, int64_t n, int64_t count, const double *a, int64_t lda,
                     const double *x, int64_t ldx, double *y, int64_t ldy) {
    if (count == 1) {
        subtract_one(m, n, a, lda, x, y);
        return;
    }
    for (int64_t j = 0; j < n; j += DEPTH)
        for (int64_t r = 0; r < count; r += GROUP)
            subtract_group(m, wi_least(DEPTH, n - j), wi_least(GROUP, count - r), a + j * lda, lda,
                           x + j + r * ldx, ldx, y + r * ldy, ldy);
}

/* x = L \ x, in blocks of BLOCK columns; inside a block, one entry after the other. */
static void forward(int64_t n, int64_t count, const double *l, int64_t ldl, double *x,
                    int64_t ldx) {
    for (int64_t j = 0; j < n; j += BLOCK) {
        const int64_t wide = wi_least(BLOCK, n - j);
        const double *const corner = l + j + j * ldl;
        double reciprocals[BLOCK];
        for (int64_t p = 0; p < wide; p++)
            reciprocals[p] = 1 / corner[p + p * ldl];
        for (int64_t r = 0; r < count; r++) {
            double *const side = x + j + r * ldx;
            for (int64_t p = 0; p < wide; p++) {
                side[p] *= reciprocals[p];
                for (int64_t i = p + 1; i < wide; i++)
                    side[i] = fma(-corner[i + p * ldl], side[p], side[i]);
            }
        }
        subtract(n - j - wide, wide, count, corner + wide, ldl, x + j, ldx, x + j + wide, ldx);
    }
}

/* ---- x -= At y ---- */

/* J columns of A and R right-hand sides. */
WI_INLINE void subtract_sums(const int J, const int R, int64_t m, const double *a, int64_t lda,
                             const double *y, int64_t ldy, double *x, int64_t ldx) {
    wi_doubles sum[COLUMNS_OF_ONE][SIDES][PARTS];
#pragma GCC unroll 8
    for (int j = 0; j < J; j++)
#pragma GCC unroll 4
        for (int r = 0; r < R; r++)
#pragma GCC unroll 4
            for (int q = 0; q < PARTS; q++)
                sum[j][r][q] = wi_splat(0);
    int64_t i = 0;
    for (; i + CHAINS <= m; i += CHAINS) {
#pragma GCC unroll 4
        for (int q = 0; q < PARTS; q++)
#pragma GCC unroll 4
            for (int r = 0; r < R; r++) {
                const wi_doubles v = wi_load(y + i + q * WI_WIDE + r * ldy);
#pragma GCC unroll 8
                for (int j = 0; j < J; j++)
                    sum[j][r][q] =
                        wi_plus_product(wi_load(a + i + q * WI_WIDE + j * lda), v, sum[j][r][q]);
            }
    }
#pragma GCC unroll 4
    for (int q = 0; q < PARTS; q++, i += WI_WIDE) {
        if (i >= m)
            break;
        const wi_lanes rest = wi_lanes_between(0, wi_least(m - i, WI_WIDE));
#pragma GCC unroll 4
        for (int r = 0; r < R; r++) {
            const wi_doubles v = wi_load_lanes(y + i + r * ldy, rest);
#pragma GCC unroll 8
            for (int j = 0; j < J; j++)
                sum[j][r][q] =
                    wi_plus_product(wi_load_lanes(a + i + j * lda, rest), v, sum[j][r][q]);
        }
    }
#pragma GCC unroll 8
    for (int j = 0; j < J; j++)
#pragma GCC unroll 4
        for (int r = 0; r < R; r++)
            x[j + r * ldx] -= sum_of(sum[j][r]);
}

static void subtract_transposed_one(int64_t m, int64_t n, const double *a, int64_t lda,
                                    const double *y, double *x) {
    int64_t j = 0;
    for (; j + COLUMNS_OF_ONE <= n; j += COLUMNS_OF_ONE)
        subtract_sums(COLUMNS_OF_ONE, 1, m, a + j * lda, lda, y, 0, x + j, 0);
    if (j + 4 <= n) {
        subtract_sums(4, 1, m, a + j * lda, lda, y, 0, x + j, 0);
        j += 4;
    }
    for (; j < n; j++)
        subtract_sums(1, 1, m, a + j * lda, lda, y, 0, x + j, 0);
}

static void subtract_transposed(int64_t m, int64_t n, int64_t count, const double *a, int64_t lda,
                                const double *y, int64_t ldy, double *x, int64_t ldx) {
    const int64_t whole = count / SIDES * SIDES;
    int64_t j = 0;
    for (; j + COLUMNS <= n && whole > 0; j += COLUMNS)
        for (int64_t r = 0; r < whole; r += SIDES)
            subtract_sums(COLUMNS, SIDES, m, a + j * lda, lda, y + r * ldy, ldy, x + j + r * ldx,
                          ldx);
    for (; j < n && whole > 0; j++)
        for (int64_t r = 0; r < whole; r += SIDES)
            subtract_sums(1, SIDES, m, a + j * lda, lda, y + r * ldy, ldy, x + j + r * ldx, ldx);
    for (int64_t r = whole; r < count; r++)
        subtract_transposed_one(m, n, a, lda, y + r * ldy, x + r * ldx);
}

/* x = Lt \ x, from the last block to the first; each begins with the sums over the rows below it.
 */
static void backward(int64_t n, int64_t count, const double *l, int64_t ldl, double *x,
                     int64_t ldx) {
    for (int64_t end = n, j; end > 0; end = j) {
        j = (end - 1) / BLOCK * BLOCK;
        const int64_t wide = end - j;
        const double *const corner = l + j + j * ldl;
        double reciprocals[BLOCK];
        for (int64_t p = 0; p < wide; p++)
            reciprocals[p] = 1 / corner[p + p * ldl];
        subtract_transposed(n - end, wide, count, corner + wide, ldl, x + end, ldx, x + j, ldx);
        for (int64_t r = 0; r < count; r++) {
            double *const side = x + j + r * ldx;
            for (int64_t i = wide - 1; i >= 0; i--) {
                side[i] *= reciprocals[i];
                for (int64_t p = 0; p < i; p++)
                    side[p] = fma(-corner[i + p * ldl], side[i], side[p]);
            }
        }
    }
}

const wi_dense_solve_simd WI_FOR_ISA(wi_dense_solve_simd) = {
    .forward = forward,
    .subtract = subtract,
    .backward = backward,
    .subtract_transposed = subtract_transposed,
};
