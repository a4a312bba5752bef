/* SPDX-License-Identifier: Apache-2.0 */
/* Fronts of a few rows: assembled in an array on the stack whose columns are always the same
 * distance apart, and factored there by one thread, without the blocking and sharing of large
 * fronts. */
#include "sparse/front.h"
#include "sparse/small_simd.h"

void wi_small_begin(const weft_chol *plan, const weft_sparse *matrix, int64_t s, wi_small *to) {
    const wi_numbers *const numbers = &plan->numbers;
    to->height = wi_super_height(&plan->symbolic, s);
    to->columns = wi_super_columns(&plan->symbolic, s);
    const int64_t *const entry_at = numbers->entry_at + plan->symbolic.first[s];
    for (int64_t k = 0; k < to->height * WI_SMALL_ROWS; k++)
        to->front[k] = 0;
    for (int64_t j = 0; j < to->columns; j++) {
        for (int64_t e = entry_at[j]; e < entry_at[j + 1]; e++)
            to->front[j * WI_SMALL_ROWS + numbers->slot[e]] = matrix->value[numbers->entry[e]];
    }
}

/* Adds the update of a child, which is at most as large: its rows are a subset of the front's rows.
 */
static void add_child(const weft_chol *plan, int64_t child, int rank, wi_small *to) {
    const wi_front from = wi_front_of(plan, child, rank);
    const int64_t rows = from.height - from.columns;
    const int32_t *const relative =
        plan->numbers.relative + plan->symbolic.rows_at[child] + from.columns;
    for (int64_t j = 0; j < rows; j++) {
        double *const column = to->front + relative[j] * WI_SMALL_ROWS;
        for (int64_t i = j; i < rows; i++)
            column[relative[i]] += from.update[j * rows + i];
    }
}

int64_t wi_front_small(const weft_chol *plan, const weft_sparse *matrix, int64_t s, int rank) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    const wi_front front = wi_front_of(plan, s, rank);
    wi_small at;
    wi_small_begin(plan, matrix, s, &at);
    for (int64_t c = wi_last_child(symbolic, s); c >= 0; c = wi_child_before(symbolic, s, c))
        add_child(plan, c, rank, &at);
    return WI_OF_ISA(wi_cpu_isa(), wi_small_simd)
        ->factor(at.height, at.columns, at.front, front.panel, front.update);
}

bool wi_front_is_small(const weft_chol *plan, int64_t s) {
    return wi_super_height(&plan->symbolic, s) <= WI_SMALL_ROWS;
}
