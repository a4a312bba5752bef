/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WI_TRIANGLE_CPU_H
#define WI_TRIANGLE_CPU_H

#include "gemm/triangle.h"

typedef enum wi_triangle_task {
    WI_TRIANGLE_SOLVE,   /* X = alpha T \ X */
    WI_TRIANGLE_MULTIPLY /* X = alpha T X */
} wi_triangle_task;

/* Of at most WI_TRIANGLE_SIDE rows, by all threads that are worth it. An element's bits depend on
 * its row of T and its column of X alone. */
void wi_triangle_do_block(const weft_context *ctx, const wi_triangle *t, wi_rows_part rows,
                          wi_triangle_task task, double alpha);

#endif
