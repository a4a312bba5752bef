/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic analysis: the elimination tree, the column counts, the supernodes and their rows. */
#include "sparse/symbolic.h"

#include <math.h>

#include "cpu/team.h"
#include "sparse/pages.h"
#include "sparse/super_tree.h"

enum {
    SCRATCH_ARRAYS = 16, /* of n + 1 entries each */
    FAR = 1 << 15        /* columns: a smaller graph is in the cache anyway */
};

/* The scratch memory of one analysis. */
typedef struct analysis {
    const weft_context *ctx;
    int team; /* threads that walk through the graph */
    const wi_pattern *graph;
    wi_symbolic *out;
    int64_t *first, *super_of, *position;
    int64_t *rest; /* 13 arrays */
    wi_super_tree tree;
} analysis;

static weft_status no_memory(weft_context *ctx, const char *call, size_t bytes) {
    return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes of the analysis; free some", call,
                   bytes);
}

weft_status wi_symbolic_take_columns(weft_context *ctx, const char *call, int64_t n,
                                     wi_symbolic *symbolic) {
    const size_t bytes = 4 * (size_t)n * sizeof(int64_t);
    *symbolic = (wi_symbolic){.n = n, .perm = wi_host_alloc(bytes)};
    if (!symbolic->perm)
        return no_memory(ctx, call, bytes);
    symbolic->inverse = symbolic->perm + n;
    symbolic->parent = symbolic->inverse + n;
    symbolic->count = symbolic->parent + n;
    return WEFT_OK;
}

weft_status wi_symbolic_take_supernodes(weft_context *ctx, const char *call, int64_t supernodes,
                                        int64_t rows, wi_symbolic *symbolic) {
    const size_t bytes = (size_t)(6 * supernodes + 2 + rows) * sizeof(int64_t);
    symbolic->supernodes = supernodes;
    symbolic->first = wi_host_alloc(bytes);
    if (!symbolic->first)
        return no_memory(ctx, call, bytes);
    symbolic->rows_at = symbolic->first + supernodes + 1;
    symbolic->super_parent = symbolic->rows_at + supernodes + 1;
    symbolic->peak = symbolic->super_parent + supernodes;
    symbolic->size = symbolic->peak + supernodes;
    symbolic->work = (void *)(symbolic->size + supernodes);
    symbolic->rows = symbolic->size + 2 * supernodes;
    return WEFT_OK;
}

/* Is L little more than A? From `flops`, the sum of the squares of the column counts, follows a
 * bound on the sum of the counts: sqrt(n flops). */
static bool is_slender(const wi_pattern *graph, double flops) {
    const double n = (double)graph->n;
    return sqrt(n * flops) - n <= (double)graph->start[graph->n];
}

/* Computes tree and counts, and puts the columns in a postorder of the tree. */
static void count_columns(analysis *a, const int64_t *perm, double flops) {
    wi_symbolic *const out = a->out;
    const bool slender = is_slender(a->graph, flops), shared = !slender && a->team > 1;
    wi_copy_shared(a->ctx, a->team, out->n, perm, out->perm);
    wi_invert_shared(a->ctx, a->team, out->n, out->perm, out->inverse);
    if (slender)
        wi_tree_and_counts(a->graph, out->perm, out->inverse, out->parent, out->count, a->rest);
    else if (shared)
        wi_tree_shared(a->ctx, a->team, a->graph, out->perm, out->inverse, out->parent, a->position,
                       out->count, a->rest);
    else
        wi_tree(a->graph, out->perm, out->inverse, out->parent, a->rest);
    if (!shared)
        wi_postorder(out->n, out->parent, a->position, slender ? a->rest + out->n : out->count,
                     a->rest);
    wi_renumber_shared(a->ctx, a->team, out, slender || shared, a->position, a->rest);
    if (shared)
        wi_column_counts_shared(a->ctx, a->team, a->graph, out->perm, out->inverse, out->parent,
                                out->count, a->rest);
    else if (!slender)
        wi_column_counts(a->graph, out->perm, out->inverse, out->parent, out->count, a->rest);
}

/* Finds the final places of the columns of some supernodes, which `list` has by their numbers. */
typedef struct placing {
    analysis *a;
    const int64_t *list;
} placing;

