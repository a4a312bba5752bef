/* SPDX-License-Identifier: Apache-2.0 */
/* Separators by the multilevel method (Hendrickson and Leland 1995; Karypis and Kumar 1998): the
 * graph is coarsened step by step, the smallest graph is divided, and the division is carried back
 * from graph to graph and improved on each. */
#include "sparse/separator.h"

enum {
    SMALLEST = 100, /* vertices: a graph with fewer is not coarsened */
    LEVELS = 60,
    TRIES = 8
};

/* ---- memory ---- */

void *wi_room_take(wi_room *room, size_t bytes) {
    enum {
        LEAST_BYTES = 1 << 16,
        LINE = 64
    };
    bytes = (bytes + LINE - 1) / LINE * LINE;
    while (room->block[room->at].memory && room->used + bytes > room->block[room->at].bytes) {
        room->at++; /* each block is at least twice the one before, so the array never fills */
        room->used = 0;
    }
    if (!room->block[room->at].memory) {
        const size_t before = room->at > 0 ? room->block[room->at - 1].bytes : LEAST_BYTES;
        const size_t most = bytes > 2 * before ? bytes : 2 * before;
        room->block[room->at].memory = wi_host_map(most);
        if (!room->block[room->at].memory)
            return NULL;
        room->block[room->at].bytes = most;
    }
    char *const taken = room->block[room->at].memory + room->used;
    room->used += bytes;
    return taken;
}

void wi_room_trim(wi_room *room, const void *end) {
    const size_t used = (size_t)((const char *)end - room->block[room->at].memory);
    room->used = (used + 63) / 64 * 64;
}

void wi_room_reset(wi_room *room) {
    room->at = 0;
    room->used = 0;
}

void wi_room_free(wi_room *room) {
    for (int k = 0; k < WI_ROOM_BLOCKS; k++)
        wi_host_unmap(room->block[k].memory, room->block[k].bytes);
    *room = (wi_room){.at = 0};
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
static int make_levels(wi_room *room, level *levels) {
    const int32_t most = levels[0].graph.total / SMALLEST * 3 / 2 + 1;
    int count = 1;
    for (; count < LEVELS && levels[count - 1].graph.n > SMALLEST; count++) {
        level *const fine = &levels[count - 1], *const next = fine + 1;
        fine->to = wi_room_take(room, (size_t)fine->graph.n * sizeof *fine->to);
        if (!fine->to || !wi_coarsen(room, &fine->graph, most, &next->graph, fine->to))
            return 0;
        next->side = wi_room_take(room, (size_t)next->graph.n);
        if (!next->side)
            return 0;
        if (next->graph.n > fine->graph.n / 10 * 9)
            break;
    }
    return count;
}

/* Divides the smallest graph in several ways and keeps the best. */
static bool part_smallest(wi_room *room, wi_parting *p, const level *last, uint64_t *state) {
    const int32_t n = last->graph.n;
    uint8_t *const side = wi_room_take(room, (size_t)n);
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

bool wi_separate(wi_room *room, const wi_graph *graph, uint64_t seed, uint8_t *side) {
    level levels[LEVELS] = {{.graph = *graph, .side = side}};
    uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    wi_parting p;
    if (graph->n == 0)
        return true;
    const int count = make_levels(room, levels);
    if (count == 0 || !wi_parting_take(room, graph->n, &p) ||
        !part_smallest(room, &p, &levels[count - 1], &state))
        return false;
    for (int k = count - 2; k >= 0; k--) {
        const level *const fine = &levels[k], *const small = fine + 1;
        for (int32_t v = 0; v < fine->graph.n; v++)
            fine->side[v] = small->side[fine->to[v]];
        wi_parting_set(&p, &fine->graph, fine->side);
        wi_parting_refine(&p);
    }
    return true;
}
