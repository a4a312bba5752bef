/* SPDX-License-Identifier: Apache-2.0 */
/* Segments on the device: windows, and the short segments that begin in one. */
#ifndef WI_SORT_SEGMENTS_CUH
#define WI_SORT_SEGMENTS_CUH

#include "sort/sort_merge.cuh"

namespace {

/* A number made of a place in the tile, in the upper bits, and a key, or of a key and a place: so
 * one comparison orders by segment and then by key, or keeps equal keys in their order. */
template <class U>
using placed_wide = typename wi_choose<sizeof(U) == 4, uint64_t, unsigned __int128>::type;
template <class U>
using placed = typename wi_choose<sizeof(U) <= 2, uint32_t, placed_wide<U>>::type;

template <class P>
struct placed_order {
    using Key = P;
    static constexpr bool is_number = true;
    __device__ bool less(P a, P b) const {
        return a < b;
    }
    __device__ P last() const {
        return ~(P)0;
    }
};

/* No more than a block holds in registers, eight elements a thread. */
template <class U, class V>
constexpr size_t window =
    wi_merge_tile<placed<U>, V> / 2 < 8 * wi_merge_threads ? wi_merge_tile<placed<U>, V> / 2
                                                           : 8 * wi_merge_threads;
template <class U, class V>
constexpr size_t chunk_size = wi_merge_tile<U, V>;

/* A block takes the numbers of so many chunks at a time. Numbers are those of the most chunks that
 * there may be, two for each window, and the windows of a group are as long as one or two chunks.
 */
constexpr unsigned chunks_of_group = 8;

/* The call on the device. starts[w] = the number of the first segment that begins in window w or
 * later, and firsts[w] is where it begins. */
template <class U, class V>
struct segments {
    const uint64_t *offsets;
    size_t count;
    uint64_t *starts, *firsts;
    size_t windows;
    wi_stretch<U, V> x;
    wi_sort_out<U, V> out, spare; /* the two arrays between which long segments alternate */
    wi_key_map<U> map;

    __device__ wi_sort_out<U, V> home(int number) const {
        return number ? spare : out;
    }
};

/* What find_starts tells the kernels after it, and what blocks of sort_long tell each other. All
 * are 0 before a call and after it. */
struct findings {
    unsigned *wrong;  /* are offsets invalid? */
    unsigned *rounds; /* that the longest segment takes, of sorting chunks or merging; 0: none is
                         long */
    unsigned *left;   /* counts the blocks that are done */
    unsigned long long *taken, *done; /* tickets for groups of chunks */
};

/* The short segments of a window: numbers [s, end), elements [first, first + n) of the array. */
struct group {
    size_t s, end, first;
    int n;
};

template <class U, class V>
__device__ group find_group(const segments<U, V> &g, size_t w) {
    const size_t s = g.starts[w], end = g.starts[w + 1];
    const size_t first = g.firsts[w], behind = g.firsts[w + 1];
    if (s >= end)
        return {s, end, first, 0};
    const size_t last = g.offsets[end - 1];
    const bool is_long = behind - last > window<U, V>;
    return {s, is_long ? end - 1 : end, first, (int)((is_long ? last : behind) - first)};
}

} // namespace

#endif
