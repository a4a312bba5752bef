/* SPDX-License-Identifier: Apache-2.0 */
/* One pass that puts elements to the others of their range, in their order. A tile finds the range
 * of each of its elements, learns by look-back how many of each range the tiles before it have,
 * sorts itself by ranges in shared memory, and writes a run for each range. */
#ifndef WI_SORT_RANGES_CUH
#define WI_SORT_RANGES_CUH

#include "cuda/memory.cuh"
#include "cuda/warp.cuh"
#include "sort/sort_key.cuh"
#include "sort/sort_ranges.h"

constexpr int wi_few_bits = 3;  /* of numbers of ranges whose bounds are kept in registers */
constexpr int wi_most_bits = 5; /* of any */

template <class K, class V>
struct wi_deal_tile {
    static constexpr int threads = 256, warps = threads / 32, items = 64 / sizeof(K);
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

/* What a tile's status says of a range. */
enum {
    WI_DEAL_OWN = 1, /* how many elements of it the tile has */
    WI_DEAL_ALL      /* how many it and all tiles before it have */
};

/* What the threads of a block share, besides the staged elements. */
template <class K, class V, int warps>
struct wi_deal_shared {
    uint64_t tile;
    K from[WI_SORT_MOST_RANGES]; /* elements of range k + 1 and later have this key or a later one
                                  */
    unsigned last;               /* the last range that an element of the tile can be of */
    uint32_t begin[warps][WI_SORT_MOST_RANGES]; /* a warp's elements of a range, then their place */
    uint32_t total[WI_SORT_MOST_RANGES], first[WI_SORT_MOST_RANGES]; /* the tile's, in the tile */
    K *key[WI_SORT_MOST_RANGES]; /* where the element at place 0 of the tile would go; or NULL */
    V *value[WI_SORT_MOST_RANGES];
};

template <class K, class V>
struct wi_deal_block {
    using tile = wi_deal_tile<K, V>;
    using shared_memory = wi_deal_shared<K, V, tile::warps>;
    static constexpr int items = tile::items;

    const wi_deal_args<K, V> &p;
    unsigned char *const memory; /* keys, values, ranges */
    shared_memory &shared;
    const size_t begin;   /* of the tile, among this rank's elements */
    const unsigned count; /* elements of the tile */
    const int thread = (int)threadIdx.x;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned in_tile = warp * 32 * items + lane; /* this thread's first element */

    __device__ bool is_full() const {
        return count == tile::elements;
    }
    __device__ bool is_in(int i) const {
        return in_tile + (unsigned)i * 32 < count;
    }

    template <class T>
    __device__ void load(const T *x, T (&element)[items]) const {
        x += begin + in_tile;
#pragma unroll
        for (int i = 0; i < items; i++)
            element[i] = is_full() || is_in(i) ? x[i * 32] : T{};
    }

    /* The bounds as keys, for a tile that is all before or all behind each of their positions: with
     * tiles on the side of their first element, order is kept all the same. */
    __device__ void read_bounds() const {
        if (thread >= WI_SORT_MOST_RANGES)
            return;
        const bool is_bound = thread < p.count - 1;
        const K key = is_bound ? (K)p.bounds->key[thread] : (K) ~(K)0;
        const bool behind = is_bound && p.first + begin >= p.bounds->position[thread];
        const bool met = behind || key != (K) ~(K)0; /* can a key reach it? */
        shared.from[thread] = behind || !met ? key : (K)(key + 1);
        const unsigned all = __ballot_sync(wi_all_lanes, met);
        if (thread == 0)
            shared.last = (unsigned)__popc(all);
    }

    /* The range of a key: which of the bounds, which ascend, it has reached. */
    template <int bits>
    __device__ unsigned range_of(K key, const K (&from)[(1 << wi_few_bits) - 1]) const {
        unsigned range = 0;
        if constexpr (bits == wi_few_bits) {
            const bool high = key >= from[3];
            const bool middle = key >= (high ? from[5] : from[1]);
            const K one = middle ? from[6] : from[4], other = middle ? from[2] : from[0];
            range = high * 4u + middle * 2u + (key >= (high ? one : other));
        } else {
#pragma unroll
            for (unsigned step = 1u << (bits - 1); step > 0; step /= 2)
                range += key >= shared.from[range + step - 1] ? step : 0;
        }
        return range < shared.last ? range : shared.last;
    }

