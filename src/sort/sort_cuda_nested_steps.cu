/* SPDX-License-Identifier: Apache-2.0 */
/* Quicksort by kernels that launch kernels, for keys without values: in "quick_naive" one thread
 * partitions, in "quick" a whole block.
 *
 * A launch counts against the device's limit of pending launches (2,048 unless the process asks for
 * more) until all that it launched has ended. So the number of launches of one sort is bounded in
 * advance, whatever the input: by the depth in quick_naive; in quick by an allowance, which a block
 * divides among the parts that it launches. */
#include "core/gpu_calls.h"
#include "cuda/device_launch.cuh"
#include "cuda/launch.cuh"
#include "cuda/warp.cuh"
#include "sort/sort.h"
#include "sort/sort_key.cuh"

/* ---- quick_naive ---- */

constexpr int naive_depth = 9;     /* at most 2 (2^9 - 1) launches */
constexpr size_t naive_small = 32; /* sorted by selection */

/* An array seen as keys: at[i] reads element i as a key, set writes a key back. */
template <class U>
struct keys {
    U *p;
    wi_key_map<U> map;
    __device__ U operator[](size_t i) const {
        return map.key(p[i]);
    }
    __device__ void swap(size_t i, size_t j) const {
        const U bits = p[i];
        p[i] = p[j];
        p[j] = bits;
    }
    __device__ keys from(size_t i) const {
        return {p + i, map};
    }
};

template <class U>
__device__ void selection_sort(keys<U> x, size_t n) {
    for (size_t i = 0; i + 1 < n; i++) {
        size_t least = i;
        for (size_t j = i + 1; j < n; j++)
            if (x[j] < x[least])
                least = j;
        x.swap(i, least);
    }
}

/* Sifts x[i] down the heap of the first n elements until no child is greater. */
template <class U>
__device__ void sift_down(keys<U> x, size_t i, size_t n) {
    for (size_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && x[child] < x[child + 1])
            child++;
        if (x[child] <= x[i])
            return;
        x.swap(i, child);
        i = child;
    }
}

/* Heapsort: n log n steps on any input, for parts at which the depth ends. */
template <class U>
__device__ void heap_sort(keys<U> x, size_t n) {
    for (size_t i = n / 2; i-- > 0;)
        sift_down(x, i, n);
    for (size_t end = n - 1; end > 0; end--) {
        x.swap(0, end);
        sift_down(x, 0, end);
    }
}

/* One thread partitions, and launches kernels for the left and the right part. */
template <class U>
__global__ void quick_naive(U *p, size_t n, int depth, wi_key_map<U> map) {
    const keys<U> x = {p, map};
    if (n <= naive_small) {
        selection_sort(x, n);
        return;
    }
    if (depth == 0) {
        heap_sort(x, n);
        return;
    }
    const U pivot = x[n / 2];
    size_t left = 0, end = n; /* x[0..left) <= pivot <= x[end..n) */
    while (left < end) {
        while (x[left] < pivot)
            left++;
        while (x[end - 1] > pivot)
            end--;
        if (left < end)
            x.swap(left++, --end);
    }
    if (end > 1 && !WEFT_LAUNCH_FORGET(quick_naive<U>, 1, 1, 0, p, end, depth - 1, map))
        heap_sort(x, end);
    if (n - left > 1 &&
        !WEFT_LAUNCH_FORGET(quick_naive<U>, 1, 1, 0, p + left, n - left, depth - 1, map))
        heap_sort(x.from(left), n - left);
}

/* ---- quick ---- */

constexpr int quick_threads = 512;
constexpr int quick_warps = quick_threads / 32;
constexpr int quick_each = 8;       /* keys of a thread in one round of the partition */
constexpr size_t quick_leaf = 4096; /* sorted in shared memory */
constexpr int quick_samples = 128;  /* their median is the pivot */
constexpr unsigned quick_launches = 600;
constexpr int quick_stack = 64; /* only larger parts wait: at most log2 n */

/* Elements [first, first + n) of the sorted array, and where they are now. */
struct part {
    size_t first, n;
    int depth; /* how many more partitions may follow */
    enum {
        IN_X,
        IN_Y,
        IN_SPARE
    } place;
};

template <class U>
struct arrays {
    const U *x;
    U *y, *spare;
    wi_key_map<U> map;
    __device__ const U *read(const part &p) const {
        return (p.place == part::IN_X ? x : p.place == part::IN_Y ? y : spare) + p.first;
    }
};

/* Batcher's bitonic network with all comparators in the same direction, so that it works for any n:
 * elements beyond n would never move. For one block. */
template <class Index, class U>
__device__ void bitonic_sort(keys<U> x, Index n) {
    for (Index run = 1; run < n; run *= 2) {
        for (Index step = run; step > 0; step /= 2) {
            const Index pairs = (n + 2 * step - 1) / (2 * step) * step;
            for (Index k = threadIdx.x; k < pairs; k += quick_threads) {
                const Index low = k & (step - 1), i = 2 * k - low;
                const Index j = step == run ? i + 2 * (step - low) - 1 : i + step;
                if (j < n && x[j] < x[i])
                    x.swap(i, j);
            }
            __syncthreads();
        }
    }
}

