/* SPDX-License-Identifier: Apache-2.0 */
/* One pass that partitions elements by range and keeps their order. A tile finds the range of each
 * of its elements, learns by look-back how many of each range the tiles before it have, sorts
 * itself by ranges in shared memory, and writes a run for each range. */
#ifndef WI_SORT_RANGES_CUH
#define WI_SORT_RANGES_CUH

#include "cuda/limit.cuh"
#include "cuda/memory.cuh"
#include "cuda/warp.cuh"
#include "sort/sort_key.cuh"
#include "sort/sort_ranges.h"

constexpr int wi_few_bits = 3;  /* of numbers of ranges whose bounds are kept in registers */
constexpr int wi_most_bits = 5; /* of any */

template <class K, class V>
struct wi_deal_tile {
    static constexpr int threads = 512, warps = threads / 32, items = 64 / sizeof(K);
    static constexpr int elements = threads * items;
    static constexpr unsigned values_at = elements * sizeof(K);
    static constexpr unsigned ranges_at =
        values_at + (wi_has_values<V> ? elements * (unsigned)sizeof(V) : 0);
    static constexpr size_t shared_bytes = ranges_at + elements; /* a byte tells the range */
};

template <class K, class V>
struct wi_deal_args {
    const K *x;
    const V *values; /* NULL: the values are the positions in the whole */
    uint64_t first;
    size_t n;
    wi_key_map<K> map;
    bool maps; /* keys differ from the elements' bits */
    int count;
    const wi_sort_bounds *bounds;
    K *keys[WI_SORT_MOST_RANGES];
    V *out[WI_SORT_MOST_RANGES];
    uint64_t room[WI_SORT_MOST_RANGES];
    uint64_t *counts;
    wi_pair *status; /* of each tile and range; zeros at first */
    unsigned long long *next_tile;
};

/* Tiles that a look back sees at once. */
WI_LIMIT(unsigned, wi_deal_looks, 32)

/* What a tile's status says of a range. */
enum {
    WI_DEAL_OWN = 1, /* how many elements of it the tile has */
    WI_DEAL_ALL      /* how many it and all tiles before it have */
};

/* What the threads of a block share, besides the staged elements. Here ranges are numbered from the
 * first one on that an element of the tile can be of. */
template <class K, class V, int warps>
struct wi_deal_shared {
    uint64_t tile;
    K above[WI_SORT_MOST_RANGES]; /* elements of range k + 1 and later have keys above this */
    int first_range;              /* the number among all of range 0 */
    uint32_t full;                /* runs for which there is no memory */
    uint32_t begin[warps][WI_SORT_MOST_RANGES]; /* a warp's elements of a range, then their place */
    uint32_t total[WI_SORT_MOST_RANGES], first[WI_SORT_MOST_RANGES]; /* the tile's, in the tile */
    K *key[WI_SORT_MOST_RANGES]; /* where the element at place 0 of the tile would go */
    V *value[WI_SORT_MOST_RANGES];
};

template <class K, class V>
struct wi_deal_block {
    using tile = wi_deal_tile<K, V>;
    using shared_memory = wi_deal_shared<K, V, tile::warps>;
    static constexpr int items = tile::items;
    static constexpr unsigned pointer_bytes = sizeof(void *);
    static_assert(WI_SORT_MOST_RANGES * pointer_bytes <= 256, "a byte is an offset of a pointer");

    const wi_deal_args<K, V> &p;
    unsigned char *const memory; /* keys, values, offsets of the range's pointers */
    shared_memory &shared;
    const size_t begin;   /* of the tile, among this rank's elements */
    const unsigned count; /* elements of the tile */
    const int thread = (int)threadIdx.x;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned in_tile = warp * 32 * items + lane; /* this thread's first element */

    __device__ bool is_full() const {
        return count == tile::elements;
    }

    template <class T>
    __device__ void load(const T *x, T (&element)[items]) const {
        wi_load_striped(x + begin, in_tile, count, is_full(), T{}, element);
    }

    /* Those beyond the end become the last of the last range. */
    __device__ void load_keys(K (&key)[items]) const {
        load(p.x, key);
        if (p.maps) {
#pragma unroll
            for (int i = 0; i < items; i++)
                key[i] = p.map.key(key[i]);
        }
        if (is_full())
            return;
#pragma unroll
        for (int i = 0; i < items; i++)
            key[i] = in_tile + (unsigned)i * 32 < count ? key[i] : (K) ~(K)0;
    }

