/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of rows on a GPU, 256 of them at a time. A first kernel follows each row through the
 * exchanges of its piece, of all pieces at once; then a second makes the moves of one piece after
 * the other, column by column. */
#include "cuda/launch.cuh"
#include "lu/lu_cuda.cuh"

constexpr int most = 256;      /* exchanges of a piece */
constexpr int rows = 2 * most; /* that may move: the rows k, and the rows pivot[k] */
constexpr int tracers = 32; /* threads of a block that follows rows: each waits for its own steps */
constexpr unsigned tracing = rows / tracers; /* blocks for a piece */
constexpr int columns = 4;                   /* that a thread moves at a time */

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

/* The move of a row by all exchanges of a piece. Thread k < most follows row first + k, thread most
 * + k row pivot[k]; a row that several exchanges name is moved by the thread of the last one. */
__device__ static move trace_interchanges(const exchanges &e, const int *pivot, int thread) {
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

/* Piece k of `pieces`, in the order in which they are made. */
__device__ static exchanges piece_of(const exchanges &e, int pieces, int k) {
    const int done = most * (e.forward ? k : pieces - 1 - k), left = e.count - done;
    return {e.first + done, left < most ? left : most, e.pivot + done, e.forward};
}

__global__ void __launch_bounds__(tracers) trace_rows(exchanges all, int pieces, move *moves) {
    WEFT_SHARED(int, pivot, [most]);
    const exchanges e = piece_of(all, pieces, (int)(blockIdx.x / tracing));
    for (int k = (int)threadIdx.x; k < e.count; k += tracers)
        pivot[k] = (int)e.pivot[k];
    __syncthreads();
    const int thread = (int)(blockIdx.x % tracing) * tracers + (int)threadIdx.x;
    moves[(size_t)blockIdx.x * tracers + threadIdx.x] = trace_interchanges(e, pivot, thread);
}

/* The moves of one piece, in `there` columns from x on. */
template <class T>
__device__ static void move_columns(const move &m, T *x, size_t ldx, size_t there) {
    const bool moving = m.from >= 0;
    T old[columns];
#pragma unroll
    for (size_t c = 0; c < columns; c++)
        old[c] = moving && c < there ? x[(size_t)m.from + c * ldx] : (T)0;
    __syncthreads();
#pragma unroll
    for (size_t c = 0; c < columns; c++)
        if (moving && c < there)
            x[(size_t)m.to + c * ldx] = old[c];
}

template <class T>
__global__ void __launch_bounds__(rows)
    move_rows(size_t n, T *x, size_t ldx, const move *moves, int pieces) {
    const size_t j = (size_t)blockIdx.x * columns;
    move m = moves[threadIdx.x];
    for (int k = 0; k < pieces; k++) {
        const move next = k + 1 < pieces ? moves[(size_t)(k + 1) * rows + threadIdx.x] : m;
        if (k > 0)
            __syncthreads();
        move_columns(m, x + j * ldx, ldx, n - j);
        m = next;
    }
}

static int pieces_of(const wi_lu_exchanges &e) {
    return (int)((e.count + most - 1) / most);
}

template <class T>
static weft_status move_all(weft_context *ctx, size_t n, T *x, size_t ldx, const wi_lu_exchanges &e,
                            const move *moves) {
    constexpr size_t most_blocks = (size_t)1 << 30;
    for (size_t j = 0; j < n; j += most_blocks * columns) {
        const size_t some = n - j < most_blocks * columns ? n - j : most_blocks * columns;
        const weft_status status =
            WEFT_LAUNCH(move_rows<T>, ctx, (unsigned)((some + columns - 1) / columns), rows, 0,
                        some, x + j * ldx, ldx, moves, pieces_of(e));
        if (status != WEFT_OK)
            return status;
    }
    return WEFT_OK;
}

static weft_status take_moves(weft_context *ctx, size_t count, move **moves) {
    static const char moves_key = 0;
    const size_t pieces = (count + most - 1) / most;
    return wi_gpu_scratch(ctx, &moves_key, pieces * rows * sizeof **moves, (void **)moves);
}

weft_status wi_lu_reserve_exchanges(weft_context *ctx, size_t count) {
    move *moves;
    return take_moves(ctx, count, &moves);
}

weft_status wi_lu_exchange_again(weft_context *ctx, weft_type type, size_t n, void *x, size_t ldx,
                                 wi_lu_exchanges e) {
    move *moves;
    const weft_status status = take_moves(ctx, e.count, &moves);
    if (status != WEFT_OK || e.count == 0)
        return status;
    return type == WEFT_F64 ? move_all(ctx, n, (double *)x, ldx, e, moves)
                            : move_all(ctx, n, (float *)x, ldx, e, moves);
}

weft_status wi_lu_exchange(weft_context *ctx, weft_type type, size_t n, void *x, size_t ldx,
                           wi_lu_exchanges e) {
    const exchanges all = {(int)e.first, (int)e.count, e.pivot, e.forward};
    move *moves;
    weft_status status = take_moves(ctx, e.count, &moves);
    if (status == WEFT_OK && e.count > 0)
        status = WEFT_LAUNCH(trace_rows, ctx, (unsigned)pieces_of(e) * tracing, tracers, 0, all,
                             pieces_of(e), moves);
    return status == WEFT_OK ? wi_lu_exchange_again(ctx, type, n, x, ldx, e) : status;
}

weft_status wi_lu_swap_rows_gpu(weft_context *ctx, weft_type type, size_t n, void *x, size_t ldx,
                                size_t count, const int64_t *pivot, bool forward) {
    return wi_lu_exchange(ctx, type, n, x, ldx, {0, count, pivot, forward});
}
