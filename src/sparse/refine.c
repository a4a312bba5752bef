/* SPDX-License-Identifier: Apache-2.0 */
/* Iterative refinement: x + d with A d = b - A x, repeated. The residual is summed in twice the
 * precision of double, so each step reduces the error by a factor of about cond(A) 2^-53, down to
 * the last bits of x. The backward error is at 2^-53 after the first step and shows no further
 * progress, but the sizes of the corrections do (Demmel, Hida, Kahan, Li, Mukherjee and Riedy
 * 2006). With exact residuals x is the sum of two numbers until the end. */
#include <math.h>

#include "sparse/solve.h"

static const double unit = 0x1p-53;

/* x += the correction in y, for the right-hand sides asked for. */
static void correct(const wi_solve_pass *p, size_t begin, size_t end) {
    const wi_solve_group *const g = p->g;
    const int64_t *const inverse = g->plan->symbolic.inverse;
    for (size_t i = begin; i < end; i++) {
        const double *const y = g->room.y + (size_t)inverse[i] * g->rhs;
        for (size_t r = 0; r < g->rhs; r++)
            wi_solve_add(g, i + r * g->n, p->active[r] ? y[r] : 0);
    }
}

/* The largest element of each correction; NaN if there is one. */
static void size_up(const wi_solve_pass *p, size_t begin, size_t end) {
    const size_t rhs = p->g->rhs;
    double most[WI_CHOL_RHS] = {0};
    for (size_t k = begin; k < end; k++) {
        const double *const y = p->g->room.y + k * rhs;
        for (size_t r = 0; r < rhs; r++)
            most[r] = !(fabs(y[r]) <= most[r]) && !isnan(most[r]) ? fabs(y[r]) : most[r];
    }
    pthread_mutex_lock(p->lock);
    for (size_t r = 0; r < rhs; r++) {
        if (!(most[r] <= p->sizes[r]) && !isnan(p->sizes[r]))
            p->sizes[r] = most[r];
    }
    pthread_mutex_unlock(p->lock);
}

/* The correction from what wi_solve_measure kept, and its size for each right-hand side. */
static weft_status find_correction(wi_solve_group *g, double *sizes) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (g->on_device)
        return wi_solve_device_correction(g, sizes);
    const weft_status status = wi_chol_substitute(g->ctx, g->plan, (int64_t)g->rhs, true, true);
    if (status == WEFT_OK)
        wi_solve_rows(&(wi_solve_pass){.g = g, .sizes = sizes, .lock = &lock}, size_up);
    pthread_mutex_destroy(&lock);
    return status;
}

static weft_status take_correction(wi_solve_group *g, const bool *taken) {
    if (g->on_device)
        return wi_solve_device_correct(g, taken);
    wi_solve_rows(&(wi_solve_pass){.g = g, .active = taken}, correct);
    return WEFT_OK;
}

/* Judges the corrections of all active right-hand sides. */
static void judge_all(wi_solve_group *g, wi_refining *state, const double *sizes) {
    for (size_t r = 0; r < g->rhs; r++) {
        const bool asked = state[r].active;
        state[r].taken = false;
        if (asked)
            wi_judge(&state[r], sizes[r] / g->largest[r], g->low ? wi_solve_finest : unit,
                     g->plan->narrow);
        g->stuck[r] = g->stuck[r] || (asked && !state[r].taken);
        g->stalled += asked && !state[r].taken;
    }
}

static size_t count_active(const wi_solve_group *g, const wi_refining *state) {
    size_t count = 0;
    for (size_t r = 0; r < g->rhs; r++)
        count += state[r].active;
    return count;
}

weft_status wi_solve_refine(wi_solve_group *g, int most) {
    wi_refining state[WI_CHOL_RHS];
    for (size_t r = 0; r < g->rhs; r++)
        state[r] = wi_progress_of(most > 0 && g->misfit.most[r] != 0);
    weft_status status = WEFT_OK;
    for (int step = 0; step < most && count_active(g, state) > 0 && status == WEFT_OK; step++) {
        double sizes[WI_CHOL_RHS] = {0};
        bool taken[WI_CHOL_RHS], any = false;
        status = find_correction(g, sizes);
        if (status != WEFT_OK)
            break;
        judge_all(g, state, sizes);
        for (size_t r = 0; r < g->rhs; r++)
            any |= taken[r] = state[r].taken;
        if (!any)
            break;
        g->steps++;
        status = take_correction(g, taken);
        if (status == WEFT_OK)
            status = wi_solve_measure(g, step + 1 < most && count_active(g, state) > 0);
    }
    for (size_t r = 0; r < g->rhs; r++) {
        /* it took all steps */
        const bool is_short = (g->low || g->plan->narrow) && state[r].active && !g->stuck[r];
        g->stuck[r] = g->stuck[r] || is_short;
        g->stalled += is_short;
        g->left = fmax(g->left, state[r].left);
    }
    return status;
}
