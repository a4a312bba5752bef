/* SPDX-License-Identifier: Apache-2.0 */
/* Every ordering on thousands of small graphs, compared with elimination by its definition, and on
 * meshes with known answers. */
#include <math.h>

#include "graphs.h"
#include "sparse/order.h"
#include "sparse/symbolic.h"
#include "testing.h"

enum {
    GRAPHS = 3000,
    LARGEST = 40,
    GUARD = 4
};

static const wi_row *row_named(const char *name) {
    return test_row_named(&wi_sparse_order_ladder, name);
}

/* Does this build have the ordering? Nested dissection needs METIS, teaching rungs need the ladder.
 */
static bool offered(const char *name, const wi_order_args *args) {
    for (size_t k = 0; k < wi_sparse_order_ladder.count; k++) {
        const wi_row *const row = &wi_sparse_order_ladder.rows[k];
        if (strcmp(row->name, name) == 0)
            return wi_row_can(row, NULL, WI_NO_TYPE, args);
    }
    return false;
}

/* Runs an ordering into perm; fails unless that is a permutation and nothing beyond it is written.
 */
static void order(weft_context *ctx, const wi_row *row, const wi_pattern *graph,
                  const int64_t *given, int64_t *perm) {
    const size_t n = (size_t)graph->n;
    int64_t *const room = malloc((n + 2 * GUARD) * sizeof *room);
    bool *const seen = calloc(n + 1, sizeof *seen);
    memset(room, TEST_POISON, (n + 2 * GUARD) * sizeof *room);
    const int64_t poison = room[0];
    const wi_order_args args = {.call = "test",
                                .graph = graph,
                                .perm = room + GUARD,
                                .given = given,
                                .seconds_budget = 1e9};
    test_use(ctx, "sparse_order", row);
    if (wi_run(ctx, &wi_sparse_order_ladder, "test", WI_NO_TYPE, &args) != WEFT_OK)
        fail_msg("%s: %s", row ? row->name : "auto", weft_message(ctx));
    for (size_t k = 0; k < GUARD; k++)
        assert_true(room[k] == poison && room[GUARD + n + k] == poison);
    for (size_t k = 0; k < n; k++) {
        perm[k] = args.perm[k];
        if (perm[k] < 0 || perm[k] >= graph->n || seen[perm[k]])
            fail_msg("%s: perm[%zu] = %lld", row ? row->name : "auto", k, (long long)perm[k]);
        seen[perm[k]] = true;
    }
    free(seen);
    free(room);
}

/* Each eliminated column must have had the fewest neighbours of all remaining ones. */
static void check_least_degrees(const test_graph *g, const int64_t *perm) {
    static test_factor f;
    test_eliminate(g, perm, &f);
    for (int64_t k = 0; k < g->n; k++) {
        /* the degrees before step k: neighbours in A or through a column eliminated */
        for (int64_t i = k; i < g->n; i++) {
            int64_t degree = 0;
            for (int64_t j = k; j < g->n; j++) {
                bool neighbours = g->edge[perm[i]][perm[j]];
                for (int64_t c = 0; c < k; c++)
                    neighbours |= f.l[i][c] && f.l[j][c];
                degree += i != j && neighbours;
            }
            assert_true(degree >= f.count[k] - 1);
        }
    }
}

/* The fill of every ordering, summed over all graphs; none may be far worse than md's. */
typedef struct tally {
    double nnz[TEST_MAX_ROWS];
} tally;

static bool is_forest(const test_graph *g, const int64_t *perm) {
    static test_factor f;
    test_eliminate(g, perm, &f);
    int64_t roots = 0;
    for (int64_t k = 0; k < g->n; k++)
        roots += f.parent[k] < 0; /* one for each component */
    return g->start[g->n] / 2 == g->n - roots;
}

