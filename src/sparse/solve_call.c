/* SPDX-License-Identifier: Apache-2.0 */
/* The public call weft_chol_solve: its checks, all right-hand sides in groups, and the report. */
#include <math.h>
#include <string.h>

#include "core/call.h"
#include "core/gpu.h"
#include "sparse/chol_device.h"
#include "sparse/ranks.h"
#include "sparse/solve.h"

static const char name[] = "weft_chol_solve";

static weft_status check_options(weft_context *ctx, const weft_chol_solve_options *given,
                                 weft_chol_solve_options *options) {
    *options = (weft_chol_solve_options){.size = sizeof *options};
    if (given && (given->size == 0 || given->size > sizeof *given))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: options.size is %zu; set it to sizeof(weft_chol_solve_options), %zu",
                       name, given->size, sizeof *given);
    if (given)
        memcpy(options, given, given->size);
    if ((unsigned)options->part > WEFT_CHOL_LT)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: options.part is %d; it is WEFT_CHOL_A, WEFT_CHOL_L or WEFT_CHOL_LT",
                       name, (int)options->part);
    if (options->refine < 0)
        return wi_fail(ctx, WEFT_EARG, "%s: options.refine is %d; pass 0 or a number of steps",
                       name, options->refine);
    if (options->exact != 0 && options->exact != 1)
        return wi_fail(ctx, WEFT_EARG, "%s: options.exact is %d; pass 0, or 1 for exact residuals",
                       name, options->exact);
    return WEFT_OK;
}

static bool is_mixed(const weft_chol *plan) {
    return plan->precision == WEFT_PRECISION_MIXED;
}

/* How many steps of refinement, if the caller did not say: pivots that are small, or were replaced,
 * make the numbers of L large, and with them the rounding errors. */
static int default_steps(const weft_chol *plan, bool exact) {
    enum {
        MOST_STEPS = 10,
        MOST_EXACT_STEPS = 40
    };
    return exact ? MOST_EXACT_STEPS : wi_chol_has_d(plan) || is_mixed(plan) ? MOST_STEPS : 0;
}

/* The same if the caller did, or not. With an L of floats no x is right without refinement. */
static int steps_of(const weft_chol *plan, int asked, bool exact) {
    const int usual = default_steps(plan, exact);
    return asked == 0 || (is_mixed(plan) && asked < usual) ? usual : asked;
}

static weft_status check_part(weft_context *ctx, const weft_chol *plan, weft_chol_part part) {
    if (wi_chol_has_d(plan) && part != WEFT_CHOL_A)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: options.part is %d, and the factor is L D Lt; solve for WEFT_CHOL_A",
                       name, (int)part);
    if (plan->narrow && part != WEFT_CHOL_A)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: options.part is %d, and L is of f32; solve for WEFT_CHOL_A, or analyze "
                       "with WEFT_PRECISION_FULL",
                       name, (int)part);
    return WEFT_OK;
}

static weft_status tell_not_finite(weft_context *ctx, const double *column, size_t j) {
    size_t i = 0;
    while (isfinite(column[i]))
        i++;
    return wi_fail(ctx, WEFT_ENONFINITE,
                   "%s: b has a value that is not finite in row %zu of column %zu; mend it", name,
                   i, j);
}

/* The first of these columns is column `first` of the caller's. */
static weft_status check_finite(weft_context *ctx, size_t rows, size_t n, size_t first,
                                const double *b, size_t ldb) {
    for (size_t j = 0; j < n; j++) {
        if (!isfinite(wi_largest(rows, b + j * ldb)))
            return tell_not_finite(ctx, b + j * ldb, first + j);
    }
    return WEFT_OK;
}

/* The same of device memory; *g is for the first columns of b. */
static weft_status check_device_finite(const wi_solve_group *first, size_t n) {
    wi_solve_group g = *first;
    weft_status status = WEFT_OK;
    const size_t most = g.rhs;
    for (size_t j = 0; j < n && status == WEFT_OK; j += most) {
        double right[WI_CHOL_RHS];
        g.rhs = n - j < most ? n - j : most;
        g.b = first->b + j * g.ldb;
        status = wi_solve_device_largest(&g, right);
        for (size_t r = 0; r < g.rhs && status == WEFT_OK; r++) {
            double *const column = wi_chol_device_host_sides(g.plan);
            if (isfinite(right[r]))
                continue;
            status = wi_gpu_copy(g.ctx, column, g.b + r * g.ldb, g.n * sizeof *column);
            if (status == WEFT_OK)
                status = tell_not_finite(g.ctx, column, j + r);
        }
    }
    return status;
}

