/* SPDX-License-Identifier: Apache-2.0 */
/* The teaching rungs of histogram. */
#include "cuda/cluster.cuh"
#include "histogram/histogram_cuda.cuh"

constexpr int threads = 256;
constexpr int cluster_threads = 1024;
constexpr unsigned pair_of_blocks = 2, most_in_cluster = 8;

/* One place in the slots of all channels, by any rule. */
template <class T>
__device__ inline uint32_t place_of(const wi_histogram_params<T> &p, const wi_bin_table &table,
                                    size_t i) {
    const uint32_t slot = wi_slot_of_bits(&p.target.bins, &table, wi_bit_cast<wi_bits<T>>(p.x[i]));
    return p.channel_of(i) * (p.target.bins.count + WI_OUTSIDE) + slot;
}

/* Calls take(place) for one element of each thread at a time. */
template <int block_threads, class T, class Take>
__device__ inline void stride_through(const wi_histogram_params<T> &p, Take take) {
    const wi_bin_table table = p.target.table();
    const size_t stride = (size_t)gridDim.x * block_threads;
    for (size_t i = (size_t)blockIdx.x * block_threads + threadIdx.x; i < p.n; i += stride)
        take(place_of(p, table, i));
}

/* Calls launch(args, params, places) for the element type: u8 in addition to the usual ones. */
template <class Launch>
static weft_status with_step_type(weft_context *ctx, const void *arguments, Launch launch) {
    const wi_histogram_args *args = (const wi_histogram_args *)arguments;
    const auto launch_typed = [=](auto tag) {
        using T = typename decltype(tag)::type;
        wi_histogram_params<T> p;
        const weft_status status = wi_histogram_typed(ctx, args, &p);
        const size_t places = (size_t)args->channels * wi_slots_of(&args->bins);
        return status == WEFT_OK ? launch(args, p, places) : status;
    };
    return args->type == WEFT_U8 ? launch_typed(wi_tag<uint8_t>{})
                                 : wi_with_step_type(args->type, launch_typed);
}

/* ---- global ---- */

template <class T>
__global__ void __launch_bounds__(threads) global(wi_histogram_params<T> p) {
    stride_through<threads>(p, [&](uint32_t place) { p.target.count_in_row(place, 1); });
}

weft_status wi_histogram_global(weft_context *ctx, const void *arguments) {
    return with_step_type(ctx, arguments, [=](auto args, auto p, size_t) {
        using T = typename decltype(p)::Element;
        const size_t most_blocks = ((size_t)1 << 31) - 1;
        return WEFT_LAUNCH(global<T>, ctx, wi_useful_blocks(args->n, threads, most_blocks), threads,
                           0, p);
    });
}

/* ---- shared ---- */

template <class T>
__global__ void __launch_bounds__(threads) shared(wi_histogram_params<T> p, uint32_t places) {
    WEFT_DYNAMIC_SHARED(memory);
    uint32_t *const counters = (uint32_t *)memory;
    for (uint32_t i = threadIdx.x; i < places; i += threads)
        counters[i] = 0;
    __syncthreads();
    stride_through<threads>(p, [&](uint32_t place) { atomicAdd(&counters[place], 1u); });
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < places; i += threads)
        if (counters[i])
            p.target.count_in_row(i, counters[i]);
}

weft_status wi_histogram_shared(weft_context *ctx, const void *arguments) {
    return with_step_type(ctx, arguments, [=](auto args, auto p, size_t places) {
        using T = typename decltype(p)::Element;
        const size_t bytes = places * sizeof(uint32_t);
        size_t resident = 0;
        weft_status status = wi_grant_shared(ctx, "shared<T>", shared<T>, bytes);
        if (status == WEFT_OK)
            status = wi_resident_blocks(ctx, shared<T>, threads, bytes, &resident);
        if (status != WEFT_OK)
            return status;
        return WEFT_LAUNCH(shared<T>, ctx, wi_useful_blocks(args->n, threads, resident), threads,
                           bytes, p, (uint32_t)places);
    });
}

/* ---- cluster ---- */

/* Each block of a cluster holds the counters of a range of places. */
template <class T>
__device__ void count_in_cluster(const wi_histogram_params<T> &p, uint32_t places) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    WEFT_DYNAMIC_SHARED(memory);
    uint32_t *const counters = (uint32_t *)memory;
    const uint32_t run = (places - 1) / wi_cluster_size() + 1;
    for (uint32_t i = threadIdx.x; i < run; i += cluster_threads)
        counters[i] = 0;
    wi_cluster_sync();
    stride_through<cluster_threads>(p, [&](uint32_t place) {
        atomicAdd(wi_cluster_map(&counters[place % run], place / run), 1u);
    });
    wi_cluster_sync();
    const uint32_t first = wi_cluster_rank() * run;
    for (uint32_t i = threadIdx.x; i < run; i += cluster_threads)
        if (counters[i])
            p.target.count_in_row(first + i, counters[i]);
#endif
}

/* With the cluster's size fixed at compile time. */
template <class T>
__global__ void WEFT_CLUSTER(pair_of_blocks) __launch_bounds__(cluster_threads)
    two_blocks(wi_histogram_params<T> p, uint32_t places) {
    count_in_cluster(p, places);
}

/* With the cluster's size chosen at launch. */
template <class T>
__global__ void __launch_bounds__(cluster_threads)
    some_blocks(wi_histogram_params<T> p, uint32_t places) {
    count_in_cluster(p, places);
}

size_t wi_histogram_cluster_room(const weft_context *ctx) {
    if (ctx->gpu->capability < 90)
        return 0;
    return most_in_cluster * wi_histogram_shared_room(ctx);
}

template <class T>
static weft_status launch_clusters(weft_context *ctx, const wi_histogram_params<T> &p,
                                   size_t places, unsigned cluster) {
    const size_t shared = ((places - 1) / cluster + 1) * sizeof(uint32_t);
    const bool pairs = cluster == pair_of_blocks;
    size_t resident = 0;
    weft_status status = wi_resident_clusters(ctx, pairs ? "two_blocks<T>" : "some_blocks<T>",
                                              pairs ? two_blocks<T> : some_blocks<T>,
                                              cluster_threads, cluster, shared, &resident);
    if (status != WEFT_OK)
        return status;
    if (resident == 0)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "weft_histogram: this device has no room for a cluster of %u blocks; use "
                       "another variant",
                       cluster);
    const unsigned clusters = wi_useful_blocks(p.n, (size_t)cluster * cluster_threads, resident);
    if (pairs)
        return WEFT_LAUNCH_FIXED_CLUSTER(two_blocks<T>, ctx, clusters * cluster, cluster_threads,
                                         cluster, shared, p, (uint32_t)places);
    return WEFT_LAUNCH_CLUSTER(some_blocks<T>, ctx, clusters * cluster, cluster_threads, cluster,
                               shared, p, (uint32_t)places);
}

weft_status wi_histogram_cluster(weft_context *ctx, const void *arguments) {
    return with_step_type(ctx, arguments, [=](auto, auto p, size_t places) {
        unsigned cluster = pair_of_blocks;
        while ((places - 1) / cluster + 1 > wi_histogram_shared_room(ctx))
            cluster *= 2;
        return launch_clusters(ctx, p, places, cluster);
    });
}
