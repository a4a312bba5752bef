/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WI_GEMM_H
#define WI_GEMM_H

#include "core/rows.h"
#include "weft/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the sums of f32 may be made of. */
typedef enum wi_accuracy {
    WI_FULL_F32,   /* whatever is as accurate as f32 */
    WI_STRICT_F32, /* fused multiply-adds in f32 */
    WI_TF32        /* A and B cut to tf32 */
} wi_accuracy;

/* One call on memory the place can reach, checked. Matrices are stored by columns: a product of
 * matrices stored by rows is that of the transposed ones, B first. m, n > 0; with k = 0, A and B
 * are not read. */
typedef struct wi_gemm_args {
    weft_type type, out;
    wi_accuracy accuracy;
    bool transposed_a, transposed_b; /* stored as the transpose of what is multiplied */
    size_t m, n, k;
    double alpha, beta; /* as the type of the sums holds them */
    const void *a, *b;
    size_t lda, ldb;
    void *c;
    size_t ldc;
} wi_gemm_args;

extern const wi_ladder wi_gemm_ladder;

/* The rungs. */
weft_status wi_gemm_serial(weft_context *ctx, const void *args);
weft_status wi_gemm_packed(weft_context *ctx, const void *args);
weft_status wi_gemm_openblas(weft_context *ctx, const void *args);
weft_status wi_gemm_naive(weft_context *ctx, const void *args);
weft_status wi_gemm_coalesced(weft_context *ctx, const void *args);
weft_status wi_gemm_tile16(weft_context *ctx, const void *args);
weft_status wi_gemm_tile32(weft_context *ctx, const void *args);
weft_status wi_gemm_strip(weft_context *ctx, const void *args);
weft_status wi_gemm_patch(weft_context *ctx, const void *args);
weft_status wi_gemm_vector(weft_context *ctx, const void *args);
weft_status wi_gemm_doubled(weft_context *ctx, const void *args);
weft_status wi_gemm_warps(weft_context *ctx, const void *args);
weft_status wi_gemm_pipeline(weft_context *ctx, const void *args);
weft_status wi_gemm_tensor(weft_context *ctx, const void *args);

/* The packed rung in memory of the caller, who makes several products and may not fail between
 * them: so many bytes, at a multiple of 64. */
size_t wi_gemm_packed_bytes(const weft_context *ctx, const wi_gemm_args *g);
void wi_gemm_packed_in(const weft_context *ctx, const wi_gemm_args *g, void *memory);

/* Device memory that any rung takes for this product, at most, while it is queued. */
size_t wi_gemm_most_bytes(const weft_context *ctx, const wi_gemm_args *g);

#ifdef __cplusplus
}
#endif
#endif
