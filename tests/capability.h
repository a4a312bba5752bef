/* SPDX-License-Identifier: Apache-2.0 */
/* What a test's GPU can do. */
#ifndef WEFT_TEST_CAPABILITY_H
#define WEFT_TEST_CAPABILITY_H

#include "core/gpu.h"

/* Has the place a GPU of at least this compute capability, 90 for 9.0? */
static inline bool test_has_capability(const weft_context *ctx, int least) {
#ifdef WEFT_CUDA
    return ctx->gpu && ctx->gpu->capability >= least;
#else
    (void)ctx;
    (void)least;
    return false;
#endif
}

#endif
