/* SPDX-License-Identifier: Apache-2.0 */
/* syrk inside the library: one checked call as its rungs get it, and the rungs. */
#ifndef WI_SYRK_H
#define WI_SYRK_H

#include "core/rows.h"
#include "gemm/gemm.h"
#include "gemm/starts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call on memory the place can reach, checked, of matrices stored by columns: C = alpha op(A)
 * op(A)' + beta C, op(A) being n x k. n > 0; with k = 0, alpha is 0 and A is not there. */
typedef struct wi_syrk_args {
    weft_type type;
    bool upper;      /* triangle of C */
    bool transposed; /* A is stored as its transpose */
    size_t n, k;
    double alpha, beta; /* as the type holds them */
    const void *a;
    size_t lda;
    void *c;
    size_t ldc;
    unsigned blocks_most; /* as gemm's */
    size_t below; /* rows that follow a lower triangle, of `ring` alone: wi_syrk_and_below */
} wi_syrk_args;

extern const wi_ladder wi_syrk_ladder;

/* A call as its user makes it, with what one place or one rank passes. With alpha = 0, k is 0. */
typedef struct wi_syrk_call {
    weft_type type;
    unsigned how;
    size_t n, k;
    double alpha, beta; /* as the type holds them */
    const void *a;
    size_t lda;
    void *c;
    size_t ldc;
    /* Over ranks: */
    bool has_all;     /* this one reaches all of A and C */
    wi_starts starts; /* of n and k */
} wi_syrk_call;

/* Describes the arrays, where the parts of op(A) and C are so high and wide. */
void wi_syrk_describe(wi_call *call, const wi_syrk_call *g, size_t a_high, size_t a_wide,
                      size_t c_high, size_t c_wide);

/* Runs it over ranks; `status` is what the checks of all but the arrays have said. */
weft_status wi_syrk_over_ranks(weft_context *ctx, const wi_syrk_call *g, weft_status status);
/* Is a checked call on a place of several GPUs to go to all of them? And runs it so. */
bool wi_syrk_wants_gpus(weft_context *ctx, const wi_syrk_call *g);
weft_status wi_syrk_over_gpus(weft_context *ctx, const wi_syrk_call *g);

/* The part of op(A) op(A)' in these rows and columns, as a product by gemm: alpha, beta and C are
 * still to be said. */
wi_gemm_args wi_syrk_part(const wi_syrk_args *g, size_t row, size_t rows, size_t column,
                          size_t columns);

/* A lower triangle and the rows below it, for which A, not transposed, has as many rows more. */
weft_status wi_syrk_and_below(weft_context *ctx, const wi_syrk_args *g, size_t below);

/* The rungs. */
weft_status wi_syrk_serial(weft_context *ctx, const void *args);
weft_status wi_syrk_openblas(weft_context *ctx, const void *args);
weft_status wi_syrk_packed(weft_context *ctx, const void *args);
weft_status wi_syrk_coalesced(weft_context *ctx, const void *args);
weft_status wi_syrk_product(weft_context *ctx, const void *args);
weft_status wi_syrk_triangle(weft_context *ctx, const void *args);
weft_status wi_syrk_ring(weft_context *ctx, const void *args);
weft_status wi_syrk_parts(weft_context *ctx, const void *args);
weft_status wi_syrk_ranks(weft_context *ctx, const void *call); /* a wi_syrk_call */

/* The packed rung in memory of the caller, who makes several calls and may not fail between them:
 * so many bytes, at a multiple of 64. */
size_t wi_syrk_packed_bytes(const weft_context *ctx, const wi_syrk_args *g);
void wi_syrk_packed_in(const weft_context *ctx, const wi_syrk_args *g, void *memory);

#ifdef __cplusplus
}
#endif
#endif