    /* The bounds as keys, for a tile that is all before or all behind each of their positions: with
     * tiles on the side of their first element, order is kept all the same. A bound that all keys
     * have reached makes range 0 a later one, and none reaches the last ones. Called by a warp. */
    __device__ void read_bounds() const {
        const bool is_bound = thread < p.count - 1;
        const K key = is_bound ? (K)p.bounds->key[thread] : (K) ~(K)0;
        const bool behind = is_bound && p.first + begin >= p.bounds->position[thread];
        const int reached = __popc(__ballot_sync(wi_all_lanes, behind && key == 0));
        const K above = behind ? (K)(key - 1) : key;
        shared.above[thread] = (K) ~(K)0;
        __syncwarp();
        if (thread >= reached)
            shared.above[thread - reached] = above;
        if (thread == 0) {
            shared.first_range = reached;
            shared.full = 0;
        }
    }

    /* The range of a key: above how many of the bounds, which ascend, it is. */
    template <int bits>
    __device__ unsigned range_of(K key, const K (&above)[(1 << wi_few_bits) - 1]) const {
        if constexpr (bits == wi_few_bits) {
            const bool high = key > above[3];
            const bool middle = key > (high ? above[5] : above[1]);
            const K one = middle ? above[6] : above[4], other = middle ? above[2] : above[0];
            return (high ? 4u : 0u) | (middle ? 2u : 0u) | (key > (high ? one : other) ? 1u : 0u);
        }
        unsigned range = 0;
#pragma unroll
        for (unsigned step = 1u << (bits - 1); step > 0; step /= 2)
            range += key > shared.above[range + step - 1] ? step : 0;
        return range;
    }

    /* slot = 4 times the element's range << 16 | how many of the warp's elements of that range come
     * before it; and leaves how many the warp has of each. */
    template <int bits>
    __device__ void rank(const K (&key)[items], uint32_t (&slot)[items]) const {
        const unsigned lower = (1u << lane) - 1;
        uint32_t counted = 0; /* of range number `lane` */
        unsigned others[bits];
        K above[(1 << wi_few_bits) - 1];
#pragma unroll
        for (int k = 0; k < (1 << wi_few_bits) - 1; k++)
            above[k] = shared.above[k];
#pragma unroll
        for (int bit = 0; bit < bits; bit++)
            others[bit] = lane >> bit & 1 ? 0 : wi_all_lanes;
#pragma unroll
        for (int i = 0; i < items; i++) {
            const unsigned range = range_of<bits>(key[i], above);
            unsigned same = wi_all_lanes, mine = wi_all_lanes;
#pragma unroll
            for (int bit = 0; bit < bits; bit++) {
                const bool is_set = range >> bit & 1;
                const unsigned set = __ballot_sync(wi_all_lanes, is_set);
                same &= set ^ (is_set ? 0 : wi_all_lanes);
                mine &= set ^ others[bit];
            }
            slot[i] =
                range << 18 | (wi_shuffle(counted, (int)range) + (uint32_t)__popc(same & lower));
            counted += (uint32_t)__popc(mine);
        }
        shared.begin[warp][lane] = lane < 1u << bits ? counted : 0;
    }

    __device__ wi_pair *status(uint64_t of_tile, int range) const {
        return p.status + of_tile * (unsigned)p.count + range;
    }

    /* How many elements of a range, numbered among all, the tiles before this one hold: 32 of them
     * at a time, one a lane, back to one that tells of all before. */
    __device__ uint64_t look_back(int range) const {
        int64_t nearest = (int64_t)shared.tile - 1;
        uint64_t sum = 0;
        while (true) {
            const int64_t at = nearest - lane;
            wi_pair word = {0, (uint64_t)(lane < wi_deal_looks ? WI_DEAL_ALL : WI_DEAL_OWN)};
            if (at >= 0 && lane < wi_deal_looks)
                word = wi_read_pair(status((uint64_t)at, range));
            const unsigned in = __ballot_sync(wi_all_lanes, word.flag != 0),
                           all = __ballot_sync(wi_all_lanes, word.flag == WI_DEAL_ALL);
            const unsigned first_all = all & (0 - all), before = first_all - 1; /* all, if none */
            if ((in & before) != before) {
                wi_spin();
                continue;
            }
            sum += wi_warp_sum(before >> lane & 1 ? (uint32_t)word.value : 0);
            if (all)
                return sum + wi_shuffle(word.value, __ffs((int)all) - 1);
            nearest -= wi_deal_looks;
        }
    }

    /* Turns the warps' counts into the places in the tile where their elements of each range begin,
     * and publishes the tile's. Each thread of a warp has a range; those before range 0 and behind
     * the last have no elements. */
    __device__ void place_ranges() const {
        uint32_t total = 0;
#pragma unroll
        for (int w = 0; w < tile::warps; w++)
            total += shared.begin[w][thread];
        uint32_t next = wi_warp_scan(total, [](uint32_t a, uint32_t b) { return a + b; }) - total;
        const uint32_t end = next + total; /* may be beyond the tile's last element */
        total = end <= count ? total : count > next ? count - next : 0;
        shared.total[thread] = total;
        shared.first[thread] = next;
        const int range = thread + shared.first_range;
        if (range < p.count)
            wi_write_pair(status(shared.tile, range), total,
                          shared.tile == 0 ? WI_DEAL_ALL : WI_DEAL_OWN);
        if (thread < shared.first_range)
            wi_write_pair(status(shared.tile, thread), 0,
                          shared.tile == 0 ? WI_DEAL_ALL : WI_DEAL_OWN);
#pragma unroll
        for (int w = 0; w < tile::warps; w++) {
            const uint32_t of_warp = shared.begin[w][thread];
            shared.begin[w][thread] = next;
            next += of_warp;
        }
    }

