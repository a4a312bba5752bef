/* SPDX-License-Identifier: Apache-2.0 */
/* histogram on a GPU for more bins than shared memory holds, but still counted in shared memory.
 *
 * The places of counters are divided into ranges, whose length is a power of two that fits one
 * block. A first kernel reads the elements tile by tile, and writes each tile's places sorted by
 * range, as 16-bit offsets within the range. In a second kernel every range has one block or
 * several, in proportion to its elements, which read that range's run of each tile.
 *
 * Runs begin at 16-byte boundaries; unused offsets at their ends are `nobody`. */
#include "cuda/warp.cuh"
#include "histogram/histogram_cache.cuh"

constexpr int partition_threads = 1024;
constexpr uint32_t of_thread = 16; /* elements */
constexpr uint32_t of_tile = partition_threads * of_thread;
constexpr uint32_t most_ranges = partition_threads;
constexpr uint32_t most_range_log2 = 15;
constexpr uint16_t nobody = 0xffff; /* not an offset: ranges are shorter */
constexpr uint32_t run_lanes = 8;   /* threads that read one run together */
/* How many elements are distributed at a time; this limits the memory for offsets to about half a
 * GiB. */
constexpr size_t most_at_once = (size_t)1 << 28;

using offsets = wi_vector<uint16_t>;
constexpr uint32_t offset_count = offsets::count;

/* Elements that have been distributed to ranges. */
struct dealt {
    uint32_t range_log2, ranges, tiles;
    uint32_t pitch;    /* vectors from one tile to the next */
    uint32_t *totals;  /* vectors of each range */
    uint32_t *crowded; /* for the rung "sampled": do most elements fall into few bins? */
    uint32_t *runs;    /* by range, then tile: the run's first vector in its tile, and its number of
                          vectors << 16 */
    offsets *values;
};

/* What a block of the second kernel counts: share number `part` of `parts` of the range. */
struct share {
    uint32_t range, part, parts;
};

/* The sum of x over the threads before this one; sums[31] becomes the sum over all. */
__device__ inline uint32_t sum_before(uint32_t x, uint32_t *sums) {
    const auto plus = [](uint32_t a, uint32_t b) { return a + b; };
    const uint32_t through = wi_warp_scan(x, plus), warp = threadIdx.x / 32;
    if (wi_lane() == 31)
        sums[warp] = through;
    __syncthreads();
    if (warp == 0)
        sums[wi_lane()] = wi_warp_scan(sums[wi_lane()], plus);
    __syncthreads();
    return through - x + (warp ? sums[warp - 1] : 0);
}

/* ---- distributing ---- */

/* The places of this thread's elements of a tile, for elements in whole vectors, which are
 * `threads` vectors apart. */
template <class T, class Slot>
__device__ inline void find_places(const wi_histogram_params<T> &p, Slot slot_of, uint32_t tile,
                                   uint32_t (&place)[of_thread]) {
    using Vector = wi_vector<T>;
    constexpr uint32_t width = Vector::count, vectors = of_thread / width;
    [[maybe_unused]] constexpr int steps = Slot::cheap ? width : 1;
    const wi_cut<T> cut(p.x, p.n);
    const Vector *const body = (const Vector *)(p.x + cut.head);
    const uint32_t slots = p.target.bins.count + WI_OUTSIDE, channels = p.target.channels;
    const size_t first = (size_t)tile * partition_threads * vectors + threadIdx.x;
    Vector a[vectors];
#pragma unroll
    for (uint32_t k = 0; k < vectors; k++) {
        const size_t v = first + k * partition_threads;
        a[k] = v < cut.vectors ? body[v] : Vector{};
    }
#pragma unroll
    for (uint32_t k = 0; k < vectors; k++) {
        const size_t v = first + k * partition_threads;
        uint32_t channel = p.channel_of(cut.head + v * width);
#pragma unroll steps
        for (uint32_t e = 0; e < width; e++) {
            const uint32_t at = channel * slots + slot_of(a[k].at[e]);
            place[k * width + e] = v < cut.vectors ? at : wi_no_place;
            channel = channel + 1 < channels ? channel + 1 : 0;
        }
    }
    if (tile == 0)
        wi_take_ends(p, cut, [&](T x, uint32_t c) { p.target.count(c, slot_of(x), 1); });
}

/* Numbers the places of this tile in each range, in any order, and counts them in `met`. If all of
 * a warp fall into one range, as in sorted data, one lane adds for all. */
