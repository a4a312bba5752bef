/* SPDX-License-Identifier: Apache-2.0 */
/* One pass of the radix sort: every key read once and written once, in the order of one digit of up
 * to 8 bits. All digits of all keys were counted before, so it is known where each digit's keys
 * begin. A tile counts its own digits, finds by look-back how many keys of each digit the tiles
 * before it hold, sorts itself in shared memory, and writes a run for each digit.
 *
 * Look-back is done for all digits at once, one thread for each digit. A word of `status` holds a
 * count of a tile's keys (bits 2 ... 31), whether it includes those of all tiles before (bit 0),
 * and a bit that alternates from launch to launch (bit 1), so that nothing needs to be cleared in
 * between. A launch covers a portion of fewer than 2^30 keys; all portions have the same number of
 * tiles, so that every word is written by every launch. */
#ifndef WI_SORT_ONESWEEP_CUH
#define WI_SORT_ONESWEEP_CUH

#include "cuda/match.cuh"
#include "cuda/memory.cuh"
#include "sort/sort_key.cuh"

constexpr int wi_digit_bits = 8;
constexpr int wi_digits = 1 << wi_digit_bits;
constexpr int wi_most_passes = 8;
constexpr int wi_tiles_at_once = 4; /* that a thread reads at a time in look-back */

/* The arrays between which passes go. */
enum wi_sort_array {
    WI_SORT_IN,
    WI_SORT_OUT,
    WI_SORT_SPARE,
    WI_SORT_ARRAYS
};

/* One pass, as decided from the counts. A digit that all keys share needs no pass. */
struct wi_sort_step {
    uint8_t skipped, first, last; /* first and last: of those not skipped */
    uint8_t from, to;             /* of wi_sort_array */
    uint8_t place;                /* how many passes come before it */
};

struct wi_sort_plan {
    wi_sort_step pass[wi_most_passes];
    uint32_t result; /* the array in which the sorted elements end */
    bool falls;      /* there they are in descending order */
};

/* Tiles are as large as registers (two blocks on a multiprocessor) and 99 KiB of shared memory
 * allow, because each digit's run should be long; if there are few keys, tiles are small so that
 * all multiprocessors have some. */
template <class K, class V, bool large>
struct wi_tile {
    static constexpr int threads = large ? 384 : 256;
    static constexpr int warps = threads / 32;
    static constexpr int widest = sizeof(K) > sizeof(V) ? sizeof(K) : sizeof(V);
    static constexpr int both = sizeof(K) + (wi_has_values<V> ? sizeof(V) : 0);
    static constexpr int large_items = both > 12     ? 13
                                       : both > 8    ? 17
                                       : widest == 8 ? 22
                                       : both > 4    ? 26
                                                     : 34;
    static constexpr int items = large ? large_items : 8;
    static constexpr int keys = threads * items;
    static constexpr unsigned keys_at = warps * wi_digits * sizeof(uint32_t); /* in shared memory */
    static constexpr unsigned values_at = keys_at + keys * sizeof(K);
    static constexpr size_t shared_bytes =
        values_at + (wi_has_values<V> ? (size_t)keys * sizeof(V) : 0);
};

template <class K, class V>
struct wi_pass {
    static constexpr bool in_pieces = false;
    K *keys[WI_SORT_ARRAYS];
    V *values[WI_SORT_ARRAYS]; /* values[WI_SORT_IN] NULL: the values are the positions */
    wi_key_map<K> map;
    const wi_sort_plan *plan;
    const uint64_t *begins; /* where the keys of each digit begin, for this portion */
    uint64_t *next_begins;  /* for the next portion; NULL: there is none */
    uint32_t *status, *next_tile;
    size_t first,
        n; /* this portion is elements first ... n - 1, or as many of them as its tiles hold */
    unsigned portion, portions;
    int pass;
    unsigned shift, mask; /* digit = (key >> shift) & mask */
    bool keep_keys;       /* false: the keys of the last pass are not wanted */
    bool maps;            /* keys differ from the elements' bits */
    int minus_one;        /* see wi_match_byte */
};

/* The key's digit as 4 << log2_scale / 4 * digit, with other bits around it: rotating instead of
 * shifting makes the digit directly usable as an offset of wide elements. */
