/* SPDX-License-Identifier: Apache-2.0 */
/* ger, the teaching rung for f32 and f64. */
#include "gemm/ger_cuda.cuh"

constexpr int step_threads = 256;

/* One thread for one element. */
template <class T>
static __global__ void naive(wi_ger_update<T> g) {
    const size_t e = (size_t)blockIdx.x * step_threads + threadIdx.x;
    const size_t i = e % g.rows, j = e / g.rows;
    if (j < g.columns)
        g.a[i + j * g.lda] = (T)wi_fma(g.x_at(i), g.factor(j), wi_load(g.a[i + j * g.lda]));
}

template <class T>
static weft_status launch_naive(weft_context *ctx, const wi_ger_args *args) {
    const size_t blocks = wi_gemm_pieces(args->rows * args->columns, step_threads);
    return WEFT_LAUNCH(naive<T>, ctx, (unsigned)blocks, step_threads, 0, wi_ger_typed<T>(args));
}

weft_status wi_ger_naive(weft_context *ctx, const void *args) {
    const wi_ger_args *const g = (const wi_ger_args *)args;
    return g->type == WEFT_F64 ? launch_naive<double>(ctx, g) : launch_naive<float>(ctx, g);
}