    /* slot = the element's range << 16 | how many of the warp's elements of that range come before
     * it; and leaves how many the warp has of each. */
    template <int bits>
    __device__ void rank(const K (&element)[items], uint32_t (&slot)[items]) const {
        const unsigned lower = (1u << lane) - 1;
        uint32_t counted = 0; /* of range number `lane` */
        K from[(1 << wi_few_bits) - 1];
#pragma unroll
        for (int k = 0; k < (1 << wi_few_bits) - 1; k++)
            from[k] = shared.from[k];
#pragma unroll
        for (int i = 0; i < items; i++) {
            const K key = p.maps ? p.map.key(element[i]) : element[i];
            const unsigned range = range_of<bits>(key, from);
            unsigned same = is_full() ? wi_all_lanes : __ballot_sync(wi_all_lanes, is_in(i));
            unsigned mine = same;
#pragma unroll
            for (int bit = 0; bit < bits; bit++) {
                const unsigned set = __ballot_sync(wi_all_lanes, range >> bit & 1);
                same &= set ^ (range >> bit & 1 ? 0 : wi_all_lanes);
                mine &= set ^ (lane >> bit & 1 ? 0 : wi_all_lanes);
            }
            slot[i] =
                range << 16 | (wi_shuffle(counted, (int)range) + (uint32_t)__popc(same & lower));
            counted += (uint32_t)__popc(mine);
        }
        shared.begin[warp][lane] = (int)lane < p.count ? counted : 0;
    }

    __device__ wi_pair *status(uint64_t of_tile, int range) const {
        return p.status + of_tile * (unsigned)p.count + range;
    }

    /* How many elements of a range the tiles before this one hold: 32 of them at a time, one a
     * lane, back to one that tells of all before. */
    __device__ uint64_t look_back(int range) const {
        int64_t nearest = (int64_t)shared.tile - 1;
        uint64_t sum = 0;
        while (true) {
            const int64_t at = nearest - lane;
            const wi_pair word =
                at >= 0 ? wi_read_pair(status((uint64_t)at, range)) : wi_pair{0, WI_DEAL_ALL};
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
            nearest -= 32;
        }
    }

    /* Turns the warps' counts into the places in the tile where their elements of each range begin,
     * and publishes the tile's. A thread has a range. */
    __device__ void place_ranges() const {
        uint32_t total = 0;
#pragma unroll
        for (int w = 0; w < tile::warps; w++)
            total += shared.begin[w][thread];
        if (thread < p.count)
            wi_write_pair(status(shared.tile, thread), total,
                          shared.tile == 0 ? WI_DEAL_ALL : WI_DEAL_OWN);
        uint32_t next = wi_warp_scan(total, [](uint32_t a, uint32_t b) { return a + b; }) - total;
        shared.total[thread] = total;
        shared.first[thread] = next;
#pragma unroll
        for (int w = 0; w < tile::warps; w++) {
            const uint32_t of_warp = shared.begin[w][thread];
            shared.begin[w][thread] = next;
            next += of_warp;
        }
    }

    /* Finds where the tile's run of a range goes: nowhere, if there is no memory for it. */
    __device__ void find_place(int range) const {
        const uint64_t before = shared.tile == 0 ? 0 : look_back(range),
                       all = before + shared.total[range];
        if (lane > 0)
            return;
        if (shared.tile > 0)
            wi_write_pair(status(shared.tile, range), all, WI_DEAL_ALL);
        if (shared.tile == gridDim.x - 1)
            p.counts[range] = all;
        const bool fits = all <= p.room[range];
        const uint64_t begin = before - shared.first[range];
        shared.key[range] = fits ? p.keys[range] + begin : NULL;
        if constexpr (wi_has_values<V>)
            shared.value[range] = fits ? p.out[range] + begin : NULL;
    }

    /* Puts the keys to their places in the tile; slot becomes the place. */
    __device__ void stage_keys(const K (&key)[items], uint32_t (&slot)[items]) const {
#pragma unroll
        for (int i = 0; i < items; i++) {
            const unsigned range = slot[i] >> 16;
            const uint32_t place = shared.begin[warp][range] + (slot[i] & 0xffff);
            slot[i] = place;
            if (!is_full() && !is_in(i))
                continue;
            ((K *)memory)[place] = key[i];
            memory[tile::ranges_at + place] = (unsigned char)range;
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
            if (is_full() || is_in(i))
                ((V *)(memory + tile::values_at))[slot[i]] = value[i];
    }

    __device__ void write_out() const {
#pragma unroll
        for (int i = 0; i < items; i++) {
            const unsigned r = (unsigned)(thread + i * tile::threads);
            if (!is_full() && r >= count)
                continue;
            const unsigned range = memory[tile::ranges_at + r];
            if (K *const to = shared.key[range])
                to[r] = ((const K *)memory)[r];
            if constexpr (wi_has_values<V>)
                if (V *const to = shared.value[range])
                    to[r] = ((const V *)(memory + tile::values_at))[r];
        }
    }

    __device__ void run() const {
        K key[items];
        uint32_t slot[items];
        load(p.x, key);
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
        write_out();
    }
};

template <class K, class V>
__global__ void __launch_bounds__((wi_deal_tile<K, V>::threads), 4) deal(wi_deal_args<K, V> p) {
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
    block.read_bounds();
    __syncthreads();
    block.run();
}

#endif