static void place_columns(void *user, int rank, int size) {
    const placing *const p = user;
    const wi_super_tree *const tree = &p->a->tree;
    const wi_symbolic *const out = p->a->out;
    const size_t supernodes = (size_t)out->supernodes;
    const int64_t end = (int64_t)wi_team_share(supernodes, rank + 1, size);
    for (int64_t t = (int64_t)wi_team_share(supernodes, rank, size); t < end; t++) {
        int64_t column = out->first[t];
        for (int64_t run = tree->run[p->list[t]]; run >= 0; run = tree->run_next[run]) {
            for (int64_t k = tree->first[run]; k < tree->first[run + 1]; k++) {
                p->a->super_of[column] = t;
                p->a->position[k] = column++;
            }
        }
    }
}

/* Copies the supernodes in the order of their numbers, and finds the final place of every column.
 */
static void number_columns(analysis *a, const int64_t *number) {
    const wi_super_tree *const tree = &a->tree;
    wi_symbolic *const out = a->out;
    int64_t *const by_number = tree->sorting + tree->count; /* `number` is in the first half */
    for (int64_t k = 0; k < tree->alive; k++)
        by_number[number[tree->list[k]]] = tree->list[k];
    int64_t column = 0, row = 0;
    for (int64_t t = 0; t < out->supernodes; t++) {
        const int64_t s = by_number[t], up = tree->parent[s];
        out->first[t] = column;
        out->rows_at[t] = row;
        out->super_parent[t] = up < 0 ? -1 : number[up];
        row += tree->height[s];
        column += tree->columns[s];
    }
    out->first[out->supernodes] = column;
    out->rows_at[out->supernodes] = row;
    placing p = {a, by_number};
    wi_team_run(a->ctx, a->team, place_columns, &p);
}

/* The most doubles on the stack while each subtree is factored: the updates of a supernode's
 * children stay there until it has made its own. `held` is scratch. Returns the maximum. */
static int64_t measure_stack(wi_symbolic *symbolic, int64_t *held) {
    int64_t most = 0;
    for (int64_t s = 0; s < symbolic->supernodes; s++)
        held[s] = symbolic->peak[s] = 0;
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const int64_t up = symbolic->super_parent[s];
        const int64_t update =
            wi_update_entries(wi_super_height(symbolic, s), wi_super_columns(symbolic, s));
        if (held[s] + update > symbolic->peak[s])
            symbolic->peak[s] = held[s] + update;
        if (symbolic->peak[s] > most)
            most = symbolic->peak[s];
        if (up < 0)
            continue;
        if (held[up] + symbolic->peak[s] > symbolic->peak[up])
            symbolic->peak[up] = held[up] + symbolic->peak[s];
        held[up] += update;
    }
    return most;
}

/* The cost of a front in flops: its own, plus terms for the entries assembled and for each front.
 */
static double front_work(int64_t height, int64_t columns) {
    const double entry = 16, front = 4000, c = (double)columns, m = (double)(height - columns);
    const double flops = c * (m * m + m * c + c * c / 3);
    return flops + entry * (c * (double)height + m * m / 2) + front;
}

void wi_symbolic_sum_up(wi_symbolic *symbolic, int64_t *scratch) {
    int64_t *const depth = scratch, panels = 0;
    for (int64_t k = symbolic->n - 1; k >= 0; k--) {
        const int64_t count = symbolic->count[k], up = symbolic->parent[k];
        symbolic->nnz_l += count;
        symbolic->flops += (double)count * (double)count;
        depth[k] = up < 0 ? 1 : depth[up] + 1;
        if (depth[k] > symbolic->tree_height)
            symbolic->tree_height = depth[k];
    }
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        symbolic->size[s] = 1;
        symbolic->work[s] = front_work(wi_super_height(symbolic, s), wi_super_columns(symbolic, s));
    }
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const int64_t columns = wi_super_columns(symbolic, s);
        const int64_t height = wi_super_height(symbolic, s), up = symbolic->super_parent[s];
        if (up >= 0) {
            symbolic->size[up] += symbolic->size[s];
            symbolic->work[up] += symbolic->work[s];
        }
        panels += wi_block_entries(height, columns);
        symbolic->nnz_l_stored += columns * height - columns * (columns - 1) / 2;
        if (height > symbolic->largest_front)
            symbolic->largest_front = height;
    }
    symbolic->factor_bytes = (size_t)panels * sizeof(double);
    symbolic->work_bytes = (size_t)measure_stack(symbolic, scratch) * sizeof(double);
}

static int team_of(const weft_context *ctx, const wi_pattern *graph) {
    const size_t n = (size_t)graph->n, words = n + (size_t)graph->start[n];
    return graph->n < FAR ? 1 : wi_team_size(ctx, n, words * sizeof(int64_t));
}

