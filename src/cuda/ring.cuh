/* SPDX-License-Identifier: Apache-2.0 */
/* Persistent blocks that process an array in one pass: bulk copies bring tiles into a ring of slots
 * in shared memory, and warps in six roles work on these tiles at the same time:
 *
 *   copier      one thread: takes tile numbers and starts their loads
 *   preparers   teams of warps that work on a tile in its slot as soon as it has arrived; a ring
 *               may do without
 *   totallers   total a tile as soon as it is prepared, and publish the total
 *   watcher     publishes the totals of groups that end in one of the block's tiles
 *   lookers     find a tile's carry
 *   starters    make of it what finishers begin with; a ring may do without
 *   finishers   teams of warps that finish a tile once its carry is known, and free its slot; or
 *               they free it before, having taken the tile into registers
 *
 * Teams of one role take tiles in turn. So loads, look-back and stores of several tiles overlap. A
 * total never waits for a carry: if it did, one slow tile would delay the tiles of all other
 * blocks.
 *
 * A Shape tells how many there are of each: slots, preparers, preparer_warps, totallers, lookers,
 * starters, finishers, finisher_warps; and `parts`, of a tile, whose carries differ. */
#ifndef WI_RING_CUH
#define WI_RING_CUH

#include "cuda/bulk.cuh"
#include "cuda/lookback.cuh"

[[maybe_unused]] constexpr uint64_t wi_no_tile = ~(uint64_t)0; /* ends the sequence of tiles */

/* How many tiles a block can have in progress, in shared memory or in a team's registers; each has
 * an entry. */
constexpr int wi_ring_entries = 16;

/* Every lane of a warp arrives at a barrier itself, so that its accesses are ordered without other
 * lanes. A block counts its tiles: the k-th uses slot k % slots and entry k % entries. A barrier
 * distinguishes its phases by parity only, so a warp must not run ahead of a phase nor fall two
 * behind: a warp that waits for `loaded` also arrives at `empty` or at a barrier before it, and
 * warps that take turns do so at the pace of the ring. */
template <class Shape, class Carry>
struct wi_ring {
    wi_barrier loaded[Shape::slots], prepared[Shape::slots], empty[Shape::slots];
    wi_barrier totalled[wi_ring_entries], found[wi_ring_entries], carried[wi_ring_entries];
    uint64_t tile[wi_ring_entries];
    Carry part[wi_ring_entries][Shape::parts]; /* totals so far, then the carries at the start */
    Carry start;                               /* of the first tile */
};

