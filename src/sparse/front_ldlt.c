/* SPDX-License-Identifier: Apache-2.0 */
/* L D Lt of one front. The columns of the panel are done in windows of up to 64: one thread chooses
 * the pivots in a copy of the window's square and interchanges its rows and columns; then all
 * threads of the group do the rows below, and subtract the products. Columns of a window that are
 * tiny there are left for the next window. */
#include <string.h>

#include "sparse/front.h"
#include "sparse/ldlt_simd.h"

/* The window in the panel: columns first ... first + width - 1, of which those before `end` are
 * done. They lie in one block of columns, `stride` apart. */
typedef struct window {
    const wi_front *front;
    wi_pivots pivots; /* of the supernode */
    int64_t first, width, end;
    int64_t stride;
    bool last; /* of its block of columns */
} window;

static window window_at(const wi_front *front, const wi_pivots *pivots, int64_t first) {
    const int64_t block = first / WI_BLOCK_COLUMNS * WI_BLOCK_COLUMNS;
    const int64_t left = wi_least(front->columns, block + WI_BLOCK_COLUMNS) - first;
    return (window){.front = front,
                    .pivots = *pivots,
                    .first = first,
                    .width = wi_least(left, WI_WINDOW),
                    .stride = front->height - block,
                    .last = left <= WI_WINDOW};
}

/* ---- the square: one thread ---- */

static void load_square(const window *at, wi_window *square) {
    memset(square->a, 0, (size_t)(at->width * WI_WINDOW) * sizeof *square->a);
    for (int64_t j = 0; j < at->width; j++) {
        const double *const from = wi_front_column(at->front, at->first + j) + at->first;
        for (int64_t i = j; i < at->width; i++)
            square->a[i + j * WI_WINDOW] = from[i];
    }
}

static void exchange(double *x, double *y) {
    const double kept = *x;
    *x = *y;
    *y = kept;
}

/* Exchanges rows and columns p < q of the panel, down to the last row of the window. */
static void interchange(const window *at, int64_t p, int64_t q) {
    const wi_front *const front = at->front;
    double *const column_p = wi_front_column(front, p), *const column_q = wi_front_column(front, q);
    for (int64_t j = 0; j < p; j++) {
        double *const column = wi_front_column(front, j);
        exchange(&column[p], &column[q]);
    }
    for (int64_t i = p + 1; i < q; i++)
        exchange(&column_p[i], &wi_front_column(front, i)[q]);
    exchange(&column_p[p], &column_q[q]);
    for (int64_t i = q + 1; i < at->first + at->width; i++)
        exchange(&column_p[i], &column_q[i]);
}

/* Does to the panel what was done to the square: for each of the first `count` places, the column
 * that belongs there is exchanged with the one that is there. */
static void interchange_all(const window *at, const wi_window *square, int64_t count) {
    int8_t there[WI_WINDOW];
    for (int64_t k = 0; k < at->width; k++)
        there[k] = (int8_t)k;
    for (int64_t k = 0; k < count; k++) {
        int64_t q = k;
        while (there[q] != square->order[k])
            q++;
        there[q] = there[k];
        at->pivots.swap[at->first + k] = (int32_t)(at->first + q);
        if (q > k)
            interchange(at, at->first + k, at->first + q);
    }
}

/* Factors the square in `a`; false if a column fails. Packs its L. */
static bool factor_square(window *at, const int8_t *signs, double *a, double *packed) {
    const wi_ldlt_simd *const simd = WI_OF_ISA(wi_cpu_isa(), wi_ldlt_simd);
    wi_window square = {.columns = at->width,
                        .a = a,
                        .pivots = {.d = at->pivots.d + at->first,
                                   .e = at->pivots.e + at->first,
                                   .mark = at->pivots.mark + at->first},
                        .signs = signs ? signs + at->first : NULL,
                        .tiny = at->pivots.tiny,
                        .perturb = at->pivots.perturb,
                        .last = at->last};
    load_square(at, &square);
    int64_t done = simd->factor(&square);
    if (done == 0 && !at->last && !square.failed) {
        square.last = true;
        load_square(at, &square);
        done = simd->factor(&square);
    }
    const int64_t rows = done + square.failed;
    interchange_all(at, &square, rows);
    for (int64_t k = 0; k < done; k++)
        memcpy(wi_front_column(at->front, at->first + k) + at->first + k, a + k + k * WI_WINDOW,
               (size_t)(rows - k) * sizeof *a);
    wi_dense_pack(done, a, WI_WINDOW, packed);
    at->end = at->first + done;
    return !square.failed;
}

/* ---- the rows below: all threads ---- */

/* The same interchanges of columns in rows begin ... end - 1, as far as they are below the window.
 */
static void interchange_rows(const window *at, int64_t begin, int64_t end) {
    begin = begin > at->first + at->width ? begin : at->first + at->width;
    for (int64_t k = at->first; k < at->end; k++) {
        const int64_t q = at->pivots.swap[k];
        double *const column = wi_front_column(at->front, k), *const other =
                                                                  wi_front_column(at->front, q);
        for (int64_t i = begin; i < end && q != k; i++)
            exchange(&column[i], &other[i]);
    }
}

/* Row i of the front is packed as row i - base: the rows below the window's done columns begin a
 * group. */
static void factor_rows(wi_thread_group *group, const window *at, int64_t base, double *rows,
                        double *across) {
    const int64_t begin = at->end - base, count = at->front->height - at->end;
    const int64_t step = wi_front_step(group, count), columns = at->end - at->first;
    const wi_dense_pivots pivots = {.d = at->pivots.d + at->first,
                                    .e = at->pivots.e + at->first,
                                    .mark = at->pivots.mark + at->first};
    double *const a = wi_front_column(at->front, at->first) + base;
    int64_t piece;
    while (wi_thread_group_take(group, (count + step - 1) / step, &piece)) {
        const int64_t row = begin + piece * step, below = wi_least(begin + count, row + step);
        interchange_rows(at, row + base, below + base);
        wi_dense_eliminate(row, below, columns, a, at->stride, rows);
        wi_dense_divide(row, below, columns, &pivots, rows, across, a, at->stride);
    }
    wi_thread_group_wait(group);
}

int64_t wi_front_factor_ldlt(wi_thread_group *group, const weft_chol *plan, int64_t s, double *room,
                             int64_t *shared) {
    const wi_front front = wi_front_of(plan, s, group->rank);
    const wi_pivots pivots = wi_pivots_of(plan, s);
    const int64_t most = wi_least(front.columns, WI_WINDOW);
    double *const rows = room + WI_WINDOW * most;
    double *const across = rows + wi_dense_packed(front.height + WI_DENSE_GROUP, most);
    for (int64_t k = 0; k < front.columns && (group->size == 1 || group->rank == 0); k++)
        pivots.swap[k] = (int32_t)k;
    for (int64_t first = 0; first < front.columns;) {
        window at = window_at(&front, &pivots, first);
        if (group->size == 1 || group->rank == 0) {
            const bool good = factor_square(&at, pivots.signs, room, rows);
            *shared = good ? at.end : ~at.end;
        }
        wi_thread_group_wait(group);
        if (*shared < 0)
            return ~*shared;
        at.end = *shared;
        const int64_t columns = at.end - first, base = at.end - wi_whole_groups(columns);
        factor_rows(group, &at, base, rows, across);
        wi_front_subtract(
            group, &front,
            &(wi_eliminated){
                .base = base, .end = at.end, .columns = columns, .rows = rows, .across = across});
        first = at.end;
    }
    return front.columns;
}