static void check_graph(weft_context *ctx, weft_context *other, const test_graph *g,
                        const int64_t *given, tally *t) {
    static test_factor f;
    int64_t perm[TEST_MOST_VERTICES], again[TEST_MOST_VERTICES];
    for (size_t k = 0; k < wi_sparse_order_ladder.count; k++) {
        const wi_row *const row = &wi_sparse_order_ladder.rows[k];
        const wi_order_args args = {.graph = &g->pattern, .given = given};
        if (!wi_row_can(row, ctx, WI_NO_TYPE, &args))
            continue;
        order(ctx, row, &g->pattern, given, perm);
        order(other, row, &g->pattern, given, again);
        assert_memory_equal(perm, again, (size_t)g->n * sizeof *perm);
        test_eliminate(g, perm, &f);
        t->nnz[k] += (double)f.nnz;
        const bool minimum = strcmp(row->name, "md") == 0 || strcmp(row->name, "mmd") == 0 ||
                             strcmp(row->name, "amd") == 0 || strcmp(row->name, "best") == 0;
        if (minimum && is_forest(g, perm)) /* leaves first: no fill */
            assert_int_equal(f.nnz, g->n + g->start[g->n] / 2);
        if (strcmp(row->name, "md") == 0)
            check_least_degrees(g, perm);
        if (strcmp(row->name, "natural") == 0 || strcmp(row->name, "given") == 0) {
            for (int64_t i = 0; i < g->n; i++)
                assert_int_equal(perm[i], row->name[0] == 'n' ? i : given[i]);
        }
    }
}

static void test_small_graphs(void **state) {
    (void)state;
    static test_graph g;
    tally t = {{0}};
    test_random r = test_random_at(2);
    weft_context *const ctx = test_open("cpu:1"), *const other = test_open("cpu:3");
    for (int k = 0; k < GRAPHS; k++) {
        int64_t given[TEST_MOST_VERTICES];
        test_graph_random(&r, LARGEST, &g);
        test_shuffle(&r, g.n, given);
        check_graph(ctx, other, &g, given, &t);
    }
    const wi_row *const rows = wi_sparse_order_ladder.rows;
    const wi_row *const amd = row_named("amd");
    for (const wi_row *row = rows; row < rows + wi_sparse_order_ladder.count; row++) {
        const double ratio = t.nnz[row - rows] / t.nnz[amd - rows];
        print_message("%-8s nnz(L) %.3f of amd's\n", row->name, ratio);
        if (strcmp(row->name, "md") == 0 || strcmp(row->name, "mmd") == 0)
            assert_true(ratio > 0.98 && ratio < 1.02);
    }
    weft_close(ctx);
    weft_close(other);
}

/* ---- larger graphs ---- */

/* The mesh of width x height points, each with its 4 neighbours, numbered at random. */
typedef struct mesh {
    wi_pattern graph;
    int64_t *start, *row;
} mesh;

static void list_neighbours(mesh *m, const int64_t *name, const int64_t *point, int64_t width,
                            int64_t height) {
    int64_t to = 0;
    for (int64_t v = 0; v < width * height; v++) {
        const int64_t p = point[v], x = p % width, y = p / width;
        m->start[v] = to;
        if (x > 0)
            m->row[to++] = name[p - 1];
        if (x < width - 1)
            m->row[to++] = name[p + 1];
        if (y > 0)
            m->row[to++] = name[p - width];
        if (y < height - 1)
            m->row[to++] = name[p + width];
    }
    m->start[width * height] = to;
}

static mesh mesh_open(test_random *r, int64_t width, int64_t height) {
    const int64_t n = width * height;
    mesh m = {.start = malloc((size_t)(n + 1) * sizeof *m.start),
              .row = malloc((size_t)(4 * n + 1) * sizeof *m.row)};
    int64_t *const name = malloc((size_t)n * sizeof *name);
    int64_t *const point = malloc((size_t)n * sizeof *point);
    test_shuffle(r, n, name);
    for (int64_t p = 0; p < n; p++)
        point[name[p]] = p;
    list_neighbours(&m, name, point, width, height);
    m.graph = (wi_pattern){n, m.start, m.row};
    free(name);
    free(point);
    return m;
}

static void mesh_close(mesh *m) {
    free(m->start);
    free(m->row);
}

