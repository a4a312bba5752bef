/* SPDX-License-Identifier: Apache-2.0 */
/* What is reported of a system over ranks: norms, growth and determinant, condition, and how far x
 * may be off. Vectors are the same on all ranks, so all ranks estimate norms in the same steps. */
#include <math.h>

#include "solve/solve_ranks.h"

/* ---- norms ---- */

/* sums = |op(A)| 1 or, with `turned`, that of its transpose; on all ranks. */
static weft_status sum_sizes(wi_ranks *s, bool turned, double *sums) {
    const bool by_rows = s->args->transposed != turned; /* this rank has whole rows */
    const size_t out = by_rows ? s->own : s->n, in = by_rows ? s->n : s->own;
    wi_product p = wi_ranks_product(s, 1);
    weft_status status = WEFT_OK;
    if (turned)
        p.g = wi_grid_turned(&p.g);
    memset(sums, 0, s->n * sizeof *sums);
    if (s->own > 0) {
        for (size_t j = 0; j < in; j++)
            s->z[j] = 1;
        status = wi_ranks_move(s, s->place_x, s->z, in * sizeof *s->z);
        if (status == WEFT_OK)
            status = wi_local(s->ctx, s->place->multiply(s->child, &p));
        if (status == WEFT_OK)
            status = wi_ranks_move(s, sums + (by_rows ? s->first : 0), s->place_size,
                                   out * sizeof *sums);
    }
    return wi_ranks_combine(s, sums, s->n, false, status);
}

weft_status wi_ranks_measure(wi_ranks *s) {
    weft_status status = wi_ranks_lines_most(s, false, s->row_most, WEFT_OK);
    if (status == WEFT_OK)
        status = sum_sizes(s, false, s->size);
    if (status == WEFT_OK)
        s->norm = wi_largest_of(s->n, s->size);
    if (status == WEFT_OK && !s->args->solve.options.no_estimates)
        status = sum_sizes(s, true, s->size);
    if (status == WEFT_OK)
        s->norm_1 = wi_largest_of(s->n, s->size);
    return status;
}

/* ---- factors ---- */

/* Rows first ... first + rows - 1 of own columns of the factors. */
static wi_grid factors_of(const wi_ranks *s, size_t first, size_t rows, wi_half half) {
    return (wi_grid){.type = s->factor,
                     .half = half,
                     .rows = rows,
                     .columns = s->own,
                     .p = s->f + first * weft_type_size(s->factor),
                     .down = 1,
                     .across = s->n};
}

static weft_status find_most(wi_ranks *s, const wi_grid *g, double *most) {
    if (g->rows == 0 || g->columns == 0)
        return WEFT_OK;
    weft_status status =
        wi_local(s->ctx, s->place->rows_range(s->child, g, s->place_r, s->place_size));
    if (status == WEFT_OK)
        status = wi_ranks_move(s, s->r, s->place_r, g->rows * sizeof *s->r);
    *most = wi_larger(*most, status == WEFT_OK ? wi_largest_of(g->rows, s->r) : 0);
    return status;
}

/* The largest entry of U, or the square of the largest of L, over the largest of A. */
static weft_status find_growth(wi_ranks *s) {
    const bool spd = s->args->solve.spd;
    const size_t below = s->first + s->own;
    const wi_grid square = factors_of(s, s->first, s->own, spd ? WI_HALF_LOWER : WI_HALF_UPPER),
                  rest = spd ? factors_of(s, below, s->n - below, WI_HALF_ALL)
                             : factors_of(s, 0, s->first, WI_HALF_ALL);
    const double of_a = wi_largest_of(s->n, s->row_most);
    double most = 0;
    weft_status status = find_most(s, &square, &most);
    if (status == WEFT_OK)
        status = find_most(s, &rest, &most);
    status = wi_ranks_combine(s, &most, 1, true, status);
    s->report->growth = of_a > 0 ? (spd ? most * most : most) / of_a : 1;
    return status;
}

/* log |det| of A and its sign, by the diagonal of U or L and the scaling. */
static weft_status find_determinant(wi_ranks *s) {
    const bool spd = s->args->solve.spd;
    const wi_grid diagonal = {.type = s->factor,
                              .rows = s->own,
                              .columns = 1,
                              .p = s->f + s->first * weft_type_size(s->factor),
                              .down = s->n + 1,
                              .across = 1};
    double sum = 0, negative = 0; /* of own columns */
    int64_t powers = 0;
    weft_status status = WEFT_OK;
    if (s->own > 0)
        status = wi_local(s->ctx, s->place->copy(s->child, &diagonal, WEFT_F64, s->place_r, s->n));
    if (status == WEFT_OK)
        status = wi_ranks_move(s, s->r, s->place_r, s->own * sizeof *s->r);
    for (size_t k = 0; k < s->own && status == WEFT_OK; k++) {
        const bool exchanged = !spd && s->pivot[s->first + k] != (int64_t)(s->first + k);
        sum += log(fabs(s->r[k]));
        negative += (s->r[k] < 0) != exchanged;
    }
    status = wi_ranks_combine(s, &sum, 1, false, status);
    if (status == WEFT_OK)
        status = wi_ranks_combine(s, &negative, 1, false, status);
    for (size_t i = 0; i < 2 * s->n && s->scaled; i++)
        powers += s->power[i];
    s->report->log_abs_det = (spd ? 2 : 1) * sum - (double)powers * WI_LN_2;
    s->report->sign_det = fmod(negative, 2) == 0 ? 1 : -1;
    return status;
}

weft_status wi_ranks_judge_factors(wi_ranks *s) {
    const weft_status status = find_determinant(s);
    return status != WEFT_OK || s->args->solve.options.no_estimates ? status : find_growth(s);
}

/* ---- condition, and the forward error ---- */

static weft_status invert(void *user, bool transposed, size_t count, double *const y[],
                          bool *converged) {
    wi_ranks *const s = user;
    const size_t line = s->n * sizeof **y;
    (void)converged; /* a substitution always ends; x is as accurate as the factors */
    s->group = count;
    for (size_t k = 0; k < count; k++)
        memcpy(s->r + k * s->n, y[k], line);
    const weft_status status = wi_ranks_substitute(s, transposed);
    for (size_t k = 0; k < count; k++)
        memcpy(y[k], s->r + k * s->n, line);
    return status;
}

weft_status wi_ranks_bound(wi_ranks *s) {
    const bool weighted = s->all_rhs > 0;
    wi_ascent all[WI_ASCENTS] = {wi_ascent_in(s->vector, s->n, 0, NULL),
                                 wi_ascent_in(s->vector, s->n, WI_ASCENT_LINES, s->weight)};
    bool converged = true;
    if (s->args->solve.options.no_estimates)
        return WEFT_OK;
    const weft_status status =
        wi_ascend(s->n, all, weighted ? WI_ASCENTS : 1, invert, s, &converged);
    const double condition = all[0].norm * s->norm_1;
    s->report->condition_estimate = isnan(condition) ? (double)INFINITY : condition;
    if (weighted)
        s->report->forward_bound = s->lost
                                       ? (double)INFINITY
                                       : wi_forward_bound(s->type, s->report->condition_estimate,
                                                          s->report->growth, all[1].norm);
    return status;
}
