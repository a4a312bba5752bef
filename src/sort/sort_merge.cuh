/* SPDX-License-Identifier: Apache-2.0 */
/* Merging by comparisons. The first d elements of two merged runs are a[0..i) and b[0..d - i), and
 * i is found by bisection (the merge path). So every tile of the output, and every thread in it,
 * finds where its part begins and merges it independently.
 *
 * An Order says what is compared: Key and its size in memory, less(a, b), load and store between
 * memory and Key, and last(), a key that comes after all others. Among equal elements those of a
 * come first, so all of this is stable. */
#ifndef WI_SORT_MERGE_CUH
#define WI_SORT_MERGE_CUH

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
        if (n == tile) {
            T own[items];
#pragma unroll
            for (int k = 0; k < items; k++)
                own[k] = element(k * threads + (int)threadIdx.x);
#pragma unroll
            for (int k = 0; k < items; k++)
                shared[(int)at((int)threadIdx.x) + k * (threads + threads / items)] = own[k];
        } else {
            for (int i = (int)threadIdx.x; i < tile; i += threads)
                shared[at(i)] = i < n ? element(i) : filling;
        }
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

/* ---- sorting tiles ---- */

/* The outputs of a kernel; NULL: not wanted. */
template <class K, class V>
struct wi_sort_out {
    K *keys;
    V *values;

    __device__ K *keys_at(size_t i) const {
        return keys ? keys + i : nullptr;
    }
    __device__ V *values_at(size_t i) const {
        return values ? values + i : nullptr;
    }
};

template <class Order, class V, int threads, int items>
__global__ void __launch_bounds__(threads)
    wi_sort_tiles(wi_stretch<typename Order::Key, V> x, size_t n,
                  wi_sort_out<typename Order::Key, V> out, Order order) {
    using block = wi_merge_block<Order, V, threads, items>;
    WEFT_SHARED(typename block::memory, memory, );
    const size_t first = (size_t)blockIdx.x * block::tile;
    const int count = n - first < block::tile ? (int)(n - first) : block::tile;
    block{order, memory}.sort_tile(x.from(first), count, out.keys_at(first), out.values_at(first));
}

template <class Order, class V>
weft_status wi_sort_all_tiles(weft_context *ctx, const wi_stretch<typename Order::Key, V> &x,
                              size_t n, const wi_sort_out<typename Order::Key, V> &out,
                              const Order &order) {
    using K = typename Order::Key;
    constexpr size_t tile = wi_merge_tile<K, V>;
    return WEFT_LAUNCH((wi_sort_tiles<Order, V, wi_merge_threads, wi_merge_items<K, V>>), ctx,
                       (unsigned)((n + tile - 1) / tile), wi_merge_threads, 0, x, n, out, order);
}

/* ---- merging runs ---- */

/* Merges runs of run_a elements, the first at a and consecutive ones run_a + run_b apart, with runs
 * of run_b elements from b on; the last ones may be shorter. n is the number of all elements.
 * Either there is only one pair of runs, or the length of a pair is a power of two times the tile.
 */
template <class K, class V>
struct wi_merge_io {
    wi_stretch<K, V> a, b;
    wi_sort_out<K, V> out;
    size_t run_a, run_b, n;
    uint64_t first_tile; /* mask: the number of a tile becomes that of its pair's first tile */
};

/* A pair of runs: where its result starts in the output, and the runs' lengths. */
struct wi_run_pair {
    size_t start, na, nb;
};

template <class K, class V>
__device__ wi_run_pair wi_pair_of(const wi_merge_io<K, V> &io, uint64_t t, size_t tile) {
    wi_run_pair pair;
    pair.start = (t & io.first_tile) * tile;
    const size_t left = io.n - pair.start;
    pair.na = left < io.run_a ? left : io.run_a;
    pair.nb = left - pair.na < io.run_b ? left - pair.na : io.run_b;
    return pair;
}

/* The merge path of two runs in memory. */
template <class Order>
__device__ size_t wi_split_runs(const Order &order, const typename Order::Key *a, size_t na,
                                const typename Order::Key *b, size_t nb, size_t d) {
    using K = typename Order::Key;
    return wi_merge_path([&](K x, K y) { return order.less(x, y); },
                         [&](size_t k) { return order.load(a[k]); }, na,
                         [&](size_t k) { return order.load(b[k]); }, nb, d);
}

