/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices given with both halves, compared with a dense oracle: what is symmetric and what is not,
 * in every order of the entries; halves that differ by rounding; using only one half. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/matrix.h"
#include "testing.h"

enum {
    MOST_ROWS = 6,
    MOST_ENTRIES = 3 * MOST_ROWS * MOST_ROWS
};

/* Triplets, and the sums they give. */
typedef struct problem {
    size_t n, entries;
    int64_t row[MOST_ENTRIES], col[MOST_ENTRIES];
    double value[MOST_ENTRIES];
    double dense[MOST_ROWS][MOST_ROWS];
    bool present[MOST_ROWS][MOST_ROWS];
} problem;

static void add_entry(problem *p, size_t i, size_t j, double value) {
    p->row[p->entries] = (int64_t)i;
    p->col[p->entries] = (int64_t)j;
    p->value[p->entries++] = value;
    p->dense[i][j] += value;
    p->present[i][j] = true;
}

/* Integers, including zeros; most with their mirror image, some twice; a few images are missing or
 * wrong. */
static void draw(test_random *r, problem *p) {
    *p = (problem){.n = 1 + test_below(r, MOST_ROWS)};
    const bool spoilt = test_below(r, 2), repeated = test_below(r, 2);
    for (size_t i = 0; i < p->n; i++) {
        for (size_t j = 0; j <= i; j++) {
            const double value = (double)test_below(r, 5) - 2, half = (double)test_below(r, 3);
            if (test_below(r, 2))
                continue;
            if (repeated && test_below(r, 3) == 0) {
                add_entry(p, i, j, half);
                add_entry(p, i, j, value - half);
            } else if (!spoilt || test_below(r, 4)) {
                add_entry(p, i, j, value);
            }
            if (i != j && (value != 0 || test_below(r, 2)) && (!spoilt || test_below(r, 4)))
                add_entry(p, j, i, value + (spoilt && test_below(r, 8) == 0));
        }
    }
}

static bool oracle_says_symmetric(const problem *p) {
    for (size_t i = 0; i < p->n; i++) {
        for (size_t j = 0; j < i; j++) {
            if (p->dense[i][j] != p->dense[j][i])
                return false;
        }
    }
    return true;
}

/* ---- orders ---- */

typedef enum order {
    BY_COLUMNS, /* rows ascending in each */
    BY_ROWS,
    BACKWARDS, /* by columns, the last first */
    SHUFFLED,
    ORDERS
} order;

static int64_t rank_of(const problem *p, size_t k, order o) {
    const int64_t n = (int64_t)p->n, by_columns = p->col[k] * n + p->row[k];
    return o == BY_ROWS ? p->row[k] * n + p->col[k] : o == BACKWARDS ? -by_columns : by_columns;
}

static void exchange(problem *p, size_t a, size_t b) {
    const problem copy = *p;
    p->row[a] = copy.row[b];
    p->col[a] = copy.col[b];
    p->value[a] = copy.value[b];
    p->row[b] = copy.row[a];
    p->col[b] = copy.col[a];
    p->value[b] = copy.value[a];
}

static void put_in_order(test_random *r, problem *p, order o) {
    for (size_t k = 1; k < p->entries; k++) {
        if (o == SHUFFLED)
            exchange(p, k, test_below(r, k + 1));
        for (size_t m = k; o != SHUFFLED && m > 0 && rank_of(p, m, o) < rank_of(p, m - 1, o); m--)
            exchange(p, m, m - 1);
    }
}

/* ---- giving a problem ---- */

/* The starts of columns (or rows) for entries in that order. */
static void count_starts(const problem *p, const int64_t *line, int64_t start[MOST_ROWS + 1]) {
    memset(start, 0, (MOST_ROWS + 1) * sizeof *start);
    for (size_t k = 0; k < p->entries; k++) {
        for (size_t m = (size_t)line[k]; m < p->n; m++)
            start[m + 1]++;
    }
}

static weft_status create(weft_context *ctx, const problem *p, order o, bool compressed,
                          weft_sparse **m) {
    int64_t start[MOST_ROWS + 1];
    if (compressed && o == BY_COLUMNS) {
        count_starts(p, p->col, start);
        return weft_sparse_create_csc(ctx, m, WEFT_SYMMETRIC_FULL, p->n, p->n, WEFT_I64, start,
                                      p->row, p->value);
    }
    if (compressed && o == BY_ROWS) {
        count_starts(p, p->row, start);
        return weft_sparse_create_csr(ctx, m, WEFT_SYMMETRIC_FULL, p->n, p->n, WEFT_I64, start,
                                      p->col, p->value);
    }
    return weft_sparse_create_triplets(ctx, m, WEFT_SYMMETRIC_FULL, p->n, p->n, p->entries,
                                       WEFT_I64, p->row, p->col, p->value);
}

