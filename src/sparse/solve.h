/* SPDX-License-Identifier: Apache-2.0 */
/* Right-hand sides that are solved together: solve.c solves, solve_range.c keeps numbers in the
 * range of double, refine.c makes the solution better. Internal. */
#ifndef WI_SPARSE_SOLVE_H
#define WI_SPARSE_SOLVE_H

#include <pthread.h>

#include "sparse/chol.h"

/* b is n x rhs, column-major; so are `out` and room.x, and y in the order of L and row-major.
 *
 * Where numbers are near the ends of the range of double the system is shifted: H z = c with
 * H = T A T, z = 2^-shift T^-1 x and c = 2^-shift T b, all powers of two, T from the plan; and
 * room.x is z. Its error by components is that of x, for T divides out of it. */
typedef struct wi_solve_group {
    weft_context *ctx;
    const weft_chol *plan;
    const weft_sparse *given, *matrix; /* the caller's A, and H */
    weft_chol_part part;
    size_t n, rhs, ldb, ldx;
    size_t first; /* column of the caller's b */
    const double *b;
    double *out;
    wi_solve_room room;
    bool shifted;
    int shift[WI_CHOL_RHS];
    double largest[WI_CHOL_RHS]; /* of room.x */
    double right[WI_CHOL_RHS];   /* the largest of b */
    wi_misfit misfit;
    double normwise;       /* |b - A x| / (|A| |x| + |b|), the largest of any column */
    double left;           /* what refinement leaves of the error of x, by its own estimate */
    size_t steps, stalled; /* of refinement; columns for which it stalled */
} wi_solve_group;

/* What is done to each row, and what it needs beside the group. */
typedef struct wi_solve_pass {
    wi_solve_group *g;
    const bool *active; /* of `correct` */
    double *sizes;      /* of `size_up`, and */
    pthread_mutex_t *lock;
} wi_solve_pass;

/* Calls `rows` for all rows, by as many threads as pay. */
void wi_solve_rows(const wi_solve_pass *p,
                   void (*rows)(const wi_solve_pass *p, size_t begin, size_t end));

/* y = A \ b, or what else the part asks for, in the order of L and shifted by g->shift. */
void wi_solve_plainly(wi_solve_group *g);

/* The misfit of room.x; and if `keep`, y = P (b - A x). */
void wi_solve_measure(wi_solve_group *g, bool keep);

/* Makes x better in at most so many steps, after wi_solve_measure(g, true), and measures it. */
void wi_solve_refine(wi_solve_group *g, int most);

/* ---- solve_range.c ---- */

/* Does what wi_solve_plainly does, from right-hand sides shifted so that nothing overflows on the
 * way. */
void wi_solve_in_range(wi_solve_group *g);

/* Shifts x so that the largest element of each column is of the order of 1. */
void wi_solve_shift_x(wi_solve_group *g);

/* Of a system that is shifted: x as the caller sees it, or WEFT_ENONFINITE if it does not fit a
 * double. Where it loses digits there, room.x loses them too. */
weft_status wi_solve_hand_out(wi_solve_group *g);

/* And its normwise error, which T does not divide out of. */
double wi_solve_normwise(wi_solve_group *g);

/* The power of two that row k of y was multiplied by as it was loaded. */
static inline int wi_solve_power(const wi_solve_group *g, size_t k) {
    return g->part == WEFT_CHOL_LT ? 0 : wi_chol_power(g->plan, g->plan->symbolic.perm[k]);
}

/* The row of b and x that row k of y is. */
static inline size_t wi_solve_row(const wi_solve_group *g, size_t k) {
    return g->part == WEFT_CHOL_A ? (size_t)g->plan->symbolic.perm[k] : k;
}

#endif
