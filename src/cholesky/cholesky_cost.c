/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of cholesky cost on a GPU, in seconds. */
#include "cholesky/cholesky_cost.h"

#include <math.h>

#include "core/machine.h"
#include "core/smaller.h"

/* Cycles, of a multiprocessor that has two blocks of threads: a step from its first load to its
 * last store; each tile more that a block makes one of L; and a tile that is brought up to date. */
static const double step_cycles = 36000, tile_cycles = 26000, update_cycles = 7000;
/* And of `panels`: a panel of 64 columns and its products, 78 us at n = 1024 on an H200; and the
 * share of the peak that products reach, which is a guess. */
static const double panel_cycles = 150000, products_share = 0.6;
enum {
    SIDE = 64,
    SLOTS = 2,
    LEAST = 256, /* columns of a block */
    SHARE = 4    /* of what is left, a block at most */
};

static double tiles_of(size_t n) {
    return ceil((double)n / SIDE);
}

size_t wi_cholesky_block_width(weft_type type, size_t left, size_t width, size_t tail) {
    const size_t times = type == WEFT_F64 ? 2 : 1;
    width *= times;
    if (left <= times * tail)
        return left;
    while (width > LEAST && left < SHARE * width)
        width /= 2;
    return wi_smaller(left, width);
}

/* Of the first `columns` of a matrix of this order, on so many multiprocessors. */
static double seconds_of_steps(const wi_machine *m, size_t order, size_t columns, int units) {
    const double rows = tiles_of(order), end = tiles_of(columns), slots = SLOTS * (double)units;
    double seconds = m->launch_s;
    for (double k = 0; k < end; k++) {
        const double below = rows - 1 - k, beyond = end - 1 - k;
        const double updates = k > 0 ? beyond * (rows - 1) - beyond * (k + end) / 2 : 0;
        const double more = fmax(0, below - slots), first = fmax(1, fmin(below, slots));
        const double chain = step_cycles + more / slots * tile_cycles;
        const double work =
            (first * step_cycles + more * tile_cycles + updates * update_cycles) / slots;
        seconds += m->launch_s + fmax(chain, work) / m->unit_hz;
    }
    return seconds;
}

static double product_seconds(const weft_context *ctx, const wi_syrk_args *product) {
    return wi_pick(ctx, &wi_syrk_ladder, product->type, product)->seconds(ctx, product);
}

/* ---- rungs ---- */

double wi_cholesky_steps_seconds(const weft_context *ctx, const void *args) {
    const wi_cholesky_args *const g = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double bytes = (double)g->n * (double)g->n * (double)weft_type_size(g->type);
    return seconds_of_steps(m, g->n, g->n, m->units) +
           (bytes > (double)m->cache_bytes ? tiles_of(g->n) / 3 * wi_seconds_moving(m, bytes) : 0);
}

/* From one factor to the next: in a cluster, or from one block to any other. */
static double cycles_of_link(weft_type type, double tiles) {
    if (tiles <= WI_CHOLESKY_CHAIN)
        return type == WEFT_F64 ? 18500 : 17000;
    return type == WEFT_F64 ? 23000 : 20500;
}

/* Of the first `columns` of a matrix of this order. A column of tiles takes as long as its factor,
 * or as its products, which are of f64. */
static double seconds_of_flow(const wi_machine *m, weft_type type, size_t order, size_t columns) {
    const double tiles = tiles_of(order), chain = cycles_of_link(type, tiles) / m->unit_hz;
    const double rate = 1.2 * m->f64_flops;
    double seconds = 2 * m->launch_s;
    for (double k = 0; k < tiles_of(columns); k++)
        seconds += fmax(chain, 2.0 * SIDE * SIDE * SIDE * k * (tiles - k) / rate);
    return seconds;
}

/* What the last columns are left to. */
double wi_cholesky_flow_seconds(const weft_context *ctx, const void *args) {
    const wi_cholesky_args *const g = args;
    const double seconds = seconds_of_flow(wi_machine_of(ctx), g->type, g->n, g->n);
    if (wi_cholesky_block_width(g->type, g->n, WI_CHOLESKY_WIDTH, WI_CHOLESKY_TAIL) == g->n)
        return seconds;
    return fmax(seconds, 1.1 * wi_cholesky_blocks_seconds(ctx, args));
}

/* Panels of 64 columns, of two kernels and some products each, take turns with a product for the
 * rest. No other rung makes a part of a matrix; a whole one took 1.2 to 3.3 times as long as by
 * `steps` (README). */
double wi_cholesky_panels_seconds(const weft_context *ctx, const void *args) {
    const wi_cholesky_args *const g = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double rows = (double)g->n, columns = (double)g->columns;
    if (g->columns == 0)
        return 2 * wi_cholesky_steps_seconds(ctx, args);
    const double flops = columns * columns * (rows - columns * 2 / 3);
    const double peak = g->type == WEFT_F64 ? m->f64_flops : m->f32_flops;
    return tiles_of(g->columns) * panel_cycles / m->unit_hz + flops / (products_share * peak);
}

double wi_cholesky_blocks_seconds(const weft_context *ctx, const void *args) {
    const wi_cholesky_args *const g = args;
    const wi_machine *const m = wi_machine_of(ctx);
    double seconds = 0;
    for (size_t left = g->n, width; left > 0; left -= width) {
        width = wi_cholesky_block_width(g->type, left, WI_CHOLESKY_WIDTH, WI_CHOLESKY_TAIL);
        const wi_syrk_args rest = {.type = g->type, .n = left - width, .k = width};
        seconds += seconds_of_flow(m, g->type, left, width);
        if (left > width)
            seconds += product_seconds(ctx, &rest);
    }
    return seconds;
}
