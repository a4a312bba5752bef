/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "marks": reductions of segments of any lengths, neighbours for each lane. */
#include "cuda/limit.cuh"
#include "group/group_marks.cuh"

/* Blocks of a launch, at most; tests set it lower. */
WI_LIMIT(size_t, wi_mark_blocks, SIZE_MAX)

static const char scratch_key = 0;

template <class Reducer, class T>
constexpr size_t stage_bytes = warps * sizeof(wi_mark_stage<T, typename Reducer::State>);

/* Blocks for a call, and scratch memory: a ticket, then a record for each block. */
template <class Reducer, class T>
static weft_status take_scratch(weft_context *ctx, const wi_group_args *args, size_t *blocks,
                                void **scratch) {
    const auto kernel = walk_marks<Reducer, T>;
    const size_t steps = args->n + args->segments * end_steps<T>;
    const size_t useful = steps / (wi_mark_stage<T, typename Reducer::State>::part * warps) + 1;
    weft_status status = wi_grant_shared(ctx, "walk_marks", kernel, stage_bytes<Reducer, T>);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, kernel, threads, stage_bytes<Reducer, T>, blocks);
    if (status != WEFT_OK)
        return status;
    return wi_take_records<typename Reducer::State>(ctx, &scratch_key, wi_mark_blocks, useful,
                                                    blocks, scratch);
}

template <class Reducer, class T>
static weft_status launch_marks(weft_context *ctx, const wi_group_args *args,
                                const Reducer &reducer) {
    using Record = wi_path_record<typename Reducer::State>;
    size_t blocks;
    void *scratch;
    const weft_status status = take_scratch<Reducer, T>(ctx, args, &blocks, &scratch);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((walk_marks<Reducer, T>), ctx, (unsigned)blocks, threads,
                       (stage_bytes<Reducer, T>), reducer, (wi_group_typed<Reducer, T>(args)),
                       (unsigned *)scratch, (Record *)((char *)scratch + wi_records_at));
}

weft_status wi_group_marks_prepare(weft_context *ctx, const wi_group_args *args) {
    return wi_prepare_short_call(args, [=](auto tag, auto reducer, size_t *blocks, void **scratch) {
        using T = typename decltype(tag)::type;
        return take_scratch<decltype(reducer), T>(ctx, args, blocks, scratch);
    });
}

weft_status wi_group_marks(weft_context *ctx, const void *arguments) {
    const wi_group_args *const args = (const wi_group_args *)arguments;
    return wi_with_short_call(args, [=](auto tag, auto reducer) {
        return launch_marks<decltype(reducer), typename decltype(tag)::type>(ctx, args, reducer);
    });
}
