/* SPDX-License-Identifier: Apache-2.0 */
/* The place of every element in the order, by counting those before it: n^2 comparisons, but in one
 * kernel, where a sort, or a search for a key digit by digit, takes one after another. For so few
 * elements that launches are what takes time. */
#ifndef WI_SORT_PLACES_CUH
#define WI_SORT_PLACES_CUH

#include "cuda/launch.cuh"
#include "cuda/warp.cuh"
#include "sort/sort_key.cuh"

constexpr unsigned wi_places_threads = 256, wi_places_warps = wi_places_threads / 32;
/* A block has all keys in shared memory. More than 2^13 elements are faster by other means. */
constexpr size_t wi_places_bytes = 32 << 10, wi_places_most = 1 << 13;

inline bool wi_places_fit(size_t n, size_t size) {
    return n <= wi_places_most && n * size <= wi_places_bytes;
}

/* How many of keys first ... end - 1 come before the one at `own`, which none of them is. */
template <bool earlier, class U>
__device__ inline unsigned wi_count_before(const U *keys, unsigned first, unsigned end, U own) {
    unsigned count = 0;
#pragma unroll 8
    for (unsigned j = first; j < end; j++)
        count += earlier ? keys[j] <= own : keys[j] < own;
    return count;
}

/* Calls put(i, place, key) for each element i. A block has 32 elements, which each of its warps
 * compares with a part of all; equal elements keep their order. */
template <class U, class Put>
__global__ void __launch_bounds__(wi_places_threads)
    wi_find_places(const U *x, unsigned n, wi_key_map<U> map, Put put) {
    WEFT_DYNAMIC_SHARED(shared);
    WEFT_SHARED(unsigned, counts, [wi_places_warps][32]);
    U *const keys = (U *)shared;
    const unsigned lane = (unsigned)wi_lane(), warp = threadIdx.x / 32, base = blockIdx.x * 32;
    for (unsigned j = threadIdx.x; j < n; j += wi_places_threads)
        keys[j] = map.key(x[j]);
    __syncthreads();
    const unsigned own = base + lane, first = warp * n / wi_places_warps,
                   end = (warp + 1) * n / wi_places_warps;
    const U key = own < n ? keys[own] : 0;
    const auto within = [&](unsigned j) { return j < first ? first : j < end ? j : end; };
    const unsigned from = within(base), to = within(base + 32);
    unsigned count =
        wi_count_before<true>(keys, first, from, key) + wi_count_before<false>(keys, to, end, key);
    for (unsigned j = from; j < to; j++)
        count += keys[j] < key || (keys[j] == key && j < own);
    counts[warp][lane] = count;
    __syncthreads();
    if (warp > 0 || own >= n)
        return;
    unsigned place = 0;
    for (unsigned w = 0; w < wi_places_warps; w++)
        place += counts[w][lane];
    put(own, place, key);
}

/* The blocks that n elements take. */
inline unsigned wi_places_blocks(size_t n) {
    return (unsigned)((n + 31) / 32);
}

#endif
