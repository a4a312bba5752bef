/* SPDX-License-Identifier: Apache-2.0 */
/* quantile on a GPU. All of it is queued: the host never waits for a count. Every rank is a search
 * in device memory, which ends in a key and the key after it. `bracketed` learns from a sorted
 * sample between which keys a rank is, and goes over x once, counting what is below and keeping
 * what is between; the digits of the rank's key are then found among what was kept. If the sample
 * misled, which the counts tell, or there is none (`digits`), they are found in all of x. */
#include "cuda/types.cuh"
#include "quantile/quantile_cuda.cuh"
#include "sort/sort_places.cuh"

/* ---- digits ---- */

constexpr unsigned digit_threads = 256;

__device__ inline unsigned bits_now(const quantile_search &s) {
    return s.shift < s.digit ? s.shift : s.digit;
}

/* Calls f(key) for the keys among which a search is, a grid's width apart. */
template <class U, class F>
__device__ void each_key(const quantile_task<U> &task, bool all, size_t n, F f) {
    const U *const keys = all ? task.x : task.kept + blockIdx.y * task.room;
    const bool aligned = wi_is_aligned(keys);
    const auto take = [&](U bits) { f(all ? task.map.key(bits) : bits); };
    constexpr int wide = wi_vector<U>::count;
    constexpr size_t turn = (size_t)digit_threads * wide * vectors;
    for (size_t first = blockIdx.x * turn; first < n; first += gridDim.x * turn) {
        if (aligned && first + turn <= n) {
            wi_vector<U> vector[vectors];
#pragma unroll
            for (int v = 0; v < vectors; v++)
                vector[v] = ((const wi_vector<U> *)(keys + first))[v * digit_threads + threadIdx.x];
#pragma unroll
            for (int v = 0; v < vectors; v++)
#pragma unroll
                for (int e = 0; e < wide; e++)
                    take(vector[v].at[e]);
        } else {
            for (size_t i = first + threadIdx.x; i < n && i < first + turn; i += digit_threads)
                take(keys[i]);
        }
    }
}

/* Counts the digits below the prefix, of keys with that prefix. A row of blocks for each search. */
template <class U>
__global__ void __launch_bounds__(digit_threads)
    count_quantile_digits(quantile_task<U> task, unsigned long long *counts) {
    WEFT_SHARED(uint32_t, count, [digit_bins]);
    const quantile_search s = task.searches[blockIdx.y];
    const size_t n = s.source == IN_ALL ? task.n : (size_t)s.bracket.inside;
    constexpr size_t turn = (size_t)digit_threads * wi_vector<U>::count * vectors;
    if (s.shift == 0 || blockIdx.x * turn >= n)
        return;
    const unsigned bits = bits_now(s), shift = s.shift - bits, top = s.shift, bins = 1u << bits;
    const bool any = top == 8 * sizeof(U);
    for (unsigned b = threadIdx.x; b < bins; b += digit_threads)
        count[b] = 0;
    __syncthreads();
    each_key(task, s.source == IN_ALL, n, [&](U key) {
        if (any || (uint64_t)key >> top == s.prefix)
            atomicAdd(&count[(uint64_t)key >> shift & (bins - 1)], 1u);
    });
    __syncthreads();
    counts += (size_t)blockIdx.y * digit_bins;
    for (unsigned b = threadIdx.x; b < bins; b += digit_threads)
        if (count[b])
            atomicAdd(&counts[b], (unsigned long long)count[b]);
}

/* A warp for each search: finds the digit of the need-th key from the counts, and clears them. */
__global__ void choose_quantile_digit(quantile_search *searches, unsigned long long *counts) {
    quantile_search *const search = &searches[blockIdx.x];
    const quantile_search s = *search;
    constexpr unsigned own = digit_bins / 32;
    const unsigned first = (unsigned)wi_lane() * own;
    if (s.shift == 0)
        return;
    counts += (size_t)blockIdx.x * digit_bins;
    uint64_t mine = 0;
    for (unsigned b = 0; b < own; b++)
        mine += counts[first + b];
    uint64_t before = wi_warp_scan(mine, [](uint64_t a, uint64_t b) { return a + b; }) - mine;
    __syncwarp();
    for (unsigned b = 0; b < own; b++) {
        const uint64_t count = counts[first + b];
        if (before < s.need && s.need <= before + count) {
            const unsigned bits = bits_now(s);
            search->prefix = s.prefix << bits | (uint64_t)(first + b);
            search->need = s.need - before;
            search->spare = before + count - s.need;
            search->shift = s.shift - bits;
        }
        before += count;
        counts[first + b] = 0;
    }
}

