/* SPDX-License-Identifier: Apache-2.0 */
/* The report about a factorization, and the condition number. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "sparse/chol_device.h"
#include "sparse/ranks.h"

/* The bytes needed on GPUs: in their memory, and in all. */
static weft_status find_device_bytes(weft_context *ctx, const char *call, const weft_chol *plan,
                                     weft_chol_report *report) {
    wi_chol_needs needs;
    const weft_status status = wi_chol_foresee(ctx, call, plan, &needs);
    report->host_factor_bytes = needs.home;
    report->device_bytes_needed = needs.device;
    report->bytes_needed =
        plan->report.analysis_bytes + needs.device + needs.host + wi_pivots_bytes(plan) +
        plan->numbers.low_bytes +
        (wi_chol_has_d(plan) ? wi_balance_bytes(plan) : plan->numbers.scaled_bytes);
    return status;
}

/* The bytes needed for the threads of this context, or for those that the memory was sized for. */
static weft_status find_bytes(const weft_context *ctx, weft_context *own, const char *call,
                              const weft_chol *plan, weft_chol_report *report) {
    wi_owners owners = {.ranks = 0};
    wi_cut cut = plan->numbers.cut;
    weft_status status = WEFT_OK;
    if (!plan->numbers.panel)
        status = wi_numbers_share(own, call, plan, ctx, &owners, &cut);
    if (status != WEFT_OK)
        return status;
    const int64_t rhs = plan->numbers.rhs > 1 ? plan->numbers.rhs : 1;
    report->bytes_needed = plan->report.analysis_bytes + wi_numbers_bytes(plan, &cut, rhs);
    wi_owners_free(&owners);
    return WEFT_OK;
}

weft_status weft_chol_get_report(weft_context *ctx, const weft_chol *plan,
                                 weft_chol_report *report) {
    static const char call[] = "weft_chol_get_report";
    weft_context *own;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (!plan)
        return wi_fail(ctx, WEFT_EARG, "%s: plan is NULL; weft_chol_analyze makes one", call);
    if (!report || report->size == 0 || report->size > sizeof *report)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: report is NULL or its size wrong; set report.size to "
                       "sizeof(weft_chol_report), %zu",
                       call, sizeof *report);
    weft_chol_report whole = plan->report;
    weft_status status = wi_over_enter(ctx, call, &own);
    if (status != WEFT_OK)
        return wi_over_leave(ctx, own, status);
    whole.size = report->size;
    whole.factor_bytes = wi_chol_factor_bytes(plan);
    whole.work_bytes = plan->report.work_bytes / sizeof(double) * wi_chol_number(plan);
    whole.factor_type = plan->narrow ? WEFT_F32 : WEFT_F64;
    if (own->kind == WI_CPU)
        status = find_bytes(ctx, own, call, plan, &whole);
    else
        status = find_device_bytes(ctx, call, plan, &whole);
    if (status == WEFT_OK && plan->state == WI_CHOL_FACTORED && plan->on_device)
        status = wi_chol_device_diagonal(ctx, plan);
    if (status != WEFT_OK)
        return wi_over_leave(ctx, own, status);
    if (plan->state == WI_CHOL_FACTORED) {
        whole.logdet = wi_chol_logdet(plan);
        if (whole.factor_seconds > 0)
            whole.factor_gflops = 1e-9 * whole.flops / whole.factor_seconds;
    }
    memcpy(report, &whole, report->size);
    return WEFT_OK;
}

/* ---- condition ---- */

/* The smallest and largest power of two of a scaled matrix. */
static void powers_of(const weft_chol *plan, int *least, int *most) {
    *least = INT_MAX;
    *most = INT_MIN;
    for (int64_t i = 0; i < plan->symbolic.n; i++) {
        const int power = wi_chol_power(plan, i);
        *least = power < *least ? power : *least;
        *most = power > *most ? power : *most;
    }
}

/* The 1-norm of 2^shift A, the largest column sum. `sum` has room for n. */
static double norm(const weft_sparse *matrix, int shift, double *sum) {
    double most = 0;
    memset(sum, 0, matrix->cols * sizeof *sum);
    for (size_t j = 0; j < matrix->cols; j++) {
        for (int64_t k = matrix->start[j]; k < matrix->start[j + 1]; k++) {
            const double size = ldexp(fabs(matrix->value[k]), shift);
            const size_t i = (size_t)matrix->row[k];
            sum[j] += size;
            sum[i] += i == j ? 0 : size;
        }
    }
    for (size_t j = 0; j < matrix->cols; j++)
        most = fmax(most, sum[j]);
    return most;
}