template <class U>
__device__ void copy_keys(const U *from, U *to, size_t n) {
    for (size_t i = threadIdx.x; i < n; i += quick_threads)
        to[i] = from[i];
    __syncthreads();
}

/* The median of keys at pseudo-random places. */
template <class U>
__device__ U choose_pivot(const U *x, size_t n, wi_key_map<U> map, U *samples) {
    if (threadIdx.x < quick_samples) {
        uint64_t mixed = (n + threadIdx.x) * 0x9e3779b97f4a7c15u;
        mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
        samples[threadIdx.x] = x[(mixed ^ mixed >> 32) % n];
    }
    __syncthreads();
    bitonic_sort(keys<U>{samples, map}, (size_t)quick_samples);
    const U pivot = map.key(samples[quick_samples / 2]);
    __syncthreads();
    return pivot;
}

/* The progress of a block's partition: [0, less) and [n - greater, n) are written. */
struct sides {
    size_t less, greater;
};

/* One round: up to quick_each keys of every thread from x[0..n) go to either end of the free part
 * of `to`. `counts` has a word for each warp. */
template <class U>
__device__ void partition_turn(const U *x, size_t n, U *to, size_t total, U pivot,
                               wi_key_map<U> map, uint32_t *counts, sides *s) {
    U bits[quick_each];
    unsigned less[quick_each], greater[quick_each]; /* masks of lanes */
    uint32_t mine = 0; /* the number less; and 2^16 times the number greater */
    const size_t first = threadIdx.x / 32 * (32 * quick_each) + (size_t)wi_lane();
#pragma unroll
    for (int k = 0; k < quick_each; k++)
        bits[k] = first + 32 * k < n ? x[first + 32 * k] : map.bits(pivot);
#pragma unroll
    for (int k = 0; k < quick_each; k++) {
        const U key = map.key(bits[k]);
        less[k] = __ballot_sync(wi_all_lanes, key < pivot);
        greater[k] = __ballot_sync(wi_all_lanes, key > pivot);
        mine += (uint32_t)__popc(less[k]) + ((uint32_t)__popc(greater[k]) << 16);
    }
    const int warp = (int)threadIdx.x / 32;
    if (wi_lane() == 0)
        counts[warp] = mine;
    __syncthreads();
    const uint32_t of_lane = wi_lane() < quick_warps ? counts[wi_lane()] : 0;
    const uint32_t scanned = wi_warp_scan(of_lane, [](uint32_t a, uint32_t b) { return a + b; });
    const uint32_t before = wi_shuffle(scanned, warp) - mine, all = wi_shuffle(scanned, 31);
    size_t low = s->less + (before & 0xffff), high = total - s->greater - (before >> 16);
    const unsigned lower_lanes = (1u << wi_lane()) - 1, me = 1u << wi_lane();
#pragma unroll
    for (int k = 0; k < quick_each; k++) {
        if (less[k] & me)
            to[low + (size_t)__popc(less[k] & lower_lanes)] = bits[k];
        if (greater[k] & me)
            to[high - 1 - (size_t)__popc(greater[k] & lower_lanes)] = bits[k];
        low += (size_t)__popc(less[k]);
        high -= (size_t)__popc(greater[k]);
    }
    s->less += all & 0xffff;
    s->greater += all >> 16;
}

/* Partitions p around a pivot. Keys equal to the pivot go to their final places. */
template <class U>
__device__ void partition(const arrays<U> &a, const part &p, U *memory, part *less, part *greater) {
    WEFT_SHARED(uint32_t, counts, [2][quick_warps]);
    constexpr size_t turn = (size_t)quick_threads * quick_each;
    const U *x = a.read(p);
    const auto place = p.place == part::IN_SPARE ? part::IN_Y : part::IN_SPARE;
    U *to = (place == part::IN_Y ? a.y : a.spare) + p.first;
    const U pivot = choose_pivot(x, p.n, a.map, memory);
    sides s = {0, 0};
    int parity = 0; /* the other half of `counts` may still be read */
    for (size_t done = 0; done < p.n; done += turn, parity ^= 1)
        partition_turn(x + done, p.n - done, to, p.n, pivot, a.map, counts[parity], &s);
    __syncthreads();
    for (size_t i = s.less + threadIdx.x; i < p.n - s.greater; i += quick_threads)
        a.y[p.first + i] = a.map.bits(pivot);
    *less = {p.first, s.less, p.depth - 1, place};
    *greater = {p.first + p.n - s.greater, s.greater, p.depth - 1, place};
}

/* Sorts a small part in shared memory, or, after bad pivots only, in place by a network without
 * pivots. */
