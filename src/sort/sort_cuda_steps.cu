/* SPDX-License-Identifier: Apache-2.0 */
/* Radix sort, the teaching rungs: 32 keys in a warp; then any number of keys, first by 1 bit and
 * then by a digit of 4 bits at a time. Elements are not converted; each kernel computes the key of
 * the element that it reads. */
#include "cuda/launch.cuh"
#include "cuda/warp.cuh"
#include "scan/scan.h"
#include "sort/sort_key.cuh"
#include "sort/sort_run.h"

constexpr unsigned step_threads = 256;
constexpr unsigned step_warps = step_threads / 32;
constexpr unsigned step_digit_bits = 4, digits = 1u << step_digit_bits;

/* The type of values if there are none. */
struct no_values {};

template <class V>
constexpr bool has_values = sizeof(V) > 1;

/* Moves elements from one array to another. `values` NULL: the values are the positions. */
template <class K, class V>
struct step {
    const K *keys;
    K *keys_out;
    const V *values;
    V *values_out;
    wi_key_map<K> map;
    size_t n;
    unsigned shift, mask; /* the bits this step looks at: (key >> shift) & mask */

    __device__ unsigned digit(size_t i) const {
        return (unsigned)(map.key(keys[i]) >> shift) & mask;
    }
    __device__ void move(size_t from, size_t to) const {
        keys_out[to] = keys[from];
        if constexpr (has_values<V>)
            values_out[to] = values ? values[from] : (V)from;
    }
};

/* ---- 32 keys: ballot and popcount ---- */

/* A lane's new place: keys with bit 0 come before those with bit 1; each kind keeps its order. */
__device__ static unsigned place_in_warp(bool one) {
    const unsigned ones = __ballot_sync(wi_all_lanes, one);
    const unsigned lower = (1u << wi_lane()) - 1;
    const unsigned zeros = 32 - (unsigned)__popc(ones);
    return one ? zeros + (unsigned)__popc(ones & lower) : (unsigned)__popc(~ones & lower);
}

template <class K, class V>
__global__ void ballot32(step<K, V> s, unsigned end_bit, bool keep_keys) {
    WEFT_SHARED(K, moved, [32]);
    WEFT_SHARED(unsigned, from, [32]);
    const unsigned lane = (unsigned)wi_lane();
    K key = lane < s.n ? s.map.key(s.keys[lane]) : (K) ~(K)0; /* comes after all others */
    unsigned origin = lane;
    for (unsigned bit = s.shift; bit < end_bit; bit++) {
        const unsigned place = place_in_warp(key >> bit & 1);
        moved[place] = key;
        from[place] = origin;
        __syncwarp();
        key = moved[lane];
        origin = from[lane];
        __syncwarp();
    }
    if (lane < s.n && keep_keys)
        s.keys_out[lane] = s.map.bits(key);
    if constexpr (has_values<V>) {
        V value = (V)origin;
        if (lane < s.n && s.values)
            value = s.values[origin];
        __syncwarp(); /* values_out may be values */
        if (lane < s.n)
            s.values_out[lane] = value;
    }
}

/* ---- a bit at a time ---- */

/* Flags: 1 if the bit is 0. Their exclusive scan gives each such key its place. One more element
 * follows the last, to hold the number of all zeros. */
template <class K, class V>
__global__ void mark_zeros(step<K, V> s, uint32_t *zeros) {
    const size_t i = (size_t)blockIdx.x * step_threads + threadIdx.x;
    if (i <= s.n)
        zeros[i] = i < s.n && s.digit(i) == 0;
}

/* zeros_before[n] is the number of all zeros. */
template <class K, class V>
__global__ void split_by_bit(step<K, V> s, const uint32_t *zeros_before) {
    const size_t i = (size_t)blockIdx.x * step_threads + threadIdx.x;
    if (i >= s.n)
        return;
    const size_t before = zeros_before[i];
    s.move(i, s.digit(i) == 0 ? before : zeros_before[s.n] + (i - before));
}

/* ---- 4 bits at a time ---- */

/* Counts the digits of a block's keys. Counts are stored digit by digit, so that one scan over all
 * of them gives the place where each block's keys of each digit begin. */
