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

/* What goes on beside a dissection: one of its threads does `work` before it takes parts, while
 * others divide. Both are called with `user`. */
typedef struct wi_dissection_beside {
    void (*work)(void *user);
    void (*finished)(void *user); /* perm is there; `work` may go on */
    void *user;
    atomic_bool unwanted; /* once set, the dissection ends soon, and leaves no ordering */
} wi_dissection_beside;

/* Orders by nested dissection on at most `threads` threads; the result is the same for any number.
 * `name` is the ordering's name, for messages; `beside` may be NULL;
 * with it a failure sets no message. */
weft_status wi_dissect(weft_context *ctx, const wi_order_args *args, const char *name,
                       wi_separator_rule *separate, int threads, wi_dissection_beside *beside);

#ifdef __cplusplus
}
#endif
#endif
