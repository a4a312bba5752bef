/* SPDX-License-Identifier: Apache-2.0 */
/* Norms of matrices that can only be multiplied by, several together: a solution with two
 * right-hand sides takes hardly longer than with one. */
#include <math.h>

#include "solve/system.h"

enum {
    MOST_STEPS = 5
};

static double sum_of_sizes(size_t n, const double *y) {
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += fabs(y[k]);
    return sum;
}

static void begin(wi_ascent *a, size_t n) {
    for (size_t k = 0; k < n; k++)
        a->x[k] = a->y[k] = 1 / (double)n;
    a->norm = 0;
    a->step = 0;
    a->phase = WI_ASCENT_APPLY;
}

/* The last vector to be tried, for which the ascent is known to fail. */
static void begin_waves(wi_ascent *a, size_t n) {
    for (size_t k = 0; k < n; k++)
        a->y[k] = (k % 2 ? -1 : 1) * (n > 1 ? 0.5 + 0.5 * (double)k / (double)(n - 1) : 0.5);
    a->phase = WI_ASCENT_WAVES;
}

/* y = M x has been found: its size is the norm so far, and its signs the way up. */
static void weigh_size(wi_ascent *a, size_t n) {
    const double size = sum_of_sizes(n, a->y);
    if (!isfinite(size)) {
        a->norm = (double)INFINITY;
        a->phase = WI_ASCENT_ENDED;
    } else if (!(size > a->norm)) {
        begin_waves(a, n);
    } else {
        a->norm = size;
        for (size_t k = 0; k < n; k++)
            a->y[k] = copysign(1, a->y[k]);
        a->phase = WI_ASCENT_TURN;
    }
}

/* y = Mt sign(M x) has been found: its largest element names the unit vector to go to, unless x is
 * a local maximum. */
static void choose_vector(wi_ascent *a, size_t n) {
    size_t highest = 0;
    double along = 0;
    for (size_t k = 0; k < n; k++) {
        along += a->y[k] * a->x[k];
        highest = fabs(a->y[k]) > fabs(a->y[highest]) ? k : highest;
    }
    if (++a->step == MOST_STEPS || !(fabs(a->y[highest]) > along)) {
        begin_waves(a, n);
        return;
    }
    for (size_t k = 0; k < n; k++)
        a->x[k] = a->y[k] = k == highest;
    a->phase = WI_ASCENT_APPLY;
}

static void advance(wi_ascent *a, size_t n) {
    if (a->phase == WI_ASCENT_APPLY) {
        weigh_size(a, n);
    } else if (a->phase == WI_ASCENT_TURN) {
        choose_vector(a, n);
    } else {
        a->norm = wi_larger(4 * sum_of_sizes(n, a->y) / (3 * (double)n), a->norm);
        a->phase = WI_ASCENT_ENDED;
    }
}

/* Is H^-t what the ascent needs next, rather than H^-1? */
static bool needs_transpose(const wi_ascent *a) {
    return (a->phase == WI_ASCENT_TURN) != (a->weight != NULL);
}

static void multiply_by_weights(const wi_ascent *a, size_t n) {
    for (size_t k = 0; k < n && a->weight; k++)
        a->y[k] *= a->weight[k];
}

typedef struct climb {
    size_t n;
    wi_inverse *inverse;
    void *user;
} climb;

/* The next step of those that need H^-1, or H^-t. */
static weft_status step(const climb *c, wi_ascent *all, int count, bool transposed,
                        bool *converged) {
    double *y[WI_ASCENTS];
    wi_ascent *chosen[WI_ASCENTS];
    int some = 0;
    for (int k = 0; k < count; k++)
        if (all[k].phase != WI_ASCENT_ENDED && needs_transpose(&all[k]) == transposed) {
            chosen[some] = &all[k];
            y[some++] = all[k].y;
        }
    for (int k = 0; k < some; k++)
        if (chosen[k]->phase == WI_ASCENT_TURN)
            multiply_by_weights(chosen[k], c->n);
    const weft_status status =
        some > 0 ? c->inverse(c->user, transposed, (size_t)some, y, converged) : WEFT_OK;
    for (int k = 0; k < some && status == WEFT_OK; k++) {
        if (chosen[k]->phase != WI_ASCENT_TURN)
            multiply_by_weights(chosen[k], c->n);
        advance(chosen[k], c->n);
    }
    return status;
}

weft_status wi_ascend(size_t n, wi_ascent *all, int count, wi_inverse *inverse, void *user,
                      bool *converged) {
    const climb c = {n, inverse, user};
    weft_status status = WEFT_OK;
    bool ended = false;
    for (int k = 0; k < count; k++)
        begin(&all[k], n);
    for (bool transposed = false; !ended && *converged && status == WEFT_OK;
         transposed = !transposed) {
        status = step(&c, all, count, transposed, converged);
        ended = true;
        for (int k = 0; k < count; k++)
            ended = ended && all[k].phase == WI_ASCENT_ENDED;
    }
    return status;
}

double wi_forward_bound(weft_type type, double condition, double growth, double norm) {
    const double unit = type == WEFT_F64 ? 0x1p-53 : 0x1p-24;
    const bool is_known = condition * unit * fmax(growth, 1) < 0x1p-3;
    return is_known && !isnan(norm) ? 3 * norm : (double)INFINITY;
}
