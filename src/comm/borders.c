/* SPDX-License-Identifier: Apache-2.0 */
/* Passes the first and the last item of every rank's part to all ranks. */
#include "comm/borders.h"

#include <string.h>

static weft_status take(weft_context *ctx, wi_borders *b) {
    const size_t ranks = (size_t)ctx->comm->size;
    void *items = NULL, *counts = NULL;
    weft_status status = wi_dist_take(ctx, ranks + 1, 2 * b->width, &items);
    b->items = items;
    if (status == WEFT_OK)
        status = wi_dist_take(ctx, ranks, sizeof *b->counts, &counts);
    b->counts = counts;
    return status;
}

weft_status wi_borders_meet(weft_context *ctx, wi_borders *b, size_t width, size_t n,
                            const void *first, const void *last) {
    const size_t ranks = (size_t)ctx->comm->size;
    const uint64_t own_n = n, *counts = NULL;
    *b = (wi_borders){.width = width, .size = ctx->comm->size};
    weft_status status = take(ctx, b);
    char *const own = b->items ? b->items + ranks * 2 * width : NULL;
    if (status == WEFT_OK)
        memset(own, 0, 2 * width);
    if (status == WEFT_OK && n > 0)
        status = wi_local(ctx, weft_copy(ctx->child, own, first, width));
    if (status == WEFT_OK && n > 0)
        status = wi_local(ctx, weft_copy(ctx->child, own + width, last, width));
    status = wi_agree(ctx, 0, status);
    if (status == WEFT_OK)
        status = wi_all_words(ctx, &own_n, 1, &counts);
    if (status != WEFT_OK)
        return status;
    memcpy(b->counts, counts, ranks * sizeof *counts);
    return ctx->comm->calls->all_gather(ctx, own, b->items, 2 * width, WEFT_U8);
}

void wi_borders_close(wi_borders *b) {
    wi_host_free(b->items);
    wi_host_free(b->counts);
}

int wi_borders_next(const wi_borders *b, int r, int step) {
    for (r += step; r >= 0 && r < b->size; r += step)
        if (b->counts[r] > 0)
            return r;
    return -1;
}
