/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of cholesky: which calls each can do, and what it costs. */
#include "cholesky/cholesky_cost.h"
#include "cholesky/cholesky_dist.h"
#include "cpu/blas.h"
#include "lu/grid_cost.h"

enum {
    CHOLESKY_TYPES = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64)
};

static const char *fits_openblas(const weft_context *ctx, const void *args) {
    const wi_cholesky_args *const g = args;
    (void)ctx;
    if (g->n > INT32_MAX || g->lda > INT32_MAX)
        return "counts with 32 bits: needs sizes below 2^31";
    return wi_blas_load() ? NULL : "needs libopenblas.so.0, which is not on this machine";
}

#ifdef WEFT_CUDA
static const char *fits_whole(const weft_context *ctx, const void *args) {
    const wi_cholesky_args *const g = args;
    (void)ctx;
    return g->columns > 0 ? "needs a matrix that fits the GPU's memory" : NULL;
}
#endif

static wi_ranks_work work_of(const void *args) {
    const wi_cholesky_call *const call = args;
    const double n = (double)call->order;
    return (wi_ranks_work){n, n, (double)weft_type_size(call->args.type), true};
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
     .what = "the formula, a column after the other",
     .kinds = WI_ON_CPU,
     .types = CHOLESKY_TYPES,
     .run = wi_cholesky_serial},
    {.name = "openblas",
     .what = "the library that most programs use",
     .kinds = WI_ON_CPU,
     .types = CHOLESKY_TYPES,
     .misfit = fits_openblas,
     .run = wi_cholesky_openblas},
    {.name = "blocked",
     .what = "64 columns at a time, what is right of them by syrk",
     .kinds = WI_ON_CPU,
     .types = CHOLESKY_TYPES,
     .run = wi_cholesky_blocked},
    {.name = "recursive",
     .what = "half of the columns, a product, the other half; down to blocks of 64",
     .kinds = WI_ON_CPU,
     .types = CHOLESKY_TYPES,
     .seconds = wi_no_rival,
     .run = wi_cholesky_recursive},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "columns",
     .what = "two kernels a column: make it one of L, subtract its products",
     .kinds = WI_ON_CUDA,
     .types = CHOLESKY_TYPES,
     .misfit = fits_whole,
     .run = wi_cholesky_columns},
#    endif
    {.name = "panels",
     .what = "64 columns at a time, as far down as they reach: their block in registers",
     .kinds = WI_ON_CUDA,
     .types = CHOLESKY_TYPES,
     .seconds = wi_cholesky_panels_seconds,
     .run = wi_cholesky_panels},
    {.name = "steps",
     .what = "64 columns in one kernel: a warp factors, four substitute, other blocks update",
     .kinds = WI_ON_CUDA,
     .types = CHOLESKY_TYPES,
     .misfit = fits_whole,
     .seconds = wi_cholesky_steps_seconds,
     .run = wi_cholesky_stepwise},
    {.name = "flow",
     .what = "one kernel: a block has two tiles from the first product until they are of L",
     .kinds = WI_ON_CUDA,
     .types = CHOLESKY_TYPES,
     .misfit = fits_whole,
     .seconds = wi_cholesky_flow_seconds,
     .run = wi_cholesky_flow},
    {.name = "blocks",
     .what = "blocks of columns by flow, which one product takes from the rest",
     .kinds = WI_ON_CUDA,
     .types = CHOLESKY_TYPES,
     .misfit = fits_whole,
     .seconds = wi_cholesky_blocks_seconds,
     .run = wi_cholesky_blocks},
#endif
    {.name = "ranks",
     .what = "blocks of columns dealt out; the next is factored and sent while all multiply",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = CHOLESKY_TYPES,
     .seconds = ranks_seconds,
     .run = wi_cholesky_ranks},
    {.name = "ranks_grid",
     .what = "square blocks dealt out to a grid of ranks: a column of them makes a panel",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = CHOLESKY_TYPES,
     .misfit = wi_ranks_fit_grid,
     .seconds = grid_seconds,
     .run = wi_cholesky_ranks_grid},
};

const wi_ladder wi_cholesky_ladder = {"cholesky", rows, sizeof rows / sizeof rows[0]};
