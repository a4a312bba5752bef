/* SPDX-License-Identifier: Apache-2.0 */
/* Norms of the inverse of a small matrix, whatever its condition. */
#ifndef WI_SOLVE_SMALL_H
#define WI_SOLVE_SMALL_H

#include "solve/system.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_SMALL = 128 /* unknowns: some 20 ms of one core */
};

typedef struct wi_small_norms {
    double one;      /* of H^-1, in the 1-norm */
    double weighted; /* the infinity norm of H^-1 W */
} wi_small_norms;

/* Is this H one of those? Not if it comes in panels. */
static inline bool wi_is_small(const wi_system *s) {
    return s->n <= WI_SMALL && !s->args->streamed;
}

/* weight: n numbers of the host, or NULL. Infinity for an H that is singular. */
weft_status wi_small_inverse(wi_system *s, const double *weight, wi_small_norms *norms);

#ifdef __cplusplus
}
#endif
#endif
