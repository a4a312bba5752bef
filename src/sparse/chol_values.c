/* SPDX-License-Identifier: Apache-2.0 */
/* Factorizations of values that are given without a matrix, maybe in device memory; and what the
 * calls in graphs have to tell. */
#include <math.h>
#include <string.h>

#include "core/call.h"
#include "core/gpu.h"
#include "sparse/chol_device.h"
#include "sparse/ranks.h"
#include "sparse/solve.h"

static const char name[] = "weft_chol_factor_values";

static size_t entries_of(const weft_sparse *matrix) {
    return (size_t)matrix->start[matrix->cols];
}

weft_status wi_chol_view(weft_context *ctx, const char *call, const weft_sparse *matrix,
                         const double *value, weft_sparse *view) {
    const unsigned where = ctx->kind == WI_CPU ? WI_HOST : 0;
    const weft_status status = wi_call_check_one(
        ctx, call, wi_elements("value", value, entries_of(matrix), WEFT_F64, WI_IN | where));
    if (status != WEFT_OK)
        return status;
    const bool is_there = entries_of(matrix) > 0 && !wi_is_host(ctx, value);
    *view = *matrix;
    view->version = 0;
    view->value = is_there ? NULL : (double *)(uintptr_t)value;
    view->there = is_there ? value : NULL;
    return WEFT_OK;
}

weft_status wi_chol_fetch(weft_context *ctx, const char *call, const weft_sparse *view,
                          weft_sparse *own) {
    const size_t bytes = entries_of(view) * sizeof *own->value;
    *own = *view;
    if (own->value || !own->there)
        return WEFT_OK;
    own->value = wi_host_alloc(bytes);
    if (!own->value)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "%s: no memory for %zu bytes, the values of the matrix; free some", call,
                       bytes);
    own->there = NULL;
    const weft_status status = wi_gpu_copy(ctx, own->value, view->there, bytes);
    if (status != WEFT_OK)
        wi_chol_give_back(view, own);
    return status;
}

void wi_chol_give_back(const weft_sparse *view, weft_sparse *own) {
    if (own->value != view->value)
        wi_host_free(own->value);
    own->value = view->value;
}

static weft_status check_finite(weft_context *ctx, const weft_sparse *matrix) {
    size_t k = 0;
    if (isfinite(wi_largest(entries_of(matrix), matrix->value)))
        return WEFT_OK;
    while (isfinite(matrix->value[k]))
        k++;
    return wi_fail(ctx, WEFT_ENONFINITE, "%s: value %zu is %g; pass finite numbers", name, k,
                   matrix->value[k]);
}

/* Values in device memory that have to be looked at on the host. */
static weft_status factor_fetched(weft_context *ctx, weft_chol *plan, const weft_sparse *view) {
    weft_sparse own;
    weft_status status = wi_chol_fetch(ctx, name, view, &own);
    if (status != WEFT_OK)
        return status;
    status = check_finite(ctx, &own);
    if (status == WEFT_OK)
        status = wi_chol_factor(ctx, name, plan, &own);
    wi_chol_give_back(view, &own);
    return status;
}

/* Can L be computed without a look at the values on the host? */
static bool stays(const weft_chol *plan, const double facts[WI_VALUE_FIGURES]) {
    return isfinite(facts[WI_VALUE_MOST]) &&
           !wi_chol_is_extreme(plan, facts[WI_VALUE_DIAGONAL_LEAST], facts[WI_VALUE_DIAGONAL_MOST]);
}

static weft_status factor_there(weft_context *ctx, weft_chol *plan, const weft_sparse *view) {
    double facts[WI_VALUE_FIGURES];
    if (wi_chol_has_d(plan) || plan->narrow)
        return factor_fetched(ctx, plan, view);
    weft_status status = wi_numbers_reserve(ctx, name, plan, 1);
    if (status == WEFT_OK)
        status = wi_chol_device_map(ctx, name, plan, view);
    if (status == WEFT_OK)
        status = wi_chol_device_size_up(ctx, plan, view->there, facts);
    if (status != WEFT_OK)
        return status;
    return stays(plan, facts) ? wi_chol_factor(ctx, name, plan, view)
                              : factor_fetched(ctx, plan, view);
}

