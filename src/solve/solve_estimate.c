/* SPDX-License-Identifier: Apache-2.0 */
/* What the factors say about H: its condition, growth and determinant; and how far z may be off. */
#include <math.h>
#include <string.h>

#include "solve/system.h"

/* ---- the norm of what can only be multiplied by ---- */

static double sum_of_sizes(size_t n, const double *y) {
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += fabs(y[k]);
    return sum;
}

/* |M x| for a vector for which the ascent below is known to fail. */
static weft_status try_waves(const wi_operator *m, size_t n, double *y, double *norm) {
    for (size_t k = 0; k < n; k++)
        y[k] = (k % 2 ? -1 : 1) * (n > 1 ? 0.5 + 0.5 * (double)k / (double)(n - 1) : 0.5);
    const weft_status status = m->apply(m, false, y);
    *norm = wi_larger(4 * sum_of_sizes(n, y) / (3 * (double)n), *norm);
    return status;
}

/* |M| in the 1-norm is the maximum of |M x| over |x| = 1, and is reached at a unit vector. From x
 * the steepest ascent leads to e[j], where j is the largest element of Mt sign(M x), unless x is a
 * local maximum. */
weft_status wi_estimate_norm(const wi_operator *m, size_t n, double *x, double *y, double *norm) {
    enum {
        MOST_STEPS = 5
    };
    *norm = 0;
    for (size_t k = 0; k < n; k++)
        x[k] = y[k] = 1 / (double)n;
    for (int step = 0; step < MOST_STEPS; step++) {
        size_t highest = 0;
        double along = 0;
        weft_status status = m->apply(m, false, y);
        const double size = sum_of_sizes(n, y);
        if (status != WEFT_OK)
            return status;
        if (!isfinite(size)) {
            *norm = (double)INFINITY;
            return WEFT_OK;
        }
        if (!(size > *norm))
            break;
        *norm = size;
        for (size_t k = 0; k < n; k++)
            y[k] = copysign(1, y[k]);
        status = m->apply(m, true, y);
        if (status != WEFT_OK)
            return status;
        for (size_t k = 0; k < n; k++) {
            along += y[k] * x[k];
            highest = fabs(y[k]) > fabs(y[highest]) ? k : highest;
        }
        if (fabs(y[highest]) <= along)
            break;
        for (size_t k = 0; k < n; k++)
            x[k] = y[k] = k == highest;
    }
    return try_waves(m, n, y, norm);
}

static weft_status inverse(const wi_operator *m, bool transposed, double *y) {
    return wi_system_invert(m->system, transposed, y, m->converged);
}

/* M = W H^-t, whose 1-norm is the infinity norm of H^-1 W: of | H^-1 | w. */
static weft_status weighted_inverse(const wi_operator *m, bool transposed, double *y) {
    const size_t n = m->system->n;
    for (size_t k = 0; k < n && transposed; k++)
        y[k] *= m->weight[k];
    const weft_status status = inverse(m, !transposed, y);
    for (size_t k = 0; k < n && !transposed; k++)
        y[k] *= m->weight[k];
    return status;
}

/* ---- condition, growth, determinant ---- */

static weft_status find_condition(wi_system *s, bool *converged) {
    const wi_operator m = {s, inverse, NULL, converged};
    double size;
    const weft_status status = wi_estimate_norm(&m, s->n, s->vector, s->vector + s->n, &size);
    const double condition = size * s->norm_1;
    s->condition = isnan(condition) ? (double)INFINITY : condition;
    return status;
}

static wi_grid factor_grid(const wi_system *s) {
    return (wi_grid){.type = s->factor,
                     .half = s->args->spd ? WI_STORED_LOWER : WI_STORED_UPPER,
                     .rows = s->n,
                     .columns = s->n,
                     .p = s->f,
                     .down = 1,
                     .across = s->ld};
}

static weft_status find_growth(wi_system *s) {
    const wi_grid g = factor_grid(s);
    double most = 0;
    weft_status status = s->place->rows_range(s->ctx, &g, s->v, s->v + s->n);
    if (status == WEFT_OK)
        status = wi_system_get(s, s->vector, s->v, s->n * sizeof *s->vector);
    for (size_t i = 0; i < s->n && status == WEFT_OK; i++)
        most = wi_larger(most, s->vector[i]);
    if (s->args->spd)
        most *= most;
    s->report->growth = s->most_of_a > 0 ? most / s->most_of_a : 1;
    return status;
}

