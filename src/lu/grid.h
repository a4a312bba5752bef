/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices whose square blocks are dealt out in turn to ranks that form a grid: block (I, J) to the
 * rank in row I mod p and column J mod q of p x q ranks. A rank's part lies by rows in memory of
 * its own place, so that whole rows can be sent. What ranks send each other is host memory. */
#ifndef WI_RANK_GRID_H
#define WI_RANK_GRID_H

#include "core/smaller.h"
#include "lu/cyclic.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wi_rank_grid {
    weft_context *ctx;
    weft_context *row, *column; /* the ranks in the same row, and in the same column, of the grid */
    wi_cyclic c;                /* what the call passes; c.block is that of both directions */
    size_t p, q, i, j;          /* the grid, and this rank's place in it */
    size_t rows, columns;       /* of this rank's part */
    char *a;                    /* its part, */
    size_t ld;                  /* and elements from one row of it to the next */
    /* Room for dealing, in host memory but for `turned`: */
    char *passed, *packed, *own; /* columns that the call passes; the same in the order of ranks;
                                    this rank's part by columns */
    char *turned;                /* the latter on a GPU */
    size_t *outgoing, *incoming; /* elements for each rank, and of each */
    weft_status status;          /* of this rank's own steps */
} wi_rank_grid;

/* Makes a local call as such a step. */
#define WI_GRID_STEP(g, call) WI_LOCAL_STEP((g)->ctx, (g)->status, call)

/* Rows of the grid, as square as the number of ranks allows and no more than columns; or what
 * WEFT_GRID says: "4x2" for 4 rows of 2. */
weft_status wi_rank_grid_rows(weft_context *ctx, size_t *rows);

/* Begins with a number of rows that divides that of ranks. Collective, and so are `deal` and
 * `back`; `take` is one of this rank's own steps. */
weft_status wi_rank_grid_begin(wi_rank_grid *g, weft_context *ctx, const wi_given *given,
                               size_t rows);
void wi_rank_grid_take(wi_rank_grid *g);
weft_status wi_rank_grid_deal(wi_rank_grid *g);
weft_status wi_rank_grid_back(wi_rank_grid *g);
void wi_rank_grid_end(wi_rank_grid *g);

/* Memory for those who work on it, as own steps too: n elements of `width` bytes each on the host,
 * or bytes on the rank's own place. Its address goes to *p; NULL if this step or one before it has
 * failed. */
void wi_rank_grid_take_host(wi_rank_grid *g, size_t n, size_t width, void *p);
void wi_rank_grid_take_place(wi_rank_grid *g, size_t bytes, char **p);

/* Begins to send a message about block column k from the ranks that have it, each along its row of
 * the grid; `poll` drives it on, or with `wait` returns when it is there. *under_way: it is not. */
weft_status wi_rank_grid_send(const wi_rank_grid *g, char *message, size_t bytes, size_t k,
                              bool *under_way);
weft_status wi_rank_grid_poll(const wi_rank_grid *g, bool *under_way, bool wait);

/* How many rows, or columns, before number `end` belong to place `at` of `places`. */
size_t wi_rank_grid_below(size_t block, size_t end, size_t at, size_t places);
/* Own rows, or columns, before row or column `end` of the whole. */
static inline size_t wi_rank_grid_rows_below(const wi_rank_grid *g, size_t end) {
    return wi_rank_grid_below(g->c.block, wi_smaller(end, g->c.given.m), g->i, g->p);
}
static inline size_t wi_rank_grid_columns_below(const wi_rank_grid *g, size_t end) {
    return wi_rank_grid_below(g->c.block, wi_smaller(end, g->c.all), g->j, g->q);
}
/* The row of the whole that is own row r. */
static inline size_t wi_rank_grid_row_of(const wi_rank_grid *g, size_t r) {
    return (r / g->c.block * g->p + g->i) * g->c.block + r % g->c.block;
}
/* The row of the grid that has row `row` of the whole. */
static inline size_t wi_rank_grid_holder(const wi_rank_grid *g, size_t row) {
    return row / g->c.block % g->p;
}
/* Element (row, column) of the own part. */
static inline char *wi_rank_grid_at(const wi_rank_grid *g, size_t row, size_t column) {
    return g->a + (row * g->ld + column) * weft_type_size(g->c.given.type);
}

#ifdef __cplusplus
}
#endif
#endif
