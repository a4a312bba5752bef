/* SPDX-License-Identifier: Apache-2.0 */
/* Windows whose short segments are all tiny: each thread sorts a segment in its registers, by a
 * network as wide as the longest segment of its warp needs. The keys of a window go through shared
 * memory, so that reading and writing them is side by side. */
#ifndef WI_SORT_SEGMENTS_TINY_CUH
#define WI_SORT_SEGMENTS_TINY_CUH

#include "cuda/warp.cuh"
#include "sort/sort_segments.cuh"

namespace {

constexpr int tiny_segment = 24; /* the widest network */

/* What is sorted: keys alone, in registers of four bytes at least; or keys with their places in the
 * window below them, so that equal keys keep their order and values are found at the end. */
template <class U, class V>
struct tiny_word {
    using type = placed<U>;
};
template <class U>
struct tiny_word<U, wi_no_value> {
    using type = U;
};

template <class T>
__device__ void put_in_order(T &a, T &b) {
    const T least = b < a ? b : a;
    b = b < a ? a : b;
    a = least;
}

/* Batcher's merging network of odd and even places, for any number of them (Knuth, The Art of
 * Computer Programming, 5.3.4), from these runs and this step on. Steps are template parameters so
 * that x stays in registers. */
template <int run, int step, int count, class T>
__device__ void merge_registers(T (&x)[count]) {
#pragma unroll
    for (int i = step % run; i + step < count; i++)
        if ((i - step % run) % (2 * step) < step && i / (2 * run) == (i + step) / (2 * run))
            put_in_order(x[i], x[i + step]);
    if constexpr (step > 1)
        merge_registers<run, step / 2>(x);
    else if constexpr (2 * run < count)
        merge_registers<2 * run, 2 * run>(x);
}

/* Where element i of a window is in shared memory: threads whose segments have one length read
 * different banks. */
__device__ inline unsigned tiny_at(unsigned i) {
    return i + i / 32;
}

/* Sorts n <= count words from `begin` on. */
template <int count, class W>
__device__ void sort_few(W *word, unsigned begin, unsigned n) {
    W x[count];
    unsigned at[count];
#pragma unroll
    for (unsigned k = 0; k < count; k++) {
        at[k] = tiny_at(begin + k);
        x[k] = ~(W)0;
        if (k < n)
            x[k] = word[at[k]];
    }
    merge_registers<1, 1>(x);
#pragma unroll
    for (unsigned k = 0; k < count; k++)
        if (k < n)
            word[at[k]] = x[k];
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
    /* The last segment may end behind the window. */
    static constexpr int most = (int)window<U, V> + tiny_segment;
    static constexpr int each = (most + wi_merge_threads - 1) / wi_merge_threads;
    static constexpr int size = each * wi_merge_threads;
    static constexpr int place_bits = wi_merge_has_values<V> ? 4 * sizeof(W) : 0;

    const segments<U, V> &g;
    const group &of;
    W *word;

    /* The thread's k-th element, of the window's, and where it is in shared memory. */
    __device__ static int mine(int k) {
        return k * wi_merge_threads + (int)threadIdx.x;
    }
    __device__ W &own(int k) const {
        static_assert(wi_merge_threads % 32 == 0, "steps by whole lines");
        return word[tiny_at(threadIdx.x) + k * tiny_at(wi_merge_threads)];
    }

    __device__ void load(U (&bits)[each]) const {
#pragma unroll
        for (int k = 0; k < each; k++)
            bits[k] = mine(k) < of.n ? g.x.keys[of.first + (size_t)mine(k)] : (U)0;
    }

    /* Are all segments tiny? Called by the whole block. */
    __device__ bool all_tiny() const {
        bool tiny = true;
#pragma unroll 1
        for (size_t s = of.s + threadIdx.x; s < of.end; s += wi_merge_threads)
            tiny = tiny && g.length(s) <= (size_t)tiny_segment;
        return __syncthreads_and(tiny);
    }

    __device__ void sort(const U (&bits)[each]) const {
#pragma unroll
        for (int k = 0; k < each; k++) {
            W placed = (W)g.map.key(bits[k]);
            if constexpr (wi_merge_has_values<V>)
                placed = placed << place_bits | (W)mine(k);
            if (mine(k) < of.n)
                own(k) = placed;
        }
        __syncthreads();
#pragma unroll 1
        for (size_t first = of.s; first < of.end; first += wi_merge_threads) {
            const size_t s = first + threadIdx.x;
            const bool has = s < of.end;
            sort_by_width(word, has ? (unsigned)(g.offsets[s] - of.first) : 0,
                          has ? (unsigned)g.length(s) : 0);
        }
        __syncthreads();
    }

    __device__ void store() const {
        V value[each];
#pragma unroll
        for (int k = 0; k < each; k++) {
            if (mine(k) >= of.n)
                continue;
            const W placed = own(k);
            g.out.keys[of.first + (size_t)mine(k)] = g.map.bits((U)(placed >> place_bits));
            if constexpr (wi_merge_has_values<V>)
                value[k] = g.x.from(of.first).value((int)(placed & (((W)1 << place_bits) - 1)));
        }
        if constexpr (wi_merge_has_values<V>) {
            __syncthreads(); /* the values may be sorted in place */
#pragma unroll
            for (int k = 0; k < each; k++)
                if (mine(k) < of.n)
                    g.out.values[of.first + (size_t)mine(k)] = value[k];
        }
    }
};

/* Blocks of a multiprocessor, at least: a window waits for its offsets, then for its keys. The
 * widest network of wider words has no registers to spare. */
template <class W>
constexpr int tiny_blocks = sizeof(W) == 4 ? 7 : 1;

template <class U, class V>
__global__ void __launch_bounds__(wi_merge_threads, (tiny_blocks<typename tiny_word<U, V>::type>))
    sort_tiny(segments<U, V> g, findings f) {
    using Block = tiny_block<U, V>;
    WEFT_SHARED(typename Block::W, word, [Block::size + Block::size / 32]);
    const group of = find_group(g, blockIdx.x);
    const Block b = {g, of, word};
    U bits[Block::each];
    b.load(bits); /* on their way while the lengths are looked at */
    const bool tiny = b.all_tiny();
    if (threadIdx.x == 0) {
        f.tiny[blockIdx.x] = tiny;
        if (of.behind > 0)
            atomicMax(f.passes, 1 + (unsigned)wi_merge_passes(of.behind, chunk_size<U, V>));
    }
    if (!tiny || of.n == 0)
        return;
    b.sort(bits);
    b.store();
}

} // namespace

#endif
