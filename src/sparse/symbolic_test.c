/* SPDX-License-Identifier: Apache-2.0 */
/* The symbolic analysis against elimination by its definition, on thousands of small graphs. */
#include <math.h>

#include "graphs.h"
#include "sparse/super_tree.h"
#include "systems.h"
#include "testing.h"

enum {
    GRAPHS = 6000,
    MOST_TEAM = 7,
    LARGEST = 40
};

static const wi_relax relax_none = {{0, 0, 0, 0}, {0, 0, 0, 0}};
static const wi_relax relax_much = {{8, 20, 100, 100}, {1, 0.9, 0.5, 0.4}};
static const wi_relax *const relaxes[] = {&relax_none, &wi_relax_default, &relax_much};

static void check_permutation(const wi_symbolic *s) {
    bool seen[TEST_MOST_VERTICES] = {false};
    for (int64_t k = 0; k < s->n; k++) {
        const int64_t v = s->perm[k];
        assert_true(v >= 0 && v < s->n && !seen[v]);
        assert_int_equal(s->inverse[v], k);
        seen[v] = true;
    }
}

/* Tree, counts and figures must be those of the permuted matrix, and as good as the ordering. */
static void check_columns(const wi_symbolic *s, const test_factor *f, const test_factor *given) {
    int64_t height = 0, depth[TEST_MOST_VERTICES];
    for (int64_t k = s->n - 1; k >= 0; k--) {
        assert_int_equal(s->parent[k], f->parent[k]);
        assert_int_equal(s->count[k], f->count[k]);
        depth[k] = f->parent[k] < 0 ? 1 : depth[f->parent[k]] + 1;
        height = depth[k] > height ? depth[k] : height;
    }
    assert_int_equal(s->nnz_l, f->nnz);
    assert_int_equal(s->nnz_l, given->nnz);
    assert_true(s->flops == f->flops && s->flops == given->flops);
    assert_int_equal(s->tree_height, height);
}

/* The rows of a supernode: its columns, then all rows that any of them has below. */
static void check_rows(const wi_symbolic *s, const test_factor *f) {
    int64_t stored = 0, panels = 0, front = 0;
    for (int64_t t = 0; t < s->supernodes; t++) {
        const int64_t first = s->first[t], end = s->first[t + 1];
        int64_t k = s->rows_at[t];
        assert_true(first < end);
        for (int64_t i = first; i < s->n; i++) {
            bool has = i < end;
            for (int64_t j = first; j < end; j++)
                has |= f->l[i][j];
            if (has) {
                assert_true(k < s->rows_at[t + 1]);
                assert_int_equal(s->rows[k++], i);
            }
        }
        assert_int_equal(k, s->rows_at[t + 1]);
        const int64_t columns = end - first, height = k - s->rows_at[t];
        stored += columns * height - columns * (columns - 1) / 2;
        panels += columns * height;
        front = height > front ? height : front;
    }
    assert_int_equal(s->first[s->supernodes], s->n);
    assert_int_equal(s->nnz_l_stored, stored);
    assert_int_equal(s->factor_bytes, panels * 8);
    assert_int_equal(s->largest_front, front);
}

/* At most the fraction of a supernode that `relax` allows may be padding, however many supernodes
 * were merged into it. */
static void check_padding(const wi_symbolic *s, const wi_relax *relax) {
    for (int64_t t = 0; t < s->supernodes; t++) {
        const int64_t columns = s->first[t + 1] - s->first[t];
        const int64_t height = s->rows_at[t + 1] - s->rows_at[t];
        const int64_t stored = columns * height - columns * (columns - 1) / 2;
        int64_t padding = stored;
        double most = 0;
        for (int64_t j = s->first[t]; j < s->first[t + 1]; j++)
            padding -= s->count[j];
        for (int k = WI_RELAX_STEPS - 1; k >= 0; k--)
            most = columns <= relax->columns[k] ? relax->zeros[k] : most;
        if (!((double)padding <= most * (double)stored))
            fail_msg("%lld columns: %lld of %lld entries stored are padding, more than %g",
                     (long long)columns, (long long)padding, (long long)stored, most);
    }
}

/* The first row below a supernode is a column of its parent; each subtree has consecutive numbers.
 */
