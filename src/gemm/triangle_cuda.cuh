/* SPDX-License-Identifier: Apache-2.0 */
/* A few blocks on the diagonal of T at once: a block of threads keeps the rows of X that they
 * touch, of a panel of columns, in shared memory, and goes through the blocks of T one after
 * another. */
#ifndef WI_TRIANGLE_CUDA_CUH
#define WI_TRIANGLE_CUDA_CUH

#include "cuda/async.cuh"
#include "cuda/memory.cuh"
#include "cuda/types.cuh"
#include "cuda/warp.cuh"
#include "gemm/gemm_cuda.cuh"
#include "gemm/triangle.h"
#include "gemm/triangle_tensor.cuh"

constexpr int wi_triangle_side = 64; /* of a block */

template <class Shape>
struct wi_triangle_fma;

/* How a panel of so many columns is gone through: there are so many warps, at most `most` blocks on
 * the diagonal, and `slots` for blocks of T, which arrive while others are used. Lines of shared
 * memory are `pad` elements longer than what is in them. */
template <class Element, int columns_, int warps_, int most_, int slots_, int pad_>
struct wi_triangle_shape {
    using T = Element;
    static constexpr int columns = columns_, warps = warps_, most = most_, slots = slots_;
    static constexpr int threads = 32 * warps, side = wi_triangle_side;
    static constexpr int t_stride = side + pad_, x_stride = columns + pad_;
    static constexpr int blocks =
        slots == 1 ? 2 : 1; /* on a multiprocessor: one waits, one works */
    static constexpr size_t rows = (size_t)most * side;
};

/* A thread has sums of one row group in `wide` columns. */
template <class T, int wide_, int warps, int most, int slots>
struct wi_triangle_fma_shape
    : wi_triangle_shape<T, 32 * wide_, warps, most, slots, 16 / (int)sizeof(T)> {
    static constexpr int wide = wide_;
    using Sums = wi_triangle_fma<wi_triangle_fma_shape>;
};

/* f64 on tensor cores. */
template <int columns, int slots>
struct wi_triangle_tensor_shape : wi_triangle_shape<double, columns, 8, 4, slots, 4> {
    using Sums = wi_triangle_tensor<wi_triangle_tensor_shape>;
};

/* Where there are enough panels for all multiprocessors, and where there are not. */
using wi_triangle_tensor_wide = wi_triangle_tensor_shape<64, 2>;
using wi_triangle_tensor_narrow = wi_triangle_tensor_shape<32, 3>;
template <class T>
using wi_triangle_wide = wi_triangle_fma_shape<T, 2, 4, 2, 1>;
template <class T>
using wi_triangle_narrow = wi_triangle_fma_shape<T, 1, 8, 4, 3>;

/* Elements of a block on the diagonal as kernels take it: (i, k) at i + 64 k, and zeros elsewhere.
 */
constexpr size_t wi_triangle_block = (size_t)wi_triangle_side * wi_triangle_side;

/* What trsm keeps of the blocks on the diagonal. Products with an inverse leave a residual that
 * grows with the block's condition, the largest row sum of |inverse| |block|: it is 300 to 1000 for
 * factors of random matrices, whose residuals are then a few units of rounding, as substitution
 * leaves them. Beyond `most` the unknowns are corrected, once; in a block of fewer rows
 * beyond `most_for_row` times their number, for small factors are better conditioned. */
template <class T>
struct wi_triangle_inverses {
    static constexpr T most = 2048, most_for_row = 8;
    T *inverse, *block, *condition; /* of each */

    static size_t bytes(size_t blocks) {
        return blocks * (2 * wi_triangle_block + 1) * sizeof(T);
    }
    wi_triangle_inverses(T *memory, size_t blocks)
        : inverse(memory), block(memory + blocks * wi_triangle_block),
          condition(memory + 2 * blocks * wi_triangle_block) {}
    /* What counts as the condition of a block that has so many rows. */
    __device__ static T counted(T condition, int rows) {
        return rows < (int)wi_triangle_side ? condition * (most / (most_for_row * (T)rows))
                                            : condition;
    }
    __device__ static bool is_bad(T condition) {
        return condition > most && condition - condition == 0;
    }
};
template <class T>
__device__ inline T wi_triangle_finite(T x) {
    return x - x == 0 ? x : (T)0;
}

