/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of gemm_batch: which calls each can do, and what it costs. All costs grow with the
 * number of products alike, so that it does not decide which rung runs: a product has the same bits
 * in every batch. */
#include <math.h>

#include "comm/dist.h"
#include "gemm/gemm_batch.h"

enum {
    WIDE_FLOATS = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
    BATCH_TYPES = WI_FLOATS | WI_TYPE(WEFT_I8)
};

#ifdef WEFT_CUDA
static const char *fits_queued(const weft_context *ctx, const void *args) {
    (void)ctx;
    return wi_gemm_batch_known(args) ? NULL
                                     : "needs the arrays of pointers in host memory: each product "
                                       "is a call of its own";
}

/* ---- what they cost ---- */

enum {
    USUAL_COUNT = 32, /* of products that are taken to run side by side */
    BLOCKS = 3        /* on a multiprocessor */
};

static double up_to(size_t n, double unit) {
    return ceil((double)n / unit) * unit;
}

/* A side of the smallest tile that holds both extents of C, or of those that larger ones are made
 * of. */
static double side_of(const wi_gemm_args *g) {
    static const size_t sides[] = {8, 16, 24, 32, 48, 64, 96};
    const size_t most = g->m > g->n ? g->m : g->n;
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        if (most <= sides[i])
            return (double)sides[i];
    return 64;
}

/* One of many products by tiles, at a rate that all multiprocessors reach together; or as long as
 * memory takes; or its own time beside others, if its k is so long that they end before it. */
static double each_seconds(const weft_context *ctx, const wi_gemm_args *g, double side,
                           double flops_per_s) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double k = (double)g->k, width = (double)weft_type_size(g->type);
    const double flops = 2 * up_to(g->m, side) * up_to(g->n, side) * k;
    const double alone = 2 * side * side * k / (flops_per_s / (m->units * BLOCKS));
    const double bytes = width * ((double)g->m * k + k * (double)g->n) +
                         (double)weft_type_size(g->out) * (double)g->m * (double)g->n;
    return fmax(fmax(flops / flops_per_s, bytes / m->bytes_per_s), alone / USUAL_COUNT);
}

static double flops_of(const weft_context *ctx, const wi_gemm_args *g) {
    return g->type == WEFT_F64 ? wi_machine_of(ctx)->f64_flops : wi_machine_of(ctx)->f32_flops;
}

/* Seen on an H200 at 96 x 96 x 96: 0.098 of the peak in f64, 0.056 in f32. */
static double one_each_seconds(const weft_context *ctx, const void *args) {
    const wi_gemm_batch_args *const g = args;
    const double rate = g->one.type == WEFT_F64 ? 0.1 : 0.056;
    return (double)g->count * each_seconds(ctx, &g->one, 32, rate * flops_of(ctx, &g->one));
}

static double queued_seconds(const weft_context *ctx, const void *args) {
    const wi_gemm_batch_args *const g = args;
    const wi_row *const row = wi_pick(ctx, &wi_gemm_ladder, g->one.type, &g->one);
    return (double)g->count * (row ? row->seconds(ctx, &g->one) : INFINITY);
}

/* f64 is multiplied on tensor cores but in the smallest tiles. */
static double tiles_seconds(const weft_context *ctx, const void *args) {
    const wi_gemm_batch_args *const g = args;
    const double side = side_of(&g->one), rate = g->one.type == WEFT_F64 && side > 8 ? 1.2 : 0.65;
    return (double)g->count * each_seconds(ctx, &g->one, side, rate * flops_of(ctx, &g->one));
}
#endif

/* ---- the ladder ---- */

static const wi_row rows[] = {
    {.name = "serial",
     .what = "one product after the other, by three loops",
     .kinds = WI_ON_CPU,
     .types = BATCH_TYPES,
     .run = wi_gemm_batch_serial},
    {.name = "threads",
     .what = "threads share the products, each by packed blocks in vector registers",
     .kinds = WI_ON_CPU,
     .types = BATCH_TYPES,
     .seconds = wi_no_rival,
     .run = wi_gemm_batch_threads},
#ifdef WEFT_CUDA
    {.name = "queued",
     .what = "each product a call of gemm",
     .kinds = WI_ON_CUDA,
     .types = BATCH_TYPES,
     .misfit = fits_queued,
     .seconds = queued_seconds,
     .run = wi_gemm_batch_queued},
    {.name = "one_each",
     .what = "a block for each tile of each product",
     .kinds = WI_ON_CUDA,
     .types = BATCH_TYPES,
     .seconds = one_each_seconds,
     .run = wi_gemm_batch_one_each},
    {.name = "tiles",
     .what = "several products a block; the next arrive while these are multiplied",
     .kinds = WI_ON_CUDA,
     .types = WIDE_FLOATS,
     .seconds = tiles_seconds,
     .run = wi_gemm_batch_tiles},
#endif
    {.name = "ranks",
     .what = "every rank its own products",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_run_own},
};

const wi_ladder wi_gemm_batch_ladder = {"gemm_batch", rows, sizeof rows / sizeof rows[0]};
