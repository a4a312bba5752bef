/* SPDX-License-Identifier: Apache-2.0 */
/* Solving with the factor: right-hand sides in groups, backward errors, refinement. */
#include <math.h>
#include <string.h>

#include "cpu/team.h"
#include "sparse/chol.h"

static const char name[] = "weft_chol_solve";

/* One group of right-hand sides. x is n x rhs, column-major, in the caller's order; so are b and
 * `out` with their own distances. */
typedef struct group {
    weft_context *ctx;
    const weft_chol *plan;
    const weft_sparse *matrix;
    size_t n, rhs, ldb, ldx;
    const double *b;
    double *out;
    wi_solve_room room;
    double error[WI_CHOL_RHS];
    size_t steps;
} group;

/* What is done to each row, and what it needs beside the group. */
typedef struct pass {
    const group *g;
    bool permuted;      /* y is in the order of L, and what it is copied to or from is not */
    double *x;          /* of `unload` */
    size_t ldx;         /* and how far apart its columns are */
    const bool *active; /* of `correct` */
} pass;

/* Not more threads than the substitutions wake. */
static int team_for(const group *g) {
    const int useful = wi_team_size(g->ctx, g->n, g->n * g->rhs * sizeof(double));
    const int most = g->plan->numbers.cut.threads;
    return useful < most ? useful : most;
}

/* What is done with rows, and what threads share. */
typedef struct rows_work {
    const pass *p;
    void (*rows)(const pass *p, size_t begin, size_t end);
} rows_work;

static void do_rows(void *user, int rank, int size) {
    const rows_work *const w = user;
    const size_t n = w->p->g->n;
    w->rows(w->p, wi_team_share(n, rank, size), wi_team_share(n, rank + 1, size));
}

static void for_rows(const pass *p, void (*rows)(const pass *p, size_t begin, size_t end)) {
    wi_team_run(p->g->ctx, team_for(p->g), do_rows, &(rows_work){p, rows});
}

/* y = P b, or b itself for L alone. */
static void load(const pass *p, size_t begin, size_t end) {
    const group *const g = p->g;
    const int64_t *const perm = g->plan->symbolic.perm;
    for (size_t k = begin; k < end; k++) {
        const size_t from = p->permuted ? (size_t)perm[k] : k;
        for (size_t r = 0; r < g->rhs; r++)
            g->room.y[k * g->rhs + r] = g->b[from + r * g->ldb];
    }
}

/* x = Pt y, or y itself; column-major. */
static void unload(const pass *p, size_t begin, size_t end) {
    const group *const g = p->g;
    const int64_t *const inverse = g->plan->symbolic.inverse;
    for (size_t i = begin; i < end; i++) {
        const size_t from = p->permuted ? (size_t)inverse[i] : i;
        for (size_t r = 0; r < g->rhs; r++)
            p->x[i + r * p->ldx] = g->room.y[from * g->rhs + r];
    }
}

static void copy_out(const pass *p, size_t begin, size_t end) {
    const group *const g = p->g;
    for (size_t i = begin; i < end; i++) {
        for (size_t r = 0; r < g->rhs; r++)
            g->out[i + r * g->ldx] = g->room.x[i + r * g->n];
    }
}

/* For the right-hand sides asked for, x += the correction in y, which keeps x as it was. */
static void correct(const pass *p, size_t begin, size_t end) {
    const group *const g = p->g;
    const int64_t *const inverse = g->plan->symbolic.inverse;
    for (size_t i = begin; i < end; i++) {
        for (size_t r = 0; r < g->rhs; r++) {
            double *const y = &g->room.y[(size_t)inverse[i] * g->rhs + r];
            double *const x = &g->room.x[i + r * g->n];
            const double before = *x;
            *x = p->active[r] ? before + *y : before;
            *y = before;
        }
    }
}

/* The backward errors of x; and if `keep`, y = P (b - A x). */
static void measure(const group *g, bool keep, double *error) {
    const wi_residual_args args = {.matrix = g->matrix,
                                   .n = g->rhs,
                                   .x = g->room.x,
                                   .ldx = g->n,
                                   .b = g->b,
                                   .ldb = g->ldb,
                                   .r = keep ? g->room.y : NULL,
                                   .place = g->plan->symbolic.inverse,
                                   .extended = true,
                                   .threads = g->plan->numbers.cut.threads,
                                   .error = error};
    wi_sparse_residual(g->ctx, &args);
}

/* Right-hand side r is again what it was before `correct`. */
static void take_back(const group *g, size_t r) {
    const int64_t *const inverse = g->plan->symbolic.inverse;
    for (size_t i = 0; i < g->n; i++)
        g->room.x[i + r * g->n] = g->room.y[(size_t)inverse[i] * g->rhs + r];
}

