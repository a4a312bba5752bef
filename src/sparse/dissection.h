/* SPDX-License-Identifier: Apache-2.0 */
/* Nested dissection, with any method of finding separators. */
#ifndef WI_SPARSE_DISSECTION_H
#define WI_SPARSE_DISSECTION_H

#include "sparse/order.h"
#include "sparse/separator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finds a separator, with the contract of wi_separate. */
typedef bool wi_separator_rule(wi_arena *arena, const wi_graph *graph, uint64_t seed,
                               uint8_t *side);

/* Orders by nested dissection on at most `threads` threads; the result is the same for any number.
 * `name` is the ordering's name, for messages. */
weft_status wi_dissect(weft_context *ctx, const wi_order_args *args, const char *name,
                       wi_separator_rule *separate, int threads);

#ifdef __cplusplus
}
#endif
#endif
