/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a thread of nbody, compiled for each instruction set. */
#ifndef WI_NBODY_SIMD_H
#define WI_NBODY_SIMD_H

#include "cpu/isa.h"
#include "nbody/nbody.h"

enum {
    WI_NBODY_GROUP = 32 /* targets that are computed together; arrays of them are padded to this */
};

/* Sources, and targets that they act on; of both each coordinate is an array of the type. */
typedef struct wi_nbody_work {
    const void *source[4]; /* x, y, z, and m times G */
    size_t sources;
    const void *target[3];
    double softening;
    bool is_soft; /* wi_nbody_is_soft, and no potentials are wanted */
    double *sum[4]; /* accelerations and, unless is_soft, potentials: of each target */
} wi_nbody_work;

/* Targets first ... first + WI_NBODY_GROUP - 1. */
typedef void (*wi_nbody_group)(const wi_nbody_work *work, size_t first);

typedef struct wi_nbody_simd {
    wi_nbody_group f32, f64;
} wi_nbody_simd;

WI_DECLARE_ISAS(wi_nbody_simd, wi_nbody_simd);

#endif
