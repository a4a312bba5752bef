/* SPDX-License-Identifier: Apache-2.0 */
/* Residuals of a sparse system that are correctly rounded: a cascade of three sums for each row; a
 * row whose result these do not tell is added up by the wide integer. */
#include <math.h>
#include <string.h>

#include "exact/exact_cascade.h"
#include "sparse/solve.h"

/* A row of b - A (x + low): its entries in the lower half, then those that mirror the upper one. */
typedef struct row {
    const weft_sparse *a;
    size_t number;
    const double *x, *low;
    double b;
} row;

/* Where the numbers of x for the entries are, and their values, in two runs. */
typedef struct run {
    const int64_t *other, *at; /* at NULL: values follow each other */
    const double *value;
    int64_t count;
} run;

static run run_of(const row *r, bool mirrored) {
    const weft_sparse *const a = r->a;
    const int64_t *const start = (mirrored ? a->start : a->row_start) + r->number;
    return (run){.other = (mirrored ? a->row : a->col) + start[0],
                 .at = mirrored ? NULL : a->at + start[0],
                 .value = mirrored ? a->value + start[0] : a->value,
                 .count = start[1] - start[0]};
}

static double value_of(const run *e, int64_t k) {
    return e->value[e->at ? e->at[k] : k];
}

static uint64_t sum_wide(const row *r) {
    int64_t word[WI_EXACT_WORDS] = {0};
    wi_exact_add_f64(word, r->b);
    for (int half = 0; half < 2; half++) {
        const run e = run_of(r, half);
        for (int64_t k = 0; k < e.count; k++) {
            wi_exact_add_product(word, -value_of(&e, k), r->x[e.other[k]]);
            wi_exact_add_product(word, -value_of(&e, k), r->low[e.other[k]]);
        }
    }
    wi_exact_carry(word);
    return wi_exact_round(word, WEFT_F64, false);
}

static double sum_row(const row *r) {
    wi_deep_cascade sum = {{r->b, 0, 0}, 0};
    uint64_t bits;
    double result;
    for (int half = 0; half < 2; half++) {
        const run e = run_of(r, half);
        for (int64_t k = 0; k < e.count; k++) {
            const double a = -value_of(&e, k);
            wi_deep_add_product(&sum, a, r->x[e.other[k]]);
            if (r->low[e.other[k]] != 0)
                wi_deep_add_product(&sum, a, r->low[e.other[k]]);
        }
    }
    if (!wi_deep_round(&sum, WEFT_F64, &bits))
        bits = sum_wide(r);
    memcpy(&result, &bits, sizeof result);
    return result;
}

static void find_rows(const wi_solve_pass *p, size_t begin, size_t end) {
    const wi_solve_group *const g = p->g;
    const int64_t *const inverse = g->plan->symbolic.inverse;
    for (size_t i = begin; i < end; i++) {
        for (size_t c = 0; c < g->rhs; c++) {
            const double b = g->b[i + c * g->ldb];
            const row r = {
                .a = g->matrix,
                .number = i,
                .x = g->room.x + c * g->n,
                .low = g->low + c * g->n,
                .b = g->shifted ? ldexp(b, wi_chol_power(g->plan, (int64_t)i) - g->shift[c]) : b};
            g->room.y[(size_t)inverse[i] * g->rhs + c] = sum_row(&r);
        }
    }
}

double wi_solve_largest(const wi_solve_group *g, size_t c) {
    double most = 0;
    for (size_t k = 0; k < g->n; k++) {
        const double size = fabs(g->room.y[k * g->rhs + c]);
        most = size <= most ? most : size;
    }
    return most;
}

void wi_solve_exact_residual(wi_solve_group *g) {
    wi_solve_rows(&(wi_solve_pass){.g = g}, find_rows);
    for (size_t c = 0; c < g->rhs; c++)
        g->misfit.most[c] = wi_solve_largest(g, c);
}
