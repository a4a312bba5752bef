/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WI_GEMV_H
#define WI_GEMV_H

#include "core/rows.h"
#include "gemm/strided.h"
#include "weft/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call on memory the place can reach, checked. S is what is stored, by columns: op(A) or its
 * transpose. y = alpha S x + beta y or, transposed, y = alpha St x + beta y. y is not empty; if x
 * is, nothing is read but y. */
typedef struct wi_gemv_args {
    weft_type type, out;
    bool transposed;
    size_t rows, columns; /* of S */
    size_t results, terms;
    double alpha, beta; /* as the type of the sums holds them */
    const void *a;
    size_t lda;
    wi_strided x, y;
} wi_gemv_args;

extern const wi_ladder wi_gemv_ladder;

/* The rungs. */
weft_status wi_gemv_serial(weft_context *ctx, const void *args);
weft_status wi_gemv_threads(weft_context *ctx, const void *args);
weft_status wi_gemv_naive(weft_context *ctx, const void *args);
weft_status wi_gemv_warps(weft_context *ctx, const void *args);
weft_status wi_gemv_slices(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
