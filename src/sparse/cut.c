/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the tree of supernodes into tasks and tops, and says where updates wait for parents: all of
 * it before a number is touched. */
#include <math.h>
#include <stdlib.h>

#include "sparse/chol.h"

/* Tasks are of at most 1 / (threads * task_share) of all work, so that the last to end is short. */
static const double task_share = 6;

static bool is_top(const wi_symbolic *symbolic, const wi_cut *cut, int64_t s) {
    return symbolic->work[s] > cut->limit;
}

/* Is s the root of a subtree below the cut? */
static bool is_below_cut(const wi_symbolic *symbolic, const wi_cut *cut, int64_t s) {
    const int64_t up = symbolic->super_parent[s];
    return !is_top(symbolic, cut, s) && (up < 0 || is_top(symbolic, cut, up));
}

/* What waits for the parent of s: its update, or its part of one right-hand side. */
typedef int64_t waiting(const wi_symbolic *symbolic, int64_t s);

static int64_t update_of(const wi_symbolic *symbolic, int64_t s) {
    return wi_update_entries(wi_super_height(symbolic, s), wi_super_columns(symbolic, s));
}

static int64_t part_of(const wi_symbolic *symbolic, int64_t s) {
    return wi_super_height(symbolic, s) - wi_super_columns(symbolic, s);
}

/* Two stacks that grow towards each other: supernodes at even depth use one, those at odd depth the
 * other. So a supernode's own entries go onto one stack while those of its children lie on top of
 * the other, and nothing ever has to move. */
typedef struct stacks {
    int64_t used[2], most;
} stacks;

static void push(stacks *stack, int side, int64_t entries) {
    stack->used[side] += entries;
    if (stack->used[0] + stack->used[1] > stack->most)
        stack->most = stack->used[0] + stack->used[1];
}

/* Takes the children of s, of the same kind as s, off their stack. */
static void pop_children(const wi_symbolic *symbolic, const wi_cut *cut, int64_t s,
                         waiting *entries, stacks *stack, int side) {
    const bool top = is_top(symbolic, cut, s);
    for (int64_t c = wi_last_child(symbolic, s); c >= 0; c = wi_child_before(symbolic, s, c)) {
        if (is_top(symbolic, cut, c) == top)
            stack->used[side] -= entries(symbolic, c);
    }
}

/* Entries of the roots below the cut: they have memory to themselves, for threads that are done
 * with one go on to other tasks. */
static int64_t roots_entries(const wi_symbolic *symbolic, const wi_cut *cut, waiting *entries) {
    int64_t sum = 0;
    for (int64_t s = 0; s < symbolic->supernodes; s++)
        sum += is_below_cut(symbolic, cut, s) ? entries(symbolic, s) : 0;
    return sum;
}

/* What two threads write is kept a line of the cache apart. */
static int64_t whole_lines(int64_t entries) {
    return (entries + 7) / 8 * 8;
}

/* Walks the tree as it is factored. Where only sizes are wanted, one side does for both. */
static wi_stack measure(const wi_symbolic *symbolic, const wi_cut *cut, waiting *entries) {
    stacks below = {.most = 0}, above = {.most = 0};
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        stacks *const stack = is_top(symbolic, cut, s) ? &above : &below;
        if (!is_below_cut(symbolic, cut, s))
            push(stack, 0, entries(symbolic, s));
        pop_children(symbolic, cut, s, entries, stack, 0);
    }
    return (wi_stack){.roots = whole_lines(roots_entries(symbolic, cut, entries)),
                      .own = whole_lines(below.most),
                      .tops = above.most};
}

static void find_places(const wi_symbolic *symbolic, const wi_cut *cut, waiting *entries,
                        const wi_stack *sizes, wi_stack_offset *at) {
    stacks below = {.most = 0}, above = {.most = 0};
    int64_t root = 0;
    for (int64_t s = symbolic->supernodes - 1; s >= 0; s--) {
        const int64_t up = symbolic->super_parent[s];
        at[s] = up < 0 ? 0 : !at[up]; /* the side, for now */
    }
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const bool top = is_top(symbolic, cut, s);
        const int side = (int)at[s];
        stacks *const stack = top ? &above : &below;
        const int64_t before = stack->used[side];
        if (is_below_cut(symbolic, cut, s)) {
            at[s] = ~root;
            root += entries(symbolic, s);
        } else {
            push(stack, side, entries(symbolic, s));
            if (top)
                at[s] = ~(sizes->roots + (side ? sizes->tops - stack->used[1] : before));
            else
                at[s] = side ? sizes->own - stack->used[1] : before;
        }
        pop_children(symbolic, cut, s, entries, stack, !side);
    }
}

/* A run of neighbouring subtrees below the cut, being put together. Returns whether the subtree of
 * `root` still belongs to it. */
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
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        if (!is_top(symbolic, cut, s))
            continue;
        if (tops)
            tops[count] = s;
        count++;
    }
    return count;
}

/* The most work first; among equals, the order of the columns. */
static int compare(const void *a, const void *b) {
    const wi_task *const x = a, *const y = b;
    if (x->work != y->work)
        return x->work > y->work ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

void wi_cut_measure(const wi_symbolic *symbolic, int threads, double least, wi_cut *cut) {
    const double work = wi_all_work(symbolic);
    if (work < least * threads)
        threads = work < least ? 1 : (int)(work / least);
    *cut = (wi_cut){.threads = threads,
                    .alone = work < least,
                    .limit = threads == 1 ? (double)INFINITY : work / (task_share * threads)};
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
