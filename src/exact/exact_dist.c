/* SPDX-License-Identifier: Apache-2.0 */
/* exact over ranks: every rank adds up its part; the words of all parts, which are integers, are
 * added, and each rank rounds the sum. */
#include "comm/dist.h"
#include "exact/exact.h"

weft_status wi_exact_add_part(weft_context *ctx, const char *name, wi_exact_args args,
                              int64_t *word) {
    wi_call call;
    args.sum = word;
    args.result = NULL;
    wi_exact_describe(ctx->child, name, &args, &call);
    weft_status status = wi_call_check(ctx->child, &call);
    if (status == WEFT_OK)
        status = wi_exact_call_run(ctx->child, &call, &args);
    return wi_local(ctx, status);
}

weft_status wi_exact_ranks(weft_context *ctx, const void *arguments) {
    const wi_dist_args *const dist = arguments;
    wi_exact_args args = *(const wi_exact_args *)dist->args;
    int64_t own[WI_EXACT_WORDS] = {0}, all[WI_EXACT_WORDS];
    const void *const from = args.sum ? (const void *)all : own;
    void *const to = args.sum ? (void *)args.sum : args.result;
    const size_t bytes = args.sum ? sizeof all : weft_type_size(args.result_type);
    weft_status status = wi_agree(ctx, 0, wi_exact_add_part(ctx, dist->call->name, args, own));
    if (status == WEFT_OK)
        status = ctx->comm->calls->all_reduce(ctx, own, all, WI_EXACT_WORDS, WEFT_I64, WEFT_SUM);
    if (status != WEFT_OK)
        return status;
    wi_exact_carry(all);
    if (!args.sum)
        wi_exact_store(args.result_type, wi_exact_round(all, args.result_type, args.root), own);
    return wi_local(ctx, weft_copy(ctx->child, to, from, bytes));
}
