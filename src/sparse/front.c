/* SPDX-License-Identifier: Apache-2.0 */
/* One front: assembled from the matrix and the children's updates, then factored, by one thread or
 * by all. Every entry is the result of the same operations in the same order, whoever does them. */
#include "sparse/front.h"

#include "sparse/dense.h"

enum {
    PANEL_COLUMNS = 128,  /* factored at a time; divides WI_BLOCK_COLUMNS */
    PANEL_ROWS = 256,     /* a piece of work, in rows of the panel */
    UPDATE_ROWS = 512,    /* and of the update */
    ASSEMBLE_COLUMNS = 32 /* and, in columns, of the assembly */
};

wi_front wi_front_of(const weft_chol *plan, int64_t s, int rank) {
    const wi_numbers *const numbers = &plan->numbers;
    const wi_stack *const sizes = &numbers->cut.update;
    return (wi_front){.height = wi_super_height(&plan->symbolic, s),
                      .columns = wi_super_columns(&plan->symbolic, s),
                      .panel = numbers->l + numbers->panel[s],
                      .update = numbers->stack + wi_stack_at(sizes, numbers->update[s], rank)};
}

/* Column j of the front from its diagonal down: element i of it is at [i], i >= j. */
static double *column_of(const wi_front *front, int64_t j) {
    const int64_t columns = front->columns;
    return j < columns
               ? wi_block_column(front->panel, front->height, j)
               : wi_block_column(front->update, front->height - columns, j - columns) - columns;
}

/* ---- assembly ---- */

void wi_chol_load_panel(const weft_chol *plan, const weft_sparse *matrix, int64_t s, int64_t begin,
                        int64_t end) {
    const wi_numbers *const numbers = &plan->numbers;
    const wi_front front = wi_front_of(plan, s, 0);
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

static void assemble_columns(const weft_chol *plan, const weft_sparse *matrix, int64_t s, int rank,
                             int64_t begin, int64_t end) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    const wi_front front = wi_front_of(plan, s, rank);
    wi_chol_load_panel(plan, matrix, s, begin, wi_least(end, front.columns));
    for (int64_t j = begin > front.columns ? begin : front.columns; j < end; j++) {
        double *const column = column_of(&front, j);
        for (int64_t i = j; i < front.height; i++)
            column[i] = 0;
    }
    for (int64_t c = wi_last_child(symbolic, s); c >= 0; c = wi_child_before(symbolic, s, c)) {
        const wi_front child = wi_front_of(plan, c, rank);
        add_child(&front, &child, plan->numbers.relative + symbolic->rows_at[c] + child.columns,
                  begin, end);
    }
}

void wi_front_assemble(wi_crew *crew, const weft_chol *plan, const weft_sparse *matrix, int64_t s) {
    const int64_t height = wi_super_height(&plan->symbolic, s);
    const int64_t step = crew->size == 1 ? height : ASSEMBLE_COLUMNS;
    int64_t piece;
    while (wi_crew_take(crew, (height + step - 1) / step, &piece))
        assemble_columns(plan, matrix, s, crew->rank, piece * step,
                         wi_least(height, (piece + 1) * step));
    wi_crew_wait(crew);
}

/* ---- factorization ---- */

/* A block of columns of the panel: row i of its column j is at [i + j * ld], i >= first. */
typedef struct block {
    double *at;
    int64_t first, columns, ld;
} block;

static block block_of(const wi_front *front, int64_t b) {
    const int64_t first = b * WI_BLOCK_COLUMNS;
    return (block){.at = wi_block_column(front->panel, front->height, first),
                   .first = first,
                   .columns = wi_least(WI_BLOCK_COLUMNS, front->columns - first),
                   .ld = front->height - first};
}

/* C -= A Bt, A and B rows of the first k columns of the panel, C below and to the right of B:
 * `rows` rows from `row` on against `wide` rows from `column` on; of a square on the diagonal, row
 * = column, the lower triangle. */
