/* SPDX-License-Identifier: Apache-2.0 */
/* L Lt of a small front, or of a square of a large one, in shared memory: eight columns at a time,
 * which a warp finishes without barriers. */
#ifndef WI_CHOL_STRIPS_CUH
#define WI_CHOL_STRIPS_CUH

#include "cholesky/cholesky_cuda.cuh"
#include "cuda/reciprocal.cuh"
#include "cuda/warp.cuh"

/* By 4 * side threads. Every element is one chain: the products of the columns before it are taken
 * from it one by one, in their order. The code of a strip is short, and all strips run through it:
 * a launch runs it once, so fetching instructions would take longer than they do. */
template <int side, int stride = side + 1>
struct wi_strips {
    static constexpr int width = 8, parts = 4, own = width / parts, rows = side / 32;
    double (&f)[side][stride]; /* element (i, j), i >= j, at f[j][i] */
    double (&corner)[2];       /* for the first column of a strip whose pivot is none */
    int height;                /* the rows and columns after it are zeros */

    /* Takes the products of the first `count` columns from a strip's. */
    __device__ void subtract(int begin, int count) const {
        const int row = (int)threadIdx.x % side, column = begin + (int)threadIdx.x / side * own;
        double a[own];
        if (row < begin)
            return;
#pragma unroll
        for (int c = 0; c < own; c++)
            a[c] = f[column + c][row];
#pragma unroll 8
        for (int k = 0; k < count; k++) {
            const double factor = f[k][row];
#pragma unroll
            for (int c = 0; c < own; c++)
                a[c] = wi_fma(-factor, f[k][column + c], a[c]);
        }
#pragma unroll
        for (int c = 0; c < own; c++)
            if (row >= column + c)
                f[column + c][row] = a[c];
    }
    /* Makes a strip's first `count` columns those of L, by one warp: a lane has every 32nd row.
     * Returns how many have a pivot. */
    __device__ int finish(int begin, int count) const {
        double a[rows][width];
        const auto each = [&](auto work) {
#pragma unroll
            for (int r = 0; r < rows; r++)
#pragma unroll
                for (int c = 0; c < width; c++)
                    if (begin + r * 32 + wi_lane() < side && r * 32 + wi_lane() >= c)
                        work(a[r][c], f[begin + c][begin + r * 32 + wi_lane()]);
        };
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < width; c++)
                a[r][c] = 0;
        each([](double &own_, double &shared) { own_ = shared; });
        int done = width;
        double pivot = wi_shuffle(a[0][0], 0);
#pragma unroll
        for (int j = 0; j < width; j++) {
            if (done == width && (j >= count || !wi_cholesky_is_pivot(pivot)))
                done = j;
            if (done < width)
                continue;
            pivot = scale(a, j, pivot);
        }
        each([](double &own_, double &shared) { shared = own_; });
        return done < count ? done : count;
    }
    /* Divides column j of the lanes' rows, and takes it from the columns after it. Returns the next
     * pivot, which is found first, as all wait for it: the lane that has it needs only its own row.
     */
    __device__ static double scale(double (&a)[rows][width], int j, double pivot) {
        const wi_root found(pivot);
        const wi_divisor<double> divisor(found.root, found.reciprocal);
        double next = 0;
#pragma unroll
        for (int r = 0; r < rows; r++)
            a[r][j] = r == 0 && wi_lane() == j ? found.root : divisor.of(a[r][j]);
        if (j + 1 < width)
            next = wi_shuffle(wi_fma(-a[0][j], a[0][j], a[0][(j + 1) % width]), j + 1);
#pragma unroll
        for (int c = j + 1; c < width; c++) {
            const double factor = wi_shuffle(a[0][j], c);
#pragma unroll
            for (int r = 0; r < rows; r++)
                a[r][c] = wi_fma(-a[r][j], factor, a[r][c]);
        }
        return next;
    }
    /* Columns 0 ... order - 1 are made those of L, and taken from the others. Returns how many
     * columns are right. */
    __device__ int run(int order) const {
        for (int begin = 0; begin < height; begin += width) {
            const int count = order - begin < width ? order - begin : width;
            subtract(begin, begin < order ? begin : order);
            __syncthreads();
            if (count <= 0)
                continue;
            if (threadIdx.x < 32) {
                const int done = finish(begin, count);
                if (wi_lane() == 0)
                    corner[0] = done;
            }
            __syncthreads();
            if (corner[0] < count)
                return begin + (int)corner[0];
        }
        return order;
    }
};

#endif
