/* SPDX-License-Identifier: Apache-2.0 */
/* The report about a factorization, and the condition number. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "sparse/chol.h"

/* The bytes needed for the threads of this context, or for those that the memory was sized for. */
static size_t bytes_needed(const weft_context *ctx, const weft_chol *plan) {
    wi_cut cut = plan->numbers.cut;
    if (!plan->numbers.panel)
        wi_cut_measure(&plan->symbolic, ctx->threads, plan->least_work, &cut);
    const int64_t rhs = plan->numbers.rhs > 1 ? plan->numbers.rhs : 1;
    return plan->report.analysis_bytes + wi_numbers_bytes(plan, &cut, rhs);
}

weft_status weft_chol_get_report(weft_context *ctx, const weft_chol *plan,
                                 weft_chol_report *report) {
    static const char call[] = "weft_chol_get_report";
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
    whole.size = report->size;
    whole.bytes_needed = bytes_needed(ctx, plan);
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

/* y = 2^(-2 top) A^-1 y, with the factor of A or of T A T. */
static void apply_inverse(const weft_context *ctx, const weft_chol *plan, int top, double *y) {
    const int64_t n = plan->symbolic.n, *const perm = plan->symbolic.perm;
    for (int64_t k = 0; k < n && plan->numbers.balance.scaled; k++)
        y[k] = ldexp(y[k], wi_chol_power(plan, perm[k]) - top);
    wi_chol_substitute(ctx, plan, 1, true, true);
    for (int64_t k = 0; k < n && plan->numbers.balance.scaled; k++)
        y[k] = ldexp(y[k], wi_chol_power(plan, perm[k]) - top);
}

static double sum_of_sizes(size_t n, const double *y) {
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += fabs(y[k]);
    return sum;
}

/* An estimate of 2^(-2 top) |A^-1|; not finite if that is too large for a double.
 *
 * |A^-1| in the 1-norm is the maximum of |A^-1 x| over |x| = 1, and is reached at a unit vector.
 * From x the steepest ascent leads to e[j], where j is the largest element of z = A^-1 sign(A^-1
 * x), unless x is a local maximum: |z[j]| <= zt x. Finally a vector is tried for which this ascent
 * is known to fail. The permutation of A does not change the result. */
static double inverse_norm(const weft_context *ctx, const weft_chol *plan, int top) {
    enum {
        MOST_STEPS = 5
    };
    const size_t n = (size_t)plan->symbolic.n;
    const wi_solve_room room = wi_solve_room_of(plan, 1);
    double *const y = room.y, *const x = room.x;
    double best = 0;
    for (size_t k = 0; k < n; k++)
        x[k] = y[k] = 1 / (double)n;
    for (int step = 0; step < MOST_STEPS; step++) {
        size_t highest = 0;
        double along = 0;
        apply_inverse(ctx, plan, top, y);
        const double size = sum_of_sizes(n, y);
        if (!isfinite(size))
            return size;
        if (!(size > best))
            break;
        best = size;
        for (size_t k = 0; k < n; k++)
            y[k] = copysign(1, y[k]);
        apply_inverse(ctx, plan, top, y);
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
    apply_inverse(ctx, plan, top, y);
    const double size = 4 * sum_of_sizes(n, y) / (3 * (double)n);
    return size <= best ? best : size;
}

/* The condition number |A| |A^-1|, for n > 0. */
static double condition_of(const weft_context *ctx, const weft_chol *plan,
                           const weft_sparse *matrix) {
    int least, most;
    powers_of(plan, &least, &most);
    const double product =
        norm(matrix, 2 * least, wi_solve_room_of(plan, 1).x) * inverse_norm(ctx, plan, most);
    return isfinite(product) ? ldexp(product, 2 * (most - least)) : (double)INFINITY;
}

weft_status weft_chol_condition(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix,
                                double *estimate) {
    static const char call[] = "weft_chol_condition";
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_chol_check_plan(ctx, call, plan);
    if (status == WEFT_OK)
        status = wi_chol_check_matrix(ctx, call, plan, matrix);
    if (status == WEFT_OK)
        status = wi_chol_check_factor(ctx, call, plan);
    if (status != WEFT_OK)
        return status;
    if (!estimate)
        return wi_fail(ctx, WEFT_EARG, "%s: estimate is NULL; pass where it goes", call);
    /* an empty matrix has no rows to sum and no direction to try */
    *estimate = plan->symbolic.n > 0 ? condition_of(ctx, plan, matrix) : 0;
    plan->report.condition_estimate = *estimate;
    return WEFT_OK;
}
