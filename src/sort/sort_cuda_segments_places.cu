/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "places" of sort_segments: few elements, in one launch, where five would take longer
 * than all that they do.
 *
 * Every block looks at all offsets, and so knows what "by_length" needs kernels to find out: are
 * they valid, and is a segment longer than a window? It has 32 elements, of which each finds its
 * place by counting those of its segment that come before it; or, where segments are so long that
 * merging is faster, a window. Long segments are then sorted as ever, by blocks that take tickets;
 * where there are none, nobody waits for anybody. */
#include "cuda/limit.cuh"
#include "cuda/ticket.cuh"
#include "sort/sort_segments.cuh"
#include "sort/sort_segments_long.cuh"
#include "sort/sort_segments_places.h"
#include "sort/sort_segments_short.cuh"

/* If elements meet more others than that in their segments, windows are sorted by merging. */
WI_LIMIT(size_t, wi_places_compared, 1 << 24)

namespace {

constexpr unsigned place_warps = wi_merge_threads / 32, at_once = 16;
constexpr size_t most_windows = 256;

template <class U, class V>
struct places_shared {
    using P = placed<U>;
    using Merging = typename chunk_block<U, V>::block::memory;
    using together = wi_merge_block<placed_order<P>, V, wi_merge_threads, wi_merge_items<P, V>>;
    /* Of 32 elements the first and the last segment may reach a window further. */
    static constexpr size_t span = 2 * window<U, V> + 32 + at_once;
    union {
        Merging merging;
        typename together::memory together_memory;
        wi_vector<U> keys[span / wi_vector<U>::count];
    };
    uint32_t offsets[WI_PLACES_SEGMENTS + 1];
    uint64_t starts[most_windows + 1], firsts[most_windows + 1];
    unsigned before[place_warps][32];
    size_t ends[2];
    uint64_t taken;
    unsigned longest[place_warps];
};

template <class U, class V>
struct places_block {
    const segments<U, V> &g;
    uint32_t n;
    places_shared<U, V> &shared;

    /* Brings all offsets to shared memory. Are they valid? */
    __device__ bool bring_offsets(uint32_t *longest) const {
        bool wrong = false;
        *longest = 0;
#pragma unroll 4
        for (unsigned s = threadIdx.x; s <= g.count; s += wi_merge_threads) {
            const uint64_t begin = g.offsets[s], end = s < g.count ? g.offsets[s + 1] : n;
            wrong |=
                begin > end || end > n || (s == 0 && begin != 0) || (s == g.count && begin != n);
            const uint32_t length = (uint32_t)(end - begin);
            *longest = length > *longest ? length : *longest;
            shared.offsets[s] = (uint32_t)begin;
        }
        return !__syncthreads_or(wrong);
    }

