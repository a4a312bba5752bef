/* SPDX-License-Identifier: Apache-2.0 */
/* lu of host matrices that do not fit the memory of a GPU. */
#ifndef WI_LU_STREAMED_H
#define WI_LU_STREAMED_H

#include "lu/host_matrix.h"
#include "lu/lu.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef WEFT_CUDA

/* Factors it. `pivot` and `words`, WI_LU_WORDS of them, are host memory. Between wi_gpu_enter and
 * wi_gpu_leave, as all below. */
weft_status wi_lu_factor_streamed(weft_context *ctx, const wi_host_matrix *s, int64_t *pivot,
                                  int64_t *words);

#else

static inline weft_status wi_lu_factor_streamed(weft_context *ctx, const wi_host_matrix *s,
                                                int64_t *pivot, int64_t *words) {
    (void)pivot;
    (void)words;
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: this build has no CUDA", s->call);
}

#endif

/* op(A) X = B with its factors: X, stored by columns in memory of the place, takes the place of B.
 * `pivot` is memory of the place. */
weft_status wi_lu_solve_streamed(weft_context *ctx, const wi_host_matrix *s, bool transposed,
                                 size_t nrhs, const int64_t *pivot, void *x, size_t ldx);

#ifdef __cplusplus
}
#endif
#endif
