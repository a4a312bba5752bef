/* SPDX-License-Identifier: Apache-2.0 */
/* select in one pass: each block marks a tile and holds it in registers, finds by look-back how
 * many elements are kept before it, and writes. For any alignment, any device and every job.
 *
 * In place: tile t writes only before its own end, so only to places of tiles up to t, and only
 * when it knows its carry, which needs the counts of all tiles before it. A tile publishes its
 * count only when all of its elements are in registers. */
#include "select/select_runs.cuh"

/* How many elements are kept before this warp's part, from the parts' counts. */
__device__ uint64_t kept_before(const wi_lookback &l, uint64_t epoch, uint64_t tile, uint64_t *all,
                                unsigned of_part) {
    WEFT_SHARED(uint64_t, shared, [warps]);
    const int warp = (int)threadIdx.x / 32;
    if (wi_lane() == 0)
        shared[warp] = of_part;
    __syncthreads();
    if (warp == 0) {
        const uint64_t own = wi_lane() < warps ? shared[wi_lane()] : 0;
        const uint64_t so_far = wi_warp_scan(own, wi_add_counts::combine<uint64_t>);
        const uint64_t total = wi_shuffle(so_far, warps - 1);
        if (wi_lane() == 0)
            wi_publish_total(l, epoch, tile, total);
        uint64_t after;
        const uint64_t carry =
            wi_find_carry<wi_add_counts>(l, epoch, tile, (uint64_t)0, total, &after);
        if (wi_lane() < warps)
            shared[wi_lane()] = carry + so_far - own;
        if (wi_lane() == 0 && tile == l.tiles - 1 && all)
            *all = after;
    } else if (warp == 1 && wi_ends_group(tile)) {
        wi_publish_group<wi_add_counts, uint64_t>(l, epoch, tile);
    }
    __syncthreads();
    return shared[warp];
}

/* Elements that are copied from memory to memory when their ranks are known: those of several
 * units, or to be expanded. Calls f(i, wanted, rank) for this lane's element of every row. */
template <int rows, class F>
__device__ void each_element(const wi_select_params &p, const unsigned *marks, uint64_t first,
                             F f) {
    unsigned before = 0;
    for (int row = 0; row < rows; row++) {
        const uint64_t i = first + (unsigned)(32 * row + wi_lane());
        if (i < p.n)
            f(i, (bool)(marks[row] >> wi_lane() & 1),
              before + __popc(marks[row] & ((1u << wi_lane()) - 1)));
        before += __popc(marks[row]);
    }
}

template <class P>
__device__ void move_units(const wi_select_params &p, const unsigned *marks, uint64_t first,
                           uint64_t base) {
    P *rest = (P *)p.rest;
    if (p.rest_follows)
        rest = (P *)p.kept + *p.total * p.units;
    each_element<rows_of<P>>(p, marks, first, [&](uint64_t i, bool wanted, unsigned rank) {
        P *const to =
            wanted ? (P *)p.kept + (base + rank) * p.units : rest + (i - base - rank) * p.units;
        if (wanted || rest)
            for (uint64_t u = 0; u < p.units; u++)
                to[u] = ((const P *)p.x)[i * p.units + u];
    });
}

template <class P>
__device__ void expand(const wi_select_params &p, const unsigned *marks, uint64_t first,
                       uint64_t base) {
    const P *const fill = (const P *)(p.fill ? p.fill : p.fill_bytes);
    each_element<rows_of<P>>(p, marks, first, [&](uint64_t i, bool wanted, unsigned rank) {
        const bool given = wanted && base + rank < p.packed;
        const P *const from = given ? (const P *)p.x + (base + rank) * p.units : fill;
        P *const to = (P *)p.kept + i * p.units;
        if (given || p.has_fill)
            for (uint64_t u = 0; u < p.units; u++)
                to[u] = from[u];
    });
}

/* Elements of one unit, or none. */
template <class P, wi_select_output output>
__global__ void __launch_bounds__(threads, 4) lookback(wi_select_params p, wi_lookback l) {
    const place here = take_place<P>(l);
    wi_select_column<P, rows_of<P>, output> column;
    const unsigned count = mark<P>(p, here.first, column.marks);
    const uint64_t first = here.first + (unsigned)wi_lane();
    column.left = wi_left(p, first, 32 * rows_of<P>);
    const P *const at = (const P *)p.x + first;
#pragma unroll
    for (int row = 0; row < rows_of<P>; row++)
        if (p.x && column.holds(row))
            column.item[row] = at[32 * row];
    const uint64_t base = kept_before(l, here.epoch, here.tile, p.count, count);
    column.write(p, here.first, base);
    if (threadIdx.x == 0)
        wi_lookback_leave(l, gridDim.x);
}