/* Over ranks b is looked at when all of it is there. */
static weft_status check_arrays(weft_context *ctx, bool over, size_t rows, size_t n,
                                const double *b, size_t ldb, const double *x, size_t ldx) {
    const unsigned where = ctx->kind == WI_CPU ? WI_HOST : 0;
    wi_call call = {.name = name,
                    .array = {wi_columns("b", b, rows, n, "ldb", ldb, WEFT_F64, WI_IN | where),
                              wi_columns("x", x, rows, n, "ldx", ldx, WEFT_F64, WI_OUT | where)},
                    .count = 2};
    call.array[1].in_place = 1;
    const weft_status status = wi_call_check(ctx, &call);
    if (status != WEFT_OK || over || rows == 0 || n == 0 || !wi_is_host(ctx, b))
        return status;
    return check_finite(ctx, rows, n, 0, b, ldb);
}

static void note_report(weft_chol *plan, double seconds, const wi_solve_group *all) {
    weft_chol_report *const report = &plan->report;
    report->solve_seconds = seconds;
    /* A multiplication and an addition for every entry of L, in each of the two substitutions. */
    report->solve_gflops =
        seconds > 0 ? 4e-9 * (double)report->nnz_l * (double)all->rhs / seconds : 0;
    report->backward_error = all->misfit.error[0];
    report->normwise_error = all->normwise;
    report->refinements = all->steps;
    report->stalled = all->stalled;
    report->krylov_steps = all->krylov_steps;
    report->forward_estimate = all->left;
}

static double worse(double a, double b) {
    return !(a <= b) && !isnan(b) ? a : b;
}

/* The figures over all groups so far; the errors are in misfit.error[0]. */
static void sum_up(wi_solve_group *all, const wi_solve_group *g) {
    for (size_t r = 0; r < g->rhs; r++)
        all->misfit.error[0] = worse(g->misfit.error[r], all->misfit.error[0]);
    all->normwise = worse(g->normwise, all->normwise);
    all->left = worse(g->left, all->left);
    all->steps = g->steps > all->steps ? g->steps : all->steps;
    all->stalled += g->stalled;
    all->krylov_steps += g->krylov_steps;
}

/* All right-hand sides of a call. */
typedef struct solving {
    weft_context *ctx;
    weft_chol *plan;
    const weft_sparse *matrix;
    weft_sparse scaled;
    const weft_sparse *held; /* `matrix`, or that scaled: as it was factored */
    weft_chol_part part;
    bool exact;
    int refine;
    size_t rows, n, ldb, ldx;
    const double *b;
    double *x;
    double falling_back; /* seconds */
    bool captured;       /* into a graph */
    wi_own_rows own;     /* of b and x, over ranks */
} solving;

static size_t most_together(const solving *s) {
    return s->n < WI_CHOL_RHS ? s->n : WI_CHOL_RHS;
}

/* The right-hand sides from column j on. */
static wi_solve_group group_at(const solving *s, size_t j) {
    const size_t most = most_together(s);
    double *const sides = s->plan->over ? wi_solve_room_of(s->plan, (int64_t)most).sides : NULL;
    return (wi_solve_group){.ctx = s->ctx,
                            .plan = s->plan,
                            .given = s->matrix,
                            .matrix = s->held,
                            .doubtful =
                                s->plan->narrow && s->plan->condition > wi_solve_most_certain,
                            .part = s->part,
                            .exact = s->exact,
                            .n = s->rows,
                            .rhs = s->n - j < most ? s->n - j : most,
                            .ldb = sides ? s->rows : s->ldb,
                            .ldx = sides ? s->rows : s->ldx,
                            .first = j,
                            .b = sides ? sides : s->b + j * s->ldb,
                            .out = sides ? sides : s->x + j * s->ldx};
}

