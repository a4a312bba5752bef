/* SPDX-License-Identifier: Apache-2.0 */
/* map over ranks: every rank maps its own part. Only iota needs to know how many elements are
 * before it. */
#include "comm/dist.h"
#include "map/map.h"

weft_status wi_map_ranks(weft_context *ctx, const void *arguments) {
    const wi_dist_args *const dist = arguments;
    wi_call call = *dist->call;
    wi_map_args args = *(const wi_map_args *)dist->args;
    if (args.op == WI_MAP_IOTA) {
        uint64_t before, total;
        const weft_status status = wi_all_counts(ctx, args.rows * args.cols, &before, &total);
        if (status != WEFT_OK)
            return status;
        args.first = before;
    }
    return wi_local(ctx, wi_map_call_run(ctx->child, &call, &args));
}