/* The product of the diagonal, the scaling and the sign of the exchanges. */
static weft_status find_determinant(wi_system *s) {
    double *const d = s->vector;
    int64_t *const pivot = (int64_t *)(void *)(s->vector + s->n);
    double product = 1;
    int64_t exponent = 0;
    const size_t n = s->n;
    wi_grid g = factor_grid(s);
    g.half = WI_STORED_ALL;
    g.columns = 1;
    g.down = s->ld + 1;
    weft_status status = s->place->copy(s->ctx, &g, WEFT_F64, s->v, n);
    if (status == WEFT_OK)
        status = wi_system_get(s, d, s->v, n * sizeof *d);
    if (status == WEFT_OK && !s->args->spd)
        status = wi_system_get(s, pivot, s->pivot, n * sizeof *pivot);
    for (size_t i = 0; i < n && status == WEFT_OK; i++) {
        int e;
        product = frexp(s->args->spd ? product * d[i] * d[i] : product * d[i], &e);
        exponent += e;
        if (s->host_row_power)
            exponent -= s->host_row_power[i] + s->host_column_power[i];
        if (!s->args->spd && pivot[i] != (int64_t)i)
            product = -product;
    }
    s->report->sign_det = product > 0 ? 1 : -1;
    s->report->log_abs_det = log(fabs(product)) + (double)exponent * 0.69314718055994530942;
    return status;
}

/* v = v - F \ (H v) for the factors F; returns by how much it has become smaller. */
static weft_status contract(wi_system *s, double *v, double *product, double *ratio) {
    weft_status status = wi_system_multiply(s, false, v, product);
    if (status == WEFT_OK)
        status = wi_system_apply(s, false, product);
    double before = 0, after = 0;
    for (size_t i = 0; i < s->n && status == WEFT_OK; i++) {
        before = wi_larger(before, fabs(v[i]));
        v[i] -= product[i];
        after = wi_larger(after, fabs(v[i]));
    }
    *ratio = after == 0 ? 0 : after / before;
    return status;
}

/* The factors are those of H + E, and a step of refinement multiplies the error by I - F \ H = F \
 * E. Of a matrix whose condition is beyond the factors' precision F \ E is of the order of 1,
 * whatever F itself seems to be. It is tried on a vector with parts in all directions; the largest
 * then prevails. */
weft_status wi_system_contraction(wi_system *s, double *worst) {
    enum {
        STEPS = 3
    };
    double *const v = s->vector, *const product = v + s->n;
    uint64_t state = 1;
    weft_status status = WEFT_OK;
    *worst = 0;
    for (size_t i = 0; i < s->n; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        v[i] = (double)(state >> 11) * 0x1p-52 - 1;
    }
    for (int k = 0; k < STEPS && status == WEFT_OK; k++) {
        double ratio = 0;
        status = contract(s, v, product, &ratio);
        *worst = wi_larger(*worst, ratio);
    }
    return status;
}

weft_status wi_system_judge_factors(wi_system *s) {
    bool converged = true;
    weft_status status = find_determinant(s);
    if (status != WEFT_OK || s->args->options.no_estimates)
        return status;
    status = find_growth(s);
    if (status == WEFT_OK)
        status = find_condition(s, &converged);
    s->lost = !converged;
    s->report->condition_estimate = s->condition;
    return status;
}

/* ---- the forward error ---- */

/* Do the factors say anything about H^-1? */
static bool is_known(const wi_system *s) {
    const double unit = s->args->type == WEFT_F64 ? 0x1p-53 : 0x1p-24;
    const double growth = s->report->growth > 1 ? s->report->growth : 1;
    return s->condition * unit * growth < 0x1p-3;
}

weft_status wi_system_bound(wi_system *s) {
    double *const weight = s->vector + 2 * s->n, size;
    bool converged = true;
    const wi_operator m = {s, weighted_inverse, weight, &converged};
    if (s->args->options.no_estimates || s->args->rhs == 0)
        return WEFT_OK;
    s->report->forward_bound = (double)INFINITY;
    if (!is_known(s))
        return WEFT_OK;
    weft_status status = wi_system_get(s, weight, s->w, s->n * sizeof *weight);
    if (status == WEFT_OK)
        status = wi_estimate_norm(&m, s->n, s->vector, s->vector + s->n, &size);
    if (status == WEFT_OK && converged && !isnan(size))
        s->report->forward_bound = 3 * size;
    s->lost = s->lost || !converged;
    return status;
}
