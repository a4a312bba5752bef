/* SPDX-License-Identifier: Apache-2.0 */
/* A cycle of GMRES. All sums are those of one thread, in one order. */
#include "cpu/gmres.h"

#include <math.h>

double wi_gmres_norm(size_t n, const double *x) {
    double most = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double size = fabs(x[i]);
        most = most >= size || isnan(most) ? most : size;
    }
    if (!(most > 0 && isfinite(most)))
        return most;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] / most) * (x[i] / most);
    return most * sqrt(sum);
}

static double dot(size_t n, const double *x, const double *y) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static void add(size_t n, double factor, const double *x, double *y) {
    for (size_t i = 0; i < n; i++)
        y[i] += factor * x[i];
}

static void divide(size_t n, double *x, double divisor) {
    for (size_t i = 0; i < n; i++)
        x[i] /= divisor;
}

/* w minus its parts along v[0] ... v[k], which h gets; twice, as once leaves rounding errors in it.
 * Returns the norm of what is left. */
static double orthogonalize(wi_gmres *g, int k, double *w) {
    double *const h = g->h[k];
    for (int i = 0; i <= k; i++)
        h[i] = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i <= k; i++) {
            const double *const v = g->v + (size_t)i * g->n;
            const double part = dot(g->n, v, w);
            h[i] += part;
            add(g->n, -part, v, w);
        }
    return wi_gmres_norm(g->n, w);
}

/* Applies the rotations so far to column k of h, and one more, which takes `left`, its last entry,
 * to 0. */
static void make_triangular(wi_gmres *g, int k, double left) {
    double *const h = g->h[k];
    for (int i = 0; i < k; i++) {
        const double upper = g->cosine[i] * h[i] + g->sine[i] * h[i + 1];
        h[i + 1] = g->cosine[i] * h[i + 1] - g->sine[i] * h[i];
        h[i] = upper;
    }
    const double size = hypot(h[k], left);
    g->cosine[k] = size > 0 ? h[k] / size : 1;
    g->sine[k] = size > 0 ? left / size : 0;
    h[k] = size;
    g->right[k + 1] = -g->sine[k] * g->right[k];
    g->right[k] *= g->cosine[k];
}

/* Solves the triangular system; false if the solution is not finite. */
static bool solve_triangular(const wi_gmres *g, double *factor) {
    for (int i = g->steps - 1; i >= 0; i--) {
        double sum = g->right[i];
        for (int j = i + 1; j < g->steps; j++)
            sum -= g->h[j][i] * factor[j];
        factor[i] = g->h[i][i] > 0 ? sum / g->h[i][i] : 0;
        if (!isfinite(factor[i]))
            return false;
    }
    return true;
}

weft_status wi_gmres_cycle(wi_gmres *g, double size, double goal, double *to) {
    const size_t n = g->n;
    double factor[WI_GMRES_STEPS];
    g->steps = 0;
    g->found = size > 0 && isfinite(size);
    if (!g->found)
        return WEFT_OK;
    divide(n, g->v, size);
    g->right[0] = size;
    while (g->steps < g->most && fabs(g->right[g->steps]) > goal) {
        const int k = g->steps;
        double *const v = g->v + (size_t)k * n, *const w = v + n;
        const weft_status status = g->apply(g->problem, v, g->z ? g->z + (size_t)k * n : NULL, w);
        if (status != WEFT_OK)
            return status;
        const double left = orthogonalize(g, k, w);
        if (!isfinite(left))
            break;
        make_triangular(g, k, left);
        g->steps++;
        if (left == 0)
            break;
        divide(n, w, left);
    }
    g->found = solve_triangular(g, factor);
    for (int k = 0; k < g->steps && g->found; k++)
        add(n, factor[k], (g->z ? g->z : g->v) + (size_t)k * n, to);
    return WEFT_OK;
}
