/* SPDX-License-Identifier: Apache-2.0 */
/* The teaching rung of syrk: one thread for one element. */
#include "cuda/types.cuh"
#include "gemm/gemm_cuda.cuh"
#include "gemm/syrk.h"

constexpr unsigned element_threads = 128;

/* Threads of a warp have neighbouring rows of one column. */
template <class T>
__global__ void __launch_bounds__(element_threads)
    syrk_elements(wi_gemm_params<T, T, T> g, bool upper, size_t a_row, size_t a_column) {
    const size_t blocks_m = wi_gemm_pieces(g.m, element_threads);
    const size_t i = blockIdx.x % blocks_m * element_threads + threadIdx.x;
    const size_t j = blockIdx.x / blocks_m;
    if (i >= g.m || (upper ? i > j : i < j))
        return;
    T sum = 0;
    for (size_t p = 0; p < g.k; p++)
        sum = wi_fma(g.a[i * a_row + p * a_column], g.a[j * a_row + p * a_column], sum);
    wi_gemm_store(g, i, j, sum);
}

template <class T>
static weft_status launch(weft_context *ctx, const wi_syrk_args *s) {
    wi_gemm_args g = wi_syrk_part(s, 0, s->n, 0, s->n);
    g.alpha = s->alpha;
    g.beta = s->beta;
    g.c = s->c;
    g.ldc = s->ldc;
    return WEFT_LAUNCH(syrk_elements<T>, ctx,
                       (unsigned)(wi_gemm_pieces(s->n, element_threads) * s->n), element_threads, 0,
                       (wi_gemm_typed<T, T, T>(&g)), s->upper, s->transposed ? s->lda : 1,
                       s->transposed ? 1 : s->lda);
}

weft_status wi_syrk_coalesced(weft_context *ctx, const void *args) {
    const wi_syrk_args *const s = (const wi_syrk_args *)args;
    return s->type == WEFT_F64 ? launch<double>(ctx, s) : launch<float>(ctx, s);
}
