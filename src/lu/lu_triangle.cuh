/* SPDX-License-Identifier: Apache-2.0 */
/* x = L \ x for a unit lower triangle of 32 rows, by a warp: a lane has a row of some columns. */
#ifndef WI_LU_TRIANGLE_CUH
#define WI_LU_TRIANGLE_CUH

#include "cuda/types.cuh"
#include "cuda/warp.cuh"

/* l(row, k): an element below the diagonal. Four rows at a time, for which every lane solves by
 * itself, so that columns wait for eight exchanges between lanes in place of 32. */
template <class T, int columns, class Element>
__device__ inline void wi_lu_solve_unit(T (&x)[columns], const Element &l) {
    constexpr int rows = 32, step = 4;
    const int lane = wi_lane();
#pragma unroll 1
    for (int k = 0; k < rows; k += step) {
        T own[step], corner[step][step];
#pragma unroll
        for (int h = 0; h < step; h++) {
            own[h] = l(lane, k + h);
#pragma unroll
            for (int i = h + 1; i < step; i++)
                corner[i][h] = l(k + i, k + h);
        }
#pragma unroll
        for (int c = 0; c < columns; c++) {
            T known[step];
#pragma unroll
            for (int i = 0; i < step; i++)
                known[i] = wi_shuffle(x[c], k + i);
#pragma unroll
            for (int i = 1; i < step; i++)
#pragma unroll
                for (int h = 0; h < i; h++)
                    known[i] = wi_fma(-corner[i][h], known[h], known[i]);
#pragma unroll
            for (int i = 0; i < step; i++)
                x[c] = lane > k + i ? wi_fma(-own[i], known[i], x[c]) : x[c];
        }
    }
}

#endif
