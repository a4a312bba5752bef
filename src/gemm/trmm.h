/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of trmm, the product of a triangular matrix and another one. */
#ifndef WI_TRMM_H
#define WI_TRMM_H

#include "gemm/triangle.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const wi_ladder wi_trmm_ladder;

/* The rungs; args is a wi_triangle_args. */
weft_status wi_trmm_serial(weft_context *ctx, const void *args);
weft_status wi_trmm_openblas(weft_context *ctx, const void *args);
weft_status wi_trmm_packed(weft_context *ctx, const void *args);
weft_status wi_trmm_column(weft_context *ctx, const void *args);
weft_status wi_trmm_halves(weft_context *ctx, const void *args);
weft_status wi_trmm_ranks(weft_context *ctx, const void *request); /* a wi_triangle_request */

#ifdef __cplusplus
}
#endif
#endif
