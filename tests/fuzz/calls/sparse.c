/* SPDX-License-Identifier: Apache-2.0 */
/* Creating sparse matrices in every form, new values, products, files; against a dense one that
 * adds up the same entries. */
#include "calls/dense.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_SIDE = 30,
    MOST_ENTRIES = 200
};

static const char *const storages[] = {"general", "lower", "upper", "full"};

/* ---- dense ---- */

fuzz_dense fuzz_dense_take(fuzz *f, size_t rows, size_t cols) {
    return (fuzz_dense){.rows = rows,
                        .cols = cols,
                        .value = fuzz_take(f, rows * cols * sizeof(double)),
                        .there = fuzz_take(f, rows * cols * sizeof(bool))};
}

weft_sparse *fuzz_make(fuzz *f, const fuzz_dense *a, weft_storage storage) {
    int64_t *const row = fuzz_take(f, a->rows * a->cols * sizeof *row);
    int64_t *const col = fuzz_take(f, a->rows * a->cols * sizeof *col);
    double *const value = fuzz_take(f, a->rows * a->cols * sizeof *value);
    weft_sparse *m = NULL;
    size_t n = 0;
    for (size_t j = 0; j < a->cols; j++) {
        for (size_t i = storage == WEFT_GENERAL ? 0 : j; i < a->rows; i++) {
            if (a->there[fuzz_at(a, i, j)]) {
                row[n] = (int64_t)i;
                col[n] = (int64_t)j;
                value[n++] = a->value[fuzz_at(a, i, j)];
            }
        }
    }
    if (weft_sparse_create_triplets(f->ctx, &m, storage, a->rows, a->cols, n, WEFT_I64, row, col,
                                    value) != WEFT_OK) {
        fail_msg("weft_sparse_create_triplets: %s", weft_message(f->ctx));
    }
    return m;
}

void fuzz_check_matrix(const weft_sparse *m, const fuzz_dense *a, bool symmetric) {
    const int64_t *const start = weft_sparse_starts(m), *const row = weft_sparse_row_indices(m);
    const double *const value = weft_sparse_values(m);
    size_t k = 0;
    if (weft_sparse_rows(m) != a->rows || weft_sparse_cols(m) != a->cols ||
        weft_sparse_is_symmetric(m) != symmetric || start[0] != 0) {
        fail_msg("a matrix of %zu x %zu has other facts", a->rows, a->cols);
    }
    for (size_t j = 0; j < a->cols; j++) {
        for (size_t i = symmetric ? j : 0; i < a->rows; i++) {
            const size_t at = fuzz_at(a, i, j);
            if (!a->there[at]) {
                continue;
            }
            if ((int64_t)k >= start[j + 1] || row[k] != (int64_t)i || value[k] != a->value[at]) {
                fail_msg("entry %zu is not that of row %zu and column %zu, %g", k, i, j,
                         a->value[at]);
            }
            k++;
        }
        if (start[j + 1] != (int64_t)k) {
            fail_msg("column %zu ends at entry %lld, not %zu", j, (long long)start[j + 1], k);
        }
    }
    if (weft_sparse_entries(m) != k) {
        fail_msg("%zu entries, not %zu", weft_sparse_entries(m), k);
    }
}

void fuzz_path(char path[FUZZ_PATH_BYTES]) {
    const char *const folder = getenv("TMPDIR");
    snprintf(path, FUZZ_PATH_BYTES, "%s/weft-fuzz-%ld", folder ? folder : "/tmp", (long)getpid());
}

/* ---- entries ---- */

typedef enum form {
    CSC,
    CSR,
    TRIPLETS
} form;

static const char *const form_names[] = {"weft_sparse_create_csc", "weft_sparse_create_csr",
                                         "weft_sparse_create_triplets"};

