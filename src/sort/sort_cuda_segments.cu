/* SPDX-License-Identifier: Apache-2.0 */
/* Many sorts in one call, by merging, for any mixture of lengths; the host reads nothing back.
 *
 * The array is divided into windows of half a tile. All short segments that begin in a window fit a
 * tile together: a block sorts them as one, by the start of the segment first and then by key; or,
 * if all are tiny, each thread sorts one segment at a time (sort_segments_tiny.cuh). At most one
 * segment longer than a window begins in a window; it is cut into chunks, which are sorted and then
 * merged two by two. At most one later chunk of one long segment and the first chunk of the next
 * begin in the same window, so two blocks for each window are enough for all chunks.
 *
 * Offsets in device memory are checked first. If they are invalid, no segment begins anywhere:
 * nothing is sorted, no address is computed from them, and all elements are copied. */
#include "sort/sort_segments.cuh"
#include "sort/sort_segments_tiny.cuh"

/* What the blocks that check offsets found: is something wrong? Apart from `segments`, as another
 * layout of it costs the merge 3 % of its time. */
struct verdicts {
    uint64_t *of_block;
    unsigned blocks;
};

/* ---- where segments begin ---- */

constexpr unsigned finders = 128, most_checkers = 2048, copiers = 1024;

static unsigned finding_blocks(size_t n) {
    return (unsigned)((n + finders - 1) / finders);
}

static __global__ void check_offsets(const uint64_t *offsets, size_t count, size_t n, verdicts v) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    const size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    bool wrong = first == 0 && (offsets[0] != 0 || offsets[count] != n);
#pragma unroll 8
    for (size_t s = first; s < count; s += stride)
        wrong |= offsets[s] > offsets[s + 1];
    wrong = __syncthreads_or(wrong);
    if (threadIdx.x == 0)
        v.of_block[blockIdx.x] = wrong;
}

template <class U, class V>
__global__ void find_starts(segments<U, V> g, verdicts v, findings f) {
    const size_t w = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    bool wrong = false;
    if (w == 0)
        *f.passes = 0;
    for (unsigned k = threadIdx.x; k < v.blocks; k += finders)
        wrong |= v.of_block[k] != 0;
    wrong = __syncthreads_or(wrong);
    if (w > g.windows)
        return;
    size_t low = 0, high = wrong ? 0 : g.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (g.offsets[middle] < w * window<U, V>)
            low = middle + 1;
        else
            high = middle;
    }
    g.starts[w] = low;
}

/* out = x, if offsets are invalid. */
template <class U, class V>
__global__ void copy_if_broken(segments<U, V> g, size_t n) {
    if (g.starts[g.windows] != 0)
        return;
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        g.out.keys[i] = g.x.keys[i];
        if constexpr (wi_merge_has_values<V>)
            g.out.values[i] = g.x.from(i).value(0);
    }
}

/* ---- short segments ---- */

/* A block sorts all segments as one, by merging; keys are combined with the places where their
 * segments begin. */
template <class Block, class U, class V>
__device__ void sort_together(const segments<U, V> &g, const group &of, const Block &b) {
    using P = typename Block::K;
    constexpr int items = Block::items;
    const size_t first = of.first;
    b.bring(b.m.keys, of.n, b.order.last(),
            [&](int i) { return (P)g.map.key(g.x.keys[first + (size_t)i]); });
    /* The segment in which this thread's elements begin: the last one that begins there or before.
     */
    const size_t mine = first + (size_t)b.mine();
    size_t s = of.s, end = of.end;
    while (s + 1 < end) {
        const size_t middle = s + (end - s) / 2;
        if (g.offsets[middle] <= mine)
            s = middle;
        else
            end = middle;
    }
    P key[items];
    V value[items];
    size_t begins = g.offsets[s], ends = g.offsets[s + 1];
#pragma unroll
    for (int k = 0; k < items; k++) {
        key[k] = b.m.keys[b.at(b.mine()) + k];
        const bool in = b.mine() + k < of.n;
        while (in && mine + (size_t)k >= ends) {
            begins = ends;
            ends = g.offsets[++s + 1];
        }
        if (in)
            key[k] |= (P)(begins - first) << (4 * sizeof(P));
        if constexpr (wi_merge_has_values<V>)
            value[k] = in ? g.x.from(first).value(b.mine() + k) : V();
    }
    b.sort(key, value);
    b.put(b.m.keys, key);
    b.each(of.n, [&](int i, int place) {
        g.out.keys[first + (size_t)i] = g.map.bits((U)b.m.keys[place]);
    });
    if constexpr (wi_merge_has_values<V>) {
        b.put(b.m.values, value);
        b.each(of.n,
               [&](int i, int place) { g.out.values[first + (size_t)i] = b.m.values[place]; });
    }
}

