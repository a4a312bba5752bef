/* SPDX-License-Identifier: Apache-2.0 */
/* Separators and coarser graphs by their definitions, on thousands of graphs with random weights,
 * and on meshes whose best separators are known. */
#include <sched.h>

#include "graphs.h"
#include "sparse/separator.h"
#include "testing.h"

enum {
    GRAPHS = 3000,
    LARGEST = 40,
    GUARD = 64
};

/* A graph with weights, in memory of its own. */
static wi_graph weighted(test_random *r, const wi_pattern *pattern, uint64_t most_weight) {
    const size_t n = (size_t)pattern->n, entries = (size_t)pattern->start[n];
    wi_graph g = {.n = (int32_t)n};
    g.start = malloc((n + 1) * sizeof *g.start);
    g.row = malloc((entries + 1) * sizeof *g.row);
    g.weight = malloc((n + 1) * sizeof *g.weight);
    for (size_t v = 0; v <= n; v++)
        g.start[v] = (int32_t)pattern->start[v];
    for (size_t e = 0; e < entries; e++)
        g.row[e] = (int32_t)pattern->row[e];
    for (size_t v = 0; v < n; v++)
        g.total += g.weight[v] = 1 + (int32_t)test_below(r, most_weight);
    return g;
}

static void drop(wi_graph *g) {
    free(g->start);
    free(g->row);
    free(g->weight);
}

/* side[] has only 0, 1 and 2, no edge joins 0 and 1, and the guard is unchanged. Sums the weights.
 */
static void check_sides(const wi_graph *g, const uint8_t *side, int32_t weight[3]) {
    weight[0] = weight[1] = weight[2] = 0;
    for (int32_t v = 0; v < g->n; v++) {
        assert_true(side[v] <= WI_SEPARATOR);
        weight[side[v]] += g->weight[v];
        for (int32_t e = g->start[v]; e < g->start[v + 1]; e++)
            assert_false(side[v] == 0 && side[g->row[e]] == 1);
    }
    for (int32_t k = g->n; k < g->n + GUARD; k++)
        assert_int_equal(side[k], TEST_POISON);
}

/* Separates twice, with a new arena and with one that was used. */
static void separate(wi_arena *arena, const wi_graph *g, uint64_t seed, int32_t weight[3]) {
    const size_t bytes = (size_t)g->n + GUARD;
    uint8_t *const side = malloc(bytes), *const again = malloc(bytes);
    wi_arena fresh = {.at = 0};
    memset(side, TEST_POISON, bytes);
    memset(again, TEST_POISON, bytes);
    wi_arena_reset(arena);
    assert_true(wi_separate(arena, g, seed, side));
    assert_true(wi_separate(&fresh, g, seed, again));
    assert_memory_equal(side, again, bytes);
    check_sides(g, side, weight);
    wi_arena_free(&fresh);
    free(side);
    free(again);
}

static void test_small_graphs(void **state) {
    (void)state;
    static test_graph g;
    test_random r = test_random_at(31);
    wi_arena arena = {.at = 0};
    for (int k = 0; k < GRAPHS; k++) {
        test_graph_random(&r, LARGEST, &g);
        wi_graph weights = weighted(&r, &g.pattern, k % 2 ? 1 : 100);
        int32_t weight[3];
        separate(&arena, &weights, (uint64_t)k, weight);
        drop(&weights);
    }
    wi_arena_free(&arena);
}

/* Checks every coarse vertex and edge by adding the fine ones. */
static void check_coarse(const wi_graph *g, const wi_graph *coarse, const int32_t *to,
                         int32_t most) {
    static int32_t tie[TEST_MOST_VERTICES][TEST_MOST_VERTICES];
    int32_t weight[TEST_MOST_VERTICES] = {0}, members[TEST_MOST_VERTICES] = {0};
    memset(tie, 0, sizeof tie);
    for (int32_t v = 0; v < g->n; v++) {
        assert_in_range(to[v], 0, coarse->n - 1);
        weight[to[v]] += g->weight[v];
        members[to[v]]++;
        for (int32_t e = g->start[v]; e < g->start[v + 1]; e++)
            tie[to[v]][to[g->row[e]]] += g->tie ? g->tie[e] : 1;
    }
    assert_int_equal(coarse->total, g->total);
    for (int32_t c = 0; c < coarse->n; c++) {
        assert_int_equal(coarse->weight[c], weight[c]);
        assert_in_range(members[c], 1, 2);
        assert_true(members[c] == 1 || weight[c] <= most);
        for (int32_t e = coarse->start[c]; e < coarse->start[c + 1]; e++) {
            const int32_t k = coarse->row[e];
            assert_true(k != c && coarse->tie[e] == tie[c][k]);
            tie[c][k] = 0; /* listed once */
        }
        tie[c][c] = 0;
        for (int32_t k = 0; k < coarse->n; k++)
            assert_int_equal(tie[c][k], 0);
    }
}

