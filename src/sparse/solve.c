/* SPDX-License-Identifier: Apache-2.0 */
/* Solving with the factor: a group of right-hand sides, and the errors of the solution. */
#include "sparse/solve.h"
#include "sparse/chol_device.h"

#include <math.h>
#include <string.h>

#include "core/call.h"
#include "core/gpu.h"
#include "cpu/team.h"

/* How many threads: at most as many as the substitutions wake. */
static int team_for(const wi_solve_group *g) {
    const int useful = wi_team_size(g->ctx, g->n, g->n * g->rhs * sizeof(double));
    const int most = wi_chol_team(g->ctx, g->plan);
    return useful < most ? useful : most;
}

/* The operation on rows, with the arguments of the threads. */
typedef struct rows_work {
    const wi_solve_pass *p;
    void (*rows)(const wi_solve_pass *p, size_t begin, size_t end);
} rows_work;

static void do_rows(void *user, int rank, int size) {
    const rows_work *const w = user;
    const size_t n = w->p->g->n;
    w->rows(w->p, wi_team_share(n, rank, size), wi_team_share(n, rank + 1, size));
}

void wi_solve_rows(const wi_solve_pass *p,
                   void (*rows)(const wi_solve_pass *p, size_t begin, size_t end)) {
    wi_team_run(p->g->ctx, team_for(p->g), do_rows, &(rows_work){p, rows});
}

/* y = P b; b itself for L alone. */
static void load(const wi_solve_pass *p, size_t begin, size_t end) {
    const wi_solve_group *const g = p->g;
    for (size_t k = begin; k < end; k++) {
        const double *const b = g->b + wi_solve_row(g, k);
        double *const y = g->room.y + k * g->rhs;
        for (size_t r = 0; r < g->rhs; r++)
            y[r] = g->shifted ? ldexp(b[r * g->ldb], wi_solve_power(g, k) - g->shift[r])
                              : b[r * g->ldb];
    }
}

/* x = Pt y, or y itself; column-major. */
static void unload(const wi_solve_pass *p, size_t begin, size_t end) {
    const wi_solve_group *const g = p->g;
    const int64_t *const inverse = g->plan->symbolic.inverse;
    for (size_t i = begin; i < end; i++) {
        const size_t from = g->part == WEFT_CHOL_A ? (size_t)inverse[i] : i;
        for (size_t r = 0; r < g->rhs; r++)
            g->room.x[i + r * g->n] = g->room.y[from * g->rhs + r];
    }
}

static void copy_out(const wi_solve_pass *p, size_t begin, size_t end) {
    const wi_solve_group *const g = p->g;
    for (size_t i = begin; i < end; i++) {
        for (size_t r = 0; r < g->rhs; r++)
            g->out[i + r * g->ldx] = g->room.x[i + r * g->n];
    }
}

weft_status wi_solve_plainly(wi_solve_group *g) {
    wi_solve_rows(&(wi_solve_pass){.g = g}, load);
    return wi_chol_substitute(g->ctx, g->plan, (int64_t)g->rhs, g->part != WEFT_CHOL_LT,
                              g->part != WEFT_CHOL_L);
}

weft_status wi_solve_measure(wi_solve_group *g, bool keep) {
    if (g->on_device)
        return wi_solve_device_measure(g, keep);
    const wi_numbers *const numbers = &g->plan->numbers;
    const wi_residual_args args = {.matrix = g->matrix,
                                   .n = g->rhs,
                                   .x = g->room.x,
                                   .ldx = g->n,
                                   .b = g->b,
                                   .ldb = g->ldb,
                                   .r = keep && !g->low ? g->room.y : NULL,
                                   .place = g->plan->symbolic.inverse,
                                   .extended = true,
                                   .threads = wi_chol_team(g->ctx, g->plan),
                                   .misfit = &g->misfit,
                                   .largest = g->largest,
                                   .shift = g->shifted ? g->shift : NULL,
                                   .power =
                                       numbers->balance.scaled ? numbers->balance.power : NULL};
    for (size_t r = 0; r < g->rhs; r++)
        g->largest[r] = wi_largest(g->n, g->room.x + r * g->n);
    wi_sparse_residual(g->ctx, &args);
    if (keep && g->low)
        wi_solve_exact_residual(g);
    return WEFT_OK;
}

static double normwise(const wi_solve_group *g) {
    double most = 0;
    for (size_t r = 0; r < g->rhs; r++) {
        const double size = g->misfit.norm * g->largest[r] + g->right[r];
        const double error = g->misfit.most[r] == 0 ? 0 : g->misfit.most[r] / size;
        most = !(error <= most) ? error : most;
    }
    return most;
}

static weft_status hand_out(wi_solve_group *g) {
    if (g->on_device)
        return wi_solve_device_hand_out(g);
    if (g->shifted)
        wi_solve_hand_out(g);
    else
        wi_solve_rows(&(wi_solve_pass){.g = g}, copy_out);
    return WEFT_OK;
}

static weft_status round_and_hand_out(wi_solve_group *g) {
    const weft_status status = g->shifted ? wi_solve_round(g) : WEFT_OK;
    return status == WEFT_OK ? hand_out(g) : status;
}

