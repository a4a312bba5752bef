/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the tree of supernodes into tasks and tops, and finds where each update is kept until its
 * parent needs it; all before any value is computed. */
#include <math.h>
#include <stdlib.h>

#include "sparse/chol.h"

/* A task is at most 1 / (threads * task_share) of all work, so that threads finish at about the
 * same time. */
static const double task_share = 6;

bool wi_cut_is_top(const wi_symbolic *symbolic, const wi_cut *cut, int64_t s) {
    const bool joins = cut->owners && (!wi_owns(cut->owners, s) || cut->owners->shared[s]);
    return joins || symbolic->work[s] > cut->limit;
}

/* Is s the root of a subtree below the cut? */
static bool is_below_cut(const wi_symbolic *symbolic, const wi_cut *cut, int64_t s) {
    const int64_t up = symbolic->super_parent[s];
    return !wi_cut_is_top(symbolic, cut, s) && (up < 0 || wi_cut_is_top(symbolic, cut, up));
}

/* Is s a child whose update comes from another rank? */
static bool is_guest(const wi_symbolic *symbolic, const wi_cut *cut, int64_t s) {
    const int64_t up = symbolic->super_parent[s];
    return !wi_owns(cut->owners, s) && up >= 0 && wi_owns(cut->owners, up);
}

/* Tops that are not shared are done before those that are, and before those of other ranks are
 * waited for: a supernode is of turn 0 or 1. */
enum {
    TURNS = 2
};
static int turn_of(const wi_cut *cut, int64_t s) {
    return cut->owners && (cut->owners->shared[s] || !wi_owns(cut->owners, s));
}

/* Has what s keeps memory of its own? */
static bool is_root(const wi_symbolic *symbolic, const wi_cut *cut, int64_t s) {
    const int64_t up = symbolic->super_parent[s];
    return is_below_cut(symbolic, cut, s) || is_guest(symbolic, cut, s) ||
           (up >= 0 && turn_of(cut, s) < turn_of(cut, up));
}

/* The size of what s keeps for its parent: its update, or its part of one right-hand side. */
typedef int64_t waiting(const wi_symbolic *symbolic, int64_t s);

static int64_t update_of(const wi_symbolic *symbolic, int64_t s) {
    return wi_update_entries(wi_super_height(symbolic, s), wi_super_columns(symbolic, s));
}

static int64_t part_of(const wi_symbolic *symbolic, int64_t s) {
    return wi_super_height(symbolic, s) - wi_super_columns(symbolic, s);
}

/* Two stacks that grow towards each other in one block: supernodes at even depth use one, those at
 * odd depth the other. So the entries of a supernode go onto one stack while those of its children
 * are on top of the other, and nothing has to be moved. */
typedef struct stacks {
    int64_t used[2], most;
} stacks;

static void push(stacks *stack, int side, int64_t entries) {
    stack->used[side] += entries;
    if (stack->used[0] + stack->used[1] > stack->most)
        stack->most = stack->used[0] + stack->used[1];
}

/* Removes the children of s from their stack, if they are on the same side of the cut as s. Of an s
 * of another rank, those have been sent there. */
static void pop_children(const wi_symbolic *symbolic, const wi_cut *cut, int64_t s,
                         waiting *entries, stacks *stack, int side) {
    const bool top = wi_cut_is_top(symbolic, cut, s);
    for (int64_t c = wi_last_child(symbolic, s); c >= 0; c = wi_child_before(symbolic, s, c)) {
        if (wi_owns(cut->owners, c) && wi_cut_is_top(symbolic, cut, c) == top &&
            !is_root(symbolic, cut, c))
            stack->used[side] -= entries(symbolic, c);
    }
}

/* All entries of the roots below the cut, of those that are the last of their turn, and of guests.
 * They do not use the stacks: after a task its thread goes on to other tasks. */
static int64_t roots_entries(const wi_symbolic *symbolic, const wi_cut *cut, waiting *entries) {
    int64_t sum = 0;
    for (int64_t s = 0; s < symbolic->supernodes; s++)
        sum += is_root(symbolic, cut, s) ? entries(symbolic, s) : 0;
    return sum;
}

/* Rounds up to cache lines, so that two threads do not write to the same one. */
static int64_t whole_lines(int64_t entries) {
    return (entries + 7) / 8 * 8;
}

/* Follows the factorization through the tree. For the sizes alone, one stack counts for both. */
static wi_stack measure(const wi_symbolic *symbolic, const wi_cut *cut, waiting *entries) {
    stacks below = {.most = 0}, above = {.most = 0};
    for (int turn = 0; turn < TURNS; turn++) {
        for (int64_t s = 0; s < symbolic->supernodes; s++) {
            stacks *const stack = wi_cut_is_top(symbolic, cut, s) ? &above : &below;
            if (turn_of(cut, s) != turn)
                continue;
            if (wi_owns(cut->owners, s) && !is_root(symbolic, cut, s))
                push(stack, 0, entries(symbolic, s));
            pop_children(symbolic, cut, s, entries, stack, 0);
        }
    }
    return (wi_stack){.roots = whole_lines(roots_entries(symbolic, cut, entries)),
                      .own = whole_lines(below.most),
                      .tops = above.most};
}

/* What find_places works on. `at` says at first which of the two stacks a supernode uses. */
typedef struct placing {
    const wi_symbolic *symbolic;
    const wi_cut *cut;
    waiting *entries;
    const wi_stack *sizes;
    wi_stack_offset *at;
    stacks below, above;
    int64_t root;
} placing;

