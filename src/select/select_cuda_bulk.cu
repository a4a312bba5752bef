/* SPDX-License-Identifier: Apache-2.0 */
/* select in one pass by persistent blocks (see cuda/ring.cuh). A tile is divided into parts. For
 * each part, one warp tests the elements, ranks the wanted ones and packs them at the start of the
 * part, in the slot itself. When the tile's carry is known, another warp copies the packed elements
 * to their place, in rows aligned to memory boundaries.
 *
 * In place: tile t writes only before its own end, so only to places of tiles up to t, and only
 * when it knows its carry, which needs the counts of all tiles before it. A tile is counted only
 * when all of it, and the element before it, is in shared memory. */
#include "cuda/ring.cuh"
#include "select/select_part.cuh"

/* Found by experiment on an H200; README.md has the figures. */
struct select_shape {
    static constexpr int slots = 6, preparers = 1, preparer_warps = 16, totallers = 1, lookers = 1,
                         starters = 0, finishers = 1, finisher_warps = 8, parts = 32;
    static constexpr size_t slot_bytes = 33 * 1024;
};

/* How many elements are wanted in each part of each tile in progress. */
template <class Shape>
using part_counts = unsigned[wi_ring_entries][Shape::parts];

/* The first run that begins in a tile. */
struct first_run {
    uint64_t position, rank;
};
constexpr uint64_t no_run = ~(uint64_t)0; /* its position if there is none */

template <class Shape, class P, wi_select_output output>
struct select_block {
    using ring_block = wi_ring_block<Shape, wi_add_counts, uint64_t>;

    const ring_block &ring;
    const wi_select_params &p;
    const wi_select_layout &form;
    part_counts<Shape> &counts;
    unsigned char *memory; /* of all slots */
    first_run *first_runs; /* one for each tile, if lengths are asked for */

    __device__ unsigned char *slot(int k) const {
        return memory + (size_t)(k % Shape::slots) * Shape::slot_bytes;
    }
    __device__ uint64_t first_of(uint64_t tile) const {
        return tile * form.tile_elements();
    }
    __device__ uint64_t part_first(uint64_t tile, int part) const {
        return first_of(tile) + (unsigned)part * form.part_elements;
    }
    __device__ bool is_broken(uint64_t tile) const {
        return first_of(tile) + form.tile_elements() > p.n;
    }
    __device__ wi_select_part<P, output> part_of(int k, uint64_t tile, int part) const {
        return {p, form, slot(k), part, part_first(tile, part), is_broken(tile)};
    }

    /* For the copier: the last tile, if incomplete, is left for the preparers to load. */
    __device__ void load(int k, uint64_t tile, wi_barrier *loaded) const {
        const uint64_t first = first_of(tile);
        const uint32_t elements = form.tile_elements();
        if (is_broken(tile)) {
            wi_barrier_arrive(loaded);
            return;
        }
        const uint32_t lead = p.unique && first > 0 ? wi_select_lead : 0;
        const uint32_t tested = elements * (uint32_t)p.tested_bytes + lead;
        const uint32_t moved = form.same() ? 0 : elements * (uint32_t)form.moved_bytes;
        wi_barrier_arrive_expect(loaded, tested + moved);
        wi_bulk_load(slot(k) + wi_select_lead - lead,
                     (const unsigned char *)p.tested + first * (unsigned)p.tested_bytes - lead,
                     tested, loaded);
        if (moved)
            wi_bulk_load(slot(k) + form.moved_at, (const P *)p.x + first, moved, loaded);
    }

    /* For the preparer. */
    __device__ void pack(int k, uint64_t tile, int warp) const {
        for (int part = warp; part < form.parts; part += Shape::preparer_warps) {
            const wi_select_part<P, output> mine = part_of(k, tile, part);
            if (mine.broken)
                mine.fetch();
            const unsigned count = mine.pack();
            if (wi_lane() == 0)
                counts[k % wi_ring_entries][part] = count;
        }
        wi_bulk_fence(); /* the copy engine will write there */
    }

    /* For the totaller. */
    __device__ uint64_t count_tile(int k) const {
        const int part = wi_lane();
        const unsigned count = part < form.parts ? counts[k % wi_ring_entries][part] : 0;
        return wi_warp_sum_scan(count);
    }

    /* For the finisher. */
    __device__ void write(int k, uint64_t tile, int warp) const {
        const uint64_t *const carries = ring.carries(k);
        const unsigned *const wanted = counts[k % wi_ring_entries];
        if (output == WI_OUTPUT_POSITIONS && p.lengths && threadIdx.x == 0)
            first_runs[tile] = {part_of(k, tile, 0).next_position(wanted, no_run), carries[0]};
        for (int part = warp; part < form.parts; part += Shape::finisher_warps)
            part_of(k, tile, part).write(wanted, carries[part]);
        ring.release(k);
    }
};

