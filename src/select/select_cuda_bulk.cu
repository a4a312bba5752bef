/* SPDX-License-Identifier: Apache-2.0 */
/* select in one pass by persistent blocks (cuda/ring.cuh tells how they work). Totallers count
 * the elements of a tile that are wanted; a team marks them, takes marks and elements into
 * registers and, once it knows how many were kept before, writes them out row by row: the lanes of
 * a warp write to neighbouring places.
 *
 * In place. Tile t writes to places before its own end, so to places of tiles up to t. It does so
 * when it knows its carry, which takes the counts of all tiles before it; and a tile is counted
 * only when all of it has arrived in shared memory, and the element before it has been read. */
#include "cuda/ring.cuh"
#include "select/select_cuda.cuh"

/* Found by trial on an H200; README.md has the figures. */
struct shape {
    static constexpr int slots = 12, totallers = 4, lookers = 2, teams = 2, team_warps = 8,
                         parts = 1;
};

using ring_memory = wi_ring<shape, uint64_t>;
using ring_block = wi_ring_block<shape, wi_add_counts, uint64_t>;

constexpr int threads = ring_block::threads;
constexpr size_t slot_bytes = 16 * 1024;
constexpr int most_rows = 16; /* rows of 32 elements that a team's warp takes */
template <class P>
constexpr int row_batch = sizeof(P) == 16 ? 2 : 4; /* whose loads are under way together */

/* How many elements the parts of a team's tile have that are wanted; the tiles of a team take turns
 * with two places. */
struct tally {
    wi_barrier counted[shape::teams];
    unsigned count[shape::teams][2][shape::team_warps];
    uint64_t before[wi_ring_entries]; /* bits of the element before each tile in flight */
};

/* The most rows of elements P that a tile of slot_bytes has for each of a team's warps. */
template <class P>
constexpr int rows_of_slot = slot_bytes / (32 * shape::team_warps * sizeof(P)) < most_rows
                                 ? (int)(slot_bytes / (32 * shape::team_warps * sizeof(P)))
                                 : most_rows;

/* How a tile lies in its slot: first what is moved, then, if that is something else, what is
 * tested. */
struct layout {
    int rows;        /* of a team's warp */
    int moved_bytes; /* 0: nothing is moved */
    int tested_at;   /* byte of the slot */

    /* Is what is moved also what is tested? */
    __device__ bool same() const {
        return tested_at == 0 && moved_bytes > 0;
    }
    __host__ __device__ unsigned elements() const {
        return 32u * shape::team_warps * (unsigned)rows;
    }
};

template <class P, wi_select_output output>
struct block {
    const ring_block &ring;
    const wi_select_params &p;
    const layout &form;
    tally &counts;
    unsigned char *memory; /* of all slots */

    __device__ unsigned char *slot(int k) const {
        return memory + (size_t)(k % shape::slots) * slot_bytes;
    }
    __device__ uint64_t first_of(uint64_t tile) const {
        return tile * form.elements();
    }

    __device__ unsigned part_elements() const {
        return 32u * (unsigned)form.rows;
    }
    __device__ uint64_t part_first(uint64_t tile, int part) const {
        return first_of(tile) + (unsigned)part * part_elements();
    }

    /* Copier: the last, broken tile is left to its totaller to load. */
    __device__ void load(int k, uint64_t tile, wi_barrier *loaded) const {
        const uint64_t first = first_of(tile);
        const uint32_t elements = form.elements();
        if (first + elements > p.n) {
            wi_barrier_arrive(loaded);
            return;
        }
        const uint32_t moved = elements * (uint32_t)form.moved_bytes;
        const uint32_t tested = form.same() ? 0 : elements * (uint32_t)p.tested_bytes;
        wi_barrier_arrive_expect(loaded, moved + tested);
        if (moved)
            wi_bulk_load(slot(k), (const P *)p.x + first, moved, loaded);
        if (tested)
            wi_bulk_load(slot(k) + form.tested_at,
                         (const unsigned char *)p.tested + first * (unsigned)p.tested_bytes, tested,
                         loaded);
    }

