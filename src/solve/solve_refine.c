/* SPDX-License-Identifier: Apache-2.0 */
/* Solutions and iterative refinement: z + d with H d = c - H z, repeated. The residual is summed in
 * twice the precision of f64, so each step reduces the error by a factor of about cond(H) u of the
 * factors, down to the last bits of z. The backward error may be at its best long before; the sizes
 * of the corrections show the progress (Demmel, Hida, Kahan, Li, Mukherjee and Riedy 2006). */
#include <math.h>
#include <string.h>

#include "core/smaller.h"
#include "solve/system.h"

enum {
    USUAL_STEPS = 10,
    USUAL_MIXED_STEPS = 16, /* that have no GMRES after them */
    USUAL_EXACT_STEPS = 40,
    TRIAL_STEPS = 3
};

/* With exact residuals, z is kept as the sum of two numbers, which is refined to this times the
 * unit of x: the many smaller elements are right to their last bits then, too. */
static const double finer = 0x1p-40;

/* Elements of z as small as this, relative to the largest, are also right to their last bits. */
static const double margin = 0x1p-10;

/* One right-hand side: sizes of z and of its residual; its error; the latest correction relative to
 * z, and an estimate of the error that remains. z itself counts as the first correction, to 0. */
typedef struct progress {
    double most, error, residual, right;
    double size, left;
    bool active, taken, stalled;
} progress;

typedef struct group {
    wi_system *s;
    size_t first, count; /* right-hand sides */
    double *z, *low;     /* low: what z leaves out; NULL: nothing is kept of it */
    int32_t power[WI_SYSTEM_GROUP];
    progress column[WI_SYSTEM_GROUP];
    size_t steps;
    size_t own; /* columns that are right-hand sides; one more, if there is, is the trial */
    int trials; /* steps of the trial that are left */
} group;

static wi_product residual_of(const group *g) {
    const wi_system *const s = g->s;
    return (wi_product){.g = s->a,
                        .symmetric = s->args->spd,
                        .count = g->count,
                        .x = g->z,
                        .c = s->c,
                        .r = s->r,
                        .size = s->size,
                        .exact = s->args->options.exact,
                        .low = g->low,
                        .room = s->room};
}

/* Largest elements of columns, to the host. */
static weft_status most_of(const group *g, weft_type type, const void *x, double *most) {
    wi_system *const s = g->s;
    const weft_status status = s->place->columns_most(s->ctx, type, s->n, g->count, x, s->words);
    return status == WEFT_OK ? wi_system_get(s, most, s->words, g->count * sizeof *most) : status;
}

/* The unit to which z is refined. */
static double unit_of(const group *g) {
    return g->low ? finer * g->s->error_unit : g->s->error_unit;
}

/* The residual and the errors of z. */
static weft_status measure(group *g) {
    wi_system *const s = g->s;
    const wi_product product = residual_of(g);
    const wi_misfit_args misfit = {.n = s->n,
                                   .count = g->count,
                                   .r = s->r,
                                   .size = s->size,
                                   .c = s->c,
                                   .row_most = s->row_most,
                                   .most = s->words,
                                   .error = s->words + s->group};
    double found[3 * WI_SYSTEM_GROUP]; /* as s->words: largest elements of z, errors, and of r */
    weft_status status = s->place->multiply(s->ctx, &product);
    if (status == WEFT_OK)
        status = s->place->columns_most(s->ctx, WEFT_F64, s->n, g->count, g->z, s->words);
    if (status == WEFT_OK)
        status = s->place->misfit(s->ctx, &misfit);
    if (status == WEFT_OK)
        status =
            s->place->columns_most(s->ctx, WEFT_F64, s->n, g->count, s->r, s->words + 2 * s->group);
    if (status == WEFT_OK)
        status = wi_system_get(s, found, s->words, 3 * s->group * sizeof *found);
    for (size_t j = 0; j < g->count && status == WEFT_OK; j++) {
        g->column[j].most = found[j];
        g->column[j].error = found[s->group + j];
        g->column[j].residual = found[2 * s->group + j];
    }
    return status;
}

static weft_status put_powers(const group *g, const int32_t *power) {
    return wi_system_put(g->s, g->s->powers, power, g->count * sizeof *power);
}