/* Twice, because the second begins with edge weights above 1. */
static void test_coarse_graphs(void **state) {
    (void)state;
    static test_graph g;
    test_random r = test_random_at(32);
    wi_arena arena = {.at = 0};
    for (int k = 0; k < GRAPHS; k++) {
        int32_t to[TEST_MOST_VERTICES];
        test_graph_random(&r, LARGEST, &g);
        wi_graph fine = weighted(&r, &g.pattern, 9), coarse, coarser;
        const int32_t most = 1 + (int32_t)test_below(&r, 40);
        int32_t lent[3 * LARGEST + 1];
        const wi_scratch scratch = {lent, k % 2 ? 3 * LARGEST + 1 : 0};
        wi_arena_reset(&arena);
        assert_true(wi_coarsen(&arena, scratch, &fine, most, &coarse, to));
        check_coarse(&fine, &coarse, to, most);
        assert_true(wi_coarsen(&arena, scratch, &coarse, most, &coarser, to));
        check_coarse(&coarse, &coarser, to, most);
        drop(&fine);
    }
    wi_arena_free(&arena);
}

/* Passes at the same time, as if somebody helped, must come to what passes in turn do. */
static void test_passes_ahead(void **state) {
    (void)state;
    static test_graph g;
    test_random r = test_random_at(34);
    wi_arena arena = {.at = 0};
    wi_job_queue queue;
    wi_job_queue_open(&queue);
    atomic_store(&queue.idle, 1);
    for (int k = 0; k < GRAPHS; k++) {
        uint8_t side[TEST_MOST_VERTICES], together[TEST_MOST_VERTICES];
        uint8_t spare[WI_AHEAD][TEST_MOST_VERTICES];
        wi_parting p, q[1 + WI_AHEAD];
        test_graph_random(&r, LARGEST, &g);
        wi_graph weights = weighted(&r, &g.pattern, k % 2 ? 1 : 5);
        wi_arena_reset(&arena);
        assert_true(wi_parting_take(&arena, weights.n, 1, &p) &&
                    wi_parting_take(&arena, weights.n, 1 + WI_AHEAD, q));
        for (int32_t v = 0; v < weights.n; v++) /* far from good */
            side[v] = test_below(&r, 2) ? WI_SEPARATOR : (uint8_t)(k & 1);
        memcpy(together, side, (size_t)weights.n);
        for (int i = 0; i < WI_AHEAD; i++)
            q[1 + i].side = spare[i];
        wi_parting_set(&p, &weights, side);
        wi_parting_refine(&p);
        wi_parting_set(q, &weights, together);
        wi_parting_refine_together(&queue, q, q + 1);
        assert_memory_equal(side, together, (size_t)weights.n);
        assert_memory_equal(p.weight, q->weight, sizeof p.weight);
        drop(&weights);
    }
    wi_job_queue_close(&queue);
    wi_arena_free(&arena);
}

/* The points of a star have only the centre in common, and must still become pairs. */
static void test_star(void **state) {
    (void)state;
    enum {
        N = 1001
    };
    static int32_t start[N + 1], row[2 * (N - 1)], weight[N], to[N];
    wi_arena arena = {.at = 0};
    wi_graph coarse;
    for (int32_t v = 0; v < N; v++) {
        start[v] = v == 0 ? 0 : N - 2 + v;
        weight[v] = 1;
    }
    start[N] = 2 * (N - 1);
    for (int32_t v = 1; v < N; v++)
        row[v - 1] = v;
    const wi_graph star = {.n = N, .total = N, .start = start, .row = row, .weight = weight};
    assert_true(wi_coarsen(&arena, (wi_scratch){NULL, 0}, &star, 2, &coarse, to));
    assert_true(coarse.n <= N / 2 + 2);
    int32_t sides[3];
    separate(&arena, &star, 1, sides);
    assert_int_equal(sides[2], 1);
    wi_arena_free(&arena);
}

/* A mesh of s[0] x s[1] x s[2] points, each with up to six neighbours. */
static wi_graph mesh(test_random *r, const int64_t s[3], uint64_t most_weight) {
    const int64_t n = s[0] * s[1] * s[2];
    int64_t *const start = malloc((size_t)(n + 1) * sizeof *start), to = 0;
    int64_t *const row = malloc((size_t)(6 * n + 1) * sizeof *row);
    for (int64_t p = 0; p < n; p++) {
        const int64_t at[3] = {p % s[0], p / s[0] % s[1], p / s[0] / s[1]};
        start[p] = to;
        for (int64_t d = 0, step = 1; d < 3; step *= s[d++]) {
            if (at[d] > 0)
                row[to++] = p - step;
            if (at[d] < s[d] - 1)
                row[to++] = p + step;
        }
    }
    start[n] = to;
    const wi_graph g = weighted(r, &(wi_pattern){n, start, row}, most_weight);
    free(start);
    free(row);
    return g;
}

/* A straight cut through a mesh of k x k points has k points, and one through k x k x k has k^2:
 * both are easy to find. Sides may have 3/5 of the weight. */