static void check_super_tree(const wi_symbolic *s) {
    int64_t lowest[TEST_MOST_VERTICES];
    for (int64_t t = 0; t < s->supernodes; t++)
        lowest[t] = t;
    for (int64_t t = 0; t < s->supernodes; t++) {
        const int64_t k = s->rows_at[t] + s->first[t + 1] - s->first[t], up = s->super_parent[t];
        if (k == s->rows_at[t + 1]) {
            assert_int_equal(up, -1);
            continue;
        }
        assert_true(up > t && up < s->supernodes);
        assert_true(s->rows[k] >= s->first[up] && s->rows[k] < s->first[up + 1]);
        lowest[up] = lowest[t] < lowest[up] ? lowest[t] : lowest[up];
        for (int64_t other = t + 1; other < up; other++) {
            int64_t root = other;
            while (root >= 0 && root < up)
                root = s->super_parent[root];
            assert_int_equal(root, up); /* all between are descendants of `up` */
        }
    }
}

static int64_t update_of(const wi_symbolic *s, int64_t t) {
    const int64_t below = s->rows_at[t + 1] - s->rows_at[t] - (s->first[t + 1] - s->first[t]);
    return below * below;
}

/* The smallest peak of subtree t over all orders of its children, by trying them all. */
static int64_t least_peak(const wi_symbolic *s, int64_t t);

static int64_t try_orders(const wi_symbolic *s, int64_t t, const int64_t *children, int64_t count,
                          unsigned done, int64_t held) {
    if (done == (1u << count) - 1)
        return held + update_of(s, t);
    int64_t best = INT64_MAX;
    for (int64_t k = 0; k < count; k++) {
        if (done >> k & 1)
            continue;
        const int64_t now = held + least_peak(s, children[k]);
        const int64_t later =
            try_orders(s, t, children, count, done | 1u << k, held + update_of(s, children[k]));
        const int64_t peak = now > later ? now : later;
        best = peak < best ? peak : best;
    }
    return best;
}

static int64_t least_peak(const wi_symbolic *s, int64_t t) {
    int64_t children[TEST_MOST_VERTICES], count = 0;
    for (int64_t c = 0; c < t; c++) {
        if (s->super_parent[c] == t)
            children[count++] = c;
    }
    return count > 5 ? s->peak[t] : try_orders(s, t, children, count, 0, 0);
}

/* Simulates the stack of the factorization in this order. */
static void check_stack(const wi_symbolic *s) {
    int64_t held = 0, most = 0;
    for (int64_t t = 0; t < s->supernodes; t++) {
        held += update_of(s, t);
        most = held > most ? held : most;
        for (int64_t c = 0; c < t; c++)
            held -= s->super_parent[c] == t ? update_of(s, c) : 0;
        assert_int_equal(s->peak[t], least_peak(s, t));
    }
    assert_int_equal(held, 0);
    assert_int_equal(s->work_bytes, most * 8);
}

/* The tree of supernodes by `team` threads; the memory is the caller's. Returns the numbers of
 * those alive, which are in `tree`. */
static int64_t *build_tree(weft_context *ctx, int team, int64_t n, const int64_t *parent,
                           const int64_t *count, const wi_relax *relax, wi_super_tree *tree) {
    int64_t *const memory = calloc(15 * (size_t)n + 1, sizeof *memory);
    wi_super_tree_find(ctx, team, tree, n, parent, count, memory, memory + n + 1,
                       memory + 2 * n + 1);
    wi_super_tree_merge(tree, relax);
    wi_super_tree_sort(tree);
    wi_super_tree_number(tree, tree->sorting, tree->sorting + tree->count);
    return memory;
}

static void check_shared_supernodes(weft_context *ctx, int team, int64_t n, const int64_t *parent,
                                    const int64_t *count, const wi_relax *relax) {
    wi_super_tree one, many;
    int64_t *const own = build_tree(ctx, 1, n, parent, count, relax, &one);
    int64_t *const again = build_tree(ctx, team, n, parent, count, relax, &many);
    const size_t bytes = (size_t)one.alive * sizeof(int64_t);
    assert_int_equal(one.alive, many.alive);
    assert_int_equal(one.rows, many.rows);
    assert_memory_equal(one.list, many.list, bytes);
    assert_memory_equal(one.run_next, many.run_next, (size_t)one.count * sizeof *one.run_next);
    for (int64_t k = 0; k < one.alive; k++) {
        const int64_t t = one.list[k];
        assert_int_equal(one.sorting[t], many.sorting[t]);
        assert_int_equal(one.parent[t], many.parent[t]);
        assert_int_equal(one.columns[t], many.columns[t]);
        assert_int_equal(one.height[t], many.height[t]);
        assert_int_equal(one.peak[t], many.peak[t]);
        assert_int_equal(one.run[t], many.run[t]);
    }
    free(own);
    free(again);
}

