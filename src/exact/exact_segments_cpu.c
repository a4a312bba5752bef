/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of exact_segments on a cpu. `threads`: elements and ends of segments are cut into
 * equal stretches, one for each thread (the merge path of group_cpu.c). The sums of a segment that
 * several threads share are wide integers, which are added afterwards; so it does not matter where
 * it was cut. */
#include <string.h>

#include "cpu/team.h"
#include "exact/exact_segments_simd.h"

/* Elements first ... end - 1 as a call of exact. */
static wi_exact_args range_of(const wi_group_args *a, size_t first, size_t end) {
    return (wi_exact_args){.terms = wi_exact_segment_terms(a),
                           .type = a->type,
                           .result_type = a->result_type,
                           .n = end - first,
                           .x = (const char *)a->x + first * weft_type_size(a->type),
                           .root = a->op == WI_RED_NRM2};
}

static void *result_at(const wi_group_args *a, size_t s) {
    return (char *)a->y + s * weft_type_size(a->result_type);
}

static size_t segments_of(const wi_group_args *a) {
    return a->found ? (size_t)*a->found : a->segments;
}

weft_status wi_exact_segments_serial(weft_context *ctx, const void *args) {
    const wi_group_args *const a = args;
    const size_t segments = segments_of(a);
    weft_status status = WEFT_OK;
    for (size_t s = 0; s < segments && status == WEFT_OK; s++) {
        wi_exact_args one = range_of(a, wi_group_start(a, s), wi_group_end(a, segments, s));
        one.result = result_at(a, s);
        status = wi_exact_serial(ctx, &one);
    }
    return status;
}

/* ---- threads ---- */

/* A thread's part of a segment that it shares with others. */
typedef struct shared_part {
    size_t segment;
    bool any; /* elements, or the end */
    int64_t word[WI_EXACT_WORDS];
} shared_part;

/* What a thread leaves to be combined: of the segment in which it begins, and of the one in which
 * it stops. */
typedef struct stretch {
    shared_part head, tail;
    bool ends; /* the head's segment ends in this stretch */
} stretch;

typedef struct work {
    const wi_group_args *args;
    const wi_exact_segments_simd *simd;
    size_t segments;
    stretch *stretches; /* of each thread; NULL if there is one only */
} work;

/* Computes a segment by the wide integer, which can sum any elements. */
static void add_wide(const work *w, size_t s) {
    const wi_group_args *const a = w->args;
    wi_exact_args one = range_of(a, wi_group_start(a, s), wi_group_end(a, w->segments, s));
    int64_t word[WI_EXACT_WORDS];
    one.result = result_at(a, s);
    wi_exact_add_share(&one, 0, one.n, word);
    wi_exact_finish(&one, word);
}

/* Segments s ... end - 1. Those whose cascade of f64 does not settle the sum go by the wide
 * integer.
 */
static void do_whole(const work *w, size_t s, size_t end) {
    while ((s = w->simd->cascades(w->args, w->segments, s, end)) < end)
        add_wide(w, s++);
}

static void do_part(const work *w, shared_part *p, size_t from, size_t end) {
    const wi_exact_args part = range_of(w->args, from, end);
    p->any = true;
    wi_exact_add_share(&part, 0, part.n, p->word);
}

static void do_stretch(void *user, int rank, int size) {
    const work *const w = user;
    const wi_group_args *const a = w->args;
    wi_group_cut from = wi_group_cut_at(a, w->segments, rank, size);
    const wi_group_cut end = wi_group_cut_at(a, w->segments, rank + 1, size);
    if (size == 1) {
        do_whole(w, 0, w->segments);
        return;
    }
    stretch *const own = &w->stretches[rank];
    own->head.segment = from.segment;
    own->tail.segment = end.segment;
    own->head.any = own->tail.any = own->ends = false;
    if (from.segment < w->segments && from.at > wi_group_start(a, from.segment)) {
        own->ends = from.segment < end.segment;
        do_part(w, &own->head, from.at,
                own->ends ? wi_group_end(a, w->segments, from.segment) : end.at);
        if (!own->ends)
            return;
        from.segment++;
    }
    do_whole(w, from.segment, end.segment);
    if (end.segment < w->segments && end.at > wi_group_start(a, end.segment))
        do_part(w, &own->tail, wi_group_start(a, end.segment), end.at);
}

static void add_part(int64_t *total, const shared_part *p) {
    if (!p->any)
        return;
    wi_exact_merge_words(total, p->word);
    wi_exact_carry(total);
}

static void combine_shared(const work *w, int team) {
    int64_t total[WI_EXACT_WORDS] = {0};
    for (int rank = 0; rank < team; rank++) {
        const stretch *const s = &w->stretches[rank];
        add_part(total, &s->head);
        if (s->ends) {
            wi_exact_args whole = range_of(w->args, 0, 0);
            whole.result = result_at(w->args, s->head.segment);
            wi_exact_finish(&whole, total);
            memset(total, 0, sizeof total);
        }
        add_part(total, &s->tail);
    }
}

size_t wi_exact_segments_bytes(const weft_context *ctx, const wi_group_args *a) {
    const size_t team = (size_t)wi_group_team(ctx, a);
    return team > 1 ? team * sizeof(stretch) : 0;
}

weft_status wi_exact_segments_threads(weft_context *ctx, const void *args) {
    const wi_group_args *const a = args;
    const int team = wi_group_team(ctx, a);
    void *own = NULL;
    weft_status status = WEFT_OK;
    if (team > 1 && !a->room)
        status = wi_group_take(ctx, a->call, wi_exact_segments_bytes(ctx, a), &own);
    if (status != WEFT_OK)
        return status;
    work w = {.args = a,
              .simd = WI_OF_ISA(wi_cpu_isa(), wi_exact_segments_simd),
              .segments = segments_of(a),
              .stretches = own ? own : a->room};
    wi_team_run(ctx, team, do_stretch, &w);
    if (team > 1)
        combine_shared(&w, team);
    wi_host_free(own);
    return WEFT_OK;
}
