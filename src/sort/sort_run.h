/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls of this folder share: checks, temporary memory, values of any width. */
#ifndef WI_SORT_RUN_H
#define WI_SORT_RUN_H

#include "core/gpu.h"
#include "sort/sort.h"

/* Checks; what they refuse has been explained. */
weft_status wi_sort_check_order(weft_context *ctx, const char *call, weft_order order);
/* n items of `bytes` bytes at p, of any alignment. */
weft_status wi_sort_check_bytes(weft_context *ctx, const char *call, const char *name,
                                const void *p, size_t n, size_t bytes);
weft_status wi_sort_check_apart(weft_context *ctx, const char *call, const char *name_a,
                                const void *a, size_t bytes_a, const char *name_b, const void *b,
                                size_t bytes_b);
/* Can the bytes of all temporary arrays be counted, at most 8 times 16 bytes for each of n elements
 * and 8 times the `bytes` that it has beside its key? */
weft_status wi_sort_check_room(weft_context *ctx, const char *call, size_t n, size_t bytes);
weft_status wi_sort_check_asked(weft_context *ctx, const char *call, const size_t *bytes);
/* Type, order, keys and values of a call that has them all. */
weft_status wi_sort_check(weft_context *ctx, weft_order order, const wi_sort_args *args);

/* Temporary memory of the place. */
weft_status wi_sort_take(weft_context *ctx, const char *call, size_t bytes, void **p);
void wi_sort_give(weft_context *ctx, void *p);

typedef weft_status (*wi_sort_rung)(weft_context *ctx, const void *args);

/* Names a function of a build with CUDA. */
#ifdef WEFT_CUDA
#    define WI_CUDA_RUNG(function) (function)
#else
#    define WI_CUDA_RUNG(function) NULL
#endif

/* Runs the one that is for the place; without one for it, the call is WEFT_EUNSUPPORTED. */
weft_status wi_sort_on_place(weft_context *ctx, const char *call, wi_sort_rung cpu,
                             wi_sort_rung cuda, const void *args);

typedef weft_status (*wi_sort_run)(weft_context *ctx, const wi_sort_args *args, const void *user);

/* Calls `run` with values that rungs move (see wi_sort_args); others are moved here. */
weft_status wi_sort_any_values(weft_context *ctx, const wi_sort_args *args, wi_sort_run run,
                               const void *user);

/* A wi_sort_run: the ladder. `user` is not looked at. */
weft_status wi_sort_ladder_run(weft_context *ctx, const wi_sort_args *args, const void *user);

#endif
