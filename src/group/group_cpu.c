/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "threads" of group. Every thread gets an equal stretch of the path: all elements and all
 * ends of segments in one line, each end behind the last element of its segment. A segment that
 * several threads share is reduced in pieces, counted from its start; the threads keep the states
 * of the pieces, and these are combined afterwards, one after another. So the bits do not depend on
 * where it was cut. */
#include <string.h>

#include "cpu/team.h"
#include "group/group_simd.h"

enum {
    MOST_CUTS = 256 /* threads, at most */
};

/* Pieces of a segment that this thread shares with others. */
typedef struct shared_part {
    size_t segment, states; /* how many states it has, from `first` on */
    size_t first;
} shared_part;

/* What a thread leaves to be combined: pieces of the segment in which it begins, and of the one in
 * which it stops; has each of them its end here? */
typedef struct stretch {
    shared_part head, tail;
    bool ends; /* the head's segment ends in this stretch */
} stretch;

typedef struct work {
    wi_group_run run;
    const wi_group_loops *loops;
    wi_group_state *states; /* of pieces of shared segments; NULL if there is one thread only */
    stretch *stretches;     /* one for each thread */
} work;

const wi_group_loops *wi_group_loops_of(const wi_group_args *a) {
    const wi_group_simd *const simd = WI_OF_ISA(wi_cpu_isa(), wi_group_simd);
    switch (a->op) {
    case WI_RED_MIN:
    case WI_RED_MAX:
    case WI_RED_ARGMIN:
    case WI_RED_ARGMAX:
        return &simd->keys[a->type];
    case WI_RED_NRMINF:
        return &simd->magnitudes[a->type];
    case WI_RED_NRM2:
        return &simd->squares[a->type];
    default:
        return &simd->sums[a->type];
    }
}

int64_t wi_group_flip(const wi_group_args *a) {
    return a->op == WI_RED_MAX || a->op == WI_RED_ARGMAX ? -1 : 0;
}

void wi_group_reduce_segments(const wi_group_loops *loops, const wi_group_run *run, size_t first,
                              size_t end) {
    const wi_group_args *const a = run->args;
    wi_group_sums *const sums =
        a->op == WI_RED_SUM ? WI_OF_ISA(wi_cpu_isa(), wi_group_side_by_side)->sums[a->type] : NULL;
    if (sums)
        sums(run, first, end, loops->segments);
    else
        loops->segments(run, first, end);
}

/* How many segments end before a step of the path: the end of segment s is step end(s) + s. */
static size_t ends_before(const wi_group_args *a, size_t segments, size_t step) {
    size_t low = 0, high = step < segments ? step : segments;
    while (low < high) {
        const size_t s = low + (high - low) / 2;
        if (wi_group_end(a, segments, s) + s < step)
            low = s + 1;
        else
            high = s;
    }
    return low;
}

wi_group_cut wi_group_cut_at(const wi_group_args *a, size_t segments, int rank, int size) {
    const size_t step = wi_team_share(a->n + segments, rank, size);
    const size_t segment = ends_before(a, segments, step);
    if (rank == size || segment == segments)
        return (wi_group_cut){segments, a->n};
    return (wi_group_cut){segment, step - segment};
}

/* The same, at the start of a piece of the segment. */
static wi_group_cut cut_at(const wi_group_run *run, int rank, int size) {
    wi_group_cut c = wi_group_cut_at(run->args, run->segments, rank, size);
    if (c.segment < run->segments)
        c.at -= (c.at - wi_group_start(run->args, c.segment)) % WI_GROUP_PIECE;
    return c;
}

/* The pieces of [from, end). The n-th piece of the array at most begins before it, so states of
 * different parts lie apart. */
static shared_part keep_pieces(const work *w, size_t segment, size_t from, size_t end,
                               size_t parts_before) {
    shared_part p = {.segment = segment, .first = from / WI_GROUP_PIECE + parts_before};
    for (size_t i = from; i < end; i += WI_GROUP_PIECE)
        w->loops->piece(&w->run, i, end - i < WI_GROUP_PIECE ? end - i : WI_GROUP_PIECE,
                        &w->states[p.first + p.states++]);
    return p;
}

static void do_stretch(void *user, int rank, int size) {
    const work *const w = user;
    const wi_group_args *const a = w->run.args;
    wi_group_cut from = cut_at(&w->run, rank, size);
    const wi_group_cut end = cut_at(&w->run, rank + 1, size);
    stretch *const own = &w->stretches[rank];
    *own = (stretch){.head = {.segment = from.segment}, .tail = {.segment = end.segment}};
    if (from.segment < w->run.segments && from.at > wi_group_start(a, from.segment)) {
        own->ends = from.segment < end.segment;
        const size_t stop = own->ends ? wi_group_end(a, w->run.segments, from.segment) : end.at;
        own->head = keep_pieces(w, from.segment, from.at, stop, 2 * (size_t)rank);
        if (!own->ends)
            return;
        from.segment++;
    }
    if (from.segment < end.segment)
        wi_group_reduce_segments(w->loops, &w->run, from.segment, end.segment);
    if (end.segment < w->run.segments)
        own->tail = keep_pieces(w, end.segment, wi_group_start(a, end.segment), end.at,
                                2 * (size_t)rank + 1);
}

/* Adds a part's states to the segment that is open; *open: has it any yet? */
static void add_part(const work *w, const shared_part *p, wi_group_state *total, bool *open) {
    for (size_t k = 0; k < p->states; k++) {
        if (*open)
            w->loops->merge(&w->run, total, &w->states[p->first + k]);
        else
            *total = w->states[p->first + k];
        *open = true;
    }
}

static void combine_shared(const work *w, int team) {
    wi_group_state total = {.squares = {0}};
    bool open = false;
    for (int rank = 0; rank < team; rank++) {
        const stretch *const s = &w->stretches[rank];
        add_part(w, &s->head, &total, &open);
        if (s->ends) {
            w->loops->finish(&w->run, s->head.segment, &total);
            open = false;
        }
        add_part(w, &s->tail, &total, &open);
    }
}

static int team_of(const weft_context *ctx, const wi_group_args *a) {
    const int team = wi_group_team(ctx, a);
    return team < MOST_CUTS ? team : MOST_CUTS;
}

size_t wi_group_threads_bytes(const weft_context *ctx, const wi_group_args *a) {
    const size_t team = (size_t)team_of(ctx, a);
    return team > 1 ? (a->n / WI_GROUP_PIECE + 2 * team + 2) * sizeof(wi_group_state) : 0;
}

weft_status wi_group_threads(weft_context *ctx, const void *args) {
    const wi_group_args *const a = args;
    const int team = team_of(ctx, a);
    stretch stretches[MOST_CUTS];
    void *own = NULL;
    weft_status status = WEFT_OK;
    if (team > 1 && !a->room)
        status = wi_group_take(ctx, a->call, wi_group_threads_bytes(ctx, a), &own);
    if (status != WEFT_OK)
        return status;
    work w = {.run = {.args = a,
                      .segments = a->found ? (size_t)*a->found : a->segments,
                      .flip = wi_group_flip(a)},
              .loops = wi_group_loops_of(a),
              .states = own ? own : a->room,
              .stretches = stretches};
    wi_team_run(ctx, team, do_stretch, &w);
    combine_shared(&w, team);
    wi_host_free(own);
    return WEFT_OK;
}
