/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "stretches": reductions of segments that are long on average, a stretch for each warp.
 */
#include <stdlib.h> /* TEMPORARY, for getenv */

#include "cuda/limit.cuh"
#include "group/group_stretches.cuh"

/* Blocks of a launch, at most; tests set it lower. */
WI_LIMIT(size_t, wi_stretch_blocks, SIZE_MAX)

static const char scratch_key = 0;
constexpr size_t ticket_bytes = 128;

/* TEMPORARY, to be measured: stretches of a warp that are a grid apart. */
static unsigned rounds_asked() {
    const char *const text = getenv("WEFT_GROUP_ROUNDS");
    return text ? (unsigned)atoi(text) : 1;
}

/* Blocks for a call, and scratch memory: a ticket, then a record for each round of each block. */
template <unsigned vectors, class Reducer, class T>
static weft_status take_scratch(weft_context *ctx, const wi_group_args *args, size_t *blocks,
                                void **scratch) {
    const size_t steps = args->n + args->segments * border<T>;
    const size_t useful = steps / (vectors * row<T> * warps) + 1;
    const weft_status status =
        wi_resident_blocks(ctx, walk_stretches<vectors, Reducer, T>, threads, 0, blocks);
    if (status != WEFT_OK)
        return status;
    *blocks = *blocks < wi_stretch_blocks ? *blocks : wi_stretch_blocks;
    *blocks = *blocks < useful ? *blocks : useful;
    return wi_gpu_scratch(ctx, &scratch_key,
                          ticket_bytes + *blocks * rounds_asked() *
                                             sizeof(wi_path_record<typename Reducer::State>),
                          scratch);
}

template <unsigned vectors, class Reducer, class T>
static weft_status launch_stretches(weft_context *ctx, const wi_group_args *args,
                                    const Reducer &reducer) {
    using Record = wi_path_record<typename Reducer::State>;
    size_t blocks;
    void *scratch;
    const weft_status status = take_scratch<vectors, Reducer, T>(ctx, args, &blocks, &scratch);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((walk_stretches<vectors, Reducer, T>), ctx, (unsigned)blocks, threads, 0,
                       reducer, (wi_group_typed<Reducer, T>(args)), rounds_asked(),
                       (unsigned *)scratch, (Record *)((char *)scratch + ticket_bytes));
}

weft_status wi_group_stretches_prepare(weft_context *ctx, const wi_group_args *args) {
    return wi_with_group_call(args, [=](auto tag, auto reducer) {
        size_t blocks;
        void *scratch;
        return take_scratch<4, decltype(reducer), typename decltype(tag)::type>(ctx, args, &blocks,
                                                                                &scratch);
    });
}

weft_status wi_group_stretches(weft_context *ctx, const void *arguments) {
    const wi_group_args *const args = (const wi_group_args *)arguments;
    return wi_with_group_call(args, [=](auto tag, auto reducer) {
        using T = typename decltype(tag)::type;
        using Reducer = decltype(reducer);
        /* TEMPORARY, to be measured: turns of eight vectors */
        if constexpr (sizeof(T) == 4 && wi_traits<T>::is_float) {
            if (getenv("WEFT_GROUP_VECTORS"))
                return launch_stretches<8, Reducer, T>(ctx, args, reducer);
        }
        return launch_stretches<4, Reducer, T>(ctx, args, reducer);
    });
}
