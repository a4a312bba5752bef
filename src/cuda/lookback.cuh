/* SPDX-License-Identifier: Apache-2.0 */
/* Look-back: how a tile finds the total of all tiles before it (its carry) while they are still
 * being processed.
 *
 * Tiles are taken in order from a counter, so that every tile a tile waits for is already running.
 * A tile publishes its own total as soon as it has it. Tiles form groups of 32, one for each lane.
 * The last tile of a group publishes the group's total when all its tiles have published theirs,
 * and, when it knows its own carry, the prefix: the carry at the start of the next group. To find
 * its carry, a warp takes the nearest published prefix, adds the totals of the groups after that,
 * one by one, and then the totals of the tiles before it in its own group. Of the nearest groups it
 * reads the tiles' own totals, which saves one wait.
 *
 * Whichever prefix it finds, the additions are made in the same order, because a prefix is the
 * result of the same chain of additions. So floating-point scans give the same bits on every run,
 * unlike a look-back that adds whatever is published already.
 *
 * Op is the operator: Op::combine(a, b) and Op::identity<Carry>(). A Carry is a number of up to 8
 * bytes, or a struct; it travels in words of 16 bytes, each with the number of the launch.
 *
 * With `ordered`, all that a block read before it published a total was read before any block that
 * has found a later carry writes. So outputs may overwrite the inputs of earlier tiles.
 *
 * Every published word contains the number of the launch (the epoch), so nothing needs to be
 * cleared between launches; the last block to leave starts the next epoch. Epochs have 32 bits:
 * after the last of them it clears all words, and begins anew. */
#ifndef WI_LOOKBACK_CUH
#define WI_LOOKBACK_CUH

#include "cuda/carries.cuh"
#include "cuda/limit.cuh"
#include "cuda/warp.cuh"

WI_LIMIT(unsigned, wi_group, 32)

/* Groups before its own whose tiles a warp reads one by one. */
template <class Op>
constexpr int wi_near_groups = 1;

/* For operators that add integers, if the totals of 1024 tiles stay below 2^32: any order gives the
 * same sum, so a warp adds them all at once. */
template <class Op>
constexpr bool wi_adds_counts = false;

/* For other operators that give the same in any order: Op::of_lanes(x) is the lanes' values
 * combined, in every lane. */
template <class Op>
constexpr bool wi_in_any_order = false;

/* The lanes' values combined, in every lane. */
template <class Op, class Carry>
__device__ inline Carry wi_combine_lanes(Carry x) {
    if constexpr (wi_adds_counts<Op>)
        return wi_warp_sum((uint32_t)x);
    else if constexpr (wi_in_any_order<Op>)
        return Op::of_lanes(x);
    else
        return wi_warp_reduce(x, [](Carry a, Carry b) { return Op::combine(a, b); });
}

/* The beginning of the scratch block; all zeros before the first launch. */
struct alignas(128) wi_lookback_header {
    unsigned long long next_tile;
    unsigned long long blocks_done;
    unsigned long long epoch; /* launches since words were cleared */
    unsigned long long words; /* the most that one of them had */
};

WI_LIMIT(uint64_t, wi_last_epoch, UINT32_MAX)

struct wi_lookback {
    wi_lookback_header *header;
    wi_posts totals;       /* one for each tile */
    wi_posts group_totals; /* one for each group */
    wi_posts prefixes; /* one for each group: the carry at its start; that of group 0 is known */
    uint64_t tiles;
    uint64_t words; /* of all of these */
    bool ordered;
    const uint32_t *counts; /* the tiles' totals, if counted before; else NULL */
};

__host__ __device__ inline uint64_t wi_tiles_of(size_t n, size_t per_tile) {
    return (n + per_tile - 1) / per_tile;
}

/* Words for that many tiles, with carries of so many. */
inline uint64_t wi_lookback_words(uint64_t tiles, int of_carry) {
    return (tiles + 2 * (tiles / wi_group + 1)) * (uint64_t)of_carry;
}

/* Bytes of scratch for that. */
inline size_t wi_lookback_bytes(uint64_t tiles, int words = 1) {
    return sizeof(wi_lookback_header) + (size_t)wi_lookback_words(tiles, words) * sizeof(wi_pair);
}

inline wi_lookback wi_lookback_in(void *scratch, uint64_t tiles, int words = 1) {
    const uint64_t groups = tiles / wi_group + 1, of_carry = (uint64_t)words;
    wi_lookback l;
    l.header = (wi_lookback_header *)scratch;
    l.totals = {(wi_pair *)(l.header + 1), tiles};
    l.group_totals = {l.totals.word + tiles * of_carry, groups};
    l.prefixes = {l.group_totals.word + groups * of_carry, groups};
    l.tiles = tiles;
    l.words = wi_lookback_words(tiles, words);
    l.ordered = false;
    l.counts = NULL;
    return l;
}

