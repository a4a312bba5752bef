/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "teams": reductions of few elements by segment, a team of lanes for each. */
#include "cuda/limit.cuh"
#include "group/group_teams.cuh"

/* Elements of a tile, for teams that are not a whole block; tests set it lower. */
WI_LIMIT(unsigned, wi_team_tile, 4096)

namespace {

const char words_key = 0, records_key = 0;

/* Memory for a call: words, and records of tiles. A call of one tile shares nothing out. */
template <class Reducer>
weft_status take_team_memory(weft_context *ctx, unsigned tiles, team_words *words,
                             wi_path_record<typename Reducer::State> **records) {
    void *memory[2] = {NULL, NULL};
    weft_status status = WEFT_OK;
    if (tiles > 0)
        status =
            wi_gpu_scratch(ctx, &words_key, wi_records_at + tiles * sizeof(unsigned), &memory[0]);
    if (tiles > 0 && status == WEFT_OK)
        status = wi_gpu_scratch(ctx, &records_key, tiles * sizeof **records, &memory[1]);
    *words = {(unsigned *)memory[0], NULL};
    if (memory[0])
        words->has_record = words->ticket + wi_records_at / sizeof(unsigned);
    *records = (wi_path_record<typename Reducer::State> *)memory[1];
    return status;
}

/* An eighth of the average length, of vectors a sixteenth, rounded up to a power of two; and tiles,
 * of which a block that is a team of its own takes four at once. */
team_shape shape_of(const wi_group_args *a) {
    constexpr size_t most_blocks = 1 << 20;
    const size_t mean = a->n / a->segments;
    team_shape s = {least_team, 0, 0, wi_team_tile};
    while (s.lanes < team_threads && s.lanes * (s.lanes < 32 ? team_loads : team_wide_loads) < mean)
        s.lanes *= 2;
    if (s.lanes == team_threads)
        s.tile *= 4;
    const size_t teams = team_threads / s.lanes, blocks = (a->segments + teams - 1) / teams;
    s.blocks = (unsigned)(blocks < most_blocks ? blocks : most_blocks);
    s.tiles = a->n > s.tile ? (unsigned)((a->n + s.tile - 1) / s.tile) : 0;
    return s;
}

} // namespace

weft_status wi_group_teams_prepare(weft_context *ctx, const wi_group_args *args) {
    return wi_with_group_call(args, [=](auto, auto reducer) {
        using Reducer = decltype(reducer);
        team_words words;
        wi_path_record<typename Reducer::State> *records;
        return wi_group_teams_fit(args->n)
                   ? take_team_memory<Reducer>(ctx, shape_of(args).tiles, &words, &records)
                   : WEFT_OK;
    });
}

weft_status wi_group_teams(weft_context *ctx, const void *arguments) {
    const wi_group_args *const args = (const wi_group_args *)arguments;
    const team_shape shape = shape_of(args);
    return wi_with_group_call(args, [=](auto tag, auto reducer) {
        using T = typename decltype(tag)::type;
        using Reducer = decltype(reducer);
        team_words words;
        wi_path_record<typename Reducer::State> *records;
        const weft_status status = take_team_memory<Reducer>(ctx, shape.tiles, &words, &records);
        if (status != WEFT_OK)
            return status;
        return WEFT_LAUNCH((reduce_teams<Reducer, T>), ctx, shape.blocks + shape.tiles,
                           team_threads, 0, reducer, (wi_group_typed<Reducer, T>(args)), shape,
                           words, records);
    });
}
