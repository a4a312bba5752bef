/* SPDX-License-Identifier: Apache-2.0 */
/* What calls with a triangular matrix A and a matrix B in place, trsm and trmm, have in common. */
#ifndef WI_TRIANGLE_H
#define WI_TRIANGLE_H

#include "core/rows.h"
#include "gemm/gemm.h"
#include "gemm/starts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call on memory the place can reach, checked, of matrices stored by columns. B is m x n, and A
 * of order m or, on the `right`, n. m, n > 0; with alpha = 0, A is not there. */
typedef struct wi_triangle_args {
    weft_type type;
    bool right, upper, transposed, unit;
    size_t m, n;
    double alpha; /* rounded to the type */
    const void *a;
    size_t lda;
    void *b;
    size_t ldb;
} wi_triangle_args;

/* The same, seen in one way: T, lower triangular, stands on the left of X, which is B or its
 * transpose. Where op(A) is upper (lower on the right), all indices are counted backwards:
 * the steps from one to the next are then negative. */
typedef struct wi_triangle {
    weft_type type;
    bool unit;
    size_t order, count; /* of T; and columns of X */
    double alpha;
    const void *t; /* T(0, 0) */
    ptrdiff_t t_row, t_column;
    void *x; /* X(0, 0) */
    ptrdiff_t x_row, x_column;
    const wi_triangle_args *args;
    bool backwards;
} wi_triangle;

wi_triangle wi_triangle_of(const wi_triangle_args *args);

/* A range of rows of T and X. */
typedef struct wi_rows_part {
    size_t first, count;
} wi_rows_part;

/* X(rows) = alpha T(rows, others) X(others) + beta X(rows), as a product by gemm. The ranges have
 * no row in common, and `others` comes first. */
wi_gemm_args wi_triangle_part(const wi_triangle *t, wi_rows_part rows, wi_rows_part others,
                              double alpha, double beta);

/* The most bytes of all these products, where rows are halved down to `unit` of them: so that
 * memory is taken before X is touched. */
typedef size_t wi_gemm_bytes(const weft_context *ctx, const wi_gemm_args *g);
size_t wi_triangle_bytes(const weft_context *ctx, const wi_triangle *t, wi_rows_part rows,
                         size_t unit, wi_gemm_bytes *bytes_of);

/* B = 0, by the fastest rung of gemm. */
weft_status wi_triangle_zero(weft_context *ctx, const wi_triangle_args *args);

/* The two halves of a range; the first is a multiple of `unit`. */
static inline wi_rows_part wi_triangle_above(wi_rows_part rows, size_t unit) {
    const size_t half = (rows.count / 2 + unit - 1) / unit * unit;
    const wi_rows_part above = {rows.first, half};
    return above;
}
static inline wi_rows_part wi_triangle_below(wi_rows_part rows, size_t unit) {
    const size_t half = (rows.count / 2 + unit - 1) / unit * unit;
    const wi_rows_part below = {rows.first + half, rows.count - half};
    return below;
}

/* A call as its user makes it, of matrices stored by columns. Over ranks this one passes args.n
 * columns of B, and of A args.m or, on the right, args.n. */
typedef struct wi_triangle_request {
    const wi_ladder *ladder;
    const char *name;
    bool by_rows; /* the user stores them so, and messages say so */
    wi_triangle_args args;
    bool has_all;     /* this rank reaches all of A */
    wi_starts starts; /* of args.m and args.n */
} wi_triangle_request;

/* Describes the arrays: order x columns of A, length x args.n of B. */
void wi_triangle_describe(wi_call *call, const wi_triangle_request *r, size_t order, size_t columns,
                          size_t length);

/* Runs it over ranks; `status` is what the checks of all but the arrays have said. */
weft_status wi_triangle_over_ranks(weft_context *ctx, const wi_triangle_request *r,
                                   weft_status status);
/* Is a checked call on a place of several GPUs to go to all of them? And runs it so. */
bool wi_triangle_wants_gpus(weft_context *ctx, const wi_triangle_request *r);
weft_status wi_triangle_over_gpus(weft_context *ctx, const wi_triangle_request *r);

/* The public calls, by the ladder of each. */
weft_status wi_triangle_call(weft_context *ctx, const wi_ladder *ladder, const char *name,
                             unsigned how, weft_type type, size_t m, size_t n, double alpha,
                             const void *a, size_t lda, void *b, size_t ldb);

/* For the openblas rungs: why they cannot do a call, or NULL. */
const char *wi_triangle_fits_openblas(const weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
