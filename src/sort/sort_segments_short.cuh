/* SPDX-License-Identifier: Apache-2.0 */
/* The short segments of a window, sorted as one by a block; and what is done where offsets are
 * invalid. */
#ifndef WI_SORT_SEGMENTS_SHORT_CUH
#define WI_SORT_SEGMENTS_SHORT_CUH

#include "sort/sort_segments.cuh"

namespace {

/* out = x, of offsets that are invalid. */
template <class U, class V>
__device__ void copy_all(const segments<U, V> &g, size_t n) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        g.out.keys[i] = g.x.keys[i];
        if constexpr (wi_merge_has_values<V>)
            g.out.values[i] = g.x.from(i).value(0);
    }
}

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

} // namespace

#endif
