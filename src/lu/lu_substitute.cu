/* SPDX-License-Identifier: Apache-2.0 */
/* X = L \ X for a unit lower triangle L of at most 256 rows, by substitution: what is computed with
 * the inverse of a triangle may be less exact. A block keeps some columns of X in shared memory. It
 * goes down 32 rows at a time: some warps solve with the triangle there, f64 eight rows at a time,
 * while the others fetch the next 32 columns of L; then all threads subtract what these rows do to
 * the rows below, four rows by some columns a thread, or f64 by tensor cores. */
#include "cuda/launch.cuh"
#include "cuda/tensor_f64.cuh"
#include "cuda/types.cuh"
#include "cuda/warp.cuh"
#include "lu/lu_cuda.cuh"
#include "lu/lu_triangle.cuh"

constexpr int side = 32; /* of a triangle on the diagonal */
constexpr int longest = wi_lu_most_substituted;
constexpr int threads = 512, warps = threads / 32;
constexpr int high = 64, across = threads / high; /* threads that subtract, by rows and columns */
constexpr int halves = threads / longest;         /* threads that fetch elements of a row */

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
    static constexpr bool is_f64 = sizeof(T) == 8;
    static constexpr int taken_each = wide / across; /* columns of a thread that subtracts */
    static constexpr int fetched_each = side / halves;
    static constexpr int at_once = 16 / (int)sizeof(T);
    struct alignas(16) pack {
        T at[at_once];
    };
    static constexpr int gap = 4; /* so that four rows of four columns are in different banks */
    struct memory {
        T l[side][longest + gap]; /* the part of L below and on the triangle, by columns */
        T x[wide][longest + gap];
    };

    const substitute_params<T> &p;
    memory &m;
    size_t first; /* column of X */

    /* f(an element of X in shared memory, its address), of this thread's. */
    template <class F>
    __device__ void each(const F &f) const {
        const int row = (int)threadIdx.x % longest, half = (int)threadIdx.x / longest;
#pragma unroll 8
        for (int c = half; c < wide; c += halves)
            if (first + (size_t)c < p.columns && row < p.order)
                f(m.x[c][row], p.x + row + (first + (size_t)c) * p.ld);
    }
    /* Of columns k ... k + 31 of L, below the diagonal, some of a row; else zeros. */
    __device__ void fetch(int k, T (&next)[fetched_each]) const {
        const int row = (int)threadIdx.x % longest;
        const int first_column = (int)threadIdx.x / longest * fetched_each;
#pragma unroll
        for (int q = 0; q < fetched_each; q++) {
            const int c = k + first_column + q;
            next[q] = row > c && row < p.order ? p.l[row + (size_t)c * p.ld] : (T)0;
        }
    }
    __device__ void put(const T (&next)[fetched_each]) const {
        const int first_column = (int)threadIdx.x / longest * fetched_each;
#pragma unroll
        for (int q = 0; q < fetched_each; q++)
            m.l[first_column + q][threadIdx.x % longest] = next[q];
    }
    /* `count` rows of this thread's column, from row k on, where l is the triangle's corner. */
    template <int count>
    __device__ void solve_column(int column, int k, int l) const {
        alignas(16) T x[count];
        T *const at = &m.x[column][k];
#pragma unroll
        for (int i = 0; i < count; i += at_once)
            *(pack *)&x[i] = *(const pack *)&at[i];
#pragma unroll
        for (int c = 0; c < count - 1; c++)
#pragma unroll
            for (int r = c / at_once * at_once; r < count; r += at_once) {
                const pack of_l = *(const pack *)&m.l[l + c][k + r];
#pragma unroll
                for (int e = 0; e < at_once; e++)
                    if (r + e > c)
                        x[r + e] = wi_fma(-of_l.at[e], x[c], x[r + e]);
            }
#pragma unroll
        for (int i = 0; i < count; i += at_once)
            *(pack *)&at[i] = *(const pack *)&x[i];
    }
    /* What rows k + l ... k + l + 7 do to the rows below them, up to row k + 31, in this warp's
     * eight columns. */
    __device__ void subtract_within(int k, int l) const {
        const int g = wi_lane() / 4, t = wi_lane() % 4;
        const int first_column = (int)threadIdx.x / 32 * 8;
        double b[2];
#pragma unroll
        for (int e = 0; e < 2; e++)
            b[e] = m.x[first_column + g][k + l + t + 4 * e];
#pragma unroll
        for (int row = 0; row < side - 8; row += 16)
            if (l + 8 + row < side) {
                double a[4], d[4];
                const auto at = [&](int half) { return k + l + 8 + row + g + half * 8; };
                const auto is_within = [&](int half) { return at(half) < k + side; };
#pragma unroll
                for (int e = 0; e < 4; e++)
                    a[e] = is_within(e % 2) ? -m.l[l + t + e / 2 * 4][at(e % 2)] : 0;
#pragma unroll
                for (int e = 0; e < 4; e++)
                    d[e] = is_within(e / 2) ? m.x[first_column + 2 * t + e % 2][at(e / 2)] : 0;
                wi_multiply_f64(d, a, b);
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (is_within(e / 2))
                        m.x[first_column + 2 * t + e % 2][at(e / 2)] = d[e];
            }
    }
    /* Rows k ... k + 31 of some columns a warp. */
    __device__ void solve_by_warps(int k) const {
        constexpr int columns = wide < 2 * warps ? 1 : 2;
        const int lane = wi_lane();
        for (int first_column = (int)threadIdx.x / 32 * columns; first_column < wide;
             first_column += warps * columns) {
            T x[columns];
#pragma unroll
            for (int c = 0; c < columns; c++)
                x[c] = m.x[first_column + c][k + lane];
            wi_lu_solve_unit(x, [&](int row, int column) { return m.l[column][k + row]; });
#pragma unroll
            for (int c = 0; c < columns; c++)
                m.x[first_column + c][k + lane] = x[c];
        }
    }
    /* Rows k ... k + 31. */
    __device__ void solve(int k) const {
        if constexpr (is_f64) {
            if ((int)threadIdx.x / 32 >= wide / 8)
                return;
#pragma unroll 1
            for (int l = 0; l < side; l += 8) {
                if (wi_lane() < 8)
                    solve_column<8>((int)threadIdx.x / 32 * 8 + wi_lane(), k + l, l);
                __syncwarp();
                subtract_within(k, l);
                __syncwarp();
            }
        } else {
            solve_by_warps(k);
        }
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
                rest[r][c] = row + r * high < longest ? m.x[column + c][row + r * high] : (T)0;
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
                    const T l = row + r * high < longest ? m.l[i + e][row + r * high] : (T)0;
#pragma unroll
                    for (int c = 0; c < taken_each; c++)
                        rest[r][c] = wi_fma(-l, known[c].at[e], rest[r][c]);
                }
        }