    /* Totaller: loads a broken row of elements, with zeros behind them. */
    template <class E>
    __device__ void fetch_elements(E *to, const E *from, unsigned left) const {
        for (unsigned e = (unsigned)wi_lane(); e < form.elements(); e += 32)
            to[e] = e < left ? from[e] : E{};
    }
    __device__ void fetch_broken(int k, uint64_t first) const {
        const unsigned left = (unsigned)(p.n - first);
        if (form.moved_bytes)
            fetch_elements((P *)slot(k), (const P *)p.x + first, left);
        if (!form.same())
            wi_with_tested(p.tested_bytes, [&](auto zero) {
                using S = decltype(zero);
                fetch_elements((S *)(slot(k) + form.tested_at), (const S *)p.tested + first, left);
            });
        __syncwarp();
    }

    /* Does element e of a tile differ from the one before it? */
    template <class S>
    __device__ static bool differs(const S *at, unsigned e, uint64_t first, S before) {
        if (e > 0)
            return at[e] != at[e - 1];
        return first == 0 || at[0] != before;
    }

    /* Totaller: how many elements of a whole tile are wanted, this lane's share. */
    template <class S>
    __device__ unsigned count_whole(const S *at, uint64_t first, S before) const {
        constexpr unsigned width = wi_vector<S>::count;
        const wi_in_range<S> in_range(p.range);
        unsigned count = 0;
#pragma unroll 4
        for (unsigned v = (unsigned)wi_lane(); v < form.elements() / width; v += 32) {
            const wi_vector<S> x = ((const wi_vector<S> *)at)[v];
            if (!p.unique) {
                count += in_range.count(x);
                continue;
            }
            count += differs(at, v * width, first, before);
#pragma unroll
            for (unsigned e = 1; e < width; e++)
                count += x.at[e] != x.at[e - 1];
        }
        return count;
    }

    /* The same of the first `left` elements. */
    template <class S>
    __device__ unsigned count_broken(const S *at, uint64_t first, S before, unsigned left) const {
        const wi_in_range<S> in_range(p.range);
        unsigned count = 0;
        for (unsigned e = (unsigned)wi_lane(); e < left; e += 32)
            count += p.unique ? differs(at, e, first, before) : in_range.wants(at[e]);
        return count;
    }

    __device__ uint64_t count_tile(int k, uint64_t tile) const {
        const uint64_t first = first_of(tile);
        const unsigned left = wi_left(p, first, form.elements());
        if (left < form.elements())
            fetch_broken(k, first);
        const unsigned share = wi_with_tested(p.tested_bytes, [&](auto zero) {
            using S = decltype(zero);
            const S *const at = (const S *)(slot(k) + form.tested_at);
            S before = 0;
            if (p.unique && first > 0) {
                before = ((const S *)p.tested)[first - 1];
                if (wi_lane() == 0)
                    counts.before[k % wi_ring_entries] = before;
            }
            return left == form.elements() ? this->count_whole(at, first, before)
                                           : this->count_broken(at, first, before, left);
        });
        return wi_warp_reduce(share, wi_add_counts::combine<unsigned>);
    }

    /* Team: the elements of a part, and their marks. */
    template <int rows>
    __device__ unsigned take(int k, uint64_t tile, int part,
                             wi_select_column<P, rows, output> *column) const {
        const unsigned at = (unsigned)part * part_elements() + (unsigned)wi_lane();
        const uint64_t first = part_first(tile, part);
        const unsigned left = wi_left(p, first, part_elements());
        column->left = left > (unsigned)wi_lane() ? left - (unsigned)wi_lane() : 0;
        if (form.moved_bytes) {
#pragma unroll
            for (int row = 0; row < rows; row++)
                if (row < form.rows)
                    column->item[row] = ((const P *)slot(k))[at + 32u * (unsigned)row];
        }
        return wi_with_tested(p.tested_bytes, [&](auto zero) {
            using S = decltype(zero);
            const S *const tested = (const S *)(slot(k) + form.tested_at) + at;
            S last = 0;
            if (p.unique && first > 0 && left > 0)
                last = part > 0 ? tested[-1 - wi_lane()] : (S)counts.before[k % wi_ring_entries];
            return wi_mark_rows<rows, row_batch<P>>(p, form.rows, left, last, first == 0,
                                                    column->marks,
                                                    [&](int row) { return tested[32 * row]; });
        });
    }