template <class K, class V>
__global__ void count_step_digits(step<K, V> s, uint32_t *counts) {
    WEFT_SHARED(uint32_t, count, [digits]);
    const size_t i = (size_t)blockIdx.x * step_threads + threadIdx.x;
    if (threadIdx.x < digits)
        count[threadIdx.x] = 0;
    __syncthreads();
    if (i < s.n)
        atomicAdd(&count[s.digit(i)], 1u);
    __syncthreads();
    if (threadIdx.x < digits)
        counts[(size_t)threadIdx.x * gridDim.x + blockIdx.x] = count[threadIdx.x];
}

/* Moves each key to where its block's keys of that digit begin, after those of earlier warps and
 * lower lanes. */
template <class K, class V>
__global__ void scatter_digits(step<K, V> s, const uint32_t *begins) {
    WEFT_SHARED(uint32_t, count, [step_warps][digits]);
    const size_t i = (size_t)blockIdx.x * step_threads + threadIdx.x;
    const unsigned warp = threadIdx.x / 32, lane = (unsigned)wi_lane();
    if (threadIdx.x < step_warps * digits)
        count[threadIdx.x / digits][threadIdx.x % digits] = 0;
    __syncthreads();
    const unsigned digit = i < s.n ? s.digit(i) : digits; /* `digits`: past the last key */
    const unsigned peers = __match_any_sync(wi_all_lanes, digit);
    const unsigned lower = (unsigned)__popc(peers & ((1u << lane) - 1));
    if (i < s.n && lower == 0)
        count[warp][digit] = (uint32_t)__popc(peers);
    __syncthreads();
    if (i >= s.n)
        return;
    size_t to = begins[(size_t)digit * gridDim.x + blockIdx.x] + lower;
    for (unsigned w = 0; w < warp; w++)
        to += count[w][digit];
    s.move(i, to);
}

/* ---- passes ---- */

/* The temporary memory of a sort by passes: elements between passes, and the counts. */
struct steps_layout {
    size_t keys[2], values, words, bytes;
};

