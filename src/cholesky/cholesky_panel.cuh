/* SPDX-License-Identifier: Apache-2.0 */
/* A small block of a Cholesky factorization on a GPU, in the registers of a block of threads. */
#ifndef WI_CHOLESKY_PANEL_CUH
#define WI_CHOLESKY_PANEL_CUH

#include "cholesky/cholesky_cuda.cuh"
#include "cuda/reciprocal.cuh"

constexpr int wi_cholesky_parts = 4; /* threads that share a row */

/* A thread has columns part, part + 4, ... of a row. */
template <class T, int side>
struct wi_cholesky_block {
    static constexpr int parts = wi_cholesky_parts, own = side / parts;
    T a[own];
    T (&line)[side]; /* of L: the column that is being taken from the others */
    T (&corner)[2];  /* its root, and the reciprocal of that */

    /* Makes column j one of L: its pivot's thread first. True if the pivot is none. */
    __device__ bool scale(int j, int c, int row, int part) {
        const bool is_owner = part == j % parts;
        if (is_owner && row == j) {
            const bool is_pivot = wi_cholesky_is_pivot(a[c]);
            corner[0] = is_pivot ? sqrt(a[c]) : (T)0;
            corner[1] = wi_reciprocal(corner[0]);
            a[c] = is_pivot ? corner[0] : a[c];
        }
        __syncthreads();
        const T root = corner[0];
        if (is_owner && row > j && root != 0)
            line[row] = a[c] = wi_divisor<T>(root, corner[1]).of(a[c]);
        __syncthreads();
        return root == 0;
    }
    /* The first column whose pivot is none, or `order`. */
    __device__ int run(int order, int row, int part) {
#pragma unroll
        for (int j = 0; j < side; j++) {
            if (j >= order || scale(j, j / parts, row, part))
                return j;
            if (row > j) {
                const T factor = line[row];
#pragma unroll
                for (int c = j / parts; c < own; c++)
                    if (c * parts + part > j && c * parts + part <= row)
                        a[c] = wi_fma(-factor, line[c * parts + part], a[c]);
            }
        }
        return side;
    }
};

#endif
