/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that only read: bounds of wanted elements, and the first place out of order. */
#include "cuda/launch.cuh"
#include "cuda/memory.cuh"
#include "sort/sort_key.cuh"
#include "weft/reduce.h"

/* ---- bounds ---- */

constexpr unsigned search_threads = 256;
constexpr int at_once = 4; /* wanted elements of a thread, whose reads are in flight together */

/* Bisection with the same number of steps for every element, so that lanes do not diverge: the
 * bound is in [low, low + left]. */
template <class U, class Index>
__global__ void __launch_bounds__(search_threads)
    search(const U *x, Index n, const U *wanted, size_t m, uint64_t *positions, bool upper,
           wi_key_map<U> map) {
    const size_t first = (size_t)blockIdx.x * (search_threads * at_once) + threadIdx.x;
    U key[at_once];
    Index low[at_once];
#pragma unroll
    for (int e = 0; e < at_once; e++) {
        const size_t j = first + (size_t)e * search_threads;
        key[e] = j < m ? map.key(wanted[j]) : (U)0;
        low[e] = 0;
    }
    for (Index left = n; left > 0; left /= 2) {
#pragma unroll
        for (int e = 0; e < at_once; e++) {
            const U middle = map.key(x[low[e] + left / 2]);
            if (upper ? middle <= key[e] : middle < key[e])
                low[e] += left - left / 2;
        }
    }
#pragma unroll
    for (int e = 0; e < at_once; e++) {
        const size_t j = first + (size_t)e * search_threads;
        if (j < m)
            positions[j] = low[e];
    }
}

template <class Index>
static weft_status search_with(weft_context *ctx, const wi_search_args *args) {
    return wi_with_size(weft_type_size(args->type), [=](auto tag) {
        using U = typename decltype(tag)::type;
        constexpr size_t of_block = (size_t)search_threads * at_once;
        return WEFT_LAUNCH((search<U, Index>), ctx, (unsigned)((args->m + of_block - 1) / of_block),
                           search_threads, 0, (const U *)args->x, (Index)args->n,
                           (const U *)args->wanted, args->m, args->positions, args->upper,
                           wi_key_map_of<U>(args->type, args->descending));
    });
}

weft_status wi_search_bisect(weft_context *ctx, const void *arguments) {
    const wi_search_args *const args = (const wi_search_args *)arguments;
    return args->n <= UINT32_MAX ? search_with<uint32_t>(ctx, args)
                                 : search_with<uint64_t>(ctx, args);
}

/* ---- is it sorted? ---- */

constexpr unsigned sorted_threads = 256;
constexpr int sorted_vectors = 4; /* of a thread in one round */

/* Elements that all threads of a block read in one round. */
template <class U>
constexpr size_t sorted_turn = (size_t)sorted_threads *sorted_vectors *wi_vector<U>::count;

/* The first place in [first, first + a vector) whose element should come before the one before it,
 * or none. If first is 0, nothing before x[first] is read. */
template <class U>
__device__ uint64_t first_fall(const U *x, size_t first, size_t n, bool aligned,
                               wi_key_map<U> map) {
    constexpr int count = wi_vector<U>::count;
    uint64_t place = WEFT_NOWHERE;
    if (first >= n)
        return place;
    U before = first ? map.key(x[first - 1]) : 0;
    if (aligned && first + count <= n) {
        const wi_vector<U> vector = *(const wi_vector<U> *)(x + first);
#pragma unroll
        for (int e = 0; e < count; e++) {
            const U key = map.key(vector.at[e]);
            if (key < before && place == WEFT_NOWHERE)
                place = first + (size_t)e;
            before = key;
        }
        return place;
    }
    for (size_t i = first; i < n && i < first + count && place == WEFT_NOWHERE; i++) {
        const U key = map.key(x[i]);
        if (key < before)
            place = i;
        before = key;
    }
    return place;
}

/* *position is WEFT_NOWHERE at first. A thread stops at the smallest place found so far. */
template <class U>
__global__ void __launch_bounds__(sorted_threads)
    sorted(const U *x, size_t n, unsigned long long *position, wi_key_map<U> map) {
    const bool aligned = wi_is_aligned(x);
    const size_t stride = (size_t)gridDim.x * sorted_turn<U>;
    for (size_t turn = (size_t)blockIdx.x * sorted_turn<U>; turn < n; turn += stride) {
        if (wi_glance(position) < turn)
            return;
        uint64_t place = WEFT_NOWHERE;
#pragma unroll
        for (int v = 0; v < sorted_vectors; v++) {
            const size_t vector = (size_t)v * sorted_threads + threadIdx.x;
            const uint64_t fall =
                first_fall(x, turn + vector * wi_vector<U>::count, n, aligned, map);
            place = fall < place ? fall : place;
        }
        if (place != WEFT_NOWHERE)
            atomicMin(position, (unsigned long long)place);
    }
}

weft_status wi_is_sorted_neighbours(weft_context *ctx, const void *arguments) {
    const wi_sorted_args *const args = (const wi_sorted_args *)arguments;
    weft_status status =
        wi_cuda(ctx, cudaMemsetAsync(args->position, 0xff, sizeof(uint64_t), ctx->gpu->stream),
                "clearing the place out of order");
    if (status != WEFT_OK || args->n < 2)
        return status;
    return wi_with_size(weft_type_size(args->type), [=](auto tag) {
        using U = typename decltype(tag)::type;
        size_t blocks = 1;
        const weft_status counted = wi_resident_blocks(ctx, sorted<U>, sorted_threads, 0, &blocks);
        if (counted != WEFT_OK)
            return counted;
        const size_t enough = (args->n + sorted_turn<U> - 1) / sorted_turn<U>;
        return WEFT_LAUNCH(sorted<U>, ctx, (unsigned)(enough < blocks ? enough : blocks),
                           sorted_threads, 0, (const U *)args->x, args->n,
                           (unsigned long long *)args->position,
                           wi_key_map_of<U>(args->type, args->descending));
    });
}