typedef struct sparse_case {
    fuzz *f;
    form form;
    weft_storage storage;
    weft_type index_type;
    size_t rows, cols, n;
    int64_t row[2 * MOST_ENTRIES], col[2 * MOST_ENTRIES];
    double value[2 * MOST_ENTRIES];
    fuzz_array *starts, *rows_given, *cols_given, *values;
    weft_status expected;
} sparse_case;

/* Whole numbers, so that sums are exact and both halves agree; now and then large. */
static double draw_value(fuzz *f) {
    const double whole = (double)fuzz_below(f, 9) - 4;
    return fuzz_one_in(f, 20) ? whole * 0x1p40 : whole;
}

static void add(sparse_case *c, size_t i, size_t j, double value) {
    c->row[c->n] = (int64_t)i;
    c->col[c->n] = (int64_t)j;
    c->value[c->n++] = value;
}

static void draw_entries(sparse_case *c) {
    fuzz *const f = c->f;
    const bool empty = c->rows == 0 || c->cols == 0;
    const size_t count = empty ? 0 : fuzz_below(f, MOST_ENTRIES);
    for (size_t k = 0; k < count; k++) {
        size_t i = fuzz_below(f, c->rows), j = fuzz_below(f, c->cols);
        const double v = draw_value(f);
        if ((c->storage == WEFT_SYMMETRIC_LOWER && i < j) ||
            (c->storage == WEFT_SYMMETRIC_UPPER && i > j)) {
            const size_t swap = i;
            i = j;
            j = swap;
        }
        add(c, i, j, v);
        if (c->storage == WEFT_SYMMETRIC_FULL && i != j) {
            add(c, j, i, v);
        }
    }
}

static void swap_entries(sparse_case *c, size_t a, size_t b) {
    const int64_t i = c->row[a], j = c->col[a];
    const double v = c->value[a];
    c->row[a] = c->row[b];
    c->col[a] = c->col[b];
    c->value[a] = c->value[b];
    c->row[b] = i;
    c->col[b] = j;
    c->value[b] = v;
}

/* In any order, or by rows or columns, in which those of one place keep theirs. */
static void arrange(sparse_case *c) {
    const bool by_cols = c->form == CSC || (c->form == TRIPLETS && fuzz_one_in(c->f, 2));
    const bool strictly = fuzz_one_in(c->f, 2);
    test_random *const r = fuzz_random(c->f);
    for (size_t k = c->n; k > 1; k--) {
        swap_entries(c, k - 1, test_below(r, k));
    }
    if (c->form == TRIPLETS && !strictly) {
        return;
    }
    uint64_t *const ranks = fuzz_take(c->f, c->n * sizeof *ranks);
    size_t *const positions = fuzz_take(c->f, c->n * sizeof *positions);
    sparse_case *const before = fuzz_take(c->f, sizeof *before);
    for (size_t k = 0; k < c->n; k++) {
        const uint64_t outer = (uint64_t)(by_cols ? c->col[k] : c->row[k]);
        const uint64_t inner = (uint64_t)(by_cols ? c->row[k] : c->col[k]);
        ranks[k] = outer << 32 | (strictly ? inner : 0);
    }
    fuzz_order(ranks, c->n, positions);
    *before = *c;
    for (size_t k = 0; k < c->n; k++) {
        c->row[k] = before->row[positions[k]];
        c->col[k] = before->col[positions[k]];
        c->value[k] = before->value[positions[k]];
    }
}

/* The matrix that the entries make, whose lower half counts if it is symmetric. */
static fuzz_dense add_up(const sparse_case *c, const double *value) {
    fuzz_dense a = fuzz_dense_take(c->f, c->rows, c->cols);
    for (size_t k = 0; k < c->n; k++) {
        const size_t i = (size_t)c->row[k], j = (size_t)c->col[k];
        a.value[fuzz_at(&a, i, j)] += value[k];
        a.there[fuzz_at(&a, i, j)] = true;
    }
    for (size_t j = 0; j < c->cols && c->storage != WEFT_GENERAL; j++) {
        for (size_t i = 0; i < c->rows; i++) {
            if (c->storage == WEFT_SYMMETRIC_UPPER && i < j) {
                a.value[fuzz_at(&a, j, i)] = a.value[fuzz_at(&a, i, j)];
            }
            if (a.there[fuzz_at(&a, i, j)]) {
                a.there[fuzz_at(&a, j, i)] = true;
            }
        }
    }
    return a;
}

