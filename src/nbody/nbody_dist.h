/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of nbody over ranks share. */
#ifndef WI_NBODY_DIST_H
#define WI_NBODY_DIST_H

#include "comm/dist.h"
#include "nbody/nbody.h"

enum {
    WI_NBODY_ROW = 4 /* elements of a body: x, y, z, m */
};

/* What a tree over ranks needs, in memory of the place. */
typedef struct wi_nbody_shared {
    const wi_row *row;              /* what each rank runs on its own place */
    size_t begin, end;              /* this rank's share, in the order of keys */
    size_t *parts;                  /* bodies of each rank's share; NULL: no tree */
    bool accelerations, potentials; /* does a rank want them? */
    void *order;                    /* which body is where, as uint32_t */
    void *walked;                   /* results of the own share */
    void *sorted;                   /* of all bodies, in the order of keys */
    void *whole;                    /* and in the order of ranks */
    void *bad;                      /* of weft_scatter */
} wi_nbody_shared;

/* A call on one rank. */
typedef struct wi_nbody_ranked {
    weft_context *ctx;
    const wi_nbody_request *r;
    size_t width;                /* bytes of an element */
    size_t first, all;           /* bodies before this rank's, and of all ranks */
    size_t *parts, *sent;        /* bodies of each rank; elements that it sends */
    wi_nbody_state own;          /* this and the next in memory of the place */
    void *whole;                 /* rows of all bodies */
    void *host_own, *host_whole; /* copies, if the communicator takes host memory alone */
    wi_nbody_shared tree;
} wi_nbody_ranked;

/* Memory of the place for so many elements of the call's type; none for none. */
weft_status wi_nbody_take(const wi_nbody_ranked *x, size_t elements, void **p);

/* whole = `row` elements for each of the parts[r] bodies of each rank r, of which own has those of
 * this one; `status` is how this rank has fared. Collective. */
weft_status wi_nbody_gather(wi_nbody_ranked *x, weft_status status, const void *own,
                            const size_t *parts, void *whole, size_t row);

/* The call, with all bodies acting on all; results are not set. */
wi_nbody_args wi_nbody_args_of_ranks(const wi_nbody_ranked *x);

/* Is the call made by a tree? If so takes its memory. What is wanted may differ from rank to rank.
 * Collective. */
weft_status wi_nbody_plan_tree(wi_nbody_ranked *x, bool accelerations, bool potentials);
void wi_nbody_end_tree(wi_nbody_ranked *x);

/* Results of this rank's bodies by the tree; those that are NULL are not wanted here. `status` as
 * above. Collective. */
weft_status wi_nbody_walk_shares(wi_nbody_ranked *x, weft_status status, void *accelerations,
                                 void *potentials);

#endif
