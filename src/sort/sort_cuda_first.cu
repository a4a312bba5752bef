/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "sorted" of top_k: all are sorted, with their positions, and the first are copied. For
 * elements that are few enough that a search for the k-th, digit by digit, is launches and waiting.
 */
#include "cuda/launch.cuh"
#include "cuda/size.cuh"
#include "sort/sort_merge_block.cuh"
#include "sort/sort_places.h"

namespace {

constexpr unsigned first_threads = 256;

template <class U>
__global__ void __launch_bounds__(first_threads)
    take_first(const U *sorted, const uint32_t *from, uint64_t k, U *values, uint64_t *positions) {
    const uint64_t i = (uint64_t)blockIdx.x * first_threads + threadIdx.x;
    if (i >= k)
        return;
    if (values)
        values[i] = sorted[i];
    if (positions)
        positions[i] = from[i];
}

} // namespace

weft_status wi_top_k_sorted(weft_context *ctx, const void *arguments) {
    const wi_top_k_args *const a = (const wi_top_k_args *)arguments;
    const size_t size = weft_type_size(a->type), k = a->k;
    size_t bytes = 0;
    wi_take(&bytes, a->n * size);
    const size_t from = wi_take(&bytes, a->positions ? a->n * sizeof(uint32_t) : 0);
    wi_sort_args sort = wi_top_k_as_sort(a);
    if (a->bytes) {
        *a->bytes += bytes;
        sort.y = (void *)(uintptr_t)a->x; /* that it has an output matters here, not where */
        return wi_sort_onesweep(ctx, &sort);
    }
    void *memory;
    weft_status status = wi_gpu_alloc(ctx, &memory, bytes);
    if (status != WEFT_OK)
        return status;
    uint32_t *const positions = a->positions ? (uint32_t *)((char *)memory + from) : NULL;
    sort.y = memory;
    sort.values_out = positions;
    status = wi_sort_onesweep(ctx, &sort);
    if (status == WEFT_OK)
        status = wi_with_size(size, [=](auto tag) {
            using U = typename decltype(tag)::type;
            return WEFT_LAUNCH(take_first<U>, ctx,
                               (unsigned)((k + first_threads - 1) / first_threads), first_threads,
                               0, (const U *)memory, positions, (uint64_t)k, (U *)a->values,
                               a->positions);
        });
    const weft_status freed = wi_gpu_free(ctx, memory);
    return status == WEFT_OK ? freed : status;
}
