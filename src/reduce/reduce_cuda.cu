/* SPDX-License-Identifier: Apache-2.0 */
/* reduce on a GPU in one pass: as many blocks as fit at once read 16-byte vectors; the last block
 * to end combines the blocks' states in a fixed order, so the same input gives the same bits. */
#include "cuda/ahead.cuh"
#include "cuda/memory.cuh"
#include "cuda/ticket.cuh"
#include "cuda/warp.cuh"
#include "reduce/reduce_cuda.cuh"

constexpr int threads = 512;
constexpr int warps = threads / 32;
constexpr int unroll = 4;

/* Scratch: a ticket that counts blocks and returns to 0, then one state for each block. */
constexpr size_t ticket_bytes = 128;

template <class Reducer>
struct is_dot {
    static constexpr bool value = false;
};
template <class T>
struct is_dot<wi_dot_reducer<T>> {
    static constexpr bool value = true;
};

template <class Reducer>
struct sums_narrow_integers {
    static constexpr bool value = false;
};
template <class T>
struct sums_narrow_integers<wi_sum_reducer<T>> {
    static constexpr bool value = !wi_traits<T>::is_float && sizeof(T) <= 2;
};

/* Adds the elements of one vector to the state; sums of narrow integers stay in 32 bits meanwhile.
 */
template <class Reducer, class T>
__device__ inline typename Reducer::State
take_vector(const Reducer &reducer, typename Reducer::State s, const wi_vector<T> &x,
            const wi_vector<T> &y, uint64_t index) {
    if constexpr (sums_narrow_integers<Reducer>::value) {
        int32_t sum = 0;
#pragma unroll
        for (int e = 0; e < wi_vector<T>::count; e++)
            sum += (int32_t)x.at[e];
        return s + (uint64_t)(int64_t)sum;
    } else {
#pragma unroll
        for (int e = 0; e < wi_vector<T>::count; e++)
            s = reducer.take(s, x.at[e], y.at[e], index + (uint64_t)e);
        return s;
    }
}

/* The state of this thread's share: vectors a whole grid apart, and for the first threads the
 * elements after the last whole vector. Vectors are counted from the first element, wherever it is
 * in memory, so the same numbers give the same bits at any address. */
template <bool two, class Reducer, class T>
__device__ typename Reducer::State share(const Reducer &reducer,
                                         const wi_reduce_params<Reducer, T> &p) {
    using Vector = wi_vector<T>;
    constexpr size_t width = Vector::count;
    const size_t vectors = p.n / width;
    const bool aligned_x = wi_is_aligned(p.x), aligned_y = wi_is_aligned(p.y);
    const size_t stride = (size_t)gridDim.x * threads;
    const size_t me = (size_t)blockIdx.x * threads + threadIdx.x;

    typename Reducer::State s = reducer.identity();
    size_t v = me;
    for (; v + (unroll - 1) * stride < vectors; v += unroll * stride) {
        Vector a[unroll], b[unroll];
#pragma unroll
        for (int k = 0; k < unroll; k++)
            a[k] = wi_load_vector(p.x + (v + k * stride) * width, aligned_x);
#pragma unroll
        for (int k = 0; k < unroll; k++)
            b[k] = two ? wi_load_vector(p.y + (v + k * stride) * width, aligned_y) : a[k];
#pragma unroll
        for (int k = 0; k < unroll; k++)
            s = take_vector(reducer, s, a[k], b[k], p.first + (v + k * stride) * width);
    }
    for (; v < vectors; v += stride) {
        const Vector a = wi_load_vector(p.x + v * width, aligned_x);
        s = take_vector(reducer, s, a, two ? wi_load_vector(p.y + v * width, aligned_y) : a,
                        p.first + v * width);
    }
    const size_t rest = vectors * width + me;
    if (me < width && rest < p.n)
        s = reducer.take(s, p.x[rest], p.y[rest], p.first + rest);
    return s;
}

/* The block's states combined; thread 0 gets the result. */
template <class Reducer>
__device__ typename Reducer::State block_reduce(const Reducer &reducer, typename Reducer::State s) {
    using State = typename Reducer::State;
    WEFT_SHARED(State, of_warp, [warps]);
    const auto combine = [&](State a, State b) { return reducer.combine(a, b); };
    s = wi_warp_reduce(s, combine);
    __syncthreads();
    if (wi_lane() == 0)
        of_warp[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 32) {
        s = wi_lane() < warps ? of_warp[wi_lane()] : reducer.identity();
        s = wi_warp_reduce(s, combine);
    }
    return s;
}

template <bool two, class Reducer, class T>
__global__ void __launch_bounds__(threads)
    one_pass(Reducer reducer, wi_reduce_params<Reducer, T> p, unsigned *ticket,
             typename Reducer::State *of_block) {
    using State = typename Reducer::State;
    wi_wait_for_earlier();
    State s = block_reduce(reducer, share<two>(reducer, p));
    if (gridDim.x > 1) {
        if (threadIdx.x == 0)
            of_block[blockIdx.x] = s;
        if (!wi_ends_last(ticket))
            return;
        s = reducer.identity();
        for (unsigned b = threadIdx.x; b < gridDim.x; b += threads)
            s = reducer.combine(s, of_block[b]);
        s = block_reduce(reducer, s);
    }
    if (threadIdx.x == 0)
        wi_reduce_finish(reducer, p, s);
}

template <class Reducer, class T>
static weft_status launch(weft_context *ctx, const wi_reduce_args *args, const Reducer &reducer) {
    constexpr bool two = is_dot<Reducer>::value;
    using State = typename Reducer::State;
    size_t blocks = (size_t)ctx->gpu->multiprocessors; /* one on each there always is */
    weft_status status = WEFT_OK;
    const size_t per_block = (size_t)threads * unroll * wi_vector<T>::count;
    const size_t useful = (args->n + per_block - 1) / per_block;
    if (useful > blocks)
        status = wi_resident_blocks(ctx, one_pass<two, Reducer, T>, threads, 0, &blocks);
    if (status != WEFT_OK)
        return status;
    if (blocks > useful)
        blocks = useful ? useful : 1;
    void *scratch;
    status =
        wi_gpu_scratch(ctx, &wi_reduce_ladder, ticket_bytes + blocks * sizeof(State), &scratch);
    if (status != WEFT_OK)
        return status;
    unsigned *const ticket = (unsigned *)scratch;
    State *const of_block = (State *)((char *)scratch + ticket_bytes);
    const auto p = wi_reduce_typed<Reducer, T>(args);
    if (blocks == 1) /* it takes less time than a launch: the usual launch takes the host less */
        return WEFT_LAUNCH((one_pass<two, Reducer, T>), ctx, 1u, threads, 0, reducer, p, ticket,
                           of_block);
    return WEFT_LAUNCH_AHEAD((one_pass<two, Reducer, T>), ctx, (unsigned)blocks, threads, 0,
                             reducer, p, ticket, of_block);
}

weft_status wi_reduce_one_pass(weft_context *ctx, const void *arguments) {
    const wi_reduce_args *args = (const wi_reduce_args *)arguments;
    return wi_with_type(args->type, [=](auto tag) {
        using Element = typename decltype(tag)::type;
        return wi_with_reducer<Element>(args->op, [=](auto taken_for, auto reducer) {
            using T = typename decltype(taken_for)::type;
            return launch<decltype(reducer), T>(ctx, args, reducer);
        });
    });
}
