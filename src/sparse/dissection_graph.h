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
    wi_room room; /* of the first part */
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
    int threads;
} wi_dissection;

/* A part, and where its columns go in the ordering. */
typedef struct wi_dissection_part {
    int32_t begin, n, columns;
    int64_t at;
    wi_room room; /* for the work on it */
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

/* Who may help; NULL: a single thread has no others. */
static inline wi_job_queue *wi_dissection_queue(wi_dissection *d) {
    return d->threads > 1 ? &d->queue : NULL;
}

/* Builds the graph of d->args, and sets the members of d that depend on it. False if there is no
 * memory. */
bool wi_dissection_prepare(wi_dissection *d, wi_arena *arena);

/* Divides p, unless one side would have less than an eighth of its columns. Places the separator in
 * the ordering. False if there is no memory. */
bool wi_dissection_split(wi_dissection *d, wi_arena *arena, const wi_dissection_part *p,
                         wi_dissection_part sides[2], bool *worth);

/* The columns of vertices begin ... begin + n - 1 go to perm[at ...]. */
void wi_dissection_place_columns(const wi_dissection *d, int32_t begin, int32_t n, int64_t at);

#endif
