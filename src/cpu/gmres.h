/* SPDX-License-Identifier: Apache-2.0 */
/* GMRES (Saad and Schultz 1986) with a preconditioner M on the right: one cycle, between two
 * restarts. The caller measures residuals and says what is good enough. */
#ifndef WI_CPU_GMRES_H
#define WI_CPU_GMRES_H

#include <stdbool.h>
#include <stddef.h>

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_GMRES_STEPS = 40 /* in a cycle, at most */
};

/* A cycle for A d = r. Its vectors v[0], v[1] ... are orthonormal, and A M v[k] is the sum of
 * h[k][i] v[i]: this Hessenberg matrix h is made triangular by rotations as it grows, and they turn
 * the right-hand side too, whose last entry is the size of the residual. */
typedef struct wi_gmres {
    /* Given: */
    size_t n;
    int most;  /* steps */
    double *v; /* most + 1 vectors of n numbers; v[0] is r, and is overwritten */
    double *z; /* `most` vectors for M v[k], which may then be another M in each step (Saad 1993);
                  or NULL: not kept */
    /* Computes z[k] = M v[k], if z is kept, and *w = A M v[k]. */
    weft_status (*apply)(void *problem, const double *v, double *z, double *w);
    void *problem;
    /* Found: */
    int steps;
    bool found; /* d has been added */
    double h[WI_GMRES_STEPS][WI_GMRES_STEPS + 1];
    double cosine[WI_GMRES_STEPS], sine[WI_GMRES_STEPS], right[WI_GMRES_STEPS + 1];
} wi_gmres;

/* Takes steps until the residual, of size `size` now, is no larger than `goal`, and adds d to `to`;
 * or M^-1 d, if no z is kept. Adds nothing if that is not finite. */
weft_status wi_gmres_cycle(wi_gmres *g, double size, double goal, double *to);

/* The 2-norm of n numbers, without overflow. NaN if one of them is. */
double wi_gmres_norm(size_t n, const double *x);

#ifdef __cplusplus
}
#endif
#endif
