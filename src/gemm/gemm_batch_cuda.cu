/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs of gemm_batch on a GPU that take every type. */
#include "gemm/gemm_batch_cuda.cuh"

/* ---- each product a call of gemm ---- */

weft_status wi_gemm_batch_queued(weft_context *ctx, const void *args) {
    const wi_gemm_batch_args *const g = (const wi_gemm_batch_args *)args;
    size_t bytes = 0;
    for (size_t i = 0; i < g->count; i++) {
        const wi_gemm_args one = wi_gemm_batch_product(g, i);
        const size_t most = wi_gemm_most_bytes(ctx, &one);
        bytes = most > bytes ? most : bytes;
    }
    weft_status status = wi_gpu_reserve(ctx, bytes); /* so that none fails behind another */
    if (status != WEFT_OK)
        return status;
    for (size_t i = 0; i < g->count && status == WEFT_OK; i++) {
        const wi_gemm_args one = wi_gemm_batch_product(g, i);
        status = wi_run(ctx, &wi_gemm_ladder, "weft_gemm_batch", one.type, &one);
    }
    const weft_status released = wi_gpu_release(ctx);
    return status == WEFT_OK ? released : status;
}

/* ---- a block for each tile ---- */

constexpr int side = 32, depth = 16, lanes = 16; /* of C's tile; of a step of k; of the block */
constexpr int threads = lanes * lanes, patch = side / lanes;
constexpr int blocks_each = 8; /* on a multiprocessor */

__device__ static float plus_product(float a, float b, float c) {
    return wi_fma(a, b, c);
}
__device__ static double plus_product(double a, double b, double c) {
    return wi_fma(a, b, c);
}
__device__ static int32_t plus_product(int32_t a, int32_t b, int32_t c) {
    return (int32_t)((uint32_t)a * (uint32_t)b + (uint32_t)c);
}

/* A tile of an operand, `side` rows of A or columns of B by `depth` of k; what the matrix does not
 * have is 0. Neighbouring threads read neighbouring elements. */
template <class T, class Sum>
__device__ void take(const T *from, size_t ld, bool by_k, size_t first, size_t extent, size_t p,
                     size_t k, Sum (&tile)[depth][side + 1]) {
    for (int e = (int)threadIdx.x; e < side * depth; e += threads) {
        const int i = by_k ? e / depth : e % side, q = by_k ? e % depth : e / side;
        const size_t row = first + (size_t)i, product = p + (size_t)q;
        const bool there = row < extent && product < k;
        const size_t at = by_k ? row * ld + product : row + product * ld;
        tile[q][i] = there ? (Sum)wi_load(from[at]) : (Sum)0;
    }
}

template <class T, class Out, class Sum>
__global__ void __launch_bounds__(threads) one_each(wi_gemm_batch_params<T, Out, Sum> x) {
    WEFT_SHARED(Sum, a, [depth][side + 1]);
    WEFT_SHARED(Sum, b, [depth][side + 1]);
    const size_t down = wi_gemm_pieces(x.one.m, side), over = wi_gemm_pieces(x.one.n, side);
    const int u = (int)threadIdx.x % lanes, v = (int)threadIdx.x / lanes;
    for (size_t item = blockIdx.x; item < x.count * down * over; item += gridDim.x) {
        const wi_gemm_params<T, Out, Sum> g = x.at(item / (down * over));
        const size_t row = item % down * side, column = item / down % over * side;
        Sum sum[patch][patch] = {};
        for (size_t p = 0; p < g.k; p += depth) {
            take(g.a, g.lda, x.transposed_a, row, g.m, p, g.k, a);
            take(g.b, g.ldb, !x.transposed_b, column, g.n, p, g.k, b);
            __syncthreads();
#pragma unroll
            for (int q = 0; q < depth; q++)
#pragma unroll
                for (int i = 0; i < patch; i++)
#pragma unroll
                    for (int j = 0; j < patch; j++)
                        sum[i][j] =
                            plus_product(a[q][u + i * lanes], b[q][v + j * lanes], sum[i][j]);
            __syncthreads();
        }
        for (int j = 0; j < patch; j++)
            for (int i = 0; i < patch; i++) {
                const size_t at_m = row + (size_t)(u + i * lanes);
                const size_t at_n = column + (size_t)(v + j * lanes);
                if (at_m < g.m && at_n < g.n)
                    wi_gemm_store(g, at_m, at_n, sum[i][j]);
            }
    }
}

template <class T, class Out, class Sum>
static weft_status launch(weft_context *ctx, const wi_gemm_batch_args *g) {
    const wi_gemm_batch_params<T, Out, Sum> x = wi_gemm_batch_typed<T, Out, Sum>(g);
    const size_t most = (size_t)ctx->gpu->multiprocessors * blocks_each;
    const size_t tiles = wi_gemm_pieces(g->one.m, side) * wi_gemm_pieces(g->one.n, side);
    const size_t items = g->count > most ? most : g->count * tiles; /* else it might overflow */
    return WEFT_LAUNCH((one_each<T, Out, Sum>), ctx, (unsigned)(items < most ? items : most),
                       threads, 0, x);
}

weft_status wi_gemm_batch_one_each(weft_context *ctx, const void *args) {
    const wi_gemm_batch_args *const g = (const wi_gemm_batch_args *)args;
    switch (g->one.type) {
    case WEFT_F64:
        return launch<double, double, double>(ctx, g);
    case WEFT_F32:
        return launch<float, float, float>(ctx, g);
    case WEFT_F16:
        return launch<__half, __half, float>(ctx, g);
    case WEFT_BF16:
        return launch<__nv_bfloat16, __nv_bfloat16, float>(ctx, g);
    default:
        return launch<int8_t, int32_t, int32_t>(ctx, g);
    }
}

weft_status wi_gemm_batch_tiles(weft_context *ctx, const void *args) {
    const wi_gemm_batch_args *const g = (const wi_gemm_batch_args *)args;
    return g->one.type == WEFT_F64 ? wi_gemm_batch_tiles_f64(ctx, g)
                                   : wi_gemm_batch_tiles_f32(ctx, g);
}