template <class T>
struct wi_triangle_params {
    const T *t; /* T(0, 0) of these rows */
    ptrdiff_t t_row, t_column;
    T *x;
    ptrdiff_t x_row, x_column;
    const T *diagonal; /* the blocks, or their inverses; of these, too: */
    const T *blocks, *conditions;
    int order;
    size_t count;
    T alpha;
};

template <class T>
wi_triangle_params<T> wi_triangle_typed(const wi_triangle *t, wi_rows_part rows, T alpha) {
    const ptrdiff_t first = (ptrdiff_t)rows.first;
    return {(const T *)t->t + first * (t->t_row + t->t_column),
            t->t_row,
            t->t_column,
            (T *)t->x + first * t->x_row,
            t->x_row,
            t->x_column,
            NULL,
            NULL,
            NULL,
            (int)rows.count,
            t->count,
            alpha};
}

/* What a thread adds up by fused multiply-adds: a warp has 8 or 16 rows of a block of T X, whose
 * elements of T are the same for all its lanes, and a lane has `wide` columns. */
template <class Shape>
struct wi_triangle_fma {
    using T = typename Shape::T;
    static constexpr int side = wi_triangle_side, wide = Shape::wide;
    static constexpr int width = 16 / (int)sizeof(T);
    static constexpr int group = 8, groups = side / group / Shape::warps;
    static_assert(group * groups * Shape::warps == side, "warps have all rows of a block");
    struct alignas(wide * sizeof(T)) own {
        T at[wide];
    };

    T sums[groups][group][wide];

    /* The first row of a warp's group in a block. Of a triangle the lower rows have more to do, so
     * warps that share a scheduler, or the groups of one, come from both ends. */
    __device__ static int row_of(int g) {
        const int k = (int)threadIdx.x / 32 + g * Shape::warps, half = side / group / 2;
        return group * (k < half ? k : 3 * half - 1 - k);
    }
    __device__ static own *own_part(T *x, int row) {
        return (own *)(x + row * Shape::x_stride + wi_lane() * wide);
    }

    __device__ void clear() {
#pragma unroll
        for (int g = 0; g < groups; g++)
#pragma unroll
            for (int q = 0; q < group; q++)
#pragma unroll
                for (int w = 0; w < wide; w++)
                    sums[g][q][w] = 0;
    }

    /* sums += T(rows, k) X(k), of the rows of a group from its `from`-th on. */
    __device__ void add(int g, const T *t, int row, int k, const own &at_k, int from) {
#pragma unroll
        for (int q = 0; q < group; q += width) {
            const wi_vector<T> v = *(const wi_vector<T> *)(t + row + q + k * Shape::t_stride);
#pragma unroll
            for (int e = 0; e < width; e++)
#pragma unroll
                for (int w = 0; w < wide; w++)
                    if (q + e >= from)
                        sums[g][q + e][w] = wi_fma(v.at[e], at_k.at[w], sums[g][q + e][w]);
        }
    }
    /* By a block of T below the diagonal, and a block of X. */
    __device__ void add_block(const T *t, T *x) {
#pragma unroll 2
        for (int k = 0; k < side; k++) {
            const own at_k = *own_part(x, k);
#pragma unroll
            for (int g = 0; g < groups; g++)
                add(g, t, row_of(g), k, at_k, 0);
        }
    }
    /* By a block on the diagonal. Its zeros are left out: they would make NaN of infinity. */
    __device__ void add_triangle(const T *t, T *x) {
#pragma unroll
        for (int g = 0; g < groups; g++) {
            const int row = row_of(g);
#pragma unroll 2
            for (int k = 0; k < row; k++)
                add(g, t, row, k, *own_part(x, k), 0);
#pragma unroll
            for (int k = 0; k < group; k++)
                add(g, t, row, row + k, *own_part(x, row + k), k);
        }
    }

