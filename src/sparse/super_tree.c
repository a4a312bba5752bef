/* SPDX-License-Identifier: Apache-2.0 */
/* Supernodes: runs of columns of L with the same structure. */
#include "sparse/super_tree.h"

#include <stdatomic.h>

#include "cpu/team.h"

static void take_memory(wi_super_tree *tree, int64_t *memory) {
    int64_t **const arrays[] = {&tree->parent,   &tree->columns, &tree->height, &tree->entries,
                                &tree->child,    &tree->sibling, &tree->run,    &tree->run_last,
                                &tree->run_next, &tree->peak,    &tree->list,   &tree->sorting};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        *arrays[k] = memory + (int64_t)k * tree->count;
}

/* ---- pieces of the tree ---- */

static int64_t columns_of(const int64_t *first, const wi_super_piece *p) {
    return first[p->end] - first[p->begin];
}

int64_t wi_super_cut(int64_t supernodes, const int64_t *parent, const int64_t *first, int64_t most,
                     int64_t room, int64_t *size, wi_super_piece *pieces) {
    enum {
        LEAST = 8 /* the smallest has such a part of the most columns */
    };
    int64_t count = 0;
    wi_super_piece open = {supernodes, supernodes};
    for (int64_t s = 0; s < supernodes; s++)
        size[s] = 1;
    for (int64_t s = 0; s < supernodes; s++) {
        if (parent[s] >= 0)
            size[parent[s]] += size[s];
    }
    for (int64_t s = supernodes - 1; s >= -1 && count < room;) {
        const wi_super_piece tree = {s < 0 ? -1 : s + 1 - size[s], s + 1};
        const bool fits = s >= 0 && columns_of(first, &tree) <= most;
        const wi_super_piece both = {tree.begin, open.end};
        if (fits && open.begin == tree.end && columns_of(first, &both) <= most) {
            open = both;
        } else {
            if (columns_of(first, &open) > most / LEAST)
                pieces[count++] = open;
            open = fits ? tree : (wi_super_piece){0, 0};
        }
        s = fits ? tree.begin - 1 : s - 1;
    }
    return count;
}

typedef struct stepping {
    const wi_super_tree *tree;
    wi_super_step *work;
    const void *user;
    atomic_llong taken;
} stepping;

static void step_pieces(void *user, int rank, int size) {
    stepping *const s = user;
    (void)rank;
    (void)size;
    for (int64_t k; (k = atomic_fetch_add(&s->taken, 1)) < s->tree->piece_count;)
        s->work(s->user, s->tree->pieces[k].begin, s->tree->pieces[k].end, false);
}

static void do_pieces(const wi_super_tree *tree, wi_super_step *work, const void *user) {
    stepping s = {tree, work, user, 0};
    wi_team_run(tree->ctx, tree->team, step_pieces, &s);
}

/* The supernodes before piece k that are after the piece before it; k = -1: those after all. */
static wi_super_piece gap_before(const wi_super_tree *tree, int64_t k) {
    return (wi_super_piece){k + 1 < tree->piece_count ? tree->pieces[k + 1].end : 0,
                            k < 0 ? tree->count : tree->pieces[k].begin};
}

void wi_super_up(const wi_super_tree *tree, wi_super_step *work, const void *user) {
    do_pieces(tree, work, user);
    for (int64_t k = tree->piece_count - 1; k >= -1; k--) {
        const wi_super_piece gap = gap_before(tree, k);
        work(user, gap.begin, gap.end, true);
    }
}

void wi_super_down(const wi_super_tree *tree, wi_super_step *work, const void *user) {
    for (int64_t k = -1; k < tree->piece_count; k++) {
        const wi_super_piece gap = gap_before(tree, k);
        work(user, gap.begin, gap.end, true);
    }
    do_pieces(tree, work, user);
}

/* Puts a supernode at the head of its parent's list of children, or of the roots. */
static void link_one(wi_super_tree *tree, int64_t s) {
    int64_t *const head = tree->parent[s] < 0 ? &tree->root : &tree->child[tree->parent[s]];
    tree->sibling[s] = *head;
    *head = s;
}

/* A piece: all but those whose parents are above. */
static void link_piece(const void *user, int64_t begin, int64_t end, bool above) {
    wi_super_tree *const tree = *(wi_super_tree *const *)user;
    (void)above;
    for (int64_t s = end - 1; s >= begin; s--) {
        if (tree->parent[s] >= 0 && tree->parent[s] < end)
            link_one(tree, s);
    }
}

