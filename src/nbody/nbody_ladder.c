/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of nbody: what they can do, and what they cost. */
#include <math.h>

#include "cpu/team.h"
#include "nbody/nbody.h"

#define BUILDING 260.0 /* what a body costs before a tree is walked, in pairs: seen on a cpu */

#define REALS (WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64))

static double pairs_of(const void *args) {
    const wi_nbody_args *const a = args;
    return (double)a->n * (double)a->own;
}

/* A pair is about 15 operations of a vector register, two of which a cycle begins; f64 needs half
 * as many lanes and twice the operations. */
static double threads_seconds(const weft_context *ctx, const void *args) {
    const wi_nbody_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double per_pair = (a->type == WEFT_F32 ? 1.0 : 4.0) * wi_narrower(m);
    const double cycles = pairs_of(args) * per_pair + 20 * (double)a->n;
    const int team = wi_team_size(ctx, (size_t)-1, a->own * (a->n / 8 + 1));
    return wi_team_seconds(ctx, team, cycles, 0);
}

/* By measurement (README) the rms error is below 0.01 theta^3.75 up to 10^6 bodies, and 0.0125 of
 * it with 10^7. Near 1 it varies much. */
double wi_nbody_theta(double tolerance) {
    const double most = 0.85, theta = pow(60 * tolerance, 1 / 3.75);
    return theta < most ? theta : most;
}

static const char *fits_tree(const weft_context *ctx, const void *args) {
    const wi_nbody_args *const a = args;
    (void)ctx;
    if (a->own < a->n && a->shares == 0)
        return "needs all bodies: it walks them in an order of its own";
    return a->tolerance > 0 ? NULL : "needs a tolerance above 0: it does not compute all pairs";
}

/* What a tree costs, in pairs of f32 that would take as long: by measurement on a cpu. */
static double tree_pairs(const wi_nbody_args *a) {
    const double theta = wi_nbody_theta(a->tolerance), n = (double)a->n;
    const double volume = theta * theta * theta;
    const double walk = n * (270 - BUILDING + 54 * log1p(n * volume / 20) / volume);
    return n * BUILDING + walk / (double)(a->shares ? a->shares : 1);
}

double wi_nbody_pairs(const weft_nbody *s) {
    const wi_nbody_args args = {.type = s->type, .n = s->n, .own = s->n, .tolerance = s->tolerance};
    const double all = pairs_of(&args), tree = s->tolerance > 0 ? tree_pairs(&args) : all;
    return tree < all ? tree : all;
}

bool wi_nbody_is_tree(const wi_row *row) {
    return row->misfit == fits_tree;
}

static double tree_seconds(const weft_context *ctx, const void *args) {
    const wi_nbody_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double per_pair = (a->type == WEFT_F32 ? 1.0 : 2.0) * wi_narrower(m);
    const int team = wi_team_size(ctx, (size_t)-1, a->n * 512);
    return wi_team_seconds(ctx, team, tree_pairs(a) * per_pair, 0);
}

#ifdef WEFT_CUDA
/* A walk waits for its nodes: it is taken to reach a third of the rate of all pairs. */
static double tree_cuda_seconds(const weft_context *ctx, const void *args) {
    const wi_nbody_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double pairs_per_s = a->type == WEFT_F32 ? m->f32_flops / 26 : m->f64_flops / 32;
    return 80 * m->launch_s + tree_pairs(a) / (0.3 * pairs_per_s);
}

/* 13 instructions for a pair of f32 and 16 of f64, where a peak counts two operations for each. */
static double blocked_seconds(const weft_context *ctx, const void *args) {
    const wi_nbody_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const bool is_f32 = a->type == WEFT_F32;
    const double pairs_per_s = is_f32 ? m->f32_flops / 26 : m->f64_flops / 32;
    return 3 * m->launch_s + pairs_of(args) / (0.85 * pairs_per_s);
}
#endif

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the loops you would write",
     .kinds = WI_ON_CPU,
     .types = REALS,
     .run = wi_nbody_serial},
    {.name = "threads",
     .what = "vector registers of bodies, an approximate root and one Newton step, all cores",
     .kinds = WI_ON_CPU,
     .types = REALS,
     .seconds = threads_seconds,
     .run = wi_nbody_threads},
    {.name = "tree",
     .what = "distant bodies by the moments of cells: n log n instead of n^2",
     .kinds = WI_ON_CPU,
     .types = REALS,
     .misfit = fits_tree,
     .seconds = tree_seconds,
     .run = wi_nbody_tree},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "global",
     .what = "one thread for one body, all others from global memory",
     .kinds = WI_ON_CUDA,
     .types = REALS,
     .run = wi_nbody_global},
    {.name = "tile",
     .what = "the others in tiles in shared memory",
     .kinds = WI_ON_CUDA,
     .types = REALS,
     .run = wi_nbody_tile},
#    endif
    {.name = "blocked",
     .what = "several bodies a thread in registers, the others in parts",
     .kinds = WI_ON_CUDA,
     .types = REALS,
     .seconds = blocked_seconds,
     .run = wi_nbody_blocked},
    {.name = "octree",
     .what = "distant bodies by the moments of cells; built and walked on the device",
     .kinds = WI_ON_CUDA,
     .types = REALS,
     .misfit = fits_tree,
     .seconds = tree_cuda_seconds,
     .run = wi_nbody_tree_cuda},
#endif
    {.name = "ranks",
     .what = "all bodies come to all ranks, each of which sums up what acts on its own",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = REALS,
     .seconds = wi_no_rival,
     .run = wi_nbody_ranks},
};

const wi_ladder wi_nbody_ladder = {"nbody", rows, sizeof rows / sizeof rows[0]};
