/* SPDX-License-Identifier: Apache-2.0 */
/* gemv, the teaching rungs for f32 and f64. */
#include "cuda/warp.cuh"
#include "gemm/gemv_cuda.cuh"

constexpr int threads = 256;

namespace {

/* Where element (i, j) of op(A) lies: i counts results, j terms. */
template <class T>
struct product {
    wi_gemv_params<T> p;
    size_t along_result, along_term;

    __device__ T at(size_t i, size_t j) const {
        return p.a[i * along_result + j * along_term];
    }
};

} // namespace

template <class T>
static product<T> product_of(const wi_gemv_args *g) {
    return {wi_gemv_typed<T>(g), g->transposed ? g->lda : 1, g->transposed ? 1 : g->lda};
}

/* One thread for one sum. The threads of a warp read neighbouring elements of a matrix that is
 * stored by columns; of a transposed one each goes down a column of its own. */
template <class T>
__global__ void naive(product<T> g) {
    const size_t i = (size_t)blockIdx.x * threads + threadIdx.x;
    if (i >= g.p.results)
        return;
    T sum = 0;
    for (size_t j = 0; j < g.p.terms; j++)
        sum = wi_fma(g.at(i, j), g.p.x_at(j), sum);
    g.p.finish(i, sum);
}

/* One warp for one sum, whose lanes' sums are added at the end: now the lanes read neighbouring
 * elements if the matrix is transposed. */
template <class T>
__global__ void warps(product<T> g) {
    const size_t i = ((size_t)blockIdx.x * threads + threadIdx.x) / 32;
    if (i >= g.p.results)
        return;
    T sum = 0;
    for (size_t j = (size_t)wi_lane(); j < g.p.terms; j += 32)
        sum = wi_fma(g.at(i, j), g.p.x_at(j), sum);
    sum = wi_warp_reduce(sum, [](T a, T b) { return a + b; });
    if (wi_lane() == 0)
        g.p.finish(i, sum);
}

template <class T>
static weft_status launch_naive(weft_context *ctx, const wi_gemv_args *g) {
    return WEFT_LAUNCH(naive<T>, ctx, (unsigned)wi_gemm_pieces(g->results, threads), threads, 0,
                       product_of<T>(g));
}

template <class T>
static weft_status launch_warps(weft_context *ctx, const wi_gemv_args *g) {
    return WEFT_LAUNCH(warps<T>, ctx, (unsigned)wi_gemm_pieces(g->results, threads / 32), threads,
                       0, product_of<T>(g));
}

weft_status wi_gemv_naive(weft_context *ctx, const void *args) {
    const wi_gemv_args *const g = (const wi_gemv_args *)args;
    return g->type == WEFT_F64 ? launch_naive<double>(ctx, g) : launch_naive<float>(ctx, g);
}

weft_status wi_gemv_warps(weft_context *ctx, const void *args) {
    const wi_gemv_args *const g = (const wi_gemv_args *)args;
    return g->type == WEFT_F64 ? launch_warps<double>(ctx, g) : launch_warps<float>(ctx, g);
}
