/* SPDX-License-Identifier: Apache-2.0 */
/* One front: assembled from the matrix and the children's updates, then factored, by one thread or
 * by all. Every entry is the result of the same operations in the same order, whoever does them. */
#include "sparse/front.h"

#include "sparse/dense.h"

enum {
    PANEL_COLUMNS = 128,  /* factored at a time */
    PANEL_ROWS = 256,     /* a piece of work, in rows of the panel */
    UPDATE_ROWS = 512,    /* and of the update */
    ASSEMBLE_COLUMNS = 32 /* and, in columns, of the assembly */
};

wi_front wi_front_of(const weft_chol *plan, int64_t s, double *own) {
    const wi_numbers *const numbers = &plan->numbers;
    return (wi_front){.height = wi_super_height(&plan->symbolic, s),
                      .columns = wi_super_columns(&plan->symbolic, s),
                      .panel = numbers->l + numbers->panel[s],
                      .update = wi_reach(numbers->update[s], own, numbers->shared)};
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Column j of the front from its diagonal down: element i of it is at [i], i >= j. */
static double *column_of(const wi_front *front, int64_t j) {
    if (j < front->columns)
        return front->panel + j * front->height;
    const int64_t rows = front->height - front->columns, below = j - front->columns;
    const int64_t block = below / WI_UPDATE_COLUMNS, first = block * WI_UPDATE_COLUMNS;
    return front->update + wi_update_block(rows, block) + (below - first) * (rows - first) - first -
           front->columns;
}

/* ---- assembly ---- */

void wi_chol_load_panel(const weft_chol *plan, const weft_sparse *matrix, int64_t s, int64_t begin,
                        int64_t end) {
    const wi_numbers *const numbers = &plan->numbers;
    const wi_front front = wi_front_of(plan, s, NULL);
    const int64_t first = plan->symbolic.first[s];
    for (int64_t j = begin; j < end; j++) {
        double *const column = column_of(&front, j);
        for (int64_t i = j; i < front.height; i++)
            column[i] = 0;
        for (int64_t e = numbers->entry_at[first + j]; e < numbers->entry_at[first + j + 1]; e++)
            column[numbers->slot[e]] = matrix->value[numbers->entry[e]];
    }
}

/* The first element of `rows`, ascending, that is at least `row`. */
static int64_t find(const int32_t *rows, int64_t count, int64_t row) {
    int64_t low = 0;
    while (count > 0) {
        const int64_t half = count / 2;
        if (rows[low + half] < row) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}

/* Adds the child's update to columns begin ... end - 1 of the front. relative[i] is the front's row
 * that row i of the update is. */
static void add_child(const wi_front *front, const wi_front *child, const int32_t *relative,
                      int64_t begin, int64_t end) {
    const int64_t rows = child->height - child->columns;
    int64_t j = begin > 0 ? find(relative, rows, begin) : 0;
    for (; j < rows && relative[j] < end; j++) {
        const double *const from = column_of(child, child->columns + j) + child->columns;
        double *const to = column_of(front, relative[j]);
        for (int64_t i = j; i < rows; i++)
            to[relative[i]] += from[i];
    }
}

static void assemble_columns(const weft_chol *plan, const weft_sparse *matrix, int64_t s,
                             double *own, int64_t begin, int64_t end) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    const wi_front front = wi_front_of(plan, s, own);
    wi_chol_load_panel(plan, matrix, s, begin, least(end, front.columns));
    for (int64_t j = begin > front.columns ? begin : front.columns; j < end; j++) {
        double *const column = column_of(&front, j);
        for (int64_t i = j; i < front.height; i++)
            column[i] = 0;
    }
    for (int64_t c = wi_last_child(symbolic, s); c >= 0; c = wi_child_before(symbolic, s, c)) {
        const wi_front child = wi_front_of(plan, c, own);
        add_child(&front, &child, plan->numbers.relative + symbolic->rows_at[c] + child.columns,
                  begin, end);
    }
}

void wi_front_assemble(wi_crew *crew, const weft_chol *plan, const weft_sparse *matrix, int64_t s,
                       double *own) {
    const int64_t height = wi_super_height(&plan->symbolic, s);
    const int64_t step = crew->size == 1 ? height : ASSEMBLE_COLUMNS;
    int64_t piece;
    while (wi_crew_take(crew, (height + step - 1) / step, &piece))
        assemble_columns(plan, matrix, s, own, piece * step, least(height, (piece + 1) * step));
    wi_crew_wait(crew);
}

/* ---- factorization ---- */

/* Columns begin ... end - 1 of the panel -= what the columns before them explain. The rows are
 * dealt out; piece 0 has those of the diagonal block. */
static void subtract_before(wi_crew *crew, const wi_front *front, int64_t begin, int64_t end,
                            double *room) {
    const int64_t height = front->height, wide = end - begin;
    const int64_t step = crew->size == 1 ? height : PANEL_ROWS;
    const int64_t pieces = 1 + (height - end + step - 1) / step;
    const double *const before = front->panel + begin;
    double *const to = front->panel + begin * height;
    int64_t piece;
    while (wi_crew_take(crew, pieces, &piece)) {
        const int64_t row = end + (piece - 1) * step;
        if (piece == 0)
            wi_dense_update(wide, begin, before, height, 0, wide, to + begin, height, room);
        else
            wi_dense_multiply(least(step, height - row), wide, begin, front->panel + row, height,
                              before, height, to + row, height, room);
    }
    wi_crew_wait(crew);
}

static void solve_below(wi_crew *crew, const wi_front *front, int64_t begin, int64_t end,
                        double *room) {
    const int64_t height = front->height, below = height - end;
    const int64_t step = crew->size == 1 ? height : PANEL_ROWS;
    double *const block = front->panel + begin * height;
    int64_t piece;
    while (wi_crew_take(crew, (below + step - 1) / step, &piece)) {
        const int64_t row = end + piece * step;
        wi_dense_solve_right(least(step, height - row), end - begin, block + begin, height,
                             block + row, height, room);
    }
    wi_crew_wait(crew);
}

/* The update -= L Lt of the rows below the panel. A piece is a part of a block of columns: the rows
 * on the diagonal, or UPDATE_ROWS below them. */
static void subtract_update(wi_crew *crew, const wi_front *front, double *room) {
    const int64_t rows = front->height - front->columns, height = front->height;
    const int64_t step = crew->size == 1 ? rows : UPDATE_ROWS;
    const double *const l = front->panel + front->columns;
    int64_t piece, passed = 0;
    bool more = wi_crew_take(crew, INT64_MAX, &piece);
    for (int64_t first = 0, block = 0; more && first < rows; first += WI_UPDATE_COLUMNS, block++) {
        const int64_t wide = least(WI_UPDATE_COLUMNS, rows - first), ld = rows - first;
        const int64_t pieces = 1 + (ld - wide + step - 1) / step;
        double *const to = front->update + wi_update_block(rows, block);
        for (; more && piece < passed + pieces; more = wi_crew_take(crew, INT64_MAX, &piece)) {
            const int64_t row = wide + (piece - passed - 1) * step;
            if (piece == passed)
                wi_dense_update(wide, front->columns, l + first, height, 0, wide, to, ld, room);
            else
                wi_dense_multiply(least(step, ld - row), wide, front->columns, l + first + row,
                                  height, l + first, height, to + row, ld, room);
        }
        passed += pieces;
    }
    wi_crew_wait(crew);
}

int64_t wi_front_factor(wi_crew *crew, const wi_front *front, double *room, int64_t *failed) {
    const int64_t height = front->height, columns = front->columns;
    for (int64_t begin = 0; begin < columns; begin += PANEL_COLUMNS) {
        const int64_t end = least(columns, begin + PANEL_COLUMNS);
        double *const corner = front->panel + begin * height + begin;
        if (begin > 0)
            subtract_before(crew, front, begin, end, room);
        if (crew->rank == 0 || crew->size == 1) {
            const int64_t done = wi_dense_cholesky(end - begin, corner, height, room);
            *failed = done < end - begin ? begin + done : columns;
        }
        wi_crew_wait(crew);
        if (*failed < columns)
            return *failed;
        solve_below(crew, front, begin, end, room);
    }
    subtract_update(crew, front, room);
    return columns;
}
