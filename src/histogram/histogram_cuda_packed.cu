/* SPDX-License-Identifier: Apache-2.0 */
/* histogram on a GPU: the rungs for more bins than a block has room for with 32-bit counters.
 *
 * Counters have 16 bits, two in a word of shared memory, to which one atomic operation adds.
 * Whoever takes a counter past half of its range moves that half to the counts in global memory.
 * Between two barriers a block counts fewer elements than the other half can hold, so a counter
 * never carries into its neighbour.
 *
 * Atomic operations of a warp on the same word wait for one another. So a warp that has many equal
 * elements finds out which lanes agree, and one of them adds for all. */
#include "cuda/warp.cuh"
#include "histogram/histogram_cuda.cuh"

constexpr int packed_threads = 1024;
constexpr int packed_vectors_at_once = 2;
constexpr uint32_t half_full = 1u << 15;
constexpr int crowd = 6; /* if at least so many lanes agree, adding for all at once pays */

/* Moves half of a counter's range to the counts. Rarely called, so not inlined. */
__device__ __attribute__((noinline)) void spill(const wi_histogram_target *target, uint32_t *word,
                                                uint32_t shift, uint32_t place) {
    atomicSub(word, half_full << shift);
    target->count_in_row(place, half_full);
}

/* A block's counters: those of the places from `first` on. */
struct packed_counters {
    const wi_histogram_target *target; /* in shared memory */
    uint32_t *words;
    uint32_t first, size;

    __device__ void clear() const {
        for (uint32_t i = threadIdx.x; i < (size + 1) / 2; i += packed_threads)
            words[i] = 0;
    }

    /* Adds to a counter; returns the word as it was. at < size */
    __device__ uint32_t add_to_word(uint32_t at, uint32_t times) const {
        return atomicAdd(&words[at / 2], times * (at % 2 * 0xffff + 1));
    }

    /* Spills a counter that was just taken past half of its range. */
    __device__ void settle(uint32_t at, uint32_t times, uint32_t word) const {
        const uint32_t shift = at % 2 * 16, before = word >> shift & 0xffff;
        if (before < half_full && before + times >= half_full)
            spill(target, &words[at / 2], shift, first + at);
    }

    __device__ void add(uint32_t at, uint32_t times) const {
        settle(at, times, add_to_word(at, times));
    }

    /* Called by a whole warp. Lanes agree on a place and on whether it counts. */
    __device__ void add_agreeing(uint32_t at, uint32_t times, uint32_t limit) const {
        const unsigned lanes = __match_any_sync(wi_all_lanes, at < limit ? at : size);
        if (at < limit && __ffs((int)lanes) - 1 == wi_lane())
            add(at, times * (uint32_t)__popc(lanes));
    }

    /* Adds 1 for each place below `limit`. One test of all words shows whether a counter may need
     * settling: 1 more in either half of a word takes it past the middle. */
    template <int width>
    __device__ void add_each(const uint32_t (&at)[width], uint32_t limit) const {
        uint32_t word[width], seen = 0;
#pragma unroll
        for (int e = 0; e < width; e++) {
            word[e] = 0;
            if (at[e] < limit)
                word[e] = add_to_word(at[e], 1);
        }
#pragma unroll
        for (int e = 0; e < width; e++)
            seen |= word[e] + 0x00010001u;
        if (!(seen & 0x80008000u))
            return;
        for (int e = 0; e < width; e++)
            if (at[e] < limit)
                settle(at[e], 1, word[e]);
    }

    /* Counts the elements of a warp's lanes, `width` each; skips places from `limit` on. */
    template <int width>
    __device__ void add_vectors(const uint32_t (&at)[width], uint32_t limit) const {
        const unsigned here = __ballot_sync(wi_all_lanes, at[0] < limit);
        const uint32_t likely = wi_shuffle(at[0], here ? __ffs((int)here) - 1 : 0);
        const unsigned alike = __ballot_sync(wi_all_lanes, at[0] == likely);
        if (!here || __popc(alike) < crowd) {
            add_each<width>(at, limit);
            return;
        }
        bool uniform = true;
#pragma unroll
        for (int e = 1; e < width; e++)
            uniform &= at[e] == at[0];
        if (__all_sync(wi_all_lanes, uniform)) {
            add_agreeing(at[0], width, limit);
            return;
        }
        for (int e = 0; e < width; e++)
            add_agreeing(at[e], 1, limit);
    }

    __device__ void hand_over() const {
        for (uint32_t at = threadIdx.x; at < size; at += packed_threads) {
            const uint32_t times = words[at / 2] >> at % 2 * 16 & 0xffff;
            if (times)
                target->count_in_row(first + at, times);
        }
    }
};

/* Blocks number `range`, range + ranges, ... count the places of one range. All blocks that begin
 * at the same vector read it at about the same time, most of them from the second-level cache. */
