/* SPDX-License-Identifier: Apache-2.0 */
/* ger inside the library: one checked call as its rungs get it, and the rungs. */
#ifndef WI_GER_H
#define WI_GER_H

#include "core/rows.h"
#include "gemm/starts.h"
#include "gemm/strided.h"
#include "weft/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call on memory the place can reach, checked: A(i, j) = A(i, j) + (alpha_x x[i])
 * (alpha_y y[j]). A is stored by columns, rows x columns; neither is 0. One of the two factors is
 * 1: a matrix stored by rows changes x for y, and has the same bits. */
typedef struct wi_ger_args {
    weft_type type;
    size_t rows, columns;
    double alpha_x, alpha_y; /* as the type that sums are made in holds them; not 0 */
    wi_strided x, y;
    void *a;
    size_t lda;
} wi_ger_args;

extern const wi_ladder wi_ger_ladder;

/* A call as its user makes it, with what one place or one rank passes. */
typedef struct wi_ger_call {
    weft_type type;
    unsigned how;
    size_t m, n; /* elements of x and of y */
    double alpha;
    const void *x;
    ptrdiff_t incx;
    const void *y;
    ptrdiff_t incy;
    void *a;
    size_t lda;
    /* Over ranks: */
    bool has_both;    /* m x n is the part of A, or else only its lines are those of this rank */
    wi_starts starts; /* of x and y */
} wi_ger_call;

/* Describes the arrays, where a part so high and wide of A is passed. */
void wi_ger_describe(wi_call *call, const wi_ger_call *g, size_t high, size_t wide);

/* Runs it over ranks; `status` is what the checks of all but the arrays have said. */
weft_status wi_ger_over_ranks(weft_context *ctx, const wi_ger_call *g, weft_status status);
/* Is a checked call on a place of several GPUs to go to all of them? And runs it so. */
bool wi_ger_wants_gpus(weft_context *ctx, const wi_ger_call *g);
weft_status wi_ger_over_gpus(weft_context *ctx, const wi_ger_call *g);

/* The rungs. */
weft_status wi_ger_serial(weft_context *ctx, const void *args);
weft_status wi_ger_threads(weft_context *ctx, const void *args);
weft_status wi_ger_naive(weft_context *ctx, const void *args);
weft_status wi_ger_vector(weft_context *ctx, const void *args);
weft_status wi_ger_ranks(weft_context *ctx, const void *call); /* a wi_ger_call */

#ifdef __cplusplus
}
#endif
#endif
