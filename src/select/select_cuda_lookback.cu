/* SPDX-License-Identifier: Apache-2.0 */
/* select in one pass: each block marks a tile and holds it in registers, finds by look-back how
 * many elements are kept before it, and writes. For any alignment, any device and every job.
 *
 * In place: tile t writes only before its own end, so only to places of tiles up to t, and only
 * when it knows its carry, which needs the counts of all tiles before it. A tile publishes its
 * count only when all of its elements are in registers. */
#include "select/select_cuda.cuh"

constexpr int warps = 8;
constexpr int threads = 32 * warps;

/* Rows of 32 elements that a warp processes. */
template <class P>
constexpr int rows_of = sizeof(P) <= 4 ? 16 : 64 / (int)sizeof(P);

template <class P>
constexpr uint64_t tile_elements = (uint64_t)threads *rows_of<P>;

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

/* A block's tile, and this warp's part of it. */
struct place {
    uint64_t tile, epoch, first;
};

template <class P>
__device__ place take_place(const wi_lookback &l) {
    WEFT_SHARED(place, shared, );
    if (threadIdx.x == 0) {
        shared.epoch = wi_lookback_epoch(l);
        shared.tile = wi_lookback_take_tile(l);
    }
    __syncthreads();
    place here = shared;
    here.first = here.tile * tile_elements<P> + (uint64_t)(threadIdx.x / 32) * (32 * rows_of<P>);
    return here;
}

template <class P>
__device__ unsigned mark(const wi_select_params &p, uint64_t first, unsigned *marks) {
    constexpr int rows = rows_of<P>;
    const unsigned left = wi_left(p, first, 32 * rows);
    return wi_with_tested(p.tested_bytes, [&](auto zero) {
        using S = decltype(zero);
        const S *const at = (const S *)p.tested + first;
        S last = 0;
        if (p.unique && first > 0 && left > 0)
            last = at[-1];
        return wi_mark_rows<rows>(p, left, last, first == 0, marks, [&](int row) {
            const unsigned e = (unsigned)(32 * row + wi_lane());
            return e < left ? at[e] : (S)0;
        });
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

weft_status wi_select_lookback(weft_context *ctx, const void *arguments) {
    const wi_select_args *args = (const wi_select_args *)arguments;
    if (args->job == WI_SELECT_JUST_COUNT)
        return wi_select_count_queue(ctx, args, args->count);
    return wi_with_unit(args->moves ? args->unit : 4, [=](auto tag) {
        using P = typename decltype(tag)::type;
        const uint64_t tiles = args->n ? wi_tiles_of(args->n, tile_elements<P>) : 1;
        wi_select_params p;
        void *scratch;
        weft_status status = wi_select_begin(ctx, args, wi_lookback_bytes(tiles), 0, &p, &scratch);
        if (status != WEFT_OK)
            return status;
        status = launch<P>(ctx, args, p, wi_select_lookback_in(args, p, scratch, tiles));
        return status == WEFT_OK ? wi_select_end(ctx, args) : status;
    });
}
