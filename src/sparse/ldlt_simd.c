/* SPDX-License-Identifier: Apache-2.0 */
/* L D Lt of the square of a window of columns, for one instruction set. Pivots of one or two
 * columns are chosen as Bunch and Kaufman do, with the bounded search of Ashcraft, Grimes and Lewis
 * (1998): no entry of L inside the window is larger than 2.79. After each pivot all columns that
 * are left are updated at once; every entry is one chain of fma, in the order of the pivots. */
#include "sparse/ldlt_simd.h"

#include <math.h>

#include "cpu/lanes.h"

/* (1 + sqrt(17)) / 8: as large as the growth of one pivot of two columns and of two pivots of one
 * allow. */
static const double enough = 0.6403882032022076;

static double *at(const wi_window *w, int64_t i, int64_t j) {
    return w->a + (i > j ? i + j * WI_WINDOW : j + i * WI_WINDOW);
}

/* The largest entry of column j in rows from k on, without the diagonal: NaN or infinite if one
 * is. */
static double largest_beside(const wi_window *w, int64_t k, int64_t j, int64_t *row) {
    double most = 0;
    *row = j;
    for (int64_t i = k; i < w->columns; i++) {
        const double size = i == j ? 0 : fabs(*at(w, i, j));
        if (size > most || !(size < INFINITY)) {
            most = size;
            *row = i;
        }
        if (!(most < INFINITY))
            break;
    }
    return most;
}

static void exchange(double *x, double *y) {
    const double kept = *x;
    *x = *y;
    *y = kept;
}

/* Exchanges rows and columns p < q, those of L included. */
static void interchange(wi_window *w, int64_t p, int64_t q) {
    if (p == q)
        return;
    for (int64_t i = 0; i < w->columns; i++) {
        if (i != p && i != q)
            exchange(at(w, i, p), at(w, i, q));
    }
    exchange(at(w, p, p), at(w, q, q));
    const int8_t kept = w->order[p];
    w->order[p] = w->order[q];
    w->order[q] = kept;
}

/* A search for a pivot: one column p, or two, p and q. */
typedef struct choice {
    int64_t p, q; /* q < 0: one column */
    bool tiny, finite;
} choice;

static choice search(const wi_window *w, int64_t k) {
    choice c = {.p = k, .q = -1, .finite = true};
    int64_t next;
    double size = largest_beside(w, k, k, &next);
    const double own = fabs(*at(w, k, k));
    c.finite = size < INFINITY && own < INFINITY;
    c.tiny = size <= w->tiny && own <= w->tiny;
    while (c.finite && !c.tiny) {
        int64_t after;
        if (fabs(*at(w, c.p, c.p)) >= enough * size)
            return c;
        const double size_next = largest_beside(w, k, next, &after);
        const double other = fabs(*at(w, next, next));
        c.finite = size_next < INFINITY && other < INFINITY;
        if (other >= enough * size_next) {
            c.p = next;
            return c;
        }
        if (!(size_next > size)) {
            c.q = next;
            return c;
        }
        c.p = next;
        next = after;
        size = size_next;
    }
    return c;
}

/* sum = the columns after k, minus l times the entries of `beside`: rows that are all in whole
 * vectors, so that a few above the diagonal are computed too, and ignored. */
static void subtract(wi_window *w, int64_t k, const double *l, const double *beside) {
    for (int64_t j = k; j < w->columns; j++) {
        double *const to = w->a + j * WI_WINDOW;
        const wi_doubles factor = wi_splat(beside[j]);
        for (int64_t i = j / WI_WIDE * WI_WIDE; i < w->columns; i += WI_WIDE)
            wi_store(to + i, wi_minus_product(wi_load(l + i), factor, wi_load(to + i)));
    }
}

static void eliminate_one(wi_window *w, int64_t k, double pivot) {
    double beside[WI_WINDOW], *const l = w->a + k * WI_WINDOW;
    w->pivots.d[k] = pivot;
    w->pivots.e[k] = 0;
    for (int64_t i = k + 1; i < w->columns; i++) {
        beside[i] = l[i];
        l[i] /= pivot;
    }
    l[k] = 1;
    subtract(w, k + 1, l, beside);
}

static void eliminate_two(wi_window *w, int64_t k) {
    double first[WI_WINDOW], second[WI_WINDOW];
    double *const l = w->a + k * WI_WINDOW, *const m = l + WI_WINDOW;
    w->pivots.d[k] = l[k];
    w->pivots.d[k + 1] = m[k + 1];
    w->pivots.e[k] = l[k + 1];
    w->pivots.e[k + 1] = 0;
    w->pivots.mark[k] = WI_PIVOT_FIRST;
    w->pivots.mark[k + 1] = WI_PIVOT_SECOND;
    for (int64_t i = k + 2; i < w->columns; i++) {
        first[i] = l[i];
        second[i] = m[i];
        wi_dense_divide_pair(l[k], w->pivots.e[k], m[k + 1], &l[i], &m[i]);
    }
    l[k] = m[k + 1] = 1;
    l[k + 1] = 0;
    subtract(w, k + 2, l, first);
    subtract(w, k + 2, m, second);
}

/* Column k alone is the pivot, although it is tiny or has the wrong sign; false if it may not be
 * replaced. */
static bool replace(wi_window *w, int64_t k, double sign) {
    const double pivot = *at(w, k, k);
    w->pivots.d[k] = pivot;
    if (!w->perturb || !isfinite(pivot)) {
        w->failed = true;
        return false;
    }
    w->pivots.mark[k] = WI_PIVOT_CHANGED;
    eliminate_one(w, k, copysign(w->tiny, sign));
    return true;
}

static int64_t factor_in_order(wi_window *w) {
    for (int64_t k = 0; k < w->columns; k++) {
        const double pivot = *at(w, k, k), sign = w->signs[k];
        w->pivots.mark[k] = WI_PIVOT_ONE;
        if (pivot * sign > w->tiny && pivot * sign < INFINITY)
            eliminate_one(w, k, pivot);
        else if (!replace(w, k, sign))
            return k;
    }
    return w->columns;
}

/* The columns from `tail` on are those that were tiny when they were looked at. They may no longer
 * be after other columns were eliminated, and are then looked at again. */
static int64_t factor_by_choice(wi_window *w) {
    int64_t k = 0, tail = w->columns;
    bool changed = false;
    while (k < w->columns) {
        if (k == tail && changed) {
            tail = w->columns;
            changed = false;
        }
        w->pivots.mark[k] = WI_PIVOT_ONE;
        if (k == tail) {
            if (!w->last)
                return k;
            if (!replace(w, k, *at(w, k, k)))
                return k;
            tail = w->columns;
            k++;
            continue;
        }
        const choice c = search(w, k);
        if (!c.finite) {
            w->pivots.d[k] = NAN;
            w->failed = true;
            return k;
        }
        if (c.tiny) {
            interchange(w, k, --tail);
            continue;
        }
        changed = true;
        interchange(w, k, c.p);
        if (c.q < 0) {
            eliminate_one(w, k, *at(w, k, k));
            k++;
        } else {
            interchange(w, k + 1, c.q == k ? c.p : c.q);
            eliminate_two(w, k);
            k += 2;
        }
    }
    return k;
}

static int64_t factor(wi_window *w) {
    w->failed = false;
    for (int64_t k = 0; k < w->columns; k++)
        w->order[k] = (int8_t)k;
    return w->signs ? factor_in_order(w) : factor_by_choice(w);
}

const wi_ldlt_simd WI_FOR_ISA(wi_ldlt_simd) = {.factor = factor};
