/* SPDX-License-Identifier: Apache-2.0 */
/* `sorted` on a cpu: a sorted copy of all elements. The fastest for hundreds of ranks. */
#include "quantile/quantile.h"
#include "sort/sort_scalar.h"

weft_status wi_quantile_sorted(weft_context *ctx, const void *arguments) {
    const wi_quantile_args *const args = arguments;
    const size_t size = weft_type_size(args->type), n = args->n;
    const wi_sort_key form = wi_sort_key_of(args->type, false);
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
        const size_t at = args->jobs[j].rank, after = at + 1 < n ? at + 1 : at;
        wi_quantile_put(args, j, wi_sort_key_at(&form, size, sorted, at),
                        wi_sort_key_at(&form, size, sorted, after));
    }
    wi_host_free(sorted);
    return status;
}
