/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_batch inside the library: one checked call as its rungs get it, and the rungs. */
#ifndef WI_GEMM_BATCH_H
#define WI_GEMM_BATCH_H

#include "gemm/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the matrices of a batch are. */
typedef struct wi_gemm_matrices {
    const void *first;       /* matrix i is i * stride elements on; unless there is `each` */
    size_t stride;           /* 0: one matrix for all */
    const void *const *each; /* the matrices' addresses, where the place can read them; or NULL */
    const void *const *each_on_host; /* the same where this thread can read them; or NULL */
} wi_gemm_matrices;

/* One call on memory the place can reach, checked. */
typedef struct wi_gemm_batch_args {
    wi_gemm_args one; /* each product, but for where its matrices are */
    size_t count;     /* of products, above 0 */
    wi_gemm_matrices a, b, c;
} wi_gemm_batch_args;

extern const wi_ladder wi_gemm_batch_ladder;

/* Does the host know where each matrix is? */
static inline bool wi_gemm_batch_known(const wi_gemm_batch_args *g) {
    return (!g->a.each || g->a.each_on_host) && (!g->b.each || g->b.each_on_host) &&
           (!g->c.each || g->c.each_on_host);
}

/* Product i of a batch whose matrices the host knows. */
wi_gemm_args wi_gemm_batch_product(const wi_gemm_batch_args *g, size_t i);

/* The rungs. */
weft_status wi_gemm_batch_serial(weft_context *ctx, const void *args);
weft_status wi_gemm_batch_threads(weft_context *ctx, const void *args);
weft_status wi_gemm_batch_one_each(weft_context *ctx, const void *args);
weft_status wi_gemm_batch_queued(weft_context *ctx, const void *args);
weft_status wi_gemm_batch_tiles(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