    /* The first segment that begins at `place` or behind it. */
    __device__ unsigned start_from(uint32_t place) const {
        unsigned low = 0, high = (unsigned)g.count;
        while (low < high) {
            const unsigned middle = low + (high - low) / 2;
            if (shared.offsets[middle] < place)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    /* Brings keys [low, high) to shared memory, and what comes last behind them. */
    __device__ void bring_keys(uint32_t low, uint32_t high) const {
        U *const keys = (U *)shared.keys;
        const unsigned many = high - low, whole = (many + at_once - 1) / at_once * at_once;
#pragma unroll 4
        for (unsigned i = threadIdx.x; i < whole; i += wi_merge_threads)
            keys[i] = i < many ? g.map.key(g.x.keys[low + i]) : (U) ~(U)0;
        __syncthreads();
    }

    /* How many of so many keys from a place on come before `key`, if all of them are in its
     * segment, and earlier or later. Four sums, for an addition waits for the one before it. */
    template <bool earlier>
    __device__ unsigned count_all(unsigned first, U key) const {
        constexpr unsigned each = wi_vector<U>::count;
        unsigned count[4] = {};
#pragma unroll
        for (unsigned v = 0; v < at_once / each; v++) {
            const wi_vector<U> other = shared.keys[first / each + v];
#pragma unroll
            for (unsigned e = 0; e < each; e++)
                count[(v * each + e) % 4] += earlier ? other.at[e] <= key : other.at[e] < key;
        }
        return (count[0] + count[1]) + (count[2] + count[3]);
    }
    /* The same of those among them that are from `begin` on and before `end`, without branches. */
    __device__ unsigned count_some(unsigned first, U key, unsigned own, unsigned begin,
                                   unsigned end) const {
        constexpr unsigned each = wi_vector<U>::count;
        unsigned count = 0;
#pragma unroll
        for (unsigned v = 0; v < at_once / each; v++) {
            const wi_vector<U> other = shared.keys[first / each + v];
#pragma unroll
            for (unsigned e = 0; e < each; e++) {
                const unsigned j = first + v * each + e;
                const unsigned comes_before =
                    (other.at[e] < key) | ((other.at[e] == key) & (j < own));
                count += comes_before & (unsigned)(j - begin < end - begin);
            }
        }
        return count;
    }

    /* How many of this warp's share of the keys in shared memory come before the lane's own. Places
     * are those there; the lanes' own begin at `base`. What lies before them all is of the segment
     * that the first of them is in, what lies behind them of that of the last. */
    __device__ unsigned count_before(unsigned base, unsigned many, unsigned begin,
                                     unsigned end) const {
        const unsigned own = base + (unsigned)wi_lane();
        const U key = own < many ? ((const U *)shared.keys)[own] : U();
        unsigned count = 0;
        for (unsigned j = threadIdx.x / 32 * at_once; j < many; j += place_warps * at_once) {
            const int from_base = (int)(j - base);
            if (from_base + (int)at_once <= 0)
                count += begin == 0 ? count_all<true>(j, key) : 0;
            else if (from_base >= 32)
                count += end == many ? count_all<false>(j, key) : 0;
            else
                count += count_some(j, key, own, begin, end);
        }
        return count;
    }

    /* Puts the block's elements where they belong, but those of long segments. */
    __device__ void place(uint32_t base) const {
        const unsigned lane = (unsigned)wi_lane(), warp = threadIdx.x / 32;
        const uint32_t own = base + lane, in = own < n ? own : n - 1;
        const unsigned s = start_from(in + 1) - 1;
        const uint32_t begin = shared.offsets[s], end = shared.offsets[s + 1];
        const bool is_short = own < n && end - begin <= window<U, V>;
        const uint32_t low = wi_warp_min(is_short ? begin : n),
                       high = wi_warp_max(is_short ? end : 0);
        if (low >= high)
            return;
        bring_keys(low, high);
        shared.before[warp][lane] = count_before(base - low, high - low, begin - low, end - low);
        __syncthreads();
        if (warp > 0 || !is_short)
            return;
        uint32_t to = begin;
#pragma unroll
        for (unsigned w = 0; w < place_warps; w++)
            to += shared.before[w][lane];
        g.out.keys[to] = g.x.keys[own];
        if constexpr (wi_merge_has_values<V>)
            g.out.values[to] = g.x.value((int)own);
    }

    /* Sorts the short segments that begin in a window, by merging. */
    __device__ void merge_window(size_t w) const {
        using together = typename places_shared<U, V>::together;
        const unsigned s = start_from((uint32_t)(w * window<U, V>)),
                       end = start_from((uint32_t)((w + 1) * window<U, V>));
        if (s == end)
            return;
        const size_t first = shared.offsets[s], behind = shared.offsets[end],
                     last = shared.offsets[end - 1];
        const bool is_long = behind - last > window<U, V>;
        const group of = {s, is_long ? end - 1 : end, first,
                          (int)((is_long ? last : behind) - first)};
        if (of.n > 0)
            sort_together(g, of, together{{}, shared.together_memory});
    }

    /* The longest segment of all, from that of each thread. */
    __device__ uint32_t longest_of_all(uint32_t own) const {
        const uint32_t of_warp = wi_warp_max(own);
        if (wi_lane() == 0)
            shared.longest[threadIdx.x / 32] = of_warp;
        __syncthreads();
        uint32_t longest = 0;
        for (unsigned w = 0; w < place_warps; w++)
            longest = shared.longest[w] > longest ? shared.longest[w] : longest;
        return longest;
    }

    __device__ void sort_long_ones(uint32_t longest, const findings &f) const {
        for (unsigned w = threadIdx.x; w <= g.windows; w += wi_merge_threads) {
            shared.starts[w] = start_from((uint32_t)(w * window<U, V>));
            shared.firsts[w] = shared.offsets[shared.starts[w]];
        }
        __syncthreads();
        segments<U, V> own = g;
        own.starts = shared.starts;
        own.firsts = shared.firsts;
        const unsigned rounds = 1 + (unsigned)wi_merge_passes(longest, chunk_size<U, V>);
        take_rounds(chunk_block<U, V>{own, shared.merging, shared.ends}, f, rounds, &shared.taken);
    }
};

template <class U, class V>
__global__ void __launch_bounds__(wi_merge_threads)
    sort_by_places(segments<U, V> g, uint32_t n, bool merges, findings f) {
    using Shared = places_shared<U, V>;
    WEFT_SHARED(Shared, shared, );
    const places_block<U, V> block = {g, n, shared};
    uint32_t longest;
    if (!block.bring_offsets(&longest)) {
        copy_all(g, n);
        return;
    }
    if (merges)
        block.merge_window(blockIdx.x);
    else
        block.place(blockIdx.x * 32);
    const bool is_long = longest > window<U, V>;
    if (!__syncthreads_or(is_long))
        return;
    block.sort_long_ones(block.longest_of_all(longest), f);
    if (wi_ends_last(f.left) && threadIdx.x == 0)
        *f.taken = *f.done = 0;
}

const char places_key = 0;

template <class U, class V>
weft_status sort_few_segments(weft_context *ctx, const wi_segments_args *args) {
    const wi_sort_args *const sort = &args->sort;
    const size_t n = sort->n, windows = (n + window<U, V> - 1) / window<U, V>;
    const bool may_be_long = n > window<U, V>, has_values = sort->value_bytes > 0;
    size_t bytes = 0;
    wi_take(&bytes, may_be_long ? n * sizeof(U) : 0);
    const size_t values = bytes;
    wi_take(&bytes, may_be_long ? n * sort->value_bytes : 0);
    if (sort->bytes) {
        *sort->bytes += bytes;
        return WEFT_OK;
    }
    void *scratch, *spare = NULL;
    weft_status status = wi_gpu_scratch(ctx, &places_key, 4 * sizeof(unsigned long long), &scratch);
    if (status == WEFT_OK && bytes > 0)
        status = wi_gpu_alloc(ctx, &spare, bytes);
    if (status != WEFT_OK)
        return status;
    const segments<U, V> g = {args->offsets,
                              args->segments,
                              NULL,
                              NULL,
                              windows,
                              {(const U *)sort->x, (const V *)sort->values, 0},
                              {(U *)sort->y, has_values ? (V *)sort->values_out : NULL},
                              {(U *)spare, has_values ? (V *)((char *)spare + values) : NULL},
                              wi_key_map_of<U>(sort->type, sort->descending)};
    unsigned long long *const taken = (unsigned long long *)scratch;
    const bool merges = n / args->segments > wi_places_compared / n;
    const size_t blocks = merges ? windows : (n + 31) / 32;
    status = WEFT_LAUNCH((sort_by_places<U, V>), ctx, (unsigned)blocks, wi_merge_threads, 0, g,
                         (uint32_t)n, merges,
                         (findings{NULL, NULL, (unsigned *)(taken + 2), taken, taken + 1}));
    const weft_status freed = spare ? wi_gpu_free(ctx, spare) : WEFT_OK;
    return status == WEFT_OK ? freed : status;
}

} // namespace

weft_status wi_sort_segments_places(weft_context *ctx, const void *arguments) {
    const wi_segments_args *const args = (const wi_segments_args *)arguments;
    return wi_with_sort_sizes(
        weft_type_size(args->sort.type), args->sort.value_bytes, [=](auto key, auto value) {
            return sort_few_segments<typename decltype(key)::type, typename decltype(value)::type>(
                ctx, args);
        });
}
