/* SPDX-License-Identifier: Apache-2.0 */
/* GMRES, for right-hand sides that refinement has not solved. Where pivots were replaced, L D Lt is
 * the factor of a matrix that differs from A in as many directions, and refinement only gains if
 * that difference is small in all of them. A factor of floats differs in every direction that A
 * maps almost to 0. GMRES needs about one step for each direction (Saad and Schultz 1986). It works
 * on A (L D Lt)^-1, one right-hand side after the other, and restarts with residuals in twice the
 * precision. */
#include <math.h>
#include <string.h>

#include "cpu/gmres.h"
#include "sparse/solve.h"

enum {
    CYCLES = 4,
    EXACT_CYCLES = 10,
    NARROW_CYCLES = 4 /* beyond these a factor of doubles is cheaper */
};

/* A backward error as small as this ends GMRES. */
static const double small = 0x1p-50;

/* A restart that does not reduce the error by this factor is the last. */
static const double gain = 0.5;

/* One right-hand side: column c of the group. Vectors are in the order of L. */
typedef struct krylov {
    wi_solve_group *g;
    size_t c, n;
    double *basis; /* WI_KRYLOV_STEPS + 1 vectors that are orthonormal */
    double *spare; /* one more */
} krylov;

/* room.y = (L D Lt)^-1 v, in column c; the other columns are 0. */
static weft_status precondition(const krylov *k, const double *v) {
    const wi_solve_group *const g = k->g;
    memset(g->room.y, 0, k->n * g->rhs * sizeof *v);
    for (size_t i = 0; i < k->n; i++)
        g->room.y[i * g->rhs + k->c] = v[i];
    return wi_chol_substitute(g->ctx, g->plan, (int64_t)g->rhs, true, true);
}

/* w = A times column c of room.y. */
static void multiply(const krylov *k, double *w) {
    const wi_solve_group *const g = k->g;
    const weft_sparse *const a = g->matrix;
    const int64_t *const inverse = g->plan->symbolic.inverse;
    const double *const y = g->room.y + k->c;
    for (size_t i = 0; i < k->n; i++) {
        double sum = 0;
        for (int64_t e = a->row_start[i]; e < a->row_start[i + 1]; e++)
            sum = fma(a->value[a->at[e]], y[(size_t)inverse[a->col[e]] * g->rhs], sum);
        for (int64_t e = a->start[i]; e < a->start[i + 1]; e++)
            sum = fma(a->value[e], y[(size_t)inverse[a->row[e]] * g->rhs], sum);
        w[inverse[i]] = sum;
    }
}

static weft_status apply(void *problem, const double *v, double *z, double *w) {
    const krylov *const k = problem;
    (void)z;
    const weft_status status = precondition(k, v);
    if (status == WEFT_OK)
        multiply(k, w);
    return status;
}

/* One cycle, from the residual in room.y: room.y = a correction of x. *found is false if there is
 * none. */
static weft_status cycle(krylov *k, bool *found) {
    wi_solve_group *const group = k->g;
    wi_gmres g = {.n = k->n, .most = WI_KRYLOV_STEPS, .v = k->basis, .apply = apply, .problem = k};
    for (size_t i = 0; i < k->n; i++)
        k->basis[i] = group->room.y[i * group->rhs + k->c];
    memset(k->spare, 0, k->n * sizeof *k->spare);
    const double size = wi_gmres_norm(k->n, k->basis);
    const weft_status status = wi_gmres_cycle(&g, size, small * size, k->spare);
    group->krylov_steps += (size_t)g.steps;
    *found = g.found;
    return status == WEFT_OK && g.found ? precondition(k, k->spare) : status;
}

/* x = x + the correction; k->spare keeps the previous x. */
static void correct(const krylov *k, double *x) {
    const wi_solve_group *const g = k->g;
    const int64_t *const inverse = g->plan->symbolic.inverse;
    memcpy(k->spare, x, k->n * sizeof *x);
    for (size_t i = 0; i < k->n; i++)
        wi_solve_add(g, i + k->c * k->n, g->room.y[(size_t)inverse[i] * g->rhs + k->c]);
}

/* Cycles for column c until its error is small, or no longer becomes smaller. Afterwards the misfit
 * is that of x. */
