/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that only read: bounds of wanted elements, and the first place out of order. */
#include "cuda/launch.cuh"
#include "cuda/limit.cuh"
#include "cuda/memory.cuh"
#include "cuda/warp.cuh"
#include "sort/sort_key.cuh"
#include "weft/reduce.h"

/* ---- bounds ---- */

constexpr unsigned search_threads = 256;
constexpr int at_once = 4; /* wanted elements of a thread, whose reads are in flight together */

/* Bisection with the same number of steps for every element, so that lanes do not diverge: the
 * bound is in [low, low + left]. */
template <int at_once, class U, class Index>
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

template <int of_thread, class U, class Index>
static weft_status launch_search(weft_context *ctx, const wi_search_args *args) {
    constexpr size_t of_block = (size_t)search_threads * of_thread;
    return WEFT_LAUNCH(
        (search<of_thread, U, Index>), ctx, (unsigned)((args->m + of_block - 1) / of_block),
        search_threads, 0, (const U *)args->x, (Index)args->n, (const U *)args->wanted, args->m,
        args->positions, args->upper, wi_key_map_of<U>(args->type, args->descending));
}

/* Few wanted elements are spread over all multiprocessors, for what a step takes on one of them is
 * its reads one after the other. */
template <class Index>
static weft_status search_with(weft_context *ctx, const wi_search_args *args) {
    constexpr size_t few_blocks = 4; /* on each */
    const size_t few = (size_t)ctx->gpu->multiprocessors * few_blocks * search_threads;
    return wi_with_size(weft_type_size(args->type), [=](auto tag) {
        using U = typename decltype(tag)::type;
        return args->m <= few ? launch_search<1, U, Index>(ctx, args)
                              : launch_search<at_once, U, Index>(ctx, args);
    });
}

weft_status wi_search_bisect(weft_context *ctx, const void *arguments) {
    const wi_search_args *const args = (const wi_search_args *)arguments;
    return args->n <= UINT32_MAX ? search_with<uint32_t>(ctx, args)
                                 : search_with<uint64_t>(ctx, args);
}

/* ---- bounds by an index ---- */

/* Every 32nd key of x, every 8th of these, and so on until few enough are left for shared memory.
 * A search bisects those, then takes a step down for each level by reading 8 neighbours, and
 * bisects 31 elements of x: of all it reads only these are seldom in the second-level cache. */
constexpr unsigned index_stride = 32, index_fan = 8, index_top = 4096;
constexpr int index_most = 8; /* levels */

WI_LIMIT(unsigned, wi_search_top, index_top) /* keys in shared memory */
WI_LIMIT(unsigned, wi_search_near, 1023)     /* strides between wanted elements that are near */

/* Level 0 has key stride - 1 of each whole stride of x, each other level key 7 of each 8 of the
 * level below: so a bound's number in a level is the number of the node of the next one. Behind
 * the last whole node is room for one more, of keys that come last. */
template <class U>
struct search_index {
    U *keys[index_most];
    uint32_t count[index_most];
    uint32_t near; /* wanted elements of a warp are searched together up to here */
    int levels;

    __host__ __device__ size_t room(int level) const {
        return ((size_t)count[level] / index_fan + 1) * index_fan;
    }
};

template <class U>
static search_index<U> index_of(size_t n) {
    search_index<U> index = {};
    index.near = wi_search_near;
    index.count[0] = (uint32_t)(n / index_stride);
    for (index.levels = 1; index.count[index.levels - 1] > wi_search_top; index.levels++)
        index.count[index.levels] = index.count[index.levels - 1] / index_fan;
    return index;
}

/* Keys are mapped when the index is made. */
template <class U>
__global__ void __launch_bounds__(search_threads)
    make_index(const U *x, const __grid_constant__ search_index<U> index, wi_key_map<U> map) {
    const size_t i = (size_t)blockIdx.x * search_threads + threadIdx.x;
    const U last = (U) ~(U)0;
    if (i < index.room(0))
        index.keys[0][i] = i < index.count[0] ? map.key(x[(i + 1) * index_stride - 1]) : last;
    for (int k = 1; i < index_fan && k < index.levels; k++)
        if (index.count[k] + i < index.room(k))
            index.keys[k][index.count[k] + i] = last;
    if (i >= index.count[0] || (i + 1) % index_fan != 0)
        return;
    const U key = map.key(x[(i + 1) * index_stride - 1]);
    size_t place = i + 1;
    for (int k = 1; k < index.levels && place % index_fan == 0; k++) {
        place /= index_fan;
        index.keys[k][place - 1] = key;
    }
}

__device__ inline uint32_t least_of_warp(uint32_t x) {
    return wi_warp_min(x);
}
__device__ inline uint64_t least_of_warp(uint64_t x) {
    return wi_warp_reduce(x, [](uint64_t a, uint64_t b) { return a < b ? a : b; });
}

