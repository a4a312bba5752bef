/* SPDX-License-Identifier: Apache-2.0 */
/* Fronts of a few rows, for one instruction set: a column is one or two vectors, and the whole
 * front stays in the first-level cache. Entries are computed by the chains that dense.h defines, so
 * that they have the same bits as in a larger front. */
#include "sparse/small_simd.h"

#include <math.h>

#include "sparse/chains.h"
#include "sparse/dense.h"

enum {
    VECTORS = WI_SMALL_ROWS / WI_WIDE /* of a column */
};

/* sum -= the products of columns p ... k - 1 for column j, in the V vectors that have all its rows.
 */
WI_INLINE void subtract_columns(const int V, const double *front, int64_t j, int64_t p, int64_t k,
                                wi_doubles sum[VECTORS]) {
    for (; p < k; p++) {
        const double *const l = front + p * WI_SMALL_ROWS;
        const wi_doubles factor = wi_splat(l[j]);
#pragma GCC unroll 8
        for (int v = 0; v < V; v++)
            sum[v] = wi_minus_product(wi_load(l + v * WI_WIDE), factor, sum[v]);
    }
}

/* Column j minus the products of the first k columns, of which the first `apart` are summed
 * separately. */
WI_INLINE void column_after(const int V, const double *front, int64_t j, int64_t apart, int64_t k,
                            wi_doubles sum[VECTORS]) {
#pragma GCC unroll 8
    for (int v = 0; v < V; v++)
        sum[v] = wi_splat(-0.0);
    subtract_columns(V, front, j, 0, apart, sum);
#pragma GCC unroll 8
    for (int v = 0; v < V; v++)
        sum[v] += wi_load(front + j * WI_SMALL_ROWS + v * WI_WIDE);
    subtract_columns(V, front, j, apart, k, sum);
}

/* Stores rows first ... height - 1 of a column; to[0] is its row 0. */
WI_INLINE void store_rows(const int V, int64_t first, int64_t height, double *to,
                          const wi_doubles sum[VECTORS]) {
#pragma GCC unroll 8
    for (int v = 0; v < V; v++) {
        const int64_t begin = first - v * WI_WIDE, end = height - v * WI_WIDE;
        if (begin < WI_WIDE && end > 0)
            wi_store_lanes(to + v * WI_WIDE,
                           wi_lanes_between(begin > 0 ? begin : 0, wi_least(end, WI_WIDE)), sum[v]);
    }
}

WI_INLINE int64_t factor_vectors(const int V, int64_t height, int64_t columns, double *front,
                                 double *panel, double *update) {
    wi_doubles sum[VECTORS];
    for (int64_t j = 0; j < columns; j++) {
        double *const column = front + j * WI_SMALL_ROWS;
        column_after(V, front, j, j / WI_DENSE_APART * WI_DENSE_APART, j, sum);
#pragma GCC unroll 8
        for (int v = 0; v < V; v++)
            wi_store(column + v * WI_WIDE, sum[v]);
        const double pivot = column[j];
        if (!(pivot > 0 && pivot < INFINITY)) {
            panel[j + j * height] = pivot;
            return j;
        }
        const double root = wi_sqrt(pivot);
        const wi_doubles reciprocal = wi_splat(1 / root);
#pragma GCC unroll 8
        for (int v = 0; v < V; v++) {
            sum[v] *= reciprocal;
            wi_store(column + v * WI_WIDE, sum[v]);
        }
        store_rows(V, j + 1, height, panel + j * height, sum);
        panel[j + j * height] = root;
    }
    for (int64_t j = columns; j < height; j++) {
        column_after(V, front, j, columns, columns, sum);
        store_rows(V, j, height, update + (j - columns) * (height - columns) - columns, sum);
    }
    return columns;
}

static int64_t factor(int64_t height, int64_t columns, double *front, double *panel,
                      double *update) {
    return 2 * height <= WI_SMALL_ROWS
               ? factor_vectors((VECTORS + 1) / 2, height, columns, front, panel, update)
               : factor_vectors(VECTORS, height, columns, front, panel, update);
}

/* ---- solves ---- */

static void forward(int64_t height, int64_t columns, const double *panel, const int64_t *rows,
                    double *y) {
    double *const x = y + rows[0];
    for (int64_t j = 0; j < columns; j++) {
        const double *const l = panel + j * height;
        x[j] *= 1 / l[j];
        for (int64_t i = j + 1; i < columns; i++)
            x[i] = fma(-l[i], x[j], x[i]);
    }
    for (int64_t i = columns; i < height; i++) {
        double sum = y[rows[i]];
        for (int64_t j = 0; j < columns; j++)
            sum = fma(-panel[i + j * height], x[j], sum);
        y[rows[i]] = sum;
    }
}

/* The sum of a[i] b[i] over fewer than WI_SMALL_ROWS rows; b has zeros after them. */
WI_INLINE double product_of(int64_t rows, const double *a, const double *b) {
    wi_doubles part[PARTS];
#pragma GCC unroll 4
    for (int q = 0; q < PARTS; q++) {
        part[q] = wi_splat(0);
        for (int64_t i = q * WI_WIDE; i < rows; i += CHAINS)
            part[q] = wi_plus_product(
                wi_load_lanes(a + i, wi_lanes_between(0, wi_least(rows - i, WI_WIDE))),
                wi_load(b + i), part[q]);
    }
    return sum_of(part);
}

static void backward(int64_t height, int64_t columns, const double *panel, const int64_t *rows,
                     double *y) {
    const int64_t below = height - columns;
    double *const x = y + rows[0], known[WI_SMALL_ROWS] = {0};
    for (int64_t i = 0; i < below; i++)
        known[i] = y[rows[columns + i]];
    for (int64_t j = 0; j < columns && below > 0; j++)
        x[j] -= product_of(below, panel + columns + j * height, known);
    for (int64_t i = columns - 1; i >= 0; i--) {
        x[i] *= 1 / panel[i + i * height];
        for (int64_t p = 0; p < i; p++)
            x[p] = fma(-panel[i + p * height], x[i], x[p]);
    }
}

const wi_small_simd WI_FOR_ISA(wi_small_simd) = {
    .factor = factor,
    .forward = forward,
    .backward = backward,
};
