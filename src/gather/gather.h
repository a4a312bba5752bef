/* SPDX-License-Identifier: Apache-2.0 */
/* gather and scatter inside the library: one call as the rungs get it, and the rungs. */
#ifndef WI_GATHER_H
#define WI_GATHER_H

#include "core/call.h"
#include "core/rows.h"
#include "weft/gather.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One array moved, on memory that the place can access directly: y[i] = x[index[i]] or, of scatter,
 * y[index[i]] = x[i], for i < n and index[i] < m. */
typedef struct wi_gather_args {
    bool scatters;
    size_t n, m, width;
    weft_type index_type; /* i32, u32, i64 or u64 */
    const void *index;
    const void *x;
    void *y;
    uint64_t *bad; /* on a GPU: gets the smaller of its value and the first i whose index is not
                      below m; NULL: that is known. Elements with such an index are not moved */
    bool clears;   /* on a GPU: *bad has no value yet, as WEFT_NOWHERE would be */
    bool last;     /* of scatter: of several elements for one place, the last goes there */
    void *owners;  /* with `last`, on a GPU: m words of 4 bytes, or of 8 if n is 2^32 or more */
} wi_gather_args;

extern const wi_ladder wi_gather_ladder, wi_scatter_ladder;

/* A public call, as the user made it. */
typedef struct wi_gather_request {
    wi_gather_args args; /* but for its arrays */
    size_t arrays, width[WEFT_GATHERED_MOST];
    bool queued;  /* `bad` was given: nobody waits for the check */
    bool shared;  /* of gather over GPUs: each has a share of index and y, and reads all of x */
    size_t first; /* where its share begins */
} wi_gather_request;

/* The arrays of its description. */
enum {
    WI_GATHER_INDEX,
    WI_GATHER_BAD,
    WI_GATHER_ARRAYS /* x and y of each array follow */
};

/* Refuses the call: index[at], which messages call number at + first, is not below m, which is that
 * of `whose`. */
weft_status wi_gather_refuse(weft_context *ctx, const char *name, const wi_gather_args *a,
                             uint64_t at, size_t first, const char *whose);

/* Index i; a negative one becomes a number that no array has. */
static inline uint64_t wi_gather_index(const wi_gather_args *a, size_t i) {
    switch (a->index_type) {
    case WEFT_I32:
        return (uint64_t)((const int32_t *)a->index)[i];
    case WEFT_U32:
        return ((const uint32_t *)a->index)[i];
    default:
        return ((const uint64_t *)a->index)[i];
    }
}

/* *a->bad becomes the first i whose index is not below m, or WEFT_NOWHERE. */
weft_status wi_gather_check(weft_context *ctx, const wi_gather_args *a);
weft_status wi_gather_check_cuda(weft_context *ctx, const wi_gather_args *a);

/* The bytes of one owner. */
static inline size_t wi_gather_owner_bytes(size_t n) {
    return n < UINT32_MAX ? sizeof(uint32_t) : sizeof(uint64_t);
}

/* The rungs. */
weft_status wi_gather_serial(weft_context *ctx, const void *args);
weft_status wi_gather_threads(weft_context *ctx, const void *args);
weft_status wi_gather_each(weft_context *ctx, const void *args);
weft_status wi_gather_batches(weft_context *ctx, const void *args);
weft_status wi_scatter_serial(weft_context *ctx, const void *args);
weft_status wi_scatter_threads(weft_context *ctx, const void *args);
/* Over ranks: get wi_dist_args, whose `args` is a wi_gather_request. */
weft_status wi_gather_ranks(weft_context *ctx, const void *args);
weft_status wi_scatter_ranks(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
