/* SPDX-License-Identifier: Apache-2.0 */
/* The short segments of a window. If all are tiny, each thread sorts a segment in its registers, by
 * a network as wide as the longest segment of its warp needs; else teams of threads do
 * (sort_segments_teams.cuh). The keys of a window go through shared memory, so that reading and
 * writing them is side by side. */
#ifndef WI_SORT_SEGMENTS_TINY_CUH
#define WI_SORT_SEGMENTS_TINY_CUH

#include "cuda/async.cuh"
#include "cuda/warp.cuh"
#include "sort/sort_segments_short.cuh"
#include "sort/sort_segments_teams.cuh"

namespace {

constexpr int tiny_segment = 24; /* the widest network */

/* Sorts n <= count words from `begin` on. Segments of one length of 8 or 16 begin in a few banks,
 * so threads differ in which of four neighbours they read first: at most four meet in a bank. (What
 * a network is given in another order it sorts as well.) Gaps between lines of 32 words would keep
 * apart the threads that write, too, but cost three instructions for each word. */
template <int count, class W>
__device__ void sort_few(W *word, unsigned begin, unsigned n) {
    static_assert(count % 4 == 0, "fours that are read in any order");
    W *const own = word + begin;
    const unsigned turn = begin / 32 % 4;
    W x[count];
#pragma unroll
    for (unsigned k = 0; k < count; k++) {
        const unsigned i = k / 4 * 4 + (k % 4 ^ turn);
        x[k] = ~(W)0;
        if (i < n)
            x[k] = own[i];
    }
    merge_registers<1, 1>(x);
#pragma unroll
    for (unsigned k = 0; k < count; k++)
        if (k < n)
            own[k] = x[k];
}

/* Called by whole warps. */
template <class W>
__device__ void sort_by_width(W *word, unsigned begin, unsigned n) {
    const unsigned most = wi_warp_max(n);
    if (most <= 1)
        return;
    if (most <= 4)
        sort_few<4>(word, begin, n);
    else if (most <= 8)
        sort_few<8>(word, begin, n);
    else if (most <= 12)
        sort_few<12>(word, begin, n);
    else if (most <= 16)
        sort_few<16>(word, begin, n);
    else
        sort_few<tiny_segment>(word, begin, n);
}

template <class U, class V>
struct tiny_block {
    using W = typename tiny_word<U, V>::type;
    /* The last segment may end behind the window: if it is tiny, soon; else up to a window's length
     * behind it. */
    static constexpr int most = (int)window<U, V> + tiny_segment;
    static constexpr int each = (most + wi_merge_threads - 1) / wi_merge_threads;
    static constexpr int size = each * wi_merge_threads > 2 * (int)window<U, V>
                                    ? each *wi_merge_threads
                                    : 2 * (int)window<U, V>;
    static constexpr int place_bits = wi_merge_has_values<V> ? 4 * sizeof(W) : 0;
    /* Do elements come to shared memory as they are, past the registers? */
    static constexpr bool comes_as_is = sizeof(U) >= 4 && !wi_merge_has_values<V>;

    const segments<U, V> &g;
    W *word;
    const uint64_t *offsets; /* of the window's segments */
    size_t count, first;     /* how many these are, and the window's first element */

    /* The thread's k-th element, of the window's, and where it is in shared memory. */
    __device__ static int mine(int k) {
        return k * wi_merge_threads + (int)threadIdx.x;
    }
    __device__ W &own(int k) const {
        return word[mine(k)];
    }

    /* The window's segment i; none: of length 0. Longer ones than a window, of which only the last
     * of a window may be one, are not the business of this kernel: none, too. */
    __device__ segment_part part(size_t i) const {
        if (i >= count)
            return {0, 0};
        const size_t begin = offsets[i], n = offsets[i + 1] - begin;
        return {(unsigned)(begin - first), n <= window<U, V> ? (unsigned)n : 0};
    }

    /* Starts to bring n elements to shared memory, or keeps them in registers. */
    __device__ void load(U (&bits)[each], int n) const {
        const U *const from = g.x.keys + first + threadIdx.x;
#pragma unroll
        for (int k = 0; k < each; k++) {
            if constexpr (!comes_as_is)
                bits[k] = mine(k) < n ? from[k * wi_merge_threads] : (U)0;
            else
                wi_async_copy_if<sizeof(U)>(mine(k) < n, &own(k), from + k * wi_merge_threads);
        }
        wi_async_commit();
    }

