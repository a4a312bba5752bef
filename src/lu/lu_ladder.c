/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of lu: which calls each can do, and what it costs. */
#include "core/gpu.h"
#include "lu/lu.h"

enum {
    LU_TYPES = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64)
};

#ifdef WEFT_CUDA
static const char *fits_cluster(const weft_context *ctx, const void *args) {
    const wi_lu_args *const a = args;
    if (ctx->gpu->capability < 90)
        return "needs clusters: compute capability 9.0";
    return wi_lu_cluster_width(ctx, a->m) > 0 ? NULL
                                              : "needs a panel that 16 blocks hold: m <= 65536";
}

/* A column's way through memory or a cluster, and the products, at the rate these reach. */
static double seconds(const weft_context *ctx, const wi_lu_args *a, double of_column) {
    const wi_machine *const m = wi_machine_of(ctx);
    const double least = (double)(a->m < a->n ? a->m : a->n);
    const double flops = 2 * least * ((double)a->m * (double)a->n -
                                      ((double)a->m + (double)a->n) * least / 2 + least * least / 3);
    const double peak = a->type == WEFT_F64 ? m->f64_flops : m->f32_flops;
    return least * of_column + flops / peak;
}
static double halves_seconds(const weft_context *ctx, const void *args) {
    return seconds(ctx, args, 5 * wi_machine_of(ctx)->launch_s);
}
static double lookahead_seconds(const weft_context *ctx, const void *args) {
    return seconds(ctx, args, 0.5 * wi_machine_of(ctx)->launch_s);
}
#endif

static const wi_row rows[] = {
    {.name = "serial",
     .what = "elimination as on paper, a column after the other",
     .kinds = WI_ON_CPU,
     .types = LU_TYPES,
     .seconds = wi_no_rival,
     .run = wi_lu_serial},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "three_kernels",
     .what = "a column: find the pivot, exchange rows, eliminate",
     .kinds = WI_ON_CUDA,
     .types = LU_TYPES,
     .run = wi_lu_three_kernels},
#    endif
    {.name = "blocked_gpu",
     .what = "panels of 32 columns, and products for the rest",
     .kinds = WI_ON_CUDA,
     .types = LU_TYPES,
     .run = wi_lu_blocked_gpu},
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
    {.name = "lookahead",
     .what = "the next panel while products are made",
     .kinds = WI_ON_CUDA,
     .types = LU_TYPES,
     .misfit = fits_cluster,
     .seconds = lookahead_seconds,
     .run = wi_lu_lookahead},
#endif
};

const wi_ladder wi_lu_ladder = {"lu", rows, sizeof rows / sizeof rows[0]};
