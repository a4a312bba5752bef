/* SPDX-License-Identifier: Apache-2.0 */
/* Forward and backward substitution with L, supernode by supernode. As in the factorization,
 * subtrees are tasks of one thread, and the supernodes above them are done by all threads together.
 * Over ranks each does its own supernodes: upwards it sends parts of right-hand sides to the owners
 * of their parents, and gets the solution in the same rows back. */
#include <string.h>

#include "sparse/chol_device.h"
#include "sparse/dense.h"
#include "sparse/front.h"
#include "sparse/ranks.h"
#include "sparse/small_simd.h"

enum {
    PIECE_ROWS = 512,
    PIECE_COLUMNS = 16
};

/* A panel above the cut is shared among threads if its entries, times this, are as much work as
 * pays for waking a thread. That is so from about 65,000 entries on. */
static const double entry_work = 1500;

/* One substitution. y is n x rhs, row-major, in the order of the columns of L. */
typedef struct substitution {
    weft_context *ctx;
    const weft_chol *plan;
    int64_t rhs;
    wi_solve_room room;
    wi_thread_group_pieces pieces;
    bool up;            /* of a stage: the way, */
    bool tasks;         /* whether tasks are to be done, */
    int64_t begin, end; /* and which tops */
} substitution;

/* The data of one thread. `front` is height x rhs, column-major, for the current supernode; its
 * rows below the columns are the part of the right-hand sides that is kept for the parent. */
typedef struct member {
    wi_thread_group group;
    double *front;
} member;

static member member_of(substitution *work, int rank, int size) {
    return (member){.group = {.rank = rank, .size = size, .pieces = &work->pieces},
                    .front = work->room.front + rank * work->room.front_entries};
}

static double *part_of(const substitution *work, int64_t s, int rank) {
    const wi_numbers *const numbers = &work->plan->numbers;
    return work->room.stack + wi_stack_at(&numbers->cut.part, numbers->part[s], rank) * work->rhs;
}

/* front = the right-hand sides of s + the parts of its children. */
static void gather_children(const substitution *work, int64_t s, int rank, double *front) {
    const wi_symbolic *const symbolic = &work->plan->symbolic;
    const int64_t rhs = work->rhs, columns = wi_super_columns(symbolic, s);
    const int64_t height = wi_super_height(symbolic, s);
    const double *const y = work->room.y + symbolic->first[s] * rhs;
    for (int64_t r = 0; r < rhs; r++) {
        for (int64_t j = 0; j < height; j++)
            front[j + r * height] = j < columns ? y[j * rhs + r] : 0;
    }
    for (int64_t c = wi_last_child(symbolic, s); c >= 0; c = wi_child_before(symbolic, s, c)) {
        const int64_t skipped = wi_super_columns(symbolic, c);
        const int64_t rows = wi_super_height(symbolic, c) - skipped;
        const int32_t *const relative =
            work->plan->numbers.relative + symbolic->rows_at[c] + skipped;
        const double *const part = part_of(work, c, rank);
        for (int64_t r = 0; r < rhs; r++) {
            for (int64_t i = 0; i < rows; i++)
                front[relative[i] + r * height] += part[i + r * rows];
        }
    }
}

/* Copies the solution for the columns of s from the front. */
static void keep_columns(const substitution *work, int64_t s, const double *front) {
    const wi_symbolic *const symbolic = &work->plan->symbolic;
    const int64_t rhs = work->rhs, height = wi_super_height(symbolic, s);
    double *const y = work->room.y + symbolic->first[s] * rhs;
    for (int64_t j = 0; j < wi_super_columns(symbolic, s); j++) {
        for (int64_t r = 0; r < rhs; r++)
            y[j * rhs + r] = front[j + r * height];
    }
}

/* ---- the kernels for either type of L: `at` is its first number's place in L ---- */

static void forward_square(const weft_chol *plan, int64_t n, int64_t count, int64_t at, int64_t ld,
                           double *x, int64_t ldx) {
    const void *const l = plan->numbers.l;
    if (plan->narrow)
        wi_dense_narrow_forward(n, count, (const float *)l + at, ld, x, ldx);
    else
        wi_dense_forward(n, count, (const double *)l + at, ld, x, ldx);
}