static weft_status build(weft_context *ctx, const char *call, const wi_pattern *graph,
                         const int64_t *perm, double flops, const wi_relax *relax, wi_spare *spare,
                         wi_symbolic *symbolic) {
    const int64_t n = graph->n;
    const size_t bytes = SCRATCH_ARRAYS * (size_t)(n + 1) * sizeof(int64_t);
    const int team = team_of(ctx, graph);
    int64_t *const scratch = wi_pages_take(ctx, team, spare, bytes);
    analysis a = {.ctx = ctx, .team = team, .graph = graph, .out = symbolic};
    *symbolic = (wi_symbolic){.n = n};
    if (!scratch)
        return no_memory(ctx, call, bytes);
    a.first = scratch;
    a.super_of = a.first + n + 1;
    a.position = a.super_of + n;
    a.rest = a.position + n;
    weft_status status = wi_symbolic_take_columns(ctx, call, n, symbolic);
    if (status != WEFT_OK)
        goto done;
    wi_pages_touch(ctx, a.team, symbolic->perm, 4 * (size_t)n * sizeof(int64_t));
    count_columns(&a, perm, flops);
    wi_super_tree_find(ctx, team, &a.tree, n, symbolic->parent, symbolic->count, a.first,
                       a.super_of, a.rest);
    wi_super_tree_merge(&a.tree, relax);
    wi_super_tree_sort(&a.tree);
    status = wi_symbolic_take_supernodes(ctx, call, a.tree.alive, a.tree.rows, symbolic);
    if (status != WEFT_OK)
        goto done;
    wi_pages_touch(ctx, team, symbolic->first,
                   (size_t)(6 * a.tree.alive + 2 + a.tree.rows) * sizeof(int64_t));
    wi_super_tree_number(&a.tree, a.tree.sorting, a.tree.sorting + a.tree.count);
    number_columns(&a, a.tree.sorting);
    wi_renumber_shared(ctx, a.team, symbolic, true, a.position, a.rest);
    wi_super_rows(ctx, a.team, graph, symbolic, a.super_of, a.rest, wi_symbolic_sum_up);
done:
    wi_pages_free(ctx, team, spare, scratch, bytes);
    if (status != WEFT_OK)
        wi_symbolic_free(symbolic);
    return status;
}

/* The same for a large graph: three passes go through it in the order of the columns, which takes
 * less time if it lies in memory in that order. */
static weft_status build_far(weft_context *ctx, const char *call, const wi_pattern *graph,
                             const int64_t *perm, double flops, const wi_relax *relax,
                             wi_spare *spare, wi_symbolic *symbolic) {
    const int64_t n = graph->n;
    const size_t bytes = 2 * (size_t)n * sizeof(int64_t);
    const int team = team_of(ctx, graph);
    int64_t *const same = wi_pages_take(ctx, team, spare, bytes);
    wi_pattern near = {0, NULL, NULL};
    if (!same)
        return no_memory(ctx, call, bytes);
    int64_t *const inverse = same + n;
    int64_t *const memory = wi_spare_take(spare, wi_pattern_bytes(n, graph->start[n]));
    wi_invert_shared(ctx, team, n, perm, inverse);
    weft_status status = wi_pattern_renumber(ctx, call, graph, perm, inverse, memory, &near);
    wi_identity_shared(ctx, team, n, same);
    if (status == WEFT_OK)
        status = build(ctx, call, &near, same, flops, relax, spare, symbolic);
    if (status == WEFT_OK)
        wi_compose_shared(ctx, team, n, perm, symbolic->perm, symbolic->inverse);
    if (!memory)
        wi_pattern_free(&near);
    wi_pages_free(ctx, team, spare, same, bytes);
    return status;
}

weft_status wi_symbolic_build(weft_context *ctx, const char *call, const wi_pattern *graph,
                              const int64_t *perm, double flops, const wi_relax *relax,
                              wi_spare *spare, wi_symbolic *symbolic) {
    *symbolic = (wi_symbolic){.n = graph->n};
    return graph->n < FAR ? build(ctx, call, graph, perm, flops, relax, spare, symbolic)
                          : build_far(ctx, call, graph, perm, flops, relax, spare, symbolic);
}

void wi_symbolic_free(wi_symbolic *symbolic) {
    wi_host_free(symbolic->perm);
    wi_host_free(symbolic->first);
    *symbolic = (wi_symbolic){.n = 0};
}