    /* f(x, sum) for the thread's elements of a block of X. */
    template <class F>
    __device__ void each_own(T *x, const F &f) {
#pragma unroll
        for (int g = 0; g < groups; g++)
#pragma unroll
            for (int q = 0; q < group; q++) {
                own *const at = own_part(x, row_of(g) + q);
                own x_own = *at;
#pragma unroll
                for (int w = 0; w < wide; w++)
                    f(x_own.at[w], sums[g][q][w]);
                *at = x_own;
            }
    }
};

template <class Shape>
struct wi_triangle_panel {
    using T = typename Shape::T;
    using Sums = typename Shape::Sums;
    static constexpr int side = wi_triangle_side, threads = Shape::threads;
    static constexpr int columns = Shape::columns, width = 16 / (int)sizeof(T);
    static constexpr int t_stride = Shape::t_stride, x_stride = Shape::x_stride;
    static constexpr int t_size = side * t_stride;
    static constexpr size_t shared_bytes =
        ((size_t)Shape::slots * t_size + Shape::rows * x_stride) * sizeof(T);

    const wi_triangle_params<T> &p;
    T *memory, *x; /* shared: slots for blocks of T, and X(i, j) at i x_stride + j */
    size_t first;  /* column of X */

    /* Calls f(i, j) for all of `high` x `wide` elements; neighbouring threads go down if `down`. */
    template <int high, int broad, class F>
    __device__ static void each(bool down, const F &f) {
#pragma unroll 8
        for (int e = (int)threadIdx.x; e < high * broad; e += threads)
            f(down ? e % high : e / broad, down ? e / high : e % broad);
    }

    __device__ void load_x(int block) const {
        each<side, columns>(p.x_row == 1 || p.x_row == -1, [&](int i, int j) {
            const int row = block * side + i;
            const bool there = row < p.order && first + (size_t)j < p.count;
            const T *const from = p.x + row * p.x_row + (ptrdiff_t)(first + (size_t)j) * p.x_column;
            wi_async_copy<(int)sizeof(T)>(x + row * x_stride + j, there ? from : p.x, there);
        });
    }
    __device__ void store_x(int block) const {
        each<side, columns>(p.x_row == 1 || p.x_row == -1, [&](int i, int j) {
            const int row = block * side + i;
            if (row < p.order && first + (size_t)j < p.count)
                p.x[row * p.x_row + (ptrdiff_t)(first + (size_t)j) * p.x_column] =
                    x[row * x_stride + j];
        });
    }

    /* Block (r, s) of T to a slot: (i, k) at i + k t_stride. */
    __device__ void load_t(T *t, int r, int s) const {
        each<side, side>(p.t_row == 1 || p.t_row == -1, [&](int i, int k) {
            const int row = r * side + i;
            const bool there = row < p.order;
            const T *const from = p.t + row * p.t_row + (s * side + k) * p.t_column;
            wi_async_copy<(int)sizeof(T)>(t + i + k * t_stride, there ? from : p.t, there);
        });
    }
    __device__ void load_diagonal(T *t, int r) const {
        const T *const from = p.diagonal + r * wi_triangle_block;
        each<side / width, side>(true, [&](int i, int k) {
            wi_async_copy<16>(t + i * width + k * t_stride, from + i * width + k * side);
        });
    }

    /* At once, in place of what is there. */
    __device__ void replace_diagonal(T *t, const T *blocks, int r) const {
        const T *const from = blocks + r * wi_triangle_block;
        each<side, side>(true, [&](int i, int k) { t[i + k * t_stride] = from[i + k * side]; });
        __syncthreads();
    }
    /* Which of the rows' blocks need a correction, a bit each. */
    __device__ unsigned bad_blocks(int blocks) const {
        unsigned bad = 0;
        for (int r = 0; r < blocks; r++)
            bad |= wi_triangle_inverses<T>::is_bad(p.conditions[r]) ? 1u << r : 0;
        return bad;
    }

    __device__ T *block_of_x(int r) const {
        return x + r * side * x_stride;
    }

    /* Blocks of T in the order of their use: to solve, each row of them from the left to the
     * diagonal; to multiply, the last row first, from the diagonal to the left. */
    struct step {
        int r, s;
    };
    template <bool solves>
    __device__ static step after(step now) {
        if (solves)
            return now.s < now.r ? step{now.r, now.s + 1} : step{now.r + 1, 0};
        return now.s > 0 ? step{now.r, now.s - 1} : step{now.r - 1, now.r - 1};
    }

