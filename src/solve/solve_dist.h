/* SPDX-License-Identifier: Apache-2.0 */
/* weft_solve and weft_solve_spd over ranks: a call as its user makes it. */
#ifndef WI_SOLVE_DIST_H
#define WI_SOLVE_DIST_H

#include "comm/dist.h"
#include "solve/system.h"

/* A call of weft_solve or weft_solve_spd over ranks, as its user makes it: solve.n counts the
 * columns of A that this rank passes, and solve.rhs those of B and X. */
typedef struct wi_solve_ranks_args {
    wi_solve_args solve;
    bool by_rows, transposed;
    bool upper; /* of a symmetric matrix: the triangle that is passed */
    const void *a, *b;
    void *x;
    size_t lda, ldb, ldx;
} wi_solve_ranks_args;

/* The rung; args is a wi_solve_ranks_args. */
weft_status wi_solve_ranks(weft_context *ctx, const void *args);

#endif