/* What several threads find of a tree must be what one finds. */
static void check_shared_tree(weft_context *ctx, int team, const wi_pattern *graph,
                              const int64_t *given, const wi_relax *relax) {
    const int64_t n = graph->n;
    const size_t bytes = (size_t)n * sizeof(int64_t);
    const size_t count = 18 * (size_t)n + 2 * (MOST_TEAM + 1);
    int64_t *const perm = malloc(count * sizeof *perm), *const inverse = perm + n;
    int64_t *const own = perm + 2 * n, *const again = perm + 3 * n, *const parent = perm + 4 * n;
    int64_t *const sizes = perm + 6 * n, *const position = perm + 5 * n;
    int64_t *const scratch = perm + 8 * n;
    memcpy(perm, given, bytes);
    wi_invert(n, perm, inverse);
    wi_tree(graph, perm, inverse, parent, scratch);
    wi_tree_shared(ctx, team, graph, perm, inverse, again, sizes + n, sizes, scratch);
    assert_memory_equal(parent, again, bytes);
    wi_postorder(n, parent, position, own, scratch);
    assert_memory_equal(position, sizes + n, bytes);
    assert_memory_equal(own, sizes, bytes);
    for (int64_t k = 0; k < n; k++)
        again[position[k]] = own[k];
    wi_renumber(n, position, perm, parent, scratch);
    wi_invert(n, perm, inverse);
    wi_column_counts(graph, perm, inverse, parent, own, scratch);
    wi_column_counts_shared(ctx, team, graph, perm, inverse, parent, again, scratch);
    assert_memory_equal(own, again, bytes);
    check_shared_supernodes(ctx, team, n, parent, own, relax);
    free(perm);
}

static void check_shared_rows(weft_context *ctx, int team, const wi_pattern *graph,
                              const wi_symbolic *s) {
    const size_t n = (size_t)s->n, rows = (size_t)s->rows_at[s->supernodes];
    int64_t *const memory = malloc((8 * n + 1) * sizeof *memory), *const super_of = memory + 7 * n;
    wi_symbolic other = *s;
    other.rows = calloc(rows + 1, sizeof *other.rows);
    for (int64_t t = 0; t < s->supernodes; t++) {
        for (int64_t k = s->first[t]; k < s->first[t + 1]; k++)
            super_of[k] = t;
    }
    wi_super_rows(ctx, team, graph, &other, super_of, memory, NULL);
    assert_memory_equal(s->rows, other.rows, rows * sizeof *other.rows);
    free(memory);
    free(other.rows);
}

static void check_shared(weft_context *ctx, const wi_pattern *graph, const int64_t *perm,
                         const wi_relax *relax, const wi_symbolic *s) {
    for (int team = 2; team <= MOST_TEAM; team += team == 2 ? 3 : 2) {
        check_shared_tree(ctx, team, graph, perm, relax);
        check_shared_rows(ctx, team, graph, s);
    }
}

