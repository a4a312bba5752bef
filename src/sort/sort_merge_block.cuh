/* SPDX-License-Identifier: Apache-2.0 */
/* Merging by comparisons, in a block. The first d elements of two merged runs are a[0..i) and
 * b[0..d - i), and i is found by bisection (the merge path). So every tile of the output, and every
 * thread in it, finds where its part begins and merges it independently.
 *
 * An Order says what is compared: Key and its size in memory, less(a, b), load and store between
 * memory and Key, and last(), a key that comes after all others. Among equal elements those of a
 * come first, so all of this is stable. */
#ifndef WI_SORT_MERGE_BLOCK_CUH
#define WI_SORT_MERGE_BLOCK_CUH

#include "cuda/launch.cuh"
#include "sort/sort_key.cuh"

/* The type of values if there are none. */
struct wi_no_value {};

template <class V>
constexpr bool wi_merge_has_values = true;
template <>
inline constexpr bool wi_merge_has_values<wi_no_value> = false;

/* Calls f(wi_tag<U>{}, wi_tag<V>{}) with types of these sizes for keys and values. */
template <class F>
weft_status wi_with_sort_sizes(size_t key_bytes, size_t value_bytes, F f) {
    return wi_with_size(key_bytes, [=](auto key) {
        switch (value_bytes) {
        case 0:
            return f(key, wi_tag<wi_no_value>{});
        case 4:
            return f(key, wi_tag<uint32_t>{});
        default:
            return f(key, wi_tag<uint64_t>{});
        }
    });
}

/* Takes the next piece of a block of memory; returns its offset, a multiple of 16 bytes. */
inline size_t wi_take(size_t *used, size_t bytes) {
    const size_t at = *used;
    *used += (bytes + 15) / 16 * 16;
    return at;
}

/* Numbers as keys. A map is applied to what is read, undone in what is written, or neither (between
 * two passes). Of what is read only some bits may be compared. */
template <class U>
struct wi_plain_order {
    using Key = U;
    static constexpr bool is_number = true;
    wi_key_map<U> map;
    bool maps_in, maps_out;
    unsigned first_bit;
    U mask; /* the bits from first_bit on */
    __device__ bool less(U a, U b) const {
        return a < b;
    }
    __device__ U load(U word) const {
        return maps_in ? (U)((map.key(word) >> first_bit) & mask) : word;
    }
    __device__ U store(U key) const {
        return maps_out ? map.bits(key) : key;
    }
    __device__ U last() const {
        return (U) ~(U)0;
    }
};

/* Found by experiment on an H200; README.md has the figures. The number of elements of a thread
 * must be a power of two. */
constexpr int wi_merge_threads = 128;
template <class K, class V>
constexpr int wi_merge_items = wi_merge_has_values<V>
                                   ? 64 / (sizeof(K) < sizeof(V) ? sizeof(V) : sizeof(K))
                               : sizeof(K) < 4 ? 32
                                               : 128 / sizeof(K);
template <class K, class V>
constexpr size_t wi_merge_tile = (size_t)wi_merge_threads *wi_merge_items<K, V>;

