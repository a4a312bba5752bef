/* SPDX-License-Identifier: Apache-2.0 */
/* reduce, the teaching rungs. All use two launches: up to 1024 blocks of 1024 threads make one
 * state each, then one block combines those. They differ in where a block's tree is. */
#include "cuda/warp.cuh"
#include "reduce/reduce_cuda.cuh"

constexpr unsigned threads = 1024;
constexpr unsigned max_blocks = 1024;

enum tree {
    TREE_GLOBAL,
    TREE_SHARED,
    TREE_SHUFFLE
};

/* Halves the number of states in `work` until work[0] is the combination of all. Called by every
 * thread of the block. */
template <class Reducer>
__device__ void halve(const Reducer &reducer, typename Reducer::State *work) {
    for (unsigned half = threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            work[threadIdx.x] = reducer.combine(work[threadIdx.x], work[threadIdx.x + half]);
    }
    __syncthreads();
}

/* The block's states combined; thread 0 gets the result. `work` is this block's part of global
 * scratch. */
template <tree where, class Reducer>
__device__ typename Reducer::State block_tree(const Reducer &reducer, typename Reducer::State s,
                                              typename Reducer::State *work) {
    using State = typename Reducer::State;
    if constexpr (where == TREE_GLOBAL) {
        work[threadIdx.x] = s;
        halve(reducer, work);
        return work[0];
    } else if constexpr (where == TREE_SHARED) {
        WEFT_SHARED(State, shared, [threads]);
        shared[threadIdx.x] = s;
        halve(reducer, shared);
        return shared[0];
    } else {
        WEFT_SHARED(State, of_warp, [32]);
        const auto combine = [&](State a, State b) { return reducer.combine(a, b); };
        s = wi_warp_reduce(s, combine);
        if (wi_lane() == 0)
            of_warp[threadIdx.x / 32] = s;
        __syncthreads();
        return wi_warp_reduce(of_warp[wi_lane()], combine);
    }
}

template <tree where, class Reducer, class T>
__global__ void of_blocks(Reducer reducer, wi_reduce_params<Reducer, T> p,
                          typename Reducer::State *partial, typename Reducer::State *work) {
    typename Reducer::State s = reducer.identity();
    const size_t stride = (size_t)gridDim.x * threads;
    for (size_t i = (size_t)blockIdx.x * threads + threadIdx.x; i < p.n; i += stride)
        s = reducer.take(s, p.x[i], p.y[i], p.first + i);
    s = block_tree<where>(reducer, s, work + (size_t)blockIdx.x * threads);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = s;
}

template <tree where, class Reducer, class T>
__global__ void of_all(Reducer reducer, wi_reduce_params<Reducer, T> p,
                       const typename Reducer::State *partial, unsigned blocks,
                       typename Reducer::State *work) {
    typename Reducer::State s = threadIdx.x < blocks ? partial[threadIdx.x] : reducer.identity();
    s = block_tree<where>(reducer, s, work);
    if (threadIdx.x == 0)
        wi_reduce_finish(reducer, p, s);
}

template <tree where, class T, class Reducer>
static weft_status launch(weft_context *ctx, const wi_reduce_args *args, const Reducer &reducer) {
    using State = typename Reducer::State;
    const size_t needed = (args->n + threads - 1) / threads;
    const unsigned blocks = needed < max_blocks ? (needed ? (unsigned)needed : 1) : max_blocks;
    const size_t work = where == TREE_GLOBAL ? (size_t)blocks * threads : 0;
    State *partial = nullptr;
    weft_status status = wi_gpu_alloc(ctx, (void **)&partial, (blocks + work) * sizeof(State));
    if (status != WEFT_OK)
        return status;
    const wi_reduce_params<Reducer, T> p = wi_reduce_typed<Reducer, T>(args);
    status = WEFT_LAUNCH((of_blocks<where, Reducer, T>), ctx, blocks, threads, 0, reducer, p,
                         partial, partial + blocks);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH((of_all<where, Reducer, T>), ctx, 1, threads, 0, reducer, p, partial,
                             blocks, partial + blocks);
    const weft_status freed = wi_gpu_free(ctx, partial);
    return status != WEFT_OK ? status : freed;
}

template <tree where>
static weft_status run(weft_context *ctx, const void *arguments) {
    const wi_reduce_args *args = (const wi_reduce_args *)arguments;
    return wi_with_step_type(args->type, [=](auto tag) {
        using Element = typename decltype(tag)::type;
        return wi_with_reducer<Element>(args->op, [=](auto taken_for, auto reducer) {
            using T = typename decltype(taken_for)::type;
            return launch<where, T>(ctx, args, reducer);
        });
    });
}

weft_status wi_reduce_tree_global(weft_context *ctx, const void *args) {
    return run<TREE_GLOBAL>(ctx, args);
}

weft_status wi_reduce_tree_shared(weft_context *ctx, const void *args) {
    return run<TREE_SHARED>(ctx, args);
}

weft_status wi_reduce_shuffle(weft_context *ctx, const void *args) {
    return run<TREE_SHUFFLE>(ctx, args);
}
