/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU rungs of map share: a run of consecutive elements, and tables of loops over it. */
#ifndef WI_MAP_RUN_H
#define WI_MAP_RUN_H

#include "map/map.h"

enum {
    WI_MAP_OPS = 4,
    WI_MAP_RUN_MAX = 1 << 30 /* elements of one run: the loops count with 32 bits */
};

typedef struct wi_map_run {
    size_t n;
    const void *x, *y;
    void *z;
    wi_scalar a, b;
    uint64_t first;
} wi_map_run;

typedef void (*wi_map_loop)(const wi_map_run *run);

/* Elements [col, col + n) of row `row` of a call. */
static inline wi_map_run wi_map_run_of(const wi_map_args *args, size_t row, size_t col, size_t n) {
    size_t size = weft_type_size(args->type);
    wi_map_run run = {.n = n, .a = args->a, .b = args->b};
    run.x = args->x ? (const char *)args->x + (row * args->ldx + col) * size : NULL;
    run.y = args->y ? (const char *)args->y + (row * args->ldy + col) * size : NULL;
    run.z = (char *)args->z + (row * args->ldz + col) * size;
    run.first = args->first + (uint64_t)row * args->cols + col;
    return run;
}

#endif
