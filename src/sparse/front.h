/* SPDX-License-Identifier: Apache-2.0 */
/* Fronts of the multifrontal factorization: a front is a dense matrix made of the columns of a
 * supernode (their panel of L) and the update that they leave for the parent. */
#ifndef WI_SPARSE_FRONT_H
#define WI_SPARSE_FRONT_H

#include <stdalign.h>

#include "sparse/chol.h"
#include "sparse/dense.h"
#include "sparse/small_simd.h"
#include "sparse/thread_group.h"

typedef struct wi_front {
    int64_t height, columns;
    double *panel;  /* height x columns, in blocks of columns, like the update */
    double *update; /* the square below the columns */
} wi_front;

/* The same for a factor of floats. */
typedef struct wi_front_narrow {
    int64_t height, columns;
    float *panel, *update;
} wi_front_narrow;

/* Column j of the front from its diagonal down: element i of it is at [i], i >= j. */
double *wi_front_column(const wi_front *front, int64_t j);
float *wi_front_narrow_column(const wi_front_narrow *front, int64_t j);

/* The front of s, for the thread with this rank. */
wi_front wi_front_of(const weft_chol *plan, int64_t s, int rank);
wi_front_narrow wi_front_narrow_of(const weft_chol *plan, int64_t s, int rank);

/* Puts the front of s together and factors it: its panel and the update. Returns `columns`, or the
 * first column without a pivot; all threads of the group get the same. They share `failed`, and
 * `room`, memory for packed rows. */
int64_t wi_front_do(wi_thread_group *group, const weft_chol *plan, const weft_sparse *matrix,
                    int64_t s, void *room, int64_t *failed);
int64_t wi_front_do_narrow(wi_thread_group *group, const weft_chol *plan, const weft_sparse *matrix,
                           int64_t s, void *room, int64_t *failed);

/* The second of these steps, for L Lt: factors the panel and computes the update. `failed` must be
 * `columns` before. */
int64_t wi_front_factor(wi_thread_group *group, const wi_front *front, double *room,
                        int64_t *failed);
int64_t wi_front_narrow_factor(wi_thread_group *group, const wi_front_narrow *front, float *room,
                               int64_t *failed);

/* Both steps at once, for L Lt and a front of a few rows, by one thread: the same bits in less
 * time. */
bool wi_front_is_small(const weft_chol *plan, int64_t s);
int64_t wi_front_small(const weft_chol *plan, const weft_sparse *matrix, int64_t s, int rank);

/* A front of a few rows on the stack, and its entries of A there. */
typedef struct wi_small {
    int64_t height, columns;
    alignas(64) double front[WI_SMALL_ROWS * WI_SMALL_ROWS];
} wi_small;
void wi_small_begin(const weft_chol *plan, const weft_sparse *matrix, int64_t s, wi_small *at);

#endif