template <class K>
__device__ inline unsigned wi_rotated(K key, unsigned shift, unsigned scale_bits) {
    const unsigned by = shift - scale_bits;
    if constexpr (sizeof(K) == 8) {
        const unsigned low = (unsigned)key, high = (unsigned)(key >> 32);
        return __funnelshift_r(by & 32 ? high : low, by & 32 ? low : high, by & 31);
    } else {
        return __funnelshift_r((unsigned)key, (unsigned)key, by & 31);
    }
}

/* What the threads of a block share, besides the counters and the staged elements. */
template <class K, class V>
struct wi_places {
    K *key[wi_digits]; /* for each digit, where the element at place 0 of the staged tile would go
                          if it had that digit */
    V *value[wi_digits];
    uint32_t sums[wi_digits / 32];
    uint32_t full; /* digits for whose elements there is no memory; of passes in pieces */
};

/* P: a wi_pass, or a wi_piece_pass (sort_pieces.cuh). */
template <class K, class V, bool large, class P = wi_pass<K, V>>
struct wi_pass_block {
    using tile = wi_tile<K, V, large>;
    static constexpr int items = tile::items, threads = tile::threads;

    const P &p;
    const wi_sort_step step;
    unsigned char *const memory; /* the counters of each warp, keys, values */
    wi_places<K, V> &places;
    const uint32_t index; /* number of the tile in its portion */
    const size_t begin;   /* its first element */
    const unsigned count; /* how many elements it has */
    const int thread = (int)threadIdx.x;
    const unsigned lane = threadIdx.x % 32;
    const unsigned in_tile = threadIdx.x / 32 * 32 * items + lane; /* this thread's first element */

    __device__ bool is_full() const {
        return count == tile::keys;
    }

    /* The offset in `memory` of this warp's counter for the key's digit. */
    __device__ unsigned counter_of(K key) const {
        const unsigned of_warp = threadIdx.x / 32 * wi_digits * (unsigned)sizeof(uint32_t);
        return (wi_rotated(key, p.shift, 2) & (p.mask << 2)) | of_warp;
    }
    __device__ uint32_t &at(unsigned offset) const {
        return *(uint32_t *)(memory + offset);
    }

    /* Loads x[32 i] for the thread's elements; `filler` replaces those beyond the end. */
    template <class T>
    __device__ void load(const T *x, T (&element)[items], T filler) const {
        wi_load_striped(x + begin, in_tile, count, is_full(), filler, element);
    }

    __device__ void load_keys(K (&key)[items]) const {
        load(p.keys[step.from], key, (K)0);
        if (step.first && p.maps) {
#pragma unroll
            for (int i = 0; i < items; i++)
                key[i] = p.map.key(key[i]);
        }
        if (is_full())
            return;
#pragma unroll
        for (int i = 0; i < items; i++) /* comes after all others, whatever the digit */
            key[i] = in_tile + (unsigned)i * 32 < count ? key[i] : (K) ~(K)0;
    }

    __device__ void count_digits(const K (&key)[items]) const {
#pragma unroll
        for (int i = 0; i < items; i++)
            atomicAdd(&at(counter_of(key[i])), 1u);
    }

    /* Turns the counters of all warps into the offset in `memory` of the next element of that warp
     * and digit, and publishes the tile's counts. The first threads get the count of their digit,
     * and how many of the tile's elements come before it. */
    __device__ void place_digits(uint32_t *total, uint32_t *before) const {
        uint32_t scanned = 0;
        if (thread < wi_digits) {
            uint32_t *const counters = (uint32_t *)memory + thread;
            uint32_t sum = 0;
#pragma unroll
            for (int w = 0; w < tile::warps; w++)
                sum += counters[w * wi_digits];
            *total = (unsigned)thread == p.mask ? sum - ((unsigned)tile::keys - count) : sum;
            wi_write_word(status(index), *total << 2 | turn() << 1 | (index == 0));
            scanned = wi_warp_scan(sum, [](uint32_t a, uint32_t b) { return a + b; });
            if (lane == 31)
                places.sums[thread / 32] = scanned;
            scanned -= sum;
        }
        __syncthreads();
        if (thread < wi_digits) {
#pragma unroll
            for (int w = 0; w < wi_digits / 32; w++)
                scanned += w < thread / 32 ? places.sums[w] : 0;
            *before = scanned;
            uint32_t *const counters = (uint32_t *)memory + thread;
            uint32_t next = tile::keys_at + scanned * (uint32_t)sizeof(K);
#pragma unroll 4
            for (int w = 0; w < tile::warps; w++) {
                const uint32_t of_warp = counters[w * wi_digits];
                counters[w * wi_digits] = next;
                next += of_warp * (uint32_t)sizeof(K);
            }
        }
        __syncthreads();
    }

