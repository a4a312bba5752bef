/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WI_GER_H
#define WI_GER_H

#include "core/rows.h"
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

/* The rungs. */
weft_status wi_ger_serial(weft_context *ctx, const void *args);
weft_status wi_ger_threads(weft_context *ctx, const void *args);
weft_status wi_ger_naive(weft_context *ctx, const void *args);
weft_status wi_ger_vector(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
