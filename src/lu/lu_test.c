/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of lu's ladder, on every place: the factors and each pivot, that nothing else is read
 * or written, and what is said of zero, infinite and NaN pivots. */
#include "core/gpu.h"
#include "lu/lu_rig.h"

enum {
    A,
    PIVOT,
    ARRAYS,
    CAPACITY = 1 << 20,
    ALL_ON_DEVICE = 3
};

#ifdef WEFT_EMU
enum {
    MOST_PRODUCTS = 1 << 21,
    MUST = 0,
    MUST_EXACT = 0
};
#else
enum {
    MOST_PRODUCTS = 1 << 24,
    MUST = 5,      /* each rung with each type and kind: axes 0 and 2 of run_drawn */
    MUST_EXACT = 1 /* each rung with each type: axis 0 of run_exact_drawn */
};
#endif

static const size_t sizes[] = {0,  1,  2,  3,  7,  8,   9,   15,  16,  17,  24,  31, 33,
                               47, 63, 64, 65, 97, 127, 128, 129, 130, 191, 193, 257};

typedef struct problem {
    const wi_row *row; /* NULL: the library chooses */
    matrix a;
    unsigned device; /* bit k: array k is device memory, if the place has any */
    char what[256];
} problem;

static void describe(const weft_context *ctx, problem *p, int number) {
    snprintf(p->what, sizeof p->what,
             "weft_lu_factor of %s on %s, variant %s, %zu x %zu by %s, ld %zu, offset %zu, kind "
             "%d, device %#x",
             test_type_name(p->a.type), weft_place(ctx), p->row ? p->row->name : "auto", p->a.rows,
             p->a.columns, p->a.by_rows ? "rows" : "columns", p->a.ld, p->a.offset, number,
             p->device);
}

/* The factors, and the pivots in *pivot; the caller frees both. NULL: the rung does not fit. */
static long double *factor(rig *r, const problem *p, const long double *table, weft_status *status,
                           int64_t **pivot) {
    const size_t steps = wi_smaller(p->a.rows, p->a.columns), width = test_size_of(p->a.type);
    test_buffer *const a = rig_buffer(r, p->device, A), *const b = rig_buffer(r, p->device, PIVOT);
    stored(&p->a, table, r->source[A]);
    test_buffer_load(a, r->source[A], bytes_of(&p->a), p->a.offset * width);
    test_buffer_poison(b, steps * sizeof **pivot, p->a.offset * sizeof **pivot);
    test_use(r->ctx, "lu", p->row);
    *status = weft_lu_factor(r->ctx, p->a.by_rows ? WEFT_ROW_MAJOR : 0, p->a.type, p->a.rows,
                             p->a.columns, a->p, p->a.ld, (int64_t *)(void *)b->p);
    *pivot = NULL;
    if (*status == WEFT_EUNSUPPORTED && is_openblas(p->row))
        return NULL;
    const unsigned char *const after = test_buffer_read(a, p->what);
    check_gaps(&p->a, after, p->what);
    if (*status == WEFT_OK && steps > 0)
        test_used(r->ctx, "lu", p->row, p->what);
    *pivot = malloc(steps * sizeof **pivot + 1);
    assert_non_null(*pivot);
    memcpy(*pivot, test_buffer_read(b, p->what), steps * sizeof **pivot);
    return widened(&p->a, after);
}

/* Fails unless the status is this one and the message names the column. */
static void check_status(weft_context *ctx, const problem *p, weft_status status,
                         weft_status expected, size_t column) {
    char word[48];
    if (status != expected)
        fail_msg("%s: %s: %s", p->what, weft_status_name(status), weft_message(ctx));
    if (expected == WEFT_OK)
        return;
    snprintf(word, sizeof word, "column %zu (", column);
    test_refused(ctx, status, expected, "weft_lu_factor", NULL);
    if (!strstr(weft_message(ctx), word))
        fail_msg("%s: no \"%s\" in \"%s\"", p->what, word, weft_message(ctx));
}

/* The first column whose pivot must be 0. The last pivots of a lower triangle of f32 may round to
 * 0, as its condition grows exponentially with its order: there the factors say which does. */
static size_t expected_zero(const problem *p, kind k, const long double *factors) {
    const size_t m = p->a.rows, n = p->a.columns;
    const size_t steps = wi_smaller(m, n);
    size_t j = 0;
    if (k != LOWER || p->a.type != WEFT_F32)
        return zero_column(k, m, n);
    while (j < steps && factors[j * n + j] != 0)
        j++;
    return j;
}

