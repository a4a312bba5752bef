/* SPDX-License-Identifier: Apache-2.0 */
/* A call that copies one array to another by way of the device, as calls with kernels do. */
#ifndef WEFT_TEST_STAGE_COPY_H
#define WEFT_TEST_STAGE_COPY_H

#include "core/gpu.h"
#include "core/stage.h"

#ifdef WEFT_CUDA
/* In place of a kernel: copies the first operand to the second. */
static inline weft_status test_copy_segment(weft_context *ctx, const void *user, size_t first,
                                            size_t rows, size_t cols, void *const p[],
                                            const size_t ld[]) {
    (void)user;
    (void)first;
    (void)ld;
    return wi_cuda(ctx,
                   cudaMemcpyAsync(p[1], p[0], rows * cols, cudaMemcpyDefault, ctx->gpu->stream),
                   "copying a segment");
}

static inline weft_status test_stage_copy(weft_context *ctx, void *x, void *y, size_t bytes) {
    const wi_stage_args args = {
        .call = "weft_mock",
        .rows = 1,
        .cols = bytes,
        .operand = {{x, 1, bytes, true, false}, {y, 1, bytes, false, true}},
        .operands = 2,
        .run = test_copy_segment,
    };
    return wi_stage_run(ctx, &args);
}
#endif

#endif
