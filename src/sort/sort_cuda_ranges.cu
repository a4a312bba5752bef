/* SPDX-License-Identifier: Apache-2.0 */
/* The steps on one GPU of a sort by ranges: drawing samples, finding where ranges begin, and
 * partitioning the elements. */
#include <math.h>

#include "cuda/launch.cuh"
#include "cuda/limit.cuh"
#include "cuda/types.cuh"
#include "sort/sort_ranges.cuh"

/* Elements of each rank, on average, from which on it pays: below, the sort of each range is too
 * short for what its launches take. */
WI_LIMIT(uint64_t, wi_sort_ranges_from, (uint64_t)1 << 25)

bool wi_sort_ranges_pay(const wi_sort_args *args, uint64_t total, int ranks) {
    const size_t size = weft_type_size(args->type), values = args->value_bytes;
    const bool fits = (size == 4 || size == 8) && (values == 0 || values == 4 || values == 8);
    return fits && wi_sort_whole(args) && total / (uint64_t)ranks >= wi_sort_ranges_from;
}

/* Five standard deviations more than there should be, and a tile, whose equal keys stay together.
 */
WI_LIMIT(double, wi_sort_ranges_spare, 5)

uint64_t wi_sort_ranges_room(size_t key_bytes, uint32_t samples, double stretch) {
    const uint64_t tile = key_bytes == 4 ? wi_deal_tile<uint32_t, wi_no_values>::elements
                                         : wi_deal_tile<uint64_t, wi_no_values>::elements;
    const double spare = wi_sort_ranges_spare * sqrt((double)samples + 1);
    const double most = ((double)samples + spare) * stretch;
    return most <= 0 ? 0 : (uint64_t)most + tile;
}

/* Calls f(wi_tag<K>{}) with the type of the keys. */
template <class F>
static weft_status with_keys(size_t size, F f) {
    return size == 4 ? f(wi_tag<uint32_t>{}) : f(wi_tag<uint64_t>{});
}

/* ---- samples ---- */

constexpr int sample_threads = 256;

/* Where in the whole a sample is drawn: at random in its stretch, so that no period of the data
 * meets that of the samples. */
__device__ static uint64_t position_of(const wi_sort_ranges &r, uint64_t sample) {
    const uint64_t total = r.first[r.ranks], begin = sample * total / r.samples;
    const uint64_t length = (sample + 1) * total / r.samples - begin;
    const uint64_t mixed = (sample + 1) * 0x9e3779b97f4a7c15u;
    return begin + (mixed >> 32) % length;
}

struct every_rank {
    void *array[WI_MOST_GPUS];
};

template <class K>
__global__ void __launch_bounds__(sample_threads)
    draw(const K *x, wi_key_map<K> map, wi_sort_ranges ranges, int rank, every_rank to) {
    const uint64_t sample = (uint64_t)blockIdx.x * sample_threads + threadIdx.x;
    if (sample >= ranges.samples)
        return;
    const uint64_t position = position_of(ranges, sample);
    if (position < ranges.first[rank] || position >= ranges.first[rank + 1])
        return;
    const K key = map.key(x[position - ranges.first[rank]]);
    for (int r = 0; r < ranges.ranks; r++)
        ((K *)to.array[r])[sample] = key;
}

weft_status wi_sort_ranges_sample(weft_context *ctx, const wi_sort_args *a,
                                  const wi_sort_ranges *ranges, int rank, void *const to[]) {
    every_rank arrays = {};
    for (int r = 0; r < ranges->ranks; r++)
        arrays.array[r] = to[r];
    const unsigned blocks = (unsigned)((ranges->samples + sample_threads - 1) / sample_threads);
    return with_keys(weft_type_size(a->type), [=](auto tag) {
        using K = typename decltype(tag)::type;
        return WEFT_LAUNCH(draw<K>, ctx, blocks, sample_threads, 0, (const K *)a->x,
                           wi_key_map_of<K>(a->type, a->descending), *ranges, rank, arrays);
    });
}

/* ---- first digits ---- */

__device__ static int rank_of(const wi_sort_ranges &r, uint64_t position) {
    int rank = 0;
    while (position >= r.first[rank + 1])
        rank++;
    return rank;
}

template <class K>
__global__ void __launch_bounds__(sample_threads)
    count_digits(wi_sort_ranges ranges, const K *samples, unsigned shift,
                 uint32_t (*counts)[WI_SORT_MOST_DIGITS]) {
    const uint64_t i = (uint64_t)blockIdx.x * sample_threads + threadIdx.x;
    if (i < ranges.samples)
        atomicAdd(&counts[rank_of(ranges, position_of(ranges, i))][samples[i] >> shift], 1u);
}

weft_status wi_sort_digits_count(weft_context *ctx, size_t key_bytes, const wi_sort_ranges *ranges,
                                 const void *samples, uint32_t (*counts)[WI_SORT_MOST_DIGITS]) {
    const size_t bytes = sizeof *counts * (size_t)ranges->ranks;
    const weft_status status = wi_cuda(ctx, cudaMemsetAsync(counts, 0, bytes, ctx->gpu->stream),
                                       "cudaMemsetAsync: zeroing the counts of digits");
    if (status != WEFT_OK)
        return status;
    const unsigned shift = 8 * (unsigned)key_bytes - wi_sort_first_digit().bits;
    const unsigned blocks = (unsigned)((ranges->samples + sample_threads - 1) / sample_threads);
    return with_keys(key_bytes, [=](auto tag) {
        using K = typename decltype(tag)::type;
        return WEFT_LAUNCH(count_digits<K>, ctx, blocks, sample_threads, 0, *ranges,
                           (const K *)samples, shift, counts);
    });
}

