/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "one_pass" of reduction by key: keys and elements are read once from memory.
 *
 * A warp takes a part of a tile of both, a lane neighbours of it. The lane marks the keys that
 * differ from the one before, and later walks through its elements, and puts down a result where
 * the next run begins. A run that began before a lane's elements is finished when the lanes know
 * what those before them leave open. Then results and keys are written side by side.
 *
 * Which run of all the part's first is, a block's ninth warp finds by look-back over the tiles'
 * counts of runs. A block counts a tile while it reduces the tile before, whose keys it has kept in
 * shared memory. So counts are there when somebody looks back, nobody waits for tiles that are
 * late, and every key is read once. No warp meets another at a barrier: the ninth tells the others
 * by words in shared memory what tile is next and where results go, and they tell it their counts.
 *
 * A run that goes on in the next tile is left open. What each tile leaves open, and what it has
 * before its first run, are kept; small kernels carry the former on from tile to tile, and write
 * the result of the run that ends at each tile's first. So no tile waits for more than counts, and
 * the same input gives the same bits.
 */
#include "group/group_runs.cuh"

/* Writes the result of the run that ends where the first of each tile begins; `tiles` counts the
 * end, too. */
template <class Reducer>
__global__ void __launch_bounds__(threads)
    close_runs(Reducer reducer, wi_run_scratch<typename Reducer::State> scratch, uint64_t tiles,
               typename Reducer::Result *y, const uint32_t *skip) {
    if (wi_is_skipped(skip))
        return;
    const uint64_t stride = (uint64_t)gridDim.x * threads;
    for (uint64_t k = (uint64_t)blockIdx.x * threads + threadIdx.x; k < tiles; k += stride) {
        const uint64_t base = scratch.bases[k];
        if (!(base & has_runs) || base == has_runs)
            continue;
        const auto before = wi_follow(reducer, scratch.groups[k / threads], scratch.opens[k]);
        y[base - has_runs - 1] = reducer.finish(reducer.combine(before.state, scratch.heads[k]));
    }
}

/* The reducer that combines and finishes states as another one does, the same for several: states
 * of integers do not tell their type. The kernels that see no elements are compiled for it. */
template <class T>
using like = typename wi_choose<wi_traits<T>::is_float, T, uint64_t>::type;

template <template <class> class Reducer, class T>
static Reducer<like<T>> closer_of(const Reducer<T> &) {
    return {};
}
template <class T>
static wi_sum_reducer<like<T>> closer_of(const wi_nrm1_reducer<T> &) {
    return {};
}
template <class T>
static wi_extreme_reducer<T> closer_of(const wi_extreme_reducer<T> &reducer) {
    return reducer;
}
template <class T>
static wi_position_reducer<wi_bits<T>> closer_of(const wi_position_reducer<T> &reducer) {
    return {{reducer.keys.flip}};
}

/* One that combines states alike: most sums of floats are of f64, whatever they are rounded to. */
template <class Reducer>
static Reducer carrier_of(const Reducer &closer) {
    return closer;
}
static wi_sum_reducer<double> carrier_of(const wi_sum_reducer<float> &) {
    return {};
}
static wi_sum_reducer<double> carrier_of(const wi_nrm2_reducer<float> &) {
    return {};
}
static wi_sum_reducer<double> carrier_of(const wi_nrm2_reducer<uint64_t> &) {
    return {};
}
static wi_product_reducer<double> carrier_of(const wi_product_reducer<float> &) {
    return {};
}

static const char lookback_key = 0, records_key = 0;

template <class State>
static weft_status take_scratch(weft_context *ctx, uint64_t tiles, wi_run_scratch<State> *s,
                                wi_lookback *l) {
    using Open = wi_open_segment<State>;
    const uint64_t all = tiles + 1, groups = wi_tiles_of(all, threads), even = all + all % 2;
    const size_t opens = (all + groups) * sizeof(Open), bases = even * sizeof(uint64_t);
    void *of_lookback, *records;
    weft_status status = wi_gpu_scratch(ctx, &lookback_key, wi_lookback_bytes(tiles), &of_lookback);
    if (status == WEFT_OK)
        status = wi_gpu_scratch(ctx, &records_key, opens + bases + all * sizeof(State), &records);
    if (status != WEFT_OK)
        return status;
    *l = wi_lookback_in(of_lookback, tiles);
    s->opens = (Open *)records;
    s->groups = s->opens + all;
    s->bases = (uint64_t *)(s->groups + groups);
    s->heads = (State *)(s->bases + even); /* at a multiple of 16 bytes, as the others */
    return WEFT_OK;
}

template <class Reducer, class T, bool wide_keys>
static weft_status reduce_tiles(weft_context *ctx, const wi_group_keys_args *a,
                                const Reducer &reducer,
                                const wi_run_scratch<typename Reducer::State> &scratch,
                                const wi_lookback &l, const uint32_t *skip) {
    const auto kernel = reduce_runs<Reducer, T, wide_keys>;
    const size_t bytes = warps * wi_run_layout<Reducer, T, wide_keys>::bytes((unsigned)a->width);
    size_t blocks;
    weft_status status = wi_grant_shared(ctx, "reduce_runs", kernel, bytes);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, kernel, block, bytes, &blocks);
    if (status != WEFT_OK)
        return status;
    const wi_run_params<Reducer, T> p = {(const T *)a->column[0].x,
                                         (typename Reducer::Result *)a->column[0].y,
                                         a->keys,
                                         a->keys_out,
                                         a->n,
                                         a->count,
                                         (unsigned)a->width,
                                         skip};
    return WEFT_LAUNCH((reduce_runs<Reducer, T, wide_keys>), ctx,
                       (unsigned)(blocks < l.tiles ? blocks : l.tiles), block, bytes, reducer, p,
                       scratch, l);
}

template <class Reducer, class T, bool wide_keys>
static weft_status launch_runs(weft_context *ctx, const wi_group_keys_args *a,
                               const Reducer &reducer, const uint32_t *skip) {
    using Closer = decltype(closer_of(reducer));
    const Closer closer = closer_of(reducer);
    const uint64_t tiles = wi_tiles_of(a->n, wi_run_layout<Reducer, T, wide_keys>::tile),
                   all = tiles + 1;
    const uint64_t groups = wi_tiles_of(all, threads);
    typename Reducer::Result *const y = (typename Reducer::Result *)a->column[0].y;
    wi_run_scratch<typename Reducer::State> s = {};
    wi_lookback l = {};
    weft_status status = take_scratch(ctx, tiles, &s, &l);
    if (status == WEFT_OK)
        status = reduce_tiles<Reducer, T, wide_keys>(ctx, a, reducer, s, l, skip);
    if (status == WEFT_OK)
        status =
            wi_carry_opens<threads>(ctx, carrier_of(closer), s.opens, all, threads, s.groups, skip);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(close_runs<Closer>, ctx, (unsigned)groups, threads, 0, closer, s, all,
                             y, skip);
    return status;
}

weft_status wi_group_keys_one_pass_unless(weft_context *ctx, const wi_group_keys_args *a,
                                          const uint32_t *skip) {
    return wi_with_one_column(a, [=](auto tag, auto reducer) {
        using Reducer = decltype(reducer);
        using T = typename decltype(tag)::type;
        return a->width == 8 ? launch_runs<Reducer, T, true>(ctx, a, reducer, skip)
                             : launch_runs<Reducer, T, false>(ctx, a, reducer, skip);
    });
}

weft_status wi_group_keys_one_pass(weft_context *ctx, const void *args) {
    return wi_group_keys_one_pass_unless(ctx, (const wi_group_keys_args *)args, NULL);
}