/* Row i again, without the diagonal: the same entries from the side of the rows. */
static void check_row(const weft_sparse *m, int64_t i, int64_t *count) {
    int64_t last = -1;
    for (int64_t k = m->row_start[i]; k < m->row_start[i + 1]; k++) {
        const int64_t col = m->col[k], at = m->at[k];
        assert_in_range(col, last + 1, i - 1);
        assert_in_range(at, m->start[col], m->start[col + 1] - 1);
        assert_int_equal(m->row[at], i);
        last = col;
        (*count)++;
    }
}

/* The lower half of the oracle, including zeros of either half. */
static void check_held(const problem *p, const weft_sparse *m) {
    const int64_t *const start = weft_sparse_starts(m), *const row = weft_sparse_row_indices(m);
    int64_t k = 0, off_diagonal = 0, in_rows = 0;
    for (size_t j = 0; j < p->n; j++) {
        assert_int_equal(start[j], k);
        for (size_t i = j; i < p->n; i++) {
            if (!p->present[i][j] && !p->present[j][i])
                continue;
            assert_int_equal(row[k], i);
            assert_true(weft_sparse_values(m)[k] == p->dense[i][j]);
            off_diagonal += i != j;
            k++;
        }
    }
    assert_int_equal(start[p->n], k);
    for (size_t i = 0; i < p->n; i++)
        check_row(m, (int64_t)i, &in_rows);
    assert_int_equal(in_rows, off_diagonal);
    assert_true(m->fingerprint == wi_sparse_fingerprint(m));
}

/* Is a matrix taken as symmetric exactly if it is? */
static void every_order(weft_context *ctx) {
    enum {
        ROUNDS = 4000
    };
    test_random r = test_random_at(1);
    static problem p;
    size_t refused = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        weft_sparse *m = (weft_sparse *)&p;
        draw(&r, &p);
        const order o = (order)test_below(&r, ORDERS);
        put_in_order(&r, &p, o);
        const bool symmetric = oracle_says_symmetric(&p);
        const weft_status status = create(ctx, &p, o, test_below(&r, 2), &m);
        if (status != (symmetric ? WEFT_OK : WEFT_EARG))
            fail_msg("round %zu, order %d: %s a matrix that is%s symmetric", round, (int)o,
                     status == WEFT_OK ? "took" : "refused", symmetric ? "" : " not");
        if (symmetric)
            check_held(&p, m);
        else
            assert_null(m);
        refused += !symmetric;
        weft_sparse_destroy(m);
    }
    assert_in_range(refused, ROUNDS / 8, ROUNDS * 7 / 8);
}

/* The smallest such matrix: nothing in the upper half, although everything is in order. */
static void upper_half_missing(weft_context *ctx) {
    const int64_t start[] = {0, 2, 3}, row[] = {0, 1, 1};
    double value[] = {4, 0, 4};
    weft_sparse *m;
    assert_int_equal(
        weft_sparse_create_csc(ctx, &m, WEFT_SYMMETRIC_FULL, 2, 2, WEFT_I64, start, row, value),
        WEFT_OK);
    value[1] = 1;
    test_refused(ctx, weft_sparse_update(ctx, m, 3, value), WEFT_EARG, "weft_sparse_update",
                 "symmetric");
    weft_sparse_destroy(m);
    test_refused(
        ctx,
        weft_sparse_create_csc(ctx, &m, WEFT_SYMMETRIC_FULL, 2, 2, WEFT_I64, start, row, value),
        WEFT_EARG, "weft_sparse_create_csc", "symmetric");
    assert_null(m);
}

/* ---- halves that differ a little ---- */

/* a[0][0] = x, a[1][1] = y, and the halves `below` and `above`, each the sum of three values. */
typedef struct pair {
    double x, y, below[3], above[3];
    double tolerance;
    double asymmetry; /* expected; -1: refused */
} pair;

