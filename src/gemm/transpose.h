/* SPDX-License-Identifier: Apache-2.0 */
/* transpose inside the library: one checked call as its rungs get it, and the rungs. */
#ifndef WI_TRANSPOSE_H
#define WI_TRANSPOSE_H

#include "core/call.h"
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

/* A call over ranks: each has some lines of A, of args.rows elements, and gets some of B: `share`,
 * or an even part. Of args, b's lines have a length that the ranks have yet to learn. */
typedef struct wi_transpose_request {
    wi_transpose_args args;
    unsigned columns; /* WI_COLUMNS, or 0: what lines are called */
    bool has_share;
    size_t share;
} wi_transpose_request;
weft_status wi_transpose_ranks(weft_context *ctx, const void *request);

/* A matrix of elements without a type: `lines` of them, `length` elements each. */
wi_array wi_transpose_matrix(const char *which, const void *p, size_t lines, size_t length,
                             const char *ld_name, size_t ld, size_t width, unsigned use);

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
