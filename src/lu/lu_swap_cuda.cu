/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of rows on a GPU: a thread takes its column through all of them. */
#include "cuda/launch.cuh"
#include "lu/lu.h"

constexpr unsigned swappers = 128; /* threads */

template <class T>
__global__ void __launch_bounds__(swappers)
    swap_rows(size_t n, T *x, size_t ldx, size_t count, const int64_t *pivot, bool forward) {
    const size_t stride = (size_t)gridDim.x * swappers;
    for (size_t j = (size_t)blockIdx.x * swappers + threadIdx.x; j < n; j += stride) {
        T *const column = x + j * ldx;
        for (size_t step = 0; step < count; step++) {
            const size_t k = forward ? step : count - 1 - step, with = (size_t)pivot[k];
            const T old = column[k];
            column[k] = column[with];
            column[with] = old;
        }
    }
}

weft_status wi_lu_swap_rows_gpu(weft_context *ctx, weft_type type, size_t n, void *x, size_t ldx,
                                size_t count, const int64_t *pivot, bool forward) {
    const size_t wanted = (n + swappers - 1) / swappers;
    const size_t most = (size_t)ctx->gpu->multiprocessors * 16;
    const unsigned blocks = (unsigned)(wanted < most ? wanted : most);
    return type == WEFT_F64 ? WEFT_LAUNCH(swap_rows<double>, ctx, blocks, swappers, 0, n,
                                          (double *)x, ldx, count, pivot, forward)
                            : WEFT_LAUNCH(swap_rows<float>, ctx, blocks, swappers, 0, n, (float *)x,
                                          ldx, count, pivot, forward);
}
