/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of gemm_ring_sent.cu, which gemm_ring_half.cu chooses from as from its own. */
#ifndef WI_GEMM_RING_SENT_CUH
#define WI_GEMM_RING_SENT_CUH

#include "gemm/gemm_boxes_launch.cuh"

/* Tiles of C that are sent to memory by the copy engine. */
template <class In>
void wi_gemm_consider_sent(const weft_context *ctx, const wi_gemm_args *g, wi_gemm_choice *best);

/* Tiles of two blocks, which share what they multiply. */
template <class In>
void wi_gemm_consider_pairs(const weft_context *ctx, const wi_gemm_args *g, wi_gemm_choice *best);

#endif
