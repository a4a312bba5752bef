/* SPDX-License-Identifier: Apache-2.0 */
/* Norms of matrices that can only be multiplied by, several together: a solution with two
 * right-hand sides takes hardly longer than with one. */
#include <math.h>

#include "solve/system.h"

enum {
    MOST_STEPS = 5,
    LANES = 8
};

/* Sums are those of lanes that do not wait for each other. */
static double sum_of_lanes(const double *lane) {
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

static double sum_of_sizes(size_t n, const double *y) {
    double lane[LANES] = {0};
    size_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (size_t l = 0; l < LANES; l++)
            lane[l] += fabs(y[k + l]);
    for (; k < n; k++)
        lane[0] += fabs(y[k]);
    return sum_of_lanes(lane);
}

static double dot(size_t n, const double *x, const double *y) {
    double lane[LANES] = {0};
    size_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (size_t l = 0; l < LANES; l++)
            lane[l] += x[k + l] * y[k + l];
    for (; k < n; k++)
        lane[0] += x[k] * y[k];
    return sum_of_lanes(lane);
}

/* The number of the first of the largest elements. */
static size_t highest_of(size_t n, const double *y) {
    double lane[LANES] = {0}, most = 0;
    size_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (size_t l = 0; l < LANES; l++)
            lane[l] = fabs(y[k + l]) > lane[l] ? fabs(y[k + l]) : lane[l];
    for (; k < n; k++)
        lane[0] = fabs(y[k]) > lane[0] ? fabs(y[k]) : lane[0];
    for (size_t l = 0; l < LANES; l++)
        most = lane[l] > most ? lane[l] : most;
    for (k = 0; k < n && !(fabs(y[k]) == most); k++)
        continue;
    return k < n ? k : 0;
}

/* The waves are a vector for which the ascent is known to fail. */
static void begin(wi_ascent *a, size_t n) {
    for (size_t k = 0; k < n; k++) {
        a->x[k] = a->y[k] = 1 / (double)n;
        a->waves[k] = (k % 2 ? -1 : 1) * (n > 1 ? 0.5 + 0.5 * (double)k / (double)(n - 1) : 0.5);
    }
    a->norm = 0;
    a->step = 0;
    a->phase = WI_ASCENT_APPLY;
}

/* The norm is not less than what the waves show. */
static void end(wi_ascent *a, size_t n) {
    a->norm = wi_larger(4 * sum_of_sizes(n, a->waves) / (3 * (double)n), a->norm);
    a->phase = WI_ASCENT_ENDED;
}

/* y = M x has been found: its size is the norm so far, and its signs the way up. */
static void weigh_size(wi_ascent *a, size_t n) {
    const double size = sum_of_sizes(n, a->y);
    if (!isfinite(size)) {
        a->norm = (double)INFINITY;
        a->phase = WI_ASCENT_ENDED;
    } else if (!(size > a->norm)) {
        end(a, n);
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
    const size_t highest = highest_of(n, a->y);
    if (++a->step == MOST_STEPS || !(fabs(a->y[highest]) > dot(n, a->x, a->y))) {
        end(a, n);
        return;
    }
    for (size_t k = 0; k < n; k++)
        a->x[k] = a->y[k] = k == highest;
    a->phase = WI_ASCENT_APPLY;
}

/* Is H^-t what the ascent needs next, rather than H^-1? */
static bool needs_transpose(const wi_ascent *a) {
    return (a->phase == WI_ASCENT_TURN) != (a->weight != NULL);
}

static void multiply_by_weights(const wi_ascent *a, size_t n, double *y) {
    for (size_t k = 0; k < n && a->weight; k++)
        y[k] *= a->weight[k];
}

/* M times the waves is found together with the first M x. */
static bool begins(const wi_ascent *a) {
    return a->phase == WI_ASCENT_APPLY && a->step == 0;
}

typedef struct climb {
    size_t n;
    wi_inverse *inverse;
    void *user;
} climb;

/* The next step of those that need H^-1, or H^-t. */
static weft_status step(const climb *c, wi_ascent *all, int count, bool transposed,
                        bool *converged) {
    double *y[WI_ASCENT_COLUMNS];
    wi_ascent *chosen[WI_ASCENTS];
    int some = 0, columns = 0;
    for (int k = 0; k < count; k++)
        if (all[k].phase != WI_ASCENT_ENDED && needs_transpose(&all[k]) == transposed) {
            chosen[some++] = &all[k];
            y[columns++] = all[k].y;
            if (begins(&all[k]))
                y[columns++] = all[k].waves;
            if (all[k].phase == WI_ASCENT_TURN)
                multiply_by_weights(&all[k], c->n, all[k].y);
        }
    const weft_status status =
        some > 0 ? c->inverse(c->user, transposed, (size_t)columns, y, converged) : WEFT_OK;
    for (int k = 0; k < some && status == WEFT_OK; k++) {
        wi_ascent *const a = chosen[k];
        if (begins(a))
            multiply_by_weights(a, c->n, a->waves);
        if (a->phase == WI_ASCENT_TURN) {
            choose_vector(a, c->n);
        } else {
            multiply_by_weights(a, c->n, a->y);
            weigh_size(a, c->n);
        }
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
