/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse matrices compared with dense ones: every way to give them, new values, products,
 * residuals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/sparse.h"
#include "testing.h"

enum {
    MOST_ENTRIES = 6000,
    ROUNDS = 12
};

/* Triplets as a caller has them, and the dense matrix that they give. */
typedef struct problem {
    weft_storage storage;
    size_t rows, cols, n;
    int64_t row[MOST_ENTRIES], col[MOST_ENTRIES];
    double value[MOST_ENTRIES];
    double *dense; /* column-major; both halves of a symmetric one */
    bool *present;
} problem;

static void add_entry(problem *p, size_t i, size_t j, double value) {
    assert_true(p->n < MOST_ENTRIES);
    p->row[p->n] = (int64_t)i;
    p->col[p->n] = (int64_t)j;
    p->value[p->n++] = value;
}

/* The dense matrix, made by adding every entry, in the order given. */
static void set_dense(problem *p) {
    for (size_t k = 0; k < p->rows * p->cols; k++) {
        p->dense[k] = 0;
        p->present[k] = false;
    }
    for (size_t k = 0; k < p->n; k++) {
        const size_t at = (size_t)p->row[k] + (size_t)p->col[k] * p->rows;
        p->dense[at] += p->value[k];
        p->present[at] = true;
    }
    if (p->storage == WEFT_GENERAL)
        return;
    for (size_t j = 0; j < p->cols; j++) {
        for (size_t i = j + 1; i < p->rows; i++) {
            const size_t below = i + j * p->rows, above = j + i * p->rows;
            const size_t from = p->storage == WEFT_SYMMETRIC_UPPER ? above : below;
            p->present[below] = p->present[above] = p->present[below] || p->present[above];
            p->dense[below] = p->dense[above] = p->dense[from];
        }
    }
}

/* Random values for the entries; for FULL, mirror images stay equal. */
static void draw_values(test_random *r, problem *p) {
    for (size_t k = 0; k < p->n; k++)
        p->value[k] = test_unit(r);
    if (p->storage != WEFT_SYMMETRIC_FULL)
        return;
    /* entries come in pairs, see draw */
    for (size_t k = 0; k + 1 < p->n; k += 2)
        p->value[k + 1] = p->value[k];
}

/* About `wanted` entries, unsorted; with duplicates if asked for. */
static void draw(test_random *r, problem *p, weft_storage storage, size_t rows, size_t cols,
                 size_t wanted, bool repeated) {
    p->storage = storage;
    p->rows = rows;
    p->cols = cols;
    p->n = 0;
    p->dense = malloc((rows * cols + 1) * sizeof *p->dense);
    p->present = calloc(rows * cols + 1, sizeof *p->present);
    assert_non_null(p->dense);
    assert_non_null(p->present);
    for (size_t k = 0; k < wanted && rows && cols; k++) {
        size_t i = test_below(r, rows), j = test_below(r, cols);
        if ((storage == WEFT_SYMMETRIC_LOWER && i < j) ||
            (storage == WEFT_SYMMETRIC_UPPER && i > j)) {
            const size_t other = i;
            i = j;
            j = other;
        }
        const size_t at = i + j * rows, mirror = storage == WEFT_SYMMETRIC_FULL ? j + i * rows : at;
        if (!repeated && (p->present[at] || p->present[mirror]))
            continue;
        if (storage == WEFT_SYMMETRIC_FULL && i == j)
            continue; /* so that entries come in pairs */
        p->present[at] = p->present[mirror] = true;
        add_entry(p, i, j, 0);
        if (storage == WEFT_SYMMETRIC_FULL)
            add_entry(p, j, i, 0);
    }
    draw_values(r, p);
    set_dense(p);
}

static void drop(problem *p) {
    free(p->dense);
    free(p->present);
}

/* ---- giving a problem in each form ---- */

typedef enum form {
    CSC,
    CSR,
    TRIPLETS,
    FORMS
} form;

static const weft_type index_types[] = {WEFT_I32, WEFT_I64, WEFT_U32, WEFT_U64};

enum {
    INDEX_TYPES = sizeof index_types / sizeof *index_types
};

