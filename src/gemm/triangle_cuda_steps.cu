/* SPDX-License-Identifier: Apache-2.0 */
/* The teaching rungs of trsm and trmm: a block of threads has a column of X, and goes from one of
 * its elements to the next. */
#include "cuda/types.cuh"
#include "gemm/gemm_cuda.cuh"
#include "gemm/trmm.h"
#include "gemm/trsm.h"

constexpr unsigned column_threads = 128, most_blocks = 1 << 16;

template <class T>
struct columns {
    const T *t;
    ptrdiff_t t_row, t_column;
    T *x;
    ptrdiff_t x_row, x_column;
    ptrdiff_t order;
    size_t count;
    bool unit;
    T alpha;
};

template <class T>
static columns<T> columns_of(const wi_triangle *t) {
    return {(const T *)t->t,     t->t_row, t->t_column, (T *)t->x,  t->x_row, t->x_column,
            (ptrdiff_t)t->order, t->count, t->unit,     (T)t->alpha};
}

template <class T>
__device__ void scale(const columns<T> &p, T *x) {
    for (ptrdiff_t i = threadIdx.x; i < p.order; i += column_threads)
        x[i * p.x_row] *= p.alpha;
    __syncthreads();
}

/* x(i) += sign T(i, k) value for all i > k */
template <class T>
__device__ void add_below(const columns<T> &p, T *x, ptrdiff_t k, T value) {
    const T *const column = p.t + k * p.t_column;
    for (ptrdiff_t i = k + 1 + threadIdx.x; i < p.order; i += column_threads)
        x[i * p.x_row] = wi_fma(column[i * p.t_row], value, x[i * p.x_row]);
}

/* An unknown is found, and its part taken away from all that follow. */
template <class T>
__global__ void __launch_bounds__(column_threads) solve_columns(columns<T> p) {
    for (size_t j = blockIdx.x; j < p.count; j += gridDim.x) {
        T *const x = p.x + (ptrdiff_t)j * p.x_column;
        scale(p, x);
        for (ptrdiff_t k = 0; k < p.order; k++) {
            const T rest = x[k * p.x_row];
            const T found = p.unit ? rest : rest / p.t[k * (p.t_row + p.t_column)];
            __syncthreads();
            if (threadIdx.x == 0)
                x[k * p.x_row] = found;
            add_below(p, x, k, -found);
            __syncthreads();
        }
    }
}

/* The last element is multiplied first: it is part of no other. */
template <class T>
__global__ void __launch_bounds__(column_threads) multiply_columns(columns<T> p) {
    for (size_t j = blockIdx.x; j < p.count; j += gridDim.x) {
        T *const x = p.x + (ptrdiff_t)j * p.x_column;
        for (ptrdiff_t k = p.order - 1; k >= 0; k--) {
            const T value = x[k * p.x_row];
            __syncthreads();
            if (threadIdx.x == 0 && !p.unit)
                x[k * p.x_row] = p.t[k * (p.t_row + p.t_column)] * value;
            add_below(p, x, k, value);
            __syncthreads();
        }
        scale(p, x);
    }
}

static unsigned blocks_of(const wi_triangle *t) {
    return t->count < most_blocks ? (unsigned)t->count : most_blocks;
}

weft_status wi_trsm_column(weft_context *ctx, const void *args) {
    const wi_triangle_args *const g = (const wi_triangle_args *)args;
    if (g->alpha == 0)
        return wi_triangle_zero(ctx, g);
    const wi_triangle t = wi_triangle_of(g);
    return t.type == WEFT_F64 ? WEFT_LAUNCH(solve_columns<double>, ctx, blocks_of(&t),
                                            column_threads, 0, columns_of<double>(&t))
                              : WEFT_LAUNCH(solve_columns<float>, ctx, blocks_of(&t),
                                            column_threads, 0, columns_of<float>(&t));
}

weft_status wi_trmm_column(weft_context *ctx, const void *args) {
    const wi_triangle_args *const g = (const wi_triangle_args *)args;
    if (g->alpha == 0)
        return wi_triangle_zero(ctx, g);
    const wi_triangle t = wi_triangle_of(g);
    return t.type == WEFT_F64 ? WEFT_LAUNCH(multiply_columns<double>, ctx, blocks_of(&t),
                                            column_threads, 0, columns_of<double>(&t))
                              : WEFT_LAUNCH(multiply_columns<float>, ctx, blocks_of(&t),
                                            column_threads, 0, columns_of<float>(&t));
}
