/* SPDX-License-Identifier: Apache-2.0 */
/* Persistent blocks that take an array in one pass: bulk copies bring tiles into a ring of shared
 * memory, and warps in five roles work on the tiles in flight:
 *
 *   copier      one thread: takes tile numbers and starts their loads
 *   totallers   total a tile as soon as it has arrived, and publish the total
 *   watcher     publishes the totals of groups that end in one of the block's tiles
 *   lookers     find a tile's carry
 *   teams       take a tile into registers, which frees its place in the ring, and once its carry
 *               is known finish it; teams take turns
 *
 * So loads, look-back and stores of several tiles overlap. A total never waits for a carry: if it
 * did, the tiles of one block would chain its neighbours' tiles up.
 *
 * A Shape tells how many there are of each: slots, totallers, lookers, teams, team_warps; and
 * `parts`, of a tile, whose carries differ. */
#ifndef WI_RING_CUH
#define WI_RING_CUH

#include "cuda/bulk.cuh"
#include "cuda/lookback.cuh"

[[maybe_unused]] constexpr uint64_t wi_no_tile = ~(uint64_t)0; /* ends the row of tiles */

/* Tiles a block has in flight, in shared memory or in a team's registers; each has an entry. */
constexpr int wi_ring_entries = 16;

/* Every lane of a warp arrives at a barrier for itself, so that no access hangs on another lane's
 * arrival. A block counts its tiles: the k-th uses slot k % slots and entry k % entries, for the
 * (k / slots)-th and the (k / entries)-th time. A barrier tells its phases apart by parity alone,
 * so a warp must neither run ahead of a phase nor fall two behind: whoever waits for `loaded` takes
 * part in `empty` or in what comes before it, and warps that take turns do so in step with the
 * ring. */
template <class Shape, class Carry>
struct wi_ring {
    wi_barrier loaded[Shape::slots], empty[Shape::slots];
    wi_barrier totalled[wi_ring_entries], carried[wi_ring_entries];
    uint64_t tile[wi_ring_entries];
    Carry part[wi_ring_entries][Shape::parts]; /* totals so far, then carries at the start */
};

/* What all uses of a ring have in common. */
template <class Shape, class Op, class Carry>
struct wi_ring_block {
    static constexpr int first_totaller = Shape::teams * Shape::team_warps;
    static constexpr int first_looker = first_totaller + Shape::totallers;
    static constexpr int watcher = first_looker + Shape::lookers, copier = watcher + 1;
    static constexpr int threads = 32 * (copier + 1);
    /* Ends of the row of tiles, so that every warp meets one. */
    static constexpr int most = Shape::totallers > Shape::teams ? Shape::totallers : Shape::teams;
    static constexpr int ends = most > Shape::lookers ? most : Shape::lookers;

    static_assert(Shape::slots + Shape::teams <= wi_ring_entries,
                  "an entry is free when its turn comes again");
    static_assert(ends <= Shape::slots, "each warp meets an end");
    static_assert(Shape::slots % Shape::totallers == 0 && Shape::slots % Shape::teams == 0 &&
                      wi_ring_entries % Shape::teams == 0 && wi_ring_entries % Shape::lookers == 0,
                  "a slot or entry always meets the same warp of a role");

    static constexpr int ahead = 4; /* tile numbers a copier asks for before it needs them */

    const wi_lookback &l;
    wi_ring<Shape, Carry> &r;
    uint64_t epoch;