static weft_status load(group *g) {
    double right[WI_SYSTEM_GROUP];
    weft_status status = wi_system_load(g->s, g->first, g->count);
    if (status == WEFT_OK)
        status = most_of(g, WEFT_F64, g->s->c, right);
    for (size_t j = 0; j < g->count && status == WEFT_OK; j++)
        g->column[j] = (progress){.right = right[j], .size = 1};
    return status;
}

/* d = H \ (2^-power from), by the factors. */
static weft_status correct(group *g, const double *from, const double *size) {
    wi_system *const s = g->s;
    const weft_status status = wi_system_narrow(s, g->count, from, size, g->power, s->d);
    return status == WEFT_OK ? wi_system_substitute(s, false, g->count) : status;
}

/* The first solution, of right-hand sides of these sizes. */
static weft_status begin(group *g, const double *size) {
    wi_system *const s = g->s;
    if (!s->augments)
        return correct(g, s->c, size);
    const weft_status status = wi_system_narrow(s, g->count, s->c, size, g->power, s->d);
    return status == WEFT_OK ? wi_system_back_substitute(s, g->first, g->count) : status;
}

/* z = d, or z += d for the columns that take it. */
static weft_status take(group *g, bool first) {
    wi_system *const s = g->s;
    bool all = true;
    for (size_t j = 0; j < g->own && !first; j++)
        if (!g->column[j].taken) {
            g->power[j] = WI_EXPONENT_OF_0;
            all = false;
        }
    const weft_status status = all ? WEFT_OK : put_powers(g, g->power); /* else they are there */
    return status == WEFT_OK ? s->place->add(s->ctx, s->factor, s->n, g->count, s->d, s->powers,
                                             first, g->z, g->low)
                             : status;
}

/* Is a correction of this size to be added, and another one to be computed? If it is more than half
 * of the one before, the factors are too far from H, and the correction is as wrong as z. The next
 * one is expected to be smaller by the same ratio, but no less than `least` of it. */
static void judge(progress *p, double unit, double least, double size) {
    const bool last = size <= 2 * unit;
    p->taken = last || size <= p->size / 2;
    p->stalled = !p->taken;
    const double left = p->taken ? fmax(size / p->size, least) * size : size;
    p->active = p->taken && !last && !(left <= unit * margin);
    p->size = size;
    p->left = left <= 1 ? fmax(left, unit) : 1;
}

static size_t count_active(const group *g) {
    size_t count = 0;
    for (size_t j = 0; j < g->own; j++)
        count += g->column[j].active;
    return count;
}

/* ---- the trial of factors that are less accurate than A's type ---- */

/* The factors are those of H + E, and a step of refinement multiplies the error by I - F \ H = F \
 * E. Of a matrix whose condition is beyond the factors' precision F \ E is of the order of 1,
 * whatever F itself seems to be. So some steps are tried on a column beside the first right-hand
 * sides that is all error: its right-hand side is 0, and z has parts in all directions, of which
 * the largest then prevails. */
static weft_status begin_trial(group *g) {
    wi_system *const s = g->s;
    double *const v = s->vector;
    const size_t line = s->n * sizeof *v, at = g->own * s->n;
    uint64_t state = 1;
    memset(v, 0, line);
    weft_status status = wi_system_put(s, s->c + at, v, line);
    if (status == WEFT_OK && g->low)
        status = wi_system_put(s, g->low + at, v, line);
    for (size_t i = 0; i < s->n; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        v[i] = (double)(state >> 11) * 0x1p-52 - 1;
    }
    if (status == WEFT_OK)
        status = wi_system_put(s, g->z + at, v, line);
    g->column[g->own] = (progress){.size = 1};
    g->count = g->own + 1;
    return status;
}

/* After a step, before which the error was `before`. */
static void note_trial(group *g, double before) {
    wi_system *const s = g->s;
    const double after = g->column[g->own].most, ratio = after == 0 ? 0 : after / before;
    /* Of H Q, parts of all directions may add up: the later steps count. */
    if (g->trials < TRIAL_STEPS || !s->mixes || !(ratio < 0x1p20))
        s->contraction = wi_larger(s->contraction, ratio);
    if (--g->trials == 0)
        g->count = g->own;
}

