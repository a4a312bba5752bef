/* SPDX-License-Identifier: Apache-2.0 */
/* histogram on a GPU for any number of bins. Counts are added in global memory, which is fast
 * enough if no bin is frequent. So each block keeps counters for the first bins it meets in shared
 * memory: a frequent bin is soon among them. */
#include "histogram/histogram_cache.cuh"

constexpr int cached_threads = 1024;
constexpr int at_once = 2; /* vectors that a thread loads at a time */

template <class T>
__global__ void __launch_bounds__(cached_threads)
    cached(wi_histogram_params<T> p, wi_histogram_gate gate) {
    WEFT_SHARED(uint32_t, owner, [wi_cache_entries]);
    WEFT_SHARED(uint32_t, times, [wi_cache_entries]);
    if (gate.is_shut())
        return;
    const wi_counter_cache<cached_threads> cache = {owner, times};
    const wi_histogram_target &target = p.target;
    const uint32_t slots = target.bins.count + WI_OUTSIDE;
    cache.clear();
    __syncthreads();
    wi_with_slots<T>(target, [&](auto slot_of) {
        wi_take_all<true, decltype(slot_of)::cheap, cached_threads, at_once>(
            p, [&](T x, uint32_t channel) {
                const uint32_t slot = slot_of(x);
                if (!cache.add(channel * slots + slot))
                    target.count(channel, slot, 1);
            });
    });
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < wi_cache_entries; i += cached_threads)
        if (times[i])
            target.count_in_row(owner[i], times[i]);
}

template <class T>
static weft_status launch_cached(weft_context *ctx, const wi_histogram_args *args,
                                 const wi_histogram_target *target, wi_histogram_gate gate) {
    size_t resident = 0;
    const weft_status status = wi_resident_blocks(ctx, cached<T>, cached_threads, 0, &resident);
    if (status != WEFT_OK)
        return status;
    const wi_histogram_params<T> p = {(const T *)args->x, args->n, args->channel, *target};
    const size_t least = (size_t)cached_threads * at_once * wi_vector<T>::count;
    return WEFT_LAUNCH(cached<T>, ctx, wi_useful_blocks(args->n, least, resident), cached_threads,
                       0, p, gate);
}

weft_status wi_histogram_queue_cached(weft_context *ctx, const wi_histogram_args *args,
                                      const wi_histogram_target *target, wi_histogram_gate gate) {
    return wi_with_unsigned_type(args->type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (sizeof(T) == 1)
            return WEFT_EUNSUPPORTED;
        else
            return launch_cached<T>(ctx, args, target, gate);
    });
}

weft_status wi_histogram_cached(weft_context *ctx, const void *arguments) {
    const wi_histogram_args *args = (const wi_histogram_args *)arguments;
    wi_histogram_target target;
    const weft_status status = wi_histogram_begin(ctx, args, &target);
    return status == WEFT_OK ? wi_histogram_queue_cached(ctx, args, &target, {}) : status;
}
