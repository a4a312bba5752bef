/* SPDX-License-Identifier: Apache-2.0 */
/* `up_looking`: L row by row. Row k of L solves a triangular system with the rows above it,
 *
 *     L[0:k, 0:k] l = A[0:k, k],   L[k][k] = sqrt(A[k][k] - lt l),
 *
 * where l is sparse: its entries are the vertices on the paths in the elimination tree from the
 * entries of row k of A to k. */
#include <math.h>

#include "sparse/chol.h"

typedef struct up {
    const wi_symbolic *symbolic;
    const weft_chol *plan;
    const weft_sparse *matrix;
    int64_t *super_of; /* of each column */
    int64_t *filled;   /* for each column, the row of its panel where its next entry belongs */
    int64_t *seen;     /* for each column, the last row whose pattern has it */
    int64_t *pattern;  /* the columns of row k, each before its parent; they are at the end of the
                          array */
    double *x;         /* row k of A, which becomes that of L; zero elsewhere */
    double work,
        all; /* done so far, and in total: the sum of the squares of the heights of the columns */
} up;

/* The first entry of column j of L in its panel, and the rows of that panel. */
static double *column_of(const up *u, int64_t j, const int64_t **rows) {
    const int64_t s = u->super_of[j];
    *rows = u->symbolic->rows + u->symbolic->rows_at[s];
    return wi_chol_column(u->plan, s, j - u->symbolic->first[s]);
}

/* Column j is now computed down to row `end`; `diagonal` is the row of its diagonal in the panel.
 */
static void fill(up *u, int64_t j, int64_t diagonal, int64_t end) {
    const double before = (double)(u->filled[j] - diagonal), now = (double)(end - diagonal);
    u->work += now * now - before * before;
    u->filled[j] = end;
}

/* Takes an entry of row k of A, and adds the new columns on its path in the tree to the pattern,
 * which begins at `top`. Returns the new beginning. */
static int64_t reach(up *u, int64_t k, int64_t column, double value, int64_t top) {
    int64_t length = 0;
    u->x[column] = value;
    for (int64_t j = column; j >= 0 && j < k && u->seen[j] != k; j = u->symbolic->parent[j]) {
        u->pattern[length++] = j;
        u->seen[j] = k;
    }
    while (length > 0)
        u->pattern[--top] = u->pattern[--length];
    return top;
}

/* The pattern of row k is pattern[top ... k - 1]; returns top. */
static int64_t gather_row(up *u, int64_t k) {
    const weft_sparse *const a = u->matrix;
    const int64_t v = u->symbolic->perm[k], *const inverse = u->symbolic->inverse;
    int64_t top = k;
    u->x[k] = 0;
    for (int64_t e = a->start[v]; e < a->start[v + 1]; e++) {
        if (inverse[a->row[e]] <= k)
            top = reach(u, k, inverse[a->row[e]], a->value[e], top);
    }
    for (int64_t e = a->row_start[v]; e < a->row_start[v + 1]; e++) {
        if (inverse[a->col[e]] < k)
            top = reach(u, k, inverse[a->col[e]], a->value[a->at[e]], top);
    }
    return top;
}

/* Computes row k of L; returns its pivot, before the square root. */
static double eliminate_row(up *u, int64_t k) {
    const int64_t top = gather_row(u, k), *rows;
    double pivot = u->x[k];
    u->x[k] = 0;
    for (int64_t p = top; p < k; p++) {
        const int64_t j = u->pattern[p], diagonal = j - u->symbolic->first[u->super_of[j]];
        double *const l = column_of(u, j, &rows);
        const double entry = u->x[j] / l[diagonal];
        int64_t row = diagonal + 1;
        u->x[j] = 0;
        for (; row < u->filled[j]; row++)
            u->x[rows[row]] = fma(-l[row], entry, u->x[rows[row]]);
        while (rows[row] < k) /* explicit zeros of the amalgamation */
            l[row++] = 0;
        l[row] = entry;
        fill(u, j, diagonal, row + 1);
        pivot = fma(-entry, entry, pivot);
    }
    return pivot;
}

/* Fills the first columns with zeros below their last entry. */
static void finish_columns(up *u, int64_t columns) {
    const int64_t *rows;
    for (int64_t j = 0; j < columns; j++) {
        double *const l = column_of(u, j, &rows);
        const int64_t height = wi_super_height(u->symbolic, u->super_of[j]);
        for (int64_t row = u->filled[j]; row < height; row++)
            l[row] = 0;
    }
}

static weft_status factor(up *u, weft_context *ctx, const wi_chol_args *chol) {
    const int64_t *rows;
    for (int64_t k = 0; k < u->symbolic->n; k++) {
        const double pivot = eliminate_row(u, k);
        const int64_t diagonal = k - u->symbolic->first[u->super_of[k]];
        const bool good = pivot > 0 && isfinite(pivot);
        column_of(u, k, &rows)[diagonal] = good ? sqrt(pivot) : pivot;
        if (!good) {
            finish_columns(u, k);
            return wi_chol_fail(ctx, chol->call, chol->plan, k);
        }
        u->filled[k] = diagonal;
        fill(u, k, diagonal, diagonal + 1);
        if (!wi_chol_tell(chol->plan, u->work / u->all))
            return wi_chol_cancel(ctx, chol->call);
    }
    finish_columns(u, u->symbolic->n);
    return WEFT_OK;
}

weft_status wi_chol_up_looking(weft_context *ctx, const void *args) {
    const wi_chol_args *const chol = args;
    const wi_symbolic *const symbolic = &chol->plan->symbolic;
    const int64_t n = symbolic->n;
    const size_t bytes = (size_t)n * (4 * sizeof(int64_t) + sizeof(double));
    up u = {.symbolic = symbolic, .plan = chol->plan, .matrix = chol->matrix};
    void *scratch;
    const weft_status status = wi_numbers_scratch(ctx, chol->call, chol->plan, bytes, &scratch);
    if (status != WEFT_OK)
        return status;
    u.super_of = scratch;
    u.filled = u.super_of + n;
    u.seen = u.filled + n;
    u.pattern = u.seen + n;
    u.x = (double *)(u.pattern + n);
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        for (int64_t k = symbolic->first[s]; k < symbolic->first[s + 1]; k++) {
            const double height = (double)(wi_super_height(symbolic, s) - (k - symbolic->first[s]));
            u.super_of[k] = s;
            u.all += height * height;
        }
    }
    for (int64_t k = 0; k < n; k++) {
        u.seen[k] = -1;
        u.x[k] = 0;
    }
    return factor(&u, ctx, chol);
}
