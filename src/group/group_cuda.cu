/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "paths": reductions of segments of any lengths, with the same work for every block. */
#include "cuda/limit.cuh"
#include "group/group_paths.cuh"

/* Blocks of a launch, at most; tests set it lower. */
WI_LIMIT(size_t, wi_path_blocks, SIZE_MAX)

/* Steps of a tile: any mixture of elements and offsets fits it. */
template <class T>
static unsigned tile_steps(size_t start_bytes) {
    return wi_path_tile_bytes / (unsigned)(sizeof(T) > start_bytes ? sizeof(T) : start_bytes);
}

static const char ticket_key = 0, records_key = 0;

/* Tiles of a call, at most. */
template <class T>
static uint64_t most_tiles(const wi_group_args *args) {
    const unsigned tile = tile_steps<T>(args->start_bytes);
    return (args->n + args->segments + tile - 1) / tile;
}

/* Blocks for a call, and scratch memory. */
template <class Reducer, class T>
static weft_status take_scratch(weft_context *ctx, uint64_t tiles, size_t *blocks,
                                wi_path_scratch<typename Reducer::State> *s) {
    const uint64_t ends = (tiles + 2) / 2 * 2; /* records lie at a multiple of 16 bytes */
    void *ticket, *records;
    weft_status status = wi_resident_blocks(ctx, walk_paths<Reducer, T>, threads, 0, blocks);
    if (status == WEFT_OK)
        status = wi_gpu_scratch(ctx, &ticket_key, sizeof *s->ticket, &ticket);
    if (status != WEFT_OK)
        return status;
    *blocks = *blocks < wi_path_blocks ? *blocks : wi_path_blocks;
    *blocks = *blocks < tiles ? *blocks : (size_t)tiles;
    status = wi_gpu_scratch(ctx, &records_key, ends * sizeof *s->ends + *blocks * sizeof *s->blocks,
                            &records);
    if (status != WEFT_OK)
        return status;
    s->ticket = (unsigned *)ticket;
    s->ends = (uint64_t *)records;
    s->blocks = (wi_path_record<typename Reducer::State> *)(s->ends + ends);
    return WEFT_OK;
}

template <class Reducer, class T>
static weft_status launch_paths(weft_context *ctx, const wi_group_args *args,
                                const Reducer &reducer) {
    const unsigned tile = tile_steps<T>(args->start_bytes);
    const uint64_t tiles = most_tiles<T>(args);
    wi_path_scratch<typename Reducer::State> scratch;
    size_t blocks;
    weft_status status = take_scratch<Reducer, T>(ctx, tiles, &blocks, &scratch);
    if (status != WEFT_OK)
        return status;
    const uint64_t searches = tiles / threads + 1, most = (uint64_t)ctx->gpu->multiprocessors * 8;
    status = WEFT_LAUNCH(find_ends, ctx, (unsigned)(searches < most ? searches : most), threads, 0,
                         wi_group_starts_of(args), tile, scratch.ends);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((walk_paths<Reducer, T>), ctx, (unsigned)blocks, threads, 0, reducer,
                       (wi_group_typed<Reducer, T>(args)), tile, scratch);
}

weft_status wi_group_paths_prepare(weft_context *ctx, const wi_group_args *args) {
    return wi_with_group_call(args, [=](auto tag, auto reducer) {
        using T = typename decltype(tag)::type;
        using Reducer = decltype(reducer);
        wi_path_scratch<typename Reducer::State> scratch;
        size_t blocks;
        return take_scratch<Reducer, T>(ctx, most_tiles<T>(args), &blocks, &scratch);
    });
}

weft_status wi_group_paths(weft_context *ctx, const void *arguments) {
    const wi_group_args *args = (const wi_group_args *)arguments;
    return wi_with_group_call(args, [=](auto tag, auto reducer) {
        using T = typename decltype(tag)::type;
        return launch_paths<decltype(reducer), T>(ctx, args, reducer);
    });
}
