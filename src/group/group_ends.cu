/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "ends" of reduction by key: two kernels that wait for nobody.
 *
 * Each warp has a stretch of the array. A first kernel reads the keys, and leaves a bit for each
 * element, set if its run ends there, how many do in each stretch, and their keys, side by side at
 * the stretch's place in memory of the call. Then it is known where a stretch's results go. A
 * second kernel reads elements and bits, reduces runs as "marks" does segments, and brings the keys
 * to their places. So beside keys, elements and results a bit of each element and twice a key of
 * each run are moved, and no tile looks back at others.
 *
 * Where runs are short that is more than "one_pass" moves. A sample tells; then "one_pass" does the
 * call. */
#include "cuda/limit.cuh"
#include "group/group_ends.cuh"

/* Blocks of a launch, at most; tests set it lower. */
WI_LIMIT(size_t, wi_end_blocks, SIZE_MAX)

static const char records_key = 0;

/* Memory of a call, in lines: bits, counts, the word `few`, and room for n keys. */
static weft_status take_memory(weft_context *ctx, const wi_group_keys_args *a, wi_end_cuts *cuts,
                               void **found) {
    const size_t bits = (a->n + 1023) / 1024 * 128,
                 counts = ((size_t)cuts->stretches + 31) / 32 * 128;
    char *memory;
    const weft_status status = wi_group_take(ctx, a->call, bits + counts + 128 + a->n * a->width,
                                             (void **)(void *)&memory);
    cuts->bits = (uint32_t *)memory;
    cuts->counts = (uint32_t *)(memory + bits);
    cuts->few = (uint32_t *)(memory + bits + counts);
    *found = memory + bits + counts + 128;
    return status;
}

template <class Key>
static weft_status launch_find(weft_context *ctx, const wi_end_cuts &cuts, const void *keys,
                               void *found) {
    return WEFT_LAUNCH(find_ends<Key>, ctx, cuts.stretches / warps, threads,
                       warps * sizeof(wi_end_ring<Key>), cuts, (const Key *)keys, (Key *)found);
}
static weft_status find(weft_context *ctx, const wi_end_cuts &cuts, const wi_group_keys_args *a,
                        void *found) {
    return a->width == 4 ? launch_find<uint32_t>(ctx, cuts, a->keys, found)
                         : launch_find<uint64_t>(ctx, cuts, a->keys, found);
}

template <class Reducer, class T>
static weft_status run(weft_context *ctx, const wi_group_keys_args *a, const Reducer &reducer) {
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
    if (status != WEFT_OK)
        return status;
    wi_end_cuts cuts = {a->n, Stage::part, (unsigned)blocks * warps, NULL, NULL, NULL};
    status = take_memory(ctx, a, &cuts, &found);
    if (status != WEFT_OK)
        return status;
    status = find(ctx, cuts, a, found);
    const wi_end_params<Reducer, T> p = {(const T *)a->column[0].x,
                                         (typename Reducer::Result *)a->column[0].y,
                                         found,
                                         a->keys_out,
                                         a->count,
                                         (unsigned)a->width};
    if (status == WEFT_OK)
        status = wi_group_keys_one_pass_unless(ctx, a, cuts.few);
    if (status == WEFT_OK)
        status =
            WEFT_LAUNCH((walk_ends<Reducer, T>), ctx, (unsigned)blocks, threads, bytes, reducer,
                        cuts, p, (unsigned *)scratch, (Record *)((char *)scratch + wi_records_at));
    const weft_status given = wi_group_give(ctx, cuts.bits);
    return status == WEFT_OK ? given : status;
}

weft_status wi_group_keys_ends(weft_context *ctx, const void *arguments) {
    const wi_group_keys_args *const a = (const wi_group_keys_args *)arguments;
    return wi_with_short_call(&a->column[0], [=](auto tag, auto reducer) {
        return run<decltype(reducer), typename decltype(tag)::type>(ctx, a, reducer);
    });
}
