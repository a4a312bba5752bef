/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the entries of sparse matrices: in any order, some places given twice, some wrong on
 * purpose. */
#include "calls/entries.h"

#include <math.h>

/* Whole numbers, so that sums are exact and both halves agree; now and then large. */
double fuzz_draw_value(fuzz *f) {
    const double whole = (double)fuzz_below(f, 9) - 4;
    return fuzz_one_in(f, 20) ? whole * 0x1p40 : whole;
}

static void add(fuzz_entries *c, size_t i, size_t j, double value) {
    c->row[c->n] = (int64_t)i;
    c->col[c->n] = (int64_t)j;
    c->value[c->n++] = value;
}

bool fuzz_is_ignored(weft_storage storage, int64_t row, int64_t col) {
    return (storage == WEFT_SYMMETRIC_USE_LOWER && row < col) ||
           (storage == WEFT_SYMMETRIC_USE_UPPER && row > col);
}

static void draw(fuzz_entries *c) {
    fuzz *const f = c->f;
    const bool empty = c->rows == 0 || c->cols == 0;
    const size_t count = empty ? 0 : fuzz_below(f, FUZZ_MOST_ENTRIES / 2);
    for (size_t k = 0; k < count; k++) {
        size_t i = fuzz_below(f, c->rows), j = fuzz_below(f, c->cols);
        const double v = fuzz_draw_value(f);
        if ((c->storage == WEFT_SYMMETRIC_LOWER && i < j) ||
            (c->storage == WEFT_SYMMETRIC_UPPER && i > j)) {
            const size_t swap = i;
            i = j;
            j = swap;
        }
        add(c, i, j, v);
        if (c->storage == WEFT_SYMMETRIC_FULL && i != j) {
            add(c, j, i, c->rounded ? v * (1 + 0x1p-50) : v);
        } else if (fuzz_is_ignored(c->storage, c->row[k], c->col[k]) && fuzz_one_in(f, 4)) {
            c->value[k] = NAN;
        }
    }
}

static void swap_entries(fuzz_entries *c, size_t a, size_t b) {
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
static void arrange(fuzz_entries *c) {
    const bool by_cols = c->form == WEFT_CSC || (c->form == WEFT_TRIPLETS && fuzz_one_in(c->f, 2));
    const bool strictly = fuzz_one_in(c->f, 2);
    test_random *const r = fuzz_random(c->f);
    for (size_t k = c->n; k > 1; k--) {
        swap_entries(c, k - 1, test_below(r, k));
    }
    if (c->form == WEFT_TRIPLETS && !strictly) {
        return;
    }
    uint64_t *const ranks = fuzz_take(c->f, c->n * sizeof *ranks);
    size_t *const positions = fuzz_take(c->f, c->n * sizeof *positions);
    fuzz_entries *const before = fuzz_take(c->f, sizeof *before);
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

fuzz_dense fuzz_add_up(const fuzz_entries *c, const double *value) {
    fuzz_dense a = fuzz_dense_take(c->f, c->rows, c->cols);
    for (size_t k = 0; k < c->n; k++) {
        const size_t at = fuzz_at(&a, (size_t)c->row[k], (size_t)c->col[k]);
        if (!fuzz_is_ignored(c->storage, c->row[k], c->col[k])) {
            a.value[at] += value[k];
            a.there[at] = true;
        }
    }
    const bool from_above =
        c->storage == WEFT_SYMMETRIC_UPPER || c->storage == WEFT_SYMMETRIC_USE_UPPER;
    for (size_t i = 0; i < c->rows && c->storage != WEFT_GENERAL; i++) {
        for (size_t j = 0; j < i; j++) {
            const size_t below = fuzz_at(&a, i, j), above = fuzz_at(&a, j, i);
            if (from_above) {
                a.value[below] = a.value[above];
            } else if (c->rounded) {
                a.value[below] = (a.value[below] + a.value[above]) / 2;
            }
            a.there[below] = a.there[above] = a.there[below] || a.there[above];
        }
    }
    a.slack = c->rounded ? 0x1p-45 : 0;
    return a;
}

void fuzz_check_entries(const fuzz_entries *c, const weft_sparse *m, const double *value) {
    const fuzz_dense a = fuzz_add_up(c, value);
    fuzz_check_matrix(m, &a, c->storage != WEFT_GENERAL);
    const double apart = weft_sparse_asymmetry(m);
    if (!(apart >= 0 && apart <= (c->rounded ? 0x1p-46 : 0))) {
        fail_msg("weft_sparse_asymmetry is %g", apart);
    }
}

/* Halves of FULL that differ, an index out of range, a value that is not finite, an entry of the
 * other half. */
static void spoil(fuzz_entries *c) {
    fuzz *const f = c->f;
    const size_t k = fuzz_below(f, c->n), kind = fuzz_below(f, 4);
    const bool half = c->storage == WEFT_SYMMETRIC_LOWER || c->storage == WEFT_SYMMETRIC_UPPER;
    const bool diagonal = c->n > 0 && c->row[k] == c->col[k];
    if (c->n == 0 || f->wrong || !fuzz_one_in(f, 8)) {
        return;
    }
    if (kind == 0 && !fuzz_is_ignored(c->storage, c->row[k], c->col[k])) {
        c->value[k] = fuzz_one_in(f, 2) ? NAN : INFINITY;
        c->expected = WEFT_ENONFINITE;
    } else if (kind == 1) {
        int64_t *const index = c->form == WEFT_CSR ? c->col : c->row;
        index[k] = fuzz_one_in(f, 2) ? -1 : (int64_t)(c->form == WEFT_CSR ? c->cols : c->rows);
    } else if (kind == 2 && c->storage == WEFT_SYMMETRIC_FULL && !diagonal) {
        c->value[k] += 1e6;
    } else if (kind == 3 && half && !diagonal && c->form == WEFT_TRIPLETS) {
        const int64_t i = c->row[k];
        c->row[k] = c->col[k];
        c->col[k] = i;
    } else {
        return;
    }
    f->wrong = "";
}

void fuzz_draw_entries(fuzz_entries *c) {
    draw(c);
    arrange(c);
    spoil(c);
}