template <class P, bool expands>
__global__ void __launch_bounds__(threads) lookback_units(wi_select_params p, wi_lookback l) {
    const place here = take_place<P>(l);
    unsigned marks[rows_of<P>];
    const unsigned count = mark<P>(p, here.first, marks);
    const uint64_t base = kept_before(l, here.epoch, here.tile, p.count, count);
    if (expands)
        expand<P>(p, marks, here.first, base);
    else
        move_units<P>(p, marks, here.first, base);
    if (threadIdx.x == 0)
        wi_lookback_leave(l, gridDim.x);
}

/* ---- run lengths ---- */

template <class P>
__global__ void __launch_bounds__(threads, 3) run_lengths(wi_select_params p, wi_lookback l) {
    const place here = take_place<P>(l);
    wi_select_column<P, rows_of<P>, WI_OUTPUT_KEPT> column;
    const unsigned count = mark<P>(p, here.first, column.marks);
    const P *const at = (const P *)p.x + here.first + (unsigned)wi_lane();
#pragma unroll
    for (int row = 0; row < rows_of<P>; row++)
        if (column.holds(row))
            column.item[row] = at[32 * row];
    unsigned next;
    const uint64_t base =
        runs_before(p, l, here, here.tile * tile_elements<P>, runs_in(column.marks, count), &next);
    column.write(p, here.first, base);
    if (p.position_bytes == 4)
        write_lengths((uint32_t *)p.positions + base, column.marks, count, next);
    else
        write_lengths((uint64_t *)p.positions + base, column.marks, count, next);
    if (threadIdx.x == 0)
        wi_lookback_leave(l, gridDim.x);
}

/* ---- a partition with the rest behind, of a few tiles ---- */

/* How often a block looks for the counts of tiles that may not have begun. */
WI_LIMIT(unsigned, wi_partition_looks, 100)

/* Tiles whose blocks gave up looking, for the block that leaves last. */
struct left_tiles {
    unsigned count, tile[1];
};
static const char left_key = 0;

/* How many elements are kept before this warp's part, and of all. */
struct kept_sums {
    uint64_t before, all;
};

/* Publishes the tile's count and adds up those of all tiles; false, in the whole block, if some
 * have not been published after so many looks. Blocks do not wait longer for each other, as nobody
 * promises that all run at the same time. */
__device__ bool sum_all_tiles(const wi_lookback &l, uint64_t epoch, uint64_t tile, unsigned of_part,
                              kept_sums *sums) {
    WEFT_SHARED(unsigned, of_parts, [warps]);
    WEFT_SHARED(unsigned, befores, [warps]);
    WEFT_SHARED(unsigned, alls, [warps]);
    const int warp = (int)threadIdx.x / 32, lane = wi_lane();
    if (lane == 0)
        of_parts[warp] = of_part;
    __syncthreads();
    const unsigned own = lane < warps ? of_parts[lane] : 0;
    if (warp == 0) {
        const uint64_t total = wi_warp_sum(own);
        if (lane == 0)
            wi_publish_total(l, epoch, tile, total);
    }
    unsigned before = 0, all = 0, looks = wi_partition_looks;
    for (uint64_t k = threadIdx.x; k < l.tiles && looks > 0; k += threads) {
        wi_posted<uint64_t> posted = wi_read_posted<uint64_t>(l.totals, k);
        while (!posted.is_in(epoch) && --looks > 0) {
            wi_spin();
            posted = wi_read_posted<uint64_t>(l.totals, k);
        }
        all += (unsigned)posted.carry();
        before += k < tile ? (unsigned)posted.carry() : 0;
    }
    before = wi_warp_sum(before);
    all = wi_warp_sum(all);
    if (lane == 0) {
        befores[warp] = before;
        alls[warp] = all;
    }
    if (!__syncthreads_and(looks > 0))
        return false;
    sums->before =
        wi_warp_sum(lane < warps ? befores[lane] : 0) + wi_warp_sum(lane < warp ? own : 0);
    sums->all = wi_warp_sum(lane < warps ? alls[lane] : 0);
    return true;
}

/* Counts a tile and, if the counts of all are known, puts its elements where they belong. */
template <class P>
__device__ bool put_tile(wi_select_params p, const wi_lookback &l, uint64_t epoch, uint64_t tile) {
    const uint64_t part =
        tile * tile_elements<P> + (uint64_t)(threadIdx.x / 32) * (32 * rows_of<P>);
    wi_select_column<P, rows_of<P>, WI_OUTPUT_REST> column;
    const unsigned count = mark<P>(p, part, column.marks);
    const uint64_t first = part + (unsigned)wi_lane();
    column.left = wi_left(p, first, 32 * rows_of<P>);
    const P *const at = (const P *)p.x + first;
#pragma unroll
    for (int row = 0; row < rows_of<P>; row++)
        if (column.holds(row))
            column.item[row] = at[32 * row];
    kept_sums kept;
    if (!sum_all_tiles(l, epoch, tile, count, &kept))
        return false;
    p.rest = (P *)p.kept + kept.all;
    column.write(p, part, kept.before);
    if (tile == l.tiles - 1 && threadIdx.x == 0)
        *p.count = kept.all;
    return true;
}