    __device__ void finish(int team, int part) const {
        constexpr int rows = rows_of_slot<P>;
        wi_select_column<P, rows, output> column;
        int turn = 0;
        ring.finish_tiles(
            team,
            [&](int k, uint64_t tile) {
                const unsigned count = take<rows>(k, tile, part, &column);
                if (wi_lane() == 0)
                    counts.count[team][turn & 1][part] = count;
                wi_barrier_arrive(&counts.counted[team]);
            },
            [&](uint64_t tile, const uint64_t *carry) {
                wi_barrier_wait(&counts.counted[team], (uint32_t)turn & 1);
                unsigned before = 0;
                for (int other = 0; other < part; other++)
                    before += counts.count[team][turn & 1][other];
                column.write(p, part_first(tile, part), *carry + before);
                turn++;
            });
    }
};

template <class P, wi_select_output output>
__global__ void __launch_bounds__(threads, 1) bulk(wi_select_params p, layout form, wi_lookback l) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(ring_memory, r, );
    WEFT_SHARED(tally, counts, );
    const ring_block ring = {l, r, wi_lookback_epoch(l)};
    const block<P, output> b = {ring, p, form, counts, memory};
    if (threadIdx.x == 0) {
        for (int team = 0; team < shape::teams; team++)
            wi_barrier_init(&counts.counted[team], 32 * shape::team_warps);
        ring.init();
    }
    __syncthreads();
    const int warp = (int)threadIdx.x / 32;
    if (warp < ring_block::first_totaller)
        b.finish(warp / shape::team_warps, warp % shape::team_warps);
    else if (warp < ring_block::first_looker)
        ring.total_tiles(warp - ring_block::first_totaller,
                         [&](int k, uint64_t tile) { return b.count_tile(k, tile); });
    else if (warp < ring_block::watcher)
        ring.look_back_tiles(warp - ring_block::first_looker, (uint64_t)0, [&](uint64_t all) {
            if (p.count)
                *p.count = all;
        });
    else if (warp == ring_block::watcher)
        ring.watch_groups();
    else if (wi_lane() == 0)
        ring.copy_tiles([&](int k, uint64_t tile, wi_barrier *loaded) { b.load(k, tile, loaded); });
    __syncthreads();
    if (threadIdx.x == 0)
        wi_lookback_leave(l, gridDim.x);
#endif
}

template <class P>
static layout layout_of(const wi_select_args *args) {
    const bool same = args->x == args->tested && args->unit == args->tested_bytes;
    const size_t moved = args->x ? sizeof(P) : 0, tested = same ? 0 : args->tested_bytes;
    const size_t most = slot_bytes / (32 * shape::team_warps * (moved + tested));
    const size_t rows = most / row_batch<P> * row_batch<P>;
    layout form;
    form.rows = rows < (size_t)rows_of_slot<P> ? (int)rows : rows_of_slot<P>;
    form.moved_bytes = (int)moved;
    form.tested_at = same ? 0 : (int)(form.elements() * moved);
    return form;
}

weft_status wi_select_bulk(weft_context *ctx, const void *arguments) {
    const wi_select_args *args = (const wi_select_args *)arguments;
    if (args->job == WI_SELECT_COUNT)
        return wi_select_count_queue(ctx, args, args->count);
    return wi_with_unit(args->x ? args->unit : 4, [=](auto tag) {
        using P = typename decltype(tag)::type;
        const layout form = layout_of<P>(args);
        const uint64_t tiles = args->n ? wi_tiles_of(args->n, form.elements()) : 1;
        wi_select_params p;
        void *scratch;
        weft_status status = wi_select_begin(ctx, args, wi_lookback_bytes(tiles), &p, &scratch);
        if (status != WEFT_OK)
            return status;
        const uint64_t resident = (uint64_t)ctx->gpu->multiprocessors;
        const unsigned blocks = (unsigned)(tiles < resident ? tiles : resident);
        const wi_lookback l = wi_select_lookback_in(args, scratch, tiles);
        status = wi_with_output(args, [=](auto to) {
            return WEFT_LAUNCH((bulk<P, decltype(to)::output>), ctx, blocks, threads,
                               shape::slots * slot_bytes, p, form, l);
        });
        return status == WEFT_OK ? wi_select_end(ctx, args) : status;
    });
}