/* ---- bounds ---- */

constexpr int bound_threads = 512;

/* The range of a sorted sample. */
__device__ static int range_of_sample(const wi_sort_ranges &r, uint64_t sorted) {
    int range = 0;
    for (int k = 1; k < r.count; k++)
        range += sorted >= r.begin[k];
    return range;
}

template <class K>
__global__ void __launch_bounds__(bound_threads)
    bound(wi_sort_ranges ranges, const K *sorted, const uint32_t *number, wi_sort_bounds *bounds) {
    WEFT_SHARED(uint32_t, counts, [WI_MOST_GPUS * WI_SORT_MOST_RANGES]);
    constexpr int all = WI_MOST_GPUS * WI_SORT_MOST_RANGES;
    for (int i = (int)threadIdx.x; i < all; i += bound_threads)
        counts[i] = 0;
    __syncthreads();
    const uint64_t i = (uint64_t)blockIdx.x * bound_threads + threadIdx.x;
    if (i < ranges.samples) {
        const int rank = rank_of(ranges, position_of(ranges, number[i]));
        atomicAdd(&counts[rank * WI_SORT_MOST_RANGES + range_of_sample(ranges, i)], 1u);
    }
    __syncthreads();
    for (int c = (int)threadIdx.x; c < all; c += bound_threads)
        if (counts[c] > 0)
            atomicAdd(&bounds->samples[c / WI_SORT_MOST_RANGES][c % WI_SORT_MOST_RANGES],
                      counts[c]);
    const int k = (int)threadIdx.x;
    if (blockIdx.x > 0 || k >= ranges.count - 1)
        return;
    const uint64_t at = ranges.begin[k + 1];
    const bool ends = at >= ranges.samples; /* nothing comes behind it */
    bounds->key[k] = ends ? (K) ~(K)0 : sorted[at];
    bounds->position[k] = ends ? UINT64_MAX : position_of(ranges, number[at]);
}

weft_status wi_sort_ranges_bound(weft_context *ctx, size_t key_bytes, const wi_sort_ranges *ranges,
                                 const void *sorted, const uint32_t *number,
                                 wi_sort_bounds *bounds) {
    const weft_status status =
        wi_cuda(ctx, cudaMemsetAsync(bounds, 0, sizeof *bounds, ctx->gpu->stream),
                "cudaMemsetAsync: zeroing the counts of samples");
    const unsigned blocks = (unsigned)((ranges->samples + bound_threads - 1) / bound_threads);
    if (status != WEFT_OK)
        return status;
    return with_keys(key_bytes, [=](auto tag) {
        using K = typename decltype(tag)::type;
        return WEFT_LAUNCH(bound<K>, ctx, blocks, bound_threads, 0, *ranges, (const K *)sorted,
                           number, bounds);
    });
}

/* ---- partitioning ---- */

template <class K, class V>
static wi_deal_args<K, V> deal_args_of(const wi_sort_deal *d) {
    const wi_sort_args *const a = d->sort;
    wi_deal_args<K, V> p = {};
    p.x = (const K *)a->x;
    p.values = (const V *)a->values;
    p.first = d->first;
    p.n = a->n;
    p.map = wi_key_map_of<K>(a->type, a->descending);
    p.maps = p.map.changes();
    p.count = d->count;
    p.bounds = d->bounds;
    p.counts = d->counts;
    for (int k = 0; k < d->count; k++) {
        p.keys[k] = (K *)d->keys[k];
        p.out[k] = (V *)d->values[k];
        p.room[k] = d->room[k];
    }
    return p;
}

template <class K, class V>
static weft_status deal_out(weft_context *ctx, const wi_sort_deal *d) {
    using tile = wi_deal_tile<K, V>;
    const size_t tiles = (d->sort->n + tile::elements - 1) / tile::elements;
    const size_t bytes = sizeof(wi_pair) * (tiles * (size_t)d->count + 1);
    void *memory;
    weft_status status = wi_gpu_alloc(ctx, &memory, bytes);
    if (status != WEFT_OK)
        return status;
    wi_deal_args<K, V> p = deal_args_of<K, V>(d);
    p.next_tile = (unsigned long long *)memory;
    p.status = (wi_pair *)memory + 1;
    status = wi_cuda(ctx, cudaMemsetAsync(memory, 0, bytes, ctx->gpu->stream),
                     "cudaMemsetAsync: zeroing the counts of tiles");
    if (status == WEFT_OK)
        status =
            WEFT_LAUNCH((deal<K, V>), ctx, (unsigned)tiles, tile::threads, tile::shared_bytes, p);
    const weft_status freed = wi_gpu_free(ctx, memory);
    return status != WEFT_OK ? status : freed;
}

weft_status wi_sort_ranges_deal(weft_context *ctx, const wi_sort_deal *d) {
    if (d->sort->n == 0)
        return wi_cuda(
            ctx,
            cudaMemsetAsync(d->counts, 0, sizeof(uint64_t) * (size_t)d->count, ctx->gpu->stream),
            "cudaMemsetAsync: a rank without elements");
    return wi_with_wide_keys(d->sort, [=](auto keys, auto values) {
        return deal_out<typename decltype(keys)::type, typename decltype(values)::type>(ctx, d);
    });
}
