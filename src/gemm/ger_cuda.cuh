/* SPDX-License-Identifier: Apache-2.0 */
/* A call of ger as kernels take it. */
#ifndef WI_GER_CUDA_CUH
#define WI_GER_CUDA_CUH

#include "gemm/gemm_cuda.cuh"
#include "gemm/ger.h"

template <class T>
struct wi_ger_update {
    using Sum = wi_compute<T>;

    size_t rows, columns, lda;
    Sum alpha_x, alpha_y;
    const T *x, *y;
    ptrdiff_t incx, incy;
    T *a;

    __device__ Sum x_at(size_t i) const {
        return alpha_x * wi_load(x[(ptrdiff_t)i * incx]);
    }
    __device__ Sum factor(size_t j) const {
        return alpha_y * wi_load(y[(ptrdiff_t)j * incy]);
    }
};

template <class T>
wi_ger_update<T> wi_ger_typed(const wi_ger_args *g) {
    return {g->rows,
            g->columns,
            g->lda,
            (wi_compute<T>)g->alpha_x,
            (wi_compute<T>)g->alpha_y,
            (const T *)g->x.first,
            (const T *)g->y.first,
            g->x.step,
            g->y.step,
            (T *)g->a};
}

#endif