static void subtract_product(const wi_front *front, int64_t k, int64_t row, int64_t rows,
                             int64_t column, int64_t wide, double *c, int64_t ldc, double *room) {
    for (int64_t done = 0; done < k; done += WI_BLOCK_COLUMNS) {
        const block l = block_of(front, done / WI_BLOCK_COLUMNS);
        const int64_t inner = wi_least(l.columns, k - done);
        if (row == column)
            wi_dense_update(wide, inner, l.at + row, l.ld, 0, wide, c, ldc, room);
        else
            wi_dense_multiply(rows, wide, inner, l.at + row, l.ld, l.at + column, l.ld, c, ldc,
                              room);
    }
}

/* Columns begin ... end - 1 of the panel -= what the columns before them explain. The rows are
 * dealt out; piece 0 has those of the square on the diagonal. */
static void subtract_before(wi_crew *crew, const wi_front *front, int64_t begin, int64_t end,
                            double *room) {
    const int64_t height = front->height, ld = block_of(front, begin / WI_BLOCK_COLUMNS).ld;
    const int64_t step = crew->size == 1 ? height : PANEL_ROWS;
    const int64_t pieces = 1 + (height - end + step - 1) / step;
    double *const to = column_of(front, begin);
    int64_t piece;
    while (wi_crew_take(crew, pieces, &piece)) {
        const int64_t row = piece == 0 ? begin : end + (piece - 1) * step;
        subtract_product(front, begin, row, wi_least(step, height - row), begin, end - begin,
                         to + row, ld, room);
    }
    wi_crew_wait(crew);
}

static void solve_below(wi_crew *crew, const wi_front *front, int64_t begin, int64_t end,
                        double *room) {
    const int64_t height = front->height, ld = block_of(front, begin / WI_BLOCK_COLUMNS).ld;
    const int64_t step = crew->size == 1 ? height : PANEL_ROWS;
    double *const to = column_of(front, begin);
    int64_t piece;
    while (wi_crew_take(crew, (height - end + step - 1) / step, &piece)) {
        const int64_t row = end + piece * step;
        wi_dense_solve_right(wi_least(step, height - row), end - begin, to + begin, ld, to + row,
                             ld, room);
    }
    wi_crew_wait(crew);
}

/* The update -= L Lt of the rows below the panel. A piece is a part of a block of columns: the rows
 * on the diagonal, or UPDATE_ROWS below them. */
static void subtract_update(wi_crew *crew, const wi_front *front, double *room) {
    const int64_t columns = front->columns, rows = front->height - columns;
    const int64_t step = crew->size == 1 ? rows : UPDATE_ROWS;
    int64_t piece, passed = 0;
    bool more = wi_crew_take(crew, INT64_MAX, &piece);
    for (int64_t first = 0; more && first < rows; first += WI_BLOCK_COLUMNS) {
        const int64_t wide = wi_least(WI_BLOCK_COLUMNS, rows - first), ld = rows - first;
        const int64_t pieces = 1 + (ld - wide + step - 1) / step;
        double *const to = column_of(front, columns + first) + columns;
        for (; more && piece < passed + pieces; more = wi_crew_take(crew, INT64_MAX, &piece)) {
            const int64_t row = first + (piece == passed ? 0 : wide + (piece - passed - 1) * step);
            subtract_product(front, columns, columns + row, wi_least(step, rows - row),
                             columns + first, wide, to + row, ld, room);
        }
        passed += pieces;
    }
    wi_crew_wait(crew);
}

int64_t wi_front_factor(wi_crew *crew, const wi_front *front, double *room, int64_t *failed) {
    const int64_t columns = front->columns;
    for (int64_t begin = 0; begin < columns; begin += PANEL_COLUMNS) {
        const int64_t end = wi_least(columns, begin + PANEL_COLUMNS);
        const int64_t ld = block_of(front, begin / WI_BLOCK_COLUMNS).ld;
        if (begin > 0)
            subtract_before(crew, front, begin, end, room);
        if (crew->rank == 0 || crew->size == 1) {
            const int64_t done =
                wi_dense_cholesky(end - begin, column_of(front, begin) + begin, ld, room);
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
