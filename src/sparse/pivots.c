/* SPDX-License-Identifier: Apache-2.0 */
/* D of L D Lt: its memory, what is asked of pivots, what they were, and D and the interchanges of
 * columns in solves. */
#include <math.h>

#include "sparse/chol.h"

/* A pivot of an indefinite matrix is tiny if it is less than this times the largest entry, unless
 * the caller said; and 0 within rounding, if none may be replaced. */
static const double default_perturbation = 0x1p-26, rounding = 0x1p-46;

/* The same where L is of floats; what is asked for counts if it is no smaller than their rounding.
 */
static const double narrow_perturbation = 0x1p-12, narrow_rounding = 0x1p-20;

size_t wi_pivots_bytes(const weft_chol *plan) {
    const size_t n = (size_t)plan->symbolic.n;
    return wi_chol_has_d(plan) ? n * (2 * sizeof(double) + sizeof(int32_t) + 2 * sizeof(int8_t))
                               : 0;
}

void wi_pivots_place(const weft_chol *plan, void *memory, wi_pivots *pivots) {
    const int64_t n = plan->symbolic.n;
    pivots->d = memory;
    pivots->e = pivots->d + n;
    pivots->swap = (int32_t *)(pivots->e + n);
    pivots->mark = (int8_t *)(pivots->swap + n);
    pivots->signs = plan->kind == WEFT_CHOL_QUASIDEFINITE ? pivots->mark + n : NULL;
}

weft_status wi_pivots_reserve(weft_context *ctx, const char *call, weft_chol *plan) {
    const size_t bytes = wi_pivots_bytes(plan);
    if (plan->numbers.pivots.d)
        return WEFT_OK;
    void *const memory = wi_host_alloc(bytes + 1);
    if (!memory)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes, pivots; free some", call,
                       bytes);
    wi_pivots_place(plan, memory, &plan->numbers.pivots);
    return WEFT_OK;
}

int64_t wi_pivots_column(const weft_chol *plan, int64_t s, int64_t k) {
    const int32_t *const swap = plan->numbers.pivots.swap;
    const int64_t first = plan->symbolic.first[s];
    int64_t at = k - first;
    if (plan->kind != WEFT_CHOL_INDEFINITE)
        return k;
    if (plan->on_device)
        return swap[k];
    for (int64_t step = at; step >= 0; step--) {
        const int64_t other = swap[first + step];
        at = at == step ? other : at == other ? step : at;
    }
    return first + at;
}

wi_pivots wi_pivots_of(const weft_chol *plan, int64_t s) {
    const int64_t first = plan->symbolic.first[s];
    wi_pivots pivots = plan->numbers.pivots;
    pivots.d += first;
    pivots.e += first;
    pivots.mark += first;
    pivots.swap += first;
    pivots.signs = pivots.signs ? pivots.signs + first : NULL;
    return pivots;
}

static bool is_negative(const weft_chol *plan, const weft_sparse *matrix, int64_t i) {
    return plan->negative ? plan->negative[i / 64] >> i % 64 & 1
                          : !(wi_sparse_diagonal(matrix, i) > 0);
}

void wi_pivots_begin(weft_chol *plan, const weft_sparse *matrix) {
    wi_pivots *const pivots = &plan->numbers.pivots;
    if (!wi_chol_has_d(plan))
        return;
    const double asked = plan->perturbation;
    pivots->perturb = asked > 0;
    pivots->share = asked > 0 ? asked : 0;
    if (plan->kind == WEFT_CHOL_INDEFINITE) {
        const double least = plan->narrow ? narrow_rounding : rounding;
        const double usual = plan->narrow ? narrow_perturbation : default_perturbation;
        const double wanted = plan->narrow && asked < least ? least : asked;
        pivots->perturb = asked >= 0;
        pivots->share = asked > 0 ? wanted : asked < 0 ? least : usual;
    }
    if (!matrix->value)
        return; /* the device finds the rest */
    const double largest = wi_largest((size_t)matrix->start[matrix->cols], matrix->value);
    pivots->tiny = (largest > 0 ? largest : 1) * pivots->share;
    for (int64_t k = 0; k < plan->symbolic.n && pivots->signs; k++)
        pivots->signs[k] = is_negative(plan, matrix, plan->symbolic.perm[k]) ? -1 : 1;
}

void wi_pivots_count(weft_chol *plan) {
    const wi_pivots *const pivots = &plan->numbers.pivots;
    weft_chol_report *const report = &plan->report;
    report->positive = report->negative = report->perturbed = report->pairs = 0;
    for (int64_t k = 0; k < plan->symbolic.n; k++) {
        const int mark = wi_chol_has_d(plan) ? pivots->mark[k] : WI_PIVOT_ONE;
        const bool positive = mark == WI_PIVOT_FIRST ||
                              (mark == WI_PIVOT_ONE && (!wi_chol_has_d(plan) || pivots->d[k] > 0));
        report->pairs += mark == WI_PIVOT_FIRST;
        report->perturbed += mark == WI_PIVOT_CHANGED;
        report->positive += positive;
        report->negative += !positive && mark != WI_PIVOT_CHANGED;
    }
}

/* ---- in solves ---- */

static void exchange_rows(int64_t p, int64_t q, int64_t count, double *x, int64_t ldx) {
    for (int64_t r = 0; r < count && p != q; r++) {
        const double kept = x[p + r * ldx];
        x[p + r * ldx] = x[q + r * ldx];
        x[q + r * ldx] = kept;
    }
}

void wi_pivots_interchange(const weft_chol *plan, int64_t s, int64_t count, double *x,
                           int64_t ldx) {
    if (plan->kind != WEFT_CHOL_INDEFINITE)
        return;
    const int32_t *const swap = plan->numbers.pivots.swap + plan->symbolic.first[s];
    for (int64_t k = 0; k < wi_super_columns(&plan->symbolic, s); k++)
        exchange_rows(k, swap[k], count, x, ldx);
}

void wi_pivots_restore(const weft_chol *plan, int64_t s, int64_t count, double *x, int64_t ldx) {
    if (plan->kind != WEFT_CHOL_INDEFINITE)
        return;
    const int32_t *const swap = plan->numbers.pivots.swap + plan->symbolic.first[s];
    for (int64_t k = wi_super_columns(&plan->symbolic, s) - 1; k >= 0; k--)
        exchange_rows(k, swap[k], count, x, ldx);
}

void wi_pivots_divide(const weft_chol *plan, int64_t s, int64_t count, double *x, int64_t ldx) {
    if (!wi_chol_has_d(plan))
        return;
    const wi_pivots own = wi_pivots_of(plan, s);
    const wi_dense_pivots pivots = {.d = own.d, .e = own.e, .mark = own.mark};
    wi_dense_divide_sides(wi_super_columns(&plan->symbolic, s), count, &pivots, x, ldx);
}
