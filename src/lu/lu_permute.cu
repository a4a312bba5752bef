/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of rows in columns that are done with, all at once at the end: until then only the
 * numbers of the rows are exchanged, in one column of numbers for each block of columns. */
#include "core/smaller.h"
#include "cuda/launch.cuh"
#include "lu/lu_cuda.cuh"

constexpr unsigned movers = 256; /* threads */
constexpr size_t rows_of_thread = 8;

__global__ void __launch_bounds__(movers)
    number_rows(uint32_t *index, size_t rows, size_t columns) {
    const size_t stride = (size_t)gridDim.x * movers;
    for (size_t e = (size_t)blockIdx.x * movers + threadIdx.x; e < rows * columns; e += stride)
        index[e] = (uint32_t)(e % rows);
}

/* A column that shared memory can hold is read and written once, by one block. */
constexpr unsigned holders = 512; /* threads */
template <class T>
struct hold_params {
    T *a; /* row 0, the first column */
    size_t lda, rows, columns, width, first, step;
    const uint32_t *from;
};
template <class T>
__global__ void __launch_bounds__(holders) permute_columns(hold_params<T> p) {
    WEFT_DYNAMIC_SHARED(memory);
    T *const held = (T *)memory;
    const size_t block = blockIdx.x / p.width, first = p.first + block * p.step;
    T *const column = p.a + blockIdx.x * p.lda;
    const uint32_t *const from = p.from + block * p.rows;
#pragma unroll 4
    for (size_t i = first + threadIdx.x; i < p.rows; i += holders)
        held[i - first] = column[i];
    __syncthreads();
#pragma unroll 4
    for (size_t i = first + threadIdx.x; i < p.rows; i += holders)
        column[i] = held[from[i] - first];
}

template <class T>
struct permute_params {
    T *a, *copy; /* row 0, the first column */
    size_t lda, ldc, first, rows, columns, row_blocks;
    const uint32_t *from; /* which row comes to row i, i >= first */
};

/* f(row, column) for what this block has of rows `first` ... and of all columns. */
template <class T, class F>
__device__ static void each(const permute_params<T> &p, const F &f) {
    const size_t start =
        p.first + blockIdx.x % p.row_blocks * rows_of_thread * movers + threadIdx.x;
    for (size_t c = blockIdx.x / p.row_blocks; c < p.columns; c += gridDim.x / p.row_blocks)
#pragma unroll
        for (size_t r = 0; r < rows_of_thread; r++)
            if (start + r * movers < p.rows)
                f(start + r * movers, c);
}
template <class T>
__global__ void __launch_bounds__(movers) gather_rows(permute_params<T> p) {
    each(p, [&](size_t i, size_t c) { p.copy[i + c * p.ldc] = p.a[p.from[i] + c * p.lda]; });
}
template <class T>
__global__ void __launch_bounds__(movers) put_back(permute_params<T> p) {
    each(p, [&](size_t i, size_t c) { p.a[i + c * p.lda] = p.copy[i + c * p.ldc]; });
}

weft_status wi_lu_number_rows(weft_context *ctx, uint32_t *index, size_t rows, size_t columns) {
    const size_t wanted = (rows * columns + movers - 1) / movers;
    const size_t most = 16 * (size_t)ctx->gpu->multiprocessors;
    return WEFT_LAUNCH(number_rows, ctx, (unsigned)(wanted < most ? wanted : most), movers, 0,
                       index, rows, columns);
}

/* Block k, by way of a copy; or to where all of its rows go. */
template <class T>
static weft_status permute_block(weft_context *ctx, const wi_lu_permute_args *args, size_t k) {
    const size_t first = args->to ? 0 : args->first + k * args->step, column = k * args->width;
    if (first >= args->rows)
        return WEFT_OK;
    const size_t left = args->rows - first;
    const size_t row_blocks = (left + rows_of_thread * movers - 1) / (rows_of_thread * movers);
    const permute_params<T> p = {(T *)args->a + column * args->lda,
                                 args->to ? (T *)args->to + k * args->apart * args->ldt
                                          : (T *)args->copy,
                                 args->lda,
                                 args->to ? args->ldt : args->rows,
                                 first,
                                 args->rows,
                                 wi_smaller(args->width, args->columns - column),
                                 row_blocks,
                                 args->from + k * args->rows};
    const unsigned blocks = (unsigned)(row_blocks * p.columns);
    const weft_status status = WEFT_LAUNCH(gather_rows<T>, ctx, blocks, movers, 0, p);
    return status == WEFT_OK && !args->to ? WEFT_LAUNCH(put_back<T>, ctx, blocks, movers, 0, p)
                                          : status;
}

template <class T>
static weft_status permute(weft_context *ctx, const wi_lu_permute_args *args) {
    weft_status status = WEFT_OK;
    if (args->columns == 0 || (args->first >= args->rows && !args->to))
        return WEFT_OK;
    const size_t bytes = args->to ? SIZE_MAX : (args->rows - args->first) * sizeof(T);
    const hold_params<T> p = {(T *)args->a, args->lda,   args->rows, args->columns,
                              args->width,  args->first, args->step, args->from};
    if (bytes <= ctx->gpu->shared_optin)
        return WEFT_LAUNCH(permute_columns<T>, ctx, (unsigned)args->columns, holders, bytes, p);
    for (size_t k = 0; k * args->width < args->columns && status == WEFT_OK; k++)
        status = permute_block<T>(ctx, args, k);
    return status;
}

weft_status wi_lu_permute(weft_context *ctx, const wi_lu_permute_args *args) {
    return args->type == WEFT_F64 ? permute<double>(ctx, args) : permute<float>(ctx, args);
}