static weft_status solve_column(wi_solve_group *g, size_t c) {
    krylov k = {.g = g, .c = c, .n = g->n, .basis = g->room.krylov};
    double *const x = g->room.x + c * g->n;
    weft_status status = WEFT_OK;
    k.spare = k.basis + (size_t)(WI_KRYLOV_STEPS + 1) * k.n;
    for (int run = 0; run < CYCLES && status == WEFT_OK && g->misfit.error[c] > small; run++) {
        const double before = g->misfit.error[c];
        bool found;
        status = wi_solve_measure(g, true);
        if (status == WEFT_OK)
            status = cycle(&k, &found);
        if (status != WEFT_OK || !found)
            break;
        correct(&k, x);
        status = wi_solve_measure(g, false);
        const double after = g->misfit.error[c];
        if (status == WEFT_OK && !(after < before)) {
            memcpy(x, k.spare, k.n * sizeof *x);
            status = wi_solve_measure(g, false);
        }
        if (!(after <= gain * before))
            break;
    }
    return status;
}

/* Cycles for column c until the correction is as small as it has to be, `finest`; *done is false if
 * `cycles` of them do not get there. The first correction is added however large it is. */
static weft_status correct_column(wi_solve_group *g, size_t c, int cycles, double finest,
                                  bool *done) {
    krylov k = {.g = g, .c = c, .n = g->n, .basis = g->room.krylov};
    double size = (double)INFINITY;
    bool found = true;
    weft_status status = WEFT_OK;
    k.spare = k.basis + (size_t)(WI_KRYLOV_STEPS + 1) * k.n;
    *done = false;
    for (int run = 0; run < cycles && found && !*done && status == WEFT_OK; run++) {
        status = wi_solve_measure(g, true);
        *done = g->misfit.most[c] == 0;
        if (status == WEFT_OK && !*done)
            status = cycle(&k, &found);
        if (status != WEFT_OK || *done || !found)
            break;
        const double next = wi_solve_largest(g, c) / g->largest[c];
        found = next <= size / 2 || next <= 2 * finest;
        if (found)
            correct(&k, g->room.x + c * g->n);
        *done = next <= 2 * finest;
        size = next;
    }
    return status;
}

/* Corrects the columns in which refinement has stalled. */
static weft_status correct_stuck(wi_solve_group *g, int cycles, double finest) {
    weft_status status = WEFT_OK;
    for (size_t c = 0; c < g->rhs && status == WEFT_OK; c++) {
        bool done = false;
        if (!g->stuck[c])
            continue;
        status = correct_column(g, c, cycles, finest, &done);
        g->stuck[c] = !done;
        g->stalled -= done;
    }
    return status;
}

weft_status wi_solve_krylov_exactly(wi_solve_group *g) {
    return correct_stuck(g, g->plan->narrow ? NARROW_CYCLES : EXACT_CYCLES, wi_solve_finest);
}

weft_status wi_solve_krylov_narrow(wi_solve_group *g) {
    const weft_status status = correct_stuck(g, NARROW_CYCLES, 0x1p-53);
    return status == WEFT_OK ? wi_solve_measure(g, false) : status;
}

void wi_solve_doubt(wi_solve_group *g) {
    for (size_t c = 0; c < g->rhs; c++) {
        g->stalled += !g->stuck[c] && g->misfit.most[c] != 0;
        g->stuck[c] = g->stuck[c] || g->misfit.most[c] != 0;
    }
}

bool wi_solve_is_stuck(const wi_solve_group *g) {
    bool stuck = false;
    for (size_t c = 0; c < g->rhs; c++)
        stuck |= g->stuck[c];
    return stuck;
}

bool wi_solve_is_unsolved(const wi_solve_group *g) {
    return wi_solve_is_stuck(g) || wi_solve_wants_krylov(g);
}

bool wi_solve_wants_krylov(const wi_solve_group *g) {
    bool wanted = false;
    for (size_t c = 0; c < g->rhs; c++)
        wanted |= !(g->misfit.error[c] <= wi_solve_large_error);
    return wanted;
}

weft_status wi_solve_krylov(wi_solve_group *g) {
    weft_status status = WEFT_OK;
    for (size_t c = 0; c < g->rhs && status == WEFT_OK; c++) {
        if (g->misfit.error[c] <= wi_solve_large_error)
            continue;
        status = solve_column(g, c);
        g->stalled -= g->stuck[c];
        g->stalled += !(g->misfit.error[c] <= wi_solve_large_error);
    }
    return status;
}