weft_status wi_chol_check_capture(weft_context *ctx, const char *call, const weft_chol *plan,
                                  int64_t rhs) {
    const wi_chol_device *const d = plan->device;
    if (wi_chol_gpus(plan) > 1)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: %d GPUs share the factor, which cannot be captured; call it before the "
                       "capture, or factor on one GPU",
                       call, wi_chol_gpus(plan));
    if (d && d->windows)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: L lies in host memory, for the GPU has no room for it, and cannot take "
                       "part in a stream capture; call it before the capture",
                       call);
    const bool wants_signs = plan->kind == WEFT_CHOL_QUASIDEFINITE && plan->negative;
    if (!d || !d->work || !d->mapped || d->rhs < rhs || (wants_signs && !d->has_signs))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: the plan has to take memory, which it cannot during a stream capture; "
                       "before it, weft_chol_reserve for %lld right-hand sides and factor once",
                       call, (long long)rhs);
    return WEFT_OK;
}

/* The launches decide how it goes; until somebody checks, the factor counts as there. A matrix of
 * order 0 has nothing to launch. */
static weft_status capture(weft_context *ctx, weft_chol *plan, const weft_sparse *view) {
    weft_status status = WEFT_OK;
    if (plan->symbolic.n == 0)
        return WEFT_OK;
    if (!view->there)
        status = wi_fail(ctx, WEFT_EUNSUPPORTED,
                         "%s: value is host memory, which cannot take part in a stream capture; "
                         "pass device memory",
                         name);
    if (status == WEFT_OK)
        status = wi_chol_check_capture(ctx, name, plan, 1);
    return status == WEFT_OK ? wi_chol_factor(ctx, name, plan, view) : status;
}

weft_status weft_chol_factor_values(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix,
                                    const double *value) {
    weft_sparse view;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    if (ctx->comm)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: values alone are not factored over ranks; weft_sparse_update the "
                       "matrix with each rank's, and call weft_chol_factor",
                       name);
    weft_status status = wi_over_check_plan(ctx, ctx, name, plan);
    if (status == WEFT_OK)
        status = wi_chol_check_matrix(ctx, name, plan, matrix);
    if (status == WEFT_OK)
        status = wi_chol_view(ctx, name, matrix, value, &view);
    if (status != WEFT_OK)
        return status;
    if (ctx->kind == WI_CUDA && wi_gpu_capturing(ctx))
        return capture(ctx, plan, &view);
    if (view.there)
        return factor_there(ctx, plan, &view);
    status = check_finite(ctx, &view);
    return status == WEFT_OK ? wi_chol_factor(ctx, name, plan, &view) : status;
}

/* ---- what graphs did ---- */

static double number_of(unsigned long long bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* If numbers of b and x are beyond these, something may have overflowed: see solve_range.c. */
static const double least_b = 0x1p-300, most_b = 0x1p300, most_x = 0x1p600;

/* Would a solve outside of a graph have gone on by GMRES, or with another L? */
static bool is_unsolved(const weft_chol *plan, const wi_chol_told *told) {
    return (wi_chol_has_d(plan) || plan->narrow) &&
           ((plan->narrow && told->stuck > 0) || !(number_of(told->error) <= wi_solve_large_error));
}

static weft_status judge_solves(weft_context *ctx, const char *call, const weft_chol *plan,
                                const wi_chol_told *told) {
    const double most = number_of(told->b_most), least = number_of(told->b_least);
    if (told->solved == 0)
        return WEFT_OK;
    if (!isfinite(most))
        return wi_fail(ctx, WEFT_ENONFINITE,
                       "%s: a graph solved for right-hand sides that are not finite; mend b", call);
    if (most > most_b || least < least_b || !(number_of(told->x_most) <= most_x))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: a graph solved with numbers near the limits of double, or beyond "
                       "them; solve such systems outside of a graph",
                       call);
    if (is_unsolved(plan, told))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: a graph solved a system that refinement alone does not, with a "
                       "backward error of %g; solve it outside of a graph",
                       call, number_of(told->error));
    return WEFT_OK;
}

