/* SPDX-License-Identifier: Apache-2.0 */
/* y = H \ y where the factors are too inaccurate: GMRES, restarted, with the factors on the right
 * as a preconditioner that may differ from step to step (Saad 1993), for substitution in f32 rounds
 * differently each time. Products with H have twice the precision of f64. */
#include <math.h>
#include <string.h>

#include "solve/system.h"

enum {
    MOST_STEPS = 40, /* between restarts */
    MOST_CYCLES = 3
};

/* The residual that ends it, relative to y, is so small because of directions that H all but
 * annihilates: much of y's part in them may be missing from d before it shows in the residual. But
 * no residual can be less than some rounding errors of H d. */
static const double wanted = 0x1p-48, noise = 0x1p-50;

/* Vectors v[0], v[1] ... are orthonormal, z[k] = H \ v[k] roughly, and H z = v h: the Hessenberg
 * matrix h is made triangular by rotations as it grows, and they turn the residual too. */
typedef struct cycle {
    wi_system *s;
    bool transposed;
    size_t n;
    double *v, *z; /* of n numbers each */
    double h[MOST_STEPS][MOST_STEPS + 1], cosine[MOST_STEPS], sine[MOST_STEPS];
    double residual[MOST_STEPS + 1];
} cycle;

static double dot(size_t n, const double *x, const double *y) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* w -= the parts along v[0] ... v[k], twice; h gets what they were. Returns what is left of |w|. */
static double orthogonalize(cycle *c, int k, double *w) {
    for (int i = 0; i <= k; i++)
        c->h[k][i] = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i <= k; i++) {
            const double *const v = c->v + (size_t)i * c->n;
            const double along = dot(c->n, v, w);
            c->h[k][i] += along;
            for (size_t e = 0; e < c->n; e++)
                w[e] -= along * v[e];
        }
    return sqrt(dot(c->n, w, w));
}

/* Turns column k of h by the rotations so far, and by one more that takes `left` to 0. */
static void rotate(cycle *c, int k, double left) {
    double *const h = c->h[k];
    for (int i = 0; i < k; i++) {
        const double upper = c->cosine[i] * h[i] + c->sine[i] * h[i + 1];
        h[i + 1] = c->cosine[i] * h[i + 1] - c->sine[i] * h[i];
        h[i] = upper;
    }
    const double size = hypot(h[k], left);
    c->cosine[k] = size > 0 ? h[k] / size : 1;
    c->sine[k] = size > 0 ? left / size : 0;
    h[k] = size;
    c->residual[k + 1] = -c->sine[k] * c->residual[k];
    c->residual[k] *= c->cosine[k];
}

/* d += z times the solution of the triangular system of k steps. */
static void add_solution(cycle *c, int k, double *d) {
    double factor[MOST_STEPS];
    for (int i = k - 1; i >= 0; i--) {
        double sum = c->residual[i];
        for (int j = i + 1; j < k; j++)
            sum -= c->h[j][i] * factor[j];
        factor[i] = c->h[i][i] > 0 ? sum / c->h[i][i] : 0;
    }
    for (int i = 0; i < k; i++)
        for (size_t e = 0; e < c->n; e++)
            d[e] += factor[i] * c->z[(size_t)i * c->n + e];
}

/* One cycle for H d = b, of which c->v holds the residual, of size `size`. */
static weft_status run_cycle(cycle *c, double size, double goal, double *d) {
    const size_t n = c->n;
    int k = 0;
    for (size_t e = 0; e < n; e++)
        c->v[e] /= size;
    c->residual[0] = size;
    while (k < MOST_STEPS && fabs(c->residual[k]) > goal) {
        double *const z = c->z + (size_t)k * n, *const w = c->v + (size_t)(k + 1) * n;
        memcpy(z, c->v + (size_t)k * n, n * sizeof *z);
        weft_status status = wi_system_apply(c->s, c->transposed, 1, &z);
        if (status == WEFT_OK)
            status = wi_system_multiply(c->s, c->transposed, z, w);
        if (status != WEFT_OK)
            return status;
        const double left = orthogonalize(c, k, w);
        if (!isfinite(left))
            break;
        rotate(c, k++, left);
        c->s->report->iterations++;
        if (left == 0)
            break;
        for (size_t e = 0; e < n; e++)
            w[e] /= left;
    }
    add_solution(c, k, d);
    return WEFT_OK;
}

/* v[0] = b - H d; returns its size in *size, and in *floor what d's own rounding makes of it. */
static weft_status find_residual(cycle *c, const double *b, const double *d, double *size,
                                 double *floor) {
    const weft_status status = wi_system_multiply(c->s, c->transposed, d, c->v);
    for (size_t e = 0; e < c->n; e++)
        c->v[e] = b[e] - c->v[e];
    *size = sqrt(dot(c->n, c->v, c->v));
    *floor = noise * (c->transposed ? c->s->norm_1 : c->s->norm) * sqrt(dot(c->n, d, d));
    return status;
}

static weft_status take_room(wi_system *s) {
    const size_t vectors = 2 * MOST_STEPS + 3;
    return s->krylov ? WEFT_OK
                     : wi_system_take_host(s, vectors * s->n * sizeof(double), &s->krylov);
}

weft_status wi_system_gmres(wi_system *s, bool transposed, double *y, bool *converged) {
    const size_t n = s->n;
    weft_status status = take_room(s);
    if (status != WEFT_OK)
        return status;
    cycle c = {.s = s, .transposed = transposed, .n = n, .v = s->krylov};
    c.z = c.v + (size_t)(MOST_STEPS + 1) * n;
    double *const b = c.z + (size_t)MOST_STEPS * n, *const d = b + n;
    memcpy(b, y, n * sizeof *b);
    memcpy(c.v, y, n * sizeof *b);
    memset(d, 0, n * sizeof *d);
    const double whole = sqrt(dot(n, b, b));
    double size = whole, floor = 0;
    for (int k = 0; k < MOST_CYCLES && size > wanted * whole && size > floor && status == WEFT_OK;
         k++) {
        status = run_cycle(&c, size, wanted * whole, d);
        if (status == WEFT_OK)
            status = find_residual(&c, b, d, &size, &floor);
    }
    if (!(size <= wanted * whole || size <= 4 * floor))
        *converged = false;
    memcpy(y, d, n * sizeof *y);
    return status;
}

weft_status wi_system_invert(wi_system *s, bool transposed, size_t count, double *const y[],
                             bool *converged) {
    weft_status status = WEFT_OK;
    if (!s->refines_inverse)
        return wi_system_apply(s, transposed, count, y);
    for (size_t k = 0; k < count && status == WEFT_OK; k++)
        status = wi_system_gmres(s, transposed, y[k], converged);
    return status;
}
