/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls in this folder share: checks, temporary memory, values of any width. */
#ifndef WI_SORT_RUN_H
#define WI_SORT_RUN_H

#include "core/call.h"
#include "core/gpu.h"
#include "sort/sort.h"

/* Checks. On failure the message is set. */
weft_status wi_sort_check_order(weft_context *ctx, const char *call, weft_order order);
/* Checks the context, the order and the type of the keys. */
weft_status wi_sort_check_keys(weft_context *ctx, const char *call, weft_order order,
                               weft_type type);
/* Refuses n if 8 n (16 + bytes) overflows; no call takes more bytes of temporary memory. `bytes` is
 * the size of an element besides its key. */
weft_status wi_sort_check_room(weft_context *ctx, const char *call, size_t n, size_t bytes);
weft_status wi_sort_check_asked(weft_context *ctx, const char *call, const size_t *bytes);
weft_status wi_sort_check_bound(weft_context *ctx, const char *call, weft_bound bound);
/* Checks the size of records, and the fields that order them. */
weft_status wi_records_check(weft_context *ctx, const char *call, size_t record_bytes,
                             const weft_field *fields, size_t n_fields);

/* The arrays of a call that sorts keys, by number. */
enum {
    WI_SORT_X,
    WI_SORT_Y,
    WI_SORT_VALUES,
    WI_SORT_VALUES_OUT,
    WI_SORT_ARRAYS
};

/* The description of the call with the arrays of args; with values only if they have bytes. */
wi_call wi_sort_call_of(const wi_sort_args *args);
/* Sets the arrays of args to those of the part; `asked` as in wi_call. */
void wi_sort_place(wi_sort_args *args, const wi_part *part, size_t *asked);
/* wi_call_run, also for a call that only asks for its bytes. */
weft_status wi_sort_call_run(weft_context *ctx, wi_call *call, wi_part_run run, void *args);

/* Sorts on this place alone, arrays in host or device memory. Their checks are part of it. */
weft_status wi_sort_run_here(weft_context *ctx, wi_sort_args *args);

/* Allocates temporary memory of the place. */
weft_status wi_sort_take(weft_context *ctx, const char *call, size_t bytes, void **p);
void wi_sort_give(weft_context *ctx, void *p);

typedef weft_status (*wi_sort_run)(weft_context *ctx, const wi_sort_args *args, const void *user);

/* Calls `run` with values that rungs can move (see wi_sort_args); others are moved here. */
weft_status wi_sort_any_values(weft_context *ctx, const wi_sort_args *args, wi_sort_run run,
                               const void *user);

/* What rung `onesweep` costs; args is a wi_sort_args. */
double wi_sort_onesweep_seconds(const weft_context *ctx, const void *args);

/* Runs the ladder; a wi_sort_run. `user` is not used. */
weft_status wi_sort_ladder_run(weft_context *ctx, const wi_sort_args *args, const void *user);

#endif
