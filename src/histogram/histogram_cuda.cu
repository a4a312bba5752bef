/* SPDX-License-Identifier: Apache-2.0 */
/* histogram on a GPU: checking the edges, clearing counts, and the rung for few bins. Kernels begin
 * ahead of others: cuda/ahead.cuh. */
#include "cuda/ahead.cuh"
#include "histogram/histogram_bytes.cuh"

/* ---- before counting ---- */

constexpr unsigned edge_threads = 256;

struct edge_task {
    wi_bins bins;
    const double *edges; /* on the device, or NULL */
    wi_edges_seen *seen;
    uint64_t *thresholds; /* NULL: the rule does not need them */
};

/* Stores the threshold of edge k, and checks whether the rule WI_BINS_LINEAR is right there. */
__device__ void look_at_edge(const edge_task &task, uint32_t k) {
    const wi_bins &bins = task.bins;
    uint64_t key, next;
    const bool has_key = wi_threshold(&bins.form, wi_edge(&bins, task.edges, k), &key);
    const bool is_last =
        k == bins.count || !wi_threshold(&bins.form, wi_edge(&bins, task.edges, k + 1), &next);
    if (has_key) {
        task.thresholds[k] = key;
        if (is_last)
            task.seen->live = k + 1;
    }
    if (bins.rule == WI_BINS_LINEAR && !wi_linear_is_right(&bins, k, has_key, key))
        atomicOr(&task.seen->crooked, 1u);
}

__device__ void clear(void *counts, size_t n, bool wide) {
    const size_t stride = (size_t)gridDim.x * edge_threads;
    for (size_t i = (size_t)blockIdx.x * edge_threads + threadIdx.x; i < n; i += stride) {
        if (wide)
            ((uint64_t *)counts)[i] = 0;
        else
            ((uint32_t *)counts)[i] = 0;
    }
}

__global__ void __launch_bounds__(edge_threads)
    begin(edge_task task, wi_histogram_target target, bool accumulate) {
    const size_t stride = (size_t)gridDim.x * edge_threads;
    wi_wait_for_earlier();
    if (!accumulate) {
        clear(target.counts, (size_t)target.channels * task.bins.count, target.wide);
        if (target.outside)
            clear(target.outside, (size_t)target.channels * WI_OUTSIDE, target.wide);
    }
    if (task.thresholds)
        for (size_t k = (size_t)blockIdx.x * edge_threads + threadIdx.x; k <= task.bins.count;
             k += stride)
            look_at_edge(task, (uint32_t)k);
}

/* Divides scratch: findings, thresholds, edges. */
static weft_status lay_out(weft_context *ctx, const wi_histogram_args *args, edge_task *task) {
    const size_t edges = (size_t)args->bins.count + 1, arrays = args->bins.edges ? 2 : 1;
    void *scratch;
    weft_status status =
        wi_gpu_scratch(ctx, &wi_histogram_ladder,
                       sizeof(wi_edges_seen) + arrays * edges * sizeof(uint64_t), &scratch);
    if (status != WEFT_OK)
        return status;
    task->seen = (wi_edges_seen *)scratch;
    task->thresholds = (uint64_t *)(task->seen + 1);
    if (args->bins.edges) {
        double *const copy = (double *)(task->thresholds + edges);
        task->edges = copy;
        status = wi_gpu_copy(ctx, copy, args->bins.edges, edges * sizeof(double));
    }
    if (status != WEFT_OK)
        return status;
    return wi_cuda(ctx, cudaMemsetAsync(task->seen, 0, sizeof(wi_edges_seen), ctx->gpu->stream),
                   "cudaMemsetAsync: before the edges of bins are looked at");
}

weft_status wi_histogram_begin(weft_context *ctx, const wi_histogram_args *args,
                               wi_histogram_target *target, bool clears) {
    edge_task task = {args->bins, nullptr, nullptr, nullptr};
    bool straight;
    weft_status status = wi_histogram_look(ctx, &args->bins, &straight);
    if (status == WEFT_OK && args->bins.rule != WI_BINS_SHIFT && !straight)
        status = lay_out(ctx, args, &task);
    *target = {args->bins, task.seen,    task.thresholds, args->channels,
               args->wide, args->counts, args->outside};
    if (status != WEFT_OK || ((args->accumulate || !clears) && !task.thresholds))
        return status;
    const size_t work = (size_t)args->channels * args->bins.count + 1;
    const unsigned blocks =
        wi_useful_blocks(work, edge_threads, (size_t)ctx->gpu->multiprocessors * 8);
    return WEFT_LAUNCH_AHEAD(begin, ctx, blocks, edge_threads, 0, task, *target, args->accumulate);
}