/* The least key above the one found, where that is wanted. A row of blocks for each search. */
template <class U>
__global__ void __launch_bounds__(digit_threads) find_next_key(quantile_task<U> task) {
    quantile_search *const s = &task.searches[blockIdx.y];
    if (!(s->job.fraction > 0) || s->spare > 0)
        return;
    const bool all = s->source == IN_ALL;
    const size_t n = all ? task.n : (size_t)s->bracket.inside;
    const uint64_t found = s->prefix;
    uint64_t least = ~(uint64_t)0;
    each_key(task, all, n, [&](U key) {
        if (key > found && key < least)
            least = key;
    });
    least = wi_warp_reduce(least, [](uint64_t a, uint64_t b) { return a < b ? a : b; });
    if (wi_lane() == 0 && least != ~(uint64_t)0)
        atomicMin((unsigned long long *)&s->next, (unsigned long long)least);
}

/* ---- results ---- */

template <class U>
__global__ void put_quantiles(quantile_task<U> task, unsigned jobs, weft_type type, bool elements,
                              void *out) {
    if (threadIdx.x >= jobs)
        return;
    const quantile_search s = task.searches[threadIdx.x];
    const U first = task.map.bits((U)s.prefix);
    const U second = s.spare > 0 ? first : task.map.bits((U)s.next);
    if (elements)
        ((U *)out)[threadIdx.x] = first;
    else
        ((double *)out)[threadIdx.x] = wi_quantile_between(
            wi_value_of_bits(type, first), wi_value_of_bits(type, second), s.job.fraction);
}

template <class U>
__global__ void read_sorted(quantile_task<U> task, const U *sorted, unsigned jobs) {
    if (threadIdx.x >= jobs)
        return;
    quantile_search *const s = &task.searches[threadIdx.x];
    const size_t at = s->job.rank;
    s->prefix = task.map.key(sorted[at]);
    s->next = task.map.key(sorted[at + 1 < task.n ? at + 1 : at]);
}

/* ---- the calls ---- */

constexpr unsigned small_sample = 1 << 10, large_sample = 1 << 16;

/* Temporary memory, as offsets in one block. */
struct quantile_layout {
    size_t counts, searches, sample, kept, bytes;
    size_t room;
    unsigned sample_size;
};

/* `sampled`: with room for a sample and for what is kept. */
static quantile_layout lay_out(const wi_quantile_args *args, bool sampled) {
    const size_t size = weft_type_size(args->type), n = args->n;
    const size_t most = WI_QUANTILE_GROUP, jobs = args->count < most ? args->count : most;
    quantile_layout l = {};
    l.sample_size = small_sample;
    while (l.sample_size < large_sample && l.sample_size < n / 64)
        l.sample_size *= 2;
    const wi_quantile_window w = wi_quantile_window_of(n / 2, n, l.sample_size);
    const double inside = (w.last - w.first) / l.sample_size * (double)n;
    const double room = inside * wi_quantile_room_percent / 100 + 1024;
    l.room = !sampled ? 0 : room < (double)n ? (size_t)room : n;
    l.room = (l.room + 15) / 16 * 16; /* so that each search's keys are aligned */
    l.searches = l.counts + jobs * digit_bins * sizeof(unsigned long long);
    l.sample = l.searches + (jobs * sizeof(quantile_search) + 15) / 16 * 16;
    l.kept = l.sample + (sampled ? l.sample_size * size : 0);
    l.bytes = l.kept + jobs * l.room * size;
    return l;
}

template <class U>
static weft_status sort_keys(weft_context *ctx, const wi_quantile_args *args, size_t n,
                             weft_type type, const void *from, void *to) {
    const wi_sort_args sort = {.call = args->call,
                               .plain = true,
                               .type = type,
                               .descending = false,
                               .first_bit = 0,
                               .end_bit = 8 * (unsigned)sizeof(U),
                               .n = n,
                               .x = from,
                               .y = to,
                               .value_bytes = 0,
                               .values = nullptr,
                               .values_out = nullptr,
                               .spends = false,
                               .bytes = nullptr};
    return wi_run(ctx, &wi_sort_ladder, args->call, type, &sort);
}

