/* SPDX-License-Identifier: Apache-2.0 */
/* X = L \ X for a unit lower triangle L of at most 256 rows, by substitution: what is computed with
 * the inverse of a triangle may be less exact. A block keeps some columns of X in shared memory. It
 * goes down 32 rows at a time: each warp solves with the triangle there for its columns, then all
 * threads subtract what these rows do to the rows below, four rows by some columns a thread, or f64
 * by tensor cores, while the next 32 columns of L are on their way. */
#include "cuda/launch.cuh"
#include "cuda/tensor_f64.cuh"
#include "cuda/types.cuh"
#include "cuda/warp.cuh"
#include "lu/lu_cuda.cuh"

constexpr int side = 32;     /* of a triangle on the diagonal */
constexpr int threads = 256; /* and rows, at most */
constexpr int warps = threads / 32;
constexpr int across = 4, high = threads / across; /* threads that subtract, by columns and rows */
static_assert(threads == wi_lu_most_substituted, "a thread for each row");

template <class T>
struct substitute_params {
    const T *l;
    T *x;
    size_t ld, columns;
    int order;
};

/* For `wide` columns of X a block. */
template <class T, int wide>
struct substitution {
    static constexpr int solved_each = wide / warps; /* columns of a warp that solves */
    static constexpr int taken_each = wide / across; /* columns of a thread that subtracts */
    static constexpr int at_once = 16 / (int)sizeof(T);
    struct alignas(16) pack {
        T at[at_once];
    };
    static constexpr int gap = 4; /* so that four rows of four columns are in different banks */
    struct memory {
        T l[side][threads + gap]; /* the part of L below and on the triangle, by columns */
        T x[wide][threads + gap];
    };

    const substitute_params<T> &p;
    memory &m;
    size_t first; /* column of X */

    __device__ bool has(int c) const {
        return first + (size_t)c < p.columns && (int)threadIdx.x < p.order;
    }
    __device__ T *element(int c) const {
        return p.x + threadIdx.x + (first + (size_t)c) * p.ld;
    }
    /* This thread's row of columns k ... k + 31 of L, below the diagonal; else zeros. */
    __device__ void fetch(int k, T (&next)[side]) const {
        const int row = (int)threadIdx.x;
#pragma unroll
        for (int c = 0; c < side; c++)
            next[c] = row > k + c && row < p.order ? p.l[row + (size_t)(k + c) * p.ld] : (T)0;
    }
    __device__ void put(const T (&next)[side]) const {
#pragma unroll
        for (int c = 0; c < side; c++)
            m.l[c][threadIdx.x] = next[c];
    }
    /* Rows k ... k + 31 of this warp's columns. */
    __device__ void solve(int k) const {
        const int lane = wi_lane(), warp = (int)threadIdx.x / 32;
        T mine[solved_each];
#pragma unroll
        for (int q = 0; q < solved_each; q++)
            mine[q] = m.x[warp + q * warps][k + lane];
#pragma unroll 8
        for (int i = 0; i < side; i++) {
            const T l = m.l[i][k + lane];
#pragma unroll
            for (int q = 0; q < solved_each; q++) {
                const T known = wi_shuffle(mine[q], i);
                mine[q] = lane > i ? wi_fma(-l, known, mine[q]) : mine[q];
            }
        }
#pragma unroll
        for (int q = 0; q < solved_each; q++)
            m.x[warp + q * warps][k + lane] = mine[q];
    }
    /* What rows k ... k + 31 do to the rows below, of which a thread has every 64th. */
    template <int rows>
    __device__ void subtract(int k) const {
        const int row = k + side + (int)threadIdx.x % high;
        const int column = (int)threadIdx.x / high * taken_each;
        T rest[rows][taken_each];
#pragma unroll
        for (int r = 0; r < rows; r++)
#pragma unroll
            for (int c = 0; c < taken_each; c++)
                rest[r][c] = row + r * high < threads ? m.x[column + c][row + r * high] : (T)0;
#pragma unroll 2
        for (int i = 0; i < side; i += at_once) {
            pack known[taken_each];
#pragma unroll
            for (int c = 0; c < taken_each; c++)
                known[c] = *(const pack *)&m.x[column + c][k + i];
#pragma unroll
            for (int e = 0; e < at_once; e++)
#pragma unroll
                for (int r = 0; r < rows; r++) {
                    const T l = row + r * high < threads ? m.l[i + e][row + r * high] : (T)0;
#pragma unroll
                    for (int c = 0; c < taken_each; c++)
                        rest[r][c] = wi_fma(-l, known[c].at[e], rest[r][c]);
                }
        }
#pragma unroll
        for (int r = 0; r < rows; r++)
#pragma unroll
            for (int c = 0; c < taken_each; c++)
                if (row + r * high < threads)
                    m.x[column + c][row + r * high] = rest[r][c];
    }
    /* What rows k ... k + 31 do to the 16 rows from `row` on, by a warp with tensor cores. */
    __device__ void subtract_product(int row, int k) const {
        const int g = wi_lane() / 4, t = wi_lane() % 4;
        double a[side / 16][8];
#pragma unroll
        for (int i = 0; i < side / 16; i++)
#pragma unroll
            for (int e = 0; e < 8; e++)
                a[i][e] = -m.l[16 * i + t + e / 2 * 4][row + g + e % 2 * 8];
#pragma unroll
        for (int column = 0; column < wide; column += 8) {
            double d[4];
#pragma unroll
            for (int e = 0; e < 4; e++)
                d[e] = m.x[column + 2 * t + e % 2][row + g + e / 2 * 8];
#pragma unroll
            for (int i = 0; i < side / 16; i++) {
                double b[4];
#pragma unroll
                for (int e = 0; e < 4; e++)
                    b[e] = m.x[column + g][k + 16 * i + t + e * 4];
                wi_multiply_f64(d, a[i], b);
            }
#pragma unroll
            for (int e = 0; e < 4; e++)
                m.x[column + 2 * t + e % 2][row + g + e / 2 * 8] = d[e];
        }
    }
    __device__ void subtract_below(int k) const {
        const int below = p.order - k - side;
        if constexpr (sizeof(T) == 8) {
            for (int row = (int)threadIdx.x / 32 * 16; row < below; row += warps * 16)
                subtract_product(k + side + row, k);
        } else if (below > 3 * high) {
            subtract<4>(k);
        } else if (below > 2 * high) {
            subtract<3>(k);
        } else if (below > high) {
            subtract<2>(k);
        } else if (below > 0) {
            subtract<1>(k);
        }
    }
    __device__ void run() const {
        T next[side];
        fetch(0, next);
#pragma unroll 8
        for (int c = 0; c < wide; c++)
            m.x[c][threadIdx.x] = has(c) ? *element(c) : (T)0;
        for (int k = 0; k < p.order; k += side) {
            put(next);
            __syncthreads();
            solve(k);
            if (k + side < p.order)
                fetch(k + side, next);
            __syncthreads();
            subtract_below(k);
            __syncthreads();
        }
#pragma unroll 8
        for (int c = 0; c < wide; c++)
            if (has(c))
                *element(c) = m.x[c][threadIdx.x];
    }
};

