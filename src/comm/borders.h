/* SPDX-License-Identifier: Apache-2.0 */
/* The first and the last item of every rank's part, on all ranks: what tells whether runs cross. */
#ifndef WI_BORDERS_H
#define WI_BORDERS_H

#include "comm/dist.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wi_borders {
    size_t width;     /* of an item */
    int size;         /* ranks */
    uint64_t *counts; /* items of each rank */
    char *items;      /* of each rank the first and the last, if it has any */
} wi_borders;

/* Gives those of all ranks to each; first and last may be device memory. Close `b` in any case. */
weft_status wi_borders_meet(weft_context *ctx, wi_borders *b, size_t width, size_t n,
                            const void *first, const void *last);
void wi_borders_close(wi_borders *b);

/* The next rank behind r, or with step -1 before it, that has items; or -1. */
int wi_borders_next(const wi_borders *b, int r, int step);

static inline const void *wi_borders_first(const wi_borders *b, int r) {
    return b->items + 2 * (size_t)r * b->width;
}
static inline const void *wi_borders_last(const wi_borders *b, int r) {
    return b->items + (2 * (size_t)r + 1) * b->width;
}

#ifdef __cplusplus
}
#endif
#endif
