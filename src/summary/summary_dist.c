/* SPDX-License-Identifier: Apache-2.0 */
/* summary over ranks: every rank summarises its part; the parts' states come to all ranks, and each
 * merges them in the order of the ranks. So all have the same bits, in every run. */
#include <string.h>

#include "comm/dist.h"
#include "summary/summary.h"

enum {
    STATE_WORDS = sizeof(wi_summary_state) / sizeof(uint64_t),
    SENT_WORDS = 4 /* in one message; WI_COMM_WORDS at most */
};

/* Brings the states of all ranks to each. */
static weft_status gather(weft_context *ctx, const wi_summary_state *own, wi_summary_state *all) {
    uint64_t words[STATE_WORDS], *const to = (void *)all;
    weft_status status = WEFT_OK;
    memcpy(words, own, sizeof words);
    for (size_t at = 0; at < STATE_WORDS && status == WEFT_OK; at += SENT_WORDS) {
        const size_t left = STATE_WORDS - at, few = left < SENT_WORDS ? left : SENT_WORDS;
        const uint64_t *got = NULL;
        status = wi_all_words(ctx, words + at, few, &got);
        for (size_t r = 0; r < (size_t)ctx->comm->size && status == WEFT_OK; r++)
            memcpy(to + r * STATE_WORDS + at, got + r * few, few * sizeof *got);
    }
    return status;
}

static weft_status put_out(weft_context *ctx, const wi_summary_args *args,
                           const wi_summary_state *states) {
    wi_summary_state all = {0};
    weft_statistics result;
    for (int r = 0; r < ctx->comm->size; r++)
        all = wi_summary_merge(all, states[r]);
    wi_summary_finish(args->type, &all, &result);
    return wi_local(ctx, weft_copy(ctx->child, args->result, &result, sizeof result));
}

weft_status wi_summary_ranks(weft_context *ctx, const void *arguments) {
    const wi_summary_args *const args = ((const wi_dist_args *)arguments)->args;
    wi_summary_state own = {0};
    uint64_t before, total;
    void *states = NULL;
    weft_status status = wi_all_counts(ctx, args->n, &before, &total);
    if (status != WEFT_OK)
        return status;
    status = wi_dist_take(ctx, (size_t)ctx->comm->size, sizeof own, &states);
    if (status == WEFT_OK)
        status = wi_local(ctx, wi_summary_state_of(ctx->child, args, &own));
    status = wi_agree(ctx, 0, status);
    own.least_at += before;
    own.most_at += before;
    if (status == WEFT_OK)
        status = gather(ctx, &own, states);
    if (status == WEFT_OK)
        status = put_out(ctx, args, states);
    wi_host_free(states);
    return status;
}