__device__ inline void number_places(const uint32_t (&place)[of_thread], uint32_t range_log2,
                                     uint32_t *met, uint32_t (&number)[of_thread]) {
    constexpr uint32_t together = 4;
#pragma unroll
    for (uint32_t i = 0; i < of_thread; i += together) {
        const uint32_t likely = wi_shuffle(place[i], 0) >> range_log2;
        bool alike = true;
#pragma unroll
        for (uint32_t e = 0; e < together; e++)
            alike &= place[i + e] != wi_no_place && place[i + e] >> range_log2 == likely;
        if (__all_sync(wi_all_lanes, alike)) {
            uint32_t before = 0;
            if (wi_lane() == 0)
                before = atomicAdd(&met[likely], 32 * together);
            before = wi_shuffle(before, 0) + (uint32_t)wi_lane() * together;
#pragma unroll
            for (uint32_t e = 0; e < together; e++)
                number[i + e] = before + e;
            continue;
        }
#pragma unroll
        for (uint32_t e = 0; e < together; e++)
            if (place[i + e] != wi_no_place)
                number[i + e] = atomicAdd(&met[place[i + e] >> range_log2], 1u);
    }
}

/* Finds and stores where the tile's runs are; thread r does it for range r. Replaces `met` by the
 * beginnings of the runs, and fills what is unused in their last vectors. Returns the tile's number
 * of vectors. */
__device__ inline uint32_t lay_out_runs(const dealt &d, uint32_t tile, uint32_t *met,
                                        uint32_t *sums, uint16_t *values) {
    const uint32_t range = threadIdx.x, count = met[range];
    const uint32_t vectors = (count + offset_count - 1) / offset_count;
    const uint32_t first = sum_before(vectors, sums);
    if (range < d.ranges)
        d.runs[(size_t)range * d.tiles + tile] = first | vectors << 16;
    if (vectors)
        atomicAdd(&d.totals[range], vectors);
    for (uint32_t i = count; i < vectors * offset_count; i++)
        values[first * offset_count + i] = nobody;
    met[range] = first * offset_count;
    return sums[31];
}

template <class T, class Slot>
__device__ inline void deal_tile(const wi_histogram_params<T> &p, const dealt &d, Slot slot_of,
                                 uint32_t tile, uint32_t *met, uint32_t *sums, uint16_t *values) {
    uint32_t place[of_thread], number[of_thread];
    met[threadIdx.x] = 0;
    __syncthreads();
    find_places(p, slot_of, tile, place);
    number_places(place, d.range_log2, met, number);
    __syncthreads();
    const uint32_t vectors = lay_out_runs(d, tile, met, sums, values);
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < of_thread; i++)
        if (place[i] != wi_no_place)
            values[met[place[i] >> d.range_log2] + number[i]] =
                (uint16_t)(place[i] & ((1u << d.range_log2) - 1));
    __syncthreads();
    offsets *const to = d.values + (size_t)tile * d.pitch;
    for (uint32_t v = threadIdx.x; v < vectors; v += partition_threads)
        to[v] = ((const offsets *)values)[v];
}

template <class T>
__global__ void __launch_bounds__(partition_threads, 1)
    deal(wi_histogram_params<T> p, dealt d, wi_histogram_gate gate) {
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(uint32_t, met, [most_ranges]);
    WEFT_SHARED(uint32_t, sums, [32]);
    if (gate.is_shut())
        return;
    wi_with_slots<T>(p.target, [&](auto slot_of) {
        for (uint32_t tile = blockIdx.x; tile < d.tiles; tile += gridDim.x)
            deal_tile(p, d, slot_of, tile, met, sums, (uint16_t *)memory);
    });
}

/* ---- counting ---- */

/* This block's share if about `blocks` blocks divide all vectors; `parts` is 0 if it has none. */
__device__ inline void find_share(const dealt &d, uint32_t blocks, uint32_t *sums, share *mine) {
    const uint32_t total = threadIdx.x < d.ranges ? d.totals[threadIdx.x] : 0;
    if (threadIdx.x == 0)
        mine->parts = 0;
    sum_before(total, sums);
    const uint32_t worth = total ? (uint32_t)((uint64_t)total * blocks / sums[31]) : 0;
    __syncthreads();
    const uint32_t parts = total && !worth ? 1 : worth;
    const uint32_t part = blockIdx.x - sum_before(parts, sums);
    if (part < parts)
        *mine = {threadIdx.x, part, parts};
    __syncthreads();
}