static weft_status create_pair(weft_context *ctx, const pair *p, weft_sparse **m) {
    static const int32_t row[] = {0, 1, 1, 1, 1, 0, 0, 0}, col[] = {0, 0, 0, 0, 1, 1, 1, 1};
    const double value[] = {p->x, p->below[0], p->below[1], p->below[2],
                            p->y, p->above[0], p->above[1], p->above[2]};
    const weft_sparse_input in = {.size = sizeof in,
                                  .storage = WEFT_SYMMETRIC_FULL,
                                  .form = WEFT_TRIPLETS,
                                  .rows = 2,
                                  .cols = 2,
                                  .n = 8,
                                  .index_type = WEFT_I32,
                                  .row = row,
                                  .col = col,
                                  .value = value,
                                  .symmetry_tolerance = p->tolerance};
    return weft_sparse_create(ctx, m, &in);
}

/* What the difference is compared with: the entry itself, the diagonal, the parts of a sum. */
static void tolerance(weft_context *ctx) {
    static const pair cases[] = {
        {1, 1, {1}, {1 + 0x1p-49}, 0, 0x1p-49},
        {1, 1, {1}, {1 + 0x1p-49}, -1, -1},
        {1, 1, {1}, {1 + 0x1p-49}, 0x1p-50, -1},
        {1, 1, {1 + 0x1p-45}, {1}, 0, -1},
        {1, 1, {1}, {1.0001}, 1e-3, 1e-4},
        {1, 1, {1}, {1.0001}, 1e-5, -1},
        {0, 0, {-0x1p1000}, {-0x1p1000 * (1 + 0x1p-50)}, 0, 0x1p-50},
        {0, 0, {0x1p-1070}, {0x1p-1070 - 0x1p-1074}, 0, -1},
        {0, 0, {0x1p-1070}, {0x1p-1070 - 0x1p-1074}, 0.1, 0x1p-4},
        /* cancellation leaves 1e-17 in one half and -3e-17 in the other: relative to the diagonal
         * that is little */
        {4, 1, {1e-17}, {-3e-17}, 0, 2e-17},
        {1e300, 1e300, {1e285}, {0}, 0, 1e-15},
        {1e-300, 1e-300, {1e-315}, {0}, 0, 1e-15},
        {-4, 1, {0}, {1e-17}, 0, 5e-18},
        {4, 0, {1e-17}, {-3e-17}, 0, -1},
        /* parts of 2^20 with a small sum, and no diagonal to compare with */
        {0, 0, {0x1p20, 1, -0x1p20}, {0x1p20, 1 + 0x1p-32, -0x1p20}, 0, 0x1p-53},
        {0, 0, {0x1p20, 1, -0x1p20}, {0x1p20, 1 + 0x1p-24, -0x1p20}, 0, -1},
        {0, 0, {1}, {1 + 0x1p-32}, 0, -1},
        {0, 0, {1e308, 7e307, -1.5e308}, {1e308, 7e307, -1.6e308}, 0, -1},
        /* halves that differ as much as possible */
        {1, 1, {1e308}, {-1e308}, 1, -1},
        {1, 1, {1e308}, {-1e308}, 2, 2},
        {1, 1, {3}, {0}, 0.99, -1},
        {1, 1, {3}, {0}, 1, 1},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const pair *const p = &cases[c];
        weft_sparse *m = (weft_sparse *)ctx;
        const weft_status status = create_pair(ctx, p, &m);
        if (p->asymmetry < 0) {
            if (status != WEFT_EARG || m || !strstr(weft_message(ctx), "not symmetric"))
                fail_msg("case %zu: status %d, asymmetry %g", c, (int)status,
                         weft_sparse_asymmetry(m));
            continue;
        }
        if (status != WEFT_OK)
            fail_msg("case %zu: %s", c, weft_message(ctx));
        const double got = weft_sparse_asymmetry(m);
        if (!(fabs(got - p->asymmetry) <= 1e-3 * p->asymmetry))
            fail_msg("case %zu: asymmetry %g, not %g", c, got, p->asymmetry);
        const double below = p->below[0] + p->below[1] + p->below[2];
        const double above = p->above[0] + p->above[1] + p->above[2];
        if (!(weft_sparse_values(m)[1] == below / 2 + above / 2))
            fail_msg("case %zu: %.17g is no mean", c, weft_sparse_values(m)[1]);
        weft_sparse_destroy(m);
    }
}