/* One step for all active columns; `ended`: for the trial alone. */
static weft_status step(group *g, bool ended) {
    wi_system *const s = g->s;
    const double error = g->trials > 0 ? g->column[g->own].most : 0;
    double size[WI_SYSTEM_GROUP];
    bool any = false;
    for (size_t j = 0; j < g->count; j++)
        size[j] = g->column[j].residual;
    weft_status status = correct(g, s->r, size);
    if (status == WEFT_OK)
        status = most_of(g, s->factor, s->d, size);
    for (size_t j = 0; j < g->own && status == WEFT_OK; j++) {
        progress *const p = &g->column[j];
        p->taken = false;
        if (p->active && !ended)
            judge(p, unit_of(g), 0, wi_times_power(size[j], g->power[j]) / p->most);
        any = any || p->taken;
    }
    g->steps += any;
    if (status != WEFT_OK || (!any && g->trials == 0))
        return status;
    status = take(g, false);
    if (status == WEFT_OK)
        status = measure(g);
    if (g->trials > 0)
        note_trial(g, error);
    return status;
}

static weft_status refine(group *g, int most) {
    weft_status status = WEFT_OK;
    for (size_t j = 0; j < g->own; j++)
        g->column[j].active = most > 0 && g->column[j].residual != 0;
    for (int k = 0; status == WEFT_OK && !wi_system_is_refused(g->s) &&
                    (g->trials > 0 || (k < most && count_active(g) > 0));
         k++)
        status = step(g, k >= most);
    return status;
}

/* ---- where that stalls or is slow: corrections by GMRES, a column at a time ---- */

static weft_status step_alone(group *g, size_t j, bool first, bool *converged) {
    wi_system *const s = g->s;
    double *const y = s->vector;
    const size_t line = s->n * sizeof *y;
    progress *const p = &g->column[j];
    weft_status status = wi_system_get(s, y, s->r + j * s->n, line);
    if (status == WEFT_OK)
        status = wi_system_gmres(s, false, y, converged);
    if (status != WEFT_OK)
        return status;
    double most = 0;
    for (size_t i = 0; i < s->n; i++)
        most = wi_larger(most, fabs(y[i]));
    /* The first is taken however large: factors that miss a direction have made z too small. */
    if (first)
        p->size = fmax(1, 2 * most / p->most);
    if (*converged)
        judge(p, unit_of(g), 0x1p-4, most / p->most);
    else
        p->taken = p->active = false;
    if (!p->taken)
        return WEFT_OK;
    for (size_t k = 0; k < g->count; k++)
        g->power[k] = 0;
    status = put_powers(g, g->power);
    if (status == WEFT_OK)
        status = wi_system_put(s, s->v, y, line);
    if (status == WEFT_OK)
        status = s->place->add(s->ctx, WEFT_F64, s->n, 1, s->v, s->powers, false, g->z + j * s->n,
                               g->low ? g->low + j * s->n : NULL);
    return status == WEFT_OK ? measure(g) : status;
}

static weft_status refine_alone(group *g, size_t j, int most, bool *converged) {
    weft_status status = WEFT_OK;
    g->column[j].active = true;
    *converged = true;
    for (int k = 0; k < most && g->column[j].active && *converged && status == WEFT_OK; k++) {
        status = step_alone(g, j, k == 0, converged);
        g->steps += g->column[j].taken;
    }
    return status;
}

/* Not where it is hopeless, and no longer than the factorization has taken or some hundred
 * iterations: with many right-hand sides other factors are cheaper. */
static bool may_go_on(const wi_system *s) {
    return !(s->condition >= 0x1p53) && s->report->iterations < 500 + s->n / 20;
}

static weft_status refine_stalled(group *g, int most) {
    wi_system *const s = g->s;
    const bool is_mixed = s->factor != s->args->type;
    bool converged = true, stalled = false;
    for (size_t j = 0; j < g->count; j++)
        stalled = stalled || g->column[j].stalled;
    if (s->mixes)
        return WEFT_OK;
    weft_status status = stalled && !is_mixed ? wi_system_find_condition(s) : WEFT_OK;
    for (size_t j = 0; j < g->count && converged && may_go_on(s) && status == WEFT_OK; j++) {
        const progress *const p = &g->column[j];
        if ((p->stalled || (is_mixed && p->active)) && isfinite(p->most) && p->most > 0)
            status = refine_alone(g, j, most, &converged);
    }
    return status;
}

/* ---- a group ---- */