/* The number that marks this launch's words. Read it before the block's first tile. */
__device__ inline uint64_t wi_lookback_epoch(const wi_lookback &l) {
    return l.header->epoch + 1;
}

__device__ inline uint64_t wi_lookback_take_tile(const wi_lookback &l) {
    return wi_take_number(&l.header->next_tile);
}

/* By the last thread of a launch: what it published is not of the next one. The arrays of words lie
 * one after another, totals first. */
__device__ inline void wi_lookback_end_epoch(const wi_lookback &l) {
    wi_lookback_header *const header = l.header;
    if (header->words < l.words)
        header->words = l.words;
    header->epoch += 1;
    if (header->epoch < wi_last_epoch)
        return;
    for (uint64_t k = 0; k < header->words; k++)
        l.totals.word[k] = {0, 0};
    header->epoch = 0;
}

/* Called by one thread of each block, when the block will access no more tiles. True in the block
 * that leaves last, which then sees what such threads of all others wrote before. */
__device__ inline bool wi_lookback_leave(const wi_lookback &l, unsigned blocks) {
    __threadfence();
    if (atomicAdd(&l.header->blocks_done, 1ull) + 1 != blocks)
        return false;
    __threadfence();
    l.header->next_tile = 0;
    l.header->blocks_done = 0;
    wi_lookback_end_epoch(l);
    return true;
}

/* Orders a block's memory accesses before the words it publishes, or the words it reads before its
 * accesses. */
__device__ inline void wi_lookback_fence(const wi_lookback &l) {
    if (l.ordered)
        __threadfence();
}

/* The same for a warp whose lane 0 publishes the word. Votes and shuffles do not order memory, so
 * without this the other lanes' reads would not come before that word. */
__device__ inline void wi_lookback_warp_fence(const wi_lookback &l) {
    if (l.ordered) {
        __threadfence();
        __syncwarp();
    }
}

/* Publishes the total of `tile`. Called by one thread. */
template <class Carry>
__device__ inline void wi_publish_total(const wi_lookback &l, uint64_t epoch, uint64_t tile,
                                        Carry total) {
    wi_lookback_fence(l);
    wi_post(l.totals, tile, total, epoch);
}

/* Does `tile` publish the total of its group? */
__device__ inline bool wi_ends_group(uint64_t tile) {
    return tile % wi_group == wi_group - 1;
}

/* Does this lane stand for a tile of a whole group? All lanes do, unless a test makes groups
 * smaller. */
__device__ inline bool wi_is_in_group() {
    return (unsigned)wi_lane() < wi_group;
}

/* The totals of a whole group combined, in every lane. */
template <class Op, class Carry>
__device__ inline Carry wi_combine_group(const Carry &total) {
    return wi_combine_lanes<Op>(wi_is_in_group() ? total : Op::template identity<Carry>());
}

/* Waits for all totals of the group that ends with `tile`, and publishes the group's total. Called
 * by one warp. */
template <class Op, class Carry>
__device__ void wi_publish_group(const wi_lookback &l, uint64_t epoch, uint64_t tile) {
    const uint64_t mine = tile - (wi_group - 1) + (wi_is_in_group() ? (unsigned)wi_lane() : 0);
    wi_posted<Carry> posted = wi_read_posted<Carry>(l.totals, mine);
    while (!__all_sync(wi_all_lanes, posted.is_in(epoch))) {
        wi_spin();
        posted = wi_read_posted<Carry>(l.totals, mine);
    }
    const Carry total = wi_combine_group<Op, Carry>(posted.carry());
    wi_lookback_warp_fence(l);
    if (wi_lane() == 0) {
        wi_lookback_fence(l);
        wi_post(l.group_totals, tile / wi_group, total, epoch);
    }
}

/* What a lane reads in one look: a tile's total in the warp's own group and in each near group
 * before it; and, as many groups back as the lane's number, a prefix and the total of the group
 * after that prefix. */
template <class Op, class Carry>
struct wi_view {
    wi_posted<Carry> own, near[wi_near_groups<Op>], prefix, group_total;
};