template <class Shape, class P, wi_select_output output>
__global__ void __launch_bounds__(wi_ring_block<Shape, wi_add_counts, uint64_t>::threads, 1)
    bulk(wi_select_params p, wi_select_layout form, wi_lookback l, first_run *first_runs) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    using ring_memory = wi_ring<Shape, uint64_t>;
    using counts_memory = part_counts<Shape>;
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(ring_memory, r, );
    WEFT_SHARED(counts_memory, counts, );
    using B = select_block<Shape, P, output>;
    const typename B::ring_block ring = {l, r, wi_lookback_epoch(l)};
    const B b = {ring, p, form, counts, memory, first_runs};
    if (output == WI_OUTPUT_REST && p.rest_follows)
        p.rest = (P *)p.kept + *p.total;
    ring.work((uint64_t)0,
              [&](int k, uint64_t tile, wi_barrier *loaded) { b.load(k, tile, loaded); },
              [&](int k, uint64_t tile, int warp) { b.pack(k, tile, warp); },
              [&](int k, uint64_t) { return b.count_tile(k); },
              [&](uint64_t count) {
                  if (p.count)
                      *p.count = count;
              },
              [&](int k, uint64_t tile, int warp) { b.write(k, tile, warp); });
#endif
}

/* If a run continues in other tiles, `lengths` still holds its position: its length is the distance
 * to the next run, which is the first run of a later tile. */
template <class I>
__global__ void __launch_bounds__(256)
    join_runs(I *lengths, const first_run *first_runs, uint64_t tiles, uint64_t n,
              const uint64_t *count) {
    const uint64_t tile = (uint64_t)blockIdx.x * 256 + threadIdx.x;
    if (tile > tiles)
        return;
    const first_run next = tile < tiles ? first_runs[tile] : first_run{n, *count};
    if (next.position != no_run && next.rank > 0)
        lengths[next.rank - 1] = (I)((I)next.position - lengths[next.rank - 1]);
}

static weft_status queue_join(weft_context *ctx, const wi_select_args *args,
                              const first_run *first_runs, uint64_t tiles) {
    const unsigned blocks = (unsigned)(tiles / 256 + 1);
    if (args->position_bytes == 4)
        return WEFT_LAUNCH(join_runs<uint32_t>, ctx, blocks, 256, 0, (uint32_t *)args->positions,
                           first_runs, tiles, args->n, args->count);
    return WEFT_LAUNCH(join_runs<uint64_t>, ctx, blocks, 256, 0, (uint64_t *)args->positions,
                       first_runs, tiles, args->n, args->count);
}

template <class Shape>
static weft_status launch_bulk(weft_context *ctx, const wi_select_args *args) {
    return wi_with_unit(args->moves ? args->unit : 4, [=](auto tag) {
        using P = typename decltype(tag)::type;
        const wi_select_layout form =
            wi_select_layout_of(args, sizeof(P), Shape::slot_bytes, Shape::parts);
        const uint64_t tiles = args->n ? wi_tiles_of(args->n, form.tile_elements()) : 1;
        wi_select_params p;
        void *scratch, *first_runs = NULL;
        weft_status status = wi_select_begin(ctx, args, wi_lookback_bytes(tiles),
                                             form.tile_elements(), &p, &scratch);
        if (status == WEFT_OK && args->lengths)
            status =
                wi_gpu_scratch(ctx, &wi_select_runs_key, tiles * sizeof(first_run), &first_runs);
        if (status != WEFT_OK)
            return status;
        const uint64_t resident = (uint64_t)ctx->gpu->multiprocessors;
        const unsigned blocks = (unsigned)(tiles < resident ? tiles : resident);
        const wi_lookback l = wi_select_lookback_in(args, p, scratch, tiles);
        constexpr int threads = wi_ring_block<Shape, wi_add_counts, uint64_t>::threads;
        status = wi_with_output(args, [=](auto to) {
            return WEFT_LAUNCH((bulk<Shape, P, decltype(to)::output>), ctx, blocks, threads,
                               Shape::slots * Shape::slot_bytes, p, form, l,
                               (first_run *)first_runs);
        });
        if (status == WEFT_OK && args->lengths)
            status = queue_join(ctx, args, (const first_run *)first_runs, tiles);
        return status;
    });
}

weft_status wi_select_bulk(weft_context *ctx, const void *arguments) {
    const wi_select_args *args = (const wi_select_args *)arguments;
    if (args->job == WI_SELECT_JUST_COUNT)
        return wi_select_count_queue(ctx, args, args->count);
    return launch_bulk<select_shape>(ctx, args);
}
