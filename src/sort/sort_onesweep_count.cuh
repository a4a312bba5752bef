/* SPDX-License-Identifier: Apache-2.0 */
/* Counting for the radix sort "onesweep": one read of all keys counts the digits of all passes and
 * finds whether keys are in order already; the last block then plans the passes. */
#ifndef WI_SORT_ONESWEEP_COUNT_CUH
#define WI_SORT_ONESWEEP_COUNT_CUH

#include "cuda/launch.cuh"
#include "sort/sort_onesweep.cuh"

constexpr int wi_count_threads = 1024;
constexpr size_t wi_count_static_shared = 1024; /* at most; the rest is for counters */
constexpr int wi_count_vectors = 4;             /* of 16 bytes, in flight at once for each thread */
/* How many copies of each counter there are when whole keys are sorted, as a power of two: as many
 * as fit 128 KiB, so that each lane, or each pair of lanes, has its own. */
template <class K>
constexpr unsigned wi_whole_copy_bits = sizeof(K) == 8 ? 4 : 5;
constexpr size_t wi_short_ties = 32; /* so many equal keys in a row one thread can handle */

template <class K>
struct wi_count_args {
    const K *x;
    size_t n;
    wi_key_map<K> map;
    unsigned first_bit, end_bit;
    unsigned copy_bits; /* each counter has 2^copy_bits copies, side by side */
    int passes;
    unsigned long long *counts; /* of each pass and digit; zeros at first */
    uint32_t *blocks_done;      /* zero at first */
    uint32_t *disorder;         /* zero at first; becomes `wi_fell`, `wi_rose` or both */
    bool maps;                  /* keys differ from the elements' bits */
    size_t ties;      /* a longer run of equal keys (x[i] == x[i + ties]) rules out "falling" */
    uint64_t *begins; /* where each digit's keys begin; a pass has `pass_begins` */
    size_t pass_begins;
    wi_sort_plan *plan;
    bool in_place, spends;
};

__host__ __device__ inline unsigned wi_digit_mask(unsigned shift, unsigned end_bit) {
    const unsigned bits = end_bit - shift;
    return bits < wi_digit_bits ? (1u << bits) - 1 : wi_digits - 1;
}

/* ---- are the keys in order already? ---- */

/* Evidence against ascending order (wi_fell) and against descending order (wi_rose). */
constexpr unsigned wi_fell = 1, wi_rose = 2, wi_disordered = wi_fell | wi_rose;

/* The part of an element that is compared. */
template <class K>
__device__ K wi_compared(const wi_count_args<K> &c, K element) {
    const unsigned unused = 8 * (unsigned)sizeof(K) - c.end_bit;
    return (K)((K)(c.map.key(element) << unused) >> unused >> c.first_bit);
}

/* The evidence of x[i] and the next element. A run of equal keys does not rule out descending order
 * if it may be reversed, because there are no values, or if it is short enough for one thread to
 * keep its order. */
template <class K>
__device__ unsigned wi_disorder_at(const wi_count_args<K> &c, size_t i, K element, K behind) {
    const K key = wi_compared(c, element), next = wi_compared(c, behind);
    const bool tied = key == next && c.ties < c.n - i && key == wi_compared(c, c.x[i + c.ties]);
    return (key > next ? wi_fell : 0) | (key < next || tied ? wi_rose : 0);
}

template <class K>
__device__ unsigned wi_disorder_of(const wi_count_args<K> &c, size_t first,
                                   const wi_vector<K> &vector) {
    constexpr unsigned width = wi_vector<K>::count;
    unsigned met = 0;
#pragma unroll
    for (unsigned e = 0; e + 1 < width; e++)
        met |= wi_disorder_at(c, first + e, vector.at[e], vector.at[e + 1]);
    if (first + width < c.n)
        met |= wi_disorder_at(c, first + width - 1, vector.at[width - 1], c.x[first + width]);
    return met;
}

/* ---- digits ---- */

/* Which bits are sorted, and how many copies each counter has. They are constants for whole keys,
 * or the lowest `digits` of all, so that finding a digit's counter takes a shift, a mask and an
 * addition. */
template <class K, bool whole, int digits = (int)sizeof(K)>
struct wi_count_form {
    unsigned first_bit, end_bit, copy_bits;
    int passes;

    __device__ explicit wi_count_form(const wi_count_args<K> &c)
        : first_bit(whole ? 0 : c.first_bit), end_bit(whole ? 8 * sizeof(K) : c.end_bit),
          copy_bits(whole ? wi_whole_copy_bits<K> : c.copy_bits),
          passes(whole ? digits : c.passes) {}

