/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of supernodes. Row i of L reaches the supernodes on the paths of the tree from its
 * entries in A to its own supernode; taking rows in order makes them ascend in every supernode.
 * Threads take subtrees of about the same number of columns, each for all rows that reach it; one
 * thread takes what is above these, for all rows that are there. */
#include <stdatomic.h>

#include "cpu/team.h"
#include "sparse/super_tree.h"

enum {
    BATCH = 64 /* neighbours listed at a time */
};

typedef wi_super_piece piece;

typedef struct finding {
    const wi_pattern *graph;
    wi_symbolic *out;
    const int64_t *super_of;
    int64_t *next, *seen; /* of a supernode: where its next row goes, and the latest row */
    int64_t *leaving;     /* the first supernode above s that is in no piece of its own */
    int64_t *above;       /* the rows that are in no piece */
    uint64_t *reached;    /* by each of these: pieces, by the bits of their numbers modulo 64 */
    int64_t above_count;
    piece *pieces;
    int64_t count;
    wi_super_rows_beside *beside; /* or NULL */
    int64_t *beside_scratch;
    atomic_llong taken;
} finding;

/* Appends row i to the supernodes of p that it reaches. From a neighbour it begins at
 * leaving[...], or at its own supernode if `inside`. */
static void reach(const finding *f, const piece *p, bool inside, int64_t i) {
    const wi_symbolic *const out = f->out;
    const int64_t *const row = f->graph->row, end = f->graph->start[out->perm[i] + 1];
    const int64_t first = inside ? out->first[p->begin] : 0;
    const int64_t after = inside && out->first[p->end] < i ? out->first[p->end] : i;
    int64_t list[BATCH];
    for (int64_t e = f->graph->start[out->perm[i]]; e < end;) {
        const int64_t stop = end - e < BATCH ? end : e + BATCH;
        int64_t count = 0;
        for (; e < stop; e++) { /* without branches, as wi_neighbours_before */
            const int64_t j = out->inverse[row[e]];
            list[count] = j;
            count += (j >= first) & (j < after);
        }
        for (int64_t k = 0; k < count; k++) {
            int64_t s = f->super_of[list[k]];
            s = inside ? s : f->leaving[s];
            for (; s < p->end && f->seen[s] != i; s = out->super_parent[s]) {
                f->seen[s] = i;
                out->rows[f->next[s]++] = i;
            }
        }
    }
}

/* A supernode's own columns are its first rows. */
static void begin_rows(const finding *f, int64_t s) {
    wi_symbolic *const out = f->out;
    f->next[s] = out->rows_at[s];
    f->seen[s] = -1;
    for (int64_t k = out->first[s]; k < out->first[s + 1]; k++)
        out->rows[f->next[s]++] = k;
}

static void begin_piece(const finding *f, const piece *p) {
    for (int64_t s = p->end - 1; s >= p->begin; s--) {
        const int64_t up = f->out->super_parent[s];
        f->leaving[s] = up >= 0 && up < p->end ? f->leaving[up] : up;
        begin_rows(f, s);
    }
}

static uint64_t bit_of(const finding *f, const piece *p) {
    return UINT64_C(1) << (p - f->pieces) % 64;
}

/* The piece that column j is in, or the one after it. Pieces are in descending order. */
static const piece *piece_of(const finding *f, int64_t j) {
    int64_t low = 0, high = f->count - 1;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (j >= f->out->first[f->pieces[middle].begin])
            high = middle;
        else
            low = middle + 1;
    }
    return &f->pieces[low];
}

/* Which pieces do the rows above reach? Perhaps too many. */
static void mark_reached(void *user, int rank, int size) {
    const finding *const f = user;
    const wi_symbolic *const out = f->out;
    const size_t count = f->count > 0 ? (size_t)f->above_count : 0;
    for (size_t k = wi_team_share(count, rank, size); k < wi_team_share(count, rank + 1, size);
         k++) {
        const int64_t i = f->above[k], *const start = f->graph->start + out->perm[i];
        f->reached[k] = 0;
        for (int64_t e = start[0]; e < start[1]; e++)
            f->reached[k] |= bit_of(f, piece_of(f, out->inverse[f->graph->row[e]]));
    }
}

static void find_inside(const finding *f, const piece *p) {
    const wi_symbolic *const out = f->out;
    for (int64_t i = out->first[p->begin]; i < out->first[p->end]; i++) {
        f->seen[f->super_of[i]] = i;
        reach(f, p, true, i);
    }
    for (int64_t k = 0; k < f->above_count; k++) {
        if (f->above[k] >= out->first[p->end] && f->reached[k] & bit_of(f, p))
            reach(f, p, true, f->above[k]);
    }
}

static void begin_pieces(void *user, int rank, int size) {
    finding *const f = user;
    (void)rank;
    (void)size;
    for (int64_t k; (k = atomic_fetch_add(&f->taken, 1)) < f->count;)
        begin_piece(f, &f->pieces[k]);
}

static void find_above(const finding *f) {
    const piece all = {0, f->out->supernodes};
    for (int64_t k = 0; k < f->above_count; k++) {
        f->seen[f->super_of[f->above[k]]] = f->above[k];
        reach(f, &all, false, f->above[k]);
    }
}

/* What is above the pieces, and what the caller wants beside, take longest. */
static void find_pieces(void *user, int rank, int size) {
    enum {
        FIRST = -2
    };
    finding *const f = user;
    (void)rank;
    (void)size;
    for (int64_t k; (k = atomic_fetch_add(&f->taken, 1) + FIRST) < f->count;) {
        if (k == -2)
            find_above(f);
        else if (k >= 0)
            find_inside(f, &f->pieces[k]);
        else if (f->beside)
            f->beside(f->out, f->beside_scratch);
    }
}

/* What is between two pieces, or beside the first or the last, is above. */
static void list_above(finding *f) {
    const wi_symbolic *const out = f->out;
    int64_t from = 0;
    for (int64_t k = f->count - 1; k >= -1; k--) {
        const int64_t to = k < 0 ? out->supernodes : f->pieces[k].begin;
        for (int64_t s = from; s < to; s++) {
            f->leaving[s] = s;
            begin_rows(f, s);
            for (int64_t j = out->first[s]; j < out->first[s + 1]; j++)
                f->above[f->above_count++] = j;
        }
        from = k < 0 ? to : f->pieces[k].end;
    }
}

void wi_super_rows(const weft_context *ctx, int team, const wi_pattern *graph,
                   wi_symbolic *symbolic, const int64_t *super_of, int64_t *scratch,
                   wi_super_rows_beside *beside) {
    const int64_t supernodes = symbolic->supernodes;
    finding f = {.graph = graph,
                 .out = symbolic,
                 .beside = beside,
                 .beside_scratch = scratch + 7 * symbolic->n,
                 .super_of = super_of,
                 .next = scratch,
                 .seen = scratch + supernodes,
                 .leaving = scratch + 2 * supernodes,
                 .above = scratch + 3 * supernodes,
                 .reached = (uint64_t *)(scratch + 3 * supernodes + symbolic->n),
                 .pieces = (piece *)(scratch + 3 * supernodes + 2 * symbolic->n)};
    if (team > 1)
        f.count = wi_super_cut(supernodes, symbolic->super_parent, symbolic->first,
                               symbolic->n / (WI_SUPER_SHARE * team), supernodes, f.next, f.pieces);
    list_above(&f);
    wi_team_run(ctx, team, begin_pieces, &f);
    wi_team_run(ctx, team, mark_reached, &f);
    atomic_store(&f.taken, 0);
    wi_team_run(ctx, team, find_pieces, &f);
}