/* Indices of the given type. */
static void *indices(weft_type type, const int64_t *from, size_t n) {
    const size_t size = test_size_of(type);
    char *const to = malloc((n + 1) * size);
    assert_non_null(to);
    for (size_t k = 0; k < n; k++)
        test_store(type, to, k, (test_value){.i = from[k]});
    return to;
}

/* Stable order by columns, or by rows: as a caller with compressed columns or rows has them. The
 * problem itself is put into that order. */
static void compress(problem *p, form f, int64_t *start) {
    static problem copy;
    const size_t lines = f == CSC ? p->cols : p->rows;
    size_t n = 0;
    copy = *p;
    for (size_t line = 0; line < lines; line++) {
        start[line] = (int64_t)n;
        for (size_t k = 0; k < p->n; k++) {
            if ((size_t)(f == CSC ? copy.col[k] : copy.row[k]) != line)
                continue;
            p->row[n] = copy.row[k];
            p->col[n] = copy.col[k];
            p->value[n++] = copy.value[k];
        }
    }
    start[lines] = (int64_t)n;
}

/* If the two types differ, only the general call can take them. */
static weft_sparse *create(weft_context *ctx, problem *p, form f, weft_type start_type,
                           weft_type type) {
    weft_sparse *m = (weft_sparse *)p;
    weft_status status;
    int64_t *const start = malloc((p->rows + p->cols + 1) * sizeof *start);
    assert_non_null(start);
    if (f != TRIPLETS)
        compress(p, f, start);
    void *const row = indices(type, p->row, p->n), *const col = indices(type, p->col, p->n);
    void *const starts =
        indices(start_type, start, f == TRIPLETS ? 0 : (f == CSC ? p->cols : p->rows) + 1);
    const weft_sparse_input in = {.size = sizeof in,
                                  .storage = p->storage,
                                  .form = f == CSC   ? WEFT_CSC
                                          : f == CSR ? WEFT_CSR
                                                     : WEFT_TRIPLETS,
                                  .rows = p->rows,
                                  .cols = p->cols,
                                  .n = p->n,
                                  .start_type = start_type,
                                  .index_type = type,
                                  .start = starts,
                                  .row = f == CSR ? NULL : row,
                                  .col = f == CSC ? NULL : col,
                                  .value = p->value};
    if (start_type != type)
        status = weft_sparse_create(ctx, &m, &in);
    else if (f == CSC)
        status = weft_sparse_create_csc(ctx, &m, p->storage, p->rows, p->cols, type, starts, row,
                                        p->value);
    else if (f == CSR)
        status = weft_sparse_create_csr(ctx, &m, p->storage, p->rows, p->cols, type, starts, col,
                                        p->value);
    else
        status = weft_sparse_create_triplets(ctx, &m, p->storage, p->rows, p->cols, p->n, type, row,
                                             col, p->value);
    free(starts);
    free(row);
    free(col);
    free(start);
    if (status != WEFT_OK)
        fail_msg("form %d: %s", (int)f, weft_message(ctx));
    return m;
}

/* ---- checks ---- */

/* The pattern and the values held are those of the dense matrix, in order. */
static void check_held(const problem *p, const weft_sparse *m) {
    const bool symmetric = p->storage != WEFT_GENERAL;
    const int64_t *const start = weft_sparse_starts(m), *const row = weft_sparse_row_indices(m);
    const double *const value = weft_sparse_values(m);
    size_t k = 0;
    assert_int_equal(weft_sparse_rows(m), p->rows);
    assert_int_equal(weft_sparse_cols(m), p->cols);
    assert_int_equal(weft_sparse_is_symmetric(m), symmetric);
    for (size_t j = 0; j < p->cols; j++) {
        assert_int_equal(start[j], k);
        for (size_t i = symmetric ? j : 0; i < p->rows; i++) {
            if (!p->present[i + j * p->rows])
                continue;
            assert_true(k < weft_sparse_entries(m));
            assert_int_equal(row[k], i);
            if (!(value[k] == p->dense[i + j * p->rows]))
                fail_msg("row %zu, column %zu: %.17g, not %.17g", i, j, value[k],
                         p->dense[i + j * p->rows]);
            k++;
        }
    }
    assert_int_equal(start[p->cols], k);
    assert_int_equal(weft_sparse_entries(m), k);
}