/* ---- lanes ---- */

constexpr int threads = 1024;
constexpr uint32_t byte_values = WI_BYTE_VALUES;
constexpr uint32_t most_copies = 32; /* one for each lane, each in its own bank */
/* A block should have this many elements for each counter, which it has to clear and to add. */
constexpr size_t elements_a_counter = 4;

/* Bytes are counted by value first; at the end values become slots. */
template <class T>
constexpr bool by_value = sizeof(T) == 1;

/* For bytes, whose kernel needs few registers, two blocks on a multiprocessor. */
template <class T>
constexpr int vectors_at_once = by_value<T> ? 2 : 4;

template <bool many, class T>
__device__ void count_in_lanes(const wi_histogram_params<T> &p, uint32_t *counters,
                               uint32_t copies) {
    uint32_t *const mine = counters + threadIdx.x % copies;
    if constexpr (by_value<T>) {
        wi_take_all<many, true, threads, vectors_at_once<T>>(p, [=](T x, uint32_t channel) {
            atomicAdd(&mine[((many ? channel * byte_values : 0) + x) * copies], 1u);
        });
    } else {
        const uint32_t slots = p.target.bins.count + WI_OUTSIDE;
        wi_with_slots<T>(p.target, [&](auto slot_of) {
            wi_take_all<many, decltype(slot_of)::cheap, threads, vectors_at_once<T>>(
                p, [=](T x, uint32_t channel) {
                    atomicAdd(&mine[((many ? channel * slots : 0) + slot_of(x)) * copies], 1u);
                });
        });
    }
}

__device__ inline void clear_counters(uint32_t *counters, uint32_t count) {
    for (uint32_t i = threadIdx.x; i < count; i += threads)
        counters[i] = 0;
    __syncthreads();
}

/* Adds a block's counters to the counts; or stores them, if no other block counts. */
template <class T>
__device__ void hand_over(const wi_histogram_params<T> &p, const uint32_t *counters,
                          uint32_t places, uint32_t copies, bool alone = false) {
    __syncthreads();
    const wi_bin_table table = p.target.table();
    for (uint32_t place = threadIdx.x; place < places; place += threads) {
        uint32_t times = 0;
        for (uint32_t c = 0; c < copies; c++) /* neighbouring threads begin in different banks */
            times += counters[place * copies + (place + c) % copies];
        if (times == 0 && !alone)
            continue;
        if (alone)
            p.target.put_in_row(place, times);
        else if constexpr (by_value<T>)
            p.target.count(place / byte_values,
                           wi_slot_of_bits(&p.target.bins, &table, place % byte_values), times);
        else
            p.target.count_in_row(place, times);
    }
}

/* A kernel behind `begin` counts while that one clears the counts: elements are there, because it
 * has begun. Only what `begin` finds out about edges must be there first.
 *
 * A block counts fewer than 2^32 elements if a multiprocessor's share of the device memory is below
 * 4 GiB. */
template <bool many, class T>
__global__ void __launch_bounds__(threads, by_value<T> ? 2 : 1)
    lanes(wi_histogram_params<T> p, uint32_t places, uint32_t copies, bool alone) {
    WEFT_DYNAMIC_SHARED(memory);
    uint32_t *const counters = (uint32_t *)memory;
    clear_counters(counters, places * copies);
    if (p.target.seen)
        wi_wait_for_earlier();
    count_in_lanes<many>(p, counters, copies);
    wi_wait_for_earlier();
    hand_over(p, counters, places, copies, alone);
}

/* Bytes of one channel, with all copies. */
__global__ void __launch_bounds__(threads, 2) lanes_of_bytes(wi_histogram_params<uint8_t> p) {
    WEFT_DYNAMIC_SHARED(memory);
    uint32_t *const counters = (uint32_t *)memory;
    clear_counters(counters, byte_values * most_copies);
    wi_count_bytes<threads>(p, counters + threadIdx.x % most_copies);
    wi_wait_for_earlier();
    hand_over(p, counters, byte_values, most_copies);
}

