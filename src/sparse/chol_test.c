/* SPDX-License-Identifier: Apache-2.0 */
/* The factorization against its definition: small random matrices in every ordering, by every rung,
 * with several numbers of threads; and the same bits whatever their number. */
#include <pthread.h>
#include <stdatomic.h>

#include "sparse/generate.h"
#include "sparse/order.h"
#include "systems.h"
#include "testing.h"

enum {
    SYSTEMS = 4000, /* and so on: with the usual budget a quarter of them */
    PLANTED = 400,
    FAILURES = 100,
    LARGEST = 40,
    PLACES = 3
};

static const char *const places[PLACES] = {"cpu:1", "cpu:2", "cpu:7"};

static void open_all(weft_context *ctx[PLACES]) {
    for (int k = 0; k < PLACES; k++)
        ctx[k] = test_open(places[k]);
}

/* The context for case k of `count`: all of them in long runs, mostly those with few threads,
 * because waking seven takes longer than a small matrix. */
static weft_context *turn(weft_context *ctx[PLACES], int k, int count) {
    return ctx[k < count / 2 ? 0 : k < count * 15 / 16 ? 1 : 2];
}

static void close_all(weft_context *ctx[PLACES]) {
    for (int k = 0; k < PLACES; k++)
        weft_close(ctx[k]);
}

/* A plan with a random ordering of this build. */
static weft_chol *plan_any(weft_context *ctx, test_random *r, const weft_sparse *matrix) {
    const int64_t n = (int64_t)weft_sparse_rows(matrix);
    int64_t given[TEST_MOST_VERTICES];
    const wi_order_args args = {.given = given, .graph = &(wi_pattern){0, (int64_t[]){0}, NULL}};
    const wi_row *row;
    test_shuffle(r, n, given);
    do
        row = &wi_sparse_order_ladder.rows[test_below(r, wi_sparse_order_ladder.count)];
    while (!wi_row_can(row, NULL, WI_NO_TYPE, &args)); /* nd without METIS */
    return test_plan(ctx, matrix, row->name, given);
}