__host__ __device__ constexpr int wi_greater(int a, int b) {
    return a > b ? a : b;
}
__host__ __device__ constexpr uint64_t wi_lesser(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* For a ring without starters. */
struct wi_ring_no_start {
    __device__ void operator()(int, const void *) const {}
};

/* What all kernels with a ring have in common. */
template <class Shape, class Op, class Carry>
struct wi_ring_block {
    static constexpr int first_preparer = Shape::finishers * Shape::finisher_warps;
    static constexpr int first_totaller = first_preparer + Shape::preparers * Shape::preparer_warps;
    static constexpr int first_looker = first_totaller + Shape::totallers;
    static constexpr int first_starter = first_looker + Shape::lookers;
    static constexpr int watcher = first_starter + Shape::starters, copier = watcher + 1;
    static constexpr int threads = 32 * (copier + 1);
    /* End marks after the last tile, so that every warp finds one. */
    static constexpr int ends =
        wi_greater(Shape::starters, wi_greater(wi_greater(Shape::finishers, Shape::preparers),
                                               wi_greater(Shape::totallers, Shape::lookers)));
    /* Tiles whose counts are known need no look-back. */
    static constexpr bool may_be_counted = wi_adds_counts<Op> && Shape::lookers == 1;

    static_assert(Shape::slots + Shape::finishers <= wi_ring_entries,
                  "an entry is free when its turn comes again");
    static_assert(ends <= Shape::slots && Shape::lookers <= Shape::totallers &&
                      Shape::starters <= Shape::lookers,
                  "each warp meets an end");
    static_assert(Shape::slots % Shape::totallers == 0 && Shape::slots % Shape::finishers == 0 &&
                      Shape::slots % wi_greater(Shape::preparers, 1) == 0 &&
                      wi_ring_entries % Shape::finishers == 0 &&
                      wi_ring_entries % Shape::lookers == 0 &&
                      wi_ring_entries % wi_greater(Shape::starters, 1) == 0,
                  "a slot or entry always meets the same warp of a role");

    const wi_lookback &l;
    wi_ring<Shape, Carry> &r;
    uint64_t epoch;

    /* All the work of a block. Called by all its threads.
     *   load(k, tile, barrier)  by one thread: starts a tile's copies into slot k % slots, which
     *                           complete on the barrier, or arrives there if it leaves the tile to
     *                           whoever comes next
     *   prepare(k, tile, warp)  by each warp of a team
     *   total(k, tile)          gives, in the first lanes, the parts' totals so far
     *   all(carry)              once, by one thread: what comes after the last tile
     *   finish(k, tile, warp)   by each warp of a team; calls release(k) and carries(k)
     *   begin(k, carries)       by a starter, before a finisher gets the carries of the parts */
    template <class Load, class Prepare, class Total, class All, class Finish,
              class Begin = wi_ring_no_start>
    __device__ void work(Carry start, Load load, Prepare prepare, Total total, All all,
                         Finish finish, Begin begin = {}) const {
        if (threadIdx.x == 0)
            init(start);
        __syncthreads();
        const int warp = (int)threadIdx.x / 32;
        if (warp < first_preparer)
            finish_tiles(warp / Shape::finisher_warps, warp % Shape::finisher_warps, finish);
        else if (warp < first_totaller)
            prepare_tiles((warp - first_preparer) / Shape::preparer_warps,
                          (warp - first_preparer) % Shape::preparer_warps, prepare);
        else if (warp < first_looker)
            total_tiles(warp - first_totaller, total);
        else if (warp < first_starter)
            look_back_tiles(warp - first_looker, all);
        else if (warp < watcher)
            start_tiles(warp - first_starter, begin);
        else if (warp == watcher)
            watch_groups();
        else if (wi_lane() == 0)
            copy_tiles(load);
        __syncthreads();
        if (threadIdx.x == 0)
            wi_lookback_leave(l, gridDim.x);
    }

    /* For a finisher: this warp has read what it needs of the tile's slot. */
    __device__ void release(int k) const {
        wi_bulk_fence();
        wi_barrier_arrive(&r.empty[k % Shape::slots]);
    }

    /* For a finisher: the carries at the start of the tile's parts; waits until they are known. */
    __device__ const Carry *carries(int k) const {
        wait_entry(r.carried, k);
        return r.part[k % wi_ring_entries];
    }

  private:
    __device__ void init(const Carry &start) const {
        r.start = start;
        for (int s = 0; s < Shape::slots; s++) {
            wi_barrier_init(&r.loaded[s], 1);
            wi_barrier_init(&r.prepared[s], 32 * Shape::preparer_warps);
            wi_barrier_init(&r.empty[s], 32 * (Shape::finisher_warps + 1)); /* 1: the watcher */
        }
        for (int e = 0; e < wi_ring_entries; e++) {
            wi_barrier_init(&r.totalled[e], 32);
            wi_barrier_init(&r.found[e], 32);
            wi_barrier_init(&r.carried[e], 32);
        }
        wi_barrier_publish();
    }

    __device__ static void wait_slot(wi_barrier *barriers, int k) {
        wi_barrier_wait(&barriers[k % Shape::slots], (uint32_t)(k / Shape::slots) & 1);
    }
    __device__ static void wait_entry(wi_barrier *barriers, int k) {
        wi_barrier_wait(&barriers[k % wi_ring_entries], (uint32_t)(k / wi_ring_entries) & 1);
    }

    __device__ bool counted() const {
        return may_be_counted && l.counts;
    }

    /* Waits for the block's k-th tile to arrive; returns its number. */
    __device__ uint64_t arrived(int k) const {
        wait_slot(r.loaded, k);
        return r.tile[k % wi_ring_entries];
    }

    /* Asks for the number of a tile when there is a slot for it, not before: all tiles with later
     * numbers, in all blocks, would wait for one whose number is taken and whose slot is not free.
     */
    template <class Load>
    __device__ void copy_tiles(Load load) const {
        int k = 0;
        for (;; k++) {
            wait_for_room(k);
            const uint64_t tile = wi_lookback_take_tile(l);
            if (tile >= l.tiles)
                break;
            announce(k, tile);
            load(k, tile, &r.loaded[k % Shape::slots]);
        }
        for (int end = 0; end < ends; end++) {
            wait_for_room(k + end);
            announce(k + end, wi_no_tile);
            wi_barrier_arrive(&r.loaded[(k + end) % Shape::slots]);
        }
    }
    /* Until the k-th tile's slot is free. */
    __device__ void wait_for_room(int k) const {
        if (k >= Shape::slots)
            wait_slot(r.empty, k - Shape::slots);
    }
    __device__ void announce(int k, uint64_t tile) const {
        r.tile[k % wi_ring_entries] = tile;
    }

    template <class Prepare>
    __device__ void prepare_tiles(int team, int warp, Prepare prepare) const {
        for (int k = team;; k += Shape::preparers) {
            const uint64_t tile = arrived(k);
            if (tile == wi_no_tile)
                return;
            prepare(k, tile, warp);
            wi_barrier_arrive(&r.prepared[k % Shape::slots]);
        }
    }

    template <class Total>
    __device__ void total_tiles(int totaller, Total total) const {
        const int lane = wi_lane();
        for (int k = totaller;; k += Shape::totallers) {
            const uint64_t tile = arrived(k);
            if (tile != wi_no_tile) {
                if constexpr (Shape::preparers > 0)
                    wait_slot(r.prepared, k);
                const Carry so_far = total(k, tile);
                if (lane == Shape::parts - 1 && !counted())
                    wi_publish_total(l, epoch, tile, so_far);
                if (lane < Shape::parts)
                    r.part[k % wi_ring_entries][lane] = so_far;
            }
            wi_barrier_arrive(&r.totalled[k % wi_ring_entries]);
            if (tile == wi_no_tile)
                return;
        }
    }

    __device__ void watch_groups() const {
        for (int k = 0;; k++) {
            const uint64_t tile = arrived(k);
            if (tile == wi_no_tile)
                return;
            if (wi_ends_group(tile) && !counted())
                wi_publish_group<Op, Carry>(l, epoch, tile);
            wi_barrier_arrive(&r.empty[k % Shape::slots]);
        }
    }

    /* What a look does not need stays in shared memory: to keep it in registers would cost more,
     * for a look takes most of them. */
    template <class All>
    __device__ void look_back_tiles(int looker, All all) const {
        const int lane = wi_lane();
        wi_barrier *const found = Shape::starters > 0 ? r.found : r.carried;
        wi_counted_tiles counts = {l.counts};
        for (int k = looker;; k += Shape::lookers) {
            Carry carry = Op::template identity<Carry>();
            if constexpr (may_be_counted)
                if (counted()) /* meanwhile the tile is being prepared */
                    carry = r.start + counts.before(wi_lesser(arrived(k), l.tiles));
            wait_entry(r.totalled, k);
            const uint64_t tile = r.tile[k % wi_ring_entries];
            if (tile == wi_no_tile) {
                wi_barrier_arrive(&found[k % wi_ring_entries]);
                return;
            }
            Carry *part = r.part[k % wi_ring_entries];
            Carry after;
            if (counted())
                after = Op::combine(carry, part[Shape::parts - 1]);
            else
                carry = wi_find_carry<Op>(l, epoch, tile, r.start, part[Shape::parts - 1], &after);
            if (lane == 0 && tile == l.tiles - 1)
                all(after);
            if (0 < lane && lane < Shape::parts)
                carry = Op::combine(carry, part[lane - 1]);
            __syncwarp(); /* all have read what the next lane writes */
            if (lane < Shape::parts)
                part[lane] = carry;
            wi_barrier_arrive(&found[k % wi_ring_entries]);
        }
    }

    template <class Begin>
    __device__ void start_tiles(int starter, Begin begin) const {
        for (int k = starter;; k += wi_greater(Shape::starters, 1)) {
            wait_entry(r.found, k);
            if (r.tile[k % wi_ring_entries] == wi_no_tile)
                return;
            begin(k, (const Carry *)r.part[k % wi_ring_entries]);
            wi_barrier_arrive(&r.carried[k % wi_ring_entries]);
        }
    }

    template <class Finish>
    __device__ void finish_tiles(int team, int warp, Finish finish) const {
        for (int k = team;; k += Shape::finishers) {
            const uint64_t tile = arrived(k);
            if (tile == wi_no_tile)
                return;
            wait_entry(r.totalled, k);
            finish(k, tile, warp);
        }
    }
};

/* For a copier whose tile is one piece of memory: starts its load; a tile that is not whole is left
 * for others to load, and counts as loaded. */
__device__ inline void wi_ring_load(void *slot, const void *from, uint32_t bytes, bool is_whole,
                                    wi_barrier *loaded) {
    if (!is_whole) {
        wi_barrier_arrive(loaded);
        return;
    }
    wi_barrier_arrive_expect(loaded, bytes);
    wi_bulk_load(slot, from, bytes, loaded);
}

#endif
