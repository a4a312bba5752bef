/* SPDX-License-Identifier: Apache-2.0 */
/* A small set of vertices that divides a graph into two sides of about the same weight. */
#ifndef WI_SPARSE_SEPARATOR_H
#define WI_SPARSE_SEPARATOR_H

#include <stdatomic.h>

#include "core/core.h"
#include "sparse/job_queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that another part of the work has used before: pages of fresh memory take the system's
 * time, and threads have to wait for each other there. */
typedef struct wi_room {
    char *memory; /* aligned to 64 bytes */
    size_t bytes;
} wi_room;

/* Memory of one thread, used as a stack: a room that was lent to it, and blocks of its own; what
 * it has grown to is kept for the next use. */
enum {
    WI_ROOM_BLOCKS = 40
};
typedef struct wi_arena {
    wi_room lent;
    size_t lent_used;
    struct {
        char *memory;
        size_t bytes;
    } block[WI_ROOM_BLOCKS];
    int at;                      /* the current block */
    size_t used;                 /* of it */
    wi_job_queue *queue;         /* who may help the thread, or NULL */
    const atomic_bool *unwanted; /* once set, no memory is given any more; or NULL */
} wi_arena;

/* NULL if there is no memory. */
void *wi_arena_take(wi_arena *arena, size_t bytes);
/* Returns what was allocated after `end`, which is in an allocation. */
void wi_arena_trim(wi_arena *arena, const void *end);
/* Returns everything. */
void wi_arena_reset(wi_arena *arena);
void wi_arena_free(wi_arena *arena);

/* A symmetric graph with weights. */
typedef struct wi_graph {
    int32_t n, total; /* vertices, and the sum of their weights */
    int32_t *start, *row;
    int32_t *weight; /* of each vertex, 1 or more */
    int32_t *tie;    /* weight of each edge; NULL: all 1 */
} wi_graph;

enum {
    WI_SEPARATOR = 2
};

/* side[v] = 0 or 1, or WI_SEPARATOR; no edge joins 0 and 1. The result depends only on the graph
 * and the seed. Allocates from the arena; false if that has no more memory. */
bool wi_separate(wi_arena *arena, const wi_graph *graph, uint64_t seed, uint8_t *side);

/* ---- its steps ---- */

enum {
    WI_SHARED_VERTICES = 1 << 13, /* with fewer, help comes too late */
    WI_AHEAD_VERTICES = 1 << 11   /* the same for passes of a refinement */
};

/* Memory that nobody needs for a while. */
typedef struct wi_scratch {
    int32_t *memory;
    size_t count;
} wi_scratch;

/* Coarsens: merges pairs of vertices. `coarse` is the smaller graph, to[v] the vertex that v became
 * part of. Parallel edges become one, whose weight is the sum. No vertex becomes heavier than
 * `most`, unless it was already. What scratch lacks is taken from the arena. */
bool wi_coarsen(wi_arena *arena, wi_scratch scratch, const wi_graph *graph, int32_t most,
                wi_graph *coarse, int32_t *to);

/* Pairs every free vertex, from the first to the last, with a free neighbour if it has one:
 * mate[v] = u and mate[u] = v. n of scratch. */
void wi_match_neighbours(wi_job_queue *queue, const wi_graph *graph, int32_t *scratch, int32_t most,
                         int32_t *mate);
/* The free neighbour of v with the heaviest edge; among equals the lightest vertex, at most as
 * heavy as makes `most` with v. Only those after vertex `after`. -1 if there is none. */
int32_t wi_match_heaviest(const wi_graph *g, const int32_t *mate, int32_t v, int32_t most,
                          int32_t after);

enum {
    WI_CHAINS = 512,
    WI_APART = 128 /* bytes: lines are fetched in pairs */
};

/* A vertex of the separator. */
typedef struct wi_standing {
    int32_t gain; /* how much lighter the separator becomes if it leaves */
    int32_t link; /* the one in its chain that counts; -1: it is in no chain */
} wi_standing;

/* Chains of vertices of similar gain: gains of neighbouring chains are 2^shift apart. A vertex that
 * changes chains leaves its link behind. */
typedef struct wi_link {
    int32_t vertex, before; /* the link that was made before it in the same chain; -1: none */
} wi_link;

/* A graph divided by a separator, and what moving its vertices needs. Several threads have one
 * each, and write to it with every move: they must not share a line of the cache. */
typedef struct wi_parting {
    _Alignas(WI_APART) const wi_graph *graph;
    uint8_t *side;
    int32_t weight[3];     /* of the sides and the separator */
    int32_t most;          /* the most that a side should weigh */
    int32_t *list;         /* the separator's vertices, and those that have just left it */
    wi_standing *standing; /* of the separator's vertices */
    wi_link *links;        /* in the order in which they were made */
    int32_t linked, full;  /* how many there are, and may be before old ones are thrown away */
    int32_t most_links;
    int32_t first[WI_CHAINS]; /* the latest link of each chain; -1: none */
    int32_t best;             /* all chains before this one are empty */
    int32_t heaviest;
    int shift;
    int32_t *moved; /* the vertices that have left the separator in this pass */
    int32_t *drawn; /* the length of the list before each of these moves */
    int32_t count, moves;
    atomic_bool *stop; /* set by another thread: a pass ends, as nobody wants its result; or NULL */
} wi_parting;

/* Allocates room for graphs of up to n vertices for each of `count` partings: it begins with the
 * first one's list. */
enum {
    WI_PARTING_ARRAYS = 8 /* of n integers */
};
bool wi_parting_take(wi_arena *arena, int32_t n, int count, wi_parting *p);
/* Starts on another graph, divided as `side` says. */
void wi_parting_set(wi_parting *p, const wi_graph *graph, uint8_t *side);
/* The same with the division of a coarser graph, of which vertex v of this one is in to[v]. Others
 * may help. */
void wi_parting_project(wi_job_queue *queue, wi_parting *p, const wi_graph *graph, uint8_t *side,
                        const int32_t *to, const uint8_t *coarse);
/* Divides the graph anew: side 0 grows from vertex `from` until it weighs as much as the rest. */
void wi_parting_grow(wi_parting *p, const wi_graph *graph, uint8_t *side, int32_t from);
/* Moves vertices into and out of the separator as long as that makes it lighter. */
void wi_parting_refine(wi_parting *p);
/* The same where others may help. Those in `ahead` have room for as many vertices, and so have
 * their sides; what they have is not used. */
enum {
    WI_AHEAD = 2
};
void wi_parting_refine_together(wi_job_queue *queue, wi_parting *p, wi_parting ahead[WI_AHEAD]);

/* Who is told what a pass finds. */
typedef struct wi_pass_watch {
    void (*better)(void *user); /* a better division than before */
    /* `patience` moves since then: it was after `kept` moves, and weighed `best` */
    void (*stale)(void *user, int32_t kept, const int32_t best[3]);
    int32_t patience;
    void *user;
} wi_pass_watch;

enum {
    WI_PASSES = 6, /* of a refinement, at most */
    WI_VAIN = 2    /* it ends when as many, to either side, found nothing */
};

/* One pass of a refinement: moves vertices to side `to`, and keeps the best division. Returns
 * whether that is better than before. `watch` may be NULL. */
bool wi_parting_pass(wi_parting *p, uint8_t to, const wi_pass_watch *watch);
/* Is this division better than one whose separator and sides weigh `weight`? */
bool wi_parting_better(const wi_parting *p, const int32_t weight[3]);

#ifdef __cplusplus
}
#endif
#endif
