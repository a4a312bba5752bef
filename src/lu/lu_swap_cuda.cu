/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of rows on a GPU. A first kernel follows each row through all the exchanges; then a
 * second moves rows in one step, column by column. */
#include "cuda/launch.cuh"
#include "lu/lu_cuda.cuh"

constexpr int most = 256;      /* exchanges made at once */
constexpr int rows = 2 * most; /* that may move: the rows k, and the rows pivot[k] */
constexpr int tracers =
    32; /* threads of a block that follows rows: few, as they wait for themselves */
constexpr int columns = 4; /* that a thread moves at a time */

/* Exchanges first ... first + count - 1; pivot is that of row `first`. */
struct exchanges {
    int first, count;
    const int64_t *pivot;
    bool forward;
};

/* Where a row goes; from < 0: nowhere. */
struct move {
    int from, to;
};

__device__ static move trace(const exchanges &e, const int *pivot, int thread) {
    const int k = thread % most, end = e.first + e.count;
    const bool is_partner = thread >= most;
    if (k >= e.count || (is_partner && pivot[k] < end))
        return {-1, -1};
    const int from = is_partner ? pivot[k] : e.first + k;
    int to = from;
    bool last = true;
#pragma unroll 8
    for (int step = 0; step < e.count; step++) {
        const int i = e.forward ? step : e.count - 1 - step;
        const int row = e.first + i, with = pivot[i];
        last = last && (with != from || i <= k);
        to = to == row ? with : to == with ? row : to;
    }
    return {(last || !is_partner) && from != to ? from : -1, to};
}

__global__ void __launch_bounds__(tracers) trace_rows(exchanges e, move *moves) {
    WEFT_SHARED(int, pivot, [most]);
    for (int k = (int)threadIdx.x; k < e.count; k += tracers)
        pivot[k] = (int)e.pivot[k];
    __syncthreads();
    const int thread = (int)blockIdx.x * tracers + (int)threadIdx.x;
    moves[thread] = trace(e, pivot, thread);
}

template <class T>
__global__ void __launch_bounds__(rows) move_rows(size_t n, T *x, size_t ldx, const move *moves) {
    const move m = moves[threadIdx.x];
    const bool moving = m.from >= 0;
    for (size_t j = (size_t)blockIdx.x * columns; j < n; j += (size_t)gridDim.x * columns) {
        T old[columns];
#pragma unroll
        for (int c = 0; c < columns; c++)
            old[c] = moving && j + c < n ? x[(size_t)m.from + (j + c) * ldx] : (T)0;
        __syncthreads();
#pragma unroll
        for (int c = 0; c < columns; c++)
            if (moving && j + c < n)
                x[(size_t)m.to + (j + c) * ldx] = old[c];
    }
}

template <class T>
static weft_status exchange(weft_context *ctx, size_t n, T *x, size_t ldx, const exchanges &e,
                            move *moves) {
    const size_t wanted = (n + columns - 1) / columns, fill = 4 * (size_t)ctx->gpu->multiprocessors;
    weft_status status = WEFT_LAUNCH(trace_rows, ctx, rows / tracers, tracers, 0, e, moves);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(move_rows<T>, ctx, (unsigned)(wanted < fill ? wanted : fill), rows, 0,
                             n, x, ldx, moves);
    return status;
}

weft_status wi_lu_exchange(weft_context *ctx, weft_type type, size_t n, void *x, size_t ldx,
                           wi_lu_exchanges e) {
    static const char moves_key = 0;
    const size_t pieces = (e.count + most - 1) / most;
    move *moves;
    weft_status status = wi_gpu_scratch(ctx, &moves_key, rows * sizeof *moves, (void **)&moves);
    for (size_t step = 0; step < pieces && status == WEFT_OK; step++) {
        const size_t done = most * (e.forward ? step : pieces - 1 - step), left = e.count - done;
        const exchanges piece = {(int)(e.first + done), (int)(left < most ? left : most),
                                 e.pivot + done, e.forward};
        status = type == WEFT_F64 ? exchange(ctx, n, (double *)x, ldx, piece, moves)
                                  : exchange(ctx, n, (float *)x, ldx, piece, moves);
    }
    return status;
}

weft_status wi_lu_swap_rows_gpu(weft_context *ctx, weft_type type, size_t n, void *x, size_t ldx,
                                size_t count, const int64_t *pivot, bool forward) {
    return wi_lu_exchange(ctx, type, n, x, ldx, {0, count, pivot, forward});
}
