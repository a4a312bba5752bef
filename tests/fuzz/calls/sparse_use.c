/* SPDX-License-Identifier: Apache-2.0 */
/* What a sparse matrix can do: new values, products, files. */
#include "calls/entries.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The same pattern with other values; what is refused leaves the old ones. */
static void update(fuzz_entries *c, weft_sparse *m) {
    static const char call[] = "weft_sparse_update";
    weft_context *const ctx = c->f->ctx;
    double *const value = fuzz_take(c->f, c->n * sizeof *value);
    for (size_t k = 0; k < c->n; k++) {
        value[k] = c->storage == WEFT_SYMMETRIC_FULL ? c->value[k] * -2 : fuzz_draw_value(c->f);
    }
    test_refused(ctx, weft_sparse_update(ctx, m, c->n + 1, value), WEFT_EARG, call, NULL);
    const size_t k = fuzz_below(c->f, c->n);
    if (c->n > 0 && fuzz_one_in(c->f, 4) && !fuzz_is_ignored(c->storage, c->row[k], c->col[k])) {
        value[k] = NAN;
        test_refused(ctx, weft_sparse_update(ctx, m, c->n, value), WEFT_ENONFINITE, call, NULL);
        fuzz_check_entries(c, m, c->value);
        return;
    }
    if (weft_sparse_update(ctx, m, c->n, value) != WEFT_OK) {
        fail_msg("%s: %s", call, weft_message(ctx));
    }
    fuzz_check_entries(c, m, value);
}

/* A x, every entry in the order that sparse.h states, so to the bit but for the sign of zero. */
static double product(const fuzz_entries *c, const fuzz_dense *a, size_t i, const double *x) {
    double sum = 0;
    for (size_t j = 0; j < c->cols; j++) {
        const bool mirrored = c->storage != WEFT_GENERAL && i < j;
        const size_t at = mirrored ? fuzz_at(a, j, i) : fuzz_at(a, i, j);
        if (a->there[at]) {
            sum += a->value[at] * x[j];
        }
    }
    return sum;
}

static void multiply(fuzz_entries *c, const weft_sparse *m, const fuzz_dense *a) {
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
            y->value[r * ldy + i] = product(c, a, i, x + r * ldx);
        }
    }
    fuzz_end(f, "weft_sparse_multiply", weft_sparse_multiply(f->ctx, m, n, in->p, ldx, y->p, ldy));
}

/* Is it its own transpose? An entry left out equals a zero. */
static bool is_own_transpose(const fuzz_dense *a) {
    for (size_t i = 0; i < a->rows; i++) {
        for (size_t j = 0; j < i && a->rows == a->cols; j++) {
            if (a->value[fuzz_at(a, i, j)] != a->value[fuzz_at(a, j, i)]) {
                return false;
            }
        }
    }
    return a->rows == a->cols;
}

static void mirror_pattern(fuzz_dense *a) {
    for (size_t i = 0; i < a->rows; i++) {
        for (size_t j = 0; j < i; j++) {
            const size_t below = fuzz_at(a, i, j), above = fuzz_at(a, j, i);
            a->there[below] = a->there[above] = a->there[below] || a->there[above];
        }
    }
}

/* The matrix again, from its text in memory, of which no byte beyond the end is read. */
static weft_sparse *through_memory(fuzz_entries *c, const weft_sparse *m) {
    weft_context *const ctx = c->f->ctx;
    weft_sparse *again = NULL;
    size_t bytes = 0;
    weft_status status = weft_sparse_write_memory(ctx, m, NULL, 0, &bytes);
    unsigned char *const text = malloc(bytes);
    if (status == WEFT_OK) {
        status = weft_sparse_write_memory(ctx, m, text, bytes, &bytes);
    }
    if (status == WEFT_OK) {
        status = weft_sparse_read_memory(ctx, &again, text, bytes, WEFT_GENERAL, 0);
    }
    if (status != WEFT_OK) {
        fail_msg("a matrix through memory: %s", weft_message(ctx));
    }
    free(text);
    return again;
}

/* Written and read again it is the same; a general one that is its own transpose has become
 * symmetric, and one half of any square one can be asked for. */
static void through_file(fuzz_entries *c, const weft_sparse *m, fuzz_dense *a) {
    char path[FUZZ_PATH_BYTES];
    weft_sparse *again = NULL;
    fuzz_path(path);
    if (weft_sparse_write(c->f->ctx, m, path) != WEFT_OK ||
        weft_sparse_read(c->f->ctx, &again, path) != WEFT_OK) {
        fail_msg("a matrix through a file: %s", weft_message(c->f->ctx));
    }
    const bool symmetric = c->storage != WEFT_GENERAL || is_own_transpose(a);
    if (symmetric) {
        mirror_pattern(a);
    }
    fuzz_check_matrix(again, a, symmetric);
    weft_sparse_destroy(again);
    again = through_memory(c, m);
    fuzz_check_matrix(again, a, symmetric);
    weft_sparse_destroy(again);
    if (c->storage == WEFT_GENERAL && !symmetric && c->rows == c->cols) {
        if (weft_sparse_read_as(c->f->ctx, &again, path, WEFT_SYMMETRIC_USE_LOWER, 0) != WEFT_OK) {
            fail_msg("weft_sparse_read_as: %s", weft_message(c->f->ctx));
        }
        fuzz_check_matrix(again, a, true);
        weft_sparse_destroy(again);
    }
    remove(path);
}

/* Means of halves that differ by rounding may be rounded otherwise: then its own values count. */
static void take_values(const weft_sparse *m, fuzz_dense *a) {
    const int64_t *const start = weft_sparse_starts(m), *const row = weft_sparse_row_indices(m);
    for (size_t j = 0; j < a->cols; j++) {
        for (int64_t k = start[j]; k < start[j + 1]; k++) {
            a->value[fuzz_at(a, (size_t)row[k], j)] = weft_sparse_values(m)[k];
        }
    }
    a->slack = 0;
}

void fuzz_use_matrix(fuzz_entries *c, weft_sparse *m) {
    fuzz *const f = c->f;
    fuzz_dense a = fuzz_add_up(c, c->value);
    take_values(m, &a);
    if (fuzz_one_in(f, 2)) {
        multiply(c, m, &a);
    }
    if (fuzz_one_in(f, 8)) {
        through_file(c, m, &a);
    }
    if (fuzz_one_in(f, 2)) {
        update(c, m);
    }
}