/* Y = A X, with gaps between columns, and guards. */
static void check_multiply(weft_context *ctx, test_random *r, const problem *p,
                           const weft_sparse *m) {
    enum {
        COLUMNS = 3,
        GAP = 2
    };
    const size_t ldx = p->cols + GAP, ldy = p->rows + GAP;
    double *const x = malloc(COLUMNS * ldx * sizeof *x);
    test_buffer y = test_buffer_open(ctx, false, COLUMNS * ldy * sizeof *x);
    assert_non_null(x);
    for (size_t k = 0; k < COLUMNS * ldx; k++)
        x[k] = test_unit(r);
    test_buffer_poison(&y, COLUMNS * ldy * sizeof *x, 8);
    if (weft_sparse_multiply(ctx, m, COLUMNS, x, ldx, (double *)y.p, ldy) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    const unsigned char *const bytes = test_buffer_read(&y, "y");
    for (size_t c = 0; c < COLUMNS; c++) {
        for (size_t i = 0; i < p->rows; i++) {
            double expected = 0, got;
            for (size_t j = 0; j < p->cols; j++) {
                if (p->present[i + j * p->rows])
                    expected += p->dense[i + j * p->rows] * x[j + c * ldx];
            }
            memcpy(&got, bytes + (i + c * ldy) * sizeof got, sizeof got);
            if (!(got == expected))
                fail_msg("y[%zu] of column %zu: %.17g, not %.17g", i, c, got, expected);
        }
        for (size_t k = p->rows * sizeof *x; k < ldy * sizeof *x; k++)
            assert_int_equal(bytes[c * ldy * sizeof *x + k], TEST_POISON);
    }
    test_buffer_close(&y);
    free(x);
}

/* New values in the order given; and an invalid one among them changes nothing. */
static void check_update(weft_context *ctx, test_random *r, problem *p, weft_sparse *m) {
    const double *const held = weft_sparse_values(m);
    if (p->n > 0) {
        const size_t at = test_below(r, p->n);
        const double good = p->value[at];
        p->value[at] = test_below(r, 2) ? NAN : -INFINITY;
        test_refused(ctx, weft_sparse_update(ctx, m, p->n, p->value), WEFT_ENONFINITE,
                     "weft_sparse_update", NULL);
        char place[64];
        snprintf(place, sizeof place, "row %lld and column %lld", (long long)p->row[at],
                 (long long)p->col[at]);
        if (!strstr(weft_message(ctx), place))
            fail_msg("no \"%s\" in \"%s\"", place, weft_message(ctx));
        p->value[at] = good;
        check_held(p, m);
    }
    for (size_t k = 0; k < p->n; k++)
        p->value[k] *= k % 2 && p->storage != WEFT_SYMMETRIC_FULL ? 0.5 : -4;
    set_dense(p);
    if (weft_sparse_update(ctx, m, p->n, p->value) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    assert_ptr_equal(held, weft_sparse_values(m));
    check_held(p, m);
}

static void every_form(weft_context *ctx) {
    static const size_t sizes[] = {0, 1, 2, 3, 7, 16, 33, 60};
    static problem p;
    test_random r = test_random_at(1);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int round = 0; round < ROUNDS * FORMS * INDEX_TYPES * 2; round++) {
            const form f = (form)(round % FORMS);
            const weft_type type = index_types[round / FORMS % INDEX_TYPES];
            const weft_type start_type = index_types[test_below(&r, INDEX_TYPES)];
            const weft_storage storage = (weft_storage)(round / FORMS / INDEX_TYPES % 4);
            const size_t n = sizes[s], other = storage == WEFT_GENERAL ? test_below(&r, n + 3) : n;
            if (!test_case_wanted(&r))
                continue;
            draw(&r, &p, storage, n, other, test_below(&r, 1 + 4 * n), test_below(&r, 2));
            weft_sparse *const m = create(ctx, &p, f, start_type, type);
            check_held(&p, m);
            check_multiply(ctx, &r, &p, m);
            check_update(ctx, &r, &p, m);
            weft_sparse_destroy(m);
            drop(&p);
        }
    }
}

