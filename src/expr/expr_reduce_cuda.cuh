/* SPDX-License-Identifier: Apache-2.0 */
/* weft_expr_reduce on a GPU: expr's worker leaves a tile's values in registers, where each thread
 * takes its own into its state. As many blocks as fit at once go through all tiles; the last one to
 * end joins the blocks' states in a fixed order, so the same input gives the same bits. */
#ifndef WI_EXPR_REDUCE_CUDA_CUH
#define WI_EXPR_REDUCE_CUDA_CUH

#include "cuda/ticket.cuh"
#include "cuda/warp.cuh"
#include "expr/expr_cuda.cuh"
#include "expr/expr_reduce.h"

struct wi_expr_reduce_job {
    wi_expr_job expr;
    wi_expr_fold fold;
    uint64_t first; /* position of the first element in the whole */
    const wi_expr_state *state_in;
    void *result;
    bool raw;
    unsigned *ticket; /* counts blocks and returns to 0 */
    wi_expr_state *of_block;
};

/* Takes a tile's values into a thread's state: the operation is chosen once for all values, not for
 * each. */
template <class Lane, int groups, int run>
struct wi_expr_taker_of {
    static constexpr int count = groups * run;
    const wi_expr_worker<Lane, groups, run> &worker;
    const wi_expr_fold &fold;
    unsigned left; /* how many elements the tile has */

    /* Calls f(e, position in the tile) for each of the thread's values. */
    template <class F>
    __device__ void each(F f) const {
#pragma unroll
        for (int e = 0; e < count; e++) {
            const unsigned at = worker.run_of(e / run) * run + (unsigned)(e % run);
            if (at < left)
                f(e, at);
        }
    }

    template <class T>
    __device__ void take_floats(wi_expr_state &s) const {
        if constexpr (sizeof(T) <= sizeof(Lane)) {
            double x = wi_x_f64_of_bits(s.bits);
            if (fold.how == WI_FOLD_SUM_F64)
                each([&](int e, unsigned) { x += (double)wi_expr_value<T>(worker.acc[e]); });
            else
                each([&](int e, unsigned) { x *= (double)wi_expr_value<T>(worker.acc[e]); });
            s.bits = wi_x_bits_f64(x);
        }
    }

    /* A value of an integer type, with as many bits as a state has. */
    __device__ uint64_t integer(int e) const {
        return fold.type == WEFT_I32 ? (uint64_t)(int64_t)(int32_t)worker.acc[e]
                                     : (uint64_t)worker.acc[e];
    }
    __device__ void take_integers(wi_expr_state &s) const {
        uint64_t x = s.bits;
        switch (fold.how) {
        case WI_FOLD_SUM:
            each([&](int e, unsigned) { x += integer(e); });
            break;
        case WI_FOLD_PRODUCT:
            each([&](int e, unsigned) { x *= integer(e); });
            break;
        case WI_FOLD_AND:
            each([&](int e, unsigned) { x &= integer(e); });
            break;
        case WI_FOLD_OR:
            each([&](int e, unsigned) { x |= integer(e); });
            break;
        default:
            each([&](int e, unsigned) { x ^= integer(e); });
        }
        s.bits = x;
    }

    __device__ void take_keys(wi_expr_state &s, uint64_t first) const {
        each([&](int e, unsigned at) {
            const uint64_t key = wi_fold_key(&fold, worker.acc[e]);
            if (key < s.bits || (key == s.bits && first + at < s.at))
                s = {key, first + at};
        });
    }

    __device__ void take(wi_expr_state &s, uint64_t first) const {
        if (fold.how == WI_FOLD_LEAST)
            take_keys(s, first);
        else if (fold.type == WEFT_F32)
            take_floats<float>(s);
        else if (fold.type == WEFT_F64)
            take_floats<double>(s);
        else
            take_integers(s);
    }
};

