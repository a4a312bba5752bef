/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a factorization: the report, and the condition number. */
#include <math.h>
#include <string.h>

#include "sparse/chol.h"

/* Bytes for the threads of this context, or for those that the memory was taken for. */
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

/* The largest |a_ij|, made smaller where a sum of some might overflow. */
static double scale_of(const weft_sparse *matrix) {
    double most = 0;
    for (int64_t k = 0; k < matrix->start[matrix->cols]; k++)
        most = fmax(most, fabs(matrix->value[k]));
    return most > 1 ? most * 0x1p-100 : most;
}

/* The 1-norm of A / scale: the largest column sum. `sum` has room for n. */
static double norm(const weft_sparse *matrix, double scale, double *sum) {
    double most = 0;
    memset(sum, 0, matrix->cols * sizeof *sum);
    for (size_t j = 0; j < matrix->cols; j++) {
        for (int64_t k = matrix->start[j]; k < matrix->start[j + 1]; k++) {
            const double size = fabs(matrix->value[k]) / scale;
            const size_t i = (size_t)matrix->row[k];
            sum[j] += size;
            sum[i] += i == j ? 0 : size;
        }
    }
    for (size_t j = 0; j < matrix->cols; j++)
        most = fmax(most, sum[j]);
    return most;
}

static double sum_of_sizes(size_t n, const double *y) {
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += fabs(y[k]);
    return sum;
}

/* scale |A^-1|, which is in the range of double whatever the size of A, if the scale follows it.
 *
 * |A^-1| in the 1-norm is the most that |A^-1 x| is for |x| = 1, and is reached at a unit vector.
 * From x the steepest way up is e[j], j the largest element of z = A^-1 sign(A^-1 x), unless x is a
 * maximum of its neighbourhood, |z[j]| <= zt x. The last vector tried is one that this climb is
 * known to miss. The permutation of A changes nothing of it. */
static double inverse_norm(const weft_context *ctx, const weft_chol *plan, double scale) {
    enum {
        MOST_STEPS = 5
    };
    const size_t n = (size_t)plan->symbolic.n;
    const wi_solve_room room = wi_solve_room_of(plan, 1);
    double *const y = room.y, *const x = room.x;
    double best = 0;
    for (size_t k = 0; k < n; k++) {
        x[k] = 1 / (double)n;
        y[k] = scale / (double)n;
    }
    for (int step = 0; step < MOST_STEPS; step++) {
        size_t top = 0;
        double along = 0;
        wi_chol_substitute(ctx, plan, 1, true, true);
        const double size = sum_of_sizes(n, y);
        if (!(size > best))
            break;
        best = size;
        for (size_t k = 0; k < n; k++)
            y[k] = copysign(scale, y[k]);
        wi_chol_substitute(ctx, plan, 1, true, true);
        for (size_t k = 0; k < n; k++) {
            along += y[k] * x[k];
            top = fabs(y[k]) > fabs(y[top]) ? k : top;
        }
        if (fabs(y[top]) <= along)
            break;
        for (size_t k = 0; k < n; k++) {
            x[k] = k == top;
            y[k] = k == top ? scale : 0;
        }
    }
    for (size_t k = 0; k < n; k++)
        y[k] = (k % 2 ? -scale : scale) * (n > 1 ? 0.5 + 0.5 * (double)k / (double)(n - 1) : 0.5);
    wi_chol_substitute(ctx, plan, 1, true, true);
    return fmax(best, 4 * sum_of_sizes(n, y) / (3 * (double)n));
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
    const double scale = scale_of(matrix);
    *estimate = 0; /* an empty matrix has neither rows to sum up nor a worst direction */
    if (plan->symbolic.n > 0)
        *estimate =
            norm(matrix, scale, wi_solve_room_of(plan, 1).x) * inverse_norm(ctx, plan, scale);
    plan->report.condition_estimate = *estimate;
    return WEFT_OK;
}