/* Zero entries belong to the pattern, a single -0.0 keeps its sign, and what FULL lacks on one side
 * counts as zero. */
static void zeros(weft_context *ctx) {
    const int64_t row[] = {0, 2, 1, 0}, col[] = {0, 0, 1, 2};
    const double value[] = {-0.0, 0, 3, 0}, one_sided[] = {1, 0, 3};
    weft_sparse *m;
    assert_int_equal(weft_sparse_create_triplets(ctx, &m, WEFT_SYMMETRIC_FULL, 3, 3, 4, WEFT_I64,
                                                 row, col, value),
                     WEFT_OK);
    assert_int_equal(weft_sparse_entries(m), 3);
    assert_true(signbit(weft_sparse_values(m)[0]));
    weft_sparse_destroy(m);
    assert_int_equal(weft_sparse_create_triplets(ctx, &m, WEFT_SYMMETRIC_FULL, 3, 3, 3, WEFT_I64,
                                                 row, col, one_sided),
                     WEFT_OK);
    assert_int_equal(weft_sparse_entries(m), 3);
    assert_int_equal(weft_sparse_row_indices(m)[1], 2);
    weft_sparse_destroy(m);
}

/* A matrix outlives its context, and NULL is allowed. */
static void no_matrix(void **state) {
    (void)state;
    const int64_t start[] = {0, 1}, row[] = {0};
    const double value[] = {2};
    weft_context *ctx = test_open("cpu:1");
    weft_sparse *m;
    assert_int_equal(
        weft_sparse_create_csc(ctx, &m, WEFT_SYMMETRIC_LOWER, 1, 1, WEFT_I64, start, row, value),
        WEFT_OK);
    weft_close(ctx);
    assert_true(weft_sparse_values(m)[0] == 2);
    weft_sparse_destroy(m);
    weft_sparse_destroy(NULL);
    assert_int_equal(weft_sparse_rows(NULL) + weft_sparse_cols(NULL) + weft_sparse_entries(NULL),
                     0);
    assert_int_equal(weft_sparse_is_symmetric(NULL), 0);
    assert_null(weft_sparse_starts(NULL));
    assert_null(weft_sparse_row_indices(NULL));
    assert_null(weft_sparse_values(NULL));
}

/* ---- residuals ---- */

