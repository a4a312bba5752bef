/* SPDX-License-Identifier: Apache-2.0 */
/* scan in one pass by persistent blocks: bulk copies bring tiles into a ring of shared memory, and
 * warps in five roles work on the tiles in flight:
 *
 *   copier      one thread: takes tile numbers and starts their loads
 *   totallers   total a tile as soon as it has arrived, and publish the total
 *   watcher     publishes the totals of groups that end in one of the block's tiles
 *   lookers     find a tile's carry
 *   teams       take a tile into registers, which frees its place in the ring, and once its carry
 *               is known scan it and write it out; teams take turns
 *
 * So loads, look-back and stores of several tiles overlap. A total never waits for a carry: if it
 * did, the tiles of one block would chain its neighbours' tiles up. */
#include "cuda/bulk.cuh"
#include "scan/scan_tile.cuh"

/* Found by trial on an H200; README.md has the figures. */
constexpr int slots = 6; /* tiles in shared memory */
constexpr int totallers = 3;
constexpr int lookers = 1; /* more of them find carries no sooner, and their polling costs */
constexpr int teams = 2;
constexpr int team_warps = wi_tile_warps;
constexpr int first_totaller = teams * team_warps, first_looker = first_totaller + totallers;
constexpr int watcher = first_looker + lookers, copier = watcher + 1;
constexpr int threads = 32 * (copier + 1);

/* Tiles a block has in flight, in shared memory or in a team's registers; each has an entry. */
constexpr int entries = 16;
static_assert(slots + teams <= entries, "an entry is free when its turn comes again");

constexpr int ends = totallers; /* ends of the row of tiles, so that every warp meets one */
static_assert(lookers <= ends && teams <= ends && ends <= slots, "each warp meets an end");
static_assert(slots % totallers == 0 && slots % teams == 0 && entries % teams == 0 &&
                  entries % lookers == 0,
              "a slot or entry always meets the same warp of a role");

[[maybe_unused]] constexpr uint64_t no_tile = ~(uint64_t)0; /* ends the row of tiles */

/* Every lane of a warp arrives at a barrier for itself, so that no access hangs on another lane's
 * arrival. A block counts its tiles: the k-th uses slot k % slots and entry k % entries, for the
 * (k / slots)-th and the (k / entries)-th time. A barrier tells its phases apart by parity alone,
 * so a warp must neither run ahead of a phase nor fall two behind: whoever waits for `loaded` takes
 * part in `empty` or in what comes before it, and warps that take turns do so in step with the
 * ring. */
template <class Carry>
struct ring {
    wi_barrier loaded[slots], empty[slots];
    wi_barrier totalled[entries], carried[entries];
    uint64_t tile[entries];
    Carry part[entries][team_warps]; /* totals so far, then carries at the start, of the parts */
};

template <class Op, class T>
struct block {
    using C = wi_scan_carry<T>;
    using Vector = wi_vector<T>;

    const wi_scan_params<T> &p;
    const wi_lookback &l;
    ring<C> &r;
    unsigned char *memory; /* slots tiles */
    uint64_t epoch;

    __device__ bool is_whole(uint64_t tile) const {
        return (tile + 1) * wi_tile_elements<T> <= p.n;
    }

    __device__ void init() const {
        for (int s = 0; s < slots; s++) {
            wi_barrier_init(&r.loaded[s], 1);
            wi_barrier_init(&r.empty[s], 32 * (team_warps + 1)); /* the team and the watcher */
        }
        for (int e = 0; e < entries; e++) {
            wi_barrier_init(&r.totalled[e], 32);
            wi_barrier_init(&r.carried[e], 32);
        }
        wi_barrier_publish();
    }

    __device__ static void wait_slot(wi_barrier *barriers, int k) {
        wi_barrier_wait(&barriers[k % slots], (uint32_t)(k / slots) & 1);
    }
    __device__ static void wait_entry(wi_barrier *barriers, int k) {
        wi_barrier_wait(&barriers[k % entries], (uint32_t)(k / entries) & 1);
    }

    /* The block's k-th tile, once it has arrived. */
    __device__ uint64_t arrived(int k) const {
        wait_slot(r.loaded, k);
        return r.tile[k % entries];
    }

    /* Copier: announces the k-th tile. The last, broken one is left to its totaller to load. */
    __device__ void load(int k, uint64_t tile) const {
        const int s = k % slots;
        if (k >= slots)
            wait_slot(r.empty, k - slots);
        r.tile[k % entries] = tile;
        if (tile != no_tile && is_whole(tile)) {
            wi_barrier_arrive_expect(&r.loaded[s], wi_tile_bytes);
            wi_bulk_load(memory + (size_t)s * wi_tile_bytes, p.x + tile * wi_tile_elements<T>,
                         wi_tile_bytes, &r.loaded[s]);
        } else {
            wi_barrier_arrive(&r.loaded[s]);
        }
    }

    __device__ void copy_tiles() const {
        int k = 0;
        for (uint64_t next = wi_lookback_take_tile(l); next < l.tiles; k++) {
            const uint64_t tile = next;
            next = wi_lookback_take_tile(l); /* under way while this thread waits for a slot */
            load(k, tile);
        }
        for (int end = 0; end < ends; end++)
            load(k + end, no_tile);
    }