static void place(placing *p, int64_t s) {
    const wi_symbolic *const symbolic = p->symbolic;
    const wi_cut *const cut = p->cut;
    const wi_stack *const sizes = p->sizes;
    wi_stack_offset *const at = p->at;
    const bool top = wi_cut_is_top(symbolic, cut, s);
    const int side = (int)at[s];
    stacks *const stack = top ? &p->above : &p->below;
    const int64_t before = stack->used[side];
    if (is_root(symbolic, cut, s)) {
        at[s] = ~p->root;
        p->root += p->entries(symbolic, s);
    } else if (wi_owns(cut->owners, s)) {
        push(stack, side, p->entries(symbolic, s));
        if (top)
            at[s] = ~(sizes->roots + (side ? sizes->tops - stack->used[1] : before));
        else
            at[s] = side ? sizes->own - stack->used[1] : before;
    }
    pop_children(symbolic, cut, s, p->entries, stack, !side);
}

static void find_places(const wi_symbolic *symbolic, const wi_cut *cut, waiting *entries,
                        const wi_stack *sizes, wi_stack_offset *at) {
    placing p = {.symbolic = symbolic, .cut = cut, .entries = entries, .sizes = sizes, .at = at};
    for (int64_t s = symbolic->supernodes - 1; s >= 0; s--) {
        const int64_t up = symbolic->super_parent[s];
        at[s] = up < 0 ? 0 : !at[up];
    }
    for (int turn = 0; turn < TURNS; turn++) {
        for (int64_t s = 0; s < symbolic->supernodes; s++) {
            if (turn_of(cut, s) == turn)
                place(&p, s);
        }
    }
}

/* Does the subtree of `root` still belong to the task, a run of neighbouring subtrees that is being
 * collected? */
static bool joins(const wi_symbolic *symbolic, const wi_cut *cut, const wi_task *task,
                  int64_t root) {
    const int64_t first = root + 1 - symbolic->size[root];
    return task->end == first && task->work + symbolic->work[root] <= cut->limit;
}

/* Lists the tasks, if `tasks` is not NULL, in the order of their columns. Returns how many. */
static int64_t list_tasks(const wi_symbolic *symbolic, const wi_cut *cut, wi_task *tasks) {
    wi_task task = {.end = -1};
    int64_t count = 0;
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        if (!is_below_cut(symbolic, cut, s))
            continue;
        if (!joins(symbolic, cut, &task, s)) {
            task = (wi_task){.begin = s + 1 - symbolic->size[s]};
            count++;
        }
        task.end = s + 1;
        task.work += symbolic->work[s];
        if (tasks)
            tasks[count - 1] = task;
    }
    return count;
}

static int64_t list_tops(const wi_symbolic *symbolic, const wi_cut *cut, int64_t *tops) {
    int64_t count = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        for (int64_t s = 0; s < symbolic->supernodes; s++) {
            const bool shared = cut->owners && cut->owners->shared[s];
            if (turn_of(cut, s) != turn || !wi_cut_is_top(symbolic, cut, s) ||
                !(shared || wi_owns(cut->owners, s)))
                continue;
            if (tops)
                tops[count] = s;
            count++;
        }
    }
    return count;
}

/* Sorts by falling work; among equals by the order of the columns. */
static int compare(const void *a, const void *b) {
    const wi_task *const x = a, *const y = b;
    if (x->work != y->work)
        return x->work > y->work ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The work of this rank. */
static double own_work(const wi_symbolic *symbolic, const wi_owners *owners) {
    double work = 0;
    if (!owners)
        return wi_all_work(symbolic);
    for (int64_t s = 0; s < symbolic->supernodes; s++)
        work += wi_owns(owners, s) ? wi_super_work(symbolic, s) : 0;
    return work;
}

static void measure_fronts(const wi_symbolic *symbolic, wi_cut *cut) {
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const int64_t height = wi_super_height(symbolic, s);
        if (!wi_owns(cut->owners, s))
            continue;
        cut->l += wi_block_entries(height, wi_super_columns(symbolic, s));
        cut->front = height > cut->front ? height : cut->front;
    }
}

void wi_cut_measure(const wi_symbolic *symbolic, int threads, double least, const wi_owners *owners,
                    wi_cut *cut) {
    const double work = own_work(symbolic, owners);
    if (work < least * threads)
        threads = work < least ? 1 : (int)(work / least);
    *cut = (wi_cut){.threads = threads,
                    .owners = owners,
                    .alone = !owners && work < least,
                    .limit = threads == 1 ? (double)INFINITY : work / (task_share * threads)};
    measure_fronts(symbolic, cut);
    cut->tasks = list_tasks(symbolic, cut, NULL);
    cut->tops = list_tops(symbolic, cut, NULL);
    cut->update = measure(symbolic, cut, update_of);
    if (!cut->alone)
        cut->part = measure(symbolic, cut, part_of);
}

void wi_cut_make(const wi_symbolic *symbolic, const wi_cut *cut, wi_task *tasks, int64_t *tops,
                 wi_stack_offset *update, wi_stack_offset *part) {
    list_tasks(symbolic, cut, tasks);
    list_tops(symbolic, cut, tops);
    if (cut->tasks > 1)
        qsort(tasks, (size_t)cut->tasks, sizeof *tasks, compare);
    find_places(symbolic, cut, update_of, &cut->update, update);
    if (!cut->alone)
        find_places(symbolic, cut, part_of, &cut->part, part);
}
