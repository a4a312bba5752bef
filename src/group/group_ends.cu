/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "ends" of reduction by key: two kernels that wait for nobody.
 *
 * Each warp has a stretch of the array. A first kernel reads the keys, and leaves a bit for each
 * element, set if its run ends there, how many do in each stretch, and their keys, side by side at
 * the stretch's place in scratch memory. Then everybody knows where a stretch's results go. A second
 * one reads elements and bits, reduces runs as "marks" does segments, and brings the keys to their
 * places. So beside keys, elements and results a bit of each element and twice a key of each run
 * are moved, and no tile looks back at others. */
#include "cuda/limit.cuh"
#include "group/group_ends.cuh"

/* Blocks of a launch, at most; tests set it lower. */
WI_LIMIT(size_t, wi_end_blocks, SIZE_MAX)

static const char records_key = 0, cuts_key = 0;

/* Scratch memory of a call: bits, counts, and room for n keys. */
static weft_status take_cuts(weft_context *ctx, const wi_group_keys_args *a, wi_end_cuts *cuts,
                             void **found) {
    const size_t bits = ((size_t)a->n + 511) / 512 * 64, counts = (cuts->stretches + 15) / 16 * 64;
    void *memory;
    const weft_status status =
        wi_gpu_scratch(ctx, &cuts_key, bits + counts + a->n * a->width, &memory);
    if (status != WEFT_OK)
        return status;
    cuts->bits = (uint32_t *)memory;
    cuts->counts = (uint32_t *)((char *)memory + bits);
    *found = (char *)memory + bits + counts;
    return WEFT_OK;
}

template <class Key>
static weft_status launch_find(weft_context *ctx, const wi_end_cuts &cuts, const void *keys,
                               void *found) {
    return WEFT_LAUNCH(find_ends<Key>, ctx, cuts.stretches / warps, threads, 0, cuts,
                       (const Key *)keys, (Key *)found);
}
static weft_status find(weft_context *ctx, const wi_end_cuts &cuts, const wi_group_keys_args *a,
                        void *found) {
    switch (a->width) {
    case 1:
        return launch_find<uint8_t>(ctx, cuts, a->keys, found);
    case 2:
        return launch_find<uint16_t>(ctx, cuts, a->keys, found);
    case 4:
        return launch_find<uint32_t>(ctx, cuts, a->keys, found);
    default:
        return launch_find<uint64_t>(ctx, cuts, a->keys, found);
    }
}

template <class Reducer, class T>
static weft_status reduce(weft_context *ctx, const wi_group_keys_args *a, const Reducer &reducer) {
    using State = typename Reducer::State;
    using Stage = wi_end_stage<T, State>;
    using Record = wi_path_record<State>;
    const auto kernel = walk_ends<Reducer, T>;
    const size_t bytes = warps * sizeof(Stage);
    size_t blocks;
    void *scratch, *found;
    weft_status status = wi_grant_shared(ctx, "walk_ends", kernel, bytes);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, kernel, threads, bytes, &blocks);
    if (status == WEFT_OK)
        status = wi_take_records<State>(ctx, &records_key, wi_end_blocks,
                                        a->n / (Stage::part * warps) + 1, &blocks, &scratch);
    wi_end_cuts cuts = {a->n, Stage::part, (unsigned)blocks * warps, NULL, NULL};
    if (status == WEFT_OK)
        status = take_cuts(ctx, a, &cuts, &found);
    if (status == WEFT_OK)
        status = find(ctx, cuts, a, found);
    if (status != WEFT_OK)
        return status;
    const wi_end_params<Reducer, T> p = {(const T *)a->column[0].x,
                                         (typename Reducer::Result *)a->column[0].y,
                                         found,
                                         a->keys_out,
                                         a->count,
                                         (unsigned)a->width};
    return WEFT_LAUNCH((walk_ends<Reducer, T>), ctx, (unsigned)blocks, threads, bytes, reducer,
                       cuts, p, (unsigned *)scratch,
                       (Record *)((char *)scratch + wi_records_at));
}

weft_status wi_group_keys_ends(weft_context *ctx, const void *arguments) {
    const wi_group_keys_args *const a = (const wi_group_keys_args *)arguments;
    return wi_with_type(a->column[0].type, [=](auto tag) -> weft_status {
        using T = typename decltype(tag)::type;
        if constexpr (sizeof(T) < 4)
            return WEFT_EUNSUPPORTED; /* the ladder lets none through */
        else if (a->column[0].op == WI_RED_SUM)
            return reduce<wi_sum_reducer<T>, T>(ctx, a, wi_sum_reducer<T>{});
        else
            return wi_with_order_reducer<T>(a->column[0].op, [=](auto, auto reducer) {
                using Reducer = decltype(reducer);
                if constexpr (sizeof(typename Reducer::State) > 8)
                    return WEFT_EUNSUPPORTED;
                else
                    return reduce<Reducer, T>(ctx, a, reducer);
            });
    });
}