template <class U>
static weft_status sort_sample(weft_context *ctx, const wi_quantile_args *args,
                               const quantile_task<U> &task, U *sample, unsigned size) {
    static const weft_type unsigned_of[] = {WEFT_U8, WEFT_U8, WEFT_U16, WEFT_U8, WEFT_U32,
                                            WEFT_U8, WEFT_U8, WEFT_U8,  WEFT_U64};
    const weft_status status =
        WEFT_LAUNCH(draw_sample<U>, ctx, (size + sample_threads - 1) / sample_threads,
                    sample_threads, 0, task, sample, size);
    return status == WEFT_OK ? sort_keys<U>(ctx, args, size, unsigned_of[sizeof(U)], sample, sample)
                             : status;
}

template <class U>
static weft_status go_over(weft_context *ctx, const quantile_task<U> &task, const U *sample,
                           unsigned size, unsigned jobs) {
    constexpr size_t bytes = sizeof(quantile_block<U>);
    size_t resident;
    weft_status status = wi_grant_shared(ctx, "count_and_keep", count_and_keep<U>, bytes);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, count_and_keep<U>, (int)pass_threads, bytes, &resident);
    if (status != WEFT_OK)
        return status;
    const size_t tiles = (task.n - 1) / quantile_tile<U>::elements + 1;
    const unsigned blocks = (unsigned)(tiles < resident ? tiles : resident);
    status = WEFT_LAUNCH(guess_brackets<U>, ctx, 1, 32, 0, task, sample, size, jobs);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(count_and_keep<U>, ctx, blocks, pass_threads, bytes, task, jobs);
    return status == WEFT_OK ? WEFT_LAUNCH(settle_brackets<U>, ctx, 1, 32, 0, task, jobs) : status;
}

/* Finds the keys of the searches, digit by digit, and those after them if any search wants it. */
template <class U>
static weft_status find_keys(weft_context *ctx, const quantile_task<U> &task, unsigned jobs,
                             bool next, unsigned long long *counts) {
    constexpr size_t turn = (size_t)digit_threads * wi_vector<U>::count * vectors;
    size_t resident;
    weft_status status =
        wi_resident_blocks(ctx, count_quantile_digits<U>, (int)digit_threads, 0, &resident);
    const size_t turns = (task.n - 1) / turn + 1;
    const dim3 grid((unsigned)(turns < resident ? turns : resident), jobs);
    for (unsigned bits = 0; bits < 8 * sizeof(U) && status == WEFT_OK; bits += digit_bits) {
        status = WEFT_LAUNCH(count_quantile_digits<U>, ctx, grid, digit_threads, 0, task, counts);
        if (status == WEFT_OK)
            status = WEFT_LAUNCH(choose_quantile_digit, ctx, jobs, 32, 0, task.searches, counts);
    }
    if (status == WEFT_OK && next)
        status = WEFT_LAUNCH(find_next_key<U>, ctx, grid, digit_threads, 0, task);
    return status;
}

static bool wants_next(const wi_quantile_group &group) {
    for (unsigned j = 0; j < group.count; j++)
        if (group.job[j].fraction > 0)
            return true;
    return false;
}

template <class U>
static void *result_at(const wi_quantile_args *args, size_t j) {
    return (char *)args->out + j * (args->elements ? sizeof(U) : sizeof(double));
}

template <class U>
static weft_status search(weft_context *ctx, const wi_quantile_args *args, char *memory,
                          const quantile_layout &l, bool sampled) {
    const quantile_task<U> task = {(const U *)args->x,
                                   args->n,
                                   wi_key_map_of<U>(args->type, false),
                                   (quantile_search *)(memory + l.searches),
                                   (U *)(memory + l.kept),
                                   l.room};
    unsigned long long *const counts = (unsigned long long *)(memory + l.counts);
    U *const sample = (U *)(memory + l.sample);
    weft_status status =
        wi_cuda(ctx, cudaMemsetAsync(counts, 0, l.searches - l.counts, ctx->gpu->stream),
                "clearing counts of digits");
    if (status == WEFT_OK && sampled)
        status = sort_sample(ctx, args, task, sample, l.sample_size);
    for (size_t first = 0; first < args->count && status == WEFT_OK; first += WI_QUANTILE_GROUP) {
        const wi_quantile_group group = wi_quantile_group_at(args, first);
        status = WEFT_LAUNCH(begin_searches, ctx, 1, 32, 0, task.searches, group,
                             8 * (uint32_t)sizeof(U));
        if (status == WEFT_OK && sampled)
            status = go_over(ctx, task, sample, l.sample_size, group.count);
        if (status == WEFT_OK)
            status = find_keys(ctx, task, group.count, wants_next(group), counts);
        if (status == WEFT_OK)
            status = WEFT_LAUNCH(put_quantiles<U>, ctx, 1, 32, 0, task, group.count, args->type,
                                 args->elements, result_at<U>(args, first));
    }
    return status;
}

