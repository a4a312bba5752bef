/* SPDX-License-Identifier: Apache-2.0 */
/* What the factors say about H: its condition, growth and determinant; and how far z may be off. */
#include <math.h>
#include <string.h>

#include "solve/solve_mix.h"
#include "solve/solve_small.h"

/* ---- growth, determinant ---- */

static wi_grid factor_grid(const wi_system *s) {
    return (wi_grid){.type = s->factor,
                     .half = s->args->spd ? WI_HALF_LOWER : WI_HALF_UPPER,
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
    g.half = WI_HALF_ALL;
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
    double mixing = 0;
    if (s->mixes)
        product *= wi_mixed_sign(n, &mixing);
    s->report->sign_det = product > 0 ? 1 : -1;
    s->report->log_abs_det = log(fabs(product)) + (double)exponent * WI_LN_2 - mixing;
    return status;
}

weft_status wi_system_judge_factors(wi_system *s) {
    const weft_status status = find_determinant(s);
    return status != WEFT_OK || s->args->options.no_estimates ? status : find_growth(s);
}

/* ---- condition, and the forward error ---- */

static weft_status invert(void *user, bool transposed, size_t count, double *const y[],
                          bool *converged) {
    return wi_system_invert(user, transposed, count, y, converged);
}

/* By the factors, or by GMRES if s->refines_inverse. */
static weft_status climb(wi_system *s, wi_ascent *all, int count) {
    bool converged = true;
    const weft_status status = wi_ascend(s->n, all, count, invert, s, &converged);
    s->lost = s->lost || !converged;
    return status;
}

static void note_condition(wi_system *s, double norm) {
    const double condition = norm * s->norm_1;
    s->condition = isnan(condition) ? (double)INFINITY : condition;
    s->report->condition_estimate = s->condition;
}

/* Factors are the exact ones of a matrix beside H, by rounding errors that growth multiplies: may
 * its inverse be quite another? Growth alone is no reason as long as refinement did not stall, and
 * as it is moderate; and beyond the precision of f64 GMRES helps no more. */
static bool doubts_inverse(const wi_system *s) {
    const bool reduced = s->factor != s->args->type || s->products != WI_FULL_PRODUCTS;
    const double unit = s->args->type == WEFT_F64 || reduced ? 0x1p-53 : 0x1p-24;
    const bool large = s->report->growth > 0x1p20, stalled = s->report->iterations > 0;
    if (s->refines_inverse || reduced)
        return wi_is_small(s) && !(s->condition * unit < 0x1p-3);
    if (s->condition >= 0x1p53 && !large && !wi_is_small(s))
        return false;
    return !(s->condition * unit * (large || stalled ? fmax(s->report->growth, 1) : 1) < 0x1p-3);
}

/* The same norms by GMRES, from whose solutions growth is gone; if that does not converge, they
 * stay what they were. */
static weft_status climb_by_gmres(wi_system *s, wi_ascent *all, int count) {
    double norm[WI_ASCENTS];
    bool converged = true;
    for (int k = 0; k < count; k++)
        norm[k] = all[k].norm;
    s->refines_inverse = true;
    const weft_status status = wi_ascend(s->n, all, count, invert, s, &converged);
    s->refines_inverse = s->knows_inverse = converged;
    for (int k = 0; k < count && !converged; k++)
        all[k].norm = norm[k];
    return status;
}

/* Without H's factors, or with as little of them as is possible. */
static weft_status climb_again(wi_system *s, wi_ascent *all, int count) {
    const double *weight = NULL;
    wi_small_norms norms;
    if (!wi_is_small(s))
        return climb_by_gmres(s, all, count);
    for (int k = 0; k < count; k++)
        weight = all[k].weight ? all[k].weight : weight;
    const weft_status status = wi_small_inverse(s, weight, &norms);
    for (int k = 0; k < count && status == WEFT_OK; k++)
        all[k].norm = all[k].weight ? norms.weighted : norms.one;
    s->knows_inverse = true;
    return status;
}

weft_status wi_system_find_condition(wi_system *s) {
    wi_ascent a = wi_ascent_in(s->vector, s->n, 0, NULL);
    if (s->condition > 0 || s->args->options.no_estimates)
        return WEFT_OK;
    weft_status status = climb(s, &a, 1);
    note_condition(s, a.norm);
    if (status == WEFT_OK && doubts_inverse(s))
        status = climb_again(s, &a, 1);
    note_condition(s, a.norm);
    return status;
}

/* Both climbs together, if the condition is not known yet. */
weft_status wi_system_bound(wi_system *s) {
    double *const weight = s->vector + WI_ASCENTS * WI_ASCENT_LINES * s->n;
    const bool known = s->condition > 0;
    const int count = known ? 1 : 2;
    wi_ascent all[WI_ASCENTS] = {wi_ascent_in(s->vector, s->n, WI_ASCENT_LINES, weight),
                                 wi_ascent_in(s->vector, s->n, 0, NULL)};
    if (s->args->options.no_estimates)
        return WEFT_OK;
    if (s->args->rhs == 0)
        return wi_system_find_condition(s);
    weft_status status = wi_system_get(s, weight, s->w, s->n * sizeof *weight);
    if (status == WEFT_OK)
        status = climb(s, all, count);
    if (status == WEFT_OK && !known)
        note_condition(s, all[1].norm);
    if (status == WEFT_OK && doubts_inverse(s))
        status = climb_again(s, all, count);
    if (status != WEFT_OK)
        return status;
    if (!known)
        note_condition(s, all[1].norm);
    const double growth = s->knows_inverse ? 1 : s->report->growth;
    s->report->forward_bound =
        s->lost ? (double)INFINITY
                : wi_forward_bound(s->args->type, s->condition, growth, all[0].norm);
    return WEFT_OK;
}