static size_t lined(size_t bytes) {
    constexpr size_t line_bytes = 256;
    return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

static steps_layout lay_out(const wi_sort_args *a, size_t words) {
    const size_t key_bytes = lined(a->n * weft_type_size(a->type));
    steps_layout l = {};
    l.keys[1] = l.keys[0] + key_bytes;
    l.values = l.keys[1] + (a->y ? 0 : key_bytes);
    l.words = l.values + lined(a->n * a->value_bytes);
    l.bytes = l.words + lined(words * sizeof(uint32_t));
    return l;
}

static unsigned step_blocks(size_t n) {
    return (unsigned)((n + step_threads - 1) / step_threads);
}

/* Replaces words[0 .. n) by its exclusive scan. */
static weft_status scan_words(weft_context *ctx, uint32_t *words, size_t n) {
    wi_scan_args scan = {};
    scan.op = WEFT_SUM;
    scan.kind = WEFT_EXCLUSIVE;
    scan.type = WEFT_U32;
    scan.n = n;
    scan.x = words;
    scan.y = words;
    return wi_scan_lookback(ctx, &scan);
}

/* The two kinds of passes: how many bits each sorts by, how many words it counts in, and the pass
 * itself. */
struct by_bit {
    static constexpr unsigned bits = 1;

    static size_t words(size_t n) {
        return n + 1;
    }

    template <class K, class V>
    static weft_status pass(weft_context *ctx, const step<K, V> &s, uint32_t *zeros) {
        weft_status status = WEFT_LAUNCH((mark_zeros<K, V>), ctx, step_blocks(words(s.n)),
                                         step_threads, 0, s, zeros);
        if (status == WEFT_OK)
            status = scan_words(ctx, zeros, words(s.n));
        if (status != WEFT_OK)
            return status;
        return WEFT_LAUNCH((split_by_bit<K, V>), ctx, step_blocks(s.n), step_threads, 0, s,
                           (const uint32_t *)zeros);
    }
};

struct by_digit {
    static constexpr unsigned bits = step_digit_bits;

    static size_t words(size_t n) {
        return (size_t)digits * step_blocks(n);
    }

    template <class K, class V>
    static weft_status pass(weft_context *ctx, const step<K, V> &s, uint32_t *counts) {
        weft_status status = WEFT_LAUNCH((count_step_digits<K, V>), ctx, step_blocks(s.n),
                                         step_threads, 0, s, counts);
        if (status == WEFT_OK)
            status = scan_words(ctx, counts, words(s.n));
        if (status != WEFT_OK)
            return status;
        return WEFT_LAUNCH((scatter_digits<K, V>), ctx, step_blocks(s.n), step_threads, 0, s,
                           (const uint32_t *)counts);
    }
};

/* Passes alternate between arrays so that the last one writes the output. If the sort is in place
 * and their number is odd, the first pass would write to what it reads: it then reads a copy. */
template <class Way, class K, class V>
static weft_status run_passes(weft_context *ctx, const wi_sort_args *a, const steps_layout *l,
                              unsigned char *memory) {
    K *const keys[2] = {a->y ? (K *)a->y : (K *)(memory + l->keys[1]), (K *)(memory + l->keys[0])};
    V *const values[2] = {(V *)a->values_out, (V *)(memory + l->values)};
    step<K, V> s = {};
    s.keys = (const K *)a->x;
    s.values = (const V *)a->values;
    s.map = wi_key_map_of<K>(a->type, a->descending);
    s.n = a->n;
    unsigned left = (a->end_bit - a->first_bit + Way::bits - 1) / Way::bits;
    weft_status status = WEFT_OK;
    if (left % 2 && a->x == a->y) {
        status = wi_gpu_copy_within(ctx, keys[1], a->x, a->n * sizeof(K));
        s.keys = keys[1];
    }
    if (status == WEFT_OK && left % 2 && a->values && a->values == a->values_out) {
        status = wi_gpu_copy_within(ctx, values[1], a->values, a->n * sizeof(V));
        s.values = values[1];
    }
    for (s.shift = a->first_bit; s.shift < a->end_bit && status == WEFT_OK; s.shift += Way::bits) {
        const unsigned bits = a->end_bit - s.shift < Way::bits ? a->end_bit - s.shift : Way::bits;
        left--;
        s.mask = (1u << bits) - 1;
        s.keys_out = keys[left % 2];
        s.values_out = values[left % 2];
        status = Way::pass(ctx, s, (uint32_t *)(memory + l->words));
        s.keys = s.keys_out;
        s.values = s.values_out;
    }
    return status;
}

/* Calls f(key tag, value tag) with the unsigned types of the call's widths. */
template <class F>
static weft_status with_widths(const wi_sort_args *a, F f) {
    const auto with_key = [=](auto key) {
        switch (a->value_bytes) {
        case 0:
            return f(key, wi_tag<no_values>{});
        case 4:
            return f(key, wi_tag<uint32_t>{});
        default:
            return f(key, wi_tag<uint64_t>{});
        }
    };
    return weft_type_size(a->type) == 4 ? with_key(wi_tag<uint32_t>{})
                                        : with_key(wi_tag<uint64_t>{});
}

template <class Way>
static weft_status run(weft_context *ctx, const wi_sort_args *a) {
    const steps_layout l = lay_out(a, Way::words(a->n));
    if (a->bytes) {
        *a->bytes += l.bytes;
        return WEFT_OK;
    }
    void *memory;
    weft_status status = wi_gpu_alloc(ctx, &memory, l.bytes);
    if (status != WEFT_OK)
        return status;
    status = with_widths(a, [&](auto key, auto value) {
        return run_passes<Way, typename decltype(key)::type, typename decltype(value)::type>(
            ctx, a, &l, (unsigned char *)memory);
    });
    const weft_status freed = wi_gpu_free(ctx, memory);
    return status != WEFT_OK ? status : freed;
}

weft_status wi_sort_ballot32(weft_context *ctx, const void *args) {
    const wi_sort_args *const a = (const wi_sort_args *)args;
    if (a->bytes)
        return WEFT_OK;
    return with_widths(a, [=](auto key, auto value) {
        using K = typename decltype(key)::type;
        using V = typename decltype(value)::type;
        step<K, V> s = {};
        s.keys = (const K *)a->x;
        s.keys_out = (K *)a->y;
        s.values = (const V *)a->values;
        s.values_out = (V *)a->values_out;
        s.map = wi_key_map_of<K>(a->type, a->descending);
        s.n = a->n;
        s.shift = a->first_bit;
        return WEFT_LAUNCH((ballot32<K, V>), ctx, 1, 32, 0, s, a->end_bit, a->y != NULL);
    });
}

weft_status wi_sort_split_bits(weft_context *ctx, const void *args) {
    return run<by_bit>(ctx, (const wi_sort_args *)args);
}

weft_status wi_sort_digits4(weft_context *ctx, const void *args) {
    return run<by_digit>(ctx, (const wi_sort_args *)args);
}