/* In one launch: every block waits until all have counted, and then knows both the place of its
 * first kept element and that of the first of the rest. */
template <class P>
__global__ void __launch_bounds__(threads, 4)
    partition_behind(wi_select_params p, wi_lookback l, left_tiles *left) {
    WEFT_SHARED(bool, is_last, );
    const uint64_t epoch = wi_lookback_epoch(l);
    const bool done = put_tile<P>(p, l, epoch, blockIdx.x);
    if (threadIdx.x == 0) {
        if (!done)
            left->tile[atomicAdd(&left->count, 1u)] = blockIdx.x;
        is_last = wi_lookback_leave(l, gridDim.x);
    }
    __syncthreads();
    if (!is_last)
        return;
    for (unsigned k = 0; k < left->count; k++) {
        __syncthreads(); /* shared memory is used anew */
        put_tile<P>(p, l, epoch, left->tile[k]);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        left->count = 0;
}

/* May a partition take one launch? If the device can hold all of its tiles; then *blocks is their
 * number. */
template <class P>
static weft_status count_behind(weft_context *ctx, const wi_select_args *args, unsigned *blocks) {
    size_t resident = 0;
    *blocks = 0;
    if (!args->rest_follows || args->rest || args->units > 1 || args->n == 0)
        return WEFT_OK;
    const uint64_t tiles = wi_tiles_of(args->n, tile_elements<P>);
    const weft_status status = wi_resident_blocks(ctx, partition_behind<P>, threads, 0, &resident);
    if (tiles <= resident)
        *blocks = (unsigned)tiles;
    return status;
}

template <class P>
static weft_status queue_behind(weft_context *ctx, const wi_select_args *args, unsigned tiles) {
    wi_select_args uncounted = *args;
    uncounted.rest_follows = false; /* the kernel itself tells where the rest goes */
    wi_select_params p;
    void *scratch, *left;
    weft_status status =
        wi_select_begin(ctx, &uncounted, wi_lookback_bytes(tiles), 0, &p, &scratch);
    if (status == WEFT_OK)
        status =
            wi_gpu_scratch(ctx, &left_key, sizeof(left_tiles) + tiles * sizeof(unsigned), &left);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH(partition_behind<P>, ctx, tiles, threads, 0, p,
                       wi_select_lookback_in(args, p, scratch, tiles), (left_tiles *)left);
}

/* ---- the call ---- */

template <class P>
static weft_status launch(weft_context *ctx, const wi_select_args *args, wi_select_params p,
                          wi_lookback l) {
    const unsigned blocks = (unsigned)l.tiles;
    if (args->job == WI_SELECT_EXPAND)
        return WEFT_LAUNCH((lookback_units<P, true>), ctx, blocks, threads, 0, p, l);
    if (args->moves && args->units > 1)
        return WEFT_LAUNCH((lookback_units<P, false>), ctx, blocks, threads, 0, p, l);
    return wi_with_output(args, [=](auto tag) {
        return WEFT_LAUNCH((lookback<P, decltype(tag)::output>), ctx, blocks, threads, 0, p, l);
    });
}

template <class P>
static weft_status one_pass(weft_context *ctx, const wi_select_args *args) {
    const uint64_t tiles = args->n ? wi_tiles_of(args->n, tile_elements<P>) : 1;
    const int words = args->lengths ? wi_carry_words<runs_so_far> : 1;
    wi_select_params p;
    void *scratch;
    weft_status status =
        wi_select_begin(ctx, args, wi_lookback_bytes(tiles, words), 0, &p, &scratch);
    if (status != WEFT_OK)
        return status;
    wi_lookback l = wi_lookback_in(scratch, tiles, words);
    l.ordered = wi_select_overwrites(args);
    if constexpr (sizeof(P) <= 8)
        if (args->lengths)
            return WEFT_LAUNCH(run_lengths<P>, ctx, (unsigned)tiles, threads, 0, p, l);
    return launch<P>(ctx, args, p, l);
}

weft_status wi_select_lookback(weft_context *ctx, const void *arguments) {
    const wi_select_args *args = (const wi_select_args *)arguments;
    if (args->job == WI_SELECT_JUST_COUNT)
        return wi_select_count_queue(ctx, args, args->count);
    return wi_with_unit(args->moves ? args->unit : 4, [=](auto tag) {
        using P = typename decltype(tag)::type;
        unsigned blocks;
        const weft_status status = count_behind<P>(ctx, args, &blocks);
        if (status != WEFT_OK)
            return status;
        return blocks ? queue_behind<P>(ctx, args, blocks) : one_pass<P>(ctx, args);
    });
}