/* An assembly of element matrices whose halves are summed in different orders, by a caller who then
 * leaves out duplicates: it must be accepted, and be within the rounding of the exact sums. */
static void assembly(weft_context *ctx) {
    enum {
        N = 40,
        PARTS = 300,
        PART = 4
    };
    static double sum[N][N];
    static int64_t row[N * N], col[N * N];
    static double value[N * N];
    test_random r = test_random_at(2);
    memset(sum, 0, sizeof sum);
    for (size_t part = 0; part < 2 * PARTS; part++) {
        /* the parts in reverse order above the diagonal */
        const bool below = part < PARTS;
        test_random own = test_random_at(100 + (below ? part : 2 * PARTS - 1 - part));
        size_t node[PART];
        double v[PART];
        for (size_t k = 0; k < PART; k++) {
            node[k] = test_below(&own, N);
            v[k] = test_unit(&own);
        }
        for (size_t a = 0; a < PART; a++) {
            for (size_t b = 0; b < PART; b++) {
                if ((node[a] >= node[b]) == below)
                    sum[node[a]][node[b]] += v[a] * v[b];
            }
        }
    }
    size_t n = 0;
    bool differs = false;
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) {
            row[n] = (int64_t)i;
            col[n] = (int64_t)j;
            value[n++] = sum[i][j];
            differs = differs || sum[i][j] != sum[j][i];
        }
    }
    assert_true(differs);
    weft_sparse *m;
    if (weft_sparse_create_triplets(ctx, &m, WEFT_SYMMETRIC_FULL, N, N, n, WEFT_I64, row, col,
                                    value) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    const double asymmetry = weft_sparse_asymmetry(m);
    assert_true(asymmetry > 0 && asymmetry < 0x1p-48);
    /* new values are measured again, and refused ones do not change the figure */
    value[1] += 1;
    test_refused(ctx, weft_sparse_update(ctx, m, n, value), WEFT_EARG, "weft_sparse_update",
                 "symmetric");
    assert_true(weft_sparse_asymmetry(m) == asymmetry);
    for (size_t k = 0; k < n; k++)
        value[k] = test_below(&r, 2) ? 1 : 1 + 0x1p-52;
    assert_int_equal(weft_sparse_update(ctx, m, n, value), WEFT_OK);
    assert_true(weft_sparse_asymmetry(m) > 0 && weft_sparse_asymmetry(m) <= 0x1p-52);
    for (size_t k = 0; k < n; k++)
        value[k] = 1;
    assert_int_equal(weft_sparse_update(ctx, m, n, value), WEFT_OK);
    assert_true(weft_sparse_asymmetry(m) == 0);
    weft_sparse_destroy(m);
}

/* For random numbers in random places, with NaN among those to be ignored, one half is held. */
static void one_half(weft_context *ctx) {
    enum {
        ROUNDS = 300
    };
    test_random r = test_random_at(3);
    static problem p;
    for (size_t round = 0; round < ROUNDS; round++) {
        const bool lower = round % 2;
        weft_sparse *m = (weft_sparse *)&p;
        draw(&r, &p);
        put_in_order(&r, &p, (order)test_below(&r, ORDERS));
        for (size_t k = 0; k < p.entries; k++) {
            const bool used = lower ? p.row[k] >= p.col[k] : p.row[k] <= p.col[k];
            if (!used)
                p.value[k] = round % 3 ? NAN : 1e308;
        }
        const weft_storage storage = lower ? WEFT_SYMMETRIC_USE_LOWER : WEFT_SYMMETRIC_USE_UPPER;
        if (weft_sparse_create_triplets(ctx, &m, storage, p.n, p.n, p.entries, WEFT_I64, p.row,
                                        p.col, p.value) != WEFT_OK)
            fail_msg("%s", weft_message(ctx));
        for (size_t i = 0; i < p.n; i++) {
            for (size_t j = 0; j < i; j++) {
                p.dense[i][j] = lower ? p.dense[i][j] : p.dense[j][i];
                p.present[i][j] = lower ? p.present[i][j] : p.present[j][i];
                p.present[j][i] = false;
            }
        }
        check_held(&p, m);
        assert_true(weft_sparse_asymmetry(m) == 0);
        for (size_t k = 0; k < p.entries; k++)
            p.value[k] *= 2;
        for (size_t k = 0; k < p.n * MOST_ROWS; k++)
            p.dense[k / MOST_ROWS][k % MOST_ROWS] *= 2;
        assert_int_equal(weft_sparse_update(ctx, m, p.entries, p.value), WEFT_OK);
        check_held(&p, m);
        weft_sparse_destroy(m);
    }
}