static void run_kind(rig *r, problem *p, kind k) {
    const size_t m = p->a.rows, n = p->a.columns;
    long double *const table = table_of(m, n);
    int64_t *pivot;
    weft_status status;
    fill_kind(&r->random, k, p->a.type, m, n, table);
    describe(r->ctx, p, k);
    long double *const f = factor(r, p, table, &status, &pivot);
    if (f) {
        long double *const rounded = widened(&p->a, r->source[A]);
        const size_t zero = expected_zero(p, k, f);
        check_status(r->ctx, p, status, zero < wi_smaller(m, n) ? WEFT_ESINGULAR : WEFT_OK, zero);
        check_factors(p->a.type, m, n, rounded, f, pivot, p->what);
        free(rounded);
    }
    free(f);
    free(pivot);
    free(table);
}

static problem draw(rig *r, const wi_row *row, weft_type type, size_t m, size_t n, bool by_rows) {
    problem p = {.row = row,
                 .a = {.type = type, .by_rows = by_rows, .rows = m, .columns = n},
                 .device = ALL_ON_DEVICE};
    choose_layout(&r->random, &p.a);
    if (test_below(&r->random, 4) == 0)
        p.device = (unsigned)test_below(&r->random, ALL_ON_DEVICE);
    return p;
}

/* Half of the matrices are square. */
static size_t other_side(rig *r, size_t n) {
    return test_below(&r->random, 2) ? n
                                     : sizes[test_below(&r->random, sizeof sizes / sizeof *sizes)];
}

/* Axes: the type; how it is stored; the kind. */
static bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    size_t m = n, other = other_side(r, n);
    test_shrink(&m, &other, (size_t)cbrt((double)MOST_PRODUCTS) * (size_t)cbrt(MOST_PRODUCTS));
    problem p = draw(r, row, at[0] ? WEFT_F32 : WEFT_F64, m, other, at[1]);
    run_kind(r, &p, (kind)at[2]);
    return true;
}

static void all_rungs(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    const test_sweep all = {.sizes = sizes,
                            .size_count = sizeof sizes / sizeof *sizes,
                            .ladder = &wi_lu_ladder,
                            .extent = {2, 2, KINDS},
                            .must = MUST,
                            .one_in = 8,
                            .share = 50,
                            .run = run_drawn};
    test_sweep_run(ctx, &r.random, &all, &r);
    rig_close(&r);
}

/* ---- exact factors ---- */

/* L and U as one table of quarters, U's diagonal a power of two, L's elements at most a half: each
 * pivot is the only largest one, and nothing is rounded. */
static long double *exact_factors(test_random *r, size_t m, size_t n) {
    long double *const f = table_of(m, n);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const int sign = test_below(r, 2) ? 1 : -1;
            f[i * n + j] = i == j  ? sign * 4
                           : i > j ? sign * (double)test_below(r, 3) / 4
                                   : (double)test_below(r, 9) - 4;
        }
    return f;
}

/* A = P' L U for exchanges that are drawn. */
static long double *exact_matrix(test_random *r, size_t m, size_t n, const long double *f,
                                 int64_t *pivot) {
    const size_t steps = wi_smaller(m, n);
    long double *const a = table_of(m, n);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = product_at(n, f, i, j, steps).sum;
    for (size_t k = 0; k < steps; k++)
        pivot[k] = (int64_t)(k + test_below(r, m - k));
    for (size_t k = steps; k-- > 0;)
        for (size_t j = 0; j < n; j++) {
            const size_t with = (size_t)pivot[k];
            const long double old = a[k * n + j];
            a[k * n + j] = a[with * n + j];
            a[with * n + j] = old;
        }
    return a;
}

static void run_exact(rig *r, problem *p) {
    const size_t m = p->a.rows, n = p->a.columns, steps = wi_smaller(m, n);
    int64_t *const right = calloc(steps + 1, sizeof *right), *pivot;
    assert_non_null(right);
    long double *const expected = exact_factors(&r->random, m, n);
    long double *const a = exact_matrix(&r->random, m, n, expected, right);
    weft_status status;
    describe(r->ctx, p, -1);
    long double *const f = factor(r, p, a, &status, &pivot);
    if (f) {
        check_status(r->ctx, p, status, WEFT_OK, 0);
        for (size_t k = 0; k < steps; k++)
            if (pivot[k] != right[k])
                fail_msg("%s: pivot %zu is %lld, not %lld", p->what, k, (long long)pivot[k],
                         (long long)right[k]);
        for (size_t e = 0; e < m * n; e++)
            if (f[e] != expected[e])
                fail_msg("%s: element %zu is %Lg, not %Lg", p->what, e, f[e], expected[e]);
    }
    free(f);
    free(a);
    free(expected);
    free(pivot);
    free(right);
}

