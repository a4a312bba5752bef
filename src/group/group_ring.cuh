/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of keys and elements in a ring (cuda/ring.cuh), for the rungs "bulk" of scan and reduction
 * by key: each reads both once and passes on what a tile leaves open by look-back.
 *
 * Bulk copies bring a tile's keys and elements. Eight preparers, a warp for each part of the tile,
 * compare keys and make one bit of each element that begins a run, and find what the part leaves
 * open: only elements from its last such bit on count. The totaller then has eight states to
 * combine, so its tile is published soon after it has come. What finishers do is the rung's.
 *
 * Includes of this file name cuda/ring.cuh, too, which the build looks for in .cu files. */
#ifndef WI_GROUP_RING_CUH
#define WI_GROUP_RING_CUH

#include "cuda/ring.cuh"
#include "group/group_carry.cuh"

/* A Shape of a rung has its own numbers of totallers and lookers. */
struct wi_run_shape {
    static constexpr int slots = 6, preparers = 1, preparer_warps = 8, totallers = 1, lookers = 1,
                         starters = 0, finishers = 2, finisher_warps = 8, parts = 8;
};

/* A tile in shared memory: keys, elements, and the bits of those that begin a run. */
template <class T>
struct wi_run_slot {
    static constexpr unsigned elements = sizeof(T) == 8 ? 2048 : 4096,
                              part = elements / wi_run_shape::parts, words = part / 32,
                              key_bytes = sizeof(T) == 8 ? 8 : 4; /* of one, at most */
    static constexpr unsigned lead = 16; /* room for what is before the first key */
    static constexpr unsigned x_at = lead + elements * key_bytes,
                              bits_at = x_at + elements * (unsigned)sizeof(T),
                              bytes = bits_at + elements / 8;
    static constexpr unsigned count = wi_vector<T>::count, rows = part / (32 * count);
};

/* What is open before each lane, of lanes that leave `open` behind; those of `begun` begin a run.
 * *carry goes from before the first lane to behind the last. */
template <class Combiner, class State>
__device__ inline State wi_open_before(const Combiner &combiner, State open, unsigned begun,
                                       State *carry) {
    const unsigned lane = (unsigned)wi_lane(), before = begun & ((1u << lane) - 1);
    const unsigned up_to = begun & (wi_all_lanes >> (31 - lane));
    const unsigned reach = up_to ? lane - (31 - (unsigned)__clz((int)up_to)) : lane;
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
        const State other = wi_shuffle_up(open, (int)step);
        if (step <= reach)
            open = combiner.combine(other, open);
    }
    const State last = wi_shuffle_up(open, 1), end = wi_shuffle(open, 31);
    const State start = *carry;
    *carry = begun ? end : combiner.combine(start, end);
    return lane == 0 ? start : before ? last : combiner.combine(start, last);
}

/* What the preparers find in the parts of the tiles in progress. */
template <class State>
using wi_run_parts = wi_run_carry<State>[wi_ring_entries][wi_run_shape::parts];

/* A block at work. Combiner combines states; the elements are x[0] ... x[n - 1]. */
template <class Shape, class Combiner, class State, class T>
struct wi_run_ring {
    using Carry = wi_run_carry<State>;
    using Follow = wi_follow_runs<Combiner>;
    using Slot = wi_run_slot<T>;
    using Vector = wi_vector<T>;
    using ring_block = wi_ring_block<Shape, Follow, Carry>;
    using ring_memory = wi_ring<Shape, Carry>;

    const ring_block &ring;
    const T *x;
    uint64_t n;
    wi_run_heads heads;
    wi_run_parts<State> &opens;
    unsigned char *memory; /* of all slots */

    __device__ unsigned char *slot(int k) const {
        return memory + (size_t)(k % wi_run_shape::slots) * Slot::bytes;
    }
    __device__ static uint64_t first_of(uint64_t tile) {
        return tile * Slot::elements;
    }
    __device__ bool is_broken(uint64_t tile) const {
        return first_of(tile) + Slot::elements > n;
    }
    template <class Key>
    __device__ Key *keys_of(int k) const {
        return (Key *)(slot(k) + Slot::lead);
    }
    __device__ T *elements_of(int k) const {
        return (T *)(slot(k) + Slot::x_at);
    }
    __device__ uint32_t *bits_of(int k) const {
        return (uint32_t *)(slot(k) + Slot::bits_at);
    }

    /* For the copier: the last tile, if incomplete, is left for the preparers to load. */
    __device__ void load(int k, uint64_t tile, wi_barrier *loaded) const {
        if (is_broken(tile)) {
            wi_barrier_arrive(loaded);
            return;
        }
        const uint32_t lead = tile > 0 && !heads.flags ? Slot::lead : 0;
        const uint32_t of_keys = Slot::elements * heads.width + lead;
        const uint32_t of_x = Slot::elements * (uint32_t)sizeof(T);
        wi_barrier_arrive_expect(loaded, of_keys + of_x);
        wi_bulk_load(slot(k) + Slot::lead - lead,
                     (const unsigned char *)heads.at + first_of(tile) * heads.width - lead, of_keys,
                     loaded);
        wi_bulk_load(elements_of(k), x + first_of(tile), of_x, loaded);
    }

