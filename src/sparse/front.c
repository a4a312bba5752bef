/* SPDX-License-Identifier: Apache-2.0 */
/* One front: assembled from the matrix and the children's updates, then factored, by one thread or
 * by a group. Every entry is computed by the same operations in the same order, whichever thread
 * does it. */
#include "sparse/front.h"

enum {
    PIECE_ROWS = 240,      /* of a piece of work: WI_BLOCK_COLUMNS of them stay in cache */
    PIECES_EACH = 4,       /* pieces for each thread of a group, at least */
    ASSEMBLE_COLUMNS = 32, /* of a piece of the assembly */
};

_Static_assert(PIECE_ROWS % WI_DENSE_GROUP == 0, "pieces are whole groups of packed rows");

wi_front wi_front_of(const weft_chol *plan, int64_t s, int rank) {
    const wi_numbers *const numbers = &plan->numbers;
    const wi_stack *const sizes = &numbers->cut.update;
    return (wi_front){.height = wi_super_height(&plan->symbolic, s),
                      .columns = wi_super_columns(&plan->symbolic, s),
                      .panel = numbers->l + numbers->panel[s],
                      .update = numbers->stack + wi_stack_at(sizes, numbers->update[s], rank)};
}

double *wi_front_column(const wi_front *front, int64_t j) {
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
        double *const column = wi_front_column(&front, j);
        for (int64_t i = j; i < front.height; i++)
            column[i] = 0;
        for (int64_t e = numbers->entry_at[first + j]; e < numbers->entry_at[first + j + 1]; e++)
            column[numbers->slot[e]] = matrix->value[numbers->entry[e]];
    }
}

/* The index of the first element of `rows`, which ascends, that is at least `row`. */
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

/* Adds the child's update to columns begin ... end - 1 of the front. Row i of the update is row
 * relative[i] of the front. */
static void add_child(const wi_front *front, const wi_front *child, const int32_t *relative,
                      int64_t begin, int64_t end) {
    const int64_t rows = child->height - child->columns;
    int64_t j = begin > 0 ? find(relative, rows, begin) : 0;
    for (; j < rows && relative[j] < end; j++) {
        const double *const from = wi_front_column(child, child->columns + j) + child->columns;
        double *const to = wi_front_column(front, relative[j]);
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
        double *const column = wi_front_column(&front, j);
        for (int64_t i = j; i < front.height; i++)
            column[i] = 0;
    }
    for (int64_t c = wi_last_child(symbolic, s); c >= 0; c = wi_child_before(symbolic, s, c)) {
        const wi_front child = wi_front_of(plan, c, rank);
        add_child(&front, &child, plan->numbers.relative + symbolic->rows_at[c] + child.columns,
                  begin, end);
    }
}

void wi_front_assemble(wi_thread_group *group, const weft_chol *plan, const weft_sparse *matrix,
                       int64_t s) {
    const int64_t height = wi_super_height(&plan->symbolic, s);
    const int64_t step = group->size == 1 ? height : ASSEMBLE_COLUMNS;
    int64_t piece;
    while (wi_thread_group_take(group, (height + step - 1) / step, &piece))
        assemble_columns(plan, matrix, s, group->rank, piece * step,
                         wi_least(height, (piece + 1) * step));
    wi_thread_group_wait(group);
}

/* ---- factorization ---- */

int64_t wi_front_step(const wi_thread_group *group, int64_t rows) {
    const int64_t share = group->size == 1 ? rows : rows / (PIECES_EACH * group->size);
    return wi_least(PIECE_ROWS, wi_whole_groups(share + 1));
}

/* Eliminates columns first ... end - 1, a block of the panel: one thread of the group does the rows
 * of the diagonal square, then all share the rows below. Returns as wi_front_factor. */
static int64_t eliminate_block(wi_thread_group *group, const wi_front *front, int64_t first,
                               int64_t end, double *room, int64_t *failed) {
    const int64_t rows = front->height - first, columns = end - first;
    const int64_t square = wi_least(rows, wi_whole_groups(columns)),
                  step = wi_front_step(group, rows - square);
    double *const block = wi_front_column(front, first) + first;
    int64_t piece;
    if (group->size == 1 || group->rank == 0) {
        const int64_t done = wi_dense_eliminate(0, square, columns, block, rows, room);
        *failed = done < columns ? first + done : front->columns;
    }
    wi_thread_group_wait(group);
    if (*failed < front->columns)
        return *failed;
    while (wi_thread_group_take(group, (rows - square + step - 1) / step, &piece)) {
        const int64_t row = square + piece * step;
        wi_dense_eliminate(row, wi_least(rows, row + step), columns, block, rows, room);
    }
    wi_thread_group_wait(group);
    return front->columns;
}

/* Where column j of the front is stored: the first column of its block of columns, and the columns
 * and rows of the panel or update that has it, all counted from that one's first. */
typedef struct storage {
    int64_t own, first, columns, rows;
} storage;

static storage storage_of(const wi_front *front, int64_t j) {
    const int64_t columns = front->columns, below = front->height - columns;
    const int64_t own = j < columns ? j : j - columns;
    return (storage){.own = own,
                     .first = own / WI_BLOCK_COLUMNS * WI_BLOCK_COLUMNS,
                     .columns = j < columns ? columns : below,
                     .rows = j < columns ? front->height : below};
}

/* Subtracts the products of the columns that were eliminated from rows row ... below - 1 of all
 * columns after them; rows are counted as they are packed. */
static void subtract_rows(const wi_front *front, const wi_eliminated *done, int64_t row,
                          int64_t below) {
    for (int64_t column = done->end - done->base, wide; column < below; column += wide) {
        const int64_t top = row > column ? row : column, j = done->base + column;
        const storage at = storage_of(front, j);
        wide = wi_least(at.first + WI_BLOCK_COLUMNS, at.columns) - at.own;
        wi_dense_update(top, below - top, column, wide, done->columns, done->rows, done->across,
                        wi_front_column(front, j) + done->base + top, at.rows - at.first);
    }
}

void wi_front_subtract(wi_thread_group *group, const wi_front *front, const wi_eliminated *done) {
    const int64_t rows = front->height - done->base;
    const int64_t step = wi_front_step(group, front->height - done->end);
    const int64_t runs = (rows + step - 1) / step;
    int64_t piece;
    while (wi_thread_group_take(group, runs - (done->end - done->base) / step, &piece)) {
        const int64_t row = (runs - 1 - piece) * step;
        subtract_rows(front, done, row, wi_least(rows, row + step));
    }
    wi_thread_group_wait(group);
}

int64_t wi_front_factor(wi_thread_group *group, const wi_front *front, double *room,
                        int64_t *failed) {
    const int64_t columns = front->columns;
    for (int64_t first = 0; first < columns; first += WI_BLOCK_COLUMNS) {
        const int64_t end = wi_least(columns, first + WI_BLOCK_COLUMNS);
        if (eliminate_block(group, front, first, end, room, failed) < columns)
            return *failed;
        wi_front_subtract(
            group, front,
            &(wi_eliminated){
                .base = first, .end = end, .columns = end - first, .rows = room, .across = room});
    }
    return columns;
}