/* splits[t] = how many elements of its pair's first run come before tile t. */
template <class Order, class V>
__global__ void wi_find_splits(wi_merge_io<typename Order::Key, V> io, Order order, size_t tile,
                               size_t tiles, uint64_t *splits) {
    const size_t t = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= tiles)
        return;
    const wi_run_pair pair = wi_pair_of(io, t, tile);
    splits[t] = wi_split_runs(order, io.a.keys + pair.start, pair.na, io.b.keys + pair.start,
                              pair.nb, t * tile - pair.start);
}

template <class Order, class V, int threads, int items>
__global__ void __launch_bounds__(threads)
    wi_merge_tiles(wi_merge_io<typename Order::Key, V> io, Order order, const uint64_t *splits) {
    using block = wi_merge_block<Order, V, threads, items>;
    WEFT_SHARED(typename block::memory, memory, );
    const size_t first = (size_t)blockIdx.x * block::tile;
    const wi_run_pair pair = wi_pair_of(io, blockIdx.x, block::tile);
    const size_t before = first - pair.start, left = pair.na + pair.nb - before;
    const int n = left < block::tile ? (int)left : block::tile;
    const size_t a = splits[blockIdx.x];
    const size_t a_end = left <= block::tile ? pair.na : splits[blockIdx.x + 1];
    const int na = wi_within((long long)(a_end - a), n);
    block{order, memory}.template merge_tile<false>(io.a.from(pair.start + a), na,
                                                    io.b.from(pair.start + before - a), n,
                                                    io.out.keys_at(first), io.out.values_at(first));
}

/* Queues the merge of all pairs of runs; `splits` has room for one number for each tile. */
template <class Order, class V>
weft_status wi_merge_runs(weft_context *ctx, const wi_merge_io<typename Order::Key, V> &io,
                          const Order &order, uint64_t *splits) {
    using K = typename Order::Key;
    constexpr size_t tile = wi_merge_tile<K, V>;
    constexpr unsigned finders = 128;
    const size_t tiles = (io.n + tile - 1) / tile;
    weft_status status =
        WEFT_LAUNCH((wi_find_splits<Order, V>), ctx, (unsigned)((tiles + finders - 1) / finders),
                    finders, 0, io, order, tile, tiles, splits);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((wi_merge_tiles<Order, V, wi_merge_threads, wi_merge_items<K, V>>), ctx,
                       (unsigned)tiles, wi_merge_threads, 0, io, order, splits);
}

/* ---- a whole sort ---- */

/* How many merge passes n elements need with tiles of `tile`. */
__host__ __device__ inline int wi_merge_passes(size_t n, size_t tile) {
    int passes = 0;
    for (size_t run = tile; run < n; run *= 2)
        passes++;
    return passes;
}

/* The two arrays between which passes alternate, and the output of the last pass. */
template <class K, class V>
struct wi_merge_homes {
    wi_sort_out<K, V> home[2]; /* not used if one tile holds all; home[0] may be `out` */
    wi_sort_out<K, V> out;
    uint64_t *splits; /* one for each tile */
};

/* Sorts x[0..n). There are three Orders: of the first pass, of those between, and of the last. They
 * differ in whether elements are converted when read and when written; `only` does both. */
template <class Order, class V>
weft_status wi_merge_sort(weft_context *ctx, const wi_stretch<typename Order::Key, V> &x, size_t n,
                          const wi_merge_homes<typename Order::Key, V> &homes, const Order &only,
                          const Order &first, const Order &between, const Order &last) {
    using K = typename Order::Key;
    constexpr size_t tile = wi_merge_tile<K, V>;
    const int passes = wi_merge_passes(n, tile);
    if (passes == 0)
        return wi_sort_all_tiles<Order, V>(ctx, x, n, homes.out, only);
    weft_status status = wi_sort_all_tiles<Order, V>(ctx, x, n, homes.home[passes & 1], first);
    size_t run = tile;
    for (int left = passes; left > 0 && status == WEFT_OK; left--, run *= 2) {
        const wi_sort_out<K, V> &from = homes.home[left & 1];
        const wi_stretch<K, V> all = {from.keys, from.values, 0};
        const wi_merge_io<K, V> io = {
            .a = all,
            .b = {from.keys + run, from.values ? from.values + run : nullptr, 0},
            .out = left == 1 ? homes.out : homes.home[~left & 1],
            .run_a = run,
            .run_b = run,
            .n = n,
            .first_tile = ~(uint64_t)(2 * run / tile - 1)};
        status = wi_merge_runs<Order, V>(ctx, io, left == 1 ? last : between, homes.splits);
    }
    return status;
}

#endif
