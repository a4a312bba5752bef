/* SPDX-License-Identifier: Apache-2.0 */
/* L D Lt of the square of a window of columns, compiled for each instruction set. */
#ifndef WI_SPARSE_LDLT_SIMD_H
#define WI_SPARSE_LDLT_SIMD_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/isa.h"
#include "sparse/dense.h"

enum {
    WI_WINDOW =
        64 /* columns of a window, at most; also the distance of the columns of its square */
};

/* A window: on and below its diagonal, `a` has its square, and 0 in the rows from `columns` on;
 * aligned to 64 bytes. */
typedef struct wi_window {
    int64_t columns;
    double *a;               /* becomes L, with 1 on its diagonal, in the columns that are done */
    wi_dense_pivots pivots;  /* the D of the window */
    int8_t order[WI_WINDOW]; /* place k has what was in place order[k] */
    /* How to choose. */
    const int8_t *signs; /* not NULL: pivots in the order given, and these are their signs */
    double tiny;         /* a pivot must be larger, */
    bool perturb;        /* or it becomes this large */
    bool last;           /* tiny columns may not be left for later */
    bool failed;         /* after factor(): column `done` is tiny or not finite, see pivots.d */
} wi_window;

typedef struct wi_ldlt_simd {
    /* Chooses pivots and eliminates; returns how many columns are done. The others, those after
     * them in `order`, are to be put together with columns that follow, or have failed. */
    int64_t (*factor)(wi_window *w);
} wi_ldlt_simd;

WI_DECLARE_ISAS(wi_ldlt_simd, wi_ldlt_simd);

#endif