/* All loads are started together: a look takes one latency of the second-level cache. */
template <class Op, class Carry>
__device__ inline wi_view<Op, Carry> wi_look(const wi_lookback &l, uint64_t tile) {
    const uint64_t lane = (uint64_t)wi_lane();
    const uint64_t group = tile / wi_group, first = group * wi_group;
    wi_view<Op, Carry> view = {};
    if (first + lane < tile)
        view.own = wi_read_posted<Carry>(l.totals, first + lane);
#pragma unroll
    for (int k = 0; k < wi_near_groups<Op>; k++)
        if ((uint64_t)k < group && wi_is_in_group())
            view.near[k] =
                wi_read_posted<Carry>(l.totals, first - (uint64_t)(k + 1) * wi_group + lane);
    if (lane < group) {
        view.prefix = wi_read_posted<Carry>(l.prefixes, group - lane);
        view.group_total = wi_read_posted<Carry>(l.group_totals, group - 1 - lane);
    }
    return view;
}

/* What a look has brought: carries, and whether they are in, which takes half the registers. */
template <class Op, class Carry>
struct wi_sight {
    wi_seen<Carry> own, near[wi_near_groups<Op>], prefix, group_total;
};
template <class Op, class Carry>
__device__ inline wi_sight<Op, Carry> wi_seen_in(const wi_view<Op, Carry> &view, uint64_t epoch) {
    wi_sight<Op, Carry> sight;
    sight.own = wi_seen_of(view.own, epoch);
#pragma unroll
    for (int k = 0; k < wi_near_groups<Op>; k++)
        sight.near[k] = wi_seen_of(view.near[k], epoch);
    sight.prefix = wi_seen_of(view.prefix, epoch);
    sight.group_total = wi_seen_of(view.group_total, epoch);
    return sight;
}

/* Lane k gets the total of the group k + 1 back, and whether it has been published. */
template <class Op, class Carry>
__device__ inline Carry wi_group_total(const wi_sight<Op, Carry> &sight, bool *in) {
    *in = sight.group_total.in;
    Carry total = sight.group_total.carry;
#pragma unroll
    for (int k = 0; k < wi_near_groups<Op>; k++) {
        if (!__all_sync(wi_all_lanes, sight.near[k].in || !wi_is_in_group()))
            continue;
        const Carry near = wi_combine_group<Op, Carry>(sight.near[k].carry);
        if (wi_lane() == k) {
            total = near;
            *in = true;
        }
    }
    return total;
}

/* How many groups back the nearest prefix is; -1 if none is known yet. */
template <class Op, class Carry>
__device__ inline int wi_nearest_prefix(const wi_sight<Op, Carry> &sight, uint64_t group) {
    const uint64_t lane = (uint64_t)wi_lane();
    /* All know the prefix of group 0. */
    const bool prefix = lane == group || (lane < group && sight.prefix.in);
    return __ffs((int)__ballot_sync(wi_all_lanes, prefix)) - 1;
}

/* The carry at the start of the tile's group, in every lane; false if it cannot be found yet. */
template <class Op, class Carry>
__device__ inline bool wi_group_carry(const wi_sight<Op, Carry> &sight, uint64_t group,
                                      const Carry &start, Carry *carry) {
    const int back = wi_nearest_prefix(sight, group);
    if (back < 0)
        return false;
    bool in;
    const Carry total = wi_group_total<Op, Carry>(sight, &in);
    if (!__all_sync(wi_all_lanes, in || wi_lane() >= back))
        return false;
    *carry = (uint64_t)back == group ? start : wi_shuffle(sight.prefix.carry, back);
    if constexpr (wi_adds_counts<Op>) {
        *carry += wi_combine_lanes<Op>(wi_lane() < back ? total : 0);
    } else {
        for (int k = back - 1; k >= 0; k--)
            *carry = Op::combine(*carry, wi_shuffle(total, k));
    }
    return true;
}

/* The carry at the start of the tile at this place in its group, in every lane, found from the
 * carry at the group's start; *after gets the carry at the tile's end. */
template <class Op, class Carry>
__device__ inline Carry wi_carry_in_group(const wi_sight<Op, Carry> &sight, unsigned place,
                                          Carry carry, const Carry &total, Carry *after) {
    const unsigned lane = (unsigned)wi_lane();
    const Carry seen = sight.own.carry;
    if constexpr (wi_adds_counts<Op>) {
        carry += wi_combine_lanes<Op>(lane < place ? seen : 0);
        *after = carry + total;
        return carry;
    } else {
        const auto combine = [](Carry a, Carry b) { return Op::combine(a, b); };
        Carry own = Op::template identity<Carry>();
        if (lane <= place)
            own = lane < place ? seen : total;
        const Carry running = combine(carry, wi_warp_scan(own, combine));
        *after = wi_shuffle(running, (int)place);
        const Carry before = wi_shuffle(running, (int)(place == 0 ? 0 : place - 1));
        return place == 0 ? carry : before;
    }
}

/* The carry at the start of `tile`, in every lane, if any order will do: each lane combines what it
 * sees, and then all do once. False if it cannot be found yet. */
