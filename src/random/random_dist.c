/* SPDX-License-Identifier: Apache-2.0 */
/* random over ranks: every rank makes its own part, once it knows how many elements are before
 * it. */
#include "comm/dist.h"
#include "random/random.h"

weft_status wi_random_ranks(weft_context *ctx, const void *arguments) {
    const wi_dist_args *const dist = arguments;
    wi_call call = *dist->call;
    wi_random_args args = *(const wi_random_args *)dist->args;
    uint64_t before, total;
    weft_status status = wi_all_counts(ctx, args.n, &before, &total);
    if (status == WEFT_OK && args.op == WI_RANDOM_PERMUTATION && total > 0)
        status = wi_check_index_type(ctx, call.name, "type", args.type, total - 1);
    if (status != WEFT_OK)
        return status;
    args.first += before;
    if (args.op == WI_RANDOM_PERMUTATION) {
        args.total = total;
        if (total <= WI_RANDOM_SMALL)
            args.op = WI_RANDOM_SMALL_PERMUTATION;
    }
    return wi_local(ctx, wi_random_call_run(ctx->child, &call, &args));
}
