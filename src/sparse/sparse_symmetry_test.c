/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices given with both their halves, against a dense oracle: what is symmetric and what is not,
 * in every order of the entries. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/sparse.h"
#include "testing.h"

enum {
    MOST_ROWS = 6,
    MOST_ENTRIES = 3 * MOST_ROWS * MOST_ROWS
};

/* Triplets, and the sums they mean. */
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

/* Whole numbers, zeros among them, most of them with their mirror image, some of them twice; a few
 * images are forgotten or wrong. */
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

/* start of columns (or rows) for entries in that order. */
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

/* The lower half of the oracle, zeros of either half included. */
static void check_held(const problem *p, const weft_sparse *m) {
    const int64_t *const start = weft_sparse_starts(m), *const row = weft_sparse_row_indices(m);
    int64_t k = 0;
    for (size_t j = 0; j < p->n; j++) {
        assert_int_equal(start[j], k);
        for (size_t i = j; i < p->n; i++) {
            if (!p->present[i][j] && !p->present[j][i])
                continue;
            assert_int_equal(row[k], i);
            assert_true(weft_sparse_values(m)[k] == p->dense[i][j]);
            k++;
        }
    }
    assert_int_equal(start[p->n], k);
}

/* Is exactly that taken as symmetric which is? */
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

/* The smallest of them: nothing in the upper half, and yet all in order. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(every_order),
        TEST_ON_EACH_PLACE(upper_half_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