/* Axes: the type; how it is stored. */
static bool run_exact_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    size_t m = n, other = other_side(r, n);
    test_shrink(&m, &other, (size_t)cbrt((double)MOST_PRODUCTS) * (size_t)cbrt(MOST_PRODUCTS));
    problem p = draw(r, row, at[0] ? WEFT_F32 : WEFT_F64, m, other, at[1]);
    run_exact(r, &p);
    return true;
}

static void exact(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    const test_sweep all = {.sizes = sizes,
                            .size_count = sizeof sizes / sizeof *sizes,
                            .ladder = &wi_lu_ladder,
                            .extent = {2, 2},
                            .must = MUST_EXACT,
                            .one_in = 4,
                            .share = 25,
                            .run = run_exact_drawn};
    test_sweep_run(ctx, &r.random, &all, &r);
    rig_close(&r);
}

/* ---- ties, zeros, NaN and infinity in one column ---- */

typedef enum spoiler {
    TIES,     /* two of the largest, one negative */
    ZEROS,    /* from the diagonal on down */
    NANS,     /* two, and infinity */
    INFINITE, /* one, before numbers */
    SPOILERS
} spoiler;

/* Fills A with 1024 on the diagonal, and with one column that is spoiled from row `column` on.
 * Returns the row that must become its pivot. */
static size_t fill_spoiled(test_random *r, size_t n, size_t column, spoiler s, long double *a) {
    const size_t from = column + test_below(r, n - column), to = from + test_below(r, n - from);
    for (size_t i = 0; i < n; i++) {
        a[i * n + i] = 1024;
        if (i >= column)
            a[i * n + column] = s == ZEROS ? 0 : test_below(r, 2) ? 1 : -0.5;
    }
    long double *const first = &a[from * n + column], *const second = &a[to * n + column];
    switch (s) {
    case TIES:
        *second = 4;
        *first = from == to ? 4 : -4;
        return from;
    case NANS:
        a[column * n + column] = INFINITY;
        *second = NAN;
        *first = NAN;
        return from;
    case INFINITE:
        *first = -INFINITY;
        return from;
    default:
        return column;
    }
}

static void run_spoiled(rig *r, problem *p, spoiler s, size_t column) {
    const size_t n = p->a.rows;
    long double *const a = table_of(n, n);
    const size_t row = fill_spoiled(&r->random, n, column, s, a);
    int64_t *pivot;
    weft_status status;
    describe(r->ctx, p, -2 - (int)s);
    long double *const f = factor(r, p, a, &status, &pivot);
    if (f) {
        check_status(r->ctx, p, status,
                     s == TIES    ? WEFT_OK
                     : s == ZEROS ? WEFT_ESINGULAR
                                  : WEFT_ENONFINITE,
                     column);
        check_pivots(n, n, pivot, p->what);
        for (size_t k = 0; k <= column; k++)
            if ((size_t)pivot[k] != (k < column ? k : row))
                fail_msg("%s: pivot %zu is %lld; column %zu has its own in row %zu", p->what, k,
                         (long long)pivot[k], column, row);
    }
    free(f);
    free(a);
    free(pivot);
}

static void spoiled(weft_context *ctx) {
    static const size_t orders[] = {1, 2, 7, 9, 20, 64, 70, 130};
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_lu_ladder, rows);
    const size_t most = ctx->kind == WI_CUDA ? 5 : sizeof orders / sizeof *orders;
    for (size_t k = 0; k < count; k++)
        for (size_t e = 0; e < most; e++)
            for (spoiler s = 0; s < SPOILERS; s++) {
                const size_t n = orders[e], column = test_below(&r.random, n);
                problem p = draw(&r, rows[k], test_below(&r.random, 2) ? WEFT_F32 : WEFT_F64, n, n,
                                 test_below(&r.random, 2));
                if (is_openblas(rows[k]) && s != ZEROS)
                    continue;
                run_spoiled(&r, &p, s, column);
            }
    rig_close(&r);
}

/* ---- many columns: the same bits for all threads ---- */

enum {
    ROWS = 1600,
    COLUMNS = 1550 /* for two steps of "lookahead", and its tail */
};