__device__ inline void count_runs(const dealt &d, const share &mine, uint32_t *counters) {
    constexpr uint32_t groups = partition_threads / run_lanes;
    const uint32_t group = threadIdx.x / run_lanes, lane = threadIdx.x % run_lanes;
    const uint32_t *const runs = d.runs + (size_t)mine.range * d.tiles;
    for (uint32_t t = mine.part * groups + group; t < d.tiles; t += mine.parts * groups) {
        const uint32_t run = runs[t], vectors = run >> 16;
        const offsets *const values = d.values + (size_t)t * d.pitch + (run & 0xffff);
        for (uint32_t v = lane; v < vectors; v += run_lanes) {
            const offsets a = values[v];
#pragma unroll
            for (uint32_t e = 0; e < offset_count; e++)
                if (a.at[e] != nobody)
                    atomicAdd(&counters[a.at[e]], 1u);
        }
    }
}

__global__ void __launch_bounds__(partition_threads, 1)
    count_dealt(wi_histogram_target target, dealt d, uint32_t blocks, wi_histogram_gate gate) {
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(uint32_t, sums, [32]);
    WEFT_SHARED(share, mine, );
    if (gate.is_shut())
        return;
    uint32_t *const counters = (uint32_t *)memory;
    find_share(d, blocks, sums, &mine);
    if (mine.parts == 0)
        return;
    for (uint32_t i = threadIdx.x; i < 1u << d.range_log2; i += partition_threads)
        counters[i] = 0;
    __syncthreads();
    count_runs(d, mine, counters);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 1u << d.range_log2; i += partition_threads)
        if (counters[i])
            target.count_in_row((mine.range << d.range_log2) + i, counters[i]);
}

/* ---- which rung is faster ---- */

/* Elements of a thread's sample, and how many in its second half must be found in a cache as large
 * as that of "cached", for "cached" to be the faster rung. */
constexpr uint32_t sample = 4;
constexpr uint32_t enough_met = partition_threads * (sample / 2) * 5 / 8;

/* One block: takes a random element from each of threads * sample equal parts of the array. */
template <class T>
__global__ void __launch_bounds__(partition_threads, 1)
    look(wi_histogram_params<T> p, uint32_t *crowded) {
    WEFT_SHARED(uint32_t, owner, [wi_cache_entries]);
    WEFT_SHARED(uint32_t, times, [wi_cache_entries]);
    WEFT_SHARED(uint32_t, met, );
    const wi_counter_cache<partition_threads> cache = {owner, times};
    const uint32_t slots = p.target.bins.count + WI_OUTSIDE;
    const size_t part = p.n / (partition_threads * sample);
    size_t at[sample];
    T x[sample];
#pragma unroll
    for (uint32_t k = 0; k < sample; k++) {
        const uint32_t number = threadIdx.x * sample + k;
        at[k] = part * number + (part ? number * 2654435761u % part : number % p.n);
        x[k] = p.x[at[k]];
    }
    cache.clear();
    if (threadIdx.x == 0)
        met = 0;
    __syncthreads();
    uint32_t mine = 0;
    wi_with_slots<T>(p.target, [&](auto slot_of) {
        const auto place = [&](uint32_t k) { return p.channel_of(at[k]) * slots + slot_of(x[k]); };
#pragma unroll
        for (uint32_t k = 0; k < sample / 2; k++)
            cache.add(place(k));
        __syncthreads();
#pragma unroll
        for (uint32_t k = sample / 2; k < sample; k++)
            mine += cache.holds(place(k));
    });
    mine = wi_warp_sum(mine);
    if (wi_lane() == 0)
        atomicAdd(&met, mine);
    __syncthreads();
    if (threadIdx.x == 0)
        *crowded = met >= enough_met;
}

/* ---- launches ---- */

static uint32_t range_log2_of(const weft_context *ctx) {
    const size_t room = ctx->gpu->shared_optin - sizeof(uint32_t) * 32 - sizeof(share);
    uint32_t log2 = most_range_log2;
    while (sizeof(uint32_t) << log2 > room)
        log2--;
    return log2;
}

size_t wi_histogram_partitioned_room(const weft_context *ctx) {
    return (size_t)most_ranges << range_log2_of(ctx);
}

