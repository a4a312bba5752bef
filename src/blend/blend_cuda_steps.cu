/* SPDX-License-Identifier: Apache-2.0 */
/* The teaching rung of blend: one thread for one element. */
#include "blend/blend_cuda.cuh"

constexpr int step_threads = 256;

template <class T>
static __global__ void __launch_bounds__(step_threads)
    direct(wi_blend_images<T> m, unsigned across) {
    const size_t col = (size_t)(blockIdx.x % across) * step_threads + threadIdx.x;
    if (col < m.cols)
        wi_blend_one(m, blockIdx.x / across, col);
}

template <class T>
static weft_status launch_step(weft_context *ctx, const wi_blend_images<T> &m) {
    const size_t across = (m.cols + step_threads - 1) / step_threads, blocks = across * m.rows;
    if (blocks > INT32_MAX)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "weft_blend: %zu rows of %zu elements need more blocks than a launch has; "
                       "let variant vectors do it",
                       m.rows, m.cols);
    return WEFT_LAUNCH(direct<T>, ctx, (unsigned)blocks, step_threads, 0, m, (unsigned)across);
}

weft_status wi_blend_direct(weft_context *ctx, const void *args) {
    return wi_blend_with(*(const wi_blend_args *)args,
                         [=](const auto &images) { return launch_step(ctx, images); });
}
