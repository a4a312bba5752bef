/* SPDX-License-Identifier: Apache-2.0 */
/* Sends items to ranks, each item to the rank named for it, and brings an answer to each back. */
#ifndef WI_DEAL_H
#define WI_DEAL_H

#include "comm/dist.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WI_DEAL_NOWHERE UINT64_MAX /* the item is not sent */

typedef struct wi_deal {
    size_t n;                /* items of this rank */
    uint64_t *order;         /* filled in by the caller: the rank of each item, or
                                WI_DEAL_NOWHERE; after wi_deal_place its place among the items
                                sent, which are sorted by ranks */
    size_t *sent, *got, *at; /* for each rank: items that go there, that come from there; `at` is
                                used by wi_deal_place */
    size_t n_sent, n_got;
} wi_deal;

/* Allocates; call wi_deal_close also after a failure. */
weft_status wi_deal_open(weft_context *ctx, wi_deal *deal, size_t n);
void wi_deal_close(wi_deal *deal);

/* Replaces ranks by places in `order`; sets `sent` and `n_sent`. */
void wi_deal_place(const weft_context *ctx, wi_deal *deal);

/* Tells the ranks how many items come to them: sets `got` and `n_got`. A collective call, as are
 * those below: all ranks make it. */
weft_status wi_deal_count(weft_context *ctx, wi_deal *deal);

/* Sends the items, of `width` bytes each, that lie at their places in `from`. */
weft_status wi_deal_send(weft_context *ctx, const wi_deal *deal, const void *from, void *to,
                         size_t width);
/* Sends an answer to each item that came back to where it came from; in `to` each lies at the
 * place of its item. */
weft_status wi_deal_answer(weft_context *ctx, const wi_deal *deal, const void *from, void *to,
                           size_t width);

#ifdef __cplusplus
}
#endif
#endif
