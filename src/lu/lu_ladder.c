/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of lu: which calls each can do, and what it costs. */
#include <math.h>

#include "core/gpu.h"
#include "cpu/blas.h"
#include "lu/grid_cost.h"
#include "lu/lu_dist.h"

enum {
    LU_TYPES = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64)
};

static const char *fits_openblas(const weft_context *ctx, const void *args) {
    const wi_lu_args *const g = args;
    (void)ctx;
    if (g->m > INT32_MAX || g->n > INT32_MAX || g->lda > INT32_MAX)
        return "counts with 32 bits: needs sizes below 2^31";
    return wi_blas_load() ? NULL : "needs libopenblas.so.0, which is not on this machine";
}

/* Panels of `wide` columns are eliminated one by one, on one thread at a fifth of its peak, or on
 * that of all if others have other work; the rest is products; and each column has `column_s` of
 * calls. Seen on a Zen 3: README.md. */
typedef struct cost {
    double wide, column_s;
    double peak; /* share of the peak that products reach */
    double start_s;
    bool hidden; /* panels are, behind products */
} cost;

static double seconds_of(const weft_context *ctx, const wi_lu_args *g, const cost *c) {
    const wi_machine *const machine = wi_machine_of(ctx);
    const double peak = g->type == WEFT_F64 ? machine->f64_flops : machine->f32_flops;
    const double m = (double)g->m, n = (double)g->n, r = fmin(m, n);
    const double flops = 2 * (m * n * r - (m + n) * r * r / 2 + r * r * r / 3);
    const double panels = fmin(flops, m * r * c->wide), one = c->hidden ? 1 : machine->units;
    return c->start_s + panels / (0.2 * peak / one) + (flops - panels) / (c->peak * peak) +
           r * c->column_s;
}

static double blocked_seconds(const weft_context *ctx, const void *args) {
    static const cost own = {.wide = 64, .column_s = 6e-8, .peak = 0.7};
    return seconds_of(ctx, args, &own);
}

static double recursive_seconds(const weft_context *ctx, const void *args) {
    static const cost own = {.wide = 8, .column_s = 1.5e-7, .peak = 0.7};
    return seconds_of(ctx, args, &own);
}

/* Up to 1280 columns it is the same as "recursive". */
static double lookahead_seconds(const weft_context *ctx, const void *args) {
    static const cost own = {
        .wide = 8, .column_s = 1.5e-7, .peak = 0.72, .start_s = 1e-3, .hidden = true};
    return seconds_of(ctx, args, &own);
}

#ifdef WEFT_CUDA
static const char *fits_cluster(const weft_context *ctx, const void *args) {
    const wi_lu_args *const a = args;
    if (ctx->gpu->capability < 90)
        return "needs clusters: compute capability 9.0";
    return wi_lu_cluster_width(ctx, a->m) > 0 ? NULL
                                              : "needs a panel that 16 blocks hold: m <= 65536";
}

/* A column's way through memory or a cluster, and the products, at the rate these reach. */
static double seconds_on_gpu(const weft_context *ctx, const wi_lu_args *a, double of_column) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double least = (double)(a->m < a->n ? a->m : a->n);
    const double flops = 2 * least *
                         ((double)a->m * (double)a->n - ((double)a->m + (double)a->n) * least / 2 +
                          least * least / 3);
    const double peak = a->type == WEFT_F64 ? m->f64_flops : m->f32_flops;
    return least * of_column + flops / peak;
}
static double halves_seconds(const weft_context *ctx, const void *args) {
    return seconds_on_gpu(ctx, args, 5 * wi_machine_of(ctx)->launch_s);
}
static double overlapped_seconds(const weft_context *ctx, const void *args) {
    return seconds_on_gpu(ctx, args, 0.5 * wi_machine_of(ctx)->launch_s);
}
#endif

