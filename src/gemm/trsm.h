/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of trsm, which solves systems with a triangular matrix. */
#ifndef WI_TRSM_H
#define WI_TRSM_H

#include "gemm/triangle.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const wi_ladder wi_trsm_ladder;

/* The rungs; args is a wi_triangle_args. */
weft_status wi_trsm_serial(weft_context *ctx, const void *args);
weft_status wi_trsm_openblas(weft_context *ctx, const void *args);
weft_status wi_trsm_packed(weft_context *ctx, const void *args);
weft_status wi_trsm_column(weft_context *ctx, const void *args);
weft_status wi_trsm_halves(weft_context *ctx, const void *args);
weft_status wi_trsm_ranks(weft_context *ctx, const void *request); /* a wi_triangle_request */
weft_status wi_trsm_chain(weft_context *ctx, const void *args);

enum {
    WI_TRSM_CHAIN_MOST = 8 /* right-hand sides that the rung chain takes */
};

/* On a GPU: T's blocks on the diagonal, 64 x 64 each, their inverses and conditions, as
 * wi_triangle_inverses has them in memory: (i, k) of one at i + 64 k. The last is filled up with
 * ones on its diagonal. */
weft_status wi_trsm_invert(weft_context *ctx, const wi_triangle *t, void *memory);

/* Device memory that the rung users get takes, at most, while it is queued. */
size_t wi_trsm_most_bytes(const weft_context *ctx, const wi_triangle_args *args);

/* The packed rung in memory of the caller, who makes several calls and may not fail between them:
 * so many bytes, at a multiple of 64. alpha is not 0. */
size_t wi_trsm_packed_bytes(const weft_context *ctx, const wi_triangle_args *args);
void wi_trsm_packed_in(weft_context *ctx, const wi_triangle_args *args, void *memory);

#ifdef __cplusplus
}
#endif
#endif
