/* SPDX-License-Identifier: Apache-2.0 */
/* What all CUDA rungs of histogram share: the call as a kernel gets it, the slots of elements, and
 * loops over an array. */
#ifndef WI_HISTOGRAM_CUDA_CUH
#define WI_HISTOGRAM_CUDA_CUH

#include "cuda/launch.cuh"
#include "cuda/memory.cuh"
#include "cuda/types.cuh"
#include "histogram/histogram.h"

/* What checking the edges of a call found, in device memory; zeros at first. */
struct alignas(128) wi_edges_seen {
    unsigned live;    /* edges that have a threshold */
    unsigned crooked; /* 1: LINEAR is wrong somewhere */
};

/* A place is the number of a slot, counting the slots of all channels in a row: there are fewer
 * than 2^32 - 1. */
constexpr uint32_t wi_no_place = ~0u;

/* The counts, and which slot each belongs to. */
struct wi_histogram_target {
    wi_bins bins;
    const wi_edges_seen *seen; /* NULL: there is nothing to see, the rule is right everywhere */
    const uint64_t *thresholds;
    uint32_t channels;
    bool wide;
    void *counts, *outside;

    __device__ wi_bin_table table() const {
        if (!seen)
            return {nullptr, 0, true};
        return {thresholds, seen->live, seen->crooked == 0};
    }

    __device__ void add(void *to, size_t at, unsigned long long times) const {
        if (wide)
            atomicAdd((unsigned long long *)to + at, times);
        else
            atomicAdd((unsigned *)to + at, (unsigned)times);
    }

    /* Adds to the count of that channel and slot. */
    __device__ void count(uint32_t channel, uint32_t slot, unsigned long long times) const {
        if (slot >= 1 && slot <= bins.count)
            add(counts, (size_t)channel * bins.count + slot - 1, times);
        else if (outside)
            add(outside, channel * WI_OUTSIDE + (slot ? slot - bins.count : 0), times);
    }

    /* Stores the count of a place: nobody else counts there. */
    __device__ void put(void *to, size_t at, unsigned long long times) const {
        if (wide)
            ((unsigned long long *)to)[at] = times;
        else
            ((unsigned *)to)[at] = (unsigned)times;
    }
    __device__ void put_in_row(uint32_t place, unsigned long long times) const {
        const uint32_t slots = bins.count + WI_OUTSIDE;
        const uint32_t channel = channels > 1 ? place / slots : 0, slot = place - channel * slots;
        if (slot >= 1 && slot <= bins.count)
            put(counts, (size_t)channel * bins.count + slot - 1, times);
        else if (outside)
            put(outside, channel * WI_OUTSIDE + (slot ? slot - bins.count : 0), times);
    }

    /* Adds to the count of a place. */
    __device__ void count_in_row(uint32_t place, unsigned long long times) const {
        const uint32_t slots = bins.count + WI_OUTSIDE;
        const uint32_t channel = channels > 1 ? place / slots : 0;
        count(channel, place - channel * slots, times);
    }
};

/* A call's elements, with their type. */
template <class T>
struct wi_histogram_params {
    using Element = T;
    const T *x;
    size_t n;
    uint32_t channel; /* of x[0] */
    wi_histogram_target target;

    __device__ uint32_t channel_of(size_t i) const {
        constexpr uint32_t turns = 12; /* a multiple of every number of channels */
        return target.channels > 1 ? (channel + (uint32_t)(i % turns)) % target.channels : 0;
    }
};

/* Prepares a call: clears counts unless it accumulates, and checks the edges. A kernel that stores
 * all counts, where no edges are to be looked at, has no need that counts are cleared. */
weft_status wi_histogram_begin(weft_context *ctx, const wi_histogram_args *args,
                               wi_histogram_target *target, bool clears = true);

template <class T>
weft_status wi_histogram_typed(weft_context *ctx, const wi_histogram_args *args,
                               wi_histogram_params<T> *p, bool clears = true) {
    p->x = (const T *)args->x;
    p->n = args->n;
    p->channel = args->channel;
    return wi_histogram_begin(ctx, args, &p->target, clears);
}

/* ---- slots ---- */

/* Ways to find an element's slot. Those that are `cheap` are worth inlining in unrolled loops. */
template <class T>
struct wi_shift_slots {
    static constexpr bool cheap = true;
    const wi_bins &bins;

    __device__ uint32_t operator()(T x) const {
        using Wide = wi_wrapping<T>;
        const Wide key = (T)(x ^ (T)bins.form.flip), first = (Wide)bins.first;
        const Wide passed = (key - first) >> bins.shift;
        const uint32_t bin = passed < bins.count ? (uint32_t)passed : bins.count;
        return key < first ? 0 : bin + 1;
    }
};

template <class T>
struct wi_linear_slots {
    static constexpr bool cheap = true;
    const wi_bins &bins;

