/* SPDX-License-Identifier: Apache-2.0 */
/* exact_scan inside the library: one call as its rungs get it, and the rungs. */
#ifndef WI_EXACT_SCAN_H
#define WI_EXACT_SCAN_H

#include "exact/exact.h"
#include "exact/exact_digits.h"
#include "weft/exact.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call on memory that the place can access directly. A long host array on a GPU becomes several
 * calls, one for each segment, which pass on the words of the sum so far. */
typedef struct wi_exact_scan_args {
    weft_scan_kind kind;
    weft_type type; /* a float */
    size_t n;
    const void *x;
    void *y; /* may be x */
    /* The words of what comes before x[0], carried, in host memory. */
    int64_t start[WI_EXACT_WORDS];
    /* On a GPU, in memory that the device can access: an element that comes before x[0], too; the
     * words to start from, instead of all that; and where the words after x[n-1] are stored. Or
     * NULL. */
    const void *init;
    const int64_t *carry_in;
    int64_t *carry_out;
} wi_exact_scan_args;

extern const wi_ladder wi_exact_scan_ladder;

/* Describes a call, and runs it on this place alone when it is checked. */
void wi_exact_scan_describe(const char *name, const wi_exact_scan_args *args, wi_call *call);
weft_status wi_exact_scan_call_run(weft_context *ctx, wi_call *call, wi_exact_scan_args *args);

/* The rungs; `ranks` gets wi_dist_args. */
weft_status wi_exact_scan_serial(weft_context *ctx, const void *args);
weft_status wi_exact_scan_threads(weft_context *ctx, const void *args);
weft_status wi_exact_scan_wide(weft_context *ctx, const void *args);
weft_status wi_exact_scan_bulk(weft_context *ctx, const void *args);
weft_status wi_exact_scan_lanes(weft_context *ctx, const void *args);
weft_status wi_exact_scan_ranks(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
