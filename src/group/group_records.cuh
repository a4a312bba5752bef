/* SPDX-License-Identifier: Apache-2.0 */
/* What blocks that have stretches of the path leave to each other, for the rungs that reduce
 * segments. */
#ifndef WI_GROUP_RECORDS_CUH
#define WI_GROUP_RECORDS_CUH

#include "group/group_cuda.cuh"

/* What a stretch hands on: the state up to its first end, of a segment that may have begun before,
 * and which segment that is; and what it leaves open. */
template <class State>
struct wi_path_record {
    State head;
    wi_open_segment<State> open;
    uint64_t segment;
};

/* The stretches of so many warps as one; writes the results that are whole. Called by one thread.
 */
template <int warps, class Reducer, class State>
__device__ void wi_join_records(const Reducer &reducer, const wi_path_record<State> *of_warp,
                                typename Reducer::Result *y, wi_path_record<State> *all) {
    wi_path_record<State> sum = of_warp[0];
#pragma unroll 1
    for (int w = 1; w < warps; w++) {
        const wi_path_record<State> next = of_warp[w];
        if (next.open.ended && sum.open.ended) {
            y[next.segment] = reducer.finish(reducer.combine(sum.open.state, next.head));
        } else if (next.open.ended) {
            sum.head = reducer.combine(sum.open.state, next.head);
            sum.segment = next.segment;
        }
        sum.open = wi_follow(reducer, sum.open, next.open);
    }
    *all = sum;
}

/* Carries on what stretches leave open, and writes the results of their first ends. Called by a
 * whole block. */
template <int threads, class Reducer, class State>
__device__ void wi_close_records(const Reducer &reducer, const wi_path_record<State> *records,
                                 unsigned count, typename Reducer::Result *y,
                                 wi_open_segment<State> *of_warp) {
    using Open = wi_open_segment<State>;
    Open carry = {reducer.identity(), 0};
    for (unsigned first = 0; first < count; first += threads) {
        const unsigned k = first + threadIdx.x;
        Open mine = {reducer.identity(), 0}, all;
        if (k < count)
            mine = records[k].open;
        const Open before = wi_scan_open<threads / 32>(reducer, mine, of_warp, &all);
        if (mine.ended) {
            const Open up_to = wi_follow(reducer, carry, before);
            y[records[k].segment] = reducer.finish(reducer.combine(up_to.state, records[k].head));
        }
        carry = wi_follow(reducer, carry, all);
    }
}

/* For a launch of at most as many blocks as the device holds, and as `most` and `useful` say:
 * scratch memory under that key, a ticket of so many bytes and then a record for each block. */
constexpr size_t wi_records_at = 128;
template <class State>
weft_status wi_take_records(weft_context *ctx, const void *key, size_t most, size_t useful,
                            size_t *blocks, void **scratch) {
    *blocks = *blocks < most ? *blocks : most;
    *blocks = *blocks < useful ? *blocks : useful;
    return wi_gpu_scratch(ctx, key, wi_records_at + *blocks * sizeof(wi_path_record<State>),
                          scratch);
}

#endif
