/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls of this folder share: checks, temporary memory, values of any width. */
#ifndef WI_SORT_RUN_H
#define WI_SORT_RUN_H

#include "core/call.h"
#include "core/gpu.h"
#include "sort/sort.h"

/* Checks; what they refuse has been explained. */
weft_status wi_sort_check_order(weft_context *ctx, const char *call, weft_order order);
/* The context, the order and the type of the keys. */
weft_status wi_sort_check_keys(weft_context *ctx, const char *call, weft_order order,
                               weft_type type);
/* Refuses n if 8 n (16 + bytes) overflows: no call takes more bytes of temporary memory. `bytes` is
 * what an element has beside its key. */
weft_status wi_sort_check_room(weft_context *ctx, const char *call, size_t n, size_t bytes);
weft_status wi_sort_check_asked(weft_context *ctx, const char *call, const size_t *bytes);

/* The arrays of a call that sorts keys, by number. */
enum {
    WI_SORT_X,
    WI_SORT_Y,
    WI_SORT_VALUES,
    WI_SORT_VALUES_OUT,
    WI_SORT_ARRAYS
};

/* The call on the arrays of args; values only if they have bytes. */
wi_call wi_sort_call_of(const wi_sort_args *args);
/* The arrays where they lie now; `asked` as in wi_call. */
void wi_sort_place(wi_sort_args *args, const wi_part *part, size_t *asked);
/* wi_call_run for a call that may be a question about bytes. */
weft_status wi_sort_call_run(weft_context *ctx, wi_call *call, wi_part_run run, void *args);

/* Temporary memory of the place. */
weft_status wi_sort_take(weft_context *ctx, const char *call, size_t bytes, void **p);
void wi_sort_give(weft_context *ctx, void *p);

typedef weft_status (*wi_sort_run)(weft_context *ctx, const wi_sort_args *args, const void *user);

/* Calls `run` with values that rungs move (see wi_sort_args); others are moved here. */
weft_status wi_sort_any_values(weft_context *ctx, const wi_sort_args *args, wi_sort_run run,
                               const void *user);

/* A wi_sort_run: the ladder. `user` is not looked at. */
weft_status wi_sort_ladder_run(weft_context *ctx, const wi_sort_args *args, const void *user);

#endif
