/* SPDX-License-Identifier: Apache-2.0 */
/* Where a rung begins and ends on a GPU: gpu_graphs.c launches kernels that are alone in theirs in
 * another way. Only what is not inside of another rung counts. */
#ifndef WI_GPU_CALLS_H
#define WI_GPU_CALLS_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

void wi_gpu_call_begins(weft_context *ctx);
void wi_gpu_call_ends(weft_context *ctx);
/* The kernel that is launched next launches others: a graph would not wait for these. */
void wi_gpu_call_nests(weft_context *ctx);

#ifdef __cplusplus
}
#endif
#endif