#pragma unroll
        for (int r = 0; r < rows; r++)
#pragma unroll
            for (int c = 0; c < taken_each; c++)
                if (row + r * high < longest)
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
        if constexpr (is_f64) {
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
        T next[fetched_each];
        fetch(0, next);
        for (int e = (int)threadIdx.x; e < wide * longest; e += threads)
            m.x[e / longest][e % longest] = 0;
        each([](T &x, const T *from) { x = *from; });
        for (int k = 0; k < p.order; k += side) {
            put(next);
            __syncthreads();
            if (is_f64)
                solve(k);
            if (k + side < p.order)
                fetch(k + side, next);
            if (!is_f64)
                solve(k);
            __syncthreads();
            subtract_below(k);
            __syncthreads();
        }
        each([](const T &x, T *to) { *to = x; });
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
    constexpr size_t few = 8, some = 32, many = 64;
    const size_t count = wi_lu_count(columns), processors = (size_t)ctx->gpu->multiprocessors;
    if (count == 0)
        return WEFT_OK;
    if (count <= few * processors)
        return launch_substitution<T, few>(ctx, args, triangle, columns);
    return count <= some * processors ? launch_substitution<T, some>(ctx, args, triangle, columns)
                                      : launch_substitution<T, many>(ctx, args, triangle, columns);
}

weft_status wi_lu_substitute(weft_context *ctx, const wi_lu_args *args, wi_lu_columns triangle,
                             wi_lu_columns columns) {
    return args->type == WEFT_F64 ? spread<double>(ctx, args, triangle, columns)
                                  : spread<float>(ctx, args, triangle, columns);
}
