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

/* The front of s, for the thread with this rank. */
wi_front wi_front_of(const weft_chol *plan, int64_t s, int rank);

/* The front of s = its entries of A + the updates of its children. The threads of the group share
 * the columns. */
void wi_front_assemble(wi_thread_group *group, const weft_chol *plan, const weft_sparse *matrix,
                       int64_t s);

/* Factors the panel and computes the update. Returns `columns`, or the first column whose pivot is
 * not > 0; all threads of the group get the same. They share `failed`, which must be `columns`
 * before. */
int64_t wi_front_factor(wi_thread_group *group, const wi_front *front, double *room,
                        int64_t *failed);

/* Both steps at once for a front of a few rows, by one thread: the same bits in less time. */
bool wi_front_is_small(const weft_chol *plan, int64_t s);
int64_t wi_front_small(const weft_chol *plan, const weft_sparse *matrix, int64_t s, int rank);

#endif
