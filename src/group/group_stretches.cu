/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "stretches": reductions of segments that are long on average, a stretch for each warp.
 */
#include "cuda/limit.cuh"
#include "group/group_stretches.cuh"

/* Blocks of a launch, at most; tests set it lower. */
WI_LIMIT(size_t, wi_stretch_blocks, SIZE_MAX)

static const char scratch_key = 0;

/* Blocks for a call, and scratch memory: a ticket, then a record for each block. */
template <class Reducer, class T>
static weft_status take_scratch(weft_context *ctx, const wi_group_args *args, size_t *blocks,
                                void **scratch) {
    const size_t steps = args->n + args->segments * border<T>;
    const size_t useful = steps / (vectors_of<T> * row<T> * warps) + 1;
    const weft_status status =
        wi_resident_blocks(ctx, walk_stretches<Reducer, T>, threads, 0, blocks);
    if (status != WEFT_OK)
        return status;
    return wi_take_records<typename Reducer::State>(ctx, &scratch_key, wi_stretch_blocks, useful,
                                                    blocks, scratch);
}

template <class Reducer, class T>
static weft_status launch_stretches(weft_context *ctx, const wi_group_args *args,
                                    const Reducer &reducer) {
    using Record = wi_path_record<typename Reducer::State>;
    size_t blocks;
    void *scratch;
    const weft_status status = take_scratch<Reducer, T>(ctx, args, &blocks, &scratch);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((walk_stretches<Reducer, T>), ctx, (unsigned)blocks, threads, 0, reducer,
                       (wi_group_typed<Reducer, T>(args)), (unsigned *)scratch,
                       (Record *)((char *)scratch + wi_records_at));
}

weft_status wi_group_stretches_prepare(weft_context *ctx, const wi_group_args *args) {
    return wi_with_group_call(args, [=](auto tag, auto reducer) {
        size_t blocks;
        void *scratch;
        return take_scratch<decltype(reducer), typename decltype(tag)::type>(ctx, args, &blocks,
                                                                             &scratch);
    });
}

weft_status wi_group_stretches(weft_context *ctx, const void *arguments) {
    const wi_group_args *const args = (const wi_group_args *)arguments;
    return wi_with_group_call(args, [=](auto tag, auto reducer) {
        return launch_stretches<decltype(reducer), typename decltype(tag)::type>(ctx, args,
                                                                                 reducer);
    });
}