static wi_symbolic analyzed(weft_context *ctx, const wi_row *row, const wi_pattern *graph) {
    wi_symbolic s;
    int64_t *const perm = malloc((size_t)graph->n * sizeof *perm);
    order(ctx, row, graph, NULL, perm);
    assert_int_equal(
        wi_symbolic_build(ctx, "test", graph, perm, INFINITY, &wi_relax_default, NULL, &s),
        WEFT_OK);
    free(perm);
    return s;
}

/* Nested dissection of a k x k mesh gives at most 31/4 n log2 n + O(n) entries (George 1973);
 * minimum degree is as good in practice, and the two with exact degrees are about as good as amd.
 */
static void test_mesh_fill(void **state) {
    (void)state;
    static const char *const names[] = {"md", "mmd", "amd", "nd", "dissect", "best"};
    test_random r = test_random_at(3);
    weft_context *const ctx = test_open("cpu:1");
    mesh m = mesh_open(&r, 70, 70);
    const double n = (double)m.graph.n, bound = 31.0 / 4 * n * log2(n);
    const wi_order_args args = {.graph = &m.graph};
    double nnz[6] = {0};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (!offered(names[k], &args))
            continue;
        wi_symbolic s = analyzed(ctx, row_named(names[k]), &m.graph);
        nnz[k] = (double)s.nnz_l;
        print_message("%-5s nnz(L) %.0f, bound %.0f\n", names[k], nnz[k], bound);
        assert_true(nnz[k] < bound);
        wi_symbolic_free(&s);
    }
    for (size_t k = 0; k < 2 && nnz[k] > 0; k++)
        assert_true(fabs(nnz[k] / nnz[2] - 1) < 0.15);
    mesh_close(&m);
    weft_close(ctx);
}

/* The bandwidth of a mesh in levels from a corner is at most its shorter side, and 1 for a path. */
static void test_rcm_bandwidth(void **state) {
    (void)state;
    static const int64_t sides[][2] = {{1, 1}, {1, 100}, {2, 300}, {7, 50}};
    test_random r = test_random_at(4);
    weft_context *const ctx = test_open("cpu:1");
    for (size_t k = 0; k < sizeof sides / sizeof *sides; k++) {
        mesh m = mesh_open(&r, sides[k][0], sides[k][1]);
        const int64_t n = m.graph.n;
        int64_t *const perm = malloc((size_t)n * sizeof *perm), width = 0;
        int64_t *const inverse = malloc((size_t)n * sizeof *inverse);
        order(ctx, row_named("rcm"), &m.graph, NULL, perm);
        wi_invert(n, perm, inverse);
        for (int64_t v = 0; v < n; v++) {
            for (int64_t e = m.start[v]; e < m.start[v + 1]; e++) {
                const int64_t far = llabs((long long)(inverse[v] - inverse[m.row[e]]));
                width = far > width ? far : width;
            }
        }
        assert_true(width <= sides[k][0] + 1);
        assert_true(sides[k][0] > 1 || width <= 1);
        free(perm);
        free(inverse);
        mesh_close(&m);
    }
    weft_close(ctx);
}

/* Indices of 64 bits must make no difference, whatever the graph. */
static void test_both_widths(void **state) {
    (void)state;
    test_random r = test_random_at(5);
    weft_context *const ctx = test_open("cpu:1");
    for (int k = 0; k < 40; k++) {
        mesh m = mesh_open(&r, 1 + (int64_t)test_below(&r, 60), 1 + (int64_t)test_below(&r, 60));
        const size_t bytes = (size_t)m.graph.n * sizeof(int64_t);
        int64_t *const a = malloc(bytes), *const b = malloc(bytes);
        assert_int_equal(
            wi_order_amd_i32(ctx, &(wi_order_args){.call = "t", .graph = &m.graph, .perm = a}),
            WEFT_OK);
        assert_int_equal(
            wi_order_amd_i64(ctx, &(wi_order_args){.call = "t", .graph = &m.graph, .perm = b}),
            WEFT_OK);
        assert_memory_equal(a, b, bytes);
        free(a);
        free(b);
        mesh_close(&m);
    }
    weft_close(ctx);
}