static void factor(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix) {
    if (weft_chol_factor(ctx, plan, matrix) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
}

static void test_definite(void **state) {
    (void)state;
    static test_system s;
    test_random r = test_random_at(1);
    weft_context *ctx[PLACES];
    const int systems = (int)test_times(SYSTEMS);
    open_all(ctx);
    for (int k = 0; k < systems; k++) {
        const wi_row *rows[TEST_MAX_ROWS];
        weft_context *const c = turn(ctx, k, systems);
        if (!test_case_wanted(&r))
            continue;
        test_graph_random(&r, LARGEST, &s.graph);
        test_system_fill(&r, true, &s);
        weft_sparse *const matrix = test_system_matrix(c, &s, true);
        weft_chol *const plan = plan_any(c, &r, matrix);
        const size_t count = test_rows(c, &wi_sparse_ladder, rows);
        for (size_t row = 0; row < count; row++) {
            test_use(c, "sparse", rows[row]);
            test_poison_factor(c, plan);
            factor(c, plan, matrix);
            test_used(c, "sparse", rows[row], "factor");
            test_check_factor(plan, &s, rows[row] ? rows[row]->name : "auto");
        }
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
    close_all(ctx);
}

/* dt A d must equal the pivot within rounding, so it is not above 0 by more. And there must be no
 * factor to solve with. */
static void check_direction(weft_context *ctx, weft_chol *plan, const test_system *s,
                            int64_t column, long double pivot, const char *what) {
    const weft_chol_solve_options lower = {.size = sizeof lower, .part = WEFT_CHOL_L};
    double d[TEST_MOST_VERTICES];
    long double sum = 0, size = 0;
    assert_int_equal(weft_chol_direction(ctx, plan, d), WEFT_OK);
    assert_true(d[column] == 1);
    test_refused(ctx,
                 weft_chol_solve(ctx, plan, NULL, &lower, 0, NULL, s->graph.n, NULL, s->graph.n),
                 WEFT_EARG, "weft_chol_solve", "factor");
    for (int64_t i = 0; i < s->graph.n; i++) {
        for (int64_t j = 0; j < s->graph.n; j++) {
            sum += s->a[i][j] * d[i] * d[j];
            size += fabsl(s->a[i][j] * d[i] * d[j]);
        }
    }
    const long double slack = ldexpl((long double)s->graph.n + 4, -53) * size;
    if (!(sum <= slack) || !(fabsl(sum - pivot) <= 8 * slack))
        fail_msg("%s: dt A d is %Lg, the pivot %Lg, of sizes %Lg", what, sum, pivot, size);
}

/* The message names the column and the pivot, and nothing else. */
static void check_message(weft_context *ctx, int64_t column) {
    char words[64];
    snprintf(words, sizeof words, "its column %lld (counted from 0) is", (long long)column);
    if (!strstr(weft_message(ctx), words))
        fail_msg("\"%s\" does not name column %lld", weft_message(ctx), (long long)column);
}

/* A pivot below 0 in every column in turn, small and large; then the plan factors again. */
static void test_planted(void **state) {
    (void)state;
    static test_system s;
    static test_dense l;
    test_random r = test_random_at(2);
    weft_context *ctx[PLACES];
    const int systems = (int)test_times(PLANTED);
    open_all(ctx);
    for (int k = 0; k < systems; k++) {
        weft_context *const c = turn(ctx, k, systems);
        const wi_row *rows[TEST_MAX_ROWS];
        const size_t count = test_rows(c, &wi_sparse_ladder, rows);
        if (!test_case_wanted(&r))
            continue;
        test_graph_random(&r, LARGEST, &s.graph);
        test_system_fill(&r, true, &s);
        weft_sparse *const matrix = test_system_matrix(c, &s, false);
        weft_chol *const plan = plan_any(c, &r, matrix);
        const int64_t *const perm = weft_chol_permutation(plan);
        for (int64_t j = 0; j < s.graph.n; j++) {
            const int64_t column = perm[j];
            const long double kept = s.a[column][column];
            long double pivot;
            assert_int_equal(test_system_factor(&s, perm, 0, l, &pivot), s.graph.n);
            s.a[column][column] =
                (double)(kept - l[j][j] * l[j][j] - kept * ldexpl(1, -(int)test_below(&r, 25)));
            assert_int_equal(test_system_factor(&s, perm, 0, l, &pivot), j);
            weft_sparse *const bad = test_system_matrix(c, &s, false);
            for (size_t row = 0; row < count; row++) {
                test_use(c, "sparse", rows[row]);
                test_poison_factor(c, plan);
                test_refused(c, weft_chol_factor(c, plan, bad), WEFT_ENOTSPD, "weft_chol_factor",
                             NULL);
                check_message(c, column);
                check_direction(c, plan, &s, column, pivot, rows[row] ? rows[row]->name : "auto");
            }
            weft_sparse_destroy(bad);
            s.a[column][column] = kept;
        }
        factor(c, plan, matrix);
        test_check_factor(plan, &s, "after failures");
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
    close_all(ctx);
}

/* Any symmetric values: finds the first column with a pivot that is not positive, unless it is too
 * close to 0 to decide. Zeros on the diagonal may be left out. */
static void test_indefinite(void **state) {
    (void)state;
    static test_system s;
    static test_dense l;
    test_random r = test_random_at(3);
    weft_context *ctx[PLACES];
    const int systems = (int)test_times(SYSTEMS);
    open_all(ctx);
    for (int k = 0; k < systems; k++) {
        weft_context *const c = turn(ctx, k, systems);
        long double pivot;
        if (!test_case_wanted(&r))
            continue;
        test_graph_random(&r, LARGEST, &s.graph);
        test_system_fill(&r, false, &s);
        if (s.graph.n > 0 && k % 5 == 0)
            s.a[k % s.graph.n][k % s.graph.n] = 0;
        weft_sparse *const matrix = test_system_matrix(c, &s, k % 2 == 0);
        weft_chol *const plan = plan_any(c, &r, matrix);
        const int64_t *const perm = weft_chol_permutation(plan);
        const int64_t j = test_system_factor(&s, perm, 1e-9, l, &pivot);
        const bool clear = j == s.graph.n || pivot <= -1e-9L || s.a[perm[j]][perm[j]] == 0;
        const weft_status status = weft_chol_factor(c, plan, matrix);
        if (clear && j < s.graph.n) {
            const bool hole = pivot == 0; /* maybe in a column of zeros */
            test_refused(c, status, hole && status == WEFT_ESINGULAR ? status : WEFT_ENOTSPD,
                         "weft_chol_factor", NULL);
            check_message(c, perm[j]);
            check_direction(c, plan, &s, perm[j], pivot, "indefinite");
        } else if (clear) {
            assert_int_equal(status, WEFT_OK);
            test_check_factor(plan, &s, "any values");
        }
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
    close_all(ctx);
}

/* ---- larger matrices: fronts of several blocks, trees with a cut ---- */

/* Every pair of rows connected, or every row connected to the first and the last. */
static size_t dense_column(const void *user, size_t j, int64_t *row, double *value) {
    const size_t n = *(const size_t *)user;
    for (size_t i = j; i < n; i++) {
        row[i - j] = (int64_t)i;
        value[i - j] = i == j ? (double)n : cos((double)(i * j % 1000));
    }
    return n - j;
}

static size_t arrow_column(const void *user, size_t j, int64_t *row, double *value) {
    const size_t n = *(const size_t *)user;
    row[0] = (int64_t)j;
    value[0] = j + 1 == n ? (double)n : 4;
    row[1] = (int64_t)n - 1;
    value[1] = 1;
    return j + 1 == n ? 1 : 2;
}

static weft_sparse *make(weft_context *ctx, const char *kind, size_t n) {
    const wi_recipe recipe = {.n = n, .seed = 1, .per_row = 8};
    const wi_made_columns columns = {.n = n,
                                     .most = n,
                                     .column =
                                         strcmp(kind, "dense") == 0 ? dense_column : arrow_column,
                                     .user = &n};
    const wi_generator *const generator = wi_find_generator(kind);
    weft_sparse *matrix;
    const weft_status status = generator ? generator->make(ctx, "test", &recipe, &matrix)
                                         : wi_generate_columns(ctx, "test", &columns, &matrix);
    if (status != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    return matrix;
}

/* A hash of the bits of L that are defined. */
static uint64_t hash_of(const weft_chol *plan) {
    uint64_t hash = 1;
    for (int64_t s = 0; s < plan->symbolic.supernodes; s++) {
        const int64_t height = wi_super_height(&plan->symbolic, s);
        for (int64_t j = 0; j < wi_super_columns(&plan->symbolic, s); j++) {
            for (int64_t i = j; i < height; i++) {
                uint64_t bits;
                memcpy(&bits, &wi_chol_column(plan, s, j)[i], sizeof bits);
                hash = (hash ^ bits) * UINT64_C(0x9E3779B97F4A7C15) + (hash >> 31);
            }
        }
    }
    return hash;
}

/* Every rung solves with its own factor. */
static void check_rungs(weft_context *ctx, const weft_sparse *matrix, const char *ordering) {
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t n = weft_sparse_rows(matrix), count = test_rows(ctx, &wi_sparse_ladder, rows);
    double *const x = malloc(n * sizeof *x);
    weft_chol *const plan = test_plan(ctx, matrix, ordering, NULL);
    for (size_t row = 0; row < count; row++) {
        test_use(ctx, "sparse", rows[row]);
        test_poison_factor(ctx, plan);
        factor(ctx, plan, matrix);
        for (size_t i = 0; i < n; i++)
            x[i] = (double)(i % 7) - 3;
        assert_int_equal(weft_chol_solve(ctx, plan, matrix, NULL, 1, x, n, x, n), WEFT_OK);
        if (!(plan->report.backward_error <= 1e-13))
            fail_msg("%s, n = %zu: backward error %g", rows[row] ? rows[row]->name : "auto", n,
                     plan->report.backward_error);
    }
    weft_chol_destroy(plan);
    free(x);
}

static void test_threads(void **state) {
    (void)state;
    static const struct {
        const char *kind, *ordering;
        size_t n;
    } cases[] = {{"laplace2d", "amd", 70},   {"laplace2d", "natural", 40}, {"laplace3d", "amd", 15},
                 {"elasticity3d", "amd", 7}, {"random", "amd", 700},       {"random", "rcm", 300},
                 {"dense", "natural", 700},  {"arrow", "natural", 5000},   {"arrow", "amd", 3000},
                 {"dense", "natural", 129}};
    weft_context *ctx[PLACES];
    open_all(ctx);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        uint64_t expected = 0;
        if (!test_size_wanted(cases[k].n))
            continue;
        weft_sparse *const matrix = make(ctx[0], cases[k].kind, cases[k].n);
        check_rungs(ctx[0], matrix, cases[k].ordering);
        for (int place = 0; place < 2 * PLACES; place++) {
            weft_context *const c = ctx[place % PLACES];
            weft_chol *const plan = test_plan(c, matrix, cases[k].ordering, NULL);
            plan->least_work = place < PLACES ? 0 : 1e5;
            factor(c, plan, matrix);
            const uint64_t hash = hash_of(plan);
            if (place == 0)
                expected = hash;
            if (hash != expected)
                fail_msg("%s %zu: %s gives other bits than %s", cases[k].kind, cases[k].n,
                         places[place % PLACES], places[0]);
            factor(c, plan, matrix);
            assert_true(hash_of(plan) == expected);
            weft_chol_destroy(plan);
        }
        weft_sparse_destroy(matrix);
    }
    close_all(ctx);
}

/* Checks that dt A d, for the matrix that failed, is not above 0. */
static void check_sign(const weft_sparse *matrix, const double *d) {
    const int64_t *const start = weft_sparse_starts(matrix);
    const int64_t *const row = weft_sparse_row_indices(matrix);
    long double sum = 0;
    for (size_t j = 0; j < weft_sparse_cols(matrix); j++)
        for (int64_t k = start[j]; k < start[j + 1]; k++)
            sum += (long double)weft_sparse_values(matrix)[k] * d[j] * d[row[k]] *
                   ((size_t)row[k] == j ? 1 : 2);
    if (!(sum <= 0))
        fail_msg("dt A d is %Lg", sum);
}

/* The first column that fails, in the order of elimination, by every rung. */
static int64_t first_failure(weft_context *ctx, const weft_sparse *bad, const weft_sparse *good,
                             double *d) {
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_sparse_ladder, rows);
    int64_t first = -1;
    weft_chol *const plan = test_plan(ctx, bad, "amd", NULL);
    for (size_t row = 0; row < count; row++) {
        test_use(ctx, "sparse", rows[row]);
        test_poison_factor(ctx, plan);
        assert_int_equal(weft_chol_factor(ctx, plan, bad), WEFT_ENOTSPD);
        if (row == 0)
            first = plan->failed;
        assert_int_equal(plan->failed, first);
        check_message(ctx, plan->symbolic.perm[first]);
        assert_int_equal(weft_chol_direction(ctx, plan, d), WEFT_OK);
        check_sign(bad, d);
    }
    factor(ctx, plan, good);
    weft_chol_destroy(plan);
    return first;
}

/* In each of several subtrees a column fails; the first in the order of elimination is named, for
 * any number of threads. */
static void test_first_failure(void **state) {
    (void)state;
    test_random r = test_random_at(4);
    weft_context *ctx[PLACES];
    open_all(ctx);
    weft_sparse *const matrix = make(ctx[0], "laplace2d", 30);
    const size_t n = weft_sparse_rows(matrix), entries = weft_sparse_entries(matrix);
    const int64_t *const start = weft_sparse_starts(matrix);
    double *const value = malloc(entries * sizeof *value), *const d = malloc(n * sizeof *d);
    const int failures = (int)test_times(FAILURES);
    for (int k = 0; k < failures; k++) {
        weft_sparse *bad = make(ctx[0], "laplace2d", 30);
        int64_t expected = -1;
        memcpy(value, weft_sparse_values(matrix), entries * sizeof *value);
        for (int wrong = 0; wrong < 1 + k % 5; wrong++)
            value[start[test_below(&r, n)]] = -1;
        assert_int_equal(weft_sparse_update(ctx[0], bad, entries, value), WEFT_OK);
        for (int place = 0; place < PLACES; place++) {
            const int64_t first = first_failure(ctx[place], bad, matrix, d);
            if (place == 0)
                expected = first;
            assert_int_equal(first, expected);
        }
        weft_sparse_destroy(bad);
    }
    free(value);
    free(d);
    weft_sparse_destroy(matrix);
    close_all(ctx);
}

/* ---- at the same time, and on the caller's own threads ---- */

/* A hash of factor and solution on a new context; 0 if any call fails. */
static uint64_t factor_and_solve(const char *place, const weft_sparse *matrix) {
    const weft_chol_options options = {.size = sizeof options, .ordering = "amd"};
    const weft_chol_solve_options refined = {.size = sizeof refined, .refine = 1};
    const size_t n = weft_sparse_rows(matrix);
    double *const x = malloc(n * sizeof *x);
    weft_context *ctx = NULL;
    weft_chol *plan = NULL;
    uint64_t hash = 0;
    for (size_t i = 0; x && i < n; i++)
        x[i] = (double)(i % 11) - 4;
    if (x && weft_open(&ctx, place) == WEFT_OK &&
        weft_chol_analyze(ctx, matrix, &options, &plan) == WEFT_OK) {
        plan->least_work = 1e5;
        if (weft_chol_factor(ctx, plan, matrix) == WEFT_OK &&
            weft_chol_solve(ctx, plan, matrix, &refined, 1, x, n, x, n) == WEFT_OK)
            hash = hash_of(plan);
        for (size_t i = 0; hash != 0 && i < n; i++) {
            uint64_t bits;
            memcpy(&bits, x + i, sizeof bits);
            hash = (hash ^ bits) * UINT64_C(0x9E3779B97F4A7C15);
        }
    }
    weft_chol_destroy(plan);
    weft_close(ctx);
    free(x);
    return hash;
}

enum {
    AT_ONCE = 4,
    TURNS = 12
};

/* The data of threads that solve at the same time. */
typedef struct crowd {
    const weft_sparse *matrix;
    uint64_t expected;
    atomic_int turn, others;
} crowd;

static void *solve_in_turns(void *argument) {
    crowd *const c = argument;
    for (int turn = c->turn++; turn < TURNS; turn = c->turn++)
        c->others += factor_and_solve(places[turn % PLACES], c->matrix) != c->expected;
    return NULL;
}

static void test_at_once(void **state) {
    (void)state;
    static const char *const kinds[] = {"laplace3d", "elasticity3d"};
    static const size_t sizes[] = {13, 6};
    weft_context *const ctx = test_open("cpu:1");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        weft_sparse *const matrix = make(ctx, kinds[k], sizes[k]);
        const uint64_t expected = factor_and_solve("cpu:1", matrix);
        pthread_t threads[AT_ONCE];
        crowd c = {.matrix = matrix, .expected = expected};
        assert_true(expected != 0);
        for (int t = 0; t < AT_ONCE; t++)
            assert_int_equal(pthread_create(&threads[t], NULL, solve_in_turns, &c), 0);
        for (int t = 0; t < AT_ONCE; t++)
            pthread_join(threads[t], NULL);
        const int others = c.others;
        if (others > 0)
            fail_msg("%s: %d of 12 at the same time are other bits than alone", kinds[k], others);
        weft_sparse_destroy(matrix);
    }
    weft_close(ctx);
}

/* New values for the pattern give the factor that a new plan gives. */
static void test_refactor(void **state) {
    (void)state;
    static test_system s;
    test_random r = test_random_at(5);
    weft_context *const ctx = test_open("cpu:2");
    for (int k = 0; k < 200; k++) {
        test_graph_random(&r, LARGEST, &s.graph);
        test_system_fill(&r, true, &s);
        weft_sparse *const first = test_system_matrix(ctx, &s, false);
        weft_chol *const plan = test_plan(ctx, first, "amd", NULL);
        factor(ctx, plan, first);
        for (int again = 0; again < 3; again++) {
            test_system_fill(&r, true, &s);
            weft_sparse *const next = test_system_matrix(ctx, &s, false);
            weft_chol *const fresh = test_plan(ctx, next, "amd", NULL);
            factor(ctx, plan, next);
            factor(ctx, fresh, next);
            test_check_factor(plan, &s, "refactor");
            assert_true(hash_of(plan) == hash_of(fresh));
            weft_chol_destroy(fresh);
            weft_sparse_destroy(next);
        }
        weft_chol_destroy(plan);
        weft_sparse_destroy(first);
    }
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definite),      cmocka_unit_test(test_planted),
        cmocka_unit_test(test_indefinite),    cmocka_unit_test(test_threads),
        cmocka_unit_test(test_first_failure), cmocka_unit_test(test_refactor),
        cmocka_unit_test(test_at_once),
    };
    return cmocka_run_group_tests_name("chol", tests, NULL, NULL);
}
