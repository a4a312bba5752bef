/* SPDX-License-Identifier: Apache-2.0 */
/* How many states become one on a GPU: those of a warp's lanes, then those of a block's warps; and
 * so first of threads, then of blocks. It is what the whole grid waits for, at the end, and one
 * code for all: code that runs for the first time is read from memory. */
#ifndef WI_SUMMARY_MERGE_CUH
#define WI_SUMMARY_MERGE_CUH

#include "cuda/launch.cuh"
#include "cuda/reciprocal.cuh"
#include "cuda/warp.cuh"
#include "summary/summary_collect.cuh"

/* Blocks of which one can merge the states: one of each thread, and one of each lane that has none
 * of a warp. */
constexpr size_t wi_summary_most_blocks = wi_summary_block + 32 - wi_summary_warps;

/* The state of a part of the elements. Of extremes it has the key, and the first region with it. */
template <class T>
struct alignas(16) wi_summary_part {
    using Key = typename wi_choose<sizeof(T) == 8, uint64_t, uint32_t>::type;

    uint64_t count;
    double shift, mean; /* the mean less the shift */
    double squares;     /* of x - mean */
    Key least, most;
    uint32_t least_in, most_in;

    __device__ static wi_summary_part nothing() {
        return {0, 0, 0, 0, (Key) ~(Key)0, 0, wi_summary_nowhere, wi_summary_nowhere};
    }
};

/* ---- a warp ---- */

__device__ inline uint32_t wi_summary_least(uint32_t x) {
    return wi_warp_min(x);
}
__device__ inline uint64_t wi_summary_least(uint64_t x) {
    const uint32_t high = (uint32_t)(x >> 32), least = wi_warp_min(high);
    return (uint64_t)least << 32 | wi_warp_min(high == least ? (uint32_t)x : ~(uint32_t)0);
}

/* The least key of a warp, and the first region with it. */
template <class Key>
__device__ void wi_summary_least_of(Key *key, uint32_t *in) {
    const Key least = wi_summary_least(*key);
    *in = wi_warp_min(*key == least ? *in : wi_summary_nowhere);
    *key = least;
}

/* Of numbers below 2^51. */
__device__ inline uint64_t wi_summary_total(uint64_t x) {
    constexpr int half = 24;
    const uint32_t low = (uint32_t)x & ((1u << half) - 1), high = (uint32_t)(x >> half);
    return wi_warp_sum(low) + ((uint64_t)wi_warp_sum(high) << half);
}

/* A lane that has as many elements as any, or nearly so. */
__device__ inline int wi_summary_largest(uint64_t count) {
    const uint32_t size = count >> 32 ? ~(uint32_t)0 : (uint32_t)count, most = wi_warp_max(size);
    return __ffs((int)__ballot_sync(wi_all_lanes, size == most)) - 1;
}

/* The sums of a warp's lanes as one. With n elements in all, d from c to the mean of a lane's, and
 * D to that of all, n D is the sum of a lane's number times d, and M that of its M plus number
 * times d^2, less n D^2. That is not small beside what it is taken from if c is the mean of the
 * largest lane: of n / 32 elements at least, so that n D^2 is 32 M at most. So both sums are made
 * together, and no lane waits for the mean of all. */
template <class T>
struct wi_summary_sums_of_lanes {
    uint64_t count;
    double shift, near; /* c is their sum */
    double sum, squares;

    __device__ explicit wi_summary_sums_of_lanes(const wi_summary_part<T> &s) {
        const int largest = wi_summary_largest(s.count);
        const double mean = wi_shuffle(s.mean, largest);
        shift = wi_shuffle(s.shift, largest);
        near = isfinite(mean) ? mean : 0;
        const double n = (double)s.count, d = s.count ? s.shift - shift + (s.mean - near) : 0;
        sum = n * d;
        squares = s.squares + n * d * d;
        count = wi_summary_total(s.count);
    }
    __device__ void add_up(wi_summary_part<T> *s) {
        const double share = wi_reciprocal(count ? (double)count : 1);
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            sum += wi_shuffle_xor(sum, step);
            squares += wi_shuffle_xor(squares, step);
        }
        const double off = sum * share;
        squares -= sum * off;
        s->count = count;
        s->shift = shift;
        s->mean = near + off;
        s->squares = squares < 0 ? 0 : squares;
    }
};

/* ---- a block ---- */

/* The states of the threads of a block as one: in all its threads if `everywhere`, else in those of
 * its first warp. `of_warp` are 32 places in shared memory, of which those behind the warps have
 * states that come after those of the threads. known(s) is called when the extremes of all are
 * known, before their sums are. */
template <class T, class Known>
__device__ wi_summary_part<T> wi_summary_merge_block(wi_summary_part<T> s,
                                                     wi_summary_part<T> *of_warp, bool everywhere,
                                                     Known known) {
    using Key = typename wi_summary_part<T>::Key;
#pragma unroll 1
    for (bool of_threads = true;; of_threads = false) {
        wi_summary_sums_of_lanes<T> sums(s);
        Key reversed = (Key)~s.most;
        wi_summary_least_of(&s.least, &s.least_in);
        wi_summary_least_of(&reversed, &s.most_in);
        s.most = (Key)~reversed;
        if (!of_threads)
            known(s);
        sums.add_up(&s);
        if (!of_threads)
            return s;
        if (wi_lane() == 0)
            of_warp[threadIdx.x / 32] = s;
        __syncthreads();
        if (!everywhere && threadIdx.x >= 32)
            return s;
        s = of_warp[wi_lane()];
    }
}

#endif
