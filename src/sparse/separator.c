/* SPDX-License-Identifier: Apache-2.0 */
/* Separators by the multilevel method (Hendrickson and Leland 1995; Karypis and Kumar 1998): the
 * graph is coarsened step by step, the smallest graph is divided, and the division is carried back
 * from graph to graph and improved on each. */
#include "sparse/separator.h"

enum {
    SMALLEST = 100, /* vertices: a graph with fewer is not coarsened */
    LEVELS = 60,
    TRIES = 8,
    LINE = 64
};

/* ---- memory ---- */

void *wi_arena_take(wi_arena *arena, size_t bytes) {
    enum {
        LEAST_BYTES = 1 << 16
    };
    bytes = (bytes + LINE - 1) / LINE * LINE;
    if (arena->unwanted && atomic_load_explicit(arena->unwanted, memory_order_relaxed))
        return NULL;
    if (bytes < arena->lent.bytes - arena->lent_used) {
        arena->lent_used += bytes;
        return arena->lent.memory + arena->lent_used - bytes;
    }
    while (arena->block[arena->at].memory && arena->used + bytes > arena->block[arena->at].bytes) {
        arena->at++; /* each block is at least twice the one before, so the array never fills */
        arena->used = 0;
    }
    if (!arena->block[arena->at].memory) {
        const size_t before = arena->at > 0 ? arena->block[arena->at - 1].bytes : LEAST_BYTES;
        const size_t most = bytes > 2 * before ? bytes : 2 * before;
        arena->block[arena->at].memory = wi_host_map(most);
        if (!arena->block[arena->at].memory)
            return NULL;
        arena->block[arena->at].bytes = most;
    }
    char *const taken = arena->block[arena->at].memory + arena->used;
    arena->used += bytes;
    return taken;
}

void wi_arena_trim(wi_arena *arena, const void *end) {
    const uintptr_t at = (uintptr_t)end, lent = (uintptr_t)arena->lent.memory;
    const bool is_lent = at >= lent && at - lent <= arena->lent.bytes && lent;
    const uintptr_t block = (uintptr_t)arena->block[arena->at].memory;
    if (!is_lent && (at < block || at - block > arena->block[arena->at].bytes))
        return; /* in a block before the current one, which is full */
    size_t *const used = is_lent ? &arena->lent_used : &arena->used;
    *used = (size_t)(at - (is_lent ? lent : block));
    *used = (*used + LINE - 1) / LINE * LINE;
}

void wi_arena_reset(wi_arena *arena) {
    arena->lent_used = 0;
    arena->at = 0;
    arena->used = 0;
}

void wi_arena_free(wi_arena *arena) {
    for (int k = 0; k < WI_ROOM_BLOCKS; k++)
        wi_host_unmap(arena->block[k].memory, arena->block[k].bytes);
    *arena = (wi_arena){.at = 0};
}

/* ---- levels ---- */

typedef struct level {
    wi_graph graph;
    int32_t *to; /* for each vertex, its vertex in the next, smaller graph */
    uint8_t *side;
} level;

/* xorshift64* */
static uint64_t draw_number(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545F4914F6CDD1D) >> 32;
}

/* Fills levels[1 ...] until a graph is small, or hardly smaller than the one before. Returns the
 * number of levels, 0 if there is no memory. */
static int make_levels(wi_arena *arena, wi_scratch scratch, level *levels) {
    const int32_t most = levels[0].graph.total / SMALLEST * 3 / 2 + 1;
    int count = 1;
    for (; count < LEVELS && levels[count - 1].graph.n > SMALLEST; count++) {
        level *const fine = &levels[count - 1], *const next = fine + 1;
        fine->to = wi_arena_take(arena, (size_t)fine->graph.n * sizeof *fine->to);
        if (!fine->to || !wi_coarsen(arena, scratch, &fine->graph, most, &next->graph, fine->to))
            return 0;
        next->side = wi_arena_take(arena, (size_t)next->graph.n);
        if (!next->side)
            return 0;
        if (next->graph.n > fine->graph.n / 10 * 9)
            break;
    }
    return count;
}

/* Divides the smallest graph in several ways and keeps the best. */
static bool part_smallest(wi_arena *arena, wi_parting *p, const level *last, uint64_t *state) {
    const int32_t n = last->graph.n;
    uint8_t *const side = wi_arena_take(arena, (size_t)n);
    int32_t best[3] = {0, 0, 0};
    if (!side)
        return false;
    for (int k = 0; k < TRIES; k++) {
        wi_parting_grow(p, &last->graph, side, (int32_t)(draw_number(state) % (uint64_t)n));
        wi_parting_refine(p);
        if (k > 0 && !wi_parting_better(p, best))
            continue;
        for (int i = 0; i < 3; i++)
            best[i] = p->weight[i];
        for (int32_t v = 0; v < n; v++)
            last->side[v] = side[v];
    }
    return true;
}

/* One parting, and those of threads that help. */
static bool take_partings(wi_arena *arena, int32_t n, int count, wi_parting *p) {
    bool enough = wi_parting_take(arena, n, count, p);
    for (int k = 1; k < count && enough; k++)
        enough = (p[k].side = wi_arena_take(arena, (size_t)n));
    return enough;
}

bool wi_separate(wi_arena *arena, const wi_graph *graph, uint64_t seed, uint8_t *side) {
    level levels[LEVELS] = {{.graph = *graph, .side = side}};
    uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    wi_parting p[1 + WI_AHEAD];
    if (graph->n == 0)
        return true;
    const bool together = arena->queue && graph->n >= WI_AHEAD_VERTICES;
    const int partings = together ? 1 + WI_AHEAD : 1;
    if (!take_partings(arena, graph->n, partings, p))
        return false;
    const size_t unused = WI_PARTING_ARRAYS * (size_t)graph->n * (size_t)partings;
    const int count = make_levels(arena, (wi_scratch){p->list, unused}, levels);
    if (count == 0 || !part_smallest(arena, p, &levels[count - 1], &state))
        return false;
    for (int k = count - 2; k >= 0; k--) {
        const level *const fine = &levels[k], *const small = fine + 1;
        wi_parting_project(together ? arena->queue : NULL, p, &fine->graph, fine->side, fine->to,
                           small->side);
        if (together && fine->graph.n >= WI_AHEAD_VERTICES)
            wi_parting_refine_together(arena->queue, p, p + 1);
        else
            wi_parting_refine(p);
    }
    return true;
}
