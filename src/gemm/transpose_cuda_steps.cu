/* SPDX-License-Identifier: Apache-2.0 */
/* transpose, the teaching rungs: elements of 4 and 8 bytes. */
#include "gemm/gemm_cuda.cuh"
#include "gemm/transpose.h"

constexpr int side = 32, high = 8; /* of a tile, and of a block of threads */

namespace {

template <class T>
struct matrices {
    size_t rows, columns, lda, ldb;
    const T *a;
    T *b;
};

} // namespace

/* One thread for one element. The threads of a warp read one after another, and write ldb apart. */
template <class T>
static __global__ void naive(matrices<T> x) {
    const size_t e = (size_t)blockIdx.x * (side * high) + threadIdx.x;
    const size_t i = e % x.rows, j = e / x.rows;
    if (j < x.columns)
        x.b[j + i * x.ldb] = x.a[i + j * x.lda];
}

/* A tile goes through shared memory, so that threads read and write one after another. With pad = 0
 * the lanes that read a column of the tile meet in one bank. */
template <class T, int pad>
static __global__ void shared_tile(matrices<T> x) {
    WEFT_SHARED(T, tile, [side][side + pad]);
    const size_t tiles = wi_gemm_pieces(x.rows, side);
    const size_t row = blockIdx.x % tiles * side, column = blockIdx.x / tiles * side;
    const int u = (int)threadIdx.x % side, v = (int)threadIdx.x / side;
    for (int k = v; k < side; k += high)
        if (row + u < x.rows && column + k < x.columns)
            tile[k][u] = x.a[row + u + (column + k) * x.lda];
    __syncthreads();
    for (int k = v; k < side; k += high)
        if (row + k < x.rows && column + u < x.columns)
            x.b[column + u + (row + k) * x.ldb] = tile[u][k];
}

template <class T>
static matrices<T> matrices_of(const wi_transpose_args *t) {
    return {t->rows, t->columns, t->lda, t->ldb, (const T *)t->a, (T *)t->b};
}

template <class T>
static weft_status launch_naive(weft_context *ctx, const wi_transpose_args *t) {
    return WEFT_LAUNCH(naive<T>, ctx, (unsigned)wi_gemm_pieces(t->rows * t->columns, side * high),
                       side * high, 0, matrices_of<T>(t));
}

template <class T, int pad>
static weft_status launch_shared(weft_context *ctx, const wi_transpose_args *t) {
    const size_t blocks = wi_gemm_pieces(t->rows, side) * wi_gemm_pieces(t->columns, side);
    return WEFT_LAUNCH((shared_tile<T, pad>), ctx, (unsigned)blocks, side * high, 0,
                       matrices_of<T>(t));
}

weft_status wi_transpose_naive(weft_context *ctx, const void *args) {
    const wi_transpose_args *const t = (const wi_transpose_args *)args;
    return t->width == 8 ? launch_naive<uint64_t>(ctx, t) : launch_naive<uint32_t>(ctx, t);
}

weft_status wi_transpose_shared(weft_context *ctx, const void *args) {
    const wi_transpose_args *const t = (const wi_transpose_args *)args;
    return t->width == 8 ? launch_shared<uint64_t, 0>(ctx, t) : launch_shared<uint32_t, 0>(ctx, t);
}

weft_status wi_transpose_padded(weft_context *ctx, const void *args) {
    const wi_transpose_args *const t = (const wi_transpose_args *)args;
    return t->width == 8 ? launch_shared<uint64_t, 1>(ctx, t) : launch_shared<uint32_t, 1>(ctx, t);
}
