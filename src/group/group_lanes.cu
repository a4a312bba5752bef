/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "lanes": reductions of segments of an element or two, four of them for each lane. */
#include "cuda/limit.cuh"
#include "group/group_lanes.cuh"

/* Blocks of a launch, at most; tests set it lower. */
WI_LIMIT(size_t, wi_lane_blocks, SIZE_MAX)

static const char scratch_key = 0;

/* Blocks for a call, and scratch memory: a ticket, then a record for each block. */
template <class Reducer, class T>
static weft_status take_scratch(weft_context *ctx, const wi_group_args *args, size_t *blocks,
                                void **scratch) {
    const size_t useful =
        (args->n + args->segments * end_steps) / (at_once * end_steps * warps) + 1;
    const weft_status status =
        wi_resident_blocks(ctx, reduce_lanes<Reducer, T>, threads, 0, blocks);
    return status == WEFT_OK ? wi_take_records<typename Reducer::State>(
                                   ctx, &scratch_key, wi_lane_blocks, useful, blocks, scratch)
                             : status;
}

weft_status wi_group_lanes_prepare(weft_context *ctx, const wi_group_args *args) {
    return wi_prepare_short_call(args, [=](auto tag, auto reducer, size_t *blocks, void **scratch) {
        using T = typename decltype(tag)::type;
        return take_scratch<decltype(reducer), T>(ctx, args, blocks, scratch);
    });
}

weft_status wi_group_lanes(weft_context *ctx, const void *arguments) {
    const wi_group_args *const args = (const wi_group_args *)arguments;
    return wi_with_short_call(args, [=](auto tag, auto reducer) {
        using T = typename decltype(tag)::type;
        using Reducer = decltype(reducer);
        using Record = wi_path_record<typename Reducer::State>;
        size_t blocks;
        void *scratch;
        const weft_status status = take_scratch<Reducer, T>(ctx, args, &blocks, &scratch);
        if (status != WEFT_OK)
            return status;
        return WEFT_LAUNCH((reduce_lanes<Reducer, T>), ctx, (unsigned)blocks, threads, 0, reducer,
                           (wi_group_typed<Reducer, T>(args)), (unsigned *)scratch,
                           (Record *)((char *)scratch + wi_records_at));
    });
}
