/* SPDX-License-Identifier: Apache-2.0 */
/* y = H \ y where the factors are too inaccurate: GMRES, restarted, with the factors on the right
 * as a preconditioner that may differ from step to step, for substitution in f32 rounds differently
 * each time. Products with H have twice the precision of f64. */
#include <string.h>

#include "cpu/gmres.h"
#include "solve/system.h"

enum {
    MOST_CYCLES = 3
};

/* The residual that ends it, relative to y, is so small because of directions that H all but
 * annihilates: much of y's part in them may be missing from d before it shows in the residual. But
 * no residual can be less than some rounding errors of H d. */
static const double wanted = 0x1p-48, noise = 0x1p-50;

typedef struct problem {
    wi_system *s;
    bool transposed;
} problem;

static weft_status apply(void *user, const double *v, double *z, double *w) {
    const problem *const p = user;
    memcpy(z, v, p->s->n * sizeof *z);
    const weft_status status = wi_system_apply(p->s, p->transposed, 1, &z);
    return status == WEFT_OK ? wi_system_multiply(p->s, p->transposed, z, w) : status;
}

/* r = b - H d; returns its size in *size, and in *floor what d's own rounding makes of it. */
static weft_status find_residual(const problem *p, const double *b, const double *d, double *r,
                                 double *size, double *floor) {
    const size_t n = p->s->n;
    const weft_status status = wi_system_multiply(p->s, p->transposed, d, r);
    for (size_t e = 0; e < n; e++)
        r[e] = b[e] - r[e];
    *size = wi_gmres_norm(n, r);
    *floor = noise * (p->transposed ? p->s->norm_1 : p->s->norm) * wi_gmres_norm(n, d);
    return status;
}

static weft_status take_room(wi_system *s) {
    const size_t vectors = 2 * WI_GMRES_STEPS + 3;
    return s->krylov ? WEFT_OK
                     : wi_system_take_host(s, vectors * s->n * sizeof(double), &s->krylov);
}

weft_status wi_system_gmres(wi_system *s, bool transposed, double *y, bool *converged) {
    const size_t n = s->n;
    weft_status status = take_room(s);
    if (status != WEFT_OK)
        return status;
    problem p = {.s = s, .transposed = transposed};
    wi_gmres g = {.n = n, .most = WI_GMRES_STEPS, .v = s->krylov, .apply = apply, .problem = &p};
    g.z = g.v + (size_t)(WI_GMRES_STEPS + 1) * n;
    double *const b = g.z + (size_t)WI_GMRES_STEPS * n, *const d = b + n;
    memcpy(b, y, n * sizeof *b);
    memcpy(g.v, y, n * sizeof *b);
    memset(d, 0, n * sizeof *d);
    const double whole = wi_gmres_norm(n, b);
    double size = whole, floor = 0;
    for (int k = 0; k < MOST_CYCLES && size > wanted * whole && size > floor && status == WEFT_OK;
         k++) {
        status = wi_gmres_cycle(&g, size, wanted * whole, d);
        s->report->iterations += (size_t)g.steps;
        if (status == WEFT_OK)
            status = find_residual(&p, b, d, g.v, &size, &floor);
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
