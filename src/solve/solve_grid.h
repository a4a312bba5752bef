/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of a grid in memory of the host. */
#ifndef WI_SOLVE_GRID_H
#define WI_SOLVE_GRID_H

#include "solve/system.h"

static inline double wi_value_at(weft_type type, const void *p, size_t at) {
    return type == WEFT_F64 ? ((const double *)p)[at] : ((const float *)p)[at];
}

static inline int wi_power_at(const wi_grid *g, size_t i, size_t j) {
    return (g->row_power ? g->row_power[i] : 0) + (g->column_power ? g->column_power[j] : 0);
}

static inline double wi_element(const wi_grid *g, size_t i, size_t j) {
    const double x = wi_value_at(g->type, g->p, i * g->down + j * g->across);
    return g->row_power || g->column_power ? wi_times_power(x, wi_power_at(g, i, j)) : x;
}

#endif
