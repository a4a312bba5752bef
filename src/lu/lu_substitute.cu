/* SPDX-License-Identifier: Apache-2.0 */
/* X = L \ X for a unit lower triangle L of at most 256 rows, by substitution: what is computed with
 * the inverse of a triangle may be less exact. A block keeps some columns of X in shared memory. It
 * goes down 32 rows at a time: each warp solves with the triangle there, a column after the other,
 * then each thread subtracts what these rows do to its own row. */
#include "cuda/launch.cuh"
#include "cuda/types.cuh"
#include "cuda/warp.cuh"
#include "lu/lu_cuda.cuh"

constexpr int side = 32;     /* of a triangle on the diagonal */
constexpr int threads = 256; /* and rows, at most */
constexpr int warps = threads / 32;
constexpr int wide = 32;            /* columns of a block */
constexpr int stride = threads + 1; /* of X in shared memory, which is stored by columns */
static_assert(threads == wi_lu_most_substituted, "a thread for each row");

template <class T>
struct substitute_params {
    const T *l;
    T *x;
    size_t ld, columns;
    int order;
};

template <class T>
struct substitution {
    const substitute_params<T> &p;
    T *x;                  /* shared: X(i, c) at x[c * stride + i] */
    T (&l)[side][threads]; /* shared: the part of L below and on the triangle, by columns */
    size_t first;          /* column of X */

    __device__ int there() const {
        const size_t left = p.columns - first;
        return left < wide ? (int)left : wide;
    }
    template <class F>
    __device__ void each(const F &f) const {
        const int row = (int)threadIdx.x;
        for (int c = 0; c < there(); c++)
            if (row < p.order)
                f(x[c * stride + row], p.x[row + (first + c) * p.ld]);
    }
    /* Columns k ... k + 31 of L, from row k on; zeros where there is none. */
    __device__ void load(int k) const {
        const int row = (int)threadIdx.x;
        for (int c = 0; c < side; c++)
            l[c][row] =
                row > k + c && row < p.order && k + c < p.order ? p.l[row + (k + c) * p.ld] : (T)0;
    }
    /* Rows k ... k + 31 of this warp's columns. */
    __device__ void solve(int k) const {
        const int lane = wi_lane();
        for (int c = (int)threadIdx.x / 32; c < there(); c += warps) {
            T mine = x[c * stride + k + lane];
#pragma unroll 8
            for (int i = 0; i < side; i++) {
                const T known = wi_shuffle(mine, i);
                mine = lane > i ? wi_fma(-l[i][k + lane], known, mine) : mine;
            }
            x[c * stride + k + lane] = mine;
        }
    }
    /* What rows k ... k + 31 do to this thread's row below them. */
    __device__ void subtract(int k) const {
        constexpr int at_once = 8;
        const int row = (int)threadIdx.x;
        if (row < k + side || row >= p.order)
            return;
        for (int c = 0; c < there(); c += at_once) {
            T rest[at_once];
#pragma unroll
            for (int q = 0; q < at_once; q++)
                rest[q] = x[(c + q) * stride + row];
#pragma unroll 4
            for (int i = 0; i < side; i++)
#pragma unroll
                for (int q = 0; q < at_once; q++)
                    rest[q] = wi_fma(-l[i][row], x[(c + q) * stride + k + i], rest[q]);
#pragma unroll
            for (int q = 0; q < at_once; q++)
                x[(c + q) * stride + row] = rest[q];
        }
    }
    __device__ void run() const {
        for (int e = (int)threadIdx.x; e < wide * stride; e += threads)
            x[e] = 0;
        __syncthreads();
        each([](T &shared, T &global) { shared = global; });
        for (int k = 0; k < p.order; k += side) {
            load(k);
            __syncthreads();
            solve(k);
            __syncthreads();
            subtract(k);
            __syncthreads();
        }
        each([](T &shared, T &global) { global = shared; });
    }
};

template <class T>
__global__ void __launch_bounds__(threads) substitute(substitute_params<T> p) {
    WEFT_DYNAMIC_SHARED(memory);
    T(&l)[side][threads] = *(T(*)[side][threads])memory;
    T *const x = (T *)(memory + sizeof(l));
    substitution<T>{p, x, l, (size_t)blockIdx.x * wide}.run();
}

template <class T>
static weft_status launch(weft_context *ctx, const wi_lu_args *args, wi_lu_columns triangle,
                          wi_lu_columns columns) {
    const size_t count = wi_lu_count(columns);
    const size_t shared_bytes = (side * threads + wide * stride) * sizeof(T);
    const substitute_params<T> p = {(const T *)wi_lu_at(args, triangle.first, triangle.first),
                                    (T *)wi_lu_at(args, triangle.first, columns.first), args->lda,
                                    count, (int)wi_lu_count(triangle)};
    if (count == 0)
        return WEFT_OK;
    return WEFT_LAUNCH(substitute<T>, ctx, (unsigned)((count + wide - 1) / wide), threads,
                       shared_bytes, p);
}

weft_status wi_lu_substitute(weft_context *ctx, const wi_lu_args *args, wi_lu_columns triangle,
                             wi_lu_columns columns) {
    return args->type == WEFT_F64 ? launch<double>(ctx, args, triangle, columns)
                                  : launch<float>(ctx, args, triangle, columns);
}
