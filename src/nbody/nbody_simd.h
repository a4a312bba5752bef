/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a thread of nbody, compiled for each instruction set. */
#ifndef WI_NBODY_SIMD_H
#define WI_NBODY_SIMD_H

#include "cpu/isa.h"
#include "nbody/nbody.h"
#include "nbody/nbody_tree.h"

enum {
    WI_NBODY_GROUP = WI_NBODY_TOGETHER /* targets that are computed together; arrays of them are
                                          padded to this */
};

/* Sources, and targets that they act on; of both each coordinate is an array of the type. */
typedef struct wi_nbody_work {
    const void *source[4]; /* x, y, z, and m times G */
    size_t sources;
    const void *target[3];
    double softening;
    bool is_soft;   /* wi_nbody_is_soft, and no potentials are wanted */
    double *sum[4]; /* accelerations and, unless is_soft, potentials: of each target */
} wi_nbody_work;

/* Targets first ... first + WI_NBODY_GROUP - 1. */
typedef void (*wi_nbody_group)(const wi_nbody_work *work, size_t first);

/* A node of the tree of the sources. */
typedef struct wi_nbody_node {
    wi_nbody_moments of;
    double open2;   /* the square of the distance within which it is opened */
    uint32_t first; /* its first body */
    uint32_t next;
} wi_nbody_node;

/* The same by the tree: sources and targets are the same bodies, in the order of their keys. */
typedef struct wi_nbody_tree_work {
    wi_nbody_work work;
    const wi_nbody_node
        *nodes; /* one more follows them, whose first body is the number of bodies */
    size_t count;
} wi_nbody_tree_work;

typedef void (*wi_nbody_walk)(const wi_nbody_tree_work *work, size_t first);

typedef struct wi_nbody_simd {
    wi_nbody_group f32, f64;
    wi_nbody_walk walk_f32, walk_f64;
} wi_nbody_simd;

WI_DECLARE_ISAS(wi_nbody_simd, wi_nbody_simd);

#endif
