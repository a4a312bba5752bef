/* SPDX-License-Identifier: Apache-2.0 */
/* Segments on the device: windows, and the short segments that begin in one. */
#ifndef WI_SORT_SEGMENTS_CUH
#define WI_SORT_SEGMENTS_CUH

#include "sort/sort_merge.cuh"

namespace {

/* A key combined with a place in the tile, of its segment, which compares first, or its own. */
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

template <class U, class V>
constexpr size_t window = wi_merge_tile<placed<U>, V> / 2;
template <class U, class V>
constexpr size_t chunk_size = wi_merge_tile<U, V>;

/* The call on the device. starts[w] = the first segment that begins in window w or later. If
 * offsets are invalid it is 0 for all w; if they are valid, not for w = windows, because the first
 * segment begins before. */
template <class U, class V>
struct segments {
    const uint64_t *offsets;
    size_t count;
    uint64_t *starts;
    size_t windows;
    wi_stretch<U, V> x;
    wi_sort_out<U, V> out, spare; /* the two arrays between which long segments alternate */
    wi_key_map<U> map;
    uint64_t *splits; /* two for each window */

    __device__ size_t length(size_t s) const {
        return offsets[s + 1] - offsets[s];
    }
    __device__ wi_sort_out<U, V> home(int number) const {
        return number ? spare : out;
    }
};

/* What sort_tiny tells the kernels after it. */
struct findings {
    uint8_t *tiny;    /* of each window: is nothing short left to sort? */
    unsigned *passes; /* how often the longest segment is merged, and 1; 0: there is no long one */
};

/* The short segments of a window: numbers [s, end), elements [first, first + n) of the array. And
 * the length of the long segment that begins there, or 0. */
struct group {
    size_t s, end, first;
    int n;
    size_t behind;
};

template <class U, class V>
__device__ group find_group(const segments<U, V> &g, size_t w) {
    const size_t s = g.starts[w], end = g.starts[w + 1];
    if (s >= end)
        return {s, end, 0, 0, 0};
    /* read side by side: all wait for the starts alone */
    const size_t first = g.offsets[s], last = g.offsets[end - 1], behind = g.offsets[end];
    const bool is_long = behind - last > window<U, V>;
    return {s, is_long ? end - 1 : end, first, (int)((is_long ? last : behind) - first),
            is_long ? behind - last : 0};
}

} // namespace

#endif
