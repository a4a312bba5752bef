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
#include "sort/sort_segments_long.cuh"
#include "sort/sort_segments_short.cuh"
#include "sort/sort_segments_tiny.cuh"

/* What the blocks that check offsets found: is something wrong? Apart from `segments`, as another
 * layout of it costs the merge 3 % of its time. */
struct verdicts {
    uint64_t *of_block;
    unsigned blocks;
};

/* ---- where segments begin ---- */

constexpr unsigned finders = 128, most_checkers = 2048;

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

/* The first segment that begins at `place` or behind it. Looks first where it would be if all
 * segments had one length, and from there in steps that grow. */
static __device__ size_t find_start(const uint64_t *offsets, size_t count, size_t n, size_t place) {
    const size_t guess = (size_t)((double)count * ((double)place / (double)n));
    size_t low = 0, high = count, step = 1;
    if (guess < count && offsets[guess] < place) {
        low = guess + 1;
        for (; low + step < count && offsets[low + step] < place; step *= 4)
            low += step + 1;
        high = low + step < count ? low + step : count;
    } else {
        high = guess < count ? guess : count;
        for (; step <= high && offsets[high - step] >= place; step *= 4)
            high -= step;
        low = step <= high ? high - step + 1 : 0;
    }
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (offsets[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

template <class U, class V>
__global__ void find_starts(segments<U, V> g, size_t n, verdicts v, findings f) {
    const size_t w = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    bool wrong = false;
    if (w == 0) {
        *f.rounds = 0;
        *f.taken = *f.done = 0;
    }
    for (unsigned k = threadIdx.x; k < v.blocks; k += finders)
        wrong |= v.of_block[k] != 0;
    wrong = __syncthreads_or(wrong);
    if (w > g.windows)
        return;
    const size_t s = wrong ? 0 : find_start(g.offsets, g.count, n, w * window<U, V>);
    g.starts[w] = s;
    g.firsts[w] = wrong ? 0 : g.offsets[s];
}

/* ---- short segments ---- */

/* Is one of the windows that this block shall look at not done? Called by the whole block. */
static __device__ bool has_window_left(const findings &f, size_t windows) {
    const size_t stride = gridDim.x;
    bool left = false;
    for (size_t w = blockIdx.x + threadIdx.x * stride; w < windows; w += wi_merge_threads * stride)
        left |= !f.tiny[w];
    return __syncthreads_or(left);
}

template <class U, class V>
__global__ void __launch_bounds__(wi_merge_threads)
    sort_short(segments<U, V> g, size_t n, findings f) {
    using P = placed<U>;
    using block = wi_merge_block<placed_order<P>, V, wi_merge_threads, wi_merge_items<P, V>>;
    WEFT_SHARED(typename block::memory, memory, );
    const block b = {{}, memory};
    if (g.starts[g.windows] == 0) {
        copy_all(g, n);
        return;
    }
    if (!has_window_left(f, g.windows))
        return;
    for (size_t w = blockIdx.x; w < g.windows; w += gridDim.x) {
        if (f.tiny[w])
            continue;
        sort_together(g, find_group(g, w), b);
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
static weft_status sort_short_ones(weft_context *ctx, const segments<U, V> &g, const findings &f,
                                   size_t n) {
    unsigned blocks = 0;
    const weft_status status = sorting_blocks(ctx, sort_short<U, V>, g.windows, &blocks);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((sort_short<U, V>), ctx, blocks, wi_merge_threads, 0, g, n, f);
}

template <class U, class V>
static weft_status sort_long_ones(weft_context *ctx, const segments<U, V> &g, const findings &f) {
    unsigned blocks = 0;
    const weft_status status = sorting_blocks(ctx, sort_long<U, V>, 2 * g.windows, &blocks);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((sort_long<U, V>), ctx, blocks, wi_merge_threads, 0, g, f);
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
    const size_t firsts = wi_take(&bytes, (windows + 1) * sizeof(uint64_t));
    const size_t tiny = wi_take(&bytes, windows), rounds = wi_take(&bytes, sizeof(unsigned));
    const size_t tickets = wi_take(&bytes, 2 * sizeof(unsigned long long));
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
                              (uint64_t *)(memory + firsts),
                              windows,
                              {(const U *)sort->x, (const V *)sort->values, 0},
                              {(U *)sort->y, has_values ? (V *)sort->values_out : NULL},
                              {(U *)(memory + keys), has_values ? (V *)(memory + values) : NULL},
                              wi_key_map_of<U>(sort->type, sort->descending)};
    const verdicts v = {(uint64_t *)(memory + of_block), checkers};
    unsigned long long *const taken = (unsigned long long *)(memory + tickets);
    const findings f = {(uint8_t *)(memory + tiny), (unsigned *)(memory + rounds), taken,
                        taken + 1};
    if (checkers > 0)
        status = WEFT_LAUNCH(check_offsets, ctx, checkers, finders, 0, args->offsets,
                             args->segments, n, v);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH((find_starts<U, V>), ctx, finding_blocks(windows + 1), finders, 0, g,
                             n, v, f);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH((sort_tiny<U, V>), ctx, (unsigned)windows, wi_merge_threads, 0, g, f);
    if (status == WEFT_OK)
        status = sort_short_ones(ctx, g, f, n);
    if (status == WEFT_OK && may_be_long)
        status = sort_long_ones(ctx, g, f);
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