/* One turn of a warp: `at_once` wanted elements of each lane. */
template <class U>
struct index_search {
    const search_index<U> &index;
    const U *top;
    bool upper;
    U key[at_once];
    uint32_t at[at_once]; /* the number of the bound in a level */

    __device__ bool is_before(U a, U wanted) const {
        return (a < wanted) | (upper & (a == wanted));
    }
    /* Finds where all of the warp's belong in level 0 if they are near each other, which those in
     * order are: half of the lanes follow the least of them, half the greatest, each half reads up
     * to 16 neighbours at a time, and level 0 is bisected between these two. False, soon, if they
     * are not near. */
    __device__ bool search_near(uint32_t *first) {
        U least = key[0], greatest = key[0];
#pragma unroll
        for (int e = 1; e < at_once; e++) {
            least = key[e] < least ? key[e] : least;
            greatest = key[e] > greatest ? key[e] : greatest;
        }
        least = least_of_warp(least);
        greatest = (U)~least_of_warp((U)~greatest);
        const uint32_t first_lane = (uint32_t)wi_lane() & 16, lane = (uint32_t)wi_lane() & 15;
        const U own = first_lane ? greatest : least;
        const auto count_before = [=](bool before) {
            return (uint32_t)__popc(__ballot_sync(wi_all_lanes, before) >> first_lane & 0xffff);
        };
        const uint32_t all = index.count[index.levels - 1];
        uint32_t bound = 0, span = 0;
        for (uint32_t left = all; left > 0;) {
            const uint32_t step = (left + 15) / 16, place = bound + (lane + 1) * step - 1;
            bound += count_before(place < all && is_before(top[place], own)) * step;
            left = step - 1;
        }
        for (int level = index.levels - 1;; level--) {
            *first = wi_shuffle(bound, 0);
            span = wi_shuffle(bound, 16) - *first;
            if (span > index.near)
                return false;
            if (level == 0)
                break;
            const U neighbour = index.keys[level - 1][(size_t)bound * index_fan + lane % index_fan];
            bound = bound * index_fan + count_before(lane < index_fan && is_before(neighbour, own));
            bound = bound < index.count[level - 1] ? bound : index.count[level - 1];
        }
        bisect(index.keys[0] + *first, span);
#pragma unroll
        for (int e = 0; e < at_once; e++)
            at[e] += *first;
        return true;
    }
    __device__ void bisect(const U *keys, uint32_t n) {
#pragma unroll
        for (int e = 0; e < at_once; e++)
            at[e] = 0;
        for (uint32_t left = n; left > 0; left /= 2) {
#pragma unroll
            for (int e = 0; e < at_once; e++)
                if (is_before(keys[at[e] + left / 2], key[e]))
                    at[e] += left - left / 2;
        }
    }
    /* From the level above to this one. */
    __device__ void step_down(int level) {
        constexpr int width = wi_vector<U>::count, vectors = (int)index_fan / width;
        wi_vector<U> node[at_once][vectors];
#pragma unroll
        for (int e = 0; e < at_once; e++)
#pragma unroll
            for (int v = 0; v < vectors; v++)
                node[e][v] =
                    ((const wi_vector<U> *)index.keys[level])[(size_t)at[e] * vectors + (size_t)v];
#pragma unroll
        for (int e = 0; e < at_once; e++) {
            uint32_t before = at[e] * index_fan;
#pragma unroll
            for (int j = 0; j < (int)index_fan; j++)
                before += is_before(node[e][j / width].at[j % width], key[e]);
            at[e] = before < index.count[level] ? before : index.count[level];
        }
    }
    /* In x, for elements e ... e + count - 1 of a lane, of which none belongs before stride
     * `first`; their reads are in flight together. Of a whole stride the last element is known not
     * to come before. What is read when nothing is left is of no use, but a branch around it would
     * make reads wait for each other. */
    template <int count, class Load>
    __device__ void search_strides(const U *x, size_t n, uint32_t first, Load load,
                                   const wi_key_map<U> &map, int e, uint64_t *bound) const {
        const size_t begin = (size_t)first * index_stride;
        const U *const from = x + begin;
        const int stride = (int)index_stride,
                  end = n - begin < INT32_MAX ? (int)(n - begin) : INT32_MAX;
        int low[count], left[count];
#pragma unroll
        for (int i = 0; i < count; i++) {
            low[i] = (int)(at[e + i] - first) * stride;
            left[i] = end - low[i] < stride ? end - low[i] : stride - 1;
        }
#pragma unroll 1
        for (int steps = stride / 2; steps > 0; steps /= 2) {
            U middle[count];
#pragma unroll
            for (int i = 0; i < count; i++) {
                const int place = low[i] + left[i] / 2;
                middle[i] = load(from + (place < end ? place : end - 1));
            }
#pragma unroll
            for (int i = 0; i < count; i++) {
                if (is_before(map.key(middle[i]), key[e + i]))
                    low[i] += left[i] - left[i] / 2; /* 0 if none are left */
                left[i] /= 2;
            }
        }
#pragma unroll
        for (int i = 0; i < count; i++)
            bound[i] = begin + (size_t)low[i];
    }
    /* Those that are near share what the first-level cache holds. Of others each has a line of its
     * own: a lane's follow each other, or the lines would not stay there for five reads. */
    __device__ void search(const U *x, size_t n, const wi_key_map<U> &map, uint64_t *bound) {
        uint32_t first;
        if (search_near(&first)) {
            search_strides<at_once>(
                x, n, first, [](const U *p) { return *p; }, map, 0, bound);
            return;
        }
        bisect(top, index.count[index.levels - 1]);
        for (int level = index.levels - 2; level >= 0; level--)
            step_down(level);
#pragma unroll
        for (int e = 0; e < at_once; e++)
            search_strides<1>(
                x, n, at[e], [](const U *p) { return wi_load_once(p); }, map, e, bound + e);
    }
};