/* Entries of the first columns of L when `perm` orders them and the halo follows. */
static int64_t inner_fill(const test_graph *g, const int64_t *perm, int64_t inner) {
    static test_factor f;
    int64_t all[TEST_MOST_VERTICES], sum = 0;
    for (int64_t k = 0; k < g->n; k++)
        all[k] = k < inner ? perm[k] : k;
    test_eliminate(g, all, &f);
    for (int64_t k = 0; k < inner; k++)
        sum += f.count[k];
    return sum;
}

/* An ordering that knows the neighbours that come later is better than one that does not. */
static void test_halo(void **state) {
    (void)state;
    static test_graph g, inside;
    int64_t knowing = 0, blind = 0;
    test_random r = test_random_at(11);
    weft_context *const ctx = test_open("cpu:1");
    for (int k = 0; k < 2000; k++) {
        int64_t a[TEST_MOST_VERTICES], b[TEST_MOST_VERTICES];
        bool seen[TEST_MOST_VERTICES] = {false};
        test_graph_random(&r, LARGEST, &g);
        const int64_t halo = (int64_t)test_below(&r, (uint64_t)g.n / 2 + 1), inner = g.n - halo;
        for (int64_t i = inner; i < g.n; i++)
            memset(g.edge[i] + inner, false, (size_t)halo);
        test_graph_finish(&g);
        inside = g;
        inside.n = inner;
        test_graph_finish(&inside);
        const wi_order_args args = {.call = "t", .graph = &g.pattern, .perm = a, .halo = halo};
        assert_int_equal(wi_order_amd_i32(ctx, &args), WEFT_OK);
        const wi_order_args wide = {.call = "t", .graph = &g.pattern, .perm = b, .halo = halo};
        assert_int_equal(wi_order_amd_i64(ctx, &wide), WEFT_OK);
        assert_memory_equal(a, b, (size_t)inner * sizeof *a);
        for (int64_t i = 0; i < inner; i++) {
            assert_true(a[i] >= 0 && a[i] < inner && !seen[a[i]]);
            seen[a[i]] = true;
        }
        knowing += inner_fill(&g, a, inner);
        order(ctx, row_named("amd"), &inside.pattern, NULL, b);
        blind += inner_fill(&g, b, inner);
    }
    print_message("with the halo %lld entries, without %lld\n", (long long)knowing,
                  (long long)blind);
    assert_true(knowing < blind);
    weft_close(ctx);
}

/* A mesh in which each column of `of` becomes `copies` columns, which are neighbours of each other
 * and of all copies of its neighbours. */
static mesh multiply(const mesh *of, int64_t copies) {
    const int64_t n = of->graph.n * copies;
    const size_t entries = (size_t)((of->start[of->graph.n] * copies + n) * copies);
    mesh m = {.start = malloc((size_t)(n + 1) * sizeof *m.start),
              .row = malloc((entries + 1) * sizeof *m.row)};
    int64_t to = 0;
    for (int64_t v = 0; v < n; v++) {
        const int64_t p = v / copies;
        bool own = false;
        m.start[v] = to;
        for (int64_t e = of->start[p]; e <= of->start[p + 1]; e++) {
            const bool last = e == of->start[p + 1];
            for (int64_t u = p * copies; !own && (last || of->row[e] > p) && u < (p + 1) * copies;
                 u++) {
                if (u != v)
                    m.row[to++] = u;
            }
            own |= last || of->row[e] > p;
            for (int64_t k = 0; !last && k < copies; k++)
                m.row[to++] = of->row[e] * copies + k;
        }
    }
    m.start[n] = to;
    m.graph = (wi_pattern){n, m.start, m.row};
    return m;
}

static int compare(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* One thread, two and seven give the same ordering. */
static void check_dissection(const wi_row *row, mesh *m) {
    static const char *const places[] = {"cpu:1", "cpu:2", "cpu:7"};
    const size_t n = (size_t)m->graph.n;
    int64_t *const first = malloc(n * sizeof *first), *const perm = malloc(n * sizeof *perm);
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        weft_context *const ctx = test_open(places[k]);
        order(ctx, row, &m->graph, NULL, k == 0 ? first : perm);
        if (k > 0)
            assert_memory_equal(first, perm, n * sizeof *perm);
        weft_close(ctx);
    }
    free(first);
    free(perm);
}

