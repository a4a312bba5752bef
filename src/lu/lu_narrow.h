/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of f32 whose products are made of narrower numbers, for those who refine what is solved
 * with them. */
#ifndef WI_LU_NARROW_H
#define WI_LU_NARROW_H

#include "cholesky/cholesky.h"
#include "lu/lu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What factors of products are rounded to; sums are of f32. */
typedef enum wi_products {
    WI_FULL_PRODUCTS, /* of the factors' own type */
    WI_TF32_PRODUCTS,
    WI_BF16_PRODUCTS,
    WI_F16_PRODUCTS
} wi_products;

typedef struct wi_narrow {
    const char *call;
    wi_products products;
    int power; /* elements of A are at most about 2^power */
} wi_narrow;

/* As a rung of lu does, of f32: panels in f32, what they take from the rest by such products. A
 * number that grows beyond f16 becomes infinite, which args->first tells in the end. The call waits
 * for the device. On a GPU, between wi_gpu_enter and wi_gpu_leave. */
weft_status wi_lu_factor_narrow(weft_context *ctx, const wi_lu_args *args, const wi_narrow *how);

/* The same of a lower triangle; of blocks on the diagonal products are of f32. */
weft_status wi_cholesky_factor_narrow(weft_context *ctx, const wi_cholesky_args *args,
                                      const wi_narrow *how);

/* f16 or bf16 to[i + j * ld] = 2^power from[i + j * ld_from], m x n, on a GPU. Queued. */
typedef struct wi_narrowing {
    weft_type type;
    size_t m, n;
    const float *from;
    size_t ld_from;
    int power;
    void *to;
    size_t ld;
} wi_narrowing;
weft_status wi_narrow_gpu(weft_context *ctx, const wi_narrowing *w);

#ifdef __cplusplus
}
#endif
#endif
