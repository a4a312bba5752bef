/* SPDX-License-Identifier: Apache-2.0 */
/* A small set of vertices that parts a graph into two sides of about the same weight. */
#ifndef WI_SPARSE_SEPARATOR_H
#define WI_SPARSE_SEPARATOR_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of one thread that is taken in turn and given back in the opposite order; what it has
 * grown to stays for the next use. */
enum {
    WI_ROOM_BLOCKS = 40
};
typedef struct wi_room {
    struct {
        char *memory;
        size_t bytes;
    } block[WI_ROOM_BLOCKS];
    int at;      /* the block in use */
    size_t used; /* of it */
} wi_room;

/* NULL if there is no memory. */
void *wi_room_take(wi_room *room, size_t bytes);
/* Gives back the last thing taken from its byte `end` on. */
void wi_room_trim(wi_room *room, const void *end);
/* Gives back everything. */
void wi_room_reset(wi_room *room);
void wi_room_free(wi_room *room);

/* A symmetric graph with weights. */
typedef struct wi_graph {
    int32_t n, total; /* vertices, and the sum of their weights */
    int32_t *start, *row;
    int32_t *weight; /* of each vertex, 1 or more */
    int32_t *tie;    /* of each edge; NULL: each 1 */
} wi_graph;

enum {
    WI_SEPARATOR = 2
};

/* side[v] = 0 or 1, or WI_SEPARATOR; no edge joins 0 and 1. The answer depends on the graph and the
 * seed alone. Takes from the room; false if it has nothing more to give. */
bool wi_separate(wi_room *room, const wi_graph *graph, uint64_t seed, uint8_t *side);

/* ---- the steps of it ---- */

/* Unites pairs of vertices: `coarse` is the smaller graph, to[v] the vertex that v went to. Edges
 * between the same vertices become one, whose tie is their sum. No vertex gets heavier than `most`,
 * unless it was. */
bool wi_coarsen(wi_room *room, const wi_graph *graph, int32_t most, wi_graph *coarse, int32_t *to);

enum {
    WI_CHAINS = 512
};

/* A graph parted, and what moving its vertices takes. */
typedef struct wi_parting {
    const wi_graph *graph;
    uint8_t *side;
    int32_t weight[3];        /* of the sides and the separator */
    int32_t most;             /* that a side should weigh */
    int32_t *list;            /* the separator's vertices, and those that have just left it */
    int32_t *gain;            /* of a vertex of the separator: what its leaving saves */
    int32_t *next, *previous; /* in chains of about the same gain: 2^shift from one to the next */
    int32_t first[WI_CHAINS];
    int32_t best; /* no chain before this one has a vertex */
    int32_t heaviest;
    int shift;
    int32_t *moved; /* the vertices that have left it in this pass */
    int32_t *drawn; /* how long the list was before each of these moves */
    int32_t count, moves;
} wi_parting;

/* Room for graphs of up to n vertices. */
bool wi_parting_take(wi_room *room, int32_t n, wi_parting *p);
/* Looks at another graph, parted as `side` says. */
void wi_parting_set(wi_parting *p, const wi_graph *graph, uint8_t *side);
/* Parts the graph anew: side 0 grows from vertex `from` until it weighs as much as the rest. */
void wi_parting_grow(wi_parting *p, const wi_graph *graph, uint8_t *side, int32_t from);
/* Moves vertices into and out of the separator as long as that makes it lighter. */
void wi_parting_refine(wi_parting *p);
/* Is the parting better than one whose separator and sides weigh `weight`? */
bool wi_parting_better(const wi_parting *p, const int32_t weight[3]);

#ifdef __cplusplus
}
#endif
#endif