/* y = 2^(-2 *top) A^-1 y, with the factor of A or of T A T; without `top` y = (T A T)^-1 y. */
static weft_status apply_inverse(weft_context *ctx, const weft_chol *plan, const int *top,
                                 double *y) {
    const int64_t n = plan->symbolic.n, *const perm = plan->symbolic.perm;
    const bool scaled = top && plan->numbers.balance.scaled;
    for (int64_t k = 0; k < n && scaled; k++)
        y[k] = ldexp(y[k], wi_chol_power(plan, perm[k]) - *top);
    const weft_status status = wi_chol_substitute(ctx, plan, 1, true, true);
    for (int64_t k = 0; k < n && scaled; k++)
        y[k] = ldexp(y[k], wi_chol_power(plan, perm[k]) - *top);
    return status;
}

static double sum_of_sizes(size_t n, const double *y) {
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += fabs(y[k]);
    return sum;
}

/* *best = an estimate, in so many steps, of the norm of what apply_inverse applies; not finite if
 * that is too large for a double.
 *
 * |A^-1| in the 1-norm is the maximum of |A^-1 x| over |x| = 1, and is reached at a unit vector.
 * From x the steepest ascent leads to e[j], where j is the largest element of z = A^-1 sign(A^-1
 * x), unless x is a local maximum: |z[j]| <= zt x. Finally a vector is tried for which this ascent
 * is known to fail. The permutation of A does not change the result. */
static weft_status inverse_norm(weft_context *ctx, const weft_chol *plan, const int *top, int steps,
                                double *best) {
    const size_t n = (size_t)plan->symbolic.n;
    const wi_solve_room room = wi_solve_room_of(plan, 1);
    double *const y = room.y, *const x = room.x;
    weft_status status = WEFT_OK;
    *best = 0;
    for (size_t k = 0; k < n; k++)
        x[k] = y[k] = 1 / (double)n;
    for (int step = 0; step < steps; step++) {
        size_t highest = 0;
        double along = 0;
        status = apply_inverse(ctx, plan, top, y);
        const double size = sum_of_sizes(n, y);
        if (status != WEFT_OK || !isfinite(size)) {
            *best = size;
            return status;
        }
        if (!(size > *best))
            break;
        *best = size;
        for (size_t k = 0; k < n; k++)
            y[k] = copysign(1, y[k]);
        status = apply_inverse(ctx, plan, top, y);
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
    for (size_t k = 0; k < n; k++)
        y[k] = (k % 2 ? -1 : 1) * (n > 1 ? 0.5 + 0.5 * (double)k / (double)(n - 1) : 0.5);
    status = apply_inverse(ctx, plan, top, y);
    const double size = 4 * sum_of_sizes(n, y) / (3 * (double)n);
    *best = size <= *best ? *best : size;
    return status;
}

/* *condition = the condition number |A| |A^-1|, for n > 0. */
static weft_status find_condition(weft_context *ctx, const weft_chol *plan,
                                  const weft_sparse *matrix, double *condition) {
    int least, most;
    double inverse;
    powers_of(plan, &least, &most);
    const double own = norm(matrix, 2 * least, wi_solve_room_of(plan, 1).x);
    const weft_status status = inverse_norm(ctx, plan, &most, 5, &inverse);
    *condition =
        isfinite(own * inverse) ? ldexp(own * inverse, 2 * (most - least)) : (double)INFINITY;
    return status;
}

weft_status wi_chol_size_up_by(weft_context *ctx, weft_chol *plan, double own) {
    double inverse;
    const weft_status status = inverse_norm(ctx, plan, NULL, 2, &inverse);
    plan->condition = isfinite(own * inverse) ? fmax(own * inverse, 1) : (double)INFINITY;
    return status;
}

weft_status wi_chol_size_up(weft_context *ctx, weft_chol *plan, const weft_sparse *held) {
    return wi_chol_size_up_by(ctx, plan, norm(held, 0, wi_solve_room_of(plan, 1).x));
}

weft_status weft_chol_condition(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix,
                                double *estimate) {
    static const char call[] = "weft_chol_condition";
    weft_context *own;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_over_enter(ctx, call, &own);
    if (status == WEFT_OK)
        status = wi_over_check_plan(ctx, own, call, plan);
    if (status == WEFT_OK)
        status = wi_chol_check_matrix(own, call, plan, matrix);
    if (status == WEFT_OK)
        status = wi_chol_check_factor(own, call, plan);
    if (status == WEFT_OK && !estimate)
        status = wi_fail(own, WEFT_EARG, "%s: estimate is NULL; pass where it goes", call);
    const uint64_t alike = ctx->comm && status == WEFT_OK ? wi_over_alike(matrix) : 0;
    status = wi_over_agree(ctx, own, alike, status);
    if (status != WEFT_OK)
        return wi_over_leave(ctx, own, status);
    /* an empty matrix has no rows to sum and no direction to try */
    double condition = 0;
    plan->over = ctx->comm ? ctx : NULL;
    if (plan->symbolic.n > 0)
        status = find_condition(own, plan, matrix, &condition);
    plan->over = NULL;
    if (status == WEFT_OK)
        *estimate = plan->report.condition_estimate = condition;
    return wi_over_leave(ctx, own, status);
}