static void test_meshes(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 1},     {1, 2, 1},    {5000, 1, 1}, {30, 30, 1},
                                       {100, 100, 1}, {300, 20, 1}, {16, 16, 16}, {25, 25, 25}};
    test_random r = test_random_at(33);
    wi_arena arena = {.at = 0};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const int64_t *const s = sizes[k], n = s[0] * s[1] * s[2];
        wi_graph g = mesh(&r, s, 1);
        int32_t weight[3];
        separate(&arena, &g, 1, weight);
        print_message("%lld x %lld x %lld: %d, %d, separator %d\n", (long long)s[0],
                      (long long)s[1], (long long)s[2], weight[0], weight[1], weight[2]);
        assert_true(n < 3 || weight[2] <= n / s[0]);
        assert_true(n < 3 || (weight[0] <= n * 3 / 5 && weight[1] <= n * 3 / 5));
        drop(&g);
    }
    wi_arena_free(&arena);
}

typedef struct helping {
    wi_job_queue queue;
    bool over; /* guarded by the queue's lock */
} helping;

static void *help(void *user) {
    helping *const h = user;
    wi_job_queue_lock(&h->queue);
    while (!h->over) {
        if (h->queue.jobs)
            wi_job_help(&h->queue);
        else
            wi_job_queue_await(&h->queue);
    }
    pthread_mutex_unlock(&h->queue.lock);
    return NULL;
}

static void check_same(const wi_graph *a, const wi_graph *b) {
    const size_t bytes = (size_t)a->start[a->n] * sizeof *a->row;
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->start, b->start, (size_t)(a->n + 1) * sizeof *a->start);
    assert_memory_equal(a->weight, b->weight, (size_t)a->n * sizeof *a->weight);
    assert_memory_equal(a->row, b->row, bytes);
    assert_memory_equal(a->tie, b->tie, bytes);
}

/* Meshes that are large enough for threads to help, whose layers are alike or not. */
static void test_coarse_together(void **state) {
    (void)state;
    enum {
        HELPERS = 3
    };
    static const int64_t sizes[][3] = {{41, 42, 43}, {300, 300, 1}, {7, 5000, 2}, {36000, 1, 1}};
    static helping h;
    test_random r = test_random_at(35);
    pthread_t thread[HELPERS];
    wi_job_queue_open(&h.queue);
    for (int k = 0; k < HELPERS; k++)
        assert_int_equal(pthread_create(&thread[k], NULL, help, &h), 0);
    for (size_t k = 0; k < 2 * (sizeof sizes / sizeof *sizes); k++) {
        wi_arena alone = {.at = 0}, together = {.queue = &h.queue};
        wi_graph fine = mesh(&r, sizes[k / 2], k % 2 ? 3 : 1), own = fine, shared = fine;
        int32_t *const to = malloc(2 * (size_t)fine.n * sizeof *to), *const again = to + fine.n;
        for (int level = 0; level < 3; level++) {
            wi_graph coarse, same;
            const size_t bytes = (size_t)own.n * sizeof *to;
            while (!wi_job_queue_has_idle(&h.queue))
                sched_yield();
            assert_true(wi_coarsen(&alone, (wi_scratch){NULL, 0}, &own, 100, &coarse, to));
            assert_true(wi_coarsen(&together, (wi_scratch){NULL, 0}, &shared, 100, &same, again));
            assert_memory_equal(to, again, bytes);
            check_same(&coarse, &same);
            own = coarse;
            shared = same;
        }
        wi_arena_free(&alone);
        wi_arena_free(&together);
        free(to);
        drop(&fine);
    }
    wi_job_queue_lock(&h.queue);
    h.over = true;
    wi_job_queue_tell(&h.queue, true);
    pthread_mutex_unlock(&h.queue.lock);
    for (int k = 0; k < HELPERS; k++)
        pthread_join(thread[k], NULL);
    wi_job_queue_close(&h.queue);
}

/* What is taken after a trim overlaps nothing, wherever the allocation that was trimmed lies. */
static void test_trim(void **state) {
    (void)state;
    static char lent[1 << 12];
    wi_arena arena = {.lent = {lent, sizeof lent}};
    char *const first = wi_arena_take(&arena, 1 << 11);
    assert_ptr_equal(first, lent);
    char *const own = wi_arena_take(&arena, 1 << 12), *const next = wi_arena_take(&arena, 1 << 12);
    wi_arena_trim(&arena, own + 64);
    assert_ptr_equal(wi_arena_take(&arena, 1 << 12), own + 64);
    char *const large = wi_arena_take(&arena, 1 << 17);
    assert_true(next && large);
    wi_arena_trim(&arena, own + 64);
    assert_ptr_equal(wi_arena_take(&arena, 1 << 12), large + (1 << 17));
    wi_arena_trim(&arena, first + 64);
    assert_ptr_equal(wi_arena_take(&arena, 1 << 11), first + 64);
    wi_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_graphs), cmocka_unit_test(test_coarse_graphs),
        cmocka_unit_test(test_passes_ahead), cmocka_unit_test(test_star),
        cmocka_unit_test(test_meshes),       cmocka_unit_test(test_coarse_together),
        cmocka_unit_test(test_trim),
    };
    return cmocka_run_group_tests_name("separator", tests, NULL, NULL);
}
