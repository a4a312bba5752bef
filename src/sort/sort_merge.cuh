/* SPDX-License-Identifier: Apache-2.0 */
/* Merging by comparisons, in the whole array: tiles are sorted, and runs are merged two by two,
 * each tile of the output by one block (sort_merge_block.cuh). */
#ifndef WI_SORT_MERGE_CUH
#define WI_SORT_MERGE_CUH

#include "cuda/limit.cuh"
#include "cuda/warp.cuh"
#include "sort/sort_merge_block.cuh"

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

/* The same by a whole warp, whose lanes look at 32 places of the path at a time. */
template <class Order>
__device__ size_t wi_split_by_warp(const Order &order, const typename Order::Key *a, size_t na,
                                   const typename Order::Key *b, size_t nb, size_t d) {
    size_t low = d > nb ? d - nb : 0, high = d < na ? d : na;
    while (low < high) {
        const size_t step = (high - low + 31) / 32, mine = low + ((size_t)wi_lane() + 1) * step - 1;
        const bool ends =
            mine >= high || order.less(order.load(b[d - 1 - mine]), order.load(a[mine]));
        const int first = __ffs((int)__ballot_sync(wi_all_lanes, ends)) - 1;
        low += (size_t)(first < 0 ? 32 : first) * step;
        high = first >= 0 && low + step - 1 < high ? low + step - 1 : high;
    }
    return low;
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
    WEFT_SHARED(size_t, ends, [2]);
    const unsigned end = threadIdx.x / 32; /* of the tile, that this warp finds */
    if (!splits && end < 2) {
        const size_t d = before + (end ? (size_t)n : 0);
        const size_t split = wi_split_by_warp(order, io.a.keys + pair.start, pair.na,
                                              io.b.keys + pair.start, pair.nb, d);
        if (wi_lane() == 0)
            ends[end] = split;
    }
    if (!splits)
        __syncthreads();
    const size_t a = splits ? splits[blockIdx.x] : ends[0];
    size_t a_end = pair.na;
    if (left > block::tile)
        a_end = splits ? splits[blockIdx.x + 1] : ends[1];
    const int na = wi_within((long long)(a_end - a), n);
    block{order, memory}.template merge_tile<false>(io.a.from(pair.start + a), na,
                                                    io.b.from(pair.start + before - a), n,
                                                    io.out.keys_at(first), io.out.values_at(first));
}

/* So few tiles find their ends themselves: a launch would take longer. */
WI_LIMIT(size_t, wi_merge_few_tiles, 1024)

/* Queues the merge of all pairs of runs; `splits` has room for one number for each tile. */
template <class Order, class V>
weft_status wi_merge_runs(weft_context *ctx, const wi_merge_io<typename Order::Key, V> &io,
                          const Order &order, uint64_t *splits) {
    using K = typename Order::Key;
    constexpr size_t tile = wi_merge_tile<K, V>;
    constexpr unsigned finders = 128;
    const size_t tiles = (io.n + tile - 1) / tile;
    weft_status status = WEFT_OK;
    if (tiles <= wi_merge_few_tiles)
        splits = NULL;
    else
        status = WEFT_LAUNCH((wi_find_splits<Order, V>), ctx,
                             (unsigned)((tiles + finders - 1) / finders), finders, 0, io, order,
                             tile, tiles, splits);
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