/* How well L of floats fits the latest matrix; the largest row sum of |A| is known from solves. */
static weft_status judge_condition(weft_context *ctx, const char *call, weft_chol *plan,
                                   const wi_chol_told *told) {
    if (!plan->narrow || told->solved == 0)
        return WEFT_OK;
    const weft_status status =
        plan->condition > 0 ? WEFT_OK : wi_chol_size_up_by(ctx, plan, number_of(told->norm));
    return status == WEFT_OK && plan->condition > wi_solve_most_certain
               ? wi_fail(ctx, WEFT_EUNSUPPORTED,
                         "%s: a graph solved with an L of f32, and the matrix has a condition of "
                         "some %g; factor and solve it outside of a graph",
                         call, plan->condition)
               : status;
}

static bool has_to_be_scaled(const weft_chol *plan, const wi_chol_told *told) {
    const double most = number_of(told->value[WI_VALUE_MOST]);
    const double column = number_of(told->value[WI_VALUE_COLUMN_LEAST]);
    return wi_chol_has_d(plan)
               ? most > 0 && wi_chol_is_uneven(plan, ilogb(column), ilogb(most))
               : wi_chol_is_extreme(plan, number_of(told->value[WI_VALUE_DIAGONAL_LEAST]),
                                    number_of(told->value[WI_VALUE_DIAGONAL_MOST]));
}

/* A column had no pivot. */
static weft_status tell_failed(weft_context *ctx, const char *call, weft_chol *plan,
                               int64_t failed) {
    const long long column = (long long)plan->symbolic.perm[failed];
    if (plan->narrow)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: a graph found no pivot for column %lld (counted from 0) in f32; factor "
                       "outside of a graph, where f64 follows",
                       call, column);
    if (!wi_chol_has_d(plan))
        return wi_fail(ctx, WEFT_ENOTSPD,
                       "%s: a matrix that a graph factored is not positive definite: column %lld "
                       "(counted from 0) had no pivot; weft_chol_factor_values outside of a graph "
                       "has the proof",
                       call, column);
    const weft_status status = wi_chol_fail(ctx, call, plan, failed);
    plan->state = WI_CHOL_EMPTY;
    return status;
}

static weft_status judge_factors(weft_context *ctx, const char *call, weft_chol *plan,
                                 const wi_chol_told *told, int64_t failed) {
    if (told->factored == 0)
        return WEFT_OK;
    if (!isfinite(number_of(told->value[WI_VALUE_MOST])))
        return wi_fail(ctx, WEFT_ENONFINITE,
                       "%s: a graph factored values that are not finite; mend them", call);
    if (has_to_be_scaled(plan, told))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: a graph factored a matrix that has to be scaled; factor it outside of "
                       "a graph",
                       call);
    return failed >= 0 ? tell_failed(ctx, call, plan, failed) : WEFT_OK;
}

static void note_factored(weft_chol *plan, int64_t failed) {
    plan->device->has_diagonal = false;
    plan->state = failed >= 0 ? WI_CHOL_EMPTY : WI_CHOL_FACTORED;
    plan->on_device = true;
    plan->numbers.balance.scaled = false;
    plan->condition = 0;
    if (failed < 0)
        wi_pivots_count(plan);
}

weft_status weft_chol_check(weft_context *ctx, weft_chol *plan) {
    static const char call[] = "weft_chol_check";
    wi_chol_told told;
    int64_t failed;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_chol_check_plan(ctx, call, plan);
    if (status != WEFT_OK || ctx->kind != WI_CUDA || ctx->comm || !plan->device ||
        plan->report.n == 0)
        return status;
    if (wi_gpu_capturing(ctx))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: the stream is being captured; end the capture first", call);
    status = wi_chol_device_ask(ctx, plan, &told, &failed);
    if (status != WEFT_OK || told.factored + told.solved == 0)
        return status;
    if (told.factored > 0)
        note_factored(plan, failed);
    status = judge_factors(ctx, call, plan, &told, failed);
    if (status == WEFT_OK)
        status = judge_solves(ctx, call, plan, &told);
    if (status == WEFT_OK)
        status = judge_condition(ctx, call, plan, &told);
    if (status == WEFT_OK && told.solved > 0)
        plan->report.backward_error = number_of(told.error);
    return status;
}
