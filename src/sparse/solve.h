/* SPDX-License-Identifier: Apache-2.0 */
/* Right-hand sides that are solved together. solve_call.c has the public call, solve.c solves,
 * solve_range.c keeps numbers in the range of double, refine.c improves the solution. Internal. */
#ifndef WI_SPARSE_SOLVE_H
#define WI_SPARSE_SOLVE_H

#include <pthread.h>

#include "sparse/chol.h"

#ifdef __cplusplus
extern "C" {
#endif

/* b, `out` and room.x are n x rhs, column-major; y is row-major and in the order of L.
 *
 * If numbers are near the limits of double the system is scaled: H z = c with H = T A T, z =
 * 2^-shift T^-1 x and c = 2^-shift T b. T is from the plan, and all factors are powers of two.
 * room.x then holds z. Its componentwise error is that of x, because T cancels out. */
typedef struct wi_solve_group {
    weft_context *ctx;
    const weft_chol *plan;
    const weft_sparse *given, *matrix; /* the caller's A, and H */
    weft_chol_part part;
    size_t n, rhs, ldb, ldx;
    size_t first; /* column of the caller's b that comes first here */
    const double *b;
    double *out;
    wi_solve_room room;
    bool shifted;
    int shift[WI_CHOL_RHS];
    double largest[WI_CHOL_RHS]; /* of room.x */
    double right[WI_CHOL_RHS];   /* the largest |b|, for each column */
    wi_misfit misfit;
    double normwise;       /* |b - A x| / (|A| |x| + |b|), the largest over the columns */
    double left;           /* the estimated error of x after refinement */
    bool exact;            /* residuals are correctly rounded, */
    double *low;           /* and while x is refined it is room.x + low; n x rhs, or NULL */
    bool on_device;        /* its right-hand sides are: instead of `room` what chol_device.h says */
    size_t steps, stalled; /* steps of refinement; and the columns for which it stalled */
    bool stuck[WI_CHOL_RHS]; /* which columns those are */
    size_t krylov_steps;     /* of GMRES, over all columns */
    bool doubtful;           /* L is of floats, and A's condition is large for them */
    bool too_narrow;         /* L is of floats, and x is not there: it needs one of doubles */
} wi_solve_group;

/* An operation on each row, and what it needs besides the group. */
typedef struct wi_solve_pass {
    wi_solve_group *g;
    const bool *active; /* for `correct` */
    double *sizes;      /* for `size_up`, and the */
    pthread_mutex_t *lock;
} wi_solve_pass;

/* The same for a call that is being captured: queues all steps. */
weft_status wi_solve_captured(wi_solve_group *g, int refine);

/* Solves, and improves x in at most `refine` steps. If L of floats does not serve, g->too_narrow is
 * set, and b and `out` are as before. solve.c */
weft_status wi_solve_columns(wi_solve_group *g, int refine);

/* Calls `rows` for all rows, with as many threads as pay. */
void wi_solve_rows(const wi_solve_pass *p,
                   void (*rows)(const wi_solve_pass *p, size_t begin, size_t end));

/* y = A \ b, or the system of another part, in the order of L and shifted by g->shift. */
weft_status wi_solve_plainly(wi_solve_group *g);

/* Computes the misfit of room.x and, if `keep`, y = P (b - A x); if there is g->low, the exact
 * y = P (b - A (x + low)), rounded. */
weft_status wi_solve_measure(wi_solve_group *g, bool keep);

/* That y, and the largest |y| of each column in g->misfit.most. solve_exact_rows.c */
void wi_solve_exact_residual(wi_solve_group *g);
/* The largest |y| of column c; NaN if one is. */
double wi_solve_largest(const wi_solve_group *g, size_t c);

/* Improves x in at most `most` steps, after wi_solve_measure(g, true), and computes its misfit. */
weft_status wi_solve_refine(wi_solve_group *g, int most);

/* A backward error above this is worth GMRES. */
static const double wi_solve_large_error = 0x1p-44;

/* Up to this condition L of floats is so close to A, in all directions, that corrections shrink at
 * least fourfold, or plainly do not. */
static const double wi_solve_most_certain = 0x1p16;

/* With exact residuals, x + low is refined until corrections are this small beside x: then the many
 * smaller elements are right to their last bits, too. */
static const double wi_solve_finest = 0x1p-93;

/* x + low += d, element `at`; x is the sum, rounded. Without low, x += d. */
static inline void wi_solve_add(const wi_solve_group *g, size_t at, double d) {
    double *const x = &g->room.x[at];
    const double sum = *x + d, part = sum - *x, lost = (*x - (sum - part)) + (d - part);
    if (!g->low) {
        *x = sum;
        return;
    }
    const double rest = lost + g->low[at];
    *x = sum + rest;
    g->low[at] = rest - (*x - sum);
}

/* For L D Lt: GMRES for the columns whose backward error is still large. krylov.c */
weft_status wi_solve_krylov(wi_solve_group *g);
/* The same with exact residuals: for the columns of which refinement has stalled, down to
 * wi_solve_finest. */
weft_status wi_solve_krylov_exactly(wi_solve_group *g);
/* Is there such a column? */
bool wi_solve_wants_krylov(const wi_solve_group *g);
/* With a factor of floats: for the columns of which refinement has stalled, or whose steps did not
 * suffice, until x is right to its last bits. */
weft_status wi_solve_krylov_narrow(wi_solve_group *g);
/* All columns count as stalled until GMRES says otherwise: the sizes of corrections do not show
 * errors in what A all but takes to 0 if L of floats is far from A there. */
void wi_solve_doubt(wi_solve_group *g);
/* Is there a column that has stalled? */
bool wi_solve_is_stuck(const wi_solve_group *g);
/* Or one whose backward error is large? Where A is singular, corrections may be 0 and x wrong. */
bool wi_solve_is_unsolved(const wi_solve_group *g);

/* ---- solve_range.c ---- */

/* As wi_solve_plainly, but shifts right-hand sides so that no intermediate value overflows. */
weft_status wi_solve_in_range(wi_solve_group *g);

/* Shifts x so that the largest element of each column is of the order of 1. */
void wi_solve_shift_x(wi_solve_group *g);

/* For a shifted system: WEFT_ENONFINITE if x as the caller gets it does not fit a double. Where
 * digits are lost in x, they are removed from room.x. */
weft_status wi_solve_round(wi_solve_group *g);

/* After that: x as the caller gets it, which may overwrite b. */
void wi_solve_hand_out(wi_solve_group *g);

/* Its normwise error, in which T does not cancel out. */
double wi_solve_normwise(wi_solve_group *g);

/* ---- on a GPU: chol_solve_cuda.cu. The right-hand sides and all that follows from them stay
 * there.
 * ---- */

/* x = A \ b, or the system of another part, in the order of the caller; *plain is false, and
 * nothing is done, if numbers are near the limits of double. Finds g->right and g->largest. */
weft_status wi_solve_device_plainly(wi_solve_group *g, bool *plain);
/* As wi_solve_measure. */
weft_status wi_solve_device_measure(wi_solve_group *g, bool keep);
/* A correction from what wi_solve_device_measure kept, and its largest element, for each column. */
weft_status wi_solve_device_correction(wi_solve_group *g, double *sizes);
/* Adds it to x, for the columns asked for. */
weft_status wi_solve_device_correct(wi_solve_group *g, const bool *taken);
/* Copies x to g->out. */
weft_status wi_solve_device_hand_out(wi_solve_group *g);
/* The largest |b| of each column of device memory; NaN if there is one. */
weft_status wi_solve_device_largest(wi_solve_group *g, double *right);

/* The power of two by which row k of y was multiplied when it was loaded. */
static inline int wi_solve_power(const wi_solve_group *g, size_t k) {
    return g->part == WEFT_CHOL_LT ? 0 : wi_chol_power(g->plan, g->plan->symbolic.perm[k]);
}

/* The row of b and x that corresponds to row k of y. */
static inline size_t wi_solve_row(const wi_solve_group *g, size_t k) {
    return g->part == WEFT_CHOL_A ? (size_t)g->plan->symbolic.perm[k] : k;
}

#ifdef __cplusplus
}
#endif
#endif
