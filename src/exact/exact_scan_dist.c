/* SPDX-License-Identifier: Apache-2.0 */
/* exact_scan over ranks: the words of all parts come to all ranks as sums of the parts before
 * theirs, and every rank scans its part from there. */
#include "comm/dist.h"
#include "exact/exact_scan.h"

/* The words of this rank's part, and on rank 0 of what comes before it. */
static weft_status add_up(weft_context *ctx, const wi_exact_scan_args *args, int64_t *word) {
    const wi_exact_args sum = {
        .terms = WI_EXACT_SUM, .type = args->type, .n = args->n, .x = args->x};
    const weft_status status = wi_exact_add_part(ctx, "weft_exact_scan", sum, word);
    if (status == WEFT_OK && ctx->comm->rank == 0)
        wi_exact_merge_words(word, args->start);
    wi_exact_carry(word);
    return status;
}

weft_status wi_exact_scan_ranks(weft_context *ctx, const void *arguments) {
    const wi_dist_args *const dist = arguments;
    wi_exact_scan_args args = *(const wi_exact_scan_args *)dist->args;
    wi_call call = *dist->call;
    int64_t own[WI_EXACT_WORDS] = {0};
    weft_status status = wi_agree(ctx, 0, add_up(ctx, &args, own));
    if (status == WEFT_OK)
        status = ctx->comm->calls->exscan(ctx, own, args.start, WI_EXACT_WORDS, WEFT_I64, WEFT_SUM);
    if (status != WEFT_OK)
        return status;
    wi_exact_carry(args.start);
    return wi_local(ctx, wi_exact_scan_call_run(ctx->child, &call, &args));
}