template <class U>
__device__ void sort_part(const arrays<U> &a, const part &p, U *memory) {
    U *const y = a.y + p.first;
    if (p.n <= quick_leaf) {
        copy_keys(a.read(p), memory, p.n);
        bitonic_sort(keys<U>{memory, a.map}, (unsigned)p.n);
        copy_keys(memory, y, p.n);
    } else {
        if (p.place != part::IN_Y)
            copy_keys(a.read(p), y, p.n);
        bitonic_sort(keys<U>{y, a.map}, p.n);
    }
}

template <class U>
__global__ void quick(arrays<U> a, part p, unsigned launches);

/* Which parts the block itself must sort. */
enum {
    NEITHER = 0,
    LESS = 1,
    GREATER = 2
};

/* Launches kernels for the parts; returns those whose launch was refused. */
template <class U>
__device__ int launch_parts(const arrays<U> &a, const part &less, const part &greater,
                            unsigned launches) {
    const size_t both = less.n + greater.n;
    const unsigned share = both ? (unsigned)(launches * less.n / both) : 0;
    int left = NEITHER;
    if (less.n && !WEFT_LAUNCH_FORGET(quick<U>, 1, quick_threads, 0, a, less, share))
        left |= LESS;
    if (greater.n &&
        !WEFT_LAUNCH_FORGET(quick<U>, 1, quick_threads, 0, a, greater, launches - share))
        left |= GREATER;
    return left;
}

/* A block partitions, and launches blocks for the left and the right part, dividing its allowance
 * of launches in proportion to their sizes. When the allowance is used up, or a launch is refused,
 * it sorts the parts itself, one after the other. */
template <class U>
__global__ void __launch_bounds__(quick_threads) quick(arrays<U> a, part p, unsigned launches) {
    WEFT_SHARED(U, memory, [quick_leaf]);
    WEFT_SHARED(part, waiting, [quick_stack]);
    WEFT_SHARED(int, refused, );
    int waits = 0;
    for (;;) {
        while (p.n > quick_leaf && p.depth > 0) {
            part less, greater;
            partition(a, p, memory, &less, &greater);
            if (launches >= 2) {
                __threadfence();
                __syncthreads();
                if (threadIdx.x == 0)
                    refused = launch_parts(a, less, greater, launches - 2);
                __syncthreads();
                if (refused == NEITHER)
                    return;
                launches = 0;
                if (refused != (LESS | GREATER)) {
                    p = refused == LESS ? less : greater;
                    continue;
                }
            }
            const bool left_first = less.n < greater.n;
            if (threadIdx.x == 0)
                waiting[waits] = left_first ? greater : less;
            waits++;
            p = left_first ? less : greater;
            __syncthreads();
        }
        sort_part(a, p, memory);
        if (waits == 0)
            return;
        p = waiting[--waits];
        __syncthreads();
    }
}

/* ---- the rungs ---- */

bool wi_sort_nests(void) {
    cudaFuncAttributes attributes;
    const bool is_there =
        cudaFuncGetAttributes(&attributes, (const void *)quick<uint32_t>) == cudaSuccess;
    if (!is_there)
        cudaGetLastError(); /* clear the error */
    return is_there;
}

weft_status wi_sort_quick_naive(weft_context *ctx, const void *arguments) {
    const wi_sort_args *args = (const wi_sort_args *)arguments;
    const size_t size = weft_type_size(args->type);
    if (args->bytes)
        return WEFT_OK;
    if (args->y != args->x) {
        const weft_status status = wi_gpu_copy(ctx, args->y, args->x, args->n * size);
        if (status != WEFT_OK)
            return status;
    }
    return wi_with_size(size, [=](auto tag) {
        using U = typename decltype(tag)::type;
        wi_gpu_call_nests(ctx);
        return WEFT_LAUNCH(quick_naive<U>, ctx, 1, 1, 0, (U *)args->y, args->n, naive_depth,
                           wi_key_map_of<U>(args->type, args->descending));
    });
}

/* Twice the depth of a perfectly balanced tree. */
static int quick_depth(size_t n) {
    int depth = 0;
    for (; n > quick_leaf; n /= 2)
        depth += 2;
    return depth;
}

weft_status wi_sort_quick(weft_context *ctx, const void *arguments) {
    const wi_sort_args *args = (const wi_sort_args *)arguments;
    const size_t size = weft_type_size(args->type);
    if (args->bytes) {
        *args->bytes += args->n * size;
        return WEFT_OK;
    }
    void *spare;
    weft_status status = wi_gpu_alloc(ctx, &spare, args->n * size);
    if (status != WEFT_OK)
        return status;
    status = wi_with_size(size, [=](auto tag) {
        using U = typename decltype(tag)::type;
        const arrays<U> a = {(const U *)args->x, (U *)args->y, (U *)spare,
                             wi_key_map_of<U>(args->type, args->descending)};
        const part whole = {0, args->n, quick_depth(args->n),
                            args->x == args->y ? part::IN_Y : part::IN_X};
        wi_gpu_call_nests(ctx);
        return WEFT_LAUNCH(quick<U>, ctx, 1, quick_threads, 0, a, whole, quick_launches);
    });
    const weft_status freed = wi_gpu_free(ctx, spare);
    return status == WEFT_OK ? freed : status;
}
