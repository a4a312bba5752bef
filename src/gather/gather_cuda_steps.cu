/* SPDX-License-Identifier: Apache-2.0 */
/* The teaching rung of gather: a thread for each element, which moves it byte by byte. Neighbouring
 * threads write `width` bytes apart, and read wherever their indices lead. */
#include "gather/gather_cuda.cuh"

constexpr unsigned step_threads = 256;

__global__ void gather_each_element(wi_gather_moves g, size_t width) {
    const uint64_t stride = (uint64_t)gridDim.x * step_threads;
    for (uint64_t i = (uint64_t)blockIdx.x * step_threads + threadIdx.x; i < g.n; i += stride) {
        const uint64_t at = g.index(i);
        if (at >= g.m && g.bad)
            atomicMin((unsigned long long *)g.bad, (unsigned long long)i);
        for (size_t b = 0; b < width && at < g.m; b++)
            ((char *)g.y)[i * width + b] = ((const char *)g.x)[at * width + b];
    }
}

weft_status wi_gather_each(weft_context *ctx, const void *args) {
    const wi_gather_args *const a = (const wi_gather_args *)args;
    const size_t needed = (a->n - 1) / step_threads + 1;
    const size_t fill = (size_t)ctx->gpu->multiprocessors * wi_gather_blocks;
    const weft_status status = wi_gather_begin(ctx, a);
    return status == WEFT_OK
               ? WEFT_LAUNCH(gather_each_element, ctx, (unsigned)(needed < fill ? needed : fill),
                             step_threads, 0, wi_gather_moves_of(a), a->width)
               : status;
}