    /* Starts the copy of the block of T for a step, if there is one, and goes to the next. */
    template <bool solves>
    __device__ void fetch(step &next, int slot, int blocks) const {
        T *const t = memory + slot * t_size;
        if (next.r >= 0 && next.r < blocks) {
            if (next.s == next.r)
                load_diagonal(t, next.r);
            else
                load_t(t, next.r, next.s);
            next = after<solves>(next);
        }
        wi_async_commit();
    }

    /* X(r) = alpha X(r) - sums, and then the diagonal's inverse times that. */
    __device__ void solve_block(Sums &sums, T *t, int r, bool is_bad) const {
        T *const own = block_of_x(r);
        sums.each_own(own, [&](T &own_x, T sum) { own_x = p.alpha * own_x - sum; });
        __syncthreads();
        sums.clear();
        sums.add_triangle(t, own);
        __syncthreads();
        if (is_bad)
            correct(sums, t, r);
        sums.each_own(own, [&](T &own_x, T sum) { own_x = sum; });
    }
    /* sums += inverse (X(r) - T sums), sums being the unknowns. Where infinity is among these there
     * is nothing to correct. */
    __device__ void correct(Sums &sums, T *t, int r) const {
        T *const own = block_of_x(r);
        sums.each_own(own, [&](T &own_x, T &sum) {
            const T right = own_x;
            own_x = sum;
            sum = -right;
        });
        replace_diagonal(t, p.blocks, r);
        sums.add_triangle(t, own);
        __syncthreads();
        sums.each_own(own, [&](T &own_x, T &sum) {
            const T unknown = own_x;
            own_x = wi_triangle_finite(-sum);
            sum = unknown;
        });
        replace_diagonal(t, p.diagonal, r);
        sums.add_triangle(t, own);
        __syncthreads();
    }

    /* What a step adds to the sums of its row of blocks, and what becomes of them. */
    template <bool solves>
    __device__ void take(Sums &sums, T *t, step now, unsigned bad) const {
        const bool on_diagonal = now.s == now.r;
        if (on_diagonal && !solves)
            sums.add_triangle(t, block_of_x(now.r));
        if (!on_diagonal)
            sums.add_block(t, block_of_x(now.s));
        if (on_diagonal && solves)
            solve_block(sums, t, now.r, bad >> now.r & 1);
        if (now.s == 0 && !solves) {
            __syncthreads();
            sums.each_own(block_of_x(now.r), [&](T &own_x, T sum) { own_x = p.alpha * sum; });
        }
        if (solves ? on_diagonal : now.s == 0)
            sums.clear();
    }

    template <bool solves>
    __device__ void run() const {
        const int blocks = (p.order + side - 1) / side, last = blocks - 1;
        step now = solves ? step{0, 0} : step{last, last}, next = now;
        for (int r = 0; r < blocks; r++)
            load_x(r);
        for (int slot = 0; slot < Shape::slots; slot++)
            fetch<solves>(next, slot, blocks);
        const unsigned bad = solves ? bad_blocks(blocks) : 0;
        Sums sums;
        sums.clear();
        for (int slot = 0; now.r >= 0 && now.r < blocks; now = after<solves>(now)) {
            wi_async_wait<Shape::slots - 1>();
            __syncthreads();
            take<solves>(sums, memory + slot * t_size, now, bad);
            __syncthreads();
            fetch<solves>(next, slot, blocks);
            slot = slot + 1 == Shape::slots ? 0 : slot + 1;
        }
        for (int r = 0; r < blocks; r++)
            store_x(r);
    }
};

template <class Shape, bool solves>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    wi_triangle_panels(wi_triangle_params<typename Shape::T> p) {
    using Panel = wi_triangle_panel<Shape>;
    WEFT_DYNAMIC_SHARED(memory);
    typename Shape::T *const slots = (typename Shape::T *)memory;
    const Panel panel = {p, slots, slots + Shape::slots * Panel::t_size,
                         (size_t)blockIdx.x * Shape::columns};
    panel.template run<solves>();
}

#endif
