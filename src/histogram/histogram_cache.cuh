/* SPDX-License-Identifier: Apache-2.0 */
/* Counters in shared memory for the first bins that a block meets: a frequent bin is soon among
 * them. */
#ifndef WI_HISTOGRAM_CACHE_CUH
#define WI_HISTOGRAM_CACHE_CUH

#include "histogram/histogram_cuda.cuh"

constexpr uint32_t wi_cache_entries_log2 = 12, wi_cache_entries = 1u << wi_cache_entries_log2;

/* Which places a block's counters belong to, by a hash, and how often each was met. */
template <int threads>
struct wi_counter_cache {
    uint32_t *owner, *times;

    __device__ void clear() const {
        for (uint32_t i = threadIdx.x; i < wi_cache_entries; i += threads) {
            owner[i] = wi_no_place;
            times[i] = 0;
        }
    }

    __device__ static uint32_t entry_of(uint32_t place) {
        return place * 2654435761u >> (32 - wi_cache_entries_log2);
    }

    __device__ bool holds(uint32_t place) const {
        return owner[entry_of(place)] == place;
    }

    /* Counts the place if its entry belongs to it or is free; an entry's owner never changes. */
    __device__ bool add(uint32_t place) const {
        const uint32_t entry = entry_of(place);
        uint32_t holder = wi_glance(&owner[entry]);
        if (holder == wi_no_place) {
            holder = atomicCAS(&owner[entry], wi_no_place, place);
            holder = holder == wi_no_place ? place : holder;
        }
        if (holder != place)
            return false;
        atomicAdd(&times[entry], 1u);
        return true;
    }
};

/* Decides on the device whether a kernel runs: if *word is `open`, or if there is no word. */
struct wi_histogram_gate {
    const uint32_t *word;
    uint32_t open;

    __device__ bool is_shut() const {
        return word && *word != open;
    }
};

/* Queues the kernel of the rung "cached"; counts must be cleared and edges checked. */
weft_status wi_histogram_queue_cached(weft_context *ctx, const wi_histogram_args *args,
                                      const wi_histogram_target *target, wi_histogram_gate gate);

#endif
