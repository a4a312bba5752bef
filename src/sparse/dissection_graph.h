/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a nested dissection in progress: dissection_graph.c prepares it, dissection.c divides
 * it. Internal to these two. */
#ifndef WI_SPARSE_DISSECTION_GRAPH_H
#define WI_SPARSE_DISSECTION_GRAPH_H

#include "sparse/dissection.h"
#include "sparse/job_queue.h"

/* The vertices of a part are place[v] = begin ... begin + n - 1 of `member`, in which every part is
 * contiguous. A thread moves only vertices of its own part. Vertices of other parts may move
 * meanwhile, but never into its own range. */
typedef struct wi_dissection {
    const wi_order_args *args;
    wi_separator_rule *separate;
    wi_dissection_beside *beside; /* or NULL */
    wi_graph base;                /* the graph that is dissected */
    int32_t *vertex;              /* the vertex of each column */
    int32_t *first;               /* the columns of vertex v are column[first[v]] ... */
    int32_t *column;
    int32_t *member;
    _Atomic int32_t *place;
    int32_t *local; /* the number of a column in its small part */
    int32_t inner;  /* vertices to dissect; the others, which have very many neighbours, come after
                       them */
    wi_arena base_arena, *arenas; /* of the graph, and one for each thread */
    bool parted;                  /* the first part was made */
    atomic_bool failed;
    struct wi_dissection_part *shared; /* parts that any thread may take, the latest first */
    int waiting, open;  /* parts in that list, and those plus the ones being divided */
    wi_job_queue queue; /* its lock guards these three, its news are of them, too */
    bool alone;         /* one thread, which nobody can help */
} wi_dissection;

/* A part, and where its columns go in the ordering. */
typedef struct wi_dissection_part {
    int32_t begin, n;
    int64_t at;
} wi_dissection_part;

static inline int32_t wi_dissection_place(const wi_dissection *d, int32_t v) {
    return atomic_load_explicit(&d->place[v], memory_order_relaxed);
}

static inline bool wi_is_inside(const wi_dissection_part *p, int32_t place) {
    return place >= p->begin && place < p->begin + p->n;
}

static inline uint32_t wi_hash_vertex(int64_t v) {
    return (uint32_t)((uint64_t)(v + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

/* Who may help. */
static inline wi_job_queue *wi_dissection_queue(wi_dissection *d) {
    return d->alone ? NULL : &d->queue;
}

/* Builds the graph of d->args, and sets the members of d that depend on it. False if there is no
 * memory. */
bool wi_dissection_prepare(wi_dissection *d, wi_arena *arena);

#endif
