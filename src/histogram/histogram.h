/* SPDX-License-Identifier: Apache-2.0 */
/* histogram inside the library: one call as its rungs get it, and the rungs. */
#ifndef WI_HISTOGRAM_H
#define WI_HISTOGRAM_H

#include "core/rows.h"
#include "histogram/histogram_bins.h"
#include "weft/histogram.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_OUTSIDE = 3, /* slots of a channel besides its bins: below, above, NaN */
    WI_BYTE_VALUES = 256
};

/* One call on memory that the place can access directly. A long host array on a GPU becomes several
 * calls, one for each segment; all but the first accumulate. */
typedef struct wi_histogram_args {
    weft_type type;
    size_t n; /* elements, counting all channels; may end in the middle of a pixel */
    uint32_t channels;
    uint32_t channel; /* of x[0] */
    const void *x;
    wi_bins bins;
    bool accumulate;
    bool wide; /* counts and outside are u64, else u32 */
    void *counts;
    void *outside; /* or NULL */
} wi_histogram_args;

extern const wi_ladder wi_histogram_ladder;

/* The number of slots of one channel. */
static inline uint32_t wi_slots_of(const wi_bins *bins) {
    return bins->count + WI_OUTSIDE;
}

/* The bins of a public call with valid arguments; edges are still the caller's. */
wi_bins wi_bins_of(weft_type type, const weft_bins *bins);

/* ---- on the host ---- */

/* Sets *straight: is WI_BINS_LINEAR right at all edges of these bins? If not, or if there are too
 * many for the host to look at, a GPU looks at them in every call. WEFT_ENOMEM if there is no
 * memory to remember the answer. */
weft_status wi_histogram_look(weft_context *ctx, const wi_bins *bins, bool *straight);

/* Checks every edge and fills *table; free its thresholds with wi_host_free. WEFT_ENOMEM if there
 * is no memory for them. */
weft_status wi_bin_table_make(weft_context *ctx, const wi_bins *bins, wi_bin_table *table);

/* Adds `times` to the count of `slot` in channel `channel`. */
void wi_count(const wi_histogram_args *args, uint32_t channel, uint32_t slot, uint64_t times);

/* Sets counts and outside to 0, unless the call accumulates. */
void wi_counts_clear(const wi_histogram_args *args);

/* Does `threads` count the n bytes of a thread two at a time? */
bool wi_histogram_counts_pairs(const wi_histogram_args *args, size_t n);

/* The arguments of the public call, which rung `ranks` gets. */
typedef struct wi_histogram_request {
    weft_type type, count_type;
    size_t n;
    unsigned channels;
    const void *x;
    const weft_bins *bins;
    weft_counting counting;
    void *counts, *outside;
} wi_histogram_request;

/* The number of bins of a channel. */
size_t wi_histogram_bins(const wi_histogram_request *r);

/* ---- the rungs ---- */
weft_status wi_histogram_ranks(weft_context *ctx, const void *request);
weft_status wi_histogram_serial(weft_context *ctx, const void *args);
weft_status wi_histogram_threads(weft_context *ctx, const void *args);
weft_status wi_histogram_global(weft_context *ctx, const void *args);
weft_status wi_histogram_shared(weft_context *ctx, const void *args);
weft_status wi_histogram_cluster(weft_context *ctx, const void *args);
weft_status wi_histogram_partitioned(weft_context *ctx, const void *args);
weft_status wi_histogram_cached(weft_context *ctx, const void *args);
weft_status wi_histogram_sampled(weft_context *ctx, const void *args);
weft_status wi_histogram_ranges(weft_context *ctx, const void *args);
weft_status wi_histogram_packed(weft_context *ctx, const void *args);
weft_status wi_histogram_lanes(weft_context *ctx, const void *args);

/* How many slots the rungs above can hold in shared memory on this context's device; 0 if they
 * cannot run. */
size_t wi_histogram_shared_room(const weft_context *ctx);
size_t wi_histogram_cluster_room(const weft_context *ctx);
size_t wi_histogram_packed_room(const weft_context *ctx);
size_t wi_histogram_partitioned_room(const weft_context *ctx);

#ifdef __cplusplus
}
#endif
#endif
