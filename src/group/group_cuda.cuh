/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA rungs of group share: a call's parameters with types, and scans of states that
 * begin anew where a segment ends. */
#ifndef WI_GROUP_CUDA_CUH
#define WI_GROUP_CUDA_CUH

#include "cuda/memory.cuh"
#include "cuda/warp.cuh"
#include "group/group.h"
#include "reduce/reduce_cuda.cuh"

/* Where segments begin, and how many there are. */
struct wi_group_starts {
    const void *at;
    size_t bytes, n, segments;
    const uint64_t *found;

    __device__ uint64_t count() const {
        return found ? *found : segments;
    }
    /* The start of segment s; of one past the last: n. */
    __device__ uint64_t of(uint64_t s, uint64_t count) const {
        if (s >= count)
            return n;
        return bytes == 4 ? ((const uint32_t *)at)[s] : ((const uint64_t *)at)[s];
    }
};

inline wi_group_starts wi_group_starts_of(const wi_group_args *a) {
    return {a->starts, a->start_bytes, a->n, a->segments, a->found};
}

/* The parts of wi_group_args that a kernel needs, with types. */
template <class Reducer, class T>
struct wi_group_params {
    const T *x;
    typename Reducer::Result *y;
    wi_group_starts starts;
};

template <class Reducer, class T>
wi_group_params<Reducer, T> wi_group_typed(const wi_group_args *a) {
    return {(const T *)a->x, (typename Reducer::Result *)a->y, wi_group_starts_of(a)};
}

template <class Reducer>
constexpr bool wi_is_dot = false;
template <class T>
constexpr bool wi_is_dot<wi_dot_reducer<T>> = true;

/* wi_with_reducer without dot, which has two inputs. */
template <class T, class F>
weft_status wi_with_group_reducer(wi_reduction op, F f) {
    return wi_with_reducer<T>(op, [=](auto tag, auto reducer) -> weft_status {
        if constexpr (wi_is_dot<decltype(reducer)>)
            return WEFT_EARG;
        else
            return f(tag, reducer);
    });
}

/* Calls f(type tag, reducer) for a call. */
template <class F>
weft_status wi_with_group_call(const wi_group_args *args, F f) {
    return wi_with_type(args->type, [=](auto tag) {
        using Element = typename decltype(tag)::type;
        return wi_with_group_reducer<Element>(args->op, f);
    });
}

/* The same for a call that the rungs for short segments are compiled for. */
template <class F>
weft_status wi_with_short_call(const wi_group_args *args, F f) {
    return wi_with_type(args->type, [=](auto tag) -> weft_status {
        using T = typename decltype(tag)::type;
        if constexpr (sizeof(T) < 4)
            return WEFT_EUNSUPPORTED; /* the ladder lets none through */
        else if (args->op == WI_RED_SUM)
            return f(tag, wi_sum_reducer<T>{});
        else
            return wi_with_order_reducer<T>(args->op, [=](auto own, auto reducer) -> weft_status {
                if constexpr (sizeof(typename decltype(reducer)::State) > 8)
                    return WEFT_EUNSUPPORTED;
                else
                    return f(own, reducer);
            });
    });
}

/* Takes the memory of such a rung ahead: take(type tag, reducer, &blocks, &scratch) does for a call
 * that it is compiled for. */
template <class Take>
weft_status wi_prepare_short_call(const wi_group_args *args, Take take) {
    const weft_status status = wi_with_short_call(args, [=](auto tag, auto reducer) {
        size_t blocks;
        void *scratch;
        return take(tag, reducer, &blocks, &scratch);
    });
    return status == WEFT_EUNSUPPORTED ? WEFT_OK : status; /* then it does not run */
}

/* Calls f with a tag of the keys' type, of at most 4 bytes or of any. */
template <class F>
__device__ inline void wi_with_narrow_key(unsigned width, F f) {
    if (width == 4)
        f(wi_tag<uint32_t>{});
    else if (width == 2)
        f(wi_tag<uint16_t>{});
    else
        f(wi_tag<uint8_t>{});
}
template <class F>
__device__ inline void wi_with_key(unsigned width, F f) {
    if (width == 8)
        f(wi_tag<uint64_t>{});
    else
        wi_with_narrow_key(width, f);
}

/* Calls f(type tag, reducer) for the one column of a reduction by key, of elements of 4 or 8 bytes.
 */
