/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds a block of f32 to f16 or bf16, scaled by a power of two. */
#include "cuda/launch.cuh"
#include "cuda/types.cuh"
#include "lu/lu_narrow.h"

constexpr int threads = 256;

/* A block has a piece of a column; pieces of a column follow each other. */
template <class T>
static __global__ void narrow_columns(wi_narrowing w, unsigned pieces, float factor) {
    const size_t i = (size_t)(blockIdx.x % pieces) * threads + threadIdx.x;
    const size_t j = blockIdx.x / pieces;
    T *const to = (T *)w.to;
    if (i < w.m)
        to[i + j * w.ld] = (T)(factor * w.from[i + j * w.ld_from]);
}

weft_status wi_narrow_gpu(weft_context *ctx, const wi_narrowing *w) {
    const unsigned pieces = (unsigned)((w->m + threads - 1) / threads);
    const unsigned blocks = pieces * (unsigned)w->n;
    const float factor = ldexpf(1, w->power);
    if (w->type == WEFT_F16)
        return WEFT_LAUNCH(narrow_columns<__half>, ctx, blocks, threads, 0, *w, pieces, factor);
    return WEFT_LAUNCH(narrow_columns<__nv_bfloat16>, ctx, blocks, threads, 0, *w, pieces, factor);
}