/* How many of the first d elements of the merge of a[0..na) and b[0..nb) come from a. */
template <class Index, class Less, class A, class B>
__device__ Index wi_merge_path(Less less, A a, Index na, B b, Index nb, Index d) {
    Index low = d > nb ? d - nb : 0, high = d < na ? d : na;
    while (low < high) {
        const Index middle = low + (high - low) / 2;
        if (less(b(d - 1 - middle), a(middle)))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* How many elements a piece of n takes from a, between two points on the merge path. If runs are
 * not in order the path may go backwards; limited to 0 ... n, the piece stays inside both runs. */
template <class Int>
__device__ int wi_within(Int from_a, int n) {
    return from_a < 0 ? 0 : from_a > n ? n : (int)from_a;
}

/* Contiguous elements: their keys, and their values or else their positions. */
template <class K, class V>
struct wi_stretch {
    const K *keys;
    const V *values; /* NULL: position, position + 1, ... */
    size_t position;

    __device__ V value(int i) const {
        return values ? values[i] : (V)(position + (size_t)i);
    }
    __device__ wi_stretch from(size_t i) const {
        return {keys + i, values ? values + i : nullptr, position + i};
    }
};

/* The operations of a block on a tile in shared memory. */
template <class Order, class V, int threads_, int items_>
struct wi_merge_block {
    using K = typename Order::Key;
    static constexpr int threads = threads_, items = items_, tile = threads * items;
    static_assert((items & (items - 1)) == 0, "a bitonic network takes a power of two");
    /* Equal numbers without values cannot be told apart, so their order need not be kept. */
    static constexpr bool any_order = Order::is_number && !wi_merge_has_values<V>;

    /* One word is left free after each thread's elements, to avoid bank conflicts. */
    struct memory {
        union {
            K keys[tile + threads];
            V values[tile + threads];
        };
        int cut[threads]; /* in each thread's merge, how many elements come from the first run */
    };
    __device__ static unsigned at(int i) {
        return (unsigned)i + (unsigned)i / items;
    }

    Order order;
    memory &m;

    /* The first of the thread's elements in the tile. */
    __device__ static int mine() {
        return (int)threadIdx.x * items;
    }

    /* Puts elements i < j in order, by key and, among equal keys, by where they came from. */
    __device__ void compare(K (&key)[items], int (&from)[items], int i, int j) const {
        const K a = key[i], b = key[j];
        if constexpr (any_order) {
            key[i] = order.less(b, a) ? b : a;
            key[j] = order.less(b, a) ? a : b;
        } else {
            const int of_a = from[i], of_b = from[j];
            const bool turn = order.less(b, a) || (of_b < of_a && !order.less(a, b));
            key[i] = turn ? b : a;
            key[j] = turn ? a : b;
            from[i] = turn ? of_b : of_a;
            from[j] = turn ? of_a : of_b;
        }
    }

    /* The last steps of a bitonic network: sorts each group of `run` elements, which ascend and
     * then descend. */
    __device__ void straighten(K (&key)[items], int (&from)[items], int run) const {
#pragma unroll
        for (int step = items / 2; step > 0; step /= 2)
#pragma unroll
            for (int k = 0; k < items; k++)
                if (step < run && (k & step) == 0)
                    compare(key, from, k, k + step);
    }

    /* Sorts the thread's own elements. */
    __device__ void sort_own(K (&key)[items], int (&from)[items]) const {
#pragma unroll
        for (int run = 2; run <= items; run *= 2) {
#pragma unroll
            for (int k = 0; k < items; k++) {
                const int mirrored = k ^ (run - 1);
                if (k < mirrored)
                    compare(key, from, k, mirrored);
            }
            straighten(key, from, run / 2);
        }
    }

    /* Merges the thread's elements of two runs: count_a elements from place a on, then those of the
     * other run from b on in reverse. Together they ascend and then descend, so a bitonic network
     * sorts them. */
    __device__ void merge(int a, int count_a, int b, K (&key)[items], int (&from)[items]) const {
#pragma unroll
        for (int k = 0; k < items; k++) {
            from[k] = k < count_a ? a + k : b + (items - 1 - k);
            key[k] = m.keys[at(from[k])];
        }
        straighten(key, from, items);
    }

    /* Merges keys[start..start + na) with the nb keys that follow; this thread does its elements,
     * from d on. All threads together do both runs. `in_order`: the runs are known to be in order.
     */
    template <bool in_order>
    __device__ void merge_runs(int start, int na, int nb, int d, K (&key)[items],
                               int (&from)[items]) const {
        const int cut = wi_merge_path([&](K x, K y) { return order.less(x, y); },
                                      [&](int k) { return m.keys[at(start + k)]; }, na,
                                      [&](int k) { return m.keys[at(start + na + k)]; }, nb, d);
        m.cut[threadIdx.x] = cut;
        __syncthreads();
        const int next = d + items == na + nb ? na : m.cut[threadIdx.x + 1];
        const int count = in_order ? next - cut : wi_within(next - cut, items);
        merge(start + cut, count, start + na + d - cut, key, from);
    }

    /* Stores x in shared memory, each thread's elements contiguous. */
    template <class T>
    __device__ void put(T *shared, const T (&x)[items]) const {
        __syncthreads();
#pragma unroll
        for (int k = 0; k < items; k++)
            shared[at(mine()) + k] = x[k];
        __syncthreads();
    }

    /* Loads the thread's values from the places from[]. */
    __device__ void take(V (&value)[items], const int (&from)[items]) const {
#pragma unroll
        for (int k = 0; k < items; k++)
            value[k] = m.values[at(from[k])];
    }

    /* Sorts the block's elements; each thread has `items` of them. */
    __device__ void sort(K (&key)[items], V (&value)[items]) const {
        int from[items];
#pragma unroll
        for (int k = 0; k < items; k++)
            from[k] = mine() + k;
        sort_own(key, from);
        for (int run = items;; run *= 2) {
            if constexpr (wi_merge_has_values<V>) {
                put(m.values, value);
                take(value, from);
            }
            if (run == tile)
                return;
            put(m.keys, key);
            const int start = mine() / (2 * run) * (2 * run);
            merge_runs<true>(start, run, run, mine() - start, key, from);
        }
    }

    /* Writes the block's first n elements, by way of shared memory. */
    __device__ void write(const K (&key)[items], const V (&value)[items], K *keys_out,
                          V *values_out, int n) const {
        if (keys_out) {
            put(m.keys, key);
            each(n, [&](int i, int place) { keys_out[i] = order.store(m.keys[place]); });
        }
        if constexpr (wi_merge_has_values<V>) {
            put(m.values, value);
            each(n, [&](int i, int place) { values_out[i] = m.values[place]; });
        }
    }

    /* Calls f(i, at(i)) for i < n <= tile; neighbouring threads have neighbouring i. */
    template <class F>
    __device__ static void each(int n, F f) {
        const int tid = (int)threadIdx.x;
        if (n == tile) {
#pragma unroll
            for (int k = 0; k < items; k++)
                f(k * threads + tid, k * (threads + threads / items) + (int)at(tid));
        } else {
            for (int i = tid; i < n; i += threads)
                f(i, (int)at(i));
        }
    }

    /* Loads n elements into shared memory, element(i) being the i-th, and fills the rest of the
     * tile. All loads of a thread are in flight before the first is needed. */
    template <class T, class F>
    __device__ void bring(T *shared, int n, T filling, F element) const {
        T own[items];
        if (n == tile) {
#pragma unroll
            for (int k = 0; k < items; k++)
                own[k] = element(k * threads + (int)threadIdx.x);
        } else {
#pragma unroll
            for (int k = 0; k < items; k++) {
                const int i = k * threads + (int)threadIdx.x;
                own[k] = i < n ? element(i) : filling;
            }
        }
#pragma unroll
        for (int k = 0; k < items; k++)
            shared[(int)at((int)threadIdx.x) + k * (threads + threads / items)] = own[k];
        __syncthreads();
    }

    /* Sorts the first n <= tile elements of x. */
    __device__ void sort_tile(const wi_stretch<K, V> &x, int n, K *keys_out, V *values_out) const {
        bring(m.keys, n, order.last(), [&](int i) { return order.load(x.keys[i]); });
        K key[items];
        V value[items];
#pragma unroll
        for (int k = 0; k < items; k++)
            key[k] = m.keys[at(mine()) + k];
        if constexpr (wi_merge_has_values<V>) {
#pragma unroll
            for (int k = 0; k < items; k++)
                value[k] = mine() + k < n ? x.value(mine() + k) : V();
        }
        sort(key, value);
        write(key, value, keys_out, values_out, n);
    }

    /* Merges the first na elements of x with the first n - na <= tile - na of y. */
    template <bool in_order>
    __device__ void merge_tile(const wi_stretch<K, V> &x, int na, const wi_stretch<K, V> &y, int n,
                               K *keys_out, V *values_out) const {
        const K *const of_y = y.keys - na;
        bring(m.keys, n, order.last(),
              [&](int i) { return order.load(i < na ? x.keys[i] : of_y[i]); });
        K key[items];
        V value[items];
        int from[items];
        merge_runs<in_order>(0, na, tile - na, mine(), key, from);
        if constexpr (wi_merge_has_values<V>) {
            __syncthreads();
            bring(m.values, n, V(), [&](int i) { return i < na ? x.value(i) : y.value(i - na); });
            take(value, from);
        }
        write(key, value, keys_out, values_out, n);
    }
};

#endif
