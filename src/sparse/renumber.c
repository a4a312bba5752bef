/* SPDX-License-Identifier: Apache-2.0 */
/* Permutations by several threads. */
#include <string.h>

#include "cpu/team.h"
#include "sparse/symbolic.h"

typedef struct renumbering {
    int64_t n;
    const int64_t *position, *from;
    int64_t *perm, *inverse, *parent, *count, *scratch;
} renumbering;

static int64_t share_at(const renumbering *r, int rank, int size) {
    return (int64_t)wi_team_share((size_t)r->n, rank, size);
}

static void invert(void *user, int rank, int size) {
    const renumbering *const r = user;
    for (int64_t k = share_at(r, rank, size); k < share_at(r, rank + 1, size); k++)
        r->inverse[r->from[k]] = k;
}

void wi_invert_shared(const weft_context *ctx, int team, int64_t n, const int64_t *perm,
                      int64_t *inverse) {
    renumbering r = {.n = n, .from = perm, .inverse = inverse};
    wi_team_run(ctx, team, invert, &r);
}

static void copy_share(void *user, int rank, int size) {
    const renumbering *const r = user;
    for (int64_t k = share_at(r, rank, size); k < share_at(r, rank + 1, size); k++)
        r->perm[k] = r->from ? r->from[k] : k;
}

void wi_copy_shared(const weft_context *ctx, int team, int64_t n, const int64_t *from,
                    int64_t *to) {
    renumbering r = {.n = n, .from = from, .perm = to};
    wi_team_run(ctx, team, copy_share, &r);
}

void wi_identity_shared(const weft_context *ctx, int team, int64_t n, int64_t *to) {
    wi_copy_shared(ctx, team, n, NULL, to);
}

static void compose(void *user, int rank, int size) {
    const renumbering *const r = user;
    for (int64_t k = share_at(r, rank, size); k < share_at(r, rank + 1, size); k++) {
        r->perm[k] = r->from[r->perm[k]];
        r->inverse[r->perm[k]] = k;
    }
}

void wi_compose_shared(const weft_context *ctx, int team, int64_t n, const int64_t *from,
                       int64_t *perm, int64_t *inverse) {
    renumbering r = {.n = n, .from = from, .perm = perm, .inverse = inverse};
    wi_team_run(ctx, team, compose, &r);
}

/* The new arrays, in `scratch`. */
static void scatter(void *user, int rank, int size) {
    const renumbering *const r = user;
    int64_t *const perm = r->scratch, *const parent = perm + r->n, *const count = parent + r->n;
    for (int64_t k = share_at(r, rank, size); k < share_at(r, rank + 1, size); k++) {
        const int64_t to = r->position[k];
        perm[to] = r->perm[k];
        parent[to] = r->parent[k] < 0 ? -1 : r->position[r->parent[k]];
        if (r->count)
            count[to] = r->count[k];
    }
}

static void copy_back(void *user, int rank, int size) {
    const renumbering *const r = user;
    const int64_t begin = share_at(r, rank, size), end = share_at(r, rank + 1, size);
    const size_t bytes = (size_t)(end - begin) * sizeof(int64_t);
    memcpy(r->perm + begin, r->scratch + begin, bytes);
    memcpy(r->parent + begin, r->scratch + r->n + begin, bytes);
    if (r->count)
        memcpy(r->count + begin, r->scratch + 2 * r->n + begin, bytes);
    for (int64_t k = begin; k < end; k++)
        r->inverse[r->perm[k]] = k;
}

void wi_renumber_shared(const weft_context *ctx, int team, wi_symbolic *symbolic, bool counted,
                        const int64_t *position, int64_t *scratch) {
    renumbering r = {.n = symbolic->n,
                     .position = position,
                     .perm = symbolic->perm,
                     .inverse = symbolic->inverse,
                     .parent = symbolic->parent,
                     .count = counted ? symbolic->count : NULL,
                     .scratch = scratch};
    wi_team_run(ctx, team, scatter, &r);
    wi_team_run(ctx, team, copy_back, &r);
}
