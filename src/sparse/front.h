/* SPDX-License-Identifier: Apache-2.0 */
/* Fronts of the multifrontal factorization: the columns of a supernode, their panel of L, beside
 * the update they leave for the parent. */
#ifndef WI_SPARSE_FRONT_H
#define WI_SPARSE_FRONT_H

#include "sparse/chol.h"
#include "sparse/dense.h"
#include "sparse/thread_group.h"

typedef struct wi_front {
    int64_t height, columns;
    double *panel;  /* height x columns, by blocks of columns, as is */
    double *update; /* what is below */
} wi_front;

/* The front of s, for the thread of this rank. */
wi_front wi_front_of(const weft_chol *plan, int64_t s, int rank);

/* The front of s = its entries of A + the updates of its children, the members of the group taking
 * columns. */
void wi_front_assemble(wi_thread_group *group, const weft_chol *plan, const weft_sparse *matrix,
                       int64_t s);

/* Panel and update are factored. Returns `columns`, or the first column whose pivot is not > 0. All
 * members of the group get the same; `failed` is shared by them, and `columns` before. */
int64_t wi_front_factor(wi_thread_group *group, const wi_front *front, double *room,
                        int64_t *failed);

/* Both at once for a front of a few rows, by one thread: the same bits in less time. */
bool wi_front_is_small(const weft_chol *plan, int64_t s);
int64_t wi_front_small(const weft_chol *plan, const weft_sparse *matrix, int64_t s, int rank);

#endif