    /* Each lane counts in its own copy, which is in its own memory bank. */
    __device__ void count(unsigned char *counters, K key) const {
        const unsigned scale = copy_bits + 2;
        const unsigned copy = (threadIdx.x & ((1u << copy_bits) - 1)) << 2;
#pragma unroll
        for (int pass = 0; pass < (int)sizeof(K); pass++) {
            if (pass >= passes)
                break;
            const unsigned shift = first_bit + (unsigned)pass * wi_digit_bits;
            const unsigned mask = wi_digit_mask(shift, end_bit) << scale;
            const unsigned at = ((unsigned)pass * wi_digits << scale) +
                                ((wi_rotated(key, shift, scale) & mask) | copy);
            atomicAdd((uint32_t *)(counters + at), 1u);
        }
    }
};

/* Adds the copies of each counter up, and the sums to the counts of all blocks. */
__device__ inline void wi_add_counters(const unsigned char *counters, unsigned bins,
                                       unsigned copies, unsigned long long *counts) {
    for (unsigned i = threadIdx.x; i < bins; i += wi_count_threads) {
        uint32_t sum = 0;
        for (unsigned k = 0; k < copies; k++) /* each thread begins in another bank */
            sum += ((const uint32_t *)counters)[i * copies + ((i + k) & (copies - 1))];
        if (sum)
            atomicAdd(&counts[i], (unsigned long long)sum);
    }
}

__device__ inline void wi_zero_counters(unsigned char *counters, unsigned counts) {
    for (unsigned i = threadIdx.x; i < counts; i += wi_count_threads)
        ((uint32_t *)counters)[i] = 0;
    __syncthreads();
}

/* Up to wi_count_vectors vectors of a thread, `stride` apart, loaded at the same time. */
template <class K>
struct wi_count_batch {
    wi_vector<K> vector[wi_count_vectors];

    __device__ void load(const wi_vector<K> *x, size_t first, size_t stride, size_t vectors) {
#pragma unroll
        for (int v = 0; v < wi_count_vectors; v++)
            if (first + (size_t)v * stride < vectors)
                vector[v] = x[first + (size_t)v * stride];
    }

    /* Calls f(vector, number) for each. */
    template <class F>
    __device__ void each(size_t first, size_t stride, size_t vectors, F f) const {
#pragma unroll
        for (int v = 0; v < wi_count_vectors; v++)
            if (first + (size_t)v * stride < vectors)
                f(vector[v], first + (size_t)v * stride);
    }
};

/* Counts the digits of all keys; returns the evidence of disorder that this warp has found, and
 * stops looking when it has both kinds. */
template <class K, bool whole>
__device__ unsigned wi_count_all(const wi_count_args<K> &c, unsigned char *counters) {
    constexpr unsigned width = wi_vector<K>::count;
    const wi_count_form<K, whole> form(c);
    const size_t me = (size_t)blockIdx.x * wi_count_threads + threadIdx.x;
    const size_t stride = (size_t)gridDim.x * wi_count_threads;
    const size_t past = wi_past_boundary(c.x);
    const size_t to_boundary = past ? width - past : 0;
    const size_t head = to_boundary < c.n ? to_boundary : c.n;
    const size_t vectors = (c.n - head) / width;
    const size_t tail = head + vectors * width;
    const wi_vector<K> *const x = (const wi_vector<K> *)(c.x + head);
    const auto count = [&](const wi_vector<K> &vector, size_t) {
#pragma unroll
        for (unsigned e = 0; e < width; e++)
            form.count(counters, c.maps ? c.map.key(vector.at[e]) : vector.at[e]);
    };
    const auto take = [&](size_t i) {
        form.count(counters, c.map.key(c.x[i]));
        return i + 1 < c.n ? wi_disorder_at(c, i, c.x[i], c.x[i + 1]) : 0;
    };
    wi_count_batch<K> batch;
    unsigned met = 0;
    size_t i = me;
    for (; i - (unsigned)wi_lane() < vectors && met != wi_disordered;
         i += stride * wi_count_vectors) {
        batch.load(x, i, stride, vectors);
        batch.each(i, stride, vectors, count);
        batch.each(i, stride, vectors, [&](const wi_vector<K> &vector, size_t v) {
            met |= wi_disorder_of(c, head + v * width, vector);
        });
        met = (__any_sync(wi_all_lanes, met & wi_fell) ? wi_fell : 0) |
              (__any_sync(wi_all_lanes, met & wi_rose) ? wi_rose : 0);
    }
    batch.load(x, i, stride, vectors);
    for (; i < vectors; i += stride * wi_count_vectors) {
        const wi_count_batch<K> now = batch;
        batch.load(x, i + stride * wi_count_vectors, stride, vectors); /* while these are counted */
        now.each(i, stride, vectors, count);
    }
    if (me < head)
        met |= take(me);
    if (me < c.n - tail)
        met |= take(tail + me);
    return met;
}