/* Over ranks the right-hand sides of a group are brought together, */
static weft_status bring_in(const solving *s, const wi_solve_group *g) {
    weft_status status = WEFT_OK;
    if (!s->plan->over)
        return WEFT_OK;
    for (size_t r = 0; r < g->rhs && status == WEFT_OK; r++)
        status = wi_over_gather_rows(s->ctx, s->plan, s->part == WEFT_CHOL_A ? s->matrix : NULL,
                                     s->own.n ? s->b + (g->first + r) * s->ldb : NULL,
                                     g->out + r * s->rows);
    return status == WEFT_OK ? check_finite(s->ctx, s->rows, g->rhs, g->first, g->b, g->ldb)
                             : status;
}

/* and every rank takes its rows of the solutions. */
static void take_own(const solving *s, const wi_solve_group *g) {
    for (size_t r = 0; r < g->rhs && s->plan->over && s->own.n > 0; r++)
        memcpy(s->x + (g->first + r) * s->ldx, g->out + r * g->ldx + s->own.first,
               s->own.n * sizeof *g->out);
}

/* Where L of floats does not serve, once more with one of doubles: *g is b's group as it was. */
static weft_status solve_again(solving *s, size_t j, wi_solve_group *g) {
    const double begin = wi_now();
    weft_status status = wi_chol_fall_back(s->ctx, name, s->plan, s->matrix);
    s->falling_back = wi_now() - begin;
    if (status != WEFT_OK)
        return status;
    s->plan->report.factor_seconds += s->falling_back;
    s->held = wi_chol_balanced(s->plan, s->matrix, &s->scaled);
    *g = group_at(s, j);
    return wi_solve_columns(g, s->refine);
}

static weft_status solve_all(solving *s, wi_solve_group *all) {
    const size_t most = most_together(s);
    weft_status status = WEFT_OK;
    wi_solve_group g;
    if (s->rows == 0 || s->n == 0)
        return WEFT_OK;
    if (!s->captured && !s->plan->over && !wi_is_host(s->ctx, s->b)) {
        g = (wi_solve_group){
            .ctx = s->ctx, .plan = s->plan, .n = s->rows, .rhs = most, .b = s->b, .ldb = s->ldb};
        status = check_device_finite(&g, s->n);
    }
    if (s->part == WEFT_CHOL_A)
        s->held = wi_chol_balanced(s->plan, s->matrix, &s->scaled);
    if (status == WEFT_OK && s->plan->narrow && s->plan->condition == 0 && !s->captured)
        status = wi_chol_size_up(s->ctx, s->plan, s->held);
    for (size_t j = 0; j < s->n && status == WEFT_OK; j += most) {
        g = group_at(s, j);
        status = bring_in(s, &g);
        if (status == WEFT_OK)
            status =
                s->captured ? wi_solve_captured(&g, s->refine) : wi_solve_columns(&g, s->refine);
        if (status == WEFT_OK && g.too_narrow)
            status = solve_again(s, j, &g);
        if (status == WEFT_OK)
            take_own(s, &g);
        sum_up(all, &g);
    }
    return status;
}

/* What a graph cannot do is refused. */
static weft_status check_capture(const solving *s) {
    const bool of_a = s->part == WEFT_CHOL_A;
    const char *why = NULL;
    if (wi_is_host(s->ctx, s->b) || wi_is_host(s->ctx, s->x))
        why = "b and x have to be in device memory";
    else if (of_a && !s->matrix->there)
        why = "options.value has to be the values in device memory";
    else if (s->exact || s->plan->numbers.balance.scaled)
        why = "exact residuals, and a matrix that was scaled, are the host's";
    if (why)
        return wi_fail(s->ctx, WEFT_EUNSUPPORTED,
                       "%s: in a stream capture %s; solve before the capture", name, why);
    return wi_chol_check_capture(s->ctx, name, s->plan, (int64_t)most_together(s));
}

/* Do the host's parts of a solve need the values of A? */
static bool wants_values(const solving *s) {
    const weft_chol *const plan = s->plan;
    return !s->captured && (wi_chol_has_d(plan) || plan->narrow || plan->numbers.balance.scaled);
}

/* Solves for all right-hand sides; `held` gets values that the host needs. */
static weft_status solve_with_values(solving *s, wi_solve_group *all) {
    const weft_sparse *const given = s->matrix;
    weft_sparse own;
    if (s->part != WEFT_CHOL_A || !given->there || !wants_values(s))
        return solve_all(s, all);
    weft_status status = wi_chol_fetch(s->ctx, name, given, &own);
    if (status != WEFT_OK)
        return status;
    s->matrix = &own;
    status = solve_all(s, all);
    wi_chol_give_back(given, &own);
    s->matrix = given;
    return status;
}

