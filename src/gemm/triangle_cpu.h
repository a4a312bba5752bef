/* SPDX-License-Identifier: Apache-2.0 */
/* What trsm and trmm share on a cpu: a call under way, blocks of few rows, and products between
 * them. */
#ifndef WI_TRIANGLE_CPU_H
#define WI_TRIANGLE_CPU_H

#include "gemm/triangle.h"
#include "gemm/triangle_simd.h"

/* A call under way. */
typedef struct wi_triangle_run {
    weft_context *ctx;
    const wi_triangle *t;
    void *memory; /* of gemm */
} wi_triangle_run;

/* Of at most WI_TRIANGLE_SIDE rows, by all threads that are worth it. An element's bits depend on
 * its row of T and its column of X alone. */
void wi_triangle_do_block(const wi_triangle_run *r, wi_rows_part rows, wi_triangle_task task,
                          double alpha);

/* X(rows) = alpha T(rows, others) X(others) + beta X(rows), in the run's memory. */
void wi_triangle_multiply(const wi_triangle_run *r, wi_rows_part rows, wi_rows_part others,
                          double alpha, double beta);

/* Takes the memory for all products, and calls `body` for all rows. `call` is the public name, for
 * messages. */
weft_status wi_triangle_run_all(weft_context *ctx, const wi_triangle_args *args, const char *call,
                                void (*body)(const wi_triangle_run *r, wi_rows_part rows,
                                             double alpha));

#endif
