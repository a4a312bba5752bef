/* SPDX-License-Identifier: Apache-2.0 */
/* Products of f32 with a C of at most 8 columns, the long factor A lying along k, its lines
 * anywhere: by fused multiply-adds, as fast as memory brings A. A warp has four rows of A; its
 * lanes have neighbouring k of these and keep the sums of all rows and columns, which the warp adds
 * up at the end. B comes to shared memory ahead, and serves eight warps. */
#ifndef WI_GEMM_FEW_CUH
#define WI_GEMM_FEW_CUH

#include "cuda/ahead.cuh"
#include "cuda/async.cuh"
#include "cuda/warp.cuh"
#include "gemm/gemm_tile.cuh"

constexpr int wi_few_columns = 8, wi_few_warps = 8, wi_few_threads = 32 * wi_few_warps;
constexpr int wi_few_rows_of_warp = 4, wi_few_rows = wi_few_rows_of_warp * wi_few_warps;
constexpr int wi_few_step = 64;   /* of k: two for each lane */
constexpr int wi_few_depth = 256; /* of B at a time */

/* B in shared memory: four columns of a k lie together, so that neighbouring lanes read
 * neighbouring 16 bytes. */
struct alignas(16) wi_few_b {
    float at[2][wi_few_depth][4];

    /* Begins to bring what is there of k from `first` on; the rest becomes 0. */
    __device__ void bring(const wi_gemm_params<float, float, float> &g, bool along_k, size_t first,
                          size_t end) {
#pragma unroll
        for (int n = 0; n < wi_few_depth * wi_few_columns / wi_few_threads; n++) {
            const int e = (int)threadIdx.x + n * wi_few_threads;
            const int p = along_k ? e % wi_few_depth : e / wi_few_columns;
            const int j = along_k ? e / wi_few_depth : e % wi_few_columns;
            const size_t k = first + (size_t)p, column = (size_t)j;
            const bool is_there = k < end && column < g.n;
            const float *const from =
                is_there ? g.b + (along_k ? k + column * g.ldb : column + k * g.ldb) : g.b;
            wi_async_copy<4>(&at[j / 4][p][j % 4], from, is_there);
        }
        wi_async_commit();
    }
};

/* What a lane has of the warp's rows of A, at k and 32 further. */
struct wi_few_a {
    float x[2][wi_few_rows_of_warp];

    __device__ void load(const float *const (&row)[wi_few_rows_of_warp], size_t k, size_t end) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const size_t mine = k + (size_t)(32 * half + wi_lane());
#pragma unroll
            for (int r = 0; r < wi_few_rows_of_warp; r++)
                x[half][r] = mine < end ? row[r][mine] : 0;
        }
    }
};

struct wi_few_sums {
    float sum[wi_few_rows_of_warp * wi_few_columns]; /* by rows */

    __device__ void add(const wi_few_a &a, const wi_few_b &b, int first) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int p = first + 32 * half + wi_lane();
            const float4 low = *(const float4 *)b.at[0][p], high = *(const float4 *)b.at[1][p];
            const float y[wi_few_columns] = {low.x,  low.y,  low.z,  low.w,
                                             high.x, high.y, high.z, high.w};
#pragma unroll
            for (int r = 0; r < wi_few_rows_of_warp; r++)
#pragma unroll
                for (int j = 0; j < wi_few_columns; j++)
                    sum[r * wi_few_columns + j] =
                        wi_fma(a.x[half][r], y[j], sum[r * wi_few_columns + j]);
        }
    }
    /* Over all lanes: of each pair one keeps the first half of what both have, the other the
     * second. Lane 8 r + j then has row r and column j, in sum[0]. */
    template <int count = wi_few_rows_of_warp *wi_few_columns / 2>
    __device__ void finish() {
        const bool upper = (wi_lane() & count) != 0;
#pragma unroll
        for (int q = 0; q < count; q++) {
            const float given = upper ? sum[q] : sum[q + count];
            const float kept = upper ? sum[q + count] : sum[q];
            sum[q] = kept + wi_shuffle_xor(given, count);
        }
        if constexpr (count > 1)
            finish<count / 2>();
    }
};

static __global__ void __launch_bounds__(wi_few_threads, 2)
    wi_gemm_few(wi_gemm_params<float, float, float> g, wi_gemm_slices<float> slices,
                bool b_along_k) {
    WEFT_SHARED(wi_few_b, b, [2]);
    wi_wait_for_earlier();
    if (!wi_gemm_holds(slices.when))
        return;
    const size_t groups = wi_gemm_pieces(g.m, wi_few_rows);
    const size_t slice = blockIdx.x / groups, warp = threadIdx.x / 32;
    const size_t first_row = blockIdx.x % groups * wi_few_rows + warp * (size_t)wi_few_rows_of_warp;
    const size_t first = slice * slices.depth;
    const size_t end = g.k - first < slices.depth ? g.k : first + slices.depth;
    const float *row[wi_few_rows_of_warp];
#pragma unroll
    for (int r = 0; r < wi_few_rows_of_warp; r++) {
        const size_t i = first_row + (size_t)r;
        row[r] = g.a + (i < g.m ? i : g.m - 1) * g.lda;
    }
    wi_few_sums mine = {};
    constexpr int steps = wi_few_depth / wi_few_step;
    wi_few_a x[steps]; /* of all that is next of B */
    b[0].bring(g, b_along_k, first, end);
#pragma unroll
    for (int s = 0; s < steps; s++)
        x[s].load(row, first + (size_t)(s * wi_few_step), end);
    int turn = 0;
    for (size_t k = first; k < end; k += wi_few_depth, turn ^= 1) {
        wi_async_wait<0>();
        __syncthreads();
        b[turn ^ 1].bring(g, b_along_k, k + wi_few_depth, end);
#pragma unroll
        for (int s = 0; s < steps; s++) {
            mine.add(x[s], b[turn], s * wi_few_step);
            x[s].load(row, k + (size_t)(wi_few_depth + s * wi_few_step), end);
        }
    }
    wi_async_wait<0>();
    mine.finish();
    const size_t i = first_row + (size_t)(wi_lane() / wi_few_columns);
    const size_t j = (size_t)(wi_lane() % wi_few_columns);
    if (i < g.m && j < g.n)
        wi_gemm_store_slice(g, slices, slice, i, j, mine.sum[0]);
}

#endif