/* z becomes what the caller's type holds of it. */
static weft_status settle(group *g) {
    wi_system *const s = g->s;
    bool far = s->args->type == WEFT_F32 || s->host_row_power;
    const bool had_low = g->low != NULL;
    g->low = NULL; /* z is the sum, rounded */
    for (size_t j = 0; j < g->count; j++) {
        progress *const p = &g->column[j];
        far = far || s->shift[g->first + j] != 0;
        p->left = p->left > 0 ? fmax(p->left, s->error_unit) : 0;
    }
    if (!far)
        return had_low ? measure(g) : WEFT_OK;
    weft_status status = put_powers(g, s->shift + g->first);
    if (status == WEFT_OK)
        status = s->place->settle(s->ctx, s->args->type, s->n, g->count, s->a.column_power,
                                  s->powers, g->z);
    return status == WEFT_OK ? measure(g) : status;
}

static weft_status weigh(group *g) {
    wi_system *const s = g->s;
    const double n = (double)s->n;
    const weft_status status =
        s->place->columns_most(s->ctx, WEFT_F64, s->n, g->count, g->z, s->words);
    return status == WEFT_OK ? s->place->weigh(s->ctx, s->n, g->count, s->r, s->size, s->words,
                                               n * n * 0x1p-105, s->w)
                             : status;
}

static weft_status sum_up(const group *g) {
    wi_system *const s = g->s;
    weft_report *const report = s->report;
    for (size_t j = 0; j < g->count; j++) {
        const progress *const p = &g->column[j];
        const double size = s->norm * p->most + p->right;
        if (!isfinite(p->most))
            return wi_fail(s->ctx, WEFT_ENONFINITE,
                           "%s: column %zu of the solution has numbers too large for %s; scale a "
                           "or b",
                           s->call, g->first + j, weft_type_name(s->args->type));
        report->backward_error = wi_larger(report->backward_error, p->error);
        report->normwise_error =
            wi_larger(report->normwise_error, p->residual == 0 ? 0
                                              : isfinite(size) ? p->residual / size
                                                               : (double)INFINITY);
        report->forward_estimate = wi_larger(report->forward_estimate, p->left);
        report->stalled += p->stalled;
        s->lost = s->lost || p->active;
    }
    report->refinements = g->steps > report->refinements ? g->steps : report->refinements;
    return WEFT_OK;
}

static weft_status solve_group(group *g) {
    const wi_system *const s = g->s;
    const int asked = s->args->options.refine;
    const int usual = s->low ? USUAL_EXACT_STEPS : s->mixes ? USUAL_MIXED_STEPS : USUAL_STEPS;
    const int most = asked == 0 ? usual : asked;
    double size[WI_SYSTEM_GROUP];
    weft_status status = g->count > 0 ? load(g) : WEFT_OK;
    for (size_t j = 0; j < g->count; j++)
        size[j] = g->column[j].right;
    if (status == WEFT_OK && g->count > 0)
        status = begin(g, size);
    if (status == WEFT_OK && g->count > 0)
        status = take(g, true);
    if (status == WEFT_OK && g->trials > 0)
        status = begin_trial(g);
    if (status == WEFT_OK)
        status = measure(g);
    if (status == WEFT_OK)
        status = refine(g, most);
    if (status != WEFT_OK || g->count == 0 || wi_system_is_refused(s))
        return status;
    if (most > 0)
        status = refine_stalled(g, most);
    if (status == WEFT_OK)
        status = settle(g);
    if (status == WEFT_OK)
        status = weigh(g);
    return status == WEFT_OK ? sum_up(g) : status;
}

weft_status wi_system_solve(wi_system *s) {
    weft_status status;
    memset(s->vector, 0, s->n * sizeof *s->vector);
    status = wi_system_put(s, s->w, s->vector, s->n * sizeof *s->vector);
    bool tries = s->tries;
    for (size_t j = 0; (tries || j < s->args->rhs) && status == WEFT_OK && !wi_system_is_refused(s);
         tries = false) {
        const size_t count = wi_smaller(s->args->rhs - j, s->group - tries);
        group g = {.s = s,
                   .first = j,
                   .count = count,
                   .own = count,
                   .trials = tries ? TRIAL_STEPS : 0,
                   .z = s->z + j * s->n,
                   .low = s->low};
        status = solve_group(&g);
        j += count;
    }
    return status;
}