/* A rank knows the rows of the whole, and not its columns: it is taken to be square. */
static wi_ranks_work work_of(const void *args) {
    const wi_lu_args *const g = &((const wi_lu_call *)args)->args;
    return (wi_ranks_work){
        .m = (double)g->m, .n = (double)g->m, .width = (double)weft_type_size(g->type)};
}

static double ranks_seconds(const weft_context *ctx, const void *args) {
    const wi_ranks_work w = work_of(args);
    return wi_ranks_columns_seconds(ctx, &w);
}

static double grid_seconds(const weft_context *ctx, const void *args) {
    const wi_ranks_work w = work_of(args);
    return wi_ranks_grid_seconds(ctx, &w);
}

static const wi_row rows[] = {
    {.name = "serial",
     .what = "elimination as on paper, a column after the other",
     .kinds = WI_ON_CPU,
     .types = LU_TYPES,
     .run = wi_lu_serial},
    {.name = "openblas",
     .what = "the library that most programs use",
     .kinds = WI_ON_CPU,
     .types = LU_TYPES,
     .misfit = fits_openblas,
     .run = wi_lu_openblas},
    {.name = "blocked",
     .what = "64 columns at a time, what is right of them by gemm",
     .kinds = WI_ON_CPU,
     .types = LU_TYPES,
     .seconds = blocked_seconds,
     .run = wi_lu_blocked},
    {.name = "recursive",
     .what = "half of the columns, a product, the other half; down to 8 columns in registers",
     .kinds = WI_ON_CPU,
     .types = LU_TYPES,
     .seconds = recursive_seconds,
     .run = wi_lu_recursive},
    {.name = "lookahead",
     .what = "the next 256 columns are eliminated while the rest is still updated",
     .kinds = WI_ON_CPU,
     .types = LU_TYPES,
     .seconds = lookahead_seconds,
     .run = wi_lu_lookahead},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "three_kernels",
     .what = "a column of the transpose: find pivot and multipliers, extract the row, eliminate",
     .kinds = WI_ON_CUDA,
     .types = LU_TYPES,
     .run = wi_lu_three_kernels},
#    endif
    {.name = "panels",
     .what = "panels of 32 columns, and products for the rest",
     .kinds = WI_ON_CUDA,
     .types = LU_TYPES,
     .run = wi_lu_panels},
    {.name = "halves",
     .what = "half of the columns, their effect on the others, then these",
     .kinds = WI_ON_CUDA,
     .types = LU_TYPES,
     .seconds = halves_seconds,
     .run = wi_lu_halves},
    {.name = "cluster",
     .what = "panels in the registers of a cluster",
     .kinds = WI_ON_CUDA,
     .types = LU_TYPES,
     .misfit = fits_cluster,
     .run = wi_lu_cluster},
    {.name = "overlapped",
     .what = "the next panel while products are made",
     .kinds = WI_ON_CUDA,
     .types = LU_TYPES,
     .misfit = fits_cluster,
     .seconds = overlapped_seconds,
     .run = wi_lu_overlapped},
#endif
#if WEFT_LADDER
    {.name = "ranks_columns",
     .what = "columns dealt out one by one: the owner finds the pivot, all eliminate",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = LU_TYPES,
     .run = wi_lu_ranks_columns},
    {.name = "ranks_blocks",
     .what = "blocks of columns dealt out: the owner factors one, all multiply",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = LU_TYPES,
     .run = wi_lu_ranks_blocks},
#endif
    {.name = "ranks",
     .what = "the next block is factored and sent while all multiply",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = LU_TYPES,
     .seconds = ranks_seconds,
     .run = wi_lu_ranks},
    {.name = "ranks_grid",
     .what = "square blocks dealt out to a grid of ranks: a column of them factors a panel",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = LU_TYPES,
     .misfit = wi_ranks_fit_grid,
     .seconds = grid_seconds,
     .run = wi_lu_ranks_grid},
};

const wi_ladder wi_lu_ladder = {"lu", rows, sizeof rows / sizeof rows[0]};