/* Graphs large enough to be dissected: long and narrow, square, with columns that are alike; and
 * each again without edges. */
static void test_dissection(void **state) {
    (void)state;
    static const char *const names[] = {"nd", "dissect"};
    static const int64_t sizes[][3] = {{1, 5000, 1}, {2, 3000, 1},  {40, 125, 1},
                                       {80, 80, 1},  {200, 200, 1}, {60, 60, 4}};
    test_random r = test_random_at(12);
    for (size_t k = 0; k < 2 * sizeof sizes / sizeof *sizes; k++) {
        const int64_t *const size = sizes[k / 2];
        const wi_row *const row = row_named(names[k % 2]);
        mesh plain = mesh_open(&r, size[0], size[1]);
        for (int64_t v = 0; v < plain.graph.n; v++)
            qsort(plain.row + plain.start[v], (size_t)(plain.start[v + 1] - plain.start[v]),
                  sizeof *plain.row, compare);
        mesh m = multiply(&plain, size[2]);
        if (wi_row_can(row, NULL, WI_NO_TYPE, &(wi_order_args){.graph = &m.graph})) {
            check_dissection(row, &m);
            memset(m.start, 0, (size_t)(m.graph.n + 1) * sizeof *m.start);
            check_dissection(row, &m);
        }
        mesh_close(&plain);
        mesh_close(&m);
    }
}

/* Columns with the same neighbours stay together, and are ordered as one column would be. */
static void test_alike(void **state) {
    (void)state;
    test_random r = test_random_at(13);
    weft_context *const ctx = test_open("cpu:1");
    mesh plain = mesh_open(&r, 50, 60);
    for (int64_t v = 0; v < plain.graph.n; v++)
        qsort(plain.row + plain.start[v], (size_t)(plain.start[v + 1] - plain.start[v]),
              sizeof *plain.row, compare);
    mesh m = multiply(&plain, 3);
    wi_symbolic one = analyzed(ctx, row_named("dissect"), &plain.graph);
    wi_symbolic three = analyzed(ctx, row_named("dissect"), &m.graph);
    print_message("flops %.0f, of three alike %.0f\n", one.flops, three.flops);
    assert_true(three.flops < 1.3 * 27 * one.flops);
    wi_symbolic_free(&one);
    wi_symbolic_free(&three);
    mesh_close(&plain);
    mesh_close(&m);
    weft_close(ctx);
}

/* A star of 5000: the centre is dense, set aside by amd, and still no fill. */
static void test_dense_row(void **state) {
    (void)state;
    enum {
        N = 5000,
        CENTRE = 17
    };
    int64_t *const start = malloc((N + 1) * sizeof *start);
    int64_t *const row = malloc(2 * (N - 1) * sizeof *row), *const perm = malloc(N * sizeof *row);
    int64_t to = 0;
    for (int64_t v = 0; v < N; v++) {
        start[v] = to;
        for (int64_t u = 0; v == CENTRE && u < N; u++) {
            if (u != CENTRE)
                row[to++] = u;
        }
        if (v != CENTRE)
            row[to++] = CENTRE;
    }
    start[N] = to;
    const wi_pattern graph = {N, start, row};
    weft_context *const ctx = test_open("cpu:1");
    order(ctx, row_named("amd"), &graph, NULL, perm);
    assert_int_equal(perm[N - 1], CENTRE);
    if (offered("nd", &(wi_order_args){.graph = &graph}))
        order(ctx, row_named("nd"), &graph, NULL, perm);
    order(ctx, row_named("dissect"), &graph, NULL, perm);
    assert_int_equal(perm[N - 1], CENTRE);
    free(start);
    free(row);
    free(perm);
    weft_close(ctx);
}

