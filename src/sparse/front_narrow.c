/* SPDX-License-Identifier: Apache-2.0 */
/* Fronts of floats. Small fronts are assembled and factored in double, and rounded when they are
 * stored. As that rounds less, the bits differ; so whether a front counts as small depends on its
 * size alone, never on the number of threads. */
#include <string.h>

#include "sparse/front.h"
#include "sparse/ldlt_simd.h"
#include "sparse/small_simd.h"

typedef float real;
#define FRONT wi_front_narrow
#define GROUP WI_DENSE_NARROW_GROUP
#define NAME(f) wi_front_narrow_##f
#define DENSE(f) wi_dense_narrow_##f
#include "sparse/front.inc"
#include "sparse/front_ldlt.inc"

/* Adds the update of a child to its parent, a small front in double. */
static void add_small_child(const weft_chol *plan, int64_t child, int rank, wi_small *to) {
    const wi_front_narrow from = wi_front_narrow_of(plan, child, rank);
    const int64_t rows = from.height - from.columns;
    const int32_t *const relative =
        plan->numbers.relative + plan->symbolic.rows_at[child] + from.columns;
    for (int64_t j = 0; j < rows; j++) {
        double *const column = to->front + relative[j] * WI_SMALL_ROWS;
        for (int64_t i = j; i < rows; i++)
            column[relative[i]] += from.update[j * rows + i];
    }
}

/* to = from, rounded, on and below the diagonal. Columns are `rows` numbers apart. */
static void round_lower(int64_t rows, int64_t columns, const double *from, float *to) {
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = j; i < rows; i++)
            to[i + j * rows] = (float)from[i + j * rows];
}

/* Assembles and factors a small front. Returns how many of its columns were eliminated. */
static int64_t do_small(const weft_chol *plan, const weft_sparse *matrix, int64_t s, int rank) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    const wi_front_narrow front = wi_front_narrow_of(plan, s, rank);
    const int64_t below = front.height - front.columns;
    double panel[WI_SMALL_ROWS * WI_SMALL_ROWS], update[WI_SMALL_ROWS * WI_SMALL_ROWS];
    wi_small at;
    wi_small_begin(plan, matrix, s, &at);
    for (int64_t c = wi_last_child(symbolic, s); c >= 0; c = wi_child_before(symbolic, s, c))
        add_small_child(plan, c, rank, &at);
    const int64_t done = WI_OF_ISA(wi_cpu_isa(), wi_small_simd)
                             ->factor(at.height, at.columns, at.front, panel, update);
    const bool whole = done == front.columns;
    round_lower(front.height, done, panel, front.panel);
    round_lower(below, whole ? below : 0, update, front.update);
    if (!whole) /* the value that is no valid pivot: the message tells it */
        front.panel[done + done * front.height] = (float)panel[done + done * front.height];
    return done;
}

int64_t wi_front_do_narrow(wi_thread_group *group, const weft_chol *plan, const weft_sparse *matrix,
                           int64_t s, void *room, int64_t *failed) {
    if (wi_chol_has_d(plan)) {
        assemble(group, plan, matrix, s);
        return factor_ldlt(group, plan, s, room, failed);
    }
    if (!wi_front_is_small(plan, s)) {
        const wi_front_narrow front = wi_front_narrow_of(plan, s, group->rank);
        assemble(group, plan, matrix, s);
        return NAME(factor)(group, &front, room, failed);
    }
    if (group->size == 1)
        return do_small(plan, matrix, s, group->rank);
    if (group->rank == 0) /* one thread does it; the others learn the result through *failed */
        *failed = do_small(plan, matrix, s, 0);
    wi_thread_group_wait(group);
    const int64_t done = *failed;
    wi_thread_group_wait(group); /* *failed is not changed before all have read it */
    return done;
}