static void backward_square(const weft_chol *plan, int64_t n, int64_t count, int64_t at, int64_t ld,
                            double *x, int64_t ldx) {
    const void *const l = plan->numbers.l;
    if (plan->narrow)
        wi_dense_narrow_backward(n, count, (const float *)l + at, ld, x, ldx);
    else
        wi_dense_backward(n, count, (const double *)l + at, ld, x, ldx);
}

static void subtract(const weft_chol *plan, int64_t m, int64_t n, int64_t count, int64_t at,
                     int64_t ld, const double *x, int64_t ldx, double *y, int64_t ldy) {
    const void *const l = plan->numbers.l;
    if (plan->narrow)
        wi_dense_narrow_subtract(m, n, count, (const float *)l + at, ld, x, ldx, y, ldy);
    else
        wi_dense_subtract(m, n, count, (const double *)l + at, ld, x, ldx, y, ldy);
}

static void subtract_transposed(const weft_chol *plan, int64_t m, int64_t n, int64_t count,
                                int64_t at, int64_t ld, const double *y, int64_t ldy, double *x,
                                int64_t ldx) {
    const void *const l = plan->numbers.l;
    if (plan->narrow)
        wi_dense_narrow_subtract_transposed(m, n, count, (const float *)l + at, ld, y, ldy, x, ldx);
    else
        wi_dense_subtract_transposed(m, n, count, (const double *)l + at, ld, y, ldy, x, ldx);
}

/* Solves with the panel of s, block by block; the threads share the rows below a block. */
static void forward_panel(const substitution *work, wi_thread_group *group, int64_t s,
                          double *front) {
    const wi_symbolic *const symbolic = &work->plan->symbolic;
    const int64_t rhs = work->rhs, columns = wi_super_columns(symbolic, s);
    const int64_t height = wi_super_height(symbolic, s);
    const int64_t step = group->size == 1 ? height : PIECE_ROWS;
    for (int64_t begin = 0; begin < columns; begin += WI_BLOCK_COLUMNS) {
        const int64_t end = wi_least(columns, begin + WI_BLOCK_COLUMNS), ld = height - begin;
        const int64_t block = wi_chol_column_at(work->plan, s, begin);
        int64_t piece;
        if (group->rank == 0 || group->size == 1)
            forward_square(work->plan, end - begin, rhs, block + begin, ld, front + begin, height);
        wi_thread_group_wait(group);
        while (wi_thread_group_take(group, (height - end + step - 1) / step, &piece)) {
            const int64_t row = end + piece * step;
            subtract(work->plan, wi_least(step, height - row), end - begin, rhs, block + row, ld,
                     front + begin, height, front + row, height);
        }
        wi_thread_group_wait(group);
    }
}

/* Solves with the transpose of the first `columns` columns of the panel; the rows of the front from
 * there to `rows` are known. */
static void backward_panel(const substitution *work, wi_thread_group *group, int64_t s,
                           int64_t columns, int64_t rows, double *front) {
    const int64_t rhs = work->rhs, height = wi_super_height(&work->plan->symbolic, s);
    const int64_t step = group->size == 1 ? columns : PIECE_COLUMNS;
    for (int64_t begin = (columns - 1) / WI_BLOCK_COLUMNS * WI_BLOCK_COLUMNS;
         columns > 0 && begin >= 0; begin -= WI_BLOCK_COLUMNS) {
        const int64_t end = wi_least(columns, begin + WI_BLOCK_COLUMNS), ld = height - begin;
        const int64_t block = wi_chol_column_at(work->plan, s, begin);
        int64_t piece;
        while (wi_thread_group_take(group, (end - begin + step - 1) / step, &piece)) {
            const int64_t j = piece * step;
            subtract_transposed(work->plan, rows - end, wi_least(step, end - begin - j), rhs,
                                block + j * ld + end, ld, front + end, height, front + begin + j,
                                height);
        }
        wi_thread_group_wait(group);
        if (group->rank == 0 || group->size == 1)
            backward_square(work->plan, end - begin, rhs, block + begin, ld, front + begin, height);
        wi_thread_group_wait(group);
    }
}

