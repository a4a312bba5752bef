/* SPDX-License-Identifier: Apache-2.0 */
/* Sends each item to the rank that it belongs to, and brings the answers back in the order of the
 * items. */
#include "comm/deal.h"

#include <string.h>

weft_status wi_deal_open(weft_context *ctx, wi_deal *deal, size_t n) {
    const size_t ranks = (size_t)ctx->comm->size;
    void *order = NULL, *counts = NULL;
    *deal = (wi_deal){.n = n};
    weft_status status = wi_dist_take(ctx, n, sizeof *deal->order, &order);
    deal->order = order;
    if (status == WEFT_OK)
        status = wi_dist_take(ctx, ranks, 3 * sizeof *deal->sent, &counts);
    if (status != WEFT_OK)
        return status;
    deal->sent = counts;
    deal->got = deal->sent + ranks;
    deal->at = deal->got + ranks;
    return WEFT_OK;
}

void wi_deal_close(wi_deal *deal) {
    wi_host_free(deal->order);
    wi_host_free(deal->sent);
}

void wi_deal_place(const weft_context *ctx, wi_deal *deal) {
    const size_t ranks = (size_t)ctx->comm->size;
    memset(deal->sent, 0, ranks * sizeof *deal->sent);
    for (size_t i = 0; i < deal->n; i++) {
        if (deal->order[i] != WI_DEAL_NOWHERE)
            deal->sent[deal->order[i]]++;
    }
    deal->n_sent = 0;
    for (size_t r = 0; r < ranks; r++) {
        deal->at[r] = deal->n_sent;
        deal->n_sent += deal->sent[r];
    }
    for (size_t i = 0; i < deal->n; i++) {
        if (deal->order[i] != WI_DEAL_NOWHERE)
            deal->order[i] = deal->at[deal->order[i]]++;
    }
}

weft_status wi_deal_count(weft_context *ctx, wi_deal *deal) {
    const weft_status status = wi_exchange_counts(ctx, deal->sent, deal->got);
    deal->n_got = 0;
    for (int r = 0; r < ctx->comm->size && status == WEFT_OK; r++)
        deal->n_got += deal->got[r];
    return status;
}

weft_status wi_deal_send(weft_context *ctx, const wi_deal *deal, const void *from, void *to,
                         size_t width) {
    return wi_dist_exchange(ctx, from, deal->sent, to, deal->got, width);
}

weft_status wi_deal_answer(weft_context *ctx, const wi_deal *deal, const void *from, void *to,
                           size_t width) {
    return wi_dist_exchange(ctx, from, deal->got, to, deal->sent, width);
}