    /* By one thread, before the block's threads part. */
    __device__ void init() const {
        for (int s = 0; s < Shape::slots; s++) {
            wi_barrier_init(&r.loaded[s], 1);
            wi_barrier_init(&r.empty[s], 32 * (Shape::team_warps + 1)); /* team and watcher */
        }
        for (int e = 0; e < wi_ring_entries; e++) {
            wi_barrier_init(&r.totalled[e], 32);
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

    /* The block's k-th tile, once it has arrived. */
    __device__ uint64_t arrived(int k) const {
        wait_slot(r.loaded, k);
        return r.tile[k % wi_ring_entries];
    }

    /* Copier: load(k, tile, barrier) starts a tile's copies into slot k % slots, which complete on
     * the barrier, or arrives there if it leaves the tile to its totaller. */
    template <class Load>
    __device__ void copy_tiles(Load load) const {
        int k = 0;
        uint64_t next[ahead]; /* under way while this thread waits for slots */
#pragma unroll
        for (int j = 0; j < ahead; j++)
            next[j] = wi_lookback_take_tile(l);
        for (bool more = true; more;) {
#pragma unroll
            for (int j = 0; j < ahead; j++) {
                more = next[j] < l.tiles;
                if (!more)
                    break;
                const uint64_t tile = next[j];
                next[j] = wi_lookback_take_tile(l);
                announce(k, tile);
                load(k, tile, &r.loaded[k % Shape::slots]);
                k++;
            }
        }
        for (int end = 0; end < ends; end++) {
            announce(k + end, wi_no_tile);
            wi_barrier_arrive(&r.loaded[(k + end) % Shape::slots]);
        }
    }

    /* Totaller: scan(k, tile) gives, in the first lanes, the parts' totals so far. */
    template <class Scan>
    __device__ void total_tiles(int totaller, Scan scan) const {
        const int lane = wi_lane();
        for (int k = totaller;; k += Shape::totallers) {
            const uint64_t tile = arrived(k);
            if (tile == wi_no_tile) {
                wi_barrier_arrive(&r.totalled[k % wi_ring_entries]);
                return;
            }
            const Carry so_far = scan(k, tile);
            if (lane == Shape::parts - 1)
                wi_publish_total(l, epoch, tile, so_far);
            if (lane < Shape::parts)
                r.part[k % wi_ring_entries][lane] = so_far;
            wi_barrier_arrive(&r.totalled[k % wi_ring_entries]);
        }
    }

    __device__ void watch_groups() const {
        for (int k = 0;; k++) {
            const uint64_t tile = arrived(k);
            if (tile == wi_no_tile)
                return;
            if (wi_ends_group(tile))
                wi_publish_group<Op, Carry>(l, epoch, tile);
            wi_barrier_arrive(&r.empty[k % Shape::slots]);
        }
    }

    /* Looker: all(carry) is called once, by one thread, with what comes after the last tile. */
    template <class All>
    __device__ void look_back_tiles(int looker, Carry start, All all) const {
        const int lane = wi_lane();
        for (int k = looker;; k += Shape::lookers) {
            wait_entry(r.totalled, k);
            const uint64_t tile = r.tile[k % wi_ring_entries];
            if (tile == wi_no_tile)
                return;
            Carry *part = r.part[k % wi_ring_entries];
            Carry so_far = Op::template identity<Carry>();
            if (lane < Shape::parts)
                so_far = part[lane];
            Carry after;
            const Carry carry = wi_find_carry<Op>(l, epoch, tile, start,
                                                  wi_shuffle(so_far, Shape::parts - 1), &after);
            const Carry before = wi_shuffle_up(so_far, 1);
            if (lane < Shape::parts)
                part[lane] = lane == 0 ? carry : Op::combine(carry, before);
            if (lane == 0 && tile == l.tiles - 1)
                all(after);
            wi_barrier_arrive(&r.carried[k % wi_ring_entries]);
        }
    }

    /* Team: take(k, tile) puts what the warp needs into registers, finish(tile, carries) ends the
     * work on it. */
    template <class Take, class Finish>
    __device__ void finish_tiles(int team, Take take, Finish finish) const {
        for (int k = team;; k += Shape::teams) {
            const uint64_t tile = arrived(k);
            if (tile == wi_no_tile)
                return;
            wait_entry(r.totalled, k);
            take(k, tile);
            wi_barrier_arrive(&r.empty[k % Shape::slots]);
            wait_entry(r.carried, k);
            finish(tile, r.part[k % wi_ring_entries]);
        }
    }

  private:
    __device__ void announce(int k, uint64_t tile) const {
        if (k >= Shape::slots)
            wait_slot(r.empty, k - Shape::slots);
        r.tile[k % wi_ring_entries] = tile;
    }
};

#endif