static weft_status run(weft_context *ctx, const wi_quantile_args *args, bool sampled) {
    const quantile_layout l = lay_out(args, sampled);
    void *memory = NULL;
    weft_status status = wi_gpu_alloc(ctx, &memory, l.bytes);
    if (status != WEFT_OK)
        return status;
    status = wi_with_size(weft_type_size(args->type), [=](auto tag) {
        return search<typename decltype(tag)::type>(ctx, args, (char *)memory, l, sampled);
    });
    const weft_status freed = wi_gpu_free(ctx, memory);
    return status == WEFT_OK ? freed : status;
}

weft_status wi_quantile_digits(weft_context *ctx, const void *args) {
    return run(ctx, (const wi_quantile_args *)args, false);
}

weft_status wi_quantile_bracketed(weft_context *ctx, const void *args) {
    return run(ctx, (const wi_quantile_args *)args, true);
}

template <class U>
static weft_status sort_and_read(weft_context *ctx, const wi_quantile_args *args, char *memory,
                                 size_t searches) {
    U *const sorted = (U *)memory;
    const quantile_task<U> task = {(const U *)args->x,
                                   args->n,
                                   wi_key_map_of<U>(args->type, false),
                                   (quantile_search *)(memory + searches),
                                   nullptr,
                                   0};
    weft_status status = sort_keys<U>(ctx, args, args->n, args->type, args->x, sorted);
    for (size_t first = 0; first < args->count && status == WEFT_OK; first += WI_QUANTILE_GROUP) {
        const wi_quantile_group group = wi_quantile_group_at(args, first);
        status = WEFT_LAUNCH(begin_searches, ctx, 1, 32, 0, task.searches, group,
                             8 * (uint32_t)sizeof(U));
        if (status == WEFT_OK)
            status = WEFT_LAUNCH(read_sorted<U>, ctx, 1, 32, 0, task, sorted, group.count);
        if (status == WEFT_OK)
            status = WEFT_LAUNCH(put_quantiles<U>, ctx, 1, 32, 0, task, group.count, args->type,
                                 args->elements, result_at<U>(args, first));
    }
    return status;
}

weft_status wi_quantile_sorted_cuda(weft_context *ctx, const void *arguments) {
    const wi_quantile_args *const args = (const wi_quantile_args *)arguments;
    const size_t bytes = args->n * weft_type_size(args->type);
    const size_t searches = (bytes + 15) / 16 * 16;
    void *memory = NULL;
    weft_status status =
        wi_gpu_alloc(ctx, &memory, searches + WI_QUANTILE_GROUP * sizeof(quantile_search));
    if (status != WEFT_OK)
        return status;
    status = wi_with_size(weft_type_size(args->type), [=](auto tag) {
        return sort_and_read<typename decltype(tag)::type>(ctx, args, (char *)memory, searches);
    });
    const weft_status freed = wi_gpu_free(ctx, memory);
    return status == WEFT_OK ? freed : status;
}

/* What is at its place in the order becomes the key of a search for that place; or, of elements,
 * the result. */
template <class U>
struct put_at_place {
    wi_quantile_group group;
    wi_key_map<U> map;
    size_t n;
    quantile_search *searches; /* or NULL */
    U *out;

    __device__ void operator()(unsigned, unsigned place, U key) const {
        for (unsigned j = 0; j < group.count; j++) {
            const uint64_t rank = group.job[j].rank;
            if (!searches && place == rank)
                out[j] = map.bits(key);
            if (!searches)
                continue;
            if (place == rank) {
                searches[j].job = group.job[j];
                searches[j].spare = 0;
                searches[j].prefix = key;
            }
            if (place == rank + 1 || (place == rank && rank + 1 == n))
                searches[j].next = key;
        }
    }
};