template <class F>
weft_status wi_with_one_column(const wi_group_keys_args *a, F f) {
    return wi_with_type(a->column[0].type, [=](auto tag) -> weft_status {
        using Element = typename decltype(tag)::type;
        if constexpr (sizeof(Element) < 4)
            return WEFT_EUNSUPPORTED; /* the ladder lets none through */
        else
            return wi_with_group_reducer<Element>(a->column[0].op, f);
    });
}

/* What is open after some part of the array: the state of the segment that it leaves open, and
 * whether a segment ends within it. */
template <class State>
struct alignas(16) wi_open_segment {
    State state;
    uint32_t ended;
};

/* b follows a. */
template <class Reducer, class State>
__device__ inline wi_open_segment<State> wi_follow(const Reducer &reducer,
                                                   const wi_open_segment<State> &a,
                                                   const wi_open_segment<State> &b) {
    if (b.ended)
        return b;
    return {reducer.combine(a.state, b.state), a.ended};
}

/* What the threads of a block before this one leave open, and in *all what the whole block does.
 * `shared` has an element for each warp. */
template <int warps, class Reducer, class State>
__device__ wi_open_segment<State> wi_scan_open(const Reducer &reducer, wi_open_segment<State> mine,
                                               wi_open_segment<State> *shared,
                                               wi_open_segment<State> *all) {
    using Open = wi_open_segment<State>;
    const int warp = (int)threadIdx.x / 32;
    const auto follow = [&](const Open &a, const Open &b) { return wi_follow(reducer, a, b); };
    const Open up_to = wi_warp_scan(mine, follow);
    Open before = wi_shuffle_up(up_to, 1);
    if (wi_lane() == 0)
        before = {reducer.identity(), 0};
    if (wi_lane() == 31)
        shared[warp] = up_to;
    __syncthreads();
    Open so_far = {reducer.identity(), 0}, of_warp = so_far;
#pragma unroll
    for (int w = 0; w < warps; w++) {
        if (w == warp)
            of_warp = so_far;
        so_far = follow(so_far, shared[w]);
    }
    *all = so_far;
    __syncthreads(); /* `shared` may be used again */
    return follow(of_warp, before);
}

/* Is a launch to do nothing? Other kernels have told, or nobody if `skip` is NULL. */
__device__ inline bool wi_is_skipped(const uint32_t *skip) {
    return skip && *skip;
}

/* Replaces opens[first ... first + n - 1] by what is open before each of them in its group, a block
 * for each group of `each`; the groups' own go to `groups`, unless that is NULL. One block goes
 * through all its groups in turn, and carries on from group to group. */
template <int threads, class Combiner, class State>
__global__ void __launch_bounds__(threads)
    group_carries(Combiner combiner, wi_open_segment<State> *opens, uint64_t n, unsigned each,
                  wi_open_segment<State> *groups, const uint32_t *skip) {
    using Open = wi_open_segment<State>;
    WEFT_SHARED(Open, of_warp, [threads / 32]);
    if (wi_is_skipped(skip))
        return;
    Open carry = {combiner.identity(), 0};
    const uint64_t stride = (uint64_t)gridDim.x * each;
    for (uint64_t first = (uint64_t)blockIdx.x * each; first < n; first += stride) {
        const uint64_t k = first + threadIdx.x;
        const bool is_mine = threadIdx.x < each && k < n;
        Open mine = {combiner.identity(), 0}, all;
        if (is_mine)
            mine = opens[k];
        const Open before = wi_scan_open<threads / 32>(combiner, mine, of_warp, &all);
        if (is_mine)
            opens[k] = groups ? before : wi_follow(combiner, carry, before);
        carry = wi_follow(combiner, carry, all);
        if (groups && threadIdx.x == 0)
            groups[first / each] = all;
    }
}

/* What is open before each of n tiles: first in its group of `each`, then before each group. */
template <int threads, class Combiner, class State>
weft_status wi_carry_opens(weft_context *ctx, const Combiner &combiner,
                           wi_open_segment<State> *opens, uint64_t n, unsigned each,
                           wi_open_segment<State> *groups, const uint32_t *skip = NULL) {
    const uint64_t count = (n + each - 1) / each;
    const weft_status status =
        WEFT_LAUNCH((group_carries<threads, Combiner, State>), ctx, (unsigned)count, threads, 0,
                    combiner, opens, n, each, groups, skip);
    return status == WEFT_OK ? WEFT_LAUNCH((group_carries<threads, Combiner, State>), ctx, 1u,
                                           threads, 0, combiner, groups, count, (unsigned)threads,
                                           (wi_open_segment<State> *)NULL, skip)
                             : status;
}

#endif