/* Halves of FULL that differ, an index out of range, a value that is not finite, ... */
static void spoil_entries(sparse_case *c) {
    fuzz *const f = c->f;
    if (c->n == 0 || !fuzz_one_in(f, 8)) {
        return;
    }
    const size_t k = fuzz_below(f, c->n);
    f->wrong = "";
    switch (fuzz_below(f, 4)) {
    case 0:
        c->value[k] = fuzz_one_in(f, 2) ? NAN : INFINITY;
        c->expected = WEFT_ENONFINITE;
        break;
    case 1:
        if (c->form != CSR) {
            c->row[k] = fuzz_one_in(f, 2) ? -1 : (int64_t)c->rows;
        } else {
            c->col[k] = fuzz_one_in(f, 2) ? -1 : (int64_t)c->cols;
        }
        break;
    case 2:
        if (c->storage == WEFT_SYMMETRIC_FULL && c->row[k] != c->col[k]) {
            c->value[k] += 1e6;
        } else {
            f->wrong = NULL;
        }
        break;
    default:
        if ((c->storage == WEFT_SYMMETRIC_LOWER || c->storage == WEFT_SYMMETRIC_UPPER) &&
            c->row[k] != c->col[k] && c->form == TRIPLETS) {
            const int64_t i = c->row[k];
            c->row[k] = c->col[k];
            c->col[k] = i;
        } else {
            f->wrong = NULL;
        }
    }
}

/* ---- creation ---- */

static fuzz_array *indices(sparse_case *c, const char *name, const int64_t *index, size_t n) {
    const size_t size = test_size_of(c->index_type);
    unsigned char *const data = fuzz_take(c->f, n * size);
    for (size_t k = 0; k < n; k++) {
        fuzz_store_bits(data, size, k, (uint64_t)index[k]);
    }
    return fuzz_host_input(c->f, name, n * size, size, data);
}

static void pass(sparse_case *c) {
    fuzz *const f = c->f;
    c->values = fuzz_host_input(f, "value", c->n * sizeof(double), sizeof(double), c->value);
    if (c->form == TRIPLETS) {
        c->rows_given = indices(c, "row", c->row, c->n);
        c->cols_given = indices(c, "col", c->col, c->n);
        return;
    }
    const size_t lines = c->form == CSC ? c->cols : c->rows;
    const int64_t *const line = c->form == CSC ? c->col : c->row;
    int64_t *const start = fuzz_take(f, (lines + 1) * sizeof *start);
    for (size_t k = 0; k < c->n; k++) {
        start[line[k] + 1]++;
    }
    for (size_t k = 0; k < lines; k++) {
        start[k + 1] += start[k];
    }
    if (lines > 1 && fuzz_spoil_own(f, "")) {
        start[1 + fuzz_below(f, lines - 1)] = start[lines] + 1;
    } else if (fuzz_spoil_own(f, "start")) {
        start[0] = 1;
    }
    c->starts = indices(c, "start", start, lines + 1);
    c->rows_given = indices(c, "index", c->form == CSC ? c->row : c->col, c->n);
}

static weft_status create(const sparse_case *c, weft_sparse **m) {
    weft_context *const ctx = c->f->ctx;
    const double *const value = c->values->p;
    switch (c->form) {
    case CSC:
        return weft_sparse_create_csc(ctx, m, c->storage, c->rows, c->cols, c->index_type,
                                      c->starts->p, c->rows_given->p, value);
    case CSR:
        return weft_sparse_create_csr(ctx, m, c->storage, c->rows, c->cols, c->index_type,
                                      c->starts->p, c->rows_given->p, value);
    default:
        return weft_sparse_create_triplets(ctx, m, c->storage, c->rows, c->cols, c->f->n,
                                           c->index_type, c->rows_given->p, c->cols_given->p,
                                           value);
    }
}