    /* Are all segments tiny? Called by the whole block; `own` is the thread's first one. The end of
     * the last one goes to *behind. */
    __device__ bool all_tiny(segment_part own, unsigned *behind) const {
        unsigned longest = own.n;
        size_t i = threadIdx.x;
#pragma unroll 1
        for (; i + wi_merge_threads < count; i += wi_merge_threads) {
            own = part(i + wi_merge_threads);
            longest = own.n > longest ? own.n : longest;
        }
        if (i + 1 == count)
            *behind = own.begin + own.n;
        return __syncthreads_and(longest <= tiny_segment);
    }

    /* Makes words of n elements, which load has brought. */
    __device__ void make_words(const U (&bits)[each], int n) const {
        if (comes_as_is && !g.map.changes())
            return;
#pragma unroll
        for (int k = 0; k < each; k++) {
            if (mine(k) >= n)
                continue;
            if constexpr (comes_as_is)
                own(k) = g.map.key(own(k));
            else
                own(k) = word_of(bits[k], mine(k));
        }
    }
    __device__ W word_of(U bits, int place) const {
        const W key = (W)g.map.key(bits);
        return wi_merge_has_values<V> ? (W)(key << place_bits | (W)place) : key;
    }

    /* Makes words of those of n elements that load has not brought. */
    __device__ void make_others(int n) const {
        for (int i = mine(0) + most; i < n; i += wi_merge_threads)
            word[i] = word_of(g.x.keys[first + (size_t)i], i);
    }

    __device__ void sort(segment_part own) const {
        size_t i = threadIdx.x;
#pragma unroll 1
        for (;;) {
            sort_by_width(word, own.begin, own.n);
            i += wi_merge_threads;
            if (i - threadIdx.x >= count)
                return;
            own = part(i);
        }
    }

    __device__ void store_keys(int n, bool changes) const {
        U *const to = g.out.keys + first + threadIdx.x;
#pragma unroll
        for (int k = 0; k < each; k++) {
            if (mine(k) >= n)
                continue;
            const U key = (U)(own(k) >> place_bits);
            to[k * wi_merge_threads] = changes ? g.map.bits(key) : key;
        }
    }

    __device__ void store_values(int n) const {
        V value[each];
#pragma unroll
        for (int k = 0; k < each; k++)
            if (mine(k) < n)
                value[k] = g.x.from(first).value((int)(own(k) & (((W)1 << place_bits) - 1)));
        __syncthreads(); /* the values may be sorted in place */
#pragma unroll
        for (int k = 0; k < each; k++)
            if (mine(k) < n)
                g.out.values[first + (size_t)mine(k)] = value[k];
    }
};

/* Blocks of a multiprocessor, at least: a window waits for its offsets and its keys. Where elements
 * pass through registers fewer fit, and the widest network of wider words has none to spare. */
template <class U, class V>
constexpr int tiny_blocks = sizeof(typename tiny_word<U, V>::type) > 4 ? 1
                            : tiny_block<U, V>::comes_as_is            ? 12
                                                                       : 7;

/* The elements of a window are asked for before it is known which of its segments are short: all
 * that may belong to tiny ones. */
template <class U, class V>
__global__ void __launch_bounds__(wi_merge_threads, (tiny_blocks<U, V>))
    sort_short(segments<U, V> g, size_t n, findings f) {
    using Block = tiny_block<U, V>;
    using Teams = segment_teams<U, V>;
    WEFT_SHARED(typename Block::W, word, [Block::size]);
    WEFT_SHARED(typename Teams::memory, memory, );
    WEFT_SHARED(unsigned, behind, );
    const size_t w = blockIdx.x;
    const unsigned wrong = *f.wrong;
    const size_t s = g.starts[w];
    const Block b = {g, word, g.offsets + s, g.starts[w + 1] - s, g.firsts[w]};
    const size_t all = g.firsts[w + 1] - b.first;
    if (wrong) {
        copy_all(g, n);
        return;
    }
    if (b.count == 0)
        return;
    U bits[Block::each];
    b.load(bits, all < Block::most ? (int)all : Block::most);
    const segment_part own = b.part(threadIdx.x);
    const bool tiny = b.all_tiny(own, &behind);
    const int many = (int)behind;
    wi_async_wait<0>();
    if (many == 0)
        return;
    b.make_words(bits, many < Block::most ? many : Block::most);
    if (!tiny) {
        b.make_others(many);
        __syncthreads();
        Teams{g, word, b.first, memory}.sort_all(b.count, [&](size_t i) { return b.part(i); });
        return;
    }
    __syncthreads();
    b.sort(own);
    __syncthreads();
    if constexpr (!wi_merge_has_values<V>) {
        if (g.map.changes())
            b.store_keys(many, true);
        else
            b.store_keys(many, false);
    } else {
        b.store_keys(many, true);
        b.store_values(many);
    }
}

} // namespace

#endif