template <bool many, class T, class Slot>
__device__ void count_range(const wi_histogram_params<T> &p, const packed_counters &counters,
                            uint32_t ranges, Slot slot_of) {
    using Vector = wi_vector<T>;
    constexpr int width = Vector::count;
    constexpr int unroll = packed_vectors_at_once;
    [[maybe_unused]] constexpr int steps = Slot::cheap ? width : 1;
    static_assert((uint32_t)packed_threads * unroll * width < half_full,
                  "a counter would overflow");
    const wi_cut<T> cut(p.x, p.n);
    const Vector *const body = (const Vector *)(p.x + cut.head);
    const uint32_t slots = p.target.bins.count + WI_OUTSIDE, channels = p.target.channels;
    const uint32_t group = blockIdx.x / ranges, groups = gridDim.x / ranges;
    const auto place = [&](T x, uint32_t channel) {
        return (many ? channel * slots : 0) + slot_of(x) - counters.first;
    };
    if (group == 0)
        wi_take_ends(p, cut, [&](T x, uint32_t channel) {
            const uint32_t at = place(x, channel);
            if (at < counters.size)
                counters.add(at, 1);
        });
    __syncthreads();
    const size_t stride = (size_t)groups * packed_threads;
    Vector next[unroll];
    const auto fetch = [&](size_t from) {
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            const size_t v = from + k * stride + threadIdx.x;
            next[k] = v < cut.vectors ? body[v] : Vector{};
        }
    };
    fetch((size_t)group * packed_threads);
    for (size_t from = (size_t)group * packed_threads; from < cut.vectors;
         from += unroll * stride) {
        Vector a[unroll];
#pragma unroll
        for (int k = 0; k < unroll; k++)
            a[k] = next[k];
        fetch(from + unroll * stride); /* in flight while this thread counts */
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            const size_t v = from + k * stride + threadIdx.x;
            uint32_t at[width], channel = many ? p.channel_of(cut.head + v * width) : 0;
#pragma unroll steps
            for (int e = 0; e < width; e++) {
                at[e] = place(a[k].at[e], channel);
                if (many)
                    channel = channel + 1 < channels ? channel + 1 : 0;
            }
            counters.add_vectors<width>(at, v < cut.vectors ? counters.size : 0);
        }
        __syncthreads();
    }
}

template <class T>
__global__ void __launch_bounds__(packed_threads, 1)
    packed(wi_histogram_params<T> p, uint32_t places, uint32_t of_range, uint32_t ranges) {
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(wi_histogram_target, target, );
    if (threadIdx.x == 0)
        target = p.target;
    const uint32_t first = blockIdx.x % ranges * of_range;
    const uint32_t size = places - first < of_range ? places - first : of_range;
    const packed_counters counters = {&target, (uint32_t *)memory, first, size};
    counters.clear();
    __syncthreads();
    wi_with_slots<T>(p.target, [&](auto slot_of) {
        if (p.target.channels > 1)
            count_range<true>(p, counters, ranges, slot_of);
        else
            count_range<false>(p, counters, ranges, slot_of);
    });
    counters.hand_over();
}

size_t wi_histogram_packed_room(const weft_context *ctx) {
    return (ctx->gpu->shared_optin - sizeof(wi_histogram_target)) / sizeof(uint32_t) * 2;
}

template <class T>
static weft_status launch_packed(weft_context *ctx, const wi_histogram_args *args) {
    const size_t places = (size_t)args->channels * wi_slots_of(&args->bins);
    const size_t room = wi_histogram_packed_room(ctx), ranges = (places - 1) / room + 1;
    const size_t of_range = (places - 1) / ranges + 1, shared = (of_range + 1) / 2 * 4;
    size_t resident = 0;
    wi_histogram_params<T> p;
    weft_status status = wi_histogram_typed(ctx, args, &p);
    if (status == WEFT_OK)
        status = wi_grant_shared(ctx, "packed<T>", packed<T>, shared);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, packed<T>, packed_threads, shared, &resident);
    if (status != WEFT_OK)
        return status;
    const size_t groups = resident / ranges ? resident / ranges : 1;
    const size_t least = (size_t)packed_threads * packed_vectors_at_once * wi_vector<T>::count;
    return WEFT_LAUNCH(packed<T>, ctx, wi_useful_blocks(args->n, least, groups) * (unsigned)ranges,
                       packed_threads, shared, p, (uint32_t)places, (uint32_t)of_range,
                       (uint32_t)ranges);
}

weft_status wi_histogram_packed(weft_context *ctx, const void *arguments) {
    const wi_histogram_args *args = (const wi_histogram_args *)arguments;
    return wi_with_unsigned_type(args->type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (sizeof(T) == 1)
            return WEFT_EUNSUPPORTED;
        else
            return launch_packed<T>(ctx, args);
    });
}

/* The same kernel, with one range for as many bins as a block can hold. */
weft_status wi_histogram_ranges(weft_context *ctx, const void *args) {
    return wi_histogram_packed(ctx, args);
}
