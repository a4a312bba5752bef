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

/* The stretches of so many warps as one; writes the results that are whole. Called by one warp. */
template <int warps, class Reducer, class State>
__device__ void wi_join_records(const Reducer &reducer, const wi_path_record<State> *of_warp,
                                typename Reducer::Result *y, wi_path_record<State> *all) {
    using Open = wi_open_segment<State>;
    const unsigned lane = threadIdx.x % 32;
    wi_path_record<State> mine = {reducer.identity(), {reducer.identity(), 0}, 0};
    if (lane < warps)
        mine = of_warp[lane];
    const Open up_to = wi_warp_scan<warps>(
        mine.open, [&](const Open &a, const Open &b) { return wi_follow(reducer, a, b); });
    Open before = wi_shuffle_up(up_to, 1);
    if (lane == 0)
        before = {reducer.identity(), 0};
    const State head = reducer.combine(before.state, mine.head);
    if (mine.open.ended && before.ended)
        y[mine.segment] = reducer.finish(head);
    else if (mine.open.ended)
        all->head = head, all->segment = mine.segment;
    if (lane == warps - 1)
        all->open = up_to;
    __syncwarp();
}

/* Carries on what stretches leave open, and writes the results of their first ends. Called by a
 * whole block, of which each thread has some records that follow one another. */
template <int threads, class Reducer, class State>
__device__ void wi_close_records(const Reducer &reducer, const wi_path_record<State> *records,
                                 unsigned count, typename Reducer::Result *y,
                                 wi_open_segment<State> *of_warp) {
    using Open = wi_open_segment<State>;
    constexpr unsigned own = 3;
    Open carry = {reducer.identity(), 0};
    for (unsigned first = 0; first < count; first += threads * own) {
        wi_path_record<State> mine[own];
        Open sum = {reducer.identity(), 0}, all;
#pragma unroll
        for (unsigned i = 0; i < own; i++) {
            const unsigned k = first + threadIdx.x * own + i;
            mine[i].open = {reducer.identity(), 0};
            if (k < count)
                mine[i] = records[k];
        }
#pragma unroll
        for (unsigned i = 0; i < own; i++)
            sum = wi_follow(reducer, sum, mine[i].open);
        Open up_to =
            wi_follow(reducer, carry, wi_scan_open<threads / 32>(reducer, sum, of_warp, &all));
#pragma unroll
        for (unsigned i = 0; i < own; i++) {
            if (mine[i].open.ended)
                y[mine[i].segment] = reducer.finish(reducer.combine(up_to.state, mine[i].head));
            up_to = wi_follow(reducer, up_to, mine[i].open);
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