/* A ring with a leaf at every vertex. Leaves come first, then the ring, which fills one edge for
 * each vertex except the last three: minimum degree does no more work than that. */
static void test_ring(void **state) {
    (void)state;
    static const int64_t sides[] = {3, 4, 17, 100000};
    test_random r = test_random_at(21);
    weft_context *const ctx = test_open("cpu:1");
    for (size_t k = 0; k < sizeof sides / sizeof *sides; k++) {
        const int64_t side = sides[k], n = 2 * side;
        int64_t *const start = malloc((size_t)(n + 1) * sizeof *start);
        int64_t *const row = malloc((size_t)(2 * n) * sizeof *row);
        int64_t *const name = malloc((size_t)n * sizeof *name), *const at = malloc((size_t)n * 8);
        test_shuffle(&r, n, name);
        wi_invert(n, name, at);
        int64_t to = 0;
        for (int64_t v = 0; v < n; v++) { /* point p is vertex name[p]; p + side is its leaf */
            const int64_t p = at[v] % side;
            start[v] = to;
            row[to++] = name[at[v] < side ? p + side : p];
            if (at[v] < side) {
                row[to++] = name[(p + 1) % side];
                row[to++] = name[(p + side - 1) % side];
            }
        }
        start[n] = to;
        const wi_pattern graph = {n, start, row};
        wi_symbolic s = analyzed(ctx, row_named("amd"), &graph);
        assert_int_equal(s.nnz_l, 2 * side + 3 * side - 3);
        wi_symbolic_free(&s);
        free(start);
        free(row);
        free(name);
        free(at);
    }
    weft_close(ctx);
}

static void test_given_refused(void **state) {
    (void)state;
    static test_graph g;
    static const int64_t wrong[][4] = {{0, 1, 2, 2}, {0, 1, 2, 4}, {-1, 1, 2, 3}};
    int64_t perm[4];
    weft_context *const ctx = test_open("cpu:1");
    g.n = 4;
    test_graph_finish(&g);
    for (size_t k = 0; k <= sizeof wrong / sizeof *wrong; k++) {
        const bool missing = k == sizeof wrong / sizeof *wrong;
        const wi_order_args args = {.call = "weft_x",
                                    .graph = &g.pattern,
                                    .perm = perm,
                                    .given = missing ? NULL : wrong[k]};
        test_use(ctx, "sparse_order", row_named("given"));
        test_refused(ctx, wi_run(ctx, &wi_sparse_order_ladder, "weft_x", WI_NO_TYPE, &args),
                     missing ? WEFT_EUNSUPPORTED : WEFT_EARG, "weft_x", "permutation");
    }
    weft_close(ctx);
}

/* amd's bound on the flops is an upper bound, and `best` uses it to skip nd. */
static void test_bound(void **state) {
    (void)state;
    static test_graph g;
    static test_factor f;
    int64_t perm[TEST_MOST_VERTICES];
    double flops;
    test_random r = test_random_at(20);
    weft_context *const ctx = test_open("cpu:1");
    const wi_order_args args = {.call = "test", .graph = &g.pattern, .perm = perm, .flops = &flops};
    for (int k = 0; k < GRAPHS; k++) {
        test_graph_random(&r, LARGEST, &g);
        assert_int_equal(wi_order_amd(ctx, &args), WEFT_OK);
        test_eliminate(&g, perm, &f);
        if (!(f.flops <= flops))
            fail_msg("n = %lld: %g flops, bounded by %g", (long long)g.n, f.flops, flops);
    }
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring),          cmocka_unit_test(test_bound),
        cmocka_unit_test(test_small_graphs),  cmocka_unit_test(test_mesh_fill),
        cmocka_unit_test(test_rcm_bandwidth), cmocka_unit_test(test_both_widths),
        cmocka_unit_test(test_halo),          cmocka_unit_test(test_dissection),
        cmocka_unit_test(test_dense_row),     cmocka_unit_test(test_alike),
        cmocka_unit_test(test_given_refused),
    };
    return cmocka_run_group_tests_name("sparse_order", tests, NULL, NULL);
}