/* Each step solves A d = b - A x and takes x + d, as long as the error shrinks to half or less. */
static void refine(group *g, int most) {
    static const double unit = 0x1p-53;
    bool active[WI_CHOL_RHS];
    size_t left = 0;
    for (size_t r = 0; r < g->rhs; r++)
        left += active[r] = !(g->error[r] <= unit);
    for (int step = 0; step < most && left > 0; step++) {
        double error[WI_CHOL_RHS];
        bool better = false;
        if (step > 0)
            measure(g, true, error);
        wi_chol_substitute(g->ctx, g->plan, (int64_t)g->rhs, true, true);
        for_rows(&(pass){.g = g, .active = active}, correct);
        measure(g, false, error);
        for (size_t r = 0; r < g->rhs; r++) {
            if (!active[r])
                continue;
            active[r] = error[r] <= g->error[r] / 2 && error[r] > unit;
            left -= !active[r];
            if (error[r] < g->error[r]) {
                g->error[r] = error[r];
                better = true;
            } else {
                take_back(g, r);
            }
        }
        g->steps += better;
    }
}

static void solve_group(group *g, const weft_chol_solve_options *options) {
    const weft_chol_part part = options->part;
    g->room = wi_solve_room_of(g->plan, (int64_t)g->rhs);
    const bool whole = part == WEFT_CHOL_A;
    for_rows(&(pass){.g = g, .permuted = whole}, load);
    wi_chol_substitute(g->ctx, g->plan, (int64_t)g->rhs, part != WEFT_CHOL_LT, part != WEFT_CHOL_L);
    if (!whole) {
        for_rows(&(pass){.g = g, .x = g->out, .ldx = g->ldx}, unload);
        return;
    }
    for_rows(&(pass){.g = g, .permuted = true, .x = g->room.x, .ldx = g->n}, unload);
    measure(g, options->refine > 0, g->error);
    refine(g, options->refine);
    for_rows(&(pass){.g = g}, copy_out);
}

/* ---- the public call ---- */

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
    return WEFT_OK;
}

static weft_status check_finite(weft_context *ctx, size_t rows, size_t n, const double *b,
                                size_t ldb) {
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < rows; i++) {
            if (!isfinite(b[i + j * ldb]))
                return wi_fail(ctx, WEFT_ENONFINITE,
                               "%s: b has a value that is not finite in row %zu of column %zu; "
                               "mend it",
                               name, i, j);
        }
    }
    return WEFT_OK;
}

static weft_status check_arrays(weft_context *ctx, size_t rows, size_t n, const double *b,
                                size_t ldb, const double *x, size_t ldx) {
    weft_status status = wi_check_columns(ctx, name, "b", b, rows, n, ldb);
    if (status == WEFT_OK)
        status = wi_check_columns(ctx, name, "x", x, rows, n, ldx);
    if (status != WEFT_OK || rows == 0 || n == 0)
        return status;
    if (x != b || (ldx != ldb && n > 1)) {
        const size_t b_bytes = (ldb * (n - 1) + rows) * sizeof *b;
        if (wi_overlap(b, b_bytes, x, (ldx * (n - 1) + rows) * sizeof *x))
            return wi_fail(ctx, WEFT_EARG,
                           "%s: b and x overlap; pass the same array with ldx = ldb, or separate "
                           "ones",
                           name);
    }
    return check_finite(ctx, rows, n, b, ldb);
}

static void note_report(weft_chol *plan, double seconds, double error, size_t steps, size_t n) {
    weft_chol_report *const report = &plan->report;
    report->solve_seconds = seconds;
    /* A multiplication and an addition for every entry of L, in both substitutions. */
    report->solve_gflops = seconds > 0 ? 4e-9 * (double)report->nnz_l * (double)n / seconds : 0;
    report->backward_error = error;
    report->refinements = steps;
}

weft_status weft_chol_solve(weft_context *ctx, weft_chol *plan, const weft_sparse *matrix,
                            const weft_chol_solve_options *options, size_t n, const double *b,
                            size_t ldb, double *x, size_t ldx) {
    weft_chol_solve_options chosen;
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_chol_check_plan(ctx, name, plan);
    if (status == WEFT_OK)
        status = check_options(ctx, options, &chosen);
    if (status == WEFT_OK && chosen.part == WEFT_CHOL_A)
        status = wi_chol_check_matrix(ctx, name, plan, matrix);
    if (status == WEFT_OK)
        status = wi_chol_check_factor(ctx, name, plan);
    if (status != WEFT_OK)
        return status;
    const double begin = wi_chol_now();
    const size_t rows = (size_t)plan->symbolic.n, most = n < WI_CHOL_RHS ? n : WI_CHOL_RHS;
    status = check_arrays(ctx, rows, n, b, ldb, x, ldx);
    if (status == WEFT_OK)
        status = wi_numbers_reserve(ctx, name, plan, (int64_t)most);
    if (status != WEFT_OK)
        return status;
    double error = 0;
    size_t steps = 0;
    for (size_t j = 0; j < n; j += most) {
        group g = {.ctx = ctx,
                   .plan = plan,
                   .matrix = matrix,
                   .n = rows,
                   .rhs = n - j < most ? n - j : most,
                   .ldb = ldb,
                   .ldx = ldx,
                   .b = b ? b + j * ldb : NULL,
                   .out = x ? x + j * ldx : NULL};
        solve_group(&g, &chosen);
        steps = g.steps > steps ? g.steps : steps;
        for (size_t r = 0; r < g.rhs; r++)
            error = !(g.error[r] <= error) && !isnan(error) ? g.error[r] : error;
    }
    if (chosen.part == WEFT_CHOL_A)
        note_report(plan, wi_chol_now() - begin, error, steps, n);
    return WEFT_OK;
}