/* The block's states joined; thread 0 gets the result. */
__device__ inline wi_expr_state wi_expr_join_block(const wi_expr_fold &fold, wi_expr_state s) {
    constexpr unsigned most_warps = wi_expr_threads / 32;
    WEFT_SHARED(wi_expr_state, of_warp, [most_warps]);
    s = wi_warp_reduce(s,
                       [&](wi_expr_state a, wi_expr_state b) { return wi_fold_join(&fold, a, b); });
    __syncthreads();
    if (wi_lane() == 0)
        of_warp[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0)
#pragma unroll 1
        for (unsigned w = 1; w < blockDim.x / 32; w++)
            s = wi_fold_join(&fold, s, of_warp[w]);
    return s;
}

/* Writes the call's result; one thread does this. */
__device__ inline void wi_expr_reduce_finish(const wi_expr_reduce_job &job, wi_expr_state s) {
    if (job.state_in)
        s = wi_fold_join(&job.fold, *job.state_in, s);
    const uint64_t bits = wi_fold_result(&job.fold, s);
    if (job.raw)
        *(wi_expr_state *)job.result = s;
    else if (job.fold.bytes == 4)
        *(uint32_t *)job.result = (uint32_t)bits;
    else
        *(uint64_t *)job.result = bits;
}

template <class Lane, int groups, int run>
__global__ void __launch_bounds__(wi_expr_threads)
    wi_expr_reduce_kernel(const __grid_constant__ wi_expr_reduce_job job) {
    WEFT_DYNAMIC_SHARED(shared);
    wi_expr_worker<Lane, groups, run> worker = {job.expr, shared, {}, 0};
    const size_t tile_n = (size_t)groups * run * blockDim.x;
    WEFT_SHARED(wi_expr_state, of_thread, [wi_expr_threads]); /* while values need the registers */
    wi_expr_state s = wi_fold_none(&job.fold);
    for (size_t tile = blockIdx.x; tile < job.expr.tiles; tile += gridDim.x) {
        const size_t first = tile * tile_n, left = job.expr.n - first;
        of_thread[threadIdx.x] = s;
        worker.compute((int64_t)first);
        s = of_thread[threadIdx.x];
        const wi_expr_taker_of<Lane, groups, run> taker = {
            worker, job.fold, (unsigned)(left < tile_n ? left : tile_n)};
        taker.take(s, job.first + first);
    }
    s = wi_expr_join_block(job.fold, s);
    if (gridDim.x > 1) {
        if (threadIdx.x == 0)
            job.of_block[blockIdx.x] = s;
        if (!wi_ends_last(job.ticket))
            return;
        s = wi_fold_none(&job.fold);
        for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x)
            s = wi_fold_join(&job.fold, s, job.of_block[b]);
        s = wi_expr_join_block(job.fold, s);
    }
    if (threadIdx.x == 0)
        wi_expr_reduce_finish(job, s);
}

template <class Lane, int groups, int run>
weft_status wi_expr_reduce_start(weft_context *ctx, const wi_expr_reduce_args *args) {
    constexpr size_t ticket_bytes = 128;
    wi_expr_reduce_job job = {};
    wi_expr_shape shape;
    size_t blocks;
    void *scratch;
    wi_expr_prepare<Lane, groups, run>(&args->expr, 0, &job.expr, &shape);
    job.fold = args->fold;
    job.first = args->first;
    job.state_in = args->state_in;
    job.result = args->result;
    job.raw = args->raw;
    const auto kernel = wi_expr_reduce_kernel<Lane, groups, run>;
    weft_status status = wi_grant_shared(ctx, "expr_reduce", kernel, shape.shared_bytes);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, kernel, (int)shape.threads, shape.shared_bytes, &blocks);
    if (status != WEFT_OK)
        return status;
    blocks = blocks < wi_expr_most_blocks ? blocks : wi_expr_most_blocks;
    blocks = blocks < job.expr.tiles ? blocks : job.expr.tiles > 0 ? job.expr.tiles : 1;
    status = wi_gpu_scratch(ctx, &wi_expr_reduce_ladder,
                            ticket_bytes + blocks * sizeof(wi_expr_state), &scratch);
    if (status != WEFT_OK)
        return status;
    job.ticket = (unsigned *)scratch;
    job.of_block = (wi_expr_state *)((char *)scratch + ticket_bytes);
    return WEFT_LAUNCH((wi_expr_reduce_kernel<Lane, groups, run>), ctx, (unsigned)blocks,
                       shape.threads, shape.shared_bytes, job);
}

#endif
