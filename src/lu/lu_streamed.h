/* SPDX-License-Identifier: Apache-2.0 */
/* Host matrices that do not fit the memory of a GPU: panels of columns come one after another. */
#ifndef WI_LU_STREAMED_H
#define WI_LU_STREAMED_H

#include "lu/lu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A matrix in host memory that is too large, as the call describes it. */
typedef struct wi_lu_streamed {
    const char *call;
    weft_type type;
    bool by_rows;
    size_t m, n;
    void *a;
    size_t lda;
} wi_lu_streamed;

#ifdef WEFT_CUDA

/* Is it one, and larger than what a GPU may hold of it? Always false on a cpu. */
bool wi_lu_wants_streaming(const weft_context *ctx, const wi_lu_streamed *s);

/* Factors it. `pivot` and `words`, WI_LU_WORDS of them, are host memory. Between wi_gpu_enter and
 * wi_gpu_leave, as all below. */
weft_status wi_lu_factor_streamed(weft_context *ctx, const wi_lu_streamed *s, int64_t *pivot,
                                  int64_t *words);

/* op(A) X = B with its factors: X, stored by columns in memory of the place, takes the place of B.
 * `pivot` is memory of the place. */
weft_status wi_lu_solve_streamed(weft_context *ctx, const wi_lu_streamed *s, bool transposed,
                                 size_t nrhs, const int64_t *pivot, void *x, size_t ldx);

#else

static inline bool wi_lu_wants_streaming(const weft_context *ctx, const wi_lu_streamed *s) {
    (void)ctx;
    (void)s;
    return false;
}
static inline weft_status wi_lu_factor_streamed(weft_context *ctx, const wi_lu_streamed *s,
                                                int64_t *pivot, int64_t *words) {
    (void)pivot;
    (void)words;
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: this build has no CUDA", s->call);
}
static inline weft_status wi_lu_solve_streamed(weft_context *ctx, const wi_lu_streamed *s,
                                               bool transposed, size_t nrhs, const int64_t *pivot,
                                               void *x, size_t ldx) {
    (void)transposed;
    (void)nrhs;
    (void)pivot;
    (void)x;
    (void)ldx;
    return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: this build has no CUDA", s->call);
}

#endif

#ifdef __cplusplus
}
#endif
#endif