    /* Where this lane's vector of a row of a part begins in its tile. */
    __device__ static unsigned place_of(int part, unsigned row) {
        return (unsigned)part * Slot::part + (row * 32 + (unsigned)wi_lane()) * Slot::count;
    }
    __device__ Vector *vector_of(int k, int part, unsigned row) const {
        return (Vector *)(elements_of(k) + place_of(part, row));
    }

    /* Does the element at a place of the array begin a run? */
    template <class Key>
    __device__ bool begins_at(uint64_t at) const {
        const Key *const key = (const Key *)heads.at;
        if (at >= n)
            return false;
        return heads.flags ? key[at] != 0 : at == 0 || key[at] != key[at - 1];
    }

    /* Loads a part that the copier has left; returns its bits, word w in lane w. */
    template <class Key>
    __device__ uint32_t fetch(int k, uint64_t tile, int part) const {
        uint32_t mine = 0;
#pragma unroll 1
        for (int w = 0; w < (int)Slot::words; w++) {
            const unsigned i = (unsigned)part * Slot::part + (unsigned)(w * 32 + wi_lane());
            const uint64_t at = first_of(tile) + i;
            elements_of(k)[i] = at < n ? x[at] : T();
            keys_of<Key>(k)[i] = at < n ? ((const Key *)heads.at)[at] : Key();
            const uint32_t bits = __ballot_sync(wi_all_lanes, begins_at<Key>(at));
            if (wi_lane() == w)
                mine = bits;
        }
        return mine;
    }

    /* The bits of a part that has come whole. */
    template <class Key>
    __device__ uint32_t mark(int k, uint64_t tile, int part) const {
        const unsigned first = (unsigned)part * Slot::part + (unsigned)wi_lane();
        const Key *const key = keys_of<Key>(k) + first;
        const bool is_start = first_of(tile) + first == 0;
        uint32_t mine = 0;
#pragma unroll
        for (int w = 0; w < (int)Slot::words; w++) {
            bool begins;
            if (sizeof(Key) == 1 && heads.flags)
                begins = key[w * 32] != 0;
            else
                begins = (w == 0 && is_start) || key[w * 32] != key[w * 32 - 1];
            const uint32_t bits = __ballot_sync(wi_all_lanes, begins);
            if (wi_lane() == w)
                mine = bits;
        }
        return mine;
    }

    /* What a part leaves open: the elements from `from` on, of those before `end`. */
    template <class Take>
    __device__ State open_of(int k, int part, unsigned from, unsigned end, State start,
                             Take take) const {
        State state = Combiner{}.identity();
#pragma unroll
        for (unsigned row = 0; row < Slot::rows; row++) {
            const unsigned place = place_of(0, row);
            if (from >= (row + 1) * 32 * Slot::count || row * 32 * Slot::count >= end)
                continue;
            const Vector v = *vector_of(k, part, row);
#pragma unroll
            for (unsigned e = 0; e < Slot::count; e++)
                if (place + e >= from && place + e < end)
                    state = take(state, v.at[e], place + e);
        }
        const State all = wi_warp_reduce(
            state, [](const State &a, const State &b) { return Combiner{}.combine(a, b); });
        return Combiner{}.combine(start, all);
    }

    /* For the preparers. start: what a run begins with; take(state, x, index) adds an element. */
    template <class Take>
    __device__ void prepare(int k, uint64_t tile, int part, State start, Take take) const {
        uint32_t bits = 0;
        wi_with_key(heads.width, [&](auto tag) {
            using Key = typename decltype(tag)::type;
            bits = is_broken(tile) ? fetch<Key>(k, tile, part) : mark<Key>(k, tile, part);
        });
        const unsigned lane = (unsigned)wi_lane();
        if (lane < Slot::words)
            bits_of(k)[(unsigned)part * Slot::words + lane] = bits;
        __syncwarp(); /* what the lanes have fetched is there for all */
        const uint32_t runs = wi_warp_sum((uint32_t)__popc(bits));
        const uint32_t behind = wi_warp_max(bits ? lane * 32 + 32 - (uint32_t)__clz((int)bits) : 0);
        const uint64_t first = first_of(tile) + (unsigned)part * Slot::part;
        const uint64_t left = first < n ? n - first : 0;
        const State open = open_of(
            k, part, behind > 0 ? behind - 1 : 0, left < Slot::part ? (unsigned)left : Slot::part,
            behind > 0 ? start : Combiner{}.identity(),
            [&](State s, T value, unsigned i) { return take(s, value, first + i); });
        if (lane == 0)
            opens[k % wi_ring_entries][part] = {open, runs};
        wi_bulk_fence(); /* the copy engine will write there */
    }

    /* For the totaller: what is open after each part, and after those before it. */
    __device__ Carry total(int k) const {
        Carry mine = Follow::template identity<Carry>();
        if (wi_lane() < wi_run_shape::parts)
            mine = opens[k % wi_ring_entries][wi_lane()];
        return wi_warp_scan(mine,
                            [](const Carry &a, const Carry &b) { return Follow::combine(a, b); });
    }
};

/* The blocks of a launch: one on each multiprocessor, for the slots take most of its memory. */
inline unsigned wi_run_blocks(const weft_context *ctx, uint64_t tiles) {
    const uint64_t resident = (uint64_t)ctx->gpu->multiprocessors;
    return (unsigned)(tiles < resident ? tiles : resident);
}

#endif
