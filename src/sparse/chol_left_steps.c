/* SPDX-License-Identifier: Apache-2.0 */
/* `left_looking`: one supernode after the other; each first gets the updates of all earlier ones.
 * For supernode s with panel P and rows R, and every earlier supernode d that has rows among the
 * columns of s:
 *
 *     P -= L_d[R, :] L_d[columns of s, :]t
 *
 * Then P = (P1; P2) becomes (L11; L21), L11 L11t = P1, L21 = P2 L11^-t.
 *
 * OpenBLAS computes the products, with its own threads; their number may change the last bits.
 * Every supernode waits in the list of the next supernode that has one of its rows as a column. */
#include <math.h>

#include "cpu/blas.h"
#include "sparse/chol.h"

typedef struct left {
    const wi_blas *blas;
    const wi_symbolic *symbolic;
    const weft_chol *plan;
    int64_t *first_in; /* for each supernode, the list of those that wait for it; -1: none */
    int64_t *next;     /* in the list */
    int64_t *row_at;   /* for each waiting supernode: where in its rows those not yet used begin */
    int64_t *place;    /* the row in the current panel of each row of L */
    int64_t *super_of; /* of each column */
    double *update;    /* room for the product, as large as the largest panel */
} left;

/* How many columns from `first` on are stored together in the panel. */
static int columns_from(const left *f, int64_t s, int64_t first) {
    const int64_t rest = wi_super_columns(f->symbolic, s) - first;
    return rest < WI_BLOCK_COLUMNS ? (int)rest : WI_BLOCK_COLUMNS;
}

static const int64_t *rows_of(const left *f, int64_t s) {
    return f->symbolic->rows + f->symbolic->rows_at[s];
}

/* Puts d, whose rows from `row` on are not yet used, in the list of the supernode that has the
 * first of them as a column. */
static void wait_for_next(left *f, int64_t d, int64_t row) {
    if (row == wi_super_height(f->symbolic, d))
        return;
    const int64_t s = f->super_of[rows_of(f, d)[row]];
    f->row_at[d] = row;
    f->next[d] = f->first_in[s];
    f->first_in[s] = d;
}

/* P -= L_d[R, :] L_d[columns of s, :]t */
static void fetch(left *f, int64_t s, int64_t d) {
    static const double one = 1;
    const int64_t row = f->row_at[d], height = wi_super_height(f->symbolic, d);
    const int64_t *const rows = rows_of(f, d);
    int64_t end = row;
    while (end < height && rows[end] < f->symbolic->first[s + 1])
        end++;
    const int m = (int)(height - row), n = (int)(end - row), below = m - n;
    for (int64_t first = 0; first < wi_super_columns(f->symbolic, d); first += WI_BLOCK_COLUMNS) {
        const int lda = (int)(height - first), k = columns_from(f, d, first);
        const double *const a = wi_chol_column(f->plan, d, first) + row;
        const double more = first > 0;
        f->blas->dsyrk("L", "N", &n, &k, &one, a, &lda, &more, f->update, &m);
        if (below > 0)
            f->blas->dgemm("N", "T", &below, &n, &k, &one, a + n, &lda, a, &lda, &more,
                           f->update + n, &m);
    }
    for (int64_t j = 0; j < n; j++) {
        double *const to = wi_chol_column(f->plan, s, rows[row + j] - f->symbolic->first[s]);
        for (int64_t i = j; i < m; i++)
            to[f->place[rows[row + i]]] -= f->update[i + j * m];
    }
    wait_for_next(f, d, end);
}

/* Factors the panel; returns the columns done. */
static int64_t factor_panel(const left *f, int64_t s) {
    static const double one = 1, minus = -1;
    const int64_t height = wi_super_height(f->symbolic, s);
    const int64_t columns = wi_super_columns(f->symbolic, s);
    for (int64_t first = 0; first < columns; first += WI_BLOCK_COLUMNS) {
        const int n = columns_from(f, s, first), ld = (int)(height - first), below = ld - n;
        double *const block = wi_chol_column(f->plan, s, first) + first;
        for (int64_t e = 0; e < first; e += WI_BLOCK_COLUMNS) {
            const int lda = (int)(height - e), k = columns_from(f, s, e);
            const double *const a = wi_chol_column(f->plan, s, e) + first;
            f->blas->dgemm("N", "T", &ld, &n, &k, &minus, a, &lda, a, &lda, &one, block, &ld);
        }
        int info = 0;
        f->blas->dpotrf("L", &n, block, &ld, &info);
        if (info > 0)
            return first + info - 1;
        if (below > 0)
            f->blas->dtrsm("R", "L", "T", "N", &below, &n, &one, block, &ld, block + n, &ld);
    }
    return columns;
}

static weft_status factor(left *f, weft_context *ctx, const wi_chol_args *chol) {
    const wi_symbolic *const symbolic = f->symbolic;
    const double all = wi_all_work(symbolic);
    double work = 0;
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const int64_t columns = wi_super_columns(symbolic, s),
                      height = wi_super_height(symbolic, s);
        for (int64_t row = 0; row < height; row++)
            f->place[rows_of(f, s)[row]] = row;
        wi_chol_load_panel(chol->plan, chol->matrix, s, 0, columns);
        for (int64_t d = f->first_in[s], after; d >= 0; d = after) {
            after = f->next[d];
            fetch(f, s, d);
        }
        const int64_t done = factor_panel(f, s);
        if (done < columns)
            return wi_chol_fail(ctx, chol->call, chol->plan, symbolic->first[s] + done);
        wait_for_next(f, s, columns);
        work += wi_super_work(symbolic, s);
        if (!wi_chol_tell(chol->plan, work / all))
            return wi_chol_cancel(ctx, chol->call);
    }
    return WEFT_OK;
}

static int64_t largest_panel(const wi_symbolic *symbolic) {
    int64_t most = 0;
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const int64_t entries = wi_super_columns(symbolic, s) * wi_super_height(symbolic, s);
        most = entries > most ? entries : most;
    }
    return most;
}

const char *wi_chol_fits_blas(const weft_context *ctx, const void *args) {
    return wi_blas_load() ? wi_chol_fits_definite(ctx, args)
                          : "needs OpenBLAS; install libopenblas0";
}

weft_status wi_chol_left_looking(weft_context *ctx, const void *args) {
    const wi_chol_args *const chol = args;
    const wi_symbolic *const symbolic = &chol->plan->symbolic;
    const int64_t n = symbolic->n, supernodes = symbolic->supernodes;
    const size_t bytes = (size_t)(3 * supernodes + 2 * n + largest_panel(symbolic)) * 8;
    left f = {.blas = wi_blas_load(), .symbolic = symbolic, .plan = chol->plan};
    void *scratch;
    if (wi_numbers_scratch(ctx, chol->call, chol->plan, bytes, &scratch) != WEFT_OK)
        return WEFT_ENOMEM;
    f.first_in = scratch;
    f.next = f.first_in + supernodes;
    f.row_at = f.next + supernodes;
    f.place = f.row_at + supernodes;
    f.super_of = f.place + n;
    f.update = (double *)(f.super_of + n);
    for (int64_t s = 0; s < supernodes; s++) {
        f.first_in[s] = -1;
        for (int64_t k = symbolic->first[s]; k < symbolic->first[s + 1]; k++)
            f.super_of[k] = s;
    }
    const int callers = f.blas->get_threads();
    f.blas->set_threads(ctx->threads);
    const weft_status status = factor(&f, ctx, chol);
    f.blas->set_threads(callers);
    return status;
}
