/* SPDX-License-Identifier: Apache-2.0 */
/* Exact sums by segment and by key: a call is one of group (group.h), of which `op` is SUM, NRM1 or
 * NRM2 and the results have a float type of the caller's choice. */
#ifndef WI_EXACT_SEGMENTS_H
#define WI_EXACT_SEGMENTS_H

#include "exact/exact.h"
#include "group/group.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const wi_ladder wi_exact_segments_ladder;

/* What is added up. */
static inline wi_exact_terms wi_exact_segment_terms(const wi_group_args *a) {
    return a->op == WI_RED_SUM    ? WI_EXACT_SUM
           : a->op == WI_RED_NRM1 ? WI_EXACT_NRM1
                                  : WI_EXACT_SQUARES;
}

/* The rungs. */
weft_status wi_exact_segments_serial(weft_context *ctx, const void *args);
weft_status wi_exact_segments_threads(weft_context *ctx, const void *args);
weft_status wi_exact_segments_paths(weft_context *ctx, const void *args);
/* Segments that are cut between ranks are joined as integers. */
extern const wi_group_pieces wi_exact_pieces;
/* The memory that rung `threads` needs for a call; 0: none. */
size_t wi_exact_segments_bytes(const weft_context *ctx, const wi_group_args *a);
/* Takes the memory that rung `paths` keeps, so that it cannot fail for want of it. */
weft_status wi_exact_segments_prepare(weft_context *ctx, const wi_group_args *args);

#ifdef __cplusplus
}
#endif
#endif
