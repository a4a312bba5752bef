/* SPDX-License-Identifier: Apache-2.0 */
/* What trsm and trmm do with one block on the diagonal, compiled for each instruction set. */
#ifndef WI_TRIANGLE_SIMD_H
#define WI_TRIANGLE_SIMD_H

#include <stdbool.h>
#include <stddef.h>

#include "cpu/isa.h"

enum {
    WI_TRIANGLE_SIDE = 64,          /* of a block, at most */
    WI_TRIANGLE_PANEL_BYTES = 8192, /* of a panel, at most */
    WI_TRIANGLE_PACKED = WI_TRIANGLE_SIDE * (WI_TRIANGLE_SIDE + 1) / 2
};

/* Columns of X where they lie: element (i, j) is at x[i x_row + j x_column]. */
typedef struct wi_triangle_panel {
    size_t order, count;
    void *x;
    ptrdiff_t x_row, x_column;
} wi_triangle_panel;

/* A block T where it lies: element (i, k) is at t[i t_row + k t_column]. */
typedef struct wi_triangle_corner {
    const void *t;
    ptrdiff_t t_row, t_column;
    bool unit; /* its diagonal is all ones, and not read */
} wi_triangle_corner;

typedef enum wi_triangle_task {
    WI_TRIANGLE_SOLVE,   /* X = alpha T \ X */
    WI_TRIANGLE_MULTIPLY /* X = alpha T X */
} wi_triangle_task;

/* A panel X of `columns` columns of `order` rows, row after row without gaps; a block T, row after
 * row, of each what is left of the diagonal, and the diagonal. To solve, what is left of it is
 * packed with the other sign, and, if `pack` returns true, the diagonal's reciprocals in its place:
 * dividing takes as long as several products. */
typedef struct wi_triangle_kernel {
    size_t columns;
    bool (*pack)(const wi_triangle_corner *from, size_t order, wi_triangle_task task, void *t);
    void (*load)(const wi_triangle_panel *from, double by, void *x); /* and multiplies */
    void (*store)(const wi_triangle_panel *to, const void *x);
    void (*solve)(size_t order, bool reciprocals, const void *t, void *x);
    void (*multiply)(size_t order, double alpha, const void *t, void *x);
} wi_triangle_kernel;

typedef struct wi_triangle_simd {
    wi_triangle_kernel f64, f32;
} wi_triangle_simd;

WI_DECLARE_ISAS(wi_triangle_simd, wi_triangle_simd);

#endif
