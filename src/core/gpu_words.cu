/* SPDX-License-Identifier: Apache-2.0 */
/* Words that a kernel leaves in device memory, for the host: another kernel, which is ready when
 * that one ends, writes them to pinned memory. */
#include "core/gpu.h"
#include "cuda/ahead.cuh"
#include "cuda/launch.cuh"

static __global__ void write_words(int64_t *to, const int64_t *from) {
    wi_wait_for_earlier();
    to[threadIdx.x] = from[threadIdx.x];
}

weft_status wi_gpu_write_words(weft_context *ctx, const int64_t *from, int count) {
    return WEFT_LAUNCH_AHEAD(write_words, ctx, 1, count, 0, ctx->gpu->words, from);
}