    /* wi_linear_slot, clamped where that takes one instruction: after the conversion to an integer,
     * which saturates. */
    __device__ uint32_t slot_of(double value) const {
        if constexpr (wi_traits<T>::is_float)
            value = value < 0 && value > -bins.snap ? -bins.snap : value;
        const int at = __double2int_rd((value - bins.origin) * bins.scale);
        const int not_below = at > -1 ? at : -1, most = (int)bins.count;
        return (uint32_t)((not_below < most ? not_below : most) + 1);
    }

    __device__ uint32_t operator()(T x) const {
        if constexpr (wi_traits<T>::is_float) {
            const auto value = wi_load(x);
            return value != value ? bins.count + 2 : slot_of((double)value);
        } else {
            return slot_of((double)(wi_wrapping<T>)(T)(x ^ (T)bins.form.flip));
        }
    }
};

template <class T>
struct wi_lookup_slots {
    static constexpr bool cheap = false;
    const wi_bins &bins;
    const wi_bin_table table;

    __device__ uint32_t operator()(T x) const {
        return wi_slot_of_bits(&bins, &table, wi_bit_cast<wi_bits<T>>(x));
    }
};

/* Calls f with the cheapest way that is right for the call. */
template <class T, class F>
__device__ inline void wi_with_slots(const wi_histogram_target &target, F f) {
    const wi_bins &bins = target.bins;
    const wi_bin_table table = target.table();
    if constexpr (!wi_traits<T>::is_float) {
        if (bins.rule == WI_BINS_SHIFT) {
            f(wi_shift_slots<T>{bins});
            return;
        }
    }
    if (bins.rule == WI_BINS_LINEAR && table.linear)
        f(wi_linear_slots<T>{bins});
    else
        f(wi_lookup_slots<T>{bins, table});
}

/* ---- loops over the array ---- */

/* An array divided at 16-byte boundaries: some elements, whole vectors, some elements. */
template <class T>
struct wi_cut {
    static constexpr uint32_t width = wi_vector<T>::count;
    size_t head, vectors;

    __device__ wi_cut(const T *x, size_t n) {
        head = (width - wi_past_boundary(x)) % width;
        head = head < n ? head : n;
        vectors = (n - head) / width;
    }
};

/* Calls take(element, channel) for the elements outside whole vectors: one for each thread. */
template <class T, class Take>
__device__ inline void wi_take_ends(const wi_histogram_params<T> &p, const wi_cut<T> &cut,
                                    Take take) {
    const size_t rest = cut.head + cut.vectors * wi_cut<T>::width;
    size_t i = threadIdx.x;
    if (i >= cut.head)
        i += rest - cut.head;
    if (i < p.n)
        take(p.x[i], p.channel_of(i));
}

/* Calls take(element, channel) for all elements, with the whole grid; channel is 0 unless `many`.
 * If `take` is cheap, a thread loads `at_once` vectors at a time, and loops are unrolled. */
template <bool many, bool cheap, int threads, int at_once, class T, class Take>
__device__ inline void wi_take_all(const wi_histogram_params<T> &p, Take take) {
    using Vector = wi_vector<T>;
    constexpr uint32_t width = Vector::count;
    constexpr int unroll = cheap ? at_once : 1;
    [[maybe_unused]] constexpr int steps = cheap ? width : 1;
    const wi_cut<T> cut(p.x, p.n);
    const Vector *const body = (const Vector *)(p.x + cut.head);
    const uint32_t channels = p.target.channels;
    const auto take_vector = [&](const Vector &a, size_t v) {
        uint32_t channel = many ? p.channel_of(cut.head + v * width) : 0;
#pragma unroll steps
        for (uint32_t e = 0; e < width; e++) {
            take(a.at[e], channel);
            if (many)
                channel = channel + 1 < channels ? channel + 1 : 0;
        }
    };
    const size_t stride = (size_t)gridDim.x * threads;
    size_t v = (size_t)blockIdx.x * threads + threadIdx.x;
    for (; v + (unroll - 1) * stride < cut.vectors; v += unroll * stride) {
        Vector a[unroll];
#pragma unroll
        for (int k = 0; k < unroll; k++)
            a[k] = body[v + k * stride];
#pragma unroll
        for (int k = 0; k < unroll; k++)
            take_vector(a[k], v + k * stride);
    }
    for (; v < cut.vectors; v += stride)
        take_vector(body[v], v);
    if (blockIdx.x == 0)
        wi_take_ends(p, cut, take);
}

/* How many blocks to launch: at most as many as are resident, and each with at least `least`
 * elements. */
inline unsigned wi_useful_blocks(size_t n, size_t least, size_t resident) {
    const size_t useful = n / least + 1;
    return (unsigned)(useful < resident ? useful : resident);
}

#endif
