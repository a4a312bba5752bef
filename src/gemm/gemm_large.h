/* SPDX-License-Identifier: Apache-2.0 */
/* Large products of the packed rung: threads pack A and B together, once, and then share C. */
#ifndef WI_GEMM_LARGE_H
#define WI_GEMM_LARGE_H

#include "gemm/gemm.h"

/* Is it worth it? Only of f64 and f32, and k > 0. */
bool wi_gemm_is_large(const wi_gemm_args *g);

/* In so many bytes of the caller's, at a multiple of 64. */
size_t wi_gemm_large_bytes(const wi_gemm_args *g);
void wi_gemm_large_in(const weft_context *ctx, const wi_gemm_args *g, void *memory);

#endif
