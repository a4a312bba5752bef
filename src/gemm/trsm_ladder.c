/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of trsm: which calls each can do, and what it costs. */
#include <math.h>

#include "gemm/trsm.h"

enum {
    TRSM_TYPES = WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64)
};

#ifdef WEFT_CUDA
static const char *fits_chain(const weft_context *ctx, const void *args) {
    const wi_triangle_args *const g = args;
    (void)ctx;
    return (g->right ? g->m : g->n) > WI_TRSM_CHAIN_MOST ? "takes at most 8 right-hand sides"
                                                         : NULL;
}

enum {
    SIDE = 64,   /* of a block on the diagonal */
    PANEL = 256, /* rows of which one kernel of `halves` does all */
    LINK = 1600  /* cycles in which `chain` goes from one block to the next */
};

static double order_of(const wi_triangle_args *g) {
    return (double)(g->right ? g->n : g->m);
}

/* Products at half the peak. With few right-hand sides the time is that of the launches, which wait
 * for each other: three for each panel, and two for the inverses. */
static double halves_seconds(const weft_context *ctx, const void *args) {
    const wi_triangle_args *const g = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double flops = order_of(g) * (double)g->m * (double)g->n;
    const double kernels = 2 + 3 * ceil(order_of(g) / PANEL);
    return kernels * m->launch_s + 2 * flops / (g->type == WEFT_F64 ? m->f64_flops : m->f32_flops);
}

/* Either the chain of blocks is what takes long, or reading T is. */
static double chain_seconds(const weft_context *ctx, const void *args) {
    const wi_triangle_args *const g = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double order = order_of(g), bytes = order * order / 2 * (double)weft_type_size(g->type);
    const double links = ceil(order / SIDE) * LINK;
    return 4 * m->launch_s + fmax(wi_seconds_working(m, links, 1), wi_seconds_moving(m, bytes));
}
#endif

static const wi_row rows[] = {
    {.name = "serial",
     .what = "substitution, a right-hand side after the other",
     .kinds = WI_ON_CPU,
     .types = TRSM_TYPES,
     .run = wi_trsm_serial},
    {.name = "openblas",
     .what = "the library that most programs use",
     .kinds = WI_ON_CPU,
     .types = TRSM_TYPES,
     .misfit = wi_triangle_fits_openblas,
     .run = wi_trsm_openblas},
    {.name = "packed",
     .what = "solve half, multiply, solve half; blocks of 64 in vector registers",
     .kinds = WI_ON_CPU,
     .types = TRSM_TYPES,
     .seconds = wi_no_rival,
     .run = wi_trsm_packed},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "column",
     .what = "a block for each right-hand side, a barrier for each unknown",
     .kinds = WI_ON_CUDA,
     .types = TRSM_TYPES,
     .run = wi_trsm_column},
#    endif
    {.name = "halves",
     .what = "solve half, multiply, solve half; by inverses of diagonal blocks",
     .kinds = WI_ON_CUDA,
     .types = TRSM_TYPES,
     .seconds = halves_seconds,
     .run = wi_trsm_halves},
    {.name = "chain",
     .what = "few right-hand sides: one kernel, whose blocks hand on 64 unknowns at a time",
     .kinds = WI_ON_CUDA,
     .types = TRSM_TYPES,
     .misfit = fits_chain,
     .seconds = chain_seconds,
     .run = wi_trsm_chain},
#endif
    {.name = "ranks",
     .what = "columns of A are passed to all; every rank works on its own columns of B",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = TRSM_TYPES,
     .seconds = wi_no_rival,
     .run = wi_trsm_ranks},
};

const wi_ladder wi_trsm_ladder = {"trsm", rows, sizeof rows / sizeof rows[0]};
