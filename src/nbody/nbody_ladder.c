/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of nbody: what they can do, and what they cost. */
#include "cpu/team.h"
#include "nbody/nbody.h"

#define REALS (WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64))

static double pairs_of(const void *args) {
    const wi_nbody_args *const a = args;
    return (double)a->n * (double)a->n;
}

/* A pair is about 15 operations of a vector register, two of which a cycle begins; f64 needs half as
 * many lanes and twice the operations. */
static double threads_seconds(const weft_context *ctx, const void *args) {
    const wi_nbody_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double per_pair = (a->type == WEFT_F32 ? 1.0 : 4.0) * wi_narrower(m);
    const double cycles = pairs_of(args) * per_pair + 20 * (double)a->n;
    const int team = wi_team_size(ctx, (size_t)-1, a->n * (a->n / 8 + 1));
    return wi_team_seconds(ctx, team, cycles, 0);
}

#ifdef WEFT_CUDA
/* 13 instructions for a pair of f32 and 16 of f64, where a peak counts two operations for each. */
static double blocked_seconds(const weft_context *ctx, const void *args) {
    const wi_nbody_args *const a = args;
    const wi_machine *const m = wi_machine_of(ctx);
    const double f32 = a->type == WEFT_F32;
    const double pairs_per_s = f32 ? m->f32_flops / 26 : m->f64_flops / 32;
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
#endif
};

const wi_ladder wi_nbody_ladder = {"nbody", rows, sizeof rows / sizeof rows[0]};
