/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of a tile of elements, by marks where they begin: what rung `blocks` of group_keys
 * reduces at a time. */
#ifndef WI_GROUP_TILE_RUNS_H
#define WI_GROUP_TILE_RUNS_H

#include "group/group_simd.h"
#include "select/select_simd.h"

enum {
    WI_GROUP_TILE = 2 * WI_GROUP_ROW, /* elements */
    /* The memory of a thread: results of a tile's runs and of one more, or their starts, or the
     * running sums of a row. */
    WI_GROUP_RESULTS_BYTES = (WI_GROUP_TILE + 8) * 8 + WI_SELECT_SLACK_BYTES,
    WI_GROUP_STARTS_BYTES = WI_GROUP_TILE * 4 + WI_SELECT_SLACK_BYTES,
    WI_GROUP_SUMS_BYTES = WI_GROUP_ROW * 8
};

/* How a column is reduced. */
typedef struct wi_group_column {
    wi_group_run run;
    const wi_group_loops *loops;
    wi_group_running_sums *running; /* NULL: there are none for it */
    size_t size, result_bytes;
} wi_group_column;

typedef struct wi_group_tile {
    const wi_select_simd *simd;
    const uint32_t *count; /* 0, 1, 2 ... */
    size_t first, n;       /* its elements */
    size_t next;           /* an element before the end, from which on some are reduced soon */
    const uint64_t *marks; /* bit i % 64 of marks[i / 64]: does a run begin at element i? */
    size_t heads;          /* how many do; */
    size_t first_head, last_head; /* if any do, the first and the last of these elements */
    uint32_t *starts;             /* room for where; */
    bool listed;                  /* they are there */
    void *sums;                   /* room */
} wi_group_tile;

/* y[s] = x[first + starts[s]] ... x[first + starts[s + 1] - 1] reduced. */
void wi_group_reduce_runs(const wi_group_column *c, size_t first, const uint32_t *starts,
                          size_t runs, void *y);

typedef struct wi_group_tile_runs {
    /* Sets heads, first_head and last_head. Marks behind the last element are 0. */
    void (*count_heads)(wi_group_tile *t);
    /* Reduces the heads - 1 runs that begin and end in the tile, which has at least one head; y has
     * room for as many results and WI_SELECT_SLACK_BYTES. */
    void (*reduce)(const wi_group_column *c, wi_group_tile *t, void *y);
} wi_group_tile_runs;

WI_DECLARE_ISAS(wi_group_tile_runs, wi_group_tile_runs);

#endif