    /* This lane's vector of a row of a part of the k-th tile. */
    __device__ Vector *vector_of(int k, int part, int row) const {
        unsigned char *tile = memory + (size_t)(k % slots) * wi_tile_bytes;
        return (Vector *)(tile + (size_t)part * wi_part_bytes + (size_t)row * wi_row_bytes) +
               wi_lane();
    }

    /* Totaller: loads a part of the broken tile. */
    __device__ void fetch_broken(int k, int part, uint64_t tile) const {
        for (int row = 0; row < wi_part_rows; row++)
            *vector_of(k, part, row) =
                wi_read_vector<Op>(p.x, wi_place_in<T>(tile, part, row), p.n, true);
    }

    __device__ void total_tiles(int totaller) const {
        for (int k = totaller;; k += totallers) {
            const uint64_t tile = arrived(k);
            if (tile == no_tile) {
                wi_barrier_arrive(&r.totalled[k % entries]);
                return;
            }
            C mine = Op::template identity<C>();
            for (int part = 0; part < team_warps; part++) {
                if (!is_whole(tile))
                    fetch_broken(k, part, tile);
                const C of_part = wi_part_total<Op, T>(
                    [&](int row) -> const Vector & { return *vector_of(k, part, row); });
                if (wi_lane() == part)
                    mine = of_part;
            }
            mine = wi_scan_parts<Op>(mine);
            if (wi_lane() == team_warps - 1)
                wi_publish_total(l, epoch, tile, mine);
            if (wi_lane() < team_warps)
                r.part[k % entries][wi_lane()] = mine;
            wi_barrier_arrive(&r.totalled[k % entries]);
        }
    }

    __device__ void watch_groups() const {
        for (int k = 0;; k++) {
            const uint64_t tile = arrived(k);
            if (tile == no_tile)
                return;
            if (wi_ends_group(tile))
                wi_publish_group<Op, C>(l, epoch, tile);
            wi_barrier_arrive(&r.empty[k % slots]);
        }
    }

    __device__ void look_back_tiles(int looker) const {
        const C start = p.start();
        const int lane = wi_lane();
        for (int k = looker;; k += lookers) {
            wait_entry(r.totalled, k);
            const uint64_t tile = r.tile[k % entries];
            if (tile == no_tile)
                return;
            C *part = r.part[k % entries];
            C so_far = Op::template identity<C>();
            if (lane < team_warps)
                so_far = part[lane];
            C after;
            const C carry = wi_find_carry<Op>(l, epoch, tile, start,
                                              wi_shuffle(so_far, team_warps - 1), &after);
            const C of_lane = wi_part_carry<Op>(carry, so_far);
            if (lane < team_warps)
                part[lane] = of_lane;
            if (lane == 0 && tile == l.tiles - 1 && p.carry_out)
                *p.carry_out = wi_carry_bits(after);
            wi_barrier_arrive(&r.carried[k % entries]);
        }
    }

    __device__ void scan_tiles(int team, int part) const {
        for (int k = team;; k += teams) {
            const uint64_t tile = arrived(k);
            if (tile == no_tile)
                return;
            wait_entry(r.totalled, k);
            Vector x[wi_part_rows];
#pragma unroll
            for (int row = 0; row < wi_part_rows; row++)
                x[row] = *vector_of(k, part, row);
            wi_barrier_arrive(&r.empty[k % slots]);
            wait_entry(r.carried, k);
            C carry = r.part[k % entries][part];
#pragma unroll
            for (int row = 0; row < wi_part_rows; row++)
                wi_write_vector(p.y, wi_place_in<T>(tile, part, row), p.n, true,
                                wi_scan_row<Op>(x[row], p.exclusive, &carry));
        }
    }
};

template <class Op, class T>
__global__ void __launch_bounds__(threads) bulk(wi_scan_params<T> p, wi_lookback l) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(ring<wi_scan_carry<T>>, r, );
    const block<Op, T> b = {p, l, r, memory, wi_lookback_epoch(l)};
    if (threadIdx.x == 0)
        b.init();
    __syncthreads();
    const int warp = (int)threadIdx.x / 32;
    if (warp < first_totaller)
        b.scan_tiles(warp / team_warps, warp % team_warps);
    else if (warp < first_looker)
        b.total_tiles(warp - first_totaller);
    else if (warp < watcher)
        b.look_back_tiles(warp - first_looker);
    else if (warp == watcher)
        b.watch_groups();
    else if (wi_lane() == 0)
        b.copy_tiles();
    __syncthreads();
    if (threadIdx.x == 0)
        wi_lookback_leave(l, gridDim.x);
#endif
}

weft_status wi_scan_bulk(weft_context *ctx, const void *arguments) {
    const wi_scan_args *args = (const wi_scan_args *)arguments;
    return wi_with_scan(args->type, args->op, [=](auto tag, auto op) {
        using T = typename decltype(tag)::type;
        constexpr size_t shared = slots * wi_tile_bytes;
        const uint64_t tiles = wi_tiles_of(args->n, wi_tile_elements<T>);
        void *scratch;
        weft_status status =
            wi_gpu_scratch(ctx, WI_SCRATCH_SCAN, wi_lookback_bytes(tiles), &scratch);
        if (status != WEFT_OK)
            return status;
        const uint64_t resident = (uint64_t)ctx->gpu->multiprocessors;
        const unsigned blocks = (unsigned)(tiles < resident ? tiles : resident);
        return WEFT_LAUNCH((bulk<decltype(op), T>), ctx, blocks, threads, shared,
                           wi_scan_typed<T>(args), wi_lookback_in(scratch, tiles));
    });
}