/* Links children; `list` has the sizes of subtrees. */
static void link_children(wi_super_tree *tree) {
    tree->root = -1;
    do_pieces(tree, link_piece, &tree);
    for (int64_t k = -1; k < tree->piece_count; k++) {
        const wi_super_piece gap = gap_before(tree, k);
        for (int64_t s = k < 0 ? -1 : tree->pieces[k].end - 1; k >= 0 && s >= tree->pieces[k].begin;
             s -= tree->list[s])
            link_one(tree, s);
        for (int64_t s = gap.end - 1; s >= gap.begin; s--)
            link_one(tree, s);
    }
}

/* ---- finding supernodes ---- */

/* While supernodes are found: each thread has a stretch of columns, then one of supernodes. */
typedef struct finding {
    wi_super_tree *tree;
    int64_t n;
    const int64_t *parent, *count;
    int64_t *first, *super_of;
    _Atomic int64_t *children; /* how many each column has */
    int64_t *begun;            /* supernodes that begin in the stretch, up to each column */
} finding;

static int64_t column_at(const finding *f, int rank, int size) {
    return (int64_t)wi_team_share((size_t)f->n, rank, size);
}

static void clear_children(void *user, int rank, int size) {
    const finding *const f = user;
    for (int64_t k = column_at(f, rank, size); k < column_at(f, rank + 1, size); k++)
        atomic_store_explicit(&f->children[k], 0, memory_order_relaxed);
}

static void count_children(void *user, int rank, int size) {
    const finding *const f = user;
    for (int64_t k = column_at(f, rank, size); k < column_at(f, rank + 1, size); k++) {
        if (f->parent[k] >= 0)
            atomic_fetch_add_explicit(&f->children[f->parent[k]], 1, memory_order_relaxed);
    }
}

static void count_supernodes(void *user, int rank, int size) {
    const finding *const f = user;
    int64_t begun = 0;
    for (int64_t k = column_at(f, rank, size); k < column_at(f, rank + 1, size); k++) {
        const bool joins = k > 0 && f->parent[k - 1] == k && f->children[k] == 1 &&
                           f->count[k - 1] == f->count[k] + 1;
        begun += !joins;
        f->begun[k] = begun;
    }
}

/* The number of supernodes that begin before the stretch of a thread. */
static int64_t supernodes_before(const finding *f, int rank, int size) {
    int64_t sum = 0;
    for (int r = 0; r < rank; r++) {
        const int64_t end = column_at(f, r + 1, size);
        sum += end > column_at(f, r, size) ? f->begun[end - 1] : 0;
    }
    return sum;
}

static void number_supernodes(void *user, int rank, int size) {
    const finding *const f = user;
    const int64_t before = supernodes_before(f, rank, size), begin = column_at(f, rank, size);
    for (int64_t k = begin; k < column_at(f, rank + 1, size); k++) {
        f->super_of[k] = before + f->begun[k] - 1;
        if (f->begun[k] > (k == begin ? 0 : f->begun[k - 1]))
            f->first[f->super_of[k]] = k;
    }
}

static void describe_supernodes(void *user, int rank, int size) {
    const finding *const f = user;
    wi_super_tree *const tree = f->tree;
    const int64_t *const first = f->first;
    const int64_t end = (int64_t)wi_team_share((size_t)tree->count, rank + 1, size);
    for (int64_t s = (int64_t)wi_team_share((size_t)tree->count, rank, size); s < end; s++) {
        const int64_t up = f->parent[first[s + 1] - 1];
        tree->parent[s] = up < 0 ? -1 : f->super_of[up];
        tree->columns[s] = first[s + 1] - first[s];
        tree->height[s] = f->count[first[s]];
        tree->entries[s] = wi_super_stored(tree->columns[s], tree->height[s]);
        tree->run[s] = tree->run_last[s] = s;
        tree->run_next[s] = tree->child[s] = tree->sibling[s] = -1;
    }
}

void wi_super_tree_find(const weft_context *ctx, int team, wi_super_tree *tree, int64_t n,
                        const int64_t *parent, const int64_t *count, int64_t *first,
                        int64_t *super_of, int64_t *memory) {
    finding f = {tree, n, parent, count, first, super_of, (_Atomic int64_t *)memory, memory + n};
    wi_team_run(ctx, team, clear_children, &f);
    wi_team_run(ctx, team, count_children, &f);
    wi_team_run(ctx, team, count_supernodes, &f);
    wi_team_run(ctx, team, number_supernodes, &f);
    const int64_t supernodes = supernodes_before(&f, team, team);
    first[supernodes] = n;
    tree->ctx = ctx;
    tree->team = team;
    tree->count = tree->alive = supernodes;
    tree->first = first;
    tree->piece_count = 0;
    take_memory(tree, memory);
    wi_team_run(ctx, team, describe_supernodes, &f);
    if (team > 1)
        tree->piece_count =
            wi_super_cut(supernodes, tree->parent, first, n / (WI_SUPER_SHARE * team),
                         WI_SUPER_PIECES, tree->list, tree->pieces);
    link_children(tree);
}