static weft_status run(solving *s) {
    wi_solve_group all = {.rhs = s->n};
    const double begin = wi_now();
    const int64_t together = (int64_t)most_together(s);
    weft_status status = WEFT_OK;
    if (s->captured && s->rows == 0)
        return WEFT_OK; /* nothing to launch */
    if (s->captured)
        status = check_capture(s);
    else
        status = wi_numbers_reserve(s->ctx, name, s->plan, together);
    if (status == WEFT_OK && s->exact)
        status = wi_numbers_low(s->ctx, name, s->plan, together);
    status = wi_chol_agree(s->ctx, s->plan, status);
    if (status == WEFT_OK)
        status = solve_with_values(s, &all);
    if (s->part == WEFT_CHOL_A && status == WEFT_OK && !s->captured)
        note_report(s->plan, wi_now() - begin - s->falling_back, &all);
    return status;
}

/* All checks but those of the arrays. */
static weft_status check(const weft_context *ctx, weft_context *own, const weft_chol *plan,
                         const weft_sparse *matrix, const weft_chol_solve_options *given,
                         weft_chol_solve_options *options) {
    weft_status status = wi_over_check_plan(ctx, own, name, plan);
    if (status == WEFT_OK)
        status = check_options(own, given, options);
    if (status == WEFT_OK)
        status = check_part(own, plan, options->part);
    if (status == WEFT_OK && options->part == WEFT_CHOL_A)
        status = wi_chol_check_matrix(own, name, plan, matrix);
    if (status == WEFT_OK && options->part == WEFT_CHOL_A && options->value && ctx->comm)
        status = wi_fail(own, WEFT_EUNSUPPORTED,
                         "%s: options.value is not taken over ranks; give the matrix its new "
                         "values by weft_sparse_update",
                         name);
    return status == WEFT_OK ? wi_chol_check_factor(own, name, plan) : status;
}

/* What has to be the same on all ranks. */
static uint64_t alike(const solving *s) {
    const bool of_a = s->part == WEFT_CHOL_A;
    const uint64_t options = wi_alike(wi_alike(wi_alike(0, s->n), (uint64_t)s->part),
                                      2 * (uint64_t)s->refine + (s->exact ? 1 : 0));
    return of_a ? wi_alike(options, wi_over_alike(s->matrix)) : options;
}

/* The rest of a call, over ranks with those. */
static weft_status run_over(weft_context *ctx, solving *s) {
    s->plan->over = ctx->comm ? ctx : NULL;
    s->own = wi_chol_own_rows(s->plan, s->part == WEFT_CHOL_A ? s->matrix : NULL);
    weft_status status =
        check_arrays(s->ctx, ctx->comm, s->own.n, s->n, s->b, s->ldb, s->x, s->ldx);
    status = wi_over_agree(ctx, s->ctx, ctx->comm ? alike(s) : 0, status);
    if (status == WEFT_OK)
        status = run(s);
    s->plan->over = NULL;
    return wi_over_leave(ctx, s->ctx, status);
}

weft_status weft_chol_solve(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix,
                            const weft_chol_solve_options *options, size_t n, const double *b,
                            size_t ldb, double *x, size_t ldx) {
    weft_chol_solve_options chosen;
    weft_context *own;
    weft_sparse view;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_over_enter(ctx, name, &own);
    if (status == WEFT_OK)
        status = check(ctx, own, plan, matrix, options, &chosen);
    if (status == WEFT_OK && chosen.part == WEFT_CHOL_A && chosen.value) {
        status = wi_chol_view(own, name, matrix, chosen.value, &view);
        matrix = &view;
    }
    if (status != WEFT_OK)
        return wi_over_leave(ctx, own, wi_over_agree(ctx, own, 0, status));
    const bool exact = chosen.exact && chosen.part == WEFT_CHOL_A;
    solving s = {.ctx = own,
                 .plan = plan,
                 .matrix = matrix,
                 .part = chosen.part,
                 .exact = exact,
                 .refine = steps_of(plan, chosen.refine, exact),
                 .rows = (size_t)plan->symbolic.n,
                 .n = n,
                 .ldb = ldb,
                 .ldx = ldx,
                 .b = b,
                 .x = x,
                 .captured = own->kind == WI_CUDA && wi_gpu_capturing(own)};
    return run_over(ctx, &s);
}