static void forward(const substitution *work, wi_thread_group *group, int64_t s, double *front) {
    const wi_symbolic *const symbolic = &work->plan->symbolic;
    const int64_t columns = wi_super_columns(symbolic, s), height = wi_super_height(symbolic, s);
    const bool first = group->rank == 0 || group->size == 1;
    if (first) {
        gather_children(work, s, group->rank, front);
        wi_pivots_interchange(work->plan, s, work->rhs, front, height);
    }
    forward_panel(work, group, s, front);
    if (!first)
        return;
    wi_pivots_divide(work->plan, s, work->rhs, front, height);
    keep_columns(work, s, front);
    double *const part = part_of(work, s, group->rank);
    for (int64_t r = 0; r < work->rhs; r++)
        memcpy(part + r * (height - columns), front + columns + r * height,
               (size_t)(height - columns) * sizeof *part);
}

/* front = the rows of y that s has. */
static void gather_rows(const substitution *work, int64_t s, double *front) {
    const wi_symbolic *const symbolic = &work->plan->symbolic;
    const int64_t rhs = work->rhs, height = wi_super_height(symbolic, s);
    const int64_t *const rows = symbolic->rows + symbolic->rows_at[s];
    for (int64_t i = 0; i < height; i++) {
        for (int64_t r = 0; r < rhs; r++)
            front[i + r * height] = work->room.y[rows[i] * rhs + r];
    }
}

/* With one thread, the contributions of s go directly to the rows of its ancestors. */
static void forward_in_place(const substitution *work, wi_thread_group *alone, int64_t s,
                             double *front) {
    const wi_symbolic *const symbolic = &work->plan->symbolic;
    const int64_t rhs = work->rhs, height = wi_super_height(symbolic, s);
    const int64_t *const rows = symbolic->rows + symbolic->rows_at[s];
    gather_rows(work, s, front);
    wi_pivots_interchange(work->plan, s, rhs, front, height);
    forward_panel(work, alone, s, front);
    wi_pivots_divide(work->plan, s, rhs, front, height);
    for (int64_t i = 0; i < height; i++) {
        for (int64_t r = 0; r < rhs; r++)
            work->room.y[rows[i] * rhs + r] = front[i + r * height];
    }
}

static void backward(const substitution *work, wi_thread_group *group, int64_t s, double *front) {
    const wi_symbolic *const symbolic = &work->plan->symbolic;
    const int64_t height = wi_super_height(symbolic, s);
    const bool first = group->rank == 0 || group->size == 1;
    if (first)
        gather_rows(work, s, front);
    wi_thread_group_wait(group);
    backward_panel(work, group, s, wi_super_columns(symbolic, s), height, front);
    if (!first)
        return;
    wi_pivots_restore(work->plan, s, work->rhs, front, height);
    keep_columns(work, s, front);
}

/* A top is done by all threads, in the first thread's front; a small one by that thread alone. */
static void do_top(const substitution *work, member *me, int64_t s, bool up) {
    const wi_symbolic *const symbolic = &work->plan->symbolic;
    wi_thread_group alone = wi_thread_group_of_one(me->group.rank);
    const bool together =
        entry_work * (double)(wi_super_columns(symbolic, s) * wi_super_height(symbolic, s)) >=
        work->plan->least_work;
    wi_thread_group *const group = together ? &me->group : &alone;
    double *const front = together ? work->room.front : me->front;
    if ((!together && me->group.rank > 0) || !wi_owns(work->plan->numbers.cut.owners, s))
        return;
    if (up)
        forward(work, group, s, front);
    else
        backward(work, group, s, front);
}

static void go_up(const substitution *work, member *me) {
    const wi_numbers *const numbers = &work->plan->numbers;
    wi_thread_group alone = wi_thread_group_of_one(me->group.rank);
    int64_t k;
    while (work->tasks && wi_thread_group_take(&me->group, numbers->cut.tasks, &k)) {
        for (int64_t s = numbers->tasks[k].begin; s < numbers->tasks[k].end; s++)
            forward(work, &alone, s, me->front);
    }
    wi_thread_group_wait(&me->group);
    for (k = work->begin; k < work->end; k++)
        do_top(work, me, numbers->tops[k], true);
    wi_thread_group_wait(&me->group);
}