static void spoil_form(sparse_case *c) {
    fuzz *const f = c->f;
    if (!f->wrong && fuzz_one_in(f, 30) && f->count > 0) {
        fuzz_spoil(f);
        if (f->wrong && (strcmp(f->wrong, "type") == 0 || c->form != TRIPLETS) && !*f->wrong) {
            f->wrong = NULL;
        }
        if (f->wrong && strcmp(f->wrong, "type") == 0) {
            f->wrong = NULL;
        }
    }
    if (fuzz_spoil_own(f, "storage")) {
        c->storage = (weft_storage)(4 + fuzz_below(f, 9));
    } else if (fuzz_spoil_own(f, "index_type")) {
        c->index_type = WEFT_U32;
    } else if (c->storage != WEFT_GENERAL && fuzz_spoil_own(f, "rows")) {
        c->rows++;
    } else if (fuzz_spoil_own(f, "rows")) {
        c->rows = SIZE_MAX;
    }
}

/* ---- what a matrix can do ---- */

static void update(sparse_case *c, weft_sparse *m) {
    double *const value = fuzz_take(c->f, c->n * sizeof *value);
    for (size_t k = 0; k < c->n; k++) {
        value[k] = c->storage == WEFT_SYMMETRIC_FULL ? c->value[k] * -2 : draw_value(c->f);
    }
    const bool bad = c->n > 0 && fuzz_one_in(c->f, 4);
    if (bad) {
        const fuzz_dense before = add_up(c, c->value);
        value[fuzz_below(c->f, c->n)] = NAN;
        test_refused(c->f->ctx, weft_sparse_update(c->f->ctx, m, c->n, value), WEFT_ENONFINITE,
                     "weft_sparse_update", NULL);
        fuzz_check_matrix(m, &before, c->storage != WEFT_GENERAL);
        return;
    }
    test_refused(c->f->ctx, weft_sparse_update(c->f->ctx, m, c->n + 1, value), WEFT_EARG,
                 "weft_sparse_update", NULL);
    if (weft_sparse_update(c->f->ctx, m, c->n, value) != WEFT_OK) {
        fail_msg("weft_sparse_update: %s", weft_message(c->f->ctx));
    }
    const fuzz_dense after = add_up(c, value);
    fuzz_check_matrix(m, &after, c->storage != WEFT_GENERAL);
    memcpy(c->value, value, c->n * sizeof *value);
}

/* y = A x in the order that sparse.h states, so to the bit, but for the sign of zero. */
static void multiply(sparse_case *c, const weft_sparse *m, const fuzz_dense *a) {
    fuzz *const f = c->f;
    const size_t n = fuzz_below(f, 20), ldx = c->cols + fuzz_below(f, 4);
    const size_t ldy = c->rows + fuzz_below(f, 4);
    const size_t xs = n && c->cols ? (n - 1) * ldx + c->cols : 0;
    const size_t ys = n && c->rows ? (n - 1) * ldy + c->rows : 0;
    double *const x = fuzz_take(f, xs * sizeof *x);
    fuzz_fill(f, WEFT_F64, xs, x);
    fuzz_array *const in = fuzz_host_input(f, "x", xs * sizeof *x, sizeof *x, x);
    fuzz_array *const y = fuzz_host_output(f, "y", ys * sizeof *x, sizeof *x);
    y->type = WEFT_F64;
    y->compare = FUZZ_BOUNDED;
    y->value = fuzz_take(f, ys * sizeof *y->value);
    y->bound = fuzz_take(f, ys * sizeof *y->bound);
    for (size_t k = 0; k < ys; k++) { /* gaps stay as they are */
        y->value[k] = test_load(WEFT_F64, y->before, k).f;
    }
    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; i < c->rows; i++) {
            double sum = 0;
            for (size_t j = 0; j < c->cols; j++) {
                const bool mirrored = c->storage != WEFT_GENERAL && i < j;
                const size_t at = mirrored ? fuzz_at(a, j, i) : fuzz_at(a, i, j);
                if (a->there[at]) {
                    sum += a->value[at] * x[r * ldx + j];
                }
            }
            y->value[r * ldy + i] = sum;
        }
    }
    fuzz_end(f, "weft_sparse_multiply", weft_sparse_multiply(f->ctx, m, n, in->p, ldx, y->p, ldy));
}