/* Distributes and counts p.n elements. */
template <class T>
static weft_status run_slice(weft_context *ctx, const wi_histogram_params<T> &p, dealt d,
                             wi_histogram_gate gate) {
    const size_t tile_bytes = d.pitch * sizeof(offsets);
    const size_t counter_bytes = sizeof(uint32_t) << d.range_log2;
    size_t dealers = 0, blocks = 0;
    d.tiles = (uint32_t)((p.n - 1) / of_tile + 1);
    weft_status status =
        wi_cuda(ctx, cudaMemsetAsync(d.totals, 0, d.ranges * sizeof *d.totals, ctx->gpu->stream),
                "cudaMemsetAsync: before elements are dealt out");
    if (status == WEFT_OK)
        status = wi_grant_shared(ctx, "deal<T>", deal<T>, tile_bytes);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, deal<T>, partition_threads, tile_bytes, &dealers);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(deal<T>, ctx, (unsigned)(d.tiles < dealers ? d.tiles : dealers),
                             partition_threads, tile_bytes, p, d, gate);
    if (status == WEFT_OK)
        status = wi_grant_shared(ctx, "count_dealt", count_dealt, counter_bytes);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, count_dealt, partition_threads, counter_bytes, &blocks);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH(count_dealt, ctx, (unsigned)(blocks + d.ranges), partition_threads,
                       counter_bytes, p.target, d, (uint32_t)blocks, gate);
}

/* Allocates memory for as many elements as are distributed at a time; free it by d->values. */
static weft_status make_room(weft_context *ctx, const wi_histogram_args *args, dealt *d) {
    const size_t places = (size_t)args->channels * wi_slots_of(&args->bins);
    const size_t n = args->n < most_at_once ? args->n : most_at_once;
    const size_t tiles = (n + of_tile - 1) / of_tile;
    d->range_log2 = range_log2_of(ctx);
    d->ranges = (uint32_t)((places - 1) >> d->range_log2) + 1;
    d->pitch = of_tile / offset_count + d->ranges;
    const size_t values = tiles * d->pitch, runs = tiles * d->ranges;
    void *memory;
    const weft_status status = wi_gpu_alloc(
        ctx, &memory, values * sizeof(offsets) + (runs + d->ranges + 1) * sizeof(uint32_t));
    d->values = (offsets *)memory;
    d->runs = (uint32_t *)(d->values + values);
    d->totals = d->runs + runs;
    d->crowded = d->totals + d->ranges;
    return status;
}

template <class T>
static weft_status run_slices(weft_context *ctx, const wi_histogram_args *args,
                              const wi_histogram_target &target, const dealt &d,
                              wi_histogram_gate gate) {
    weft_status status = WEFT_OK;
    for (size_t from = 0; from < args->n && status == WEFT_OK; from += most_at_once) {
        const size_t n = args->n - from < most_at_once ? args->n - from : most_at_once;
        const uint32_t channel = (uint32_t)((args->channel + from) % args->channels);
        status = run_slice<T>(ctx, {(const T *)args->x + from, n, channel, target}, d, gate);
    }
    return status;
}

template <class T>
static weft_status run_sampled(weft_context *ctx, const wi_histogram_args *args,
                               const wi_histogram_target &target, const dealt &d) {
    const wi_histogram_params<T> p = {(const T *)args->x, args->n, args->channel, target};
    weft_status status = WEFT_LAUNCH(look<T>, ctx, 1, partition_threads, 0, p, d.crowded);
    if (status == WEFT_OK)
        status = wi_histogram_queue_cached(ctx, args, &target, {d.crowded, true});
    return status == WEFT_OK ? run_slices<T>(ctx, args, target, d, {d.crowded, false}) : status;
}

template <class T>
static weft_status launch_partition(weft_context *ctx, const wi_histogram_args *args,
                                    bool sampled) {
    wi_histogram_target target;
    dealt d = {};
    weft_status status = make_room(ctx, args, &d); /* before counts are cleared */
    if (status != WEFT_OK)
        return status;
    status = wi_histogram_begin(ctx, args, &target);
    if (status == WEFT_OK)
        status = sampled && args->n > 0 ? run_sampled<T>(ctx, args, target, d)
                                        : run_slices<T>(ctx, args, target, d, {});
    const weft_status freed = wi_gpu_free(ctx, d.values);
    return status != WEFT_OK ? status : freed;
}

static weft_status run(weft_context *ctx, const wi_histogram_args *args, bool sampled) {
    return wi_with_unsigned_type(args->type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (sizeof(T) == 1)
            return WEFT_EUNSUPPORTED;
        else
            return launch_partition<T>(ctx, args, sampled);
    });
}

weft_status wi_histogram_partitioned(weft_context *ctx, const void *args) {
    return run(ctx, (const wi_histogram_args *)args, false);
}

weft_status wi_histogram_sampled(weft_context *ctx, const void *args) {
    return run(ctx, (const wi_histogram_args *)args, true);
}