size_t wi_histogram_shared_room(const weft_context *ctx) {
    return ctx->gpu->shared_optin / sizeof(uint32_t);
}

/* As many copies of the counters, a power of two, as fit and as pay for this many elements. */
static uint32_t copies_of(const weft_context *ctx, size_t places, size_t room_bytes, size_t n) {
    const size_t of_block = n / (size_t)ctx->gpu->multiprocessors;
    uint32_t copies = 1;
    while (copies < most_copies && 2 * copies * places * sizeof(uint32_t) <= room_bytes &&
           2 * copies * places * elements_a_counter <= of_block)
        copies *= 2;
    return copies;
}

/* Sets *blocks to as many as are resident, each with at least `least` elements. */
template <class Kernel>
static weft_status blocks_of(weft_context *ctx, size_t n, const char *name, Kernel kernel,
                             size_t shared, size_t least, unsigned *blocks) {
    size_t resident = (size_t)ctx->gpu->multiprocessors; /* one on each there always is */
    weft_status status = wi_grant_shared(ctx, name, kernel, shared);
    if (status == WEFT_OK && n > resident * least)
        status = wi_resident_blocks(ctx, kernel, threads, shared, &resident);
    *blocks = wi_useful_blocks(n, least, resident);
    return status;
}

/* Has this call launched `begin`? */
static bool has_begun(const wi_histogram_args *args, const wi_histogram_target &target,
                      bool clears) {
    return target.thresholds || (clears && !args->accumulate);
}

static weft_status launch_bytes(weft_context *ctx, const wi_histogram_args *args, size_t shared) {
    constexpr size_t least = threads * wi_byte_vectors_at_once * wi_vector<uint8_t>::count;
    unsigned blocks = 0;
    wi_histogram_params<uint8_t> p;
    weft_status status =
        blocks_of(ctx, args->n, "lanes_of_bytes", lanes_of_bytes, shared, least, &blocks);
    if (status == WEFT_OK)
        status = wi_histogram_typed(ctx, args, &p);
    if (status != WEFT_OK)
        return status;
    return has_begun(args, p.target, true)
               ? WEFT_LAUNCH_AHEAD(lanes_of_bytes, ctx, blocks, threads, shared, p)
               : WEFT_LAUNCH(lanes_of_bytes, ctx, blocks, threads, shared, p);
}

template <bool many, class T>
static weft_status launch_lanes(weft_context *ctx, const wi_histogram_args *args) {
    const size_t of_channel = by_value<T> ? byte_values : wi_slots_of(&args->bins);
    const size_t places = of_channel * args->channels, of_thread = wi_vector<T>::count;
    const size_t room = by_value<T> ? ctx->gpu->shared_optin / 2 - 1024 : ctx->gpu->shared_optin;
    const uint32_t copies = copies_of(ctx, places, room, args->n);
    const size_t shared = places * copies * sizeof(uint32_t);
    constexpr const char *name = "lanes<many, T>";
    unsigned blocks = 0;
    wi_histogram_params<T> p;
    if constexpr (by_value<T> && !many)
        if (copies == most_copies)
            return launch_bytes(ctx, args, shared);
    weft_status status = blocks_of(ctx, args->n, name, lanes<many, T>, shared,
                                   threads * vectors_at_once<T> * of_thread, &blocks);
    bool straight = false;
    if (status == WEFT_OK)
        status = wi_histogram_look(ctx, &args->bins, &straight);
    const bool alone = !by_value<T> && blocks == 1 && !args->accumulate && straight;
    if (status == WEFT_OK)
        status = wi_histogram_typed(ctx, args, &p, !alone);
    if (status != WEFT_OK)
        return status;
    return has_begun(args, p.target, !alone)
               ? wi_launch_ahead(ctx, name, lanes<many, T>, blocks, threads, shared, p,
                                 (uint32_t)places, copies, alone)
               : wi_launch(ctx, name, lanes<many, T>, blocks, threads, shared, p, (uint32_t)places,
                           copies, alone);
}

weft_status wi_histogram_lanes(weft_context *ctx, const void *arguments) {
    const wi_histogram_args *args = (const wi_histogram_args *)arguments;
    return wi_with_unsigned_type(args->type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        return args->channels > 1 ? launch_lanes<true, T>(ctx, args)
                                  : launch_lanes<false, T>(ctx, args);
    });
}
