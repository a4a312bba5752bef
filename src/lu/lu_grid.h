/* SPDX-License-Identifier: Apache-2.0 */
/* lu over a grid of ranks: a panel of columns that the ranks of one column factor together, and
 * which rows they then exchange. */
#ifndef WI_LU_GRID_H
#define WI_LU_GRID_H

#include "lu/grid.h"
#include "lu/lu_dist.h"

/* A panel of columns, which a column of ranks factors together, in host memory. */
typedef struct wi_lu_grid_panel {
    const wi_rank_grid *g;
    size_t first;           /* its first row and column, of the whole */
    size_t columns, pivots; /* pivots: columns, or as many as there are rows left */
    size_t rows;            /* of this rank from row `first` on: */
    char *w;                /* these, by rows */
    char *top;              /* pivots x columns by rows, on all of the ranks: L11 and U11 */
    int64_t *pivot;         /* rows of the whole */
    int64_t *words;         /* WI_LU_WORDS, columns of the whole */
    char *said, *heard;     /* room for a message, and for those of all ranks of the column */
} wi_lu_grid_panel;

/* Bytes of a message about panels of so many columns. */
size_t wi_lu_grid_said_bytes(weft_type type, size_t columns);
/* Factors it. Fails if the communication does. */
weft_status wi_lu_grid_factor(const wi_lu_grid_panel *p);

/* Which rows change places in a panel's exchanges, and where the ranks of a column find them when
 * each has passed its own. */
typedef struct wi_lu_moves {
    size_t pivots, count; /* the first `pivots` are the rows that become rows of U */
    size_t *to, *from;    /* rows of the whole, 2 x block of each */
    size_t *slot;         /* where row `from` is among those that the ranks pass; or SIZE_MAX */
    size_t *passed;       /* rows that each rank of the column passes */
    size_t all;           /* that they pass together */
} wi_lu_moves;

void wi_lu_moves_plan(wi_lu_moves *m, const wi_rank_grid *g, size_t first, size_t pivots,
                      const int64_t *pivot);

#endif
