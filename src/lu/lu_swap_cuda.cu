/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of rows on a GPU. Each thread follows one row through all the exchanges; then rows move
 * in one step, column by column. */
#include "cuda/launch.cuh"
#include "lu/lu_cuda.cuh"

constexpr int most = 256;          /* exchanges made at once */
constexpr int threads = 2 * most;  /* for the rows k, and for the rows pivot[k] */
constexpr int columns = 4;         /* that a thread moves at a time */

template <class T>
struct swap_params {
    size_t n;
    T *x;
    size_t ldx, first; /* exchanges first ... first + count - 1 */
    int count;
    const int64_t *pivot; /* of row `first` */
    bool forward;
};

/* Where the row of this thread goes; moves is false if there is none. */
struct move {
    int64_t from, to;
    bool moves;
};

template <class T>
__device__ static move trace(const swap_params<T> &p, const int64_t *pivot) {
    const int thread = (int)threadIdx.x, k = thread % most;
    const bool is_partner = thread >= most;
    const int64_t end = (int64_t)p.first + p.count;
    if (k >= p.count || (is_partner && pivot[k] < end))
        return {0, 0, false};
    const int64_t from = is_partner ? pivot[k] : (int64_t)p.first + k;
    int64_t to = from;
    bool last = true;
    for (int step = 0; step < p.count; step++) {
        const int i = p.forward ? step : p.count - 1 - step;
        const int64_t row = (int64_t)p.first + i, with = pivot[i];
        to = to == row ? with : to == with ? row : to;
        last = last && !(is_partner && i > k && with == from);
    }
    return {from, to, last && from != to};
}

template <class T>
__global__ void __launch_bounds__(threads) swap_rows(swap_params<T> p) {
    WEFT_SHARED(int64_t, pivot, [most]);
    if ((int)threadIdx.x < p.count)
        pivot[threadIdx.x] = p.pivot[threadIdx.x];
    __syncthreads();
    const move m = trace(p, pivot);
    for (size_t j = (size_t)blockIdx.x * columns; j < p.n; j += (size_t)gridDim.x * columns) {
        T old[columns];
#pragma unroll
        for (int c = 0; c < columns; c++)
            old[c] = m.moves && j + c < p.n ? p.x[m.from + (j + c) * p.ldx] : (T)0;
        __syncthreads();
#pragma unroll
        for (int c = 0; c < columns; c++)
            if (m.moves && j + c < p.n)
                p.x[m.to + (j + c) * p.ldx] = old[c];
    }
}

template <class T>
static weft_status swap(weft_context *ctx, size_t n, void *x, size_t ldx, wi_lu_exchanges e) {
    const size_t pieces = (e.count + most - 1) / most, wanted = (n + columns - 1) / columns;
    const size_t fill = 4 * (size_t)ctx->gpu->multiprocessors;
    weft_status status = WEFT_OK;
    for (size_t step = 0; step < pieces && status == WEFT_OK; step++) {
        const size_t done = most * (e.forward ? step : pieces - 1 - step), left = e.count - done;
        const swap_params<T> p = {n,         (T *)x, ldx, e.first + done, (int)(left < most ? left : most),
                                  e.pivot + done, e.forward};
        status = WEFT_LAUNCH(swap_rows<T>, ctx, (unsigned)(wanted < fill ? wanted : fill), threads,
                             0, p);
    }
    return status;
}

weft_status wi_lu_exchange(weft_context *ctx, weft_type type, size_t n, void *x, size_t ldx,
                           wi_lu_exchanges e) {
    return type == WEFT_F64 ? swap<double>(ctx, n, x, ldx, e) : swap<float>(ctx, n, x, ldx, e);
}

weft_status wi_lu_swap_rows_gpu(weft_context *ctx, weft_type type, size_t n, void *x, size_t ldx,
                                size_t count, const int64_t *pivot, bool forward) {
    return wi_lu_exchange(ctx, type, n, x, ldx, {0, count, pivot, forward});
}