    /* Stores the keys at their places in the tile, keeping the order of equal digits. In a warp a
     * key comes after those already counted and those of lower lanes. */
    __device__ void stage_keys(const K (&key)[items], uint16_t (&slot)[items]) const {
        const unsigned lower = (1u << lane) - 1, higher = ~lower << 1;
#pragma unroll
        for (int i = 0; i < items; i++) {
            const unsigned counter = counter_of(key[i]);
            const unsigned peers = wi_match_byte(counter, p.minus_one);
            const uint32_t place =
                at(counter) + (uint32_t)__popc(peers & lower) * (uint32_t)sizeof(K);
            __syncwarp();
            if (!(peers & higher))
                at(counter) = place + (uint32_t)sizeof(K);
            __syncwarp();
            *(K *)(memory + place) = key[i];
            if constexpr (wi_has_values<V>)
                slot[i] = (uint16_t)((place - tile::keys_at) / sizeof(K));
        }
    }

    __device__ void load_values(V (&value)[items]) const {
        if (p.values[step.from]) {
            load(p.values[step.from], value, (V)0);
            return;
        }
        size_t before = begin;
        if constexpr (P::in_pieces)
            before += p.first_position;
#pragma unroll
        for (int i = 0; i < items; i++)
            value[i] = (V)(before + in_tile + (unsigned)i * 32);
    }

    __device__ void stage_values(const V (&value)[items], const uint16_t (&slot)[items]) const {
#pragma unroll
        for (int i = 0; i < items; i++)
            ((V *)(memory + tile::values_at))[slot[i]] = value[i];
    }

    __device__ uint32_t turn() const {
        return (step.place * p.portions + p.portion + 1) & 1;
    }

    __device__ uint32_t *status(size_t of_tile) const {
        return p.status + of_tile * wi_digits + thread;
    }

    /* How many elements of this thread's digit the tiles before this one hold. */
    __device__ uint32_t look_back() const {
        const uint32_t all = turn() << 1 | 1; /* a count of 0, all tiles before it included */
        int64_t back = (int64_t)index - 1;
        uint32_t sum = 0;
        while (true) {
            uint32_t word[wi_tiles_at_once];
#pragma unroll
            for (int k = 0; k < wi_tiles_at_once; k++)
                word[k] = back >= k ? wi_read_word(status((size_t)(back - k))) : all;
            bool in = true;
#pragma unroll
            for (int k = 0; k < wi_tiles_at_once; k++) {
                in = in && ((word[k] ^ all) & 2) == 0;
                if (!in)
                    continue;
                sum += word[k] >> 2;
                if (word[k] & 1)
                    return sum;
                back--;
            }
            wi_spin();
        }
    }

    /* Finds where the tile's runs go. */
    __device__ void find_places(uint32_t total, uint32_t before) const {
        if (thread >= wi_digits)
            return;
        const uint32_t earlier = index == 0 ? 0 : look_back();
        if (index > 0)
            wi_write_word(status(index), (earlier + total) << 2 | turn() << 1 | 1);
        const uint64_t begins = p.begins[thread] + earlier;
        places.key[thread] = p.keys[step.to] + begins - before;
        if constexpr (wi_has_values<V>)
            places.value[thread] = p.values[step.to] + begins - before;
        if (p.next_begins && index == gridDim.x - 1)
            p.next_begins[thread] = begins + total;
        if constexpr (P::in_pieces)
            if (p.ends && begins + total > p.ends[thread])
                atomicAdd(&places.full, 1u);
    }

