/* SPDX-License-Identifier: Apache-2.0 */
/* histogram on a GPU: any number of bins. Counts are added to in global memory, which is fast
 * enough only as long as no bin is met often: so each block keeps the counters of the first bins it
 * meets in shared memory, where a bin met often is soon among them. */
#include "histogram/histogram_cuda.cuh"

constexpr int threads = 1024;
constexpr int at_once = 2; /* vectors a thread loads */
constexpr uint32_t entries_log2 = 12, entries = 1u << entries_log2;
constexpr uint32_t nobody = ~0u; /* no place: there are fewer than 2^32 - 1 */

/* Which places a block's counters stand for, at their hashes, and how often they were met. */
struct counter_cache {
    uint32_t *owner, *times;

    __device__ void clear() const {
        for (uint32_t i = threadIdx.x; i < entries; i += threads) {
            owner[i] = nobody;
            times[i] = 0;
        }
    }

    /* Counts the place if an entry is its own or free; an entry's owner never changes. */
    __device__ bool add(uint32_t place) const {
        const uint32_t entry = place * 2654435761u >> (32 - entries_log2);
        uint32_t holder = *(volatile uint32_t *)&owner[entry];
        if (holder == nobody) {
            holder = atomicCAS(&owner[entry], nobody, place);
            holder = holder == nobody ? place : holder;
        }
        if (holder != place)
            return false;
        atomicAdd(&times[entry], 1u);
        return true;
    }
};

template <class T>
__global__ void __launch_bounds__(threads) cached(wi_histogram_params<T> p) {
    WEFT_SHARED(uint32_t, owner, [entries]);
    WEFT_SHARED(uint32_t, times, [entries]);
    const counter_cache cache = {owner, times};
    const wi_histogram_target &target = p.target;
    const uint32_t slots = target.bins.count + WI_OUTSIDE;
    cache.clear();
    __syncthreads();
    wi_with_slots<T>(target, [&](auto slot_of) {
        wi_take_all<true, decltype(slot_of)::cheap, threads, at_once>(
            p, [&](T x, uint32_t channel) {
                const uint32_t slot = slot_of(x);
                if (!cache.add(channel * slots + slot))
                    target.count(channel, slot, 1);
            });
    });
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < entries; i += threads)
        if (times[i])
            target.count_in_row(owner[i], times[i]);
}

template <class T>
static weft_status launch(weft_context *ctx, const wi_histogram_args *args) {
    size_t resident = 0;
    wi_histogram_params<T> p;
    weft_status status = wi_histogram_typed(ctx, args, &p);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, cached<T>, threads, 0, &resident);
    if (status != WEFT_OK)
        return status;
    const size_t least = (size_t)threads * at_once * wi_vector<T>::count;
    return WEFT_LAUNCH(cached<T>, ctx, wi_useful_blocks(args->n, least, resident), threads, 0, p);
}

weft_status wi_histogram_cached(weft_context *ctx, const void *arguments) {
    const wi_histogram_args *args = (const wi_histogram_args *)arguments;
    return wi_with_unsigned_type(args->type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (sizeof(T) == 1)
            return WEFT_EUNSUPPORTED;
        else
            return launch<T>(ctx, args);
    });
}
