/* SPDX-License-Identifier: Apache-2.0 */
/* A product with a vector as kernels take it. */
#ifndef WI_GEMV_CUDA_CUH
#define WI_GEMV_CUDA_CUH

#include "gemm/gemm_cuda.cuh"
#include "gemm/gemv.h"

/* Elements of S and x are T, those of y are T or f32, and sums are Sum. */
template <class T>
struct wi_gemv_params {
    using Sum = wi_compute<T>;

    size_t rows, columns, results, terms;
    const T *a;
    size_t lda;
    const T *x;
    ptrdiff_t incx;
    T *y;
    float *y_f32; /* of 16-bit floats: y if it is f32, else NULL */
    ptrdiff_t incy;
    Sum alpha, beta;
    Sum *partial; /* the sums of all slices, each slice's together; NULL: there is one slice */
    size_t slice; /* terms of a slice */

    __device__ Sum x_at(size_t term) const {
        return wi_load(x[(ptrdiff_t)term * incx]);
    }
    template <class Out>
    __device__ void update(Out *to, Sum sum) const {
        if (terms > 0)
            wi_gemm_update(to, alpha, sum, beta);
        else
            *to = beta == 0 ? (Out)beta : (Out)(beta * (Sum)wi_load(*to));
    }
    /* Element i of y from the sum of its products, if there are any. */
    __device__ void finish(size_t i, Sum sum) const {
        const ptrdiff_t at = (ptrdiff_t)i * incy;
        if constexpr (sizeof(T) == 2)
            if (y_f32) {
                update(y_f32 + at, sum);
                return;
            }
        update(y + at, sum);
    }
    /* The sum of one slice. */
    __device__ void put(size_t slice_index, size_t i, Sum sum) const {
        if (partial)
            partial[slice_index * results + i] = sum;
        else
            finish(i, sum);
    }
};

template <class T>
wi_gemv_params<T> wi_gemv_typed(const wi_gemv_args *g) {
    using Sum = typename wi_gemv_params<T>::Sum;
    const bool is_f32 = g->out == WEFT_F32 && g->type != WEFT_F32;
    wi_gemv_params<T> p = {};
    p.rows = g->rows;
    p.columns = g->columns;
    p.results = g->results;
    p.terms = g->terms;
    p.a = (const T *)g->a;
    p.lda = g->lda;
    p.x = (const T *)g->x.first;
    p.incx = g->x.step;
    p.y = is_f32 ? NULL : (T *)g->y.first;
    p.y_f32 = is_f32 ? (float *)g->y.first : NULL;
    p.incy = g->y.step;
    p.alpha = (Sum)g->alpha;
    p.beta = (Sum)g->beta;
    p.slice = g->terms;
    return p;
}

#endif
