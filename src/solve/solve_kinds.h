/* SPDX-License-Identifier: Apache-2.0 */
/* Systems of a chosen condition, for tests. */
#ifndef WEFT_SOLVE_KINDS_H
#define WEFT_SOLVE_KINDS_H

#include "solve/solve_rig.h"
#include "solve/system.h"

enum {
    MOST_REFLECTED = 1000 /* rows */
};

/* a = (1 - 2 u ut) a for a random unit vector u; or from the right. */
static inline void reflect(test_random *r, size_t n, double *a, bool right) {
    double u[MOST_REFLECTED], size = 0;
    for (size_t i = 0; i < n; i++) {
        u[i] = test_unit(r);
        size += u[i] * u[i];
    }
    for (size_t k = 0; k < n; k++) {
        double along = 0;
        for (size_t i = 0; i < n; i++)
            along += u[i] * a[right ? k * n + i : i * n + k];
        for (size_t i = 0; i < n; i++)
            a[right ? k * n + i : i * n + k] -= 2 * u[i] * along / size;
    }
}

/* Makes this rung run, where it can solve such a system. */
static inline bool use_rung(weft_context *ctx, const char *name, const linear_system *s) {
    const wi_solve_args call = {.type = s->type, .spd = s->spd, .n = s->n, .rhs = s->rhs};
    for (size_t k = 0; k < wi_solve_ladder.count; k++) {
        const wi_row *const row = &wi_solve_ladder.rows[k];
        if (strcmp(row->name, name) == 0 && wi_row_serves(row, ctx) &&
            wi_row_can(row, ctx, s->type, &call)) {
            test_use(ctx, "solve", row);
            return true;
        }
    }
    return false;
}

/* Singular values from 1 down to 1 / condition. */
static inline void fill_condition(test_random *r, linear_system *s, double condition) {
    const size_t n = s->n;
    memset(s->a, 0, n * n * sizeof *s->a);
    for (size_t i = 0; i < n; i++)
        s->a[i * (n + 1)] = pow(condition, -(double)i / (double)(n - 1));
    for (int k = 0; k < 4; k++) {
        const test_random same = *r;
        reflect(r, n, s->a, false);
        if (s->spd)
            *r = same;
        reflect(r, n, s->a, true);
    }
    for (size_t i = 0; i < n && s->spd; i++)
        for (size_t j = 0; j < i; j++)
            s->a[i * n + j] = s->a[j * n + i];
    for (size_t k = 0; k < n * s->rhs; k++)
        s->b[k] = test_unit(r);
}

#endif
