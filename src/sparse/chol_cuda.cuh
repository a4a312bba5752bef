/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of the sparse factorization share. */
#ifndef WI_CHOL_CUDA_CUH
#define WI_CHOL_CUDA_CUH

#include "cholesky/cholesky_panel.cuh"
#include "cuda/launch.cuh"
#include "cuda/warp.cuh"
#include "sparse/chol_device.h"
#include "sparse/chol_strips.cuh"

constexpr int wi_front_warps = WI_FRONT_COLUMNS;
constexpr int wi_front_threads = 32 * wi_front_warps;

/* How many of the ascending list[0 ... count - 1] are at most x; a whole warp asks for the same x.
 */
__device__ inline int wi_count_up_to(const int32_t *list, int count, int32_t x) {
    int low = 0, left = count; /* list[0 ... low - 1] are at most x, list[low + left ...] are not */
    while (left > 0) {
        const int step = (left + 31) / 32, probe = (wi_lane() + 1) * step - 1;
        const bool small = probe < left && list[low + probe] <= x;
        const int whole = __popc(__ballot_sync(wi_all_lanes, small)) * step;
        low += whole;
        left = step - 1 < left - whole ? step - 1 : left - whole;
    }
    return low;
}

/* Which front a block works on, and which of the front's blocks it is. */
struct wi_front_share {
    int front, block;
};
__device__ inline wi_front_share wi_share_of(const int32_t *sums, int fronts, int block) {
    const int front = wi_count_up_to(sums, fronts, block) - 1;
    return {front, block - sums[front]};
}

/* The columns of a front in L, and its update; `real` is the type of L's numbers. */
template <class real>
__device__ inline real *wi_front_panel(const wi_device_chol &d, const wi_front_record &r) {
    return (real *)d.l + r.panel;
}
template <class real>
__device__ inline real *wi_front_update(const wi_device_chol &d, const wi_front_record &r) {
    return (real *)d.updates + r.update;
}

/* Element (i, j) of a front, i >= j. */
template <class real>
__device__ inline real *wi_front_element(const wi_device_chol &d, const wi_front_record &r, int i,
                                         int j) {
    return j < r.columns ? wi_front_panel<real>(d, r) + i + (int64_t)j * r.ld
                         : wi_front_update<real>(d, r) + (i - r.columns) +
                               (int64_t)(j - r.columns) * r.ld_update;
}

/* Records that the pivot of a column is no finite number above 0: the first of all counts. */
__device__ inline void wi_chol_tell_failed(const wi_device_chol &d, int64_t column) {
    atomicMin(d.failed, (unsigned long long)column);
}

/* The inverse of a lower triangle of order `side`, in its place, by `threads` threads: L(i, j) is
 * l[j][i]. From row `done` on it is that of the unit matrix. `product` has room for side^2 / 4. */
template <int side>
struct wi_inversion {
    double (&l)[side][side + 1];
    double (&product)[side * side / 4];
    int threads, done;

    /* Of [P 0; R Q], in which P and Q are inverted already, the inverse has -Q R P in the place of
     * R. All such pairs of blocks of `size` at once whose R is not 0. */
    __device__ void join(int size) const {
        const int elements = wi_pieces(done - size, 2 * size) * size * size;
        for (int e = (int)threadIdx.x; e < elements; e += threads) {
            const int i = e % size, j = e / size % size, from = e / (size * size) * 2 * size;
            double sum = 0;
            for (int k = j; k < size; k++)
                sum = wi_fma(l[from + k][from + size + i], l[from + j][from + k], sum);
            product[e] = sum;
        }
        __syncthreads();
        for (int e = (int)threadIdx.x; e < elements; e += threads) {
            const int i = e % size, j = e / size % size, pair = e / (size * size);
            const int to = pair * 2 * size;
            double sum = 0;
            for (int k = 0; k <= i; k++)
                sum = wi_fma(l[to + size + k][to + size + i], product[(pair * size + j) * size + k],
                             sum);
            l[to + j][to + size + i] = -sum;
        }
        __syncthreads();
    }
    __device__ void run() const {
        if ((int)threadIdx.x < side)
            l[threadIdx.x][threadIdx.x] = wi_reciprocal(l[threadIdx.x][threadIdx.x]);
        __syncthreads();
        for (int size = 1; size < done; size *= 2)
            join(size);
    }
};

/* Gives the inverse of L, below its diagonal, to store(i, j, x), by a block of so many threads. L
 * is in the first `done` columns of f, which has 1 on the diagonal and 0 elsewhere after them; it
 * is overwritten. */
template <int threads, int side, class Store>
__device__ void wi_store_inverse(double (&f)[side][side + 1], double (&product)[side * side / 4],
                                 int done, Store store) {
    const wi_inversion<side> inversion = {f, product, threads, done};
    inversion.run();
    for (int e = (int)threadIdx.x; e < side * side; e += threads) {
        const int j = e % side, i = e / side; /* neighbours are written to one column */
        if (j < i && i < done)
            store(i, j, f[j][i]);
    }
}

