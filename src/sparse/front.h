/* SPDX-License-Identifier: Apache-2.0 */
/* Fronts of the multifrontal factorization: a front is a dense matrix made of the columns of a
 * supernode (their panel of L) and the update that they leave for the parent. */
#ifndef WI_SPARSE_FRONT_H
#define WI_SPARSE_FRONT_H

#include "sparse/chol.h"
#include "sparse/dense.h"
#include "sparse/thread_group.h"

typedef struct wi_front {
    int64_t height, columns;
    double *panel;  /* height x columns, in blocks of columns, like the update */
    double *update; /* the square below the columns */
} wi_front;

/* Column j of the front from its diagonal down: element i of it is at [i], i >= j. */
double *wi_front_column(const wi_front *front, int64_t j);

/* The front of s, for the thread with this rank. */
wi_front wi_front_of(const weft_chol *plan, int64_t s, int rank);

/* The front of s = its entries of A + the updates of its children. The threads of the group share
 * the columns. */
void wi_front_assemble(wi_thread_group *group, const weft_chol *plan, const weft_sparse *matrix,
                       int64_t s);

/* L Lt: factors the panel and computes the update. Returns `columns`, or the first column whose
 * pivot is not > 0; all threads of the group get the same. They share `failed`, which must be
 * `columns` before. */
int64_t wi_front_factor(wi_thread_group *group, const wi_front *front, double *room,
                        int64_t *failed);

/* L D Lt: the same. front_ldlt.c */
int64_t wi_front_factor_ldlt(wi_thread_group *group, const weft_chol *plan, int64_t s, double *room,
                             int64_t *shared);

/* What both do with columns that were just eliminated, those before `end`: their products are
 * subtracted from all columns after them. Row i of the front is packed as row i - base. */
typedef struct wi_eliminated {
    int64_t base, end, columns;
    const double *rows, *across; /* L D and L; for L Lt both are L */
} wi_eliminated;
void wi_front_subtract(wi_thread_group *group, const wi_front *front, const wi_eliminated *done);

/* Rounds up to whole groups of packed rows. */
static inline int64_t wi_whole_groups(int64_t rows) {
    return (rows + WI_DENSE_GROUP - 1) / WI_DENSE_GROUP * WI_DENSE_GROUP;
}

/* How many rows a piece of work has, if there are so many in all. */
int64_t wi_front_step(const wi_thread_group *group, int64_t rows);

/* Both steps at once, for L Lt and a front of a few rows, by one thread: the same bits in less
 * time. */
bool wi_front_is_small(const weft_chol *plan, int64_t s);
int64_t wi_front_small(const weft_chol *plan, const weft_sparse *matrix, int64_t s, int rank);

#endif