static void test_against_definition(void **state) {
    (void)state;
    static test_graph g;
    static test_factor before, after;
    test_random r = test_random_at(1);
    weft_context *const ctx = test_open("cpu:7");
    for (int k = 0; k < GRAPHS; k++) {
        int64_t perm[TEST_MOST_VERTICES];
        wi_symbolic s;
        test_graph_random(&r, LARGEST, &g);
        test_shuffle(&r, g.n, perm);
        const wi_relax *const relax = relaxes[k % 3];
        test_eliminate(&g, perm, &before);
        const double known = k & 1 ? before.flops : INFINITY;
        assert_int_equal(wi_symbolic_build(ctx, "test", &g.pattern, perm, known, relax, NULL, &s),
                         WEFT_OK);
        check_permutation(&s);
        test_eliminate(&g, s.perm, &after);
        check_columns(&s, &after, &before);
        check_rows(&s, &after);
        check_padding(&s, relax);
        check_super_tree(&s);
        check_stack(&s);
        check_shared(ctx, &g.pattern, perm, relax, &s);
        if (relax == &relax_none)
            assert_int_equal(s.nnz_l_stored, s.nnz_l);
        double entries, flops;
        assert_int_equal(wi_predict_cost(ctx, "test", &g.pattern, perm, &entries, &flops), WEFT_OK);
        assert_true(flops == before.flops && entries == (double)before.nnz);
        wi_symbolic_free(&s);
    }
    weft_close(ctx);
}

/* Rows of hundreds of neighbours, several batches of them, on several threads. */
static void test_wide_rows(void **state) {
    (void)state;
    enum {
        N = 3000,
        HUBS = 5
    };
    test_random r = test_random_at(2);
    weft_context *const ctx = test_open("cpu:7");
    int32_t *const row = malloc(2 * (size_t)N * HUBS * sizeof *row), *const col = row + N * HUBS;
    double *const value = calloc((size_t)N * HUBS, sizeof *value);
    int64_t perm[N];
    weft_sparse *matrix;
    wi_pattern graph;
    wi_symbolic s;
    for (int k = 0; k < N * HUBS; k++) {
        const int hub = k % HUBS * (N / HUBS), v = (int)test_below(&r, N);
        const int u = k / HUBS % 2 ? hub : v > 0 ? v - 1 : v;
        row[k] = u > v ? u : v;
        col[k] = u > v ? v : u;
    }
    assert_int_equal(weft_sparse_create_triplets(ctx, &matrix, WEFT_SYMMETRIC_LOWER, N, N,
                                                 (size_t)N * HUBS, WEFT_I32, row, col, value),
                     WEFT_OK);
    assert_int_equal(wi_pattern_build(ctx, "test", matrix, &graph), WEFT_OK);
    for (int k = 0; k < 4; k++) {
        test_shuffle(&r, N, perm);
        for (int64_t j = 0; j < N && k == 0; j++)
            perm[j] = j;
        assert_int_equal(
            wi_symbolic_build(ctx, "test", &graph, perm, INFINITY, relaxes[k % 3], NULL, &s),
            WEFT_OK);
        check_shared(ctx, &graph, perm, relaxes[k % 3], &s);
        wi_symbolic_free(&s);
    }
    wi_pattern_free(&graph);
    weft_sparse_destroy(matrix);
    weft_close(ctx);
    free(row);
    free(value);
}

/* A long path: the time must not be quadratic, and recursion must not be as deep as the tree. */
static void test_long_path(void **state) {
    (void)state;
    enum {
        LENGTH = 1000000
    };
    int64_t *const start = malloc((LENGTH + 1) * sizeof *start);
    int64_t *const row = malloc(2 * LENGTH * sizeof *row);
    int64_t *const perm = malloc(LENGTH * sizeof *row);
    int64_t to = 0;
    for (int64_t v = 0; v < LENGTH; v++) {
        start[v] = to;
        perm[v] = v;
        if (v > 0)
            row[to++] = v - 1;
        if (v < LENGTH - 1)
            row[to++] = v + 1;
    }
    start[LENGTH] = to;
    const wi_pattern graph = {LENGTH, start, row};
    weft_context *const ctx = test_open("cpu:3");
    for (int known = 0; known < 2; known++) {
        const double flops = known ? 4.0 * LENGTH : INFINITY;
        wi_symbolic s;
        assert_int_equal(
            wi_symbolic_build(ctx, "test", &graph, perm, flops, &wi_relax_default, NULL, &s),
            WEFT_OK);
        assert_int_equal(s.nnz_l, 2 * LENGTH - 1);
        assert_int_equal(s.tree_height, LENGTH);
        wi_symbolic_free(&s);
    }
    weft_close(ctx);
    free(start);
    free(row);
    free(perm);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_definition),
        cmocka_unit_test(test_wide_rows),
        cmocka_unit_test(test_long_path),
    };
    return cmocka_run_group_tests_name("symbolic", tests, NULL, NULL);
}