template <class U>
static weft_status find_by_places(weft_context *ctx, const wi_quantile_args *args,
                                  quantile_search *searches) {
    const U *const x = (const U *)args->x;
    const wi_key_map<U> map = wi_key_map_of<U>(args->type, false);
    const quantile_task<U> task = {x, args->n, map, searches, nullptr, 0};
    weft_status status = WEFT_OK;
    for (size_t first = 0; first < args->count && status == WEFT_OK; first += WI_QUANTILE_GROUP) {
        const wi_quantile_group group = wi_quantile_group_at(args, first);
        void *const out = result_at<U>(args, first);
        const put_at_place<U> put = {group, map, args->n, searches, (U *)out};
        status =
            WEFT_LAUNCH((wi_find_places<U, put_at_place<U>>), ctx, wi_places_blocks(args->n),
                        wi_places_threads, args->n * sizeof(U), x, (unsigned)args->n, map, put);
        if (status == WEFT_OK && searches)
            status = WEFT_LAUNCH(put_quantiles<U>, ctx, 1, 32, 0, task, group.count, args->type,
                                 args->elements, out);
    }
    return status;
}

weft_status wi_quantile_places(weft_context *ctx, const void *arguments) {
    static const char key = 0;
    const wi_quantile_args *const args = (const wi_quantile_args *)arguments;
    void *searches = nullptr;
    const weft_status status =
        args->elements
            ? WEFT_OK
            : wi_gpu_scratch(ctx, &key, WI_QUANTILE_GROUP * sizeof(quantile_search), &searches);
    if (status != WEFT_OK)
        return status;
    return wi_with_size(weft_type_size(args->type), [=](auto tag) {
        return find_by_places<typename decltype(tag)::type>(ctx, args, (quantile_search *)searches);
    });
}

/* ---- over ranks ---- */

template <class U>
static weft_status count_prefixes(weft_context *ctx, const wi_quantile_args *args,
                                  quantile_search *searches, unsigned count,
                                  unsigned long long *counts) {
    constexpr size_t turn = (size_t)digit_threads * wi_vector<U>::count * vectors;
    const quantile_task<U> task = {(const U *)args->x, args->n, wi_key_map_of<U>(args->type, false),
                                   searches,           nullptr, 0};
    size_t resident;
    const weft_status status =
        wi_resident_blocks(ctx, count_quantile_digits<U>, (int)digit_threads, 0, &resident);
    const size_t turns = (args->n - 1) / turn + 1;
    const dim3 grid((unsigned)(turns < resident ? turns : resident), count);
    return status == WEFT_OK
               ? WEFT_LAUNCH(count_quantile_digits<U>, ctx, grid, digit_threads, 0, task, counts)
               : status;
}

/* Copies the searches there, counts, and copies the counts of each back. */
static weft_status count_there(weft_context *ctx, const wi_quantile_args *args,
                               const quantile_search *searches, unsigned count, char *memory,
                               uint64_t (*counts)[WI_QUANTILE_DIGITS]) {
    const size_t rows = count * digit_bins * sizeof(unsigned long long);
    quantile_search *const there = (quantile_search *)(memory + rows);
    weft_status status =
        wi_cuda(ctx, cudaMemsetAsync(memory, 0, rows, ctx->gpu->stream), "clearing counts");
    if (status == WEFT_OK)
        status = wi_gpu_copy(ctx, there, searches, count * sizeof *searches);
    if (status == WEFT_OK)
        status = wi_with_size(weft_type_size(args->type), [=](auto tag) {
            return count_prefixes<typename decltype(tag)::type>(ctx, args, there, count,
                                                                (unsigned long long *)memory);
        });
    for (unsigned j = 0; j < count && status == WEFT_OK; j++)
        status = wi_gpu_copy(ctx, counts[j], memory + j * digit_bins * sizeof(unsigned long long),
                             sizeof counts[j]);
    return status;
}

weft_status wi_quantile_count_cuda(weft_context *ctx, const wi_quantile_args *args,
                                   const wi_quantile_prefix *prefixes, unsigned count,
                                   unsigned shift, uint64_t (*counts)[WI_QUANTILE_DIGITS]) {
    quantile_search searches[WI_QUANTILE_GROUP] = {};
    void *memory = NULL;
    for (unsigned j = 0; j < count; j++) {
        searches[j].source = IN_ALL;
        searches[j].shift = shift;
        searches[j].digit = WI_QUANTILE_DIGIT_BITS;
        searches[j].prefix = prefixes[j].bits;
    }
    weft_status status = wi_gpu_alloc(
        ctx, &memory, count * (digit_bins * sizeof(unsigned long long) + sizeof *searches));
    if (status != WEFT_OK)
        return status;
    status = count_there(ctx, args, searches, count, (char *)memory, counts);
    const weft_status freed = wi_gpu_free(ctx, memory);
    return status == WEFT_OK ? freed : status;
}
