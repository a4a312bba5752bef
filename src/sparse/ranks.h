/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse matrices and factorizations over ranks. A public call on place mpi is done by each rank
 * with a context of its own, `own`, as it would be on a cpu place; the plan knows the context over
 * the ranks (plan->over) and asks it where the ranks need each other: in the walk through the tree,
 * and after steps that can fail on one rank alone. All else, such as refinement, is done by all
 * ranks alike, with the same numbers, so that all take the same decisions. Internal. */
#ifndef WI_SPARSE_RANKS_H
#define WI_SPARSE_RANKS_H

#include "comm/dist.h"
#include "sparse/chol.h"
#include "sparse/matrix.h"

/* Begins a public call: *own is the context for this rank's own work. On a place of one process
 * that is ctx. Over ranks it works on the cores, also where the rank has a GPU. */
weft_status wi_over_enter(weft_context *ctx, const char *call, weft_context **own);

/* All ranks learn whether any has failed, as by wi_agree. On a place of one process: `status`. */
weft_status wi_over_agree(weft_context *ctx, weft_context *own, uint64_t alike, weft_status status);

/* Ends a public call: hands on the message. */
weft_status wi_over_leave(weft_context *ctx, const weft_context *own, weft_status status);

/* Within a call on a plan: the same as wi_over_agree, and the message is in `own`. */
weft_status wi_chol_agree(weft_context *own, const weft_chol *plan, weft_status status);

/* Checks a plan, and that it belongs to a place like this. */
weft_status wi_over_check_plan(const weft_context *ctx, weft_context *own, const char *call,
                               const weft_chol *plan);

/* A number that stands for a matrix: the same if the ranks have the same one. */
uint64_t wi_over_alike(const weft_sparse *matrix);

/* How many rows of b and x rank r passes, of `ranks`. */
size_t wi_sparse_rows_of(const weft_sparse *matrix, int r, int ranks);

/* The rows that this rank passes, for this matrix or, if it is NULL, the one that was factored.
 * Without ranks: all. */
wi_own_rows wi_chol_own_rows(const weft_chol *plan, const weft_sparse *matrix);

/* whole = the rows that the ranks pass of a column. */
weft_status wi_sparse_gather_rows(weft_context *ctx, weft_context *own, const weft_sparse *matrix,
                                  const double *part, double *whole);
weft_status wi_over_gather_rows(weft_context *own, const weft_chol *plan, const weft_sparse *matrix,
                                const double *part, double *whole);

/* Gathers `data`, which has an element of `width` bytes for each column of L: before, those of this
 * rank's supernodes are set, afterwards all. For `rhs` right-hand sides there is room for 8 rhs
 * bytes a column. */
weft_status wi_over_gather_columns(weft_context *own, const weft_chol *plan, int64_t rhs,
                                   void *data, size_t width);

/* A walk through the tree. `stage` does this rank's share of the tops begin ... end - 1 and, with
 * `tasks`, of the tasks below them; `pass` sends to rank `other`, or receives from it, what
 * supernode s has for its parent or, on the way down, the parent for it. */
typedef struct wi_walk {
    const weft_chol *plan;
    void (*stage)(void *user, bool tasks, int64_t begin, int64_t end);
    weft_status (*pass)(void *user, int64_t s, int other, bool send);
    void *user;
} wi_walk;
/* From the leaves to the root, and back. Without ranks, one stage. */
weft_status wi_over_climb(const wi_walk *walk);
weft_status wi_over_descend(const wi_walk *walk);

/* Calls `pass` for all children of supernode s that other ranks have; `down`: from the parent. */
weft_status wi_over_pass(const wi_walk *walk, int64_t s, bool down);

/* Sends or gets n numbers. */
weft_status wi_over_move(const weft_chol *plan, void *numbers, size_t n, weft_type type, int other,
                         bool send);

/* The rung `ranks` of "sparse". Its arguments: */
typedef struct wi_chol_ranks_args {
    weft_context *own;
    const char *call;
    weft_chol *plan;
    const weft_sparse *matrix;
} wi_chol_ranks_args;
weft_status wi_chol_ranks(weft_context *ctx, const void *args);

/* ---- matrix_ranks.c ---- */

/* The matrix of the entries of all ranks, in their order. `given` has this rank's, and its rows (by
 * columns: cols) count those that it passes. */
weft_status wi_sparse_collect(weft_context *ctx, weft_context *own, const char *call,
                              weft_form form, const wi_triplets *given, weft_sparse **matrix);

/* New values for such a matrix; `value` has this rank's. */
weft_status wi_sparse_collect_values(weft_context *ctx, weft_context *own, const char *call,
                                     weft_sparse *matrix, const double *value);

#endif