/* Is one of the windows that this block shall look at not done? Called by the whole block. */
static __device__ bool has_window_left(const findings &f, size_t windows) {
    const size_t stride = gridDim.x;
    bool left = false;
    for (size_t w = blockIdx.x + threadIdx.x * stride; w < windows; w += wi_merge_threads * stride)
        left |= !f.tiny[w];
    return __syncthreads_or(left);
}

template <class U, class V>
__global__ void __launch_bounds__(wi_merge_threads) sort_short(segments<U, V> g, findings f) {
    using P = placed<U>;
    using block = wi_merge_block<placed_order<P>, V, wi_merge_threads, wi_merge_items<P, V>>;
    WEFT_SHARED(typename block::memory, memory, );
    const block b = {{}, memory};
    if (!has_window_left(f, g.windows))
        return;
    for (size_t w = blockIdx.x; w < g.windows; w += gridDim.x) {
        if (f.tiny[w])
            continue;
        sort_together(g, find_group(g, w), b);
        __syncthreads();
    }
}

/* ---- long segments ---- */

/* A chunk of a long segment: elements [first, first + n) of the array. */
struct chunk {
    size_t segment_first, segment_n;
    size_t first, n;
    int passes; /* that the segment needs; the last one writes `out` */
};

/* Chunk c of all: even numbers are chunks of segments that began before the window, odd numbers are
 * the first chunks of segments. False if there is none. */
template <class U, class V>
__device__ bool find_chunk(const segments<U, V> &g, size_t c, chunk *out) {
    constexpr size_t wide = window<U, V>, size = chunk_size<U, V>;
    const size_t w = c / 2, begin = w * wide;
    const uint64_t s = c % 2 ? g.starts[w + 1] : g.starts[w]; /* the one after the segment */
    if (s == (c % 2 ? g.starts[w] : 0))
        return false;
    chunk found;
    found.segment_first = g.offsets[s - 1];
    found.segment_n = g.offsets[s] - found.segment_first;
    if (found.segment_n <= wide)
        return false;
    size_t before = 0;
    if (c % 2 == 0)
        before = (begin - found.segment_first + size - 1) / size * size;
    found.first = found.segment_first + before;
    if (before >= found.segment_n || found.first >= begin + wide)
        return false;
    const size_t left = found.segment_n - before;
    found.n = left < size ? left : size;
    found.passes = wi_merge_passes(found.segment_n, size);
    *out = found;
    return true;
}

template <class U, class V>
__device__ wi_plain_order<U> order_of(const segments<U, V> &g, bool maps_in, bool maps_out) {
    return {g.map, maps_in, maps_out, 0, (U) ~(U)0};
}

template <class U, class V>
__global__ void __launch_bounds__(wi_merge_threads) sort_chunks(segments<U, V> g, findings f) {
    using block = wi_merge_block<wi_plain_order<U>, V, wi_merge_threads, wi_merge_items<U, V>>;
    WEFT_SHARED(typename block::memory, memory, );
    if (*f.passes == 0)
        return;
    for (size_t number = blockIdx.x; number < 2 * g.windows; number += gridDim.x) {
        chunk c;
        if (!find_chunk(g, number, &c))
            continue;
        const wi_sort_out<U, V> to = g.home(c.passes & 1);
        block{order_of(g, true, c.passes == 0), memory}.sort_tile(
            g.x.from(c.first), (int)c.n, to.keys_at(c.first), to.values_at(c.first));
        __syncthreads();
    }
}

/* The two runs that a pass merges for a chunk, and where the chunk is in the result. */
struct merging {
    size_t start, na, nb, before;
};

