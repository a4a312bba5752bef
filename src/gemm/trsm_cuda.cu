/* SPDX-License-Identifier: Apache-2.0 */
/* The rung of trsm that users get. All blocks on the diagonal of T are inverted first, at once;
 * then what is left are products. */
#include "cuda/tensor_f64.cuh"
#include "gemm/triangle_work.cuh"
#include "gemm/trsm.h"

constexpr int inverters = 256; /* threads */
constexpr int strip = 16;      /* columns that are found by substitution */
constexpr int stride = wi_triangle_side + 1;

/* A block on the diagonal, which its inverse replaces. It has `rows` rows; what lies beyond them is
 * its own inverse, and stays as it is. */
template <class T>
struct inversion {
    T (&l)[wi_triangle_side][stride];
    T (&product)[wi_triangle_block / 4];
    int rows;

    /* The blocks of `strip` on its diagonal, a column a thread. */
    __device__ void substitute() const {
        const int column = (int)threadIdx.x % strip, base = (int)threadIdx.x - column;
        const bool works = base < rows;
        T x[strip];
        if (works) {
#pragma unroll
            for (int i = 0; i < strip; i++) {
                T rest = i == column ? 1 : 0;
#pragma unroll
                for (int k = 0; k < i; k++)
                    rest = k >= column ? wi_fma(-l[base + i][base + k], x[k], rest) : rest;
                x[i] = i < column ? (T)0 : rest / l[base + i][base + i];
            }
        }
        __syncthreads();
        if (works) {
#pragma unroll
            for (int i = 0; i < strip; i++)
                if (i >= column)
                    l[base + i][base + column] = x[i];
        }
        __syncthreads();
    }

    /* Of [P 0; R Q], in which P and Q are inverted already, the inverse has -Q R P in the place of
     * R. All such pairs of blocks of `size` at once, where Q has rows. */
    __device__ void join(int size) const {
        const int elements = (rows + size - 1) / (2 * size) * size * size;
        for (int e = (int)threadIdx.x; e < elements; e += inverters) {
            const int j = e % size, i = e / size % size, from = e / (size * size) * 2 * size;
            T sum = 0;
            for (int k = j; k < size; k++)
                sum = wi_fma(l[from + size + i][from + k], l[from + k][from + j], sum);
            product[e] = sum;
        }
        __syncthreads();
        for (int e = (int)threadIdx.x; e < elements; e += inverters) {
            const int j = e % size, i = e / size % size, pair = e / (size * size);
            const int to = pair * 2 * size;
            T sum = 0;
            for (int k = 0; k <= i; k++)
                sum = wi_fma(l[to + size + i][to + size + k], product[(pair * size + k) * size + j],
                             sum);
            l[to + size + i][to + j] = -sum;
        }
        __syncthreads();
    }

    static constexpr int sharers = inverters / wi_triangle_side; /* threads of a row */
    /* sum(l(row, k) f(k)) up to the diagonal, by the row's threads together. */
    template <class F>
    __device__ T row_sum(F f) const {
        const int row = (int)threadIdx.x / sharers;
        T sum = 0;
        for (int k = (int)threadIdx.x % sharers; k <= row; k += sharers)
            sum = wi_fma(fabs(l[row][k]), f(k), sum);
#pragma unroll
        for (int step = 1; step < sharers; step *= 2)
            sum += __shfl_xor_sync(wi_all_lanes, sum, step);
        return sum;
    }
    /* By all threads: the largest of the rows' sums. */
    __device__ T largest(T sum) const {
        sum = wi_warp_reduce(sum, [](T a, T b) { return fmax(a, b); });
        if (wi_lane() == 0)
            product[threadIdx.x / 32] = sum;
        __syncthreads();
        for (int w = 0; w < inverters / 32; w++)
            sum = fmax(sum, product[w]);
        return sum;
    }
};

template <class T>
__device__ void store_triangle(const T (&l)[wi_triangle_side][stride], T *blocks) {
    T *const to = blocks + (size_t)blockIdx.x * wi_triangle_block;
    for (int e = (int)threadIdx.x; e < (int)wi_triangle_block; e += inverters)
        to[e] = l[e % wi_triangle_side][e / wi_triangle_side];
}

