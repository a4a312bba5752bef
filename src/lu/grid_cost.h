/* SPDX-License-Identifier: Apache-2.0 */
/* What eliminations over ranks would take: with columns dealt out, or blocks in a grid. All ranks
 * must choose the same, so nothing is asked of a rank's own machine: figures are those of a usual
 * cluster, and none of them was measured. */
#ifndef WI_GRID_COST_H
#define WI_GRID_COST_H

#include "comm/dist.h"

typedef struct wi_ranks_work {
    double m, n;
    double width; /* bytes of an element */
    bool spd;     /* half of the work, and no pivots to agree on */
} wi_ranks_work;

/* Why the ranks cannot form a grid, in whose rows and columns they communicate; NULL if they can. A
 * `misfit` of rungs. */
const char *wi_ranks_fit_grid(const weft_context *ctx, const void *args);

double wi_ranks_columns_seconds(const weft_context *ctx, const wi_ranks_work *w);
double wi_ranks_grid_seconds(const weft_context *ctx, const wi_ranks_work *w);

#endif
