/* SPDX-License-Identifier: Apache-2.0 */
/* Solving near the limits of double: right-hand sides and solutions are shifted by powers of two,
 * which rounds nothing, so that an overflow can only occur if the result itself does not fit. */
#include <limits.h>
#include <math.h>

#include "sparse/solve.h"

/* If numbers of b and x are between these, their products and quotients with those of an unscaled
 * matrix stay in the range of double. */
static const double least_b = 0x1p-300, most_b = 0x1p300, most_x = 0x1p600;

/* If numbers of y or x still overflow, the right-hand side is shifted down by this power of two as
 * well. */
static const int farther = 900;

/* The power of two of the largest number of b after loading. */
static int exponent_of(const wi_solve_group *g, size_t r) {
    int most = INT_MIN;
    for (size_t k = 0; k < g->n; k++) {
        const double b = g->b[wi_solve_row(g, k) + r * g->ldb];
        if (b != 0 && ilogb(b) + wi_solve_power(g, k) > most)
            most = ilogb(b) + wi_solve_power(g, k);
    }
    return most == INT_MIN ? 0 : most;
}

static void choose_shifts(wi_solve_group *g, int more) {
    g->shifted = true;
    for (size_t r = 0; r < g->rhs; r++)
        g->shift[r] = exponent_of(g, r) + more;
}

static bool is_plain(wi_solve_group *g) {
    bool plain = !g->plan->numbers.balance.scaled;
    for (size_t r = 0; r < g->rhs; r++) {
        const double most = g->right[r] = wi_largest(g->n, g->b + r * g->ldb);
        plain = plain && (most == 0 || (most >= least_b && most <= most_b));
    }
    return plain;
}

weft_status wi_solve_in_range(wi_solve_group *g) {
    g->shifted = false;
    if (!is_plain(g))
        choose_shifts(g, 0);
    const weft_status status = wi_solve_plainly(g);
    if (status != WEFT_OK || wi_largest(g->n * g->rhs, g->room.y) <= most_x)
        return status;
    choose_shifts(g, farther);
    return wi_solve_plainly(g);
}

void wi_solve_shift_x(wi_solve_group *g) {
    for (size_t r = 0; r < g->rhs; r++) {
        double *const x = g->room.x + r * g->n;
        const double most = wi_largest(g->n, x);
        if (most == 0 || !isfinite(most))
            continue;
        const int power = ilogb(most);
        for (size_t i = 0; i < g->n; i++)
            x[i] = ldexp(x[i], -power);
        g->shift[r] += power;
    }
}

/* The power of two that turns row i of room.x into the caller's x. */
static int power_of(const wi_solve_group *g, size_t i, size_t r) {
    const int64_t at = g->part == WEFT_CHOL_A ? (int64_t)i : g->plan->symbolic.perm[i];
    return g->shift[r] + (g->part == WEFT_CHOL_L ? 0 : wi_chol_power(g->plan, at));
}

weft_status wi_solve_round(wi_solve_group *g) {
    for (size_t r = 0; r < g->rhs; r++) {
        for (size_t i = 0; i < g->n; i++) {
            if (!isfinite(ldexp(g->room.x[i + r * g->n], power_of(g, i, r))))
                return wi_fail(g->ctx, WEFT_ENONFINITE,
                               "weft_chol_solve: row %zu of the solution for column %zu of b, "
                               "counted from 0, is too large for a double; scale b down",
                               i, g->first + r);
        }
    }
    for (size_t r = 0; r < g->rhs; r++) {
        for (size_t i = 0; i < g->n; i++) {
            double *const x = &g->room.x[i + r * g->n];
            const int power = power_of(g, i, r);
            *x = ldexp(ldexp(*x, power), -power);
        }
    }
    return WEFT_OK;
}

void wi_solve_hand_out(wi_solve_group *g) {
    for (size_t r = 0; r < g->rhs; r++) {
        for (size_t i = 0; i < g->n; i++)
            g->out[i + r * g->ldx] = ldexp(g->room.x[i + r * g->n], power_of(g, i, r));
    }
}

/* The infinity norm of A; long double, here and below, for its larger range of exponents. */
static long double norm_of(const weft_sparse *m) {
    long double most = 0;
    for (size_t i = 0; i < m->rows; i++) {
        long double sum = 0;
        for (int64_t k = m->row_start[i]; k < m->row_start[i + 1]; k++)
            sum += fabs(m->value[m->at[k]]);
        for (int64_t k = m->start[i]; k < m->start[i + 1]; k++)
            sum += fabs(m->value[k]);
        most = fmaxl(most, sum);
    }
    return most;
}

double wi_solve_normwise(wi_solve_group *g) {
    const int64_t *const inverse = g->plan->symbolic.inverse;
    const long double norm = norm_of(g->given);
    long double most = 0;
    (void)wi_solve_measure(g, true); /* not on a device: cannot fail */
    for (size_t c = 0; c < g->rhs; c++) {
        long double r = 0, x = 0;
        for (size_t i = 0; i < g->n; i++) {
            const int power = wi_chol_power(g->plan, (int64_t)i);
            const double left = g->room.y[(size_t)inverse[i] * g->rhs + c];
            r = fmaxl(r, ldexpl((long double)fabs(left), g->shift[c] - power));
            x = fmaxl(x, ldexpl(fabs(g->room.x[i + c * g->n]), g->shift[c] + power));
        }
        most = fmaxl(most, r > 0 ? r / (norm * x + g->right[c]) : 0);
    }
    return (double)most;
}