/* A random matrix of integers below 2^30 with a dense row, so that sums are long. */
static weft_sparse *whole_numbers(weft_context *ctx, test_random *r, size_t n, size_t entries) {
    int64_t *const row = malloc(entries * sizeof *row), *const col = malloc(entries * sizeof *col);
    double *const value = malloc(entries * sizeof *value);
    weft_sparse *m;
    assert_non_null(row);
    assert_non_null(col);
    assert_non_null(value);
    for (size_t k = 0; k < entries; k++) {
        const size_t a = k % 4 ? test_below(r, n) : n - 1, b = test_below(r, n);
        row[k] = (int64_t)(a > b ? a : b);
        col[k] = (int64_t)(a > b ? b : a);
        value[k] = (double)test_below(r, 1 << 30) - (1 << 29);
    }
    if (weft_sparse_create_triplets(ctx, &m, WEFT_SYMMETRIC_LOWER, n, n, entries, WEFT_I64, row,
                                    col, value) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    free(row);
    free(col);
    free(value);
    return m;
}

__extension__ typedef __int128 whole;

/* A x and |A| |x| in integers. */
static void exact_product(const weft_sparse *m, const double *x, whole *sum, whole *magnitude) {
    const int64_t *const start = weft_sparse_starts(m), *const row = weft_sparse_row_indices(m);
    const double *const value = weft_sparse_values(m);
    for (size_t i = 0; i < m->rows; i++)
        sum[i] = magnitude[i] = 0;
    for (size_t j = 0; j < m->cols; j++) {
        for (int64_t k = start[j]; k < start[j + 1]; k++) {
            const whole below = (whole)value[k] * (whole)x[j];
            const whole above = (whole)value[k] * (whole)x[row[k]];
            sum[row[k]] += below;
            magnitude[row[k]] += below < 0 ? -below : below;
            if (row[k] != (int64_t)j) {
                sum[j] += above;
                magnitude[j] += above < 0 ? -above : above;
            }
        }
    }
}

/* Integers x below 2^50, so that sums have more than 80 bits, and b = A x rounded: the residual is
 * rounding error only, which plain arithmetic cannot compute. */
static void residuals(weft_context *ctx) {
    enum {
        ROWS = 5000,
        ENTRIES = 60000
    };
    test_random r = test_random_at(2);
    weft_sparse *const m = whole_numbers(ctx, &r, ROWS, ENTRIES);
    static double x[ROWS], b[ROWS], left[2][ROWS], scale[ROWS];
    static whole sum[ROWS], magnitude[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        x[i] = (double)(int64_t)test_below(&r, (uint64_t)1 << 50) - 0x1p49;
    exact_product(m, x, sum, magnitude);
    for (size_t i = 0; i < ROWS; i++)
        b[i] = (double)sum[i];
    for (int extended = 0; extended < 2; extended++) {
        const wi_residual_args args = {.matrix = m,
                                       .n = 1,
                                       .x = x,
                                       .b = b,
                                       .r = left[extended],
                                       .scale = scale,
                                       .ldx = ROWS,
                                       .ldb = ROWS,
                                       .ldr = ROWS,
                                       .ld_scale = ROWS,
                                       .extended = extended};
        wi_sparse_residual(ctx, &args);
    }
    for (size_t i = 0; i < ROWS; i++) {
        const double exact = (double)((whole)b[i] - sum[i]);
        const double size = (double)magnitude[i] + fabs(b[i]);
        /* twice the working precision: an error of the last bit of the result, and of n^2 u^2 */
        if (!(fabs(left[1][i] - exact) <= 0x1p-52 * fabs(exact) + ENTRIES * 0x1p-104 * size))
            fail_msg("row %zu: extended residual %.17g, not %.17g", i, left[1][i], exact);
        if (!(fabs(left[0][i] - exact) <= ENTRIES * 0x1p-53 * size))
            fail_msg("row %zu: residual %.17g is far from %.17g", i, left[0][i], exact);
        if (!(fabs(scale[i] - size) <= ENTRIES * 0x1p-53 * size))
            fail_msg("row %zu: scale %.17g, not %.17g", i, scale[i], size);
    }
    weft_sparse_destroy(m);
}

/* Large enough for several threads: 1, 2 and 7 must give the same bits. */
static void same_bits(void **state) {
    (void)state;
    enum {
        ROWS = 40000,
        ENTRIES = 300000
    };
    static const char *const places[] = {"cpu:1", "cpu:2", "cpu:7"};
    static double x[ROWS], y[3][2][ROWS];
    test_random r = test_random_at(3);
    if (!test_size_wanted(ROWS))
        return;
    weft_context *first = test_open("cpu:1");
    weft_sparse *const m = whole_numbers(first, &r, ROWS, ENTRIES);
    for (size_t i = 0; i < ROWS; i++)
        x[i] = test_unit(&r);
    for (size_t k = 0; k < 3; k++) {
        weft_context *const ctx = test_open(places[k]);
        const wi_residual_args args = {.matrix = m,
                                       .n = 1,
                                       .x = x,
                                       .b = x,
                                       .r = y[k][1],
                                       .ldx = ROWS,
                                       .ldb = ROWS,
                                       .ldr = ROWS,
                                       .extended = true};
        assert_int_equal(weft_sparse_multiply(ctx, m, 1, x, ROWS, y[k][0], ROWS), WEFT_OK);
        wi_sparse_residual(ctx, &args);
        assert_memory_equal(y[k], y[0], sizeof y[0]);
        weft_close(ctx);
    }
    weft_sparse_destroy(m);
    weft_close(first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(every_form), TEST_ON_EACH_PLACE(zeros),   cmocka_unit_test(no_matrix),
        TEST_ON_EACH_PLACE(residuals),  cmocka_unit_test(same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
