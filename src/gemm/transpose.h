/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WI_TRANSPOSE_H
#define WI_TRANSPOSE_H

#include "core/rows.h"
#include "weft/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call on memory the place can reach, checked: element (i, j) of A, at a[i + j lda], becomes
 * element (j, i) of B, at b[j + i ldb]. Neither extent is 0. In place, b = a and the matrix is
 * square. */
typedef struct wi_transpose_args {
    size_t width; /* bytes of an element */
    size_t rows, columns;
    const void *a;
    size_t lda;
    void *b;
    size_t ldb;
} wi_transpose_args;

extern const wi_ladder wi_transpose_ladder;

/* Does so by the fastest rung, between wi_gpu_enter and wi_gpu_leave. */
weft_status wi_transpose_part(weft_context *ctx, const wi_transpose_args *args);

/* The rungs. */
weft_status wi_transpose_serial(weft_context *ctx, const void *args);
weft_status wi_transpose_tiles(weft_context *ctx, const void *args);
weft_status wi_transpose_naive(weft_context *ctx, const void *args);
weft_status wi_transpose_shared(weft_context *ctx, const void *args);
weft_status wi_transpose_padded(weft_context *ctx, const void *args);
weft_status wi_transpose_packs(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