/* In the caller's terms: positions in the half that is used, and its infinities. */
static void half_messages(weft_context *ctx) {
    const int32_t row[] = {0, 1, 0}, col[] = {0, 0, 1};
    double value[] = {4, NAN, INFINITY};
    weft_sparse *m;
    test_refused(ctx,
                 weft_sparse_create_triplets(ctx, &m, WEFT_SYMMETRIC_USE_UPPER, 2, 2, 3, WEFT_I32,
                                             row, col, value),
                 WEFT_ENONFINITE, "weft_sparse_create_triplets", NULL);
    assert_non_null(strstr(weft_message(ctx), "value 2, in row 0 and column 1 (counted from 0)"));
    value[2] = 1;
    assert_int_equal(weft_sparse_create_triplets(ctx, &m, WEFT_SYMMETRIC_USE_UPPER, 2, 2, 3,
                                                 WEFT_I32, row, col, value),
                     WEFT_OK);
    weft_sparse_destroy(m);
}

/* Gives `p` in each order with entry (i, j) = x; every refusal has to contain `words`. */
static void say_in_every_order(weft_context *ctx, problem *p, int64_t i, int64_t j, double x,
                               weft_status expected, const char *words) {
    test_random r = test_random_at(4);
    for (unsigned o = 0; o < ORDERS; o++) {
        weft_sparse *m = NULL;
        put_in_order(&r, p, (order)o);
        for (size_t k = 0; k < p->entries; k++) {
            if (p->row[k] == i && p->col[k] == j)
                p->value[k] = x;
        }
        const weft_status status = create(ctx, p, (order)o, true, &m);
        if (status != expected || !strstr(weft_message(ctx), words))
            fail_msg("order %u, status %d: %s", o, (int)status, weft_message(ctx));
        weft_sparse_destroy(m);
    }
}

/* Whichever half comes first, messages name the caller's rows and columns. */
static void messages_in_every_order(weft_context *ctx) {
    static problem p;
    for (int below = 0; below < 2; below++) {
        p = (problem){.n = 3};
        for (size_t i = 0; i < 3; i++) {
            for (size_t j = 0; j < 3; j++)
                add_entry(&p, i, j, i == j ? 4 : 1);
        }
        const int64_t i = below ? 2 : 1, j = below ? 1 : 2;
        say_in_every_order(ctx, &p, 1, 1, INFINITY, WEFT_ENONFINITE, "row 1 and column 1 (");
        say_in_every_order(ctx, &p, 1, 1, 4, WEFT_OK, "");
        say_in_every_order(ctx, &p, i, j, NAN, WEFT_ENONFINITE,
                           below ? "row 2 and column 1 (" : "row 1 and column 2 (");
        say_in_every_order(ctx, &p, i, j, 3, WEFT_EARG,
                           below ? "row 2 of column 1 holds 3, row 1 of column 2 1 ("
                                 : "row 2 of column 1 holds 1, row 1 of column 2 3 (");
    }
}

/* Zeros of both signs are equal, and become +0.0. */
static void zeros_of_both_signs(weft_context *ctx) {
    static const int64_t start[] = {0, 2, 4}, index[] = {0, 1, 0, 1};
    for (int k = 0; k < 4; k++) {
        const double value[] = {1, k & 1 ? -0.0 : 0.0, k & 2 ? -0.0 : 0.0, 1};
        weft_sparse *m;
        assert_int_equal(weft_sparse_create_csr(ctx, &m, WEFT_SYMMETRIC_FULL, 2, 2, WEFT_I64, start,
                                                index, value),
                         WEFT_OK);
        assert_true(weft_sparse_values(m)[1] == 0);
        assert_true(!!signbit(weft_sparse_values(m)[1]) == (k == 3));
        weft_sparse_destroy(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(every_order),
        TEST_ON_EACH_PLACE(upper_half_missing),
        TEST_ON_EACH_PLACE(tolerance),
        TEST_ON_EACH_PLACE(assembly),
        TEST_ON_EACH_PLACE(one_half),
        TEST_ON_EACH_PLACE(half_messages),
        TEST_ON_EACH_PLACE(messages_in_every_order),
        TEST_ON_EACH_PLACE(zeros_of_both_signs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
