/* SPDX-License-Identifier: Apache-2.0 */
/* The teaching rung: two kernels a column, one that makes it a column of L, and one that takes its
 * products from the columns after it. */
#include "cholesky/cholesky_cuda.cuh"

constexpr unsigned threads = 256;

template <class T>
struct cholesky_column {
    T *a; /* L(i, j) is a[i * down + j * across] */
    size_t down, across, n, column;
    int64_t *first;
};

template <class T>
__global__ void __launch_bounds__(threads) scale_column(cholesky_column<T> p) {
    T *const x = p.a + p.column * p.across;
    const T pivot = x[p.column * p.down];
    const bool failed = wi_cholesky_has_failed(p.first);
    __syncthreads();
    if (failed)
        return;
    if (!wi_cholesky_is_pivot(pivot)) {
        if (threadIdx.x == 0)
            wi_cholesky_tell(p.first, pivot, (int64_t)p.column);
        return;
    }
    const T root = sqrt(pivot);
    for (size_t i = p.column + threadIdx.x; i < p.n; i += threads)
        x[i * p.down] = i == p.column ? root : x[i * p.down] / root;
}

template <class T>
__global__ void __launch_bounds__(threads) subtract_column(cholesky_column<T> p) {
    const T *const l = p.a + p.column * p.across;
    if (wi_cholesky_has_failed(p.first))
        return;
    for (size_t j = p.column + 1 + blockIdx.x; j < p.n; j += gridDim.x) {
        T *const x = p.a + j * p.across;
        for (size_t i = j + threadIdx.x; i < p.n; i += threads)
            x[i * p.down] = wi_fma(-l[i * p.down], l[j * p.down], x[i * p.down]);
    }
}

template <class T>
static weft_status run(weft_context *ctx, const wi_cholesky_args *args) {
    const size_t most = 8 * (size_t)ctx->gpu->multiprocessors;
    weft_status status = wi_cholesky_clear_words(ctx, args);
    for (size_t k = 0; k < args->n && status == WEFT_OK; k++) {
        const size_t left = args->n - k - 1;
        const cholesky_column<T> p = {
            (T *)args->a, args->upper ? args->lda : 1, args->upper ? 1 : args->lda, args->n, k,
            args->first};
        status = WEFT_LAUNCH(scale_column<T>, ctx, 1, threads, 0, p);
        if (status == WEFT_OK && left > 0)
            status = WEFT_LAUNCH(subtract_column<T>, ctx, (unsigned)(left < most ? left : most),
                                 threads, 0, p);
    }
    return status;
}

weft_status wi_cholesky_columns(weft_context *ctx, const void *args) {
    const wi_cholesky_args *const a = (const wi_cholesky_args *)args;
    return a->type == WEFT_F64 ? run<double>(ctx, a) : run<float>(ctx, a);
}
