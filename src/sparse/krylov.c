/* SPDX-License-Identifier: Apache-2.0 */
/* GMRES, for right-hand sides that refinement has not solved: where pivots were replaced, L D Lt is
 * the factor of a matrix that differs from A in as many directions, and refinement only gains if
 * that difference is small in all of them. GMRES needs about one step for each direction (Saad and
 * Schultz 1986). It works on A (L D Lt)^-1, one right-hand side after the other, and restarts with
 * residuals in twice the precision. All sums are those of one thread, in one order. */
#include <math.h>
#include <string.h>

#include "sparse/solve.h"

enum {
    STEPS = WI_KRYLOV_STEPS,
    CYCLES = 4
};

/* A backward error above this is worth GMRES, and one as small as that ends it. */
static const double large = 0x1p-44, small = 0x1p-50;

/* A restart that does not reduce the error by this factor is the last. */
static const double gain = 0.5;

/* One right-hand side: column c of the group. Vectors are in the order of L. */
typedef struct krylov {
    wi_solve_group *g;
    size_t c, n;
    double *basis;                     /* STEPS + 1 vectors that are orthonormal */
    double *kept;                      /* the x of before */
    double h[STEPS][STEPS + 1];        /* column k of the Hessenberg matrix, made triangular */
    double cosine[STEPS], sine[STEPS]; /* of the rotations that do so */
    double right[STEPS + 1];           /* the right-hand side, rotated as well */
} krylov;

static double dot(size_t n, const double *x, const double *y) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum = fma(x[i], y[i], sum);
    return sum;
}

/* Without overflow: x is divided by its largest element first. */
static double norm(size_t n, const double *x) {
    const double most = wi_largest(n, x);
    double sum = 0;
    for (size_t i = 0; i < n && most > 0; i++)
        sum = fma(x[i] / most, x[i] / most, sum);
    return most * sqrt(sum);
}

/* room.y = (L D Lt)^-1 v, in column c; the other columns are 0. */
static weft_status precondition(krylov *k, const double *v) {
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

/* w minus its parts along the vectors 0 ... step; twice, as once leaves rounding errors in it. */
static void orthogonalize(krylov *k, int step, double *w) {
    double *const h = k->h[step];
    for (int i = 0; i <= step + 1; i++)
        h[i] = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i <= step; i++) {
            const double *const v = k->basis + (size_t)i * k->n;
            const double part = dot(k->n, v, w);
            h[i] += part;
            for (size_t j = 0; j < k->n; j++)
                w[j] = fma(-part, v[j], w[j]);
        }
    }
    h[step + 1] = norm(k->n, w);
}

static void scale(size_t n, double *x, double factor) {
    for (size_t i = 0; i < n; i++)
        x[i] /= factor;
}

static void rotate(double cosine, double sine, double *x, double *y) {
    const double a = *x, b = *y;
    *x = cosine * a + sine * b;
    *y = cosine * b - sine * a;
}

/* Applies the rotations so far to column `step`, and finds the one that makes its last entry 0. */
static void make_triangular(krylov *k, int step) {
    double *const h = k->h[step];
    for (int i = 0; i < step; i++)
        rotate(k->cosine[i], k->sine[i], &h[i], &h[i + 1]);
    const double size = hypot(h[step], h[step + 1]);
    k->cosine[step] = size > 0 ? h[step] / size : 1;
    k->sine[step] = size > 0 ? h[step + 1] / size : 0;
    rotate(k->cosine[step], k->sine[step], &h[step], &h[step + 1]);
    k->right[step + 1] = 0;
    rotate(k->cosine[step], k->sine[step], &k->right[step], &k->right[step + 1]);
}

/* basis[0] = the combination of `steps` vectors that leaves the least residual; false if it is not
 * finite. */
static bool combine(krylov *k, int steps) {
    double y[STEPS];
    for (int i = steps - 1; i >= 0; i--) {
        double sum = k->right[i];
        for (int j = i + 1; j < steps; j++)
            sum = fma(-k->h[j][i], y[j], sum);
        y[i] = k->h[i][i] != 0 ? sum / k->h[i][i] : 0;
        if (!isfinite(y[i]))
            return false;
    }
    for (size_t i = 0; i < k->n; i++) {
        double sum = 0;
        for (int j = 0; j < steps; j++)
            sum = fma(y[j], k->basis[(size_t)j * k->n + i], sum);
        k->basis[i] = sum;
    }
    return true;
}

/* One cycle, from the residual in room.y: room.y = a correction of x. *found is false if there is
 * none. */
static weft_status cycle(krylov *k, bool *found) {
    wi_solve_group *const g = k->g;
    weft_status status = WEFT_OK;
    int step = 0;
    for (size_t i = 0; i < k->n; i++)
        k->basis[i] = g->room.y[i * g->rhs + k->c];
    const double size = norm(k->n, k->basis);
    *found = size > 0 && isfinite(size);
    if (!*found)
        return WEFT_OK;
    scale(k->n, k->basis, size);
    k->right[0] = size;
    while (step < STEPS && fabs(k->right[step]) > small * size) {
        double *const w = k->basis + (size_t)(step + 1) * k->n;
        status = precondition(k, w - k->n);
        if (status != WEFT_OK)
            return status;
        multiply(k, w);
        orthogonalize(k, step, w);
        const double next = k->h[step][step + 1];
        make_triangular(k, step);
        step++;
        g->krylov_steps++;
        if (!(next > 0 && isfinite(next)))
            break;
        scale(k->n, w, next);
    }
    *found = combine(k, step);
    return *found ? precondition(k, k->basis) : WEFT_OK;
}

/* x = x + the correction; the x of before is kept. */
static void correct(const krylov *k, double *x) {
    const wi_solve_group *const g = k->g;
    const int64_t *const inverse = g->plan->symbolic.inverse;
    memcpy(k->kept, x, k->n * sizeof *x);
    for (size_t i = 0; i < k->n; i++)
        x[i] += g->room.y[(size_t)inverse[i] * g->rhs + k->c];
}

/* Cycles for column c until its error is small, or no longer becomes smaller. Afterwards the misfit
 * is that of x. */
static weft_status solve_column(wi_solve_group *g, size_t c) {
    krylov k = {.g = g, .c = c, .n = g->n, .basis = g->room.krylov};
    double *const x = g->room.x + c * g->n;
    weft_status status = WEFT_OK;
    k.kept = k.basis + (size_t)(STEPS + 1) * k.n;
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
            memcpy(x, k.kept, k.n * sizeof *x);
            status = wi_solve_measure(g, false);
        }
        if (!(after <= gain * before))
            break;
    }
    return status;
}

weft_status wi_solve_krylov(wi_solve_group *g) {
    weft_status status = WEFT_OK;
    for (size_t c = 0; c < g->rhs && status == WEFT_OK; c++) {
        if (g->misfit.error[c] <= large)
            continue;
        status = solve_column(g, c);
        g->stalled -= g->stuck[c];
        g->stalled += !(g->misfit.error[c] <= large);
    }
    return status;
}
