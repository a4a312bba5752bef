/* SPDX-License-Identifier: Apache-2.0 */
/* The timelines of all ranks go to rank 0, which writes one file. */
#include <string.h>

#include "comm/dist.h"
#include "core/trace.h"

/* Sends what this rank has collected. */
static weft_status send_text(weft_context *ctx, const char *text, size_t bytes) {
    return bytes > 0 ? ctx->comm->calls->send(ctx, text, bytes, WEFT_U8, 0) : WEFT_OK;
}

/* Rank 0: receives sizes[r] bytes from each other rank r, in lines with commas between. */
static weft_status receive_texts(weft_context *ctx, const uint64_t *sizes, char *texts,
                                 size_t *bytes) {
    weft_status status = WEFT_OK;
    *bytes = 0;
    for (int r = 1; r < ctx->comm->size && status == WEFT_OK; r++) {
        if (sizes[r] == 0)
            continue;
        if (*bytes > 0) {
            memcpy(texts + *bytes, ",\n", 2);
            *bytes += 2;
        }
        status = ctx->comm->calls->recv(ctx, texts + *bytes, sizes[r], WEFT_U8, r);
        *bytes += sizes[r];
    }
    return status;
}

static size_t room_for(const uint64_t *sizes, int ranks) {
    size_t room = 0;
    for (int r = 1; r < ranks; r++)
        room += sizes[r] + 2;
    return room;
}

static weft_status gather(weft_context *ctx, wi_trace *trace, uint64_t origin) {
    const bool first = ctx->comm->rank == 0;
    const uint64_t *sizes;
    size_t bytes = 0;
    void *texts = NULL;
    char *const text = first ? NULL : wi_trace_take(trace, origin, &bytes);
    const uint64_t own = bytes;
    weft_status status = wi_all_words(ctx, &own, 1, &sizes);
    if (status == WEFT_OK && first)
        status = wi_dist_take(ctx, room_for(sizes, ctx->comm->size), 1, &texts);
    status = wi_agree(ctx, 0, status);
    if (status == WEFT_OK)
        status =
            first ? receive_texts(ctx, sizes, texts, &bytes) : send_text(ctx, text, (size_t)own);
    wi_host_free(text);
    if (first)
        wi_trace_give(trace, origin, texts, status == WEFT_OK ? bytes : 0);
    return status;
}

weft_status wi_trace_gather(weft_context *ctx, wi_trace *trace) {
    const uint64_t own[2] = {trace != NULL, trace ? trace->origin : 0};
    uint64_t least[2] = {0};
    const weft_status status = ctx->comm->calls->all_reduce(ctx, own, least, 2, WEFT_U64, WEFT_MIN);
    if (status != WEFT_OK || least[0] == 0)
        return status;
    trace->rank = ctx->comm->rank;
    trace->ranks = ctx->comm->size;
    return gather(ctx, trace, least[1]);
}