/* Written and read again it is the same; a general one that is its own transpose may have become
 * symmetric. */
static void through_file(sparse_case *c, const weft_sparse *m, const fuzz_dense *a) {
    char path[FUZZ_PATH_BYTES];
    weft_sparse *again = NULL;
    fuzz_path(path);
    if (weft_sparse_write(c->f->ctx, m, path) != WEFT_OK ||
        weft_sparse_read(c->f->ctx, &again, path) != WEFT_OK) {
        fail_msg("a matrix through a file: %s", weft_message(c->f->ctx));
    }
    bool symmetric = c->rows == c->cols;
    for (size_t i = 0; i < c->rows && symmetric && c->storage == WEFT_GENERAL; i++) {
        for (size_t j = 0; j < i; j++) {
            symmetric = symmetric && a->there[fuzz_at(a, i, j)] == a->there[fuzz_at(a, j, i)] &&
                        a->value[fuzz_at(a, i, j)] == a->value[fuzz_at(a, j, i)];
        }
    }
    /* A zero whose mirror image is left out counts as equal to it, or not. */
    if (weft_sparse_is_symmetric(again) == symmetric) {
        fuzz_check_matrix(again, a, symmetric);
    }
    weft_sparse_destroy(again);
    remove(path);
}

static size_t draw_side(fuzz *f) {
    return fuzz_one_in(f, 10) ? fuzz_below(f, 2) : 1 + fuzz_below(f, MOST_SIDE);
}

void fuzz_sparse(fuzz *f) {
    fuzz_begin(f, NULL);
    sparse_case *const c = fuzz_take(f, sizeof *c);
    *c = (sparse_case){.f = f,
                       .form = (form)fuzz_below(f, 3),
                       .storage = (weft_storage)fuzz_below(f, 4),
                       .index_type = fuzz_one_in(f, 2) ? WEFT_I32 : WEFT_I64,
                       .expected = WEFT_EARG};
    c->rows = draw_side(f);
    c->cols = c->storage == WEFT_GENERAL ? draw_side(f) : c->rows;
    draw_entries(c);
    arrange(c);
    f->n = c->n;
    const char *const name = form_names[c->form];
    const bool symmetric = c->storage != WEFT_GENERAL;
    spoil_entries(c);
    pass(c);
    spoil_form(c);
    fuzz_say(f, "%s(%s, %zu x %zu, %zu entries, %s)", name,
             (unsigned)c->storage < 4 ? storages[c->storage] : "none", c->rows, c->cols, c->n,
             weft_type_name(c->index_type));
    weft_sparse *m = (weft_sparse *)c; /* set to NULL where it fails */
    const weft_status status = create(c, &m);
    if (f->wrong) {
        test_refused(f->ctx, status, c->expected, name, *f->wrong ? f->wrong : NULL);
        assert_null(m);
        return;
    }
    if (!fuzz_end(f, name, status)) {
        return;
    }
    const fuzz_dense a = add_up(c, c->value);
    fuzz_check_matrix(m, &a, symmetric);
    if (fuzz_one_in(f, 2)) {
        multiply(c, m, &a);
    }
    if (fuzz_one_in(f, 8)) {
        through_file(c, m, &a);
    }
    if (fuzz_one_in(f, 2)) {
        update(c, m);
    }
    weft_sparse_destroy(m);
}