static void go_down(const substitution *work, member *me) {
    const wi_numbers *const numbers = &work->plan->numbers;
    wi_thread_group alone = wi_thread_group_of_one(me->group.rank);
    int64_t k;
    for (k = work->end - 1; k >= work->begin; k--)
        do_top(work, me, numbers->tops[k], false);
    wi_thread_group_wait(&me->group);
    while (work->tasks && wi_thread_group_take(&me->group, numbers->cut.tasks, &k)) {
        for (int64_t s = numbers->tasks[k].end - 1; s >= numbers->tasks[k].begin; s--)
            backward(work, &alone, s, me->front);
    }
    wi_thread_group_wait(&me->group);
}

/* The panel of a small supernode; one of floats is widened in `room`. */
static const double *small_panel(const weft_chol *plan, int64_t s, double *room) {
    const int64_t height = wi_super_height(&plan->symbolic, s);
    if (!plan->narrow)
        return wi_chol_column(plan, s, 0);
    wi_dense_widen(height, wi_super_columns(&plan->symbolic, s), wi_chol_narrow_column(plan, s, 0),
                   height, room, height);
    return room;
}

/* Does supernode s for one right-hand side if it is small; false if it is not. */
static bool do_small(const substitution *work, const wi_small_simd *simd, int64_t s, bool up) {
    const wi_symbolic *const symbolic = &work->plan->symbolic;
    const int64_t height = wi_super_height(symbolic, s), columns = wi_super_columns(symbolic, s);
    if (work->rhs > 1 || height > WI_SMALL_ROWS || columns > WI_SMALL_COLUMNS)
        return false;
    double widened[WI_SMALL_ROWS * WI_SMALL_COLUMNS];
    const double *const panel = small_panel(work->plan, s, widened);
    const int64_t *const rows = symbolic->rows + symbolic->rows_at[s];
    double *const y = work->room.y, *const own = y + symbolic->first[s];
    if (up) {
        wi_pivots_interchange(work->plan, s, 1, own, columns);
        simd->forward(height, columns, panel, rows, y);
        wi_pivots_divide(work->plan, s, 1, own, columns);
    } else {
        simd->backward(height, columns, panel, rows, y);
        wi_pivots_restore(work->plan, s, 1, own, columns);
    }
    return true;
}

static void go_alone(const substitution *work, bool up, bool down) {
    const wi_small_simd *const simd = WI_OF_ISA(wi_cpu_isa(), wi_small_simd);
    const int64_t supernodes = work->plan->symbolic.supernodes;
    wi_thread_group alone = wi_thread_group_of_one(0);
    for (int64_t s = 0; up && s < supernodes; s++) {
        if (!do_small(work, simd, s, true))
            forward_in_place(work, &alone, s, work->room.front);
    }
    for (int64_t s = supernodes - 1; down && s >= 0; s--) {
        if (!do_small(work, simd, s, false))
            backward(work, &alone, s, work->room.front);
    }
}

static substitution begin(weft_context *ctx, const weft_chol *plan, int64_t rhs) {
    return (substitution){
        .ctx = ctx, .plan = plan, .rhs = rhs, .room = wi_solve_room_of(plan, rhs)};
}

static void go(void *user, int rank, int size) {
    substitution *const work = user;
    member me = member_of(work, rank, size);
    if (work->up)
        go_up(work, &me);
    else
        go_down(work, &me);
}

static void do_stage(void *user, bool tasks, int64_t begin, int64_t end) {
    substitution *const work = user;
    work->pieces = (wi_thread_group_pieces){0};
    work->tasks = tasks;
    work->begin = begin;
    work->end = end;
    if (tasks || begin < end)
        wi_team_run_together(work->ctx, wi_chol_team(work->ctx, work->plan), go, work);
}