/* Of more blocks at once the lines of x would not fit the first-level cache, and registers would be
 * saved by letting reads wait for each other. */
template <class U>
__global__ void __launch_bounds__(search_threads, 5)
    search_by_index(const U *x, size_t n, const __grid_constant__ search_index<U> index,
                    const U *wanted, size_t m, uint64_t *positions, bool upper, wi_key_map<U> map) {
    WEFT_SHARED(U, top, [index_top]);
    for (uint32_t i = threadIdx.x; i < index.count[index.levels - 1]; i += search_threads)
        top[i] = index.keys[index.levels - 1][i];
    __syncthreads();
    index_search<U> s = {index, top, upper, {}, {}};
    constexpr size_t of_block = (size_t)search_threads * at_once;
    for (size_t turn = blockIdx.x * of_block; turn < m; turn += gridDim.x * of_block) {
        const size_t first = turn + threadIdx.x / 32 * (32 * at_once) + (size_t)wi_lane();
        uint64_t bound[at_once];
#pragma unroll
        for (int e = 0; e < at_once; e++) {
            const size_t j = first + (size_t)e * 32;
            s.key[e] = map.key(wi_load_once(wanted + (j < m ? j : m - 1)));
        }
        s.search(x, n, map, bound);
#pragma unroll
        for (int e = 0; e < at_once; e++) {
            const size_t j = first + (size_t)e * 32;
            if (j < m)
                wi_store_once(positions + j, bound[e]);
        }
    }
}

template <class U>
static weft_status queue_index_search(weft_context *ctx, const wi_search_args *args) {
    search_index<U> index = index_of<U>(args->n);
    const wi_key_map<U> map = wi_key_map_of<U>(args->type, args->descending);
    constexpr size_t of_block = (size_t)search_threads * at_once;
    size_t keys = 0, resident = 0;
    void *memory = NULL;
    for (int k = 0; k < index.levels; k++)
        keys += index.room(k);
    weft_status status =
        wi_resident_blocks(ctx, search_by_index<U>, (int)search_threads, 0, &resident);
    if (status == WEFT_OK)
        status = wi_gpu_alloc(ctx, &memory, keys * sizeof(U));
    if (status != WEFT_OK)
        return status;
    index.keys[0] = (U *)memory;
    for (int k = 1; k < index.levels; k++)
        index.keys[k] = index.keys[k - 1] + index.room(k - 1);
    const size_t makers = (index.room(0) + search_threads - 1) / search_threads;
    const size_t useful = (args->m + of_block - 1) / of_block;
    status = WEFT_LAUNCH(make_index<U>, ctx, (unsigned)makers, search_threads, 0,
                         (const U *)args->x, index, map);
    if (status == WEFT_OK)
        status =
            WEFT_LAUNCH(search_by_index<U>, ctx, (unsigned)(useful < resident ? useful : resident),
                        search_threads, 0, (const U *)args->x, args->n, index,
                        (const U *)args->wanted, args->m, args->positions, args->upper, map);
    const weft_status freed = wi_gpu_free(ctx, memory);
    return status == WEFT_OK ? freed : status;
}

weft_status wi_search_index(weft_context *ctx, const void *arguments) {
    const wi_search_args *const args = (const wi_search_args *)arguments;
    return weft_type_size(args->type) == sizeof(uint32_t) ? queue_index_search<uint32_t>(ctx, args)
                                                          : queue_index_search<uint64_t>(ctx, args);
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
