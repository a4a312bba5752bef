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
    uint64_t *order;         /* of each item its rank, or WI_DEAL_NOWHERE; then its place among
                                those sent, which lie in the order of ranks */
    size_t *sent, *got, *at; /* for each rank: items that go there, that come from there; `at` is
                                used by wi_deal_sort */
    size_t n_sent, n_got;
} wi_deal;

/* Takes the memory; it is given back by wi_deal_close, also after a failure. */
weft_status wi_deal_open(weft_context *ctx, wi_deal *deal, size_t n);
void wi_deal_close(wi_deal *deal);

/* Puts the items, whose ranks are in `order`, in their order; `sent` is known then. */
void wi_deal_sort(const weft_context *ctx, wi_deal *deal);

/* Tells the ranks how many items come to them. All ranks make this step, and those below. */
weft_status wi_deal_meet(weft_context *ctx, wi_deal *deal);

/* Sends the items, of `width` bytes, in their order; and back, an answer to each that came. */
weft_status wi_deal_there(weft_context *ctx, const wi_deal *deal, const void *from, void *to,
                          size_t width);
weft_status wi_deal_back(weft_context *ctx, const wi_deal *deal, const void *from, void *to,
                         size_t width);

#ifdef __cplusplus
}
#endif
#endif