/* Beyond the last row there are ones on the diagonal. */
template <class T>
__global__ void __launch_bounds__(inverters)
    invert(const T *t, ptrdiff_t t_row, ptrdiff_t t_column, size_t order, bool unit,
           wi_triangle_inverses<T> to) {
    WEFT_SHARED(T, l, [wi_triangle_side][stride]);
    WEFT_SHARED(T, product, [wi_triangle_block / 4]);
    WEFT_SHARED(T, size, [wi_triangle_side]); /* of the block's rows */
    const size_t first = (size_t)blockIdx.x * wi_triangle_side, left = order - first;
    const int rows = left < wi_triangle_side ? (int)left : wi_triangle_side;
    const T *const from = t + (ptrdiff_t)first * (t_row + t_column);
    const bool down = t_row == 1 || t_row == -1;
    for (int e = (int)threadIdx.x; e < (int)wi_triangle_block; e += inverters) {
        const int u = e % wi_triangle_side, v = e / wi_triangle_side;
        const int i = down ? u : v, k = down ? v : u;
        const bool there = i < rows && (k < i || (k == i && !unit));
        l[i][k] = there ? from[i * t_row + k * t_column] : (T)(i == k ? 1 : 0);
    }
    __syncthreads();
    const inversion<T> block = {l, product, rows};
    store_triangle(l, to.block);
    const T of_row = block.row_sum([](int) { return (T)1; });
    if (threadIdx.x % block.sharers == 0)
        size[threadIdx.x / block.sharers] = of_row;
    __syncthreads();
    block.substitute();
#pragma unroll
    for (int half = strip; half < wi_triangle_side; half *= 2)
        if (half < rows)
            block.join(half);
    store_triangle(l, to.inverse);
    const T condition = block.largest(block.row_sum([&](int k) { return size[k]; }));
    if (threadIdx.x == 0)
        to.condition[blockIdx.x] = wi_triangle_inverses<T>::counted(condition, rows);
}

/* X(rows) = alpha T(rows, rows) \ X(rows) */
template <class T>
static weft_status solve(const wi_triangle_work<T> &work, wi_rows_part rows, double alpha) {
    if (rows.count <= work.rows())
        return work.template run_rows<true>(rows, (T)alpha);
    const wi_rows_part above = wi_triangle_above(rows, work.rows());
    const wi_rows_part below = wi_triangle_below(rows, work.rows());
    weft_status status = solve(work, above, alpha);
    if (status == WEFT_OK)
        status = work.multiply(below, above, -1, alpha);
    if (status == WEFT_OK)
        status = solve(work, below, 1);
    return status;
}

template <class T>
static weft_status launch_inverters(weft_context *ctx, const wi_triangle *t, T *memory) {
    const size_t blocks = wi_gemm_pieces(t->order, wi_triangle_side);
    return WEFT_LAUNCH(invert<T>, ctx, (unsigned)blocks, inverters, 0, (const T *)t->t, t->t_row,
                       t->t_column, t->order, t->unit, (wi_triangle_inverses<T>(memory, blocks)));
}

weft_status wi_trsm_invert(weft_context *ctx, const wi_triangle *t, void *memory) {
    return t->type == WEFT_F64 ? launch_inverters(ctx, t, (double *)memory)
                               : launch_inverters(ctx, t, (float *)memory);
}

template <class T>
static weft_status run(weft_context *ctx, const wi_triangle *t) {
    return wi_triangle_queue<T, true>(ctx, t, [&](const wi_triangle_work<T> &work) {
        const weft_status status = wi_trsm_invert(ctx, t, work.diagonal);
        return status == WEFT_OK ? solve(work, {0, t->order}, t->alpha) : status;
    });
}

size_t wi_trsm_most_bytes(const weft_context *ctx, const wi_triangle_args *args) {
    const wi_triangle t = wi_triangle_of(args);
    return t.type == WEFT_F64 ? wi_triangle_product_bytes<double>(ctx, &t) +
                                    wi_triangle_diagonal_bytes<double>(&t, true)
                              : wi_triangle_product_bytes<float>(ctx, &t) +
                                    wi_triangle_diagonal_bytes<float>(&t, true);
}

weft_status wi_trsm_halves(weft_context *ctx, const void *args) {
    const wi_triangle_args *const g = (const wi_triangle_args *)args;
    if (g->alpha == 0)
        return wi_triangle_zero(ctx, g);
    const wi_triangle t = wi_triangle_of(g);
    return t.type == WEFT_F64 ? run<double>(ctx, &t) : run<float>(ctx, &t);
}
