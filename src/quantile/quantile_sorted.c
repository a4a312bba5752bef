/* SPDX-License-Identifier: Apache-2.0 */
/* `sorted` on a cpu: a sorted copy of all elements. The fastest for hundreds of ranks. */
#include "quantile/quantile.h"
#include "sort/sort_simd.h"

weft_status wi_quantile_sorted(weft_context *ctx, const void *arguments) {
    const wi_quantile_args *const args = arguments;
    const size_t size = weft_type_size(args->type), n = args->n;
    const wi_sort_key form = wi_sort_key_of(args->type, false);
    const wi_sort_simd *const simd = WI_OF_ISA(wi_cpu_isa(), wi_sort_simd);
    void *const sorted = wi_host_alloc(n * size);
    if (!sorted)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "%s: no memory for a sorted copy of %zu elements; free some, or use "
                       "variant sampled, which needs less",
                       args->call, n);
    const wi_sort_args sort = {.call = args->call,
                               .plain = true,
                               .type = args->type,
                               .end_bit = 8 * (unsigned)size,
                               .n = n,
                               .x = args->x,
                               .y = sorted};
    const weft_status status = wi_run(ctx, &wi_sort_ladder, args->call, args->type, &sort);
    for (size_t j = 0; j < args->count && status == WEFT_OK; j++) {
        const size_t at = args->jobs[j].rank, few = at + 1 < n ? 2 : 1;
        uint64_t keys[2], near[2] = {0, 0};
        simd->to_keys(&form, (unsigned)size, few, (const char *)sorted + at * size, keys);
        for (size_t k = 0; k < few; k++)
            near[k] = wi_element_bits(keys, size, k);
        wi_quantile_put(args, j, near[0], near[1]);
    }
    wi_host_free(sorted);
    return status;
}
