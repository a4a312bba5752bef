/* SPDX-License-Identifier: Apache-2.0 */
/* Dense matrices as arguments; see matrices.h. */
#include "calls/matrices.h"

#include <math.h>
#include <string.h>

fuzz_layout fuzz_layout_draw(fuzz *f) {
    const fuzz_layout layout = {.by_rows = fuzz_one_in(f, 2),
                                .most_gap = fuzz_one_in(f, 2) ? 0 : fuzz_below(f, 9)};
    f->gaps |= layout.most_gap > 0;
    return layout;
}

size_t fuzz_extent(fuzz *f, size_t most) {
    return fuzz_size(f, fuzz_one_in(f, 3) ? most / 8 + 1 : most);
}

double fuzz_factor(fuzz *f) {
    static const double factors[] = {0, 1, 1, -1, 2, 0.5, -3};
    return factors[fuzz_below(f, sizeof factors / sizeof *factors)];
}

/* ---- making ---- */

static size_t position(const fuzz_matrix *m, size_t i, size_t j) {
    return m->by_rows ? i * m->ld + j : j * m->ld + i;
}

static size_t extent_of(const fuzz_matrix *m) {
    const size_t lines = m->by_rows ? m->rows : m->cols, length = m->by_rows ? m->cols : m->rows;
    return lines && length ? (lines - 1) * m->ld + length : 0;
}

static void store(const fuzz_matrix *m, void *data, size_t at, long double v) {
    const test_value value =
        test_is_float(m->type) ? (test_value){.f = (double)v} : (test_value){.i = (int64_t)v};
    test_store(m->type, data, at, value);
}

static fuzz_matrix shape(fuzz *f, weft_type type, size_t rows, size_t cols, fuzz_layout layout) {
    fuzz_matrix m = {.type = type, .rows = rows, .cols = cols, .by_rows = layout.by_rows};
    const size_t length = layout.by_rows ? cols : rows;
    m.ld = (length ? length : 1) + fuzz_below(f, layout.most_gap + 1);
    return m;
}

static fuzz_matrix hand_over(fuzz *f, const char *name, fuzz_matrix m, const void *data) {
    const size_t size = test_size_of(m.type);
    m.array = fuzz_input(f, name, extent_of(&m) * size, size, data);
    m.array->type = m.type;
    return m;
}

fuzz_matrix fuzz_matrix_take(fuzz *f, const char *name, weft_type type, size_t rows, size_t cols,
                             fuzz_layout layout, bool strange) {
    const fuzz_matrix m = shape(f, type, rows, cols, layout);
    void *const data = fuzz_take(f, extent_of(&m) * test_size_of(type));
    fuzz_fill_tame(f, type, extent_of(&m), data);
    if (strange && extent_of(&m) > 0 && test_is_float(type) && fuzz_one_in(f, 6)) {
        const long double odd[] = {INFINITY, -INFINITY, NAN};
        store(&m, data, fuzz_below(f, extent_of(&m)), odd[fuzz_below(f, 3)]);
    }
    return hand_over(f, name, m, data);
}

fuzz_matrix fuzz_matrix_of(fuzz *f, const char *name, weft_type type, size_t rows, size_t cols,
                           fuzz_layout layout, const long double *values) {
    const fuzz_matrix m = shape(f, type, rows, cols, layout);
    void *const data = fuzz_take(f, extent_of(&m) * test_size_of(type));
    fuzz_fill_tame(f, type, extent_of(&m), data);
    for (size_t k = 0; k < rows * cols; k++) {
        store(&m, data, position(&m, k / cols, k % cols), values[k]);
    }
    return hand_over(f, name, m, data);
}

void fuzz_matrix_output(fuzz *f, fuzz_matrix *m) {
    m->array->output = true;
    m->array->compare = FUZZ_ANY;
    m->want = fuzz_take(f, m->rows * m->cols * sizeof *m->want);
    m->bound = fuzz_take(f, m->rows * m->cols * sizeof *m->bound);
    for (size_t k = 0; k < m->rows * m->cols; k++) {
        m->want[k] = fuzz_matrix_at(m, k / m->cols, k % m->cols);
    }
}

/* ---- reading ---- */

static long double load(weft_type type, const void *p, size_t at) {
    const test_value v = test_load(type, p, at);
    return test_is_float(type)    ? (long double)v.f
           : test_is_signed(type) ? (long double)v.i
                                  : (long double)v.u;
}

long double fuzz_matrix_at(const fuzz_matrix *m, size_t i, size_t j) {
    return load(m->type, m->array->before, position(m, i, j));
}

long double fuzz_matrix_after(fuzz *f, const fuzz_matrix *m, size_t i, size_t j) {
    return load(m->type, fuzz_read(f, m->array), position(m, i, j));
}

static void check_gaps(const fuzz_matrix *m, const char *call, const unsigned char *got) {
    const size_t size = test_size_of(m->type), length = m->by_rows ? m->cols : m->rows;
    for (size_t at = 0; at < extent_of(m); at++) {
        if (at % m->ld >= length &&
            memcmp(got + at * size, m->array->before + at * size, size) != 0) {
            fail_msg("%s: element %zu of %s, in a gap, was written", call, at, m->array->name);
        }
    }
}

void fuzz_matrix_check(fuzz *f, const fuzz_matrix *m, const char *call) {
    const unsigned char *const got = fuzz_read(f, m->array);
    check_gaps(m, call, got);
    for (size_t k = 0; k < m->rows * m->cols; k++) {
        const size_t i = k / m->cols, j = k % m->cols;
        const long double have = load(m->type, got, position(m, i, j)), want = m->want[k];
        const bool same = isnan(want) ? isnan(have) : have == want;
        if (!same && !(fabsl(have - want) <= m->bound[k]) && !isinf(m->bound[k])) {
            fail_msg("%s: %s(%zu, %zu) of %zu x %zu is %.17Lg, not %.17Lg give or take %.3Lg; %s",
                     call, m->array->name, i, j, m->rows, m->cols, have, want, m->bound[k],
                     fuzz_said());
        }
    }
}

/* ---- wrong arguments ---- */

void fuzz_matrix_spoil(fuzz *f, fuzz_matrix *m, const char *ld_name) {
    const size_t length = m->by_rows ? m->cols : m->rows;
    if (length > 0 && extent_of(m) > 0 && fuzz_spoil_own(f, ld_name)) {
        m->ld = length - 1;
    }
}