template <class Op, class Carry>
__device__ inline bool wi_carry_in_any_order(const wi_sight<Op, Carry> &sight, uint64_t tile,
                                             const Carry &start, Carry *carry) {
    const int lane = wi_lane(), place = (int)(tile % wi_group);
    const uint64_t group = tile / wi_group;
    const int back = wi_nearest_prefix(sight, group);
    Carry mine = Op::template identity<Carry>();
    if (back < 0)
        return false;
    bool by_tiles = false; /* the tiles stand for the group of this lane's look */
#pragma unroll
    for (int k = 0; k < wi_near_groups<Op>; k++) {
        if (k >= back || !__all_sync(wi_all_lanes, sight.near[k].in || !wi_is_in_group()))
            continue;
        by_tiles = by_tiles || lane == k;
        if (wi_is_in_group())
            mine = Op::combine(mine, sight.near[k].carry);
    }
    const bool in =
        (lane >= back || by_tiles || sight.group_total.in) && (lane >= place || sight.own.in);
    if (!__all_sync(wi_all_lanes, in))
        return false;
    if (lane < back && !by_tiles)
        mine = Op::combine(mine, sight.group_total.carry);
    if (lane < place)
        mine = Op::combine(mine, sight.own.carry);
    const Carry prefix = (uint64_t)back == group ? start : wi_shuffle(sight.prefix.carry, back);
    *carry = Op::combine(prefix, wi_combine_lanes<Op>(mine));
    return true;
}

/* The carry at the start of `tile`, in every lane, and at its end, from one look; false if it
 * cannot be found yet. */
template <class Op, class Carry>
__device__ inline bool wi_carry_seen(const wi_sight<Op, Carry> &sight, uint64_t tile,
                                     const Carry &start, const Carry &total, Carry *before,
                                     Carry *after) {
    const uint64_t group = tile / wi_group;
    const unsigned place = (unsigned)(tile % wi_group);
    if constexpr (wi_in_any_order<Op>) {
        if (!wi_carry_in_any_order<Op>(sight, tile, start, before))
            return false;
        *after = Op::combine(*before, total);
    } else {
        Carry carry;
        const bool in = (unsigned)wi_lane() >= place || sight.own.in;
        if (!__all_sync(wi_all_lanes, in) || !wi_group_carry<Op>(sight, group, start, &carry))
            return false;
        *before = wi_carry_in_group<Op>(sight, place, carry, total, after);
    }
    return true;
}

/* The carry at the start of `tile`, in every lane, from a look that the warp began before, or later
 * ones; *after gets the carry at the tile's end. Called by a whole warp, after the tile's total was
 * published. */
template <class Op, class Carry>
__device__ Carry wi_find_carry_from(wi_view<Op, Carry> view, const wi_lookback &l, uint64_t epoch,
                                    uint64_t tile, const Carry &start, const Carry &total,
                                    Carry *after) {
    Carry before;
    while (!wi_carry_seen(wi_seen_in(view, epoch), tile, start, total, &before, after)) {
        wi_spin();
        view = wi_look<Op, Carry>(l, tile);
    }
    wi_lookback_warp_fence(l);
    if (wi_lane() == 0 && wi_ends_group(tile)) {
        wi_lookback_fence(l);
        wi_post(l.prefixes, tile / wi_group + 1, *after, epoch);
    }
    return before;
}
template <class Op, class Carry>
__device__ Carry wi_find_carry(const wi_lookback &l, uint64_t epoch, uint64_t tile,
                               const Carry &start, const Carry &total, Carry *after) {
    return wi_find_carry_from(wi_look<Op, Carry>(l, tile), l, epoch, tile, start, total, after);
}

/* The carries of tiles whose totals are already known. Tiles must be asked for in ascending order.
 */
struct wi_counted_tiles {
    const uint32_t *counts;
    uint64_t tile = 0, carry = 0; /* of the tile asked for last */

    /* The total of the tiles before `next`, in every lane. Called by a whole warp. */
    __device__ uint64_t before(uint64_t next) {
        constexpr unsigned at_once = 8; /* a block's tiles are as far apart as there are blocks */
        uint64_t sum = 0;
        for (uint64_t k = tile + (unsigned)wi_lane(); k < next; k += 32 * at_once) {
            uint32_t count[at_once];
#pragma unroll
            for (unsigned j = 0; j < at_once; j++)
                count[j] = k + 32 * j < next ? counts[k + 32 * j] : 0;
#pragma unroll
            for (unsigned j = 0; j < at_once; j++)
                sum += count[j];
        }
        tile = next;
        carry += wi_warp_reduce(sum, [](uint64_t a, uint64_t b) { return a + b; });
        return carry;
    }
};

#endif
