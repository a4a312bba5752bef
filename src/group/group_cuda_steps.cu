/* SPDX-License-Identifier: Apache-2.0 */
/* Teaching rungs of group: a thread, and a warp, for each segment. Both are as slow as the longest
 * segment, and on short ones most of a warp has nothing to do. */
#include "group/group_cuda.cuh"

constexpr int threads = 256;
constexpr size_t blocks_per_multiprocessor = 16;

/* A thread reads its segment from its first element to its last: neighbouring threads read far
 * apart. */
template <class Reducer, class T>
__global__ void thread_each_segment(Reducer reducer, wi_group_params<Reducer, T> p) {
    const uint64_t count = p.starts.count(), stride = (uint64_t)gridDim.x * threads;
    for (uint64_t s = (uint64_t)blockIdx.x * threads + threadIdx.x; s < count; s += stride) {
        typename Reducer::State state = reducer.identity();
        const uint64_t end = p.starts.of(s + 1, count);
        for (uint64_t i = p.starts.of(s, count); i < end; i++)
            state = reducer.take(state, p.x[i], p.x[i], i);
        p.y[s] = reducer.finish(state);
    }
}

/* The lanes of a warp read neighbours; segments much shorter than 32 leave most of them idle. */
template <class Reducer, class T>
__global__ void warp_each_segment(Reducer reducer, wi_group_params<Reducer, T> p) {
    using State = typename Reducer::State;
    const uint64_t count = p.starts.count(), stride = (uint64_t)gridDim.x * (threads / 32);
    for (uint64_t s = (uint64_t)blockIdx.x * (threads / 32) + threadIdx.x / 32; s < count;
         s += stride) {
        State state = reducer.identity();
        const uint64_t end = p.starts.of(s + 1, count);
        for (uint64_t i = p.starts.of(s, count) + (unsigned)wi_lane(); i < end; i += 32)
            state = reducer.take(state, p.x[i], p.x[i], i);
        state = wi_warp_reduce(state, [&](State a, State b) { return reducer.combine(a, b); });
        if (wi_lane() == 0)
            p.y[s] = reducer.finish(state);
    }
}

template <class Launch>
static weft_status with_taught_reducer(const wi_group_args *args, Launch launch) {
    return wi_with_step_type(args->type, [=](auto tag) {
        using Element = typename decltype(tag)::type;
        return wi_with_group_reducer<Element>(args->op, launch);
    });
}

/* Blocks for so many threads, but no more than fill the device. */
static unsigned blocks_for(const weft_context *ctx, size_t wanted) {
    const size_t fill = (size_t)ctx->gpu->multiprocessors * blocks_per_multiprocessor;
    const size_t needed = (wanted + threads - 1) / threads;
    return (unsigned)(needed < fill ? needed : fill);
}

weft_status wi_group_thread_each(weft_context *ctx, const void *arguments) {
    const wi_group_args *args = (const wi_group_args *)arguments;
    return with_taught_reducer(args, [=](auto tag, auto reducer) {
        using T = typename decltype(tag)::type;
        using Reducer = decltype(reducer);
        return WEFT_LAUNCH((thread_each_segment<Reducer, T>), ctx, blocks_for(ctx, args->segments),
                           threads, 0, reducer, (wi_group_typed<Reducer, T>(args)));
    });
}

weft_status wi_group_warp_each(weft_context *ctx, const void *arguments) {
    const wi_group_args *args = (const wi_group_args *)arguments;
    return with_taught_reducer(args, [=](auto tag, auto reducer) {
        using T = typename decltype(tag)::type;
        using Reducer = decltype(reducer);
        return WEFT_LAUNCH((warp_each_segment<Reducer, T>), ctx,
                           blocks_for(ctx, 32 * args->segments), threads, 0, reducer,
                           (wi_group_typed<Reducer, T>(args)));
    });
}