/* GMRES; right-hand sides on a GPU are moved to the host for it. */
static weft_status run_krylov(wi_solve_group *g, weft_status (*krylov)(wi_solve_group *g)) {
    if (!g->on_device)
        return krylov(g);
    wi_solve_group at_host = *g;
    double *const b = wi_chol_device_host_sides(g->plan);
    double *const x = wi_chol_device_sides_of(g->plan, (int64_t)g->rhs).solution;
    const size_t bytes = g->n * g->rhs * sizeof *x;
    at_host.on_device = false;
    at_host.room = wi_solve_room_of(g->plan, (int64_t)g->rhs);
    at_host.b = b;
    at_host.ldb = g->n;
    weft_status status = wi_gpu_copy(g->ctx, at_host.room.x, x, bytes);
    for (size_t r = 0; r < g->rhs && status == WEFT_OK; r++)
        status = wi_gpu_copy(g->ctx, b + r * g->n, g->b + r * g->ldb, g->n * sizeof *b);
    if (status == WEFT_OK)
        status = krylov(&at_host);
    if (status == WEFT_OK)
        status = wi_gpu_copy(g->ctx, x, at_host.room.x, bytes);
    at_host.on_device = true;
    at_host.b = g->b;
    at_host.ldb = g->ldb;
    *g = at_host;
    return status;
}

/* GMRES, where it is needed. */
static weft_status try_krylov(wi_solve_group *g) {
    if (g->plan->narrow)
        return wi_solve_is_stuck(g) ? run_krylov(g, wi_solve_krylov_narrow) : WEFT_OK;
    return wi_chol_has_d(g->plan) && wi_solve_wants_krylov(g) ? run_krylov(g, wi_solve_krylov)
                                                              : WEFT_OK;
}

/* What is left to do for x + low; then room.x is the sum, rounded. */
static weft_status settle_exactly(wi_solve_group *g) {
    const bool wanted = wi_chol_has_d(g->plan) || g->plan->narrow;
    const weft_status status = wanted ? wi_solve_krylov_exactly(g) : WEFT_OK;
    g->low = NULL;
    return status == WEFT_OK ? wi_solve_measure(g, false) : status;
}

/* After x is there for the first time. */
static weft_status improve(wi_solve_group *g, int refine) {
    if (g->part != WEFT_CHOL_A || (g->shifted && !isfinite(wi_largest(g->n * g->rhs, g->room.x)))) {
        g->too_narrow = g->plan->narrow;
        return g->too_narrow ? WEFT_OK : round_and_hand_out(g);
    }
    if (g->exact) {
        g->low = g->plan->numbers.low;
        memset(g->low, 0, g->n * g->rhs * sizeof *g->low);
    }
    weft_status status = wi_solve_measure(g, refine > 0);
    if (status == WEFT_OK)
        status = wi_solve_refine(g, refine);
    if (status == WEFT_OK && g->doubtful)
        wi_solve_doubt(g);
    if (status == WEFT_OK && g->low)
        status = settle_exactly(g);
    if (status == WEFT_OK && refine > 0 && !g->exact)
        status = try_krylov(g);
    if (status == WEFT_OK && g->plan->narrow && wi_solve_is_unsolved(g)) {
        g->too_narrow = true;
        return WEFT_OK;
    }
    if (status == WEFT_OK && g->shifted)
        status = wi_solve_round(g);
    if (status != WEFT_OK)
        return status;
    g->normwise = g->shifted ? wi_solve_normwise(g) : normwise(g); /* while b is still there */
    return hand_out(g);
}

static weft_status solve_group(wi_solve_group *g, int refine) {
    g->room = wi_solve_room_of(g->plan, (int64_t)g->rhs);
    weft_status status = wi_solve_in_range(g);
    if (status != WEFT_OK)
        return status;
    wi_solve_rows(&(wi_solve_pass){.g = g}, unload);
    if (g->shifted)
        wi_solve_shift_x(g);
    return improve(g, refine);
}

/* The same for arrays of which some are memory of a GPU, by way of the plan's host memory. */
static weft_status solve_by_host(wi_solve_group *g, int refine) {
    double *const b = wi_chol_device_host_sides(g->plan), *const x = b + g->n * g->rhs;
    wi_solve_group at_host = *g;
    weft_status status = WEFT_OK;
    at_host.on_device = false;
    for (size_t r = 0; r < g->rhs && status == WEFT_OK; r++)
        status = wi_gpu_copy(g->ctx, b + r * g->n, g->b + r * g->ldb, g->n * sizeof *b);
    at_host.b = b;
    at_host.out = x;
    at_host.ldb = at_host.ldx = g->n;
    if (status == WEFT_OK)
        status = solve_group(&at_host, refine);
    for (size_t r = 0; r < g->rhs && status == WEFT_OK && !at_host.too_narrow; r++)
        status = wi_gpu_copy(g->ctx, g->out + r * g->ldx, x + r * g->n, g->n * sizeof *x);
    *g = at_host;
    return status;
}

/* The same for values that may be on the device only. */
static weft_status solve_fetched(wi_solve_group *g, int refine) {
    const weft_sparse *const given = g->given, *const matrix = g->matrix;
    weft_sparse own;
    if (!given || given->value || !given->there)
        return solve_by_host(g, refine);
    weft_status status = wi_chol_fetch(g->ctx, "weft_chol_solve", given, &own);
    if (status != WEFT_OK)
        return status;
    g->given = g->matrix = &own; /* where values are not fetched before, the matrix is not scaled */
    status = solve_by_host(g, refine);
    wi_chol_give_back(given, &own);
    g->given = given;
    g->matrix = matrix;
    return status;
}

static weft_status solve_on_device(wi_solve_group *g, int refine) {
    bool plain;
    if (g->exact)
        return solve_fetched(g, refine);
    g->on_device = true;
    const weft_status status = wi_solve_device_plainly(g, &plain);
    if (status != WEFT_OK)
        return status;
    return plain ? improve(g, refine) : solve_fetched(g, refine);
}

weft_status wi_solve_columns(wi_solve_group *g, int refine) {
    return g->plan->on_device ? solve_on_device(g, refine) : solve_group(g, refine);
}