/* ---- over ranks ---- */

/* The part of s, or the solution in its rows, which then uses the memory of the part. */
static weft_status pass_rows(void *user, int64_t s, int other, bool send) {
    substitution *const work = user;
    const wi_symbolic *const symbolic = &work->plan->symbolic;
    const int64_t columns = wi_super_columns(symbolic, s), rhs = work->rhs;
    const int64_t below = wi_super_height(symbolic, s) - columns;
    const int64_t *const rows = symbolic->rows + symbolic->rows_at[s] + columns;
    double *const part = part_of(work, s, 0), *const y = work->room.y;
    for (int64_t i = 0; i < below && !work->up && send; i++)
        memcpy(part + i * rhs, y + rows[i] * rhs, (size_t)rhs * sizeof *part);
    const weft_status status =
        wi_over_move(work->plan, part, (size_t)(below * rhs), WEFT_F64, other, send);
    for (int64_t i = 0; i < below && !work->up && !send && status == WEFT_OK; i++)
        memcpy(y + rows[i] * rhs, part + i * rhs, (size_t)rhs * sizeof *part);
    return status;
}

static weft_status walk(substitution *work, bool up) {
    const wi_walk w = {.plan = work->plan, .stage = do_stage, .pass = pass_rows, .user = work};
    work->up = up;
    return up ? wi_over_climb(&w) : wi_over_descend(&w);
}

/* At the end all ranks have all of y. */
static weft_status share(const substitution *work, weft_status status) {
    if (status != WEFT_OK)
        return wi_fail_as(work->ctx, status, work->plan->over);
    return wi_over_gather_columns(work->ctx, work->plan, work->rhs, work->room.y,
                                  (size_t)work->rhs * sizeof(double));
}

weft_status wi_chol_substitute(weft_context *ctx, const weft_chol *plan, int64_t rhs, bool up,
                               bool down) {
    if (plan->on_device)
        return wi_chol_device_substitute(ctx, plan, rhs, up, down);
    substitution work = begin(ctx, plan, rhs);
    if (plan->numbers.cut.alone) {
        go_alone(&work, up, down);
        return WEFT_OK;
    }
    weft_status status = up ? walk(&work, true) : WEFT_OK;
    if (down && status == WEFT_OK)
        status = walk(&work, false);
    return share(&work, status);
}

/* Solves for the supernodes below s in its subtree; those of other ranks are told what they need.
 */
static weft_status descend_from(substitution *work, int64_t s) {
    const weft_chol *const plan = work->plan;
    const wi_walk w = {.plan = plan, .pass = pass_rows, .user = work};
    const wi_owners *const owners = plan->numbers.cut.owners;
    member me = member_of(work, 0, 1);
    weft_status status = WEFT_OK;
    for (int64_t t = s; t > s - plan->symbolic.size[s] && status == WEFT_OK; t--) {
        if (t < s && wi_owns(owners, t))
            backward(work, &me.group, t, me.front);
        if (owners && owners->shared[t])
            status = wi_over_pass(&w, t, true);
    }
    return status;
}

/* d is 1 at column k, 0 after it, and such that the rows of Lt before k give 0. Only columns in the
 * subtree that ends with k can be nonzero in d. */
weft_status wi_chol_direction(weft_context *ctx, const weft_chol *plan, int64_t s, int64_t k) {
    if (plan->on_device)
        return wi_chol_device_direction(ctx, plan, s, k);
    const wi_symbolic *const symbolic = &plan->symbolic;
    substitution work = begin(ctx, plan, 1);
    member me = member_of(&work, 0, 1);
    const int64_t before = k - symbolic->first[s];
    double *const own = work.room.y + symbolic->first[s];
    memset(work.room.y, 0, (size_t)symbolic->n * sizeof *work.room.y);
    work.room.y[k] = 1;
    if (wi_owns(plan->numbers.cut.owners, s)) {
        backward_panel(&work, &me.group, s, before, before + 1, own);
        wi_pivots_restore(plan, s, 1, own, wi_super_columns(symbolic, s));
    }
    return share(&work, descend_from(&work, s));
}