template <class U, class V>
__device__ merging find_merging(const chunk &c, int pass) {
    const size_t run = chunk_size<U, V> << pass, place = c.first - c.segment_first;
    merging m;
    const size_t pair = place / (2 * run) * (2 * run), left = c.segment_n - pair;
    m.start = c.segment_first + pair;
    m.na = left < run ? left : run;
    m.nb = left - m.na < run ? left - m.na : run;
    m.before = place - pair;
    return m;
}

/* Which of the two arrays pass number `pass` of a segment reads; it writes the other one, the last
 * pass `out`. */
__device__ inline int home_of(const chunk &c, int pass) {
    return (c.passes - pass) & 1;
}

template <class U, class V>
__global__ void split_chunks(segments<U, V> g, findings f, int pass) {
    const size_t number = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    chunk c;
    if ((unsigned)pass + 1 >= *f.passes || number >= 2 * g.windows || !find_chunk(g, number, &c) ||
        pass >= c.passes)
        return;
    const merging m = find_merging<U, V>(c, pass);
    const U *const from = g.home(home_of(c, pass)).keys + m.start;
    g.splits[number] =
        wi_split_runs(order_of(g, false, false), from, m.na, from + m.na, m.nb, m.before);
}

/* The number of the chunk that begins at `place`, of a segment that began before that window. */
template <class U, class V>
__device__ size_t chunk_at(size_t place) {
    return 2 * (place / window<U, V>);
}

template <class U, class V, class Block>
__device__ void merge_chunk(const segments<U, V> &g, size_t number, const chunk &c, int pass,
                            const Block &block) {
    const merging m = find_merging<U, V>(c, pass);
    const int home = home_of(c, pass);
    const wi_sort_out<U, V> from = g.home(home), to = g.home(home ^ 1);
    const wi_stretch<U, V> runs = wi_stretch<U, V>{from.keys, from.values, 0}.from(m.start);
    const size_t a = g.splits[number];
    const size_t a_end =
        m.before + c.n == m.na + m.nb ? m.na : g.splits[chunk_at<U, V>(c.first + c.n)];
    block.template merge_tile<true>(runs.from(a), (int)(a_end - a), runs.from(m.na + m.before - a),
                                    (int)c.n, to.keys_at(c.first), to.values_at(c.first));
}

template <class U, class V>
__global__ void __launch_bounds__(wi_merge_threads)
    merge_chunks(segments<U, V> g, findings f, int pass) {
    using block = wi_merge_block<wi_plain_order<U>, V, wi_merge_threads, wi_merge_items<U, V>>;
    WEFT_SHARED(typename block::memory, memory, );
    if ((unsigned)pass + 1 >= *f.passes)
        return;
    for (size_t number = blockIdx.x; number < 2 * g.windows; number += gridDim.x) {
        chunk c;
        if (!find_chunk(g, number, &c) || pass >= c.passes)
            continue;
        merge_chunk(g, number, c, pass, block{order_of(g, false, pass + 1 == c.passes), memory});
        __syncthreads();
    }
}

/* ---- the call ---- */

/* Blocks of a kernel for so many windows or chunks: as many as the device holds at once, each of
 * which takes as many of these as the others. Where nothing is long or short they end at once, but
 * each that the device must begin takes its time: 16,384 took 9 us of an H200 in each of some 30
 * kernels; and 4,224, which are no whole number of rounds, took longer for what is long. */
template <class... Parameters>
static weft_status sorting_blocks(weft_context *ctx, void (*kernel)(Parameters...), size_t many,
                                  unsigned *blocks) {
    size_t resident;
    const weft_status status = wi_resident_blocks(ctx, kernel, wi_merge_threads, 0, &resident);
    *blocks = (unsigned)(many < resident ? many : resident);
    return status;
}

template <class U, class V>
static weft_status sort_short_ones(weft_context *ctx, const segments<U, V> &g, const findings &f) {
    unsigned blocks;
    const weft_status status = sorting_blocks(ctx, sort_short<U, V>, g.windows, &blocks);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((sort_short<U, V>), ctx, blocks, wi_merge_threads, 0, g, f);
}

