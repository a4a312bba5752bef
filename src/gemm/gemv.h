/* SPDX-License-Identifier: Apache-2.0 */
/* gemv inside the library: one checked call as its rungs get it, and the rungs. */
#ifndef WI_GEMV_H
#define WI_GEMV_H

#include "core/rows.h"
#include "gemm/starts.h"
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

/* A call as its user makes it, with what one place or one rank passes. With alpha = 0, n is 0. */
typedef struct wi_gemv_call {
    weft_type type, out;
    unsigned how;
    size_t m, n; /* elements of y and of x */
    double alpha, beta;
    const void *a;
    size_t lda;
    const void *x;
    ptrdiff_t incx;
    void *y;
    ptrdiff_t incy;
    /* Over ranks: */
    bool has_rows;    /* this one has rows of op(A), m of them, or else n columns */
    bool has_x;       /* and all of x, not a part */
    wi_starts starts; /* of y and x; of GPUs, those that they need */
} wi_gemv_call;

/* Describes the arrays, where a part so high and wide of op(A) is passed. */
void wi_gemv_describe(wi_call *call, const wi_gemv_call *g, size_t high, size_t wide);

/* Runs it over ranks; `status` is what the checks of all but the arrays have said. */
weft_status wi_gemv_over_ranks(weft_context *ctx, const wi_gemv_call *g, weft_status status);
/* Is a checked call on a place of several GPUs to go to all of them? And runs it so. */
bool wi_gemv_wants_gpus(weft_context *ctx, const wi_gemv_call *g);
weft_status wi_gemv_over_gpus(weft_context *ctx, const wi_gemv_call *g);

/* The rungs. */
weft_status wi_gemv_serial(weft_context *ctx, const void *args);
weft_status wi_gemv_threads(weft_context *ctx, const void *args);
weft_status wi_gemv_naive(weft_context *ctx, const void *args);
weft_status wi_gemv_warps(weft_context *ctx, const void *args);
weft_status wi_gemv_slices(weft_context *ctx, const void *args);
weft_status wi_gemv_ranks(weft_context *ctx, const void *call); /* a wi_gemv_call */

#ifdef __cplusplus
}
#endif
#endif