/* May this be the pivot of a column whose sign is known? */
__device__ inline bool wi_is_pivot_of_sign(const wi_device_pivots &p, int column, double pivot) {
    return pivot * p.signs[column] > *p.tiny && pivot - pivot == 0;
}

/* As wi_cholesky_block of src/cholesky, for L D Lt with known signs: L has 1 on its diagonal. */
template <int side>
struct wi_signed_block {
    static constexpr int parts = wi_cholesky_parts, own = side / parts;
    double a[own];
    double (&line)[side]; /* the column that is being taken from the others, times its pivot */
    double (&corner)[2];  /* its pivot, and the reciprocal of that */
    const wi_device_pivots &pivots;
    int first; /* column of L */

    /* The pivot of column j from its diagonal entry, or that replaced; 0 if it may not be. */
    __device__ double accept(int j, double pivot) const {
        const double sign = pivots.signs[first + j];
        const bool is_finite = pivot - pivot == 0;
        const bool is_good = wi_is_pivot_of_sign(pivots, first + j, pivot);
        const bool is_replaced = !is_good && pivots.perturb && is_finite;
        const double used = is_replaced ? copysign(*pivots.tiny, sign) : pivot;
        pivots.d[first + j] = used;
        pivots.mark[first + j] = (int8_t)(is_replaced ? WI_PIVOT_CHANGED : WI_PIVOT_ONE);
        return is_good || is_replaced ? used : 0;
    }
    /* The first column whose pivot is none, or `order`. */
    __device__ int run(int order, int row, int part) {
#pragma unroll
        for (int j = 0; j < side; j++) {
            const bool is_owner = part == j % parts;
            if (j >= order)
                return j;
            if (is_owner && row == j) {
                corner[0] = accept(j, a[j / parts]);
                corner[1] = wi_reciprocal(corner[0]);
                a[j / parts] = 1;
            }
            if (is_owner && row > j)
                line[row] = a[j / parts];
            __syncthreads();
            const double pivot = corner[0];
            if (pivot == 0)
                return j;
            if (row > j) {
                const double factor = wi_divisor<double>(pivot, corner[1]).of(line[row]);
                if (is_owner)
                    a[j / parts] = factor;
#pragma unroll
                for (int c = j / parts; c < own; c++)
                    if (c * parts + part > j && c * parts + part <= row)
                        a[c] = wi_fma(-factor, line[c * parts + part], a[c]);
            }
            __syncthreads();
        }
        return side;
    }
};

/* A front, or a square of one, of at most `side` rows, by a block of 4 * side threads. */
template <int side>
struct wi_front_block {
    static constexpr int parts = wi_cholesky_parts, threads = side * parts;
    double (&f)[side][side + 1]; /* element (i, j), i >= j, at f[j][i]; zeros below `height` */
    double (&line)[side];
    double (&corner)[2];
    int height, columns;

    /* L Lt, in f, and the result is given to store(i, j, x), i >= j. Of a column whose pivot is
     * none, the diagonal is that pivot; what comes after it does not count. Returns how many
     * columns are right. */
    template <class Store>
    __device__ int run(Store store) const {
        const wi_strips<side> strips = {f, corner, height};
        const int done = strips.run(columns);
        each([&](int i, int j) {
            if (i < height)
                store(i, j, f[j][i]);
        });
        return done;
    }
    /* The same for L D Lt with known signs, whose failed pivot is in D. Its first column is that of
     * L. */
    template <class Store>
    __device__ int run_signed(const wi_device_pivots &pivots, int first, Store store) const {
        wi_signed_block<side> block = {{}, line, corner, pivots, first};
        const int row = (int)threadIdx.x % side, part = (int)threadIdx.x / side;
#pragma unroll
        for (int c = 0; c < block.own; c++) {
            const int j = c * parts + part;
            if (j <= row)
                block.a[c] = f[j][row];
        }
        const int done = block.run(columns, row, part);
#pragma unroll
        for (int c = 0; c < block.own; c++) {
            const int j = c * parts + part;
            if (j <= row && row < height)
                store(row, j, block.a[c]);
            if (j <= row)
                f[j][row] = block.a[c];
        }
        return done;
    }
    /* After it, gives the inverse of the square of the first `done` columns, below its diagonal, to
     * store(i, j, x); f is overwritten. */
    template <class Store>
    __device__ void invert(double (&product)[side * side / 4], int done, Store store) const {
        each([&](int i, int j) {
            if (i >= done)
                f[j][i] = i == j;
        });
        __syncthreads();
        wi_store_inverse<threads>(f, product, done, store);
    }

  private:
    /* Calls work(i, j) for the elements of f, i >= j, each always by the same thread. */
    template <class Work>
    __device__ void each(Work work) const {
        const int row = (int)threadIdx.x % side, part = (int)threadIdx.x / side;
#pragma unroll 4
        for (int j = part; j < side; j += parts)
            if (j <= row)
                work(row, j);
    }
};

#endif
