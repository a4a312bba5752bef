/* SPDX-License-Identifier: Apache-2.0 */
/* Elimination by three kernels a column, on the transpose of the matrix as paper has it: there a
 * row lies in one piece, here a column does, so that neighbouring threads have neighbouring
 * addresses where a column is searched, divided and taken from others. One block finds the pivot
 * and the multipliers; the pivot's row, an element of each column, is extracted to an array of its
 * own while rows are exchanged; everything after the column is eliminated. Columns that augment the
 * matrix, as right-hand sides do, are columns like others. */
#include "cuda/launch.cuh"
#include "cuda/reciprocal.cuh"
#include "cuda/warp.cuh"
#include "lu/lu_cuda.cuh"
#include "lu/lu_size.cuh"

constexpr int finders = 1024, swappers = 128, eliminators = 256;
constexpr int rows_each = 4; /* of a thread that eliminates */

template <class T>
struct column_params {
    T *a; /* the whole matrix */
    size_t lda, m;
    size_t column;
    wi_lu_columns whole;
    int64_t *pivot, *first;
    size_t row_blocks; /* that share the rows of a column */
    T *row;            /* the pivot's, an element for each column of `whole` */
};

/* The best of what all threads have, in every thread. */
__device__ static wi_lu_candidate best_of_block(wi_lu_candidate mine) {
    WEFT_SHARED(wi_lu_candidate, best, [finders / 32]);
    const int lane = wi_lane(), winner = wi_lu_best_lane(mine);
    if (lane == winner)
        best[threadIdx.x / 32] = mine;
    __syncthreads();
    const wi_lu_candidate of_warp = best[lane];
    return wi_lu_shuffle(of_warp, wi_lu_best_lane(of_warp));
}

template <class T>
__global__ void __launch_bounds__(finders) find_pivot(column_params<T> p) {
    T *const x = p.a + p.column * p.lda;
    const uint32_t rows = (uint32_t)(p.m - p.column);
    wi_lu_candidate mine = {{0, 0}, wi_lu_no_row};
    for (uint32_t i = threadIdx.x; i < rows; i += finders) {
        const wi_lu_candidate c = {wi_lu_size_of(x[p.column + i]), i};
        if (mine.row == wi_lu_no_row || c.precedes(mine))
            mine = c;
    }
    const wi_lu_candidate best = best_of_block(mine);
    const size_t row = p.column + best.row;
    const T pivot = x[row], above = x[p.column];
    __syncthreads();
    if (threadIdx.x == 0) {
        p.pivot[p.column] = (int64_t)row;
        wi_lu_tell<T>(p.first, best.size, (int64_t)p.column);
        x[row] = above;
        x[p.column] = pivot;
    }
    __syncthreads();
    if (pivot == 0)
        return;
    const wi_divisor<T> divisor(pivot);
    for (size_t i = p.column + 1 + threadIdx.x; i < p.m; i += finders)
        x[i] = divisor.of(x[i]);
}

template <class T>
__global__ void __launch_bounds__(swappers) extract_pivot_row(column_params<T> p) {
    const size_t with = (size_t)p.pivot[p.column], stride = (size_t)gridDim.x * swappers;
    for (size_t j = p.whole.first + (size_t)blockIdx.x * swappers + threadIdx.x; j < p.whole.end;
         j += stride) {
        if (j == p.column)
            continue;
        T *const x = p.a + j * p.lda;
        const T above = x[p.column], pivots = x[with];
        x[p.column] = pivots;
        x[with] = above;
        p.row[j - p.whole.first] = pivots;
    }
}

template <class T>
__global__ void __launch_bounds__(eliminators) eliminate(column_params<T> p) {
    const T *const l = p.a + p.column * p.lda;
    const size_t piece = blockIdx.x % p.row_blocks, stride = gridDim.x / p.row_blocks;
    const size_t first = p.column + 1 + piece * rows_each * eliminators + threadIdx.x;
    if (l[p.column] == 0)
        return;
    for (size_t j = p.column + 1 + blockIdx.x / p.row_blocks; j < p.whole.end; j += stride) {
        T *const x = p.a + j * p.lda;
        const T u = p.row[j - p.whole.first];
#pragma unroll
        for (int r = 0; r < rows_each; r++) {
            const size_t i = first + (size_t)r * eliminators;
            if (i < p.m)
                x[i] = wi_fma(-l[i], u, x[i]);
        }
    }
}

/* A multiple of p.row_blocks, as many as keep the device busy. */
template <class T>
static size_t eliminating_blocks(const column_params<T> &p, size_t fill) {
    const size_t after = p.whole.end - p.column - 1, at_once = fill / p.row_blocks + 1;
    return p.row_blocks * (after < at_once ? after : at_once);
}

template <class T>
static weft_status eliminate_column(weft_context *ctx, const column_params<T> &p) {
    const size_t fill = 16 * (size_t)ctx->gpu->multiprocessors;
    const size_t swaps = (wi_lu_count(p.whole) + swappers - 1) / swappers;
    weft_status status = WEFT_LAUNCH(find_pivot<T>, ctx, 1, finders, 0, p);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(extract_pivot_row<T>, ctx, (unsigned)(swaps < fill ? swaps : fill),
                             swappers, 0, p);
    if (status != WEFT_OK || p.row_blocks == 0 || p.column + 1 == p.whole.end)
        return status;
    return WEFT_LAUNCH(eliminate<T>, ctx, (unsigned)eliminating_blocks(p, fill), eliminators, 0, p);
}

template <class T>
static weft_status factor(weft_context *ctx, const wi_lu_panel *panel, wi_lu_columns whole) {
    const wi_lu_args *const args = panel->args;
    constexpr size_t rows = rows_each * eliminators; /* of a block */
    T *row;
    weft_status status = wi_gpu_alloc(ctx, (void **)&row, wi_lu_count(whole) * sizeof *row);
    if (status != WEFT_OK)
        return status;
    for (size_t k = panel->first; k < panel->first + panel->width && status == WEFT_OK; k++)
        status = eliminate_column<T>(ctx, {(T *)args->a, args->lda, args->m, k, whole, args->pivot,
                                           args->first, (args->m - k - 1 + rows - 1) / rows, row});
    const weft_status freed = wi_gpu_free(ctx, row);
    return status == WEFT_OK ? freed : status;
}

weft_status wi_lu_factor_by_columns(weft_context *ctx, const wi_lu_panel *panel,
                                    wi_lu_columns whole) {
    return panel->args->type == WEFT_F64 ? factor<double>(ctx, panel, whole)
                                         : factor<float>(ctx, panel, whole);
}
