/* SPDX-License-Identifier: Apache-2.0 */
/* What the factors say about H: its condition, growth and determinant; and how far z may be off. */
#include <math.h>
#include <string.h>

#include "solve/solve_mix.h"

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

static wi_ascent ascent_in(const wi_system *s, size_t first, const double *weight) {
    return (wi_ascent){
        .weight = weight, .x = s->vector + first * s->n, .y = s->vector + (first + 1) * s->n};
}

static weft_status invert(void *user, bool transposed, size_t count, double *const y[],
                          bool *converged) {
    return wi_system_invert(user, transposed, count, y, converged);
}

static weft_status climb(wi_system *s, wi_ascent *all, int count) {
    bool converged = true;
    const weft_status status = wi_ascend(s->n, all, count, invert, s, &converged);
    s->lost = s->lost || !converged;
    return status;
}

static void note_condition(wi_system *s, const wi_ascent *a) {
    const double condition = a->norm * s->norm_1;
    s->condition = isnan(condition) ? (double)INFINITY : condition;
    s->report->condition_estimate = s->condition;
}

weft_status wi_system_find_condition(wi_system *s) {
    wi_ascent a = ascent_in(s, 0, NULL);
    if (s->condition > 0 || s->args->options.no_estimates)
        return WEFT_OK;
    const weft_status status = climb(s, &a, 1);
    note_condition(s, &a);
    return status;
}

/* Both climbs together, if the condition is not known yet. */
weft_status wi_system_bound(wi_system *s) {
    double *const weight = s->vector + 4 * s->n;
    const bool known = s->condition > 0;
    wi_ascent all[WI_ASCENTS] = {ascent_in(s, 2, weight), ascent_in(s, 0, NULL)};
    if (s->args->options.no_estimates)
        return WEFT_OK;
    if (s->args->rhs == 0)
        return wi_system_find_condition(s);
    weft_status status = wi_system_get(s, weight, s->w, s->n * sizeof *weight);
    if (status == WEFT_OK)
        status = climb(s, all, known ? 1 : 2);
    if (status != WEFT_OK)
        return status;
    if (!known)
        note_condition(s, &all[1]);
    s->report->forward_bound =
        s->lost ? (double)INFINITY
                : wi_forward_bound(s->args->type, s->condition, s->report->growth, all[0].norm);
    return WEFT_OK;
}
