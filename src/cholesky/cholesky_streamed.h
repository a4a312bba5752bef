/* SPDX-License-Identifier: Apache-2.0 */
/* cholesky of host matrices that do not fit the memory of a GPU. */
#ifndef WI_CHOLESKY_STREAMED_H
#define WI_CHOLESKY_STREAMED_H

#include "cholesky/cholesky.h"
#include "lu/host_matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef WEFT_CUDA

/* Factors the lower triangle. `words`, WI_CHOLESKY_WORDS of them, are host memory. Between
 * wi_gpu_enter and wi_gpu_leave. */
weft_status wi_cholesky_factor_streamed(weft_context *ctx, const wi_host_matrix *s, int64_t *words);

#else

static inline weft_status wi_cholesky_factor_streamed(weft_context *ctx, const wi_host_matrix *s,
                                                      int64_t *words) {
    (void)words;
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: this build has no CUDA", s->call);
}

#endif

/* A X = B with the factor, a lower triangle: X, stored by columns in memory of the place, takes the
 * place of B. */
weft_status wi_cholesky_solve_streamed(weft_context *ctx, const wi_host_matrix *s, size_t nrhs,
                                       void *x, size_t ldx);

#ifdef __cplusplus
}
#endif
#endif