/* Turns the counts of a pass into the places where each digit begins, the first one at `begin`, by
 * a warp; returns whether one digit has all n keys. */
__device__ inline bool wi_begin_digits(const volatile unsigned long long *counts, uint64_t n,
                                       uint64_t begin, uint64_t *begins) {
    constexpr int per_lane = wi_digits / 32;
    const int first = wi_lane() * per_lane;
    uint64_t count[per_lane], sum = 0;
    bool all = false;
#pragma unroll
    for (int k = 0; k < per_lane; k++) {
        count[k] = counts[first + k];
        sum += count[k];
        all = all || count[k] == n;
    }
    begin += wi_warp_scan(sum, [](uint64_t a, uint64_t b) { return a + b; }) - sum;
#pragma unroll
    for (int k = 0; k < per_lane; k++) {
        begins[first + k] = begin;
        begin += count[k];
    }
    return __any_sync(wi_all_lanes, all);
}

/* Where the pass writes that comes after `place` of `wanted`. The last one writes the output, those
 * before it alternate. If the sort is in place and the number of passes is odd, the first pass must
 * not write to what it reads. */
__host__ __device__ inline uint8_t wi_pass_target(int wanted, int place, bool in_place,
                                                  bool spends) {
    const int left = wanted - place;
    if (spends)
        return left == 1 ? WI_SORT_OUT : place % 2 ? WI_SORT_IN : WI_SORT_SPARE;
    const int turned = in_place && wanted % 2;
    return (left + turned) % 2 ? WI_SORT_OUT : WI_SORT_SPARE;
}

/* Decides which passes there are. Keys that are in order need none. */
__device__ inline void wi_make_plan(wi_sort_plan *plan, int passes, const uint32_t *skip,
                                    unsigned disorder, bool in_place, bool spends) {
    const bool in_order = disorder != wi_disordered;
    int wanted = 0, place = 0;
    for (int pass = 0; pass < passes; pass++)
        wanted += !in_order && !skip[pass];
    uint8_t at = WI_SORT_IN;
    for (int pass = 0; pass < passes; pass++) {
        const uint8_t to = wi_pass_target(wanted, place, in_place, spends);
        const bool skipped = in_order || skip[pass];
        plan->pass[pass] = {skipped, place == 0, place == wanted - 1, at, to, (uint8_t)place};
        if (skipped)
            continue;
        at = to;
        place++;
    }
    plan->result = at;
    plan->falls = disorder == wi_fell;
}

/* Is this the last block of the grid to call this? Called by all threads. */
__device__ inline bool wi_is_last_block(uint32_t *blocks_done) {
    WEFT_SHARED(bool, is_last, );
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        is_last = atomicAdd(blocks_done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (is_last)
        __threadfence();
    return is_last;
}

template <class K, bool whole>
__global__ void __launch_bounds__(wi_count_threads) wi_count_digits(wi_count_args<K> c) {
    WEFT_DYNAMIC_SHARED(counters);
    WEFT_SHARED(uint32_t, skip, [wi_most_passes]);
    const unsigned bins = (unsigned)c.passes * wi_digits, copies = 1u << c.copy_bits;
    wi_zero_counters(counters, bins * copies);
    const unsigned met = wi_count_all<K, whole>(c, counters);
    const bool any_fell = __syncthreads_or(met & wi_fell),
               any_rose = __syncthreads_or(met & wi_rose);
    if (threadIdx.x == 0 && (any_fell || any_rose))
        atomicOr(c.disorder, (any_fell ? wi_fell : 0) | (any_rose ? wi_rose : 0));
    wi_add_counters(counters, bins, copies, c.counts);
    if (!wi_is_last_block(c.blocks_done))
        return;
    const int warp = (int)threadIdx.x / 32;
    if (warp < c.passes) {
        const bool all = wi_begin_digits(c.counts + warp * wi_digits, c.n, 0,
                                         c.begins + (size_t)warp * c.pass_begins);
        if (wi_lane() == 0)
            skip[warp] = all;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        wi_make_plan(c.plan, c.passes, skip, *(const volatile uint32_t *)c.disorder, c.in_place,
                     c.spends);
}

#endif
