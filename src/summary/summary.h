/* SPDX-License-Identifier: Apache-2.0 */
/* summary inside the library: one call as its rungs get it, and the rungs. */
#ifndef WI_SUMMARY_H
#define WI_SUMMARY_H

#include "core/rows.h"
#include "summary/summary_state.h"
#include "weft/reduce.h"
#include "weft/summary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call on memory that the place can access directly. A long host array on a GPU becomes several
 * calls, one for each segment, which pass on a state. */
typedef struct wi_summary_args {
    weft_type type;
    size_t n; /* may be 0 */
    const void *x;
    uint64_t first;                   /* position of x[0] in the whole array */
    const wi_summary_state *state_in; /* of earlier elements, on a GPU; NULL: none */
    wi_summary_state *state_out;      /* receives the state instead of the result; or NULL */
    weft_statistics *result;          /* may be unaligned on a cpu */
    bool wants_state;                 /* the last part gives out its state, too */
} wi_summary_args;

extern const wi_ladder wi_summary_ladder;

/* Ends a summary on the host: into state_out or the result. */
void wi_summary_put(const wi_summary_args *args, const wi_summary_state *state);

/* The result of a state. */
void wi_summary_finish(weft_type type, const wi_summary_state *state, weft_statistics *result);

/* The state of a checked call's elements, on this place alone; in host memory. */
weft_status wi_summary_state_of(weft_context *ctx, const wi_summary_args *args,
                                wi_summary_state *state);

/* ---- the rungs ---- */
weft_status wi_summary_serial(weft_context *ctx, const void *args);
weft_status wi_summary_threads(weft_context *ctx, const void *args);
weft_status wi_summary_one_pass(weft_context *ctx, const void *args);
weft_status wi_summary_ranks(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