    /* Finds where the tile's run of a range goes. Called by a warp. */
    __device__ void find_place(int range) const {
        const int here = range - shared.first_range;
        const uint32_t total = here >= 0 ? shared.total[here] : 0;
        const uint64_t before = shared.tile == 0 ? 0 : look_back(range), all = before + total;
        if (lane > 0)
            return;
        if (shared.tile > 0)
            wi_write_pair(status(shared.tile, range), all, WI_DEAL_ALL);
        if (shared.tile == gridDim.x - 1)
            p.counts[range] = all;
        if (all > p.room[range])
            atomicAdd(&shared.full, 1u);
        if (total == 0 || all > p.room[range])
            return;
        const uint64_t at = before - shared.first[here];
        shared.key[here] = p.keys[range] + at;
        if constexpr (wi_has_values<V>)
            shared.value[here] = p.out[range] + at;
    }

    /* Puts the keys to their places in the tile; slot becomes the place. */
    __device__ void stage_keys(const K (&key)[items], uint32_t (&slot)[items]) const {
        const unsigned char *const begins = (const unsigned char *)shared.begin[warp];
#pragma unroll
        for (int i = 0; i < items; i++) {
            const unsigned offset = slot[i] >> 16;
            const uint32_t place = *(const uint32_t *)(begins + offset) + (slot[i] & 0xffff);
            slot[i] = place;
            ((K *)memory)[place] = key[i];
            memory[tile::ranges_at + place] = (unsigned char)(offset * (pointer_bytes / 4));
        }
    }

    __device__ void stage_values(const uint32_t (&slot)[items]) const {
        V value[items];
        if (p.values) {
            load(p.values, value);
        } else {
#pragma unroll
            for (int i = 0; i < items; i++)
                value[i] = (V)(p.first + begin + in_tile + (unsigned)i * 32);
        }
#pragma unroll
        for (int i = 0; i < items; i++)
            ((V *)(memory + tile::values_at))[slot[i]] = value[i];
    }

    template <class T>
    __device__ static T *target(T *const *table, unsigned offset) {
        return *(T *const *)((const unsigned char *)table + offset);
    }

    /* Writes what is staged at place `thread` + at, a constant. */
    template <class Finish>
    __device__ void write(int at, Finish finish) const {
        const unsigned offset = (memory + tile::ranges_at + thread)[at];
        (target(shared.key, offset) + thread)[at] = finish(((const K *)memory + thread)[at]);
        if constexpr (wi_has_values<V>)
            (target(shared.value, offset) + thread)[at] =
                ((const V *)(memory + tile::values_at) + thread)[at];
    }

    template <class Finish>
    __device__ void write_out(Finish finish) const {
#pragma unroll
        for (int at = 0; at < tile::elements; at += tile::threads)
            if (is_full() || (unsigned)(thread + at) < count)
                write(at, finish);
    }

    __device__ void run() const {
        K key[items];
        uint32_t slot[items];
        load_keys(key);
        if (p.count <= 1 << wi_few_bits)
            rank<wi_few_bits>(key, slot);
        else
            rank<wi_most_bits>(key, slot);
        __syncthreads();
        if (thread < WI_SORT_MOST_RANGES)
            place_ranges();
        __syncthreads();
        stage_keys(key, slot);
        if constexpr (wi_has_values<V>)
            stage_values(slot);
        for (int range = (int)warp; range < p.count; range += tile::warps)
            find_place(range);
        __syncthreads();
        if (shared.full)
            return;
        if (p.maps)
            write_out([&](K k) { return p.map.bits(k); });
        else
            write_out([](K k) { return k; });
    }
};

template <class K, class V>
__global__ void __launch_bounds__((wi_deal_tile<K, V>::threads), 2) deal(wi_deal_args<K, V> p) {
    using tile = wi_deal_tile<K, V>;
    using shared_memory = wi_deal_shared<K, V, tile::warps>;
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(shared_memory, shared, );
    if (threadIdx.x == 0)
        shared.tile = wi_take_number(p.next_tile);
    __syncthreads();
    const size_t begin = (size_t)shared.tile * tile::elements, left = p.n - begin;
    const wi_deal_block<K, V> block = {p, memory, shared, begin,
                                       left < tile::elements ? (unsigned)left : tile::elements};
    if (threadIdx.x < WI_SORT_MOST_RANGES)
        block.read_bounds();
    __syncthreads();
    block.run();
}

#endif