    /* Where the digit's pointer is in a table of places. */
    __device__ unsigned place_of(K key) const {
        static_assert(sizeof(void *) == 1 << 3, "places are pointers");
        return wi_rotated(key, p.shift, 3) & (p.mask << 3);
    }
    template <class T>
    __device__ static T *place(T *const *table, unsigned offset) {
        return *(T *const *)((const unsigned char *)table + offset);
    }

    /* Writes the element staged at `at` + r; `at` is a constant if the loop is unrolled. */
    template <class Finish>
    __device__ void write(unsigned r, unsigned at, bool keys_too, Finish finish) const {
        const K key = ((const K *)(memory + tile::keys_at) + r)[at];
        const unsigned offset = place_of(key);
        if (keys_too)
            (place(places.key, offset) + r)[at] = finish(key);
        if constexpr (wi_has_values<V>)
            (place(places.value, offset) + r)[at] = ((const V *)(memory + tile::values_at) + r)[at];
    }

    /* One element after the other: with several in flight a warp would run ahead of the others, and
     * cache lines of the runs would fill more slowly. */
    template <class Finish>
    __device__ void write_out(Finish finish) const {
        const bool keys_too = !wi_has_values<V> || p.keep_keys || !step.last;
        if (is_full()) {
#pragma unroll
            for (int i = 0; i < items; i++)
                write((unsigned)thread, (unsigned)(i * threads), keys_too, finish);
            return;
        }
        for (unsigned r = (unsigned)thread; r < count; r += threads)
            write(r, 0, keys_too, finish);
    }
};

/* All steps of a tile. */
template <class K, class V, bool large, class P>
__device__ inline void wi_run_pass(const P &p, const wi_pass_block<K, V, large, P> &block) {
    using tile = wi_tile<K, V, large>;
    K key[tile::items];
    uint16_t slot[tile::items];
    uint32_t total = 0, before = 0;
    block.load_keys(key);
    block.count_digits(key);
    __syncthreads();
    block.place_digits(&total, &before);
    block.stage_keys(key, slot);
    if constexpr (wi_has_values<V>) {
        V value[tile::items];
        block.load_values(value);
        block.find_places(total, before);
        block.stage_values(value, slot);
    } else {
        block.find_places(total, before);
    }
    __syncthreads();
    if constexpr (P::in_pieces)
        if (block.places.full)
            return;
    if (block.step.last && p.maps)
        block.write_out([&](K k) { return p.map.bits(k); });
    else
        block.write_out([](K k) { return k; });
}

/* Tiles beyond the last element only publish their words. */
template <class K, class V>
__device__ inline void wi_publish_empty_tile(const wi_pass<K, V> &p, wi_sort_step step,
                                             uint32_t index) {
    const uint32_t turn = (step.place * p.portions + p.portion + 1) & 1;
    if (threadIdx.x < wi_digits)
        wi_write_word(p.status + (size_t)index * wi_digits + threadIdx.x, turn << 1 | 1);
}

template <class K, class V, bool large>
__global__ void __launch_bounds__((wi_tile<K, V, large>::threads), large ? 2 : 4)
    onesweep(wi_pass<K, V> p) {
    using tile = wi_tile<K, V, large>;
    const wi_sort_step step = p.plan->pass[p.pass];
    if (step.skipped)
        return;
    WEFT_DYNAMIC_SHARED(memory);
    using shared_places = wi_places<K, V>;
    WEFT_SHARED(shared_places, places, );
    WEFT_SHARED(uint32_t, next, );
    if (threadIdx.x == 0)
        next = atomicAdd(p.next_tile, 1u);
    for (unsigned i = threadIdx.x; i < tile::warps * wi_digits; i += tile::threads)
        ((uint32_t *)memory)[i] = 0;
    __syncthreads();
    const uint32_t index = next;
    const size_t begin = p.first + (size_t)index * tile::keys;
    if (begin >= p.n) {
        wi_publish_empty_tile(p, step, index);
        return;
    }
    const unsigned count = (unsigned)(p.n - begin < tile::keys ? p.n - begin : tile::keys);
    const wi_pass_block<K, V, large> block = {p, step, memory, places, index, begin, count};
    wi_run_pass(p, block);
}

#endif