template <class U, class V>
static weft_status sort_long(weft_context *ctx, const segments<U, V> &g, const findings &f,
                             size_t n) {
    unsigned sorters, mergers;
    weft_status status = sorting_blocks(ctx, sort_chunks<U, V>, 2 * g.windows, &sorters);
    if (status == WEFT_OK)
        status = sorting_blocks(ctx, merge_chunks<U, V>, 2 * g.windows, &mergers);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH((sort_chunks<U, V>), ctx, sorters, wi_merge_threads, 0, g, f);
    const int passes = wi_merge_passes(n, chunk_size<U, V>);
    for (int pass = 0; pass < passes && status == WEFT_OK; pass++) {
        status = WEFT_LAUNCH((split_chunks<U, V>), ctx, finding_blocks(2 * g.windows), finders, 0,
                             g, f, pass);
        if (status == WEFT_OK)
            status =
                WEFT_LAUNCH((merge_chunks<U, V>), ctx, mergers, wi_merge_threads, 0, g, f, pass);
    }
    return status;
}

template <class U, class V>
static weft_status sort_segments(weft_context *ctx, const wi_segments_args *args) {
    const wi_sort_args *const sort = &args->sort;
    const size_t n = sort->n, windows = (n + window<U, V> - 1) / window<U, V>;
    const bool may_be_long = n > window<U, V>;
    const unsigned enough = args->checked ? 0 : finding_blocks(args->segments + 1);
    const unsigned checkers = enough < most_checkers ? enough : most_checkers;
    size_t bytes = 0;
    const size_t of_block = wi_take(&bytes, checkers * sizeof(uint64_t));
    const size_t starts = wi_take(&bytes, (windows + 1) * sizeof(uint64_t));
    const size_t tiny = wi_take(&bytes, windows), passes = wi_take(&bytes, sizeof(unsigned));
    const size_t splits = wi_take(&bytes, may_be_long ? 2 * windows * sizeof(uint64_t) : 0);
    const size_t keys = wi_take(&bytes, may_be_long ? n * sizeof(U) : 0);
    const size_t values = wi_take(&bytes, may_be_long ? n * sort->value_bytes : 0);
    if (sort->bytes) {
        *sort->bytes += bytes;
        return WEFT_OK;
    }
    void *block = NULL;
    weft_status status = wi_gpu_alloc(ctx, &block, bytes);
    if (status != WEFT_OK)
        return status;
    char *const memory = (char *)block;
    const bool has_values = sort->value_bytes > 0;
    const segments<U, V> g = {args->offsets,
                              args->segments,
                              (uint64_t *)(memory + starts),
                              windows,
                              {(const U *)sort->x, (const V *)sort->values, 0},
                              {(U *)sort->y, has_values ? (V *)sort->values_out : NULL},
                              {(U *)(memory + keys), has_values ? (V *)(memory + values) : NULL},
                              wi_key_map_of<U>(sort->type, sort->descending),
                              (uint64_t *)(memory + splits)};
    const verdicts v = {(uint64_t *)(memory + of_block), checkers};
    const findings f = {(uint8_t *)(memory + tiny), (unsigned *)(memory + passes)};
    if (checkers > 0)
        status = WEFT_LAUNCH(check_offsets, ctx, checkers, finders, 0, args->offsets,
                             args->segments, n, v);
    if (status == WEFT_OK)
        status =
            WEFT_LAUNCH((find_starts<U, V>), ctx, finding_blocks(windows + 1), finders, 0, g, v, f);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH((sort_tiny<U, V>), ctx, (unsigned)windows, wi_merge_threads, 0, g, f);
    if (status == WEFT_OK)
        status = sort_short_ones(ctx, g, f);
    if (status == WEFT_OK && may_be_long)
        status = sort_long(ctx, g, f, n);
    if (status == WEFT_OK && checkers > 0)
        status = WEFT_LAUNCH((copy_if_broken<U, V>), ctx, copiers, finders, 0, g, n);
    const weft_status freed = wi_gpu_free(ctx, block);
    return status == WEFT_OK ? freed : status;
}

weft_status wi_sort_segments_by_length(weft_context *ctx, const void *arguments) {
    const wi_segments_args *const args = (const wi_segments_args *)arguments;
    return wi_with_sort_sizes(
        weft_type_size(args->sort.type), args->sort.value_bytes, [=](auto key, auto value) {
            return sort_segments<typename decltype(key)::type, typename decltype(value)::type>(
                ctx, args);
        });
}