/* x = L (U x) and y = |L| (|U| y), which bounds the error of x. Both have ROWS elements. */
static void multiply_factors(const double *f, long double *x, long double *y) {
    for (size_t i = 0; i < COLUMNS; i++) {
        long double sum = 0, size = 0;
        for (size_t j = i; j < COLUMNS; j++) {
            sum += f[i + j * ROWS] * x[j];
            size += fabsl(f[i + j * ROWS]) * y[j];
        }
        x[i] = sum;
        y[i] = size;
    }
    for (size_t i = ROWS; i-- > 0;) {
        const size_t end = wi_smaller(i, COLUMNS);
        long double sum = i < COLUMNS ? x[i] : 0, size = i < COLUMNS ? y[i] : 0;
        for (size_t k = 0; k < end; k++) {
            sum += f[i + k * ROWS] * x[k];
            size += fabsl(f[i + k * ROWS]) * y[k];
        }
        x[i] = sum;
        y[i] = size;
    }
}

/* P A v = L U v for a vector v. */
static void check_by_vector(test_random *r, const double *a, const double *f,
                            const int64_t *pivot) {
    long double *const right = table_of(ROWS, 1), *const x = table_of(ROWS, 1);
    long double *const y = table_of(ROWS, 1);
    check_pivots(ROWS, COLUMNS, pivot, "a large matrix");
    for (size_t j = 0; j < COLUMNS; j++) {
        x[j] = test_unit(r);
        y[j] = fabsl(x[j]);
        for (size_t i = 0; i < ROWS; i++)
            right[i] += a[i + j * ROWS] * x[j];
    }
    permute(1, COLUMNS, pivot, right);
    multiply_factors(f, x, y);
    for (size_t i = 0; i < ROWS; i++)
        if (!(fabsl(x[i] - right[i]) <= 8 * sqrtl(COLUMNS) * DBL_EPSILON * y[i]))
            fail_msg("row %zu of L U v is %Lg, not %Lg", i, x[i], right[i]);
    free(right);
    free(x);
    free(y);
}

/* Factors a copy of A, stored by columns or, transposed first, by rows; both come out by columns.
 */
static void factor_large(const char *place, const char *variant, bool by_rows, const double *a,
                         double *x, int64_t *pivot) {
    weft_context *const ctx = test_open(place);
    assert_int_equal(weft_use(ctx, "lu", variant), WEFT_OK);
    memcpy(x, a, sizeof *x * ROWS * COLUMNS);
    if (by_rows)
        assert_int_equal(weft_transpose(ctx, 0, sizeof *x, ROWS, COLUMNS, x, ROWS, x, COLUMNS),
                         WEFT_OK);
    assert_int_equal(weft_lu_factor(ctx, by_rows ? WEFT_ROW_MAJOR : 0, WEFT_F64, ROWS, COLUMNS, x,
                                    by_rows ? COLUMNS : ROWS, pivot),
                     WEFT_OK);
    if (by_rows)
        assert_int_equal(weft_transpose(ctx, 0, sizeof *x, COLUMNS, ROWS, x, COLUMNS, x, ROWS),
                         WEFT_OK);
    weft_close(ctx);
}

static void test_threads(void **state) {
    static const char *const variants[] = {"blocked", "recursive", "lookahead"};
    static const char *const places[] = {"cpu:1", "cpu:2", "cpu:4"};
    static int64_t pivot[COLUMNS], first_pivot[COLUMNS];
    const size_t bytes = sizeof(double) * ROWS * COLUMNS;
    double *const a = malloc(bytes), *const first = malloc(bytes), *const x = malloc(bytes);
    test_random random = test_random_at(5);
    (void)state;
    assert_true(a && first && x);
    test_fill(&random, TEST_ANY, WEFT_F64, (size_t)ROWS * COLUMNS, a);
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        factor_large(places[v], variants[v], v == 2, a, first, first_pivot);
        check_by_vector(&random, a, first, first_pivot);
        for (size_t k = 0; k < 2; k++) {
            factor_large(places[(v + k + 1) % 3], variants[v], v != 2, a, x, pivot);
            assert_memory_equal(x, first, bytes);
            assert_memory_equal(pivot, first_pivot, sizeof pivot);
        }
    }
    free(a);
    free(first);
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(all_rungs),
        TEST_ON_EACH_PLACE(exact),
        TEST_ON_EACH_PLACE(spoiled),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests_name("lu", tests, NULL, NULL);
}