template <class T, int wide>
__global__ void __launch_bounds__(threads, 1) substitute(substitute_params<T> p) {
    WEFT_DYNAMIC_SHARED(memory);
    using Substitution = substitution<T, wide>;
    Substitution{p, *(typename Substitution::memory *)memory, (size_t)blockIdx.x * wide}.run();
}

template <class T, int wide>
static weft_status launch_substitution(weft_context *ctx, const wi_lu_args *args,
                                       wi_lu_columns triangle, wi_lu_columns columns) {
    const size_t count = wi_lu_count(columns);
    const substitute_params<T> p = {(const T *)wi_lu_at(args, triangle.first, triangle.first),
                                    (T *)wi_lu_at(args, triangle.first, columns.first), args->lda,
                                    count, (int)wi_lu_count(triangle)};
    return WEFT_LAUNCH((substitute<T, wide>), ctx, (unsigned)((count + wide - 1) / wide), threads,
                       sizeof(typename substitution<T, wide>::memory), p);
}

/* Few columns are spread over more blocks, whose chains are shorter. */
template <class T>
static weft_status spread(weft_context *ctx, const wi_lu_args *args, wi_lu_columns triangle,
                          wi_lu_columns columns) {
    constexpr int few = 8, many = 32;
    const size_t count = wi_lu_count(columns);
    if (count == 0)
        return WEFT_OK;
    return count <= few * (size_t)ctx->gpu->multiprocessors
               ? launch_substitution<T, few>(ctx, args, triangle, columns)
               : launch_substitution<T, many>(ctx, args, triangle, columns);
}

weft_status wi_lu_substitute(weft_context *ctx, const wi_lu_args *args, wi_lu_columns triangle,
                             wi_lu_columns columns) {
    return args->type == WEFT_F64 ? spread<double>(ctx, args, triangle, columns)
                                  : spread<float>(ctx, args, triangle, columns);
}
