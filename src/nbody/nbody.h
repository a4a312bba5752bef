/* SPDX-License-Identifier: Apache-2.0 */
/* nbody inside the library: one checked call as its rungs get it, and the rungs. */
#ifndef WI_NBODY_H
#define WI_NBODY_H

#include "core/call.h"
#include "core/rows.h"
#include "weft/nbody.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_NBODY_SUMMED = 256, /* terms that are summed in the type of the call */
    WI_NBODY_SAMPLE = 256  /* bodies whose error is measured */
};

/* One checked call on memory that the place can access. */
typedef struct wi_nbody_args {
    weft_type type;
    size_t n; /* at least 1 */
    /* Whose results are wanted: bodies first ... first + own - 1, all of them or at least one. The
     * arrays of results begin with those of body `first`. */
    size_t first, own;
    double gravity, softening, tolerance;
    const void *positions, *masses;
    size_t position_pitch, mass_pitch; /* elements from one body to the next */
    void *accelerations, *potentials;  /* one of them may be NULL */
    /* Of trees over ranks; `shares` 0: no such. Then `first` is 0 and `own` is n, only share number
     * `share` is walked (wi_nbody_share_begin), results are those of this share in the order of the
     * keys, and order[i], of all n, gets the body that is i-th in it. */
    size_t share, shares;
    uint32_t *order;
} wi_nbody_args;

extern const wi_ladder wi_nbody_ladder;

/* How many bodies are sampled: body s n / count, for s = 0 ... count - 1. */
static inline size_t wi_nbody_sampled(const wi_nbody_args *args) {
    return args->n < WI_NBODY_SAMPLE ? args->n : (size_t)WI_NBODY_SAMPLE;
}

enum {
    WI_NBODY_TOGETHER = 32 /* bodies that walk a tree together, neighbours in the order of keys */
};

/* Where share number `share` of n bodies begins: a whole number of groups. */
static inline size_t wi_nbody_share_begin(size_t n, size_t share, size_t shares) {
    const size_t groups = (n + WI_NBODY_TOGETHER - 1) / WI_NBODY_TOGETHER;
    const size_t at = groups * share / shares * WI_NBODY_TOGETHER;
    return at < n ? at : n;
}

/* Pairs of f32 that would take as long as one evaluation of the accelerations on one place. */
double wi_nbody_pairs(const weft_nbody *system);

/* Is this a rung that makes a tree? */
bool wi_nbody_is_tree(const wi_row *row);

/* How far a tree opens its nodes for a tolerance: the side of a cell over its distance. */
double wi_nbody_theta(double tolerance);

/* Can pairs be computed without asking whether both are at the same point? Then even m / eps^3 is
 * in range. */
static inline bool wi_nbody_is_soft(const wi_nbody_args *args) {
    return args->softening >= (args->type == WEFT_F32 ? 0x1p-20 : 0x1p-250);
}

/* The bodies of weft_nbody_step while they move: n rows x, y, z, m, and n rows of velocities and
 * accelerations. */
typedef struct wi_nbody_state {
    weft_type type;
    size_t n;
    void *bodies, *velocities, *accelerations;
} wi_nbody_state;

/* What else is done with bodies, on each kind of place. */
typedef struct wi_nbody_moves {
    /* Without velocities, those of the state stay as they are. */
    weft_status (*load)(weft_context *ctx, const wi_nbody_args *from, const void *velocities,
                        const wi_nbody_state *state);
    weft_status (*store)(weft_context *ctx, const wi_nbody_state *state, void *positions,
                         size_t pitch, void *velocities);
    /* v = v + a time, x = x + v dt; time and dt are rounded to the type. */
    weft_status (*kick)(weft_context *ctx, const wi_nbody_state *state, double time);
    weft_status (*drift)(weft_context *ctx, const wi_nbody_state *state, double dt);
    /* Of each body, m v^2 / 2 and m phi / 2, where phi are the potentials of args. */
    weft_status (*energies)(weft_context *ctx, const wi_nbody_args *args, const void *velocities,
                            double *kinetic, double *potential);
    /* Of a sample of bodies, wi_nbody_sampled of them, the accelerations by all pairs in f64: rows
     * x, y, z; and the rms relative error of those of args, with room for a number of each. */
    weft_status (*sample)(weft_context *ctx, const wi_nbody_args *args, double *exact);
    weft_status (*measure)(weft_context *ctx, const wi_nbody_args *args, const double *exact,
                           double *room, double *error);
} wi_nbody_moves;

extern const wi_nbody_moves wi_nbody_on_cpu;
extern const wi_nbody_moves wi_nbody_on_cuda; /* in a build with CUDA */

const wi_nbody_moves *wi_nbody_moves_of(const weft_context *ctx);

/* ---- a public call: what was asked, and its arrays ---- */

typedef enum wi_nbody_job {
    WI_NBODY_ACCELERATIONS,
    WI_NBODY_STEPS,
    WI_NBODY_ENERGY
} wi_nbody_job;

/* The arrays of a call, in its description. */
enum {
    WI_NBODY_POSITIONS,
    WI_NBODY_MASSES,
    WI_NBODY_OTHERS, /* the first array that is a call's own: accelerations, or velocities */
    WI_NBODY_POTENTIALS,
    WI_NBODY_ENERGIES = WI_NBODY_POTENTIALS,
    WI_NBODY_ERROR,
    WI_NBODY_MOST_BODIES = INT32_MAX
};

typedef struct wi_nbody_request {
    wi_nbody_job job;
    const weft_nbody *system;
    const wi_call *call;
    double dt; /* of steps */
    size_t steps;
} wi_nbody_request;

/* The bodies of a part of a call: all of them. */
wi_nbody_args wi_nbody_args_of(const weft_nbody *system, const wi_part *part);

/* Over ranks, each with bodies of its own; `status` is what its checks have said. If it is not
 * WEFT_OK, only the name of the call is valid. */
weft_status wi_nbody_over_ranks(weft_context *ctx, const wi_nbody_request *r, weft_status status);
/* Is a checked call to go to all GPUs of a place? And runs it so: each has its share of bodies. */
bool wi_nbody_wants_gpus(weft_context *ctx, const wi_nbody_request *r);
weft_status wi_nbody_over_gpus(weft_context *ctx, const wi_nbody_request *r);

/* The rungs. */
weft_status wi_nbody_serial(weft_context *ctx, const void *args);
weft_status wi_nbody_threads(weft_context *ctx, const void *args);
weft_status wi_nbody_global(weft_context *ctx, const void *args);
weft_status wi_nbody_tile(weft_context *ctx, const void *args);
weft_status wi_nbody_blocked(weft_context *ctx, const void *args);
weft_status wi_nbody_tree(weft_context *ctx, const void *args);
weft_status wi_nbody_tree_cuda(weft_context *ctx, const void *args);
weft_status wi_nbody_ranks(weft_context *ctx, const void *request);

#ifdef __cplusplus
}
#endif
#endif
