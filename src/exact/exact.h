/* SPDX-License-Identifier: Apache-2.0 */
/* exact inside the library: one call as its rungs get it, and the rungs. */
#ifndef WI_EXACT_H
#define WI_EXACT_H

#include "core/call.h"
#include "core/rows.h"
#include "exact/exact_number.h"
#include "weft/exact.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is added up. */
typedef enum wi_exact_terms {
    WI_EXACT_SUM,     /* x */
    WI_EXACT_NRM1,    /* |x| */
    WI_EXACT_SQUARES, /* x^2 */
    WI_EXACT_DOT,     /* x y */
    WI_EXACT_TERMS
} wi_exact_terms;

/* One call on memory that the place can access directly. A long host array on a GPU becomes several
 * calls, one for each segment; between them the sum stays in memory of the device. */
typedef struct wi_exact_args {
    wi_exact_terms terms;
    weft_type type, result_type;
    size_t n;
    const void *x;
    const void *y; /* DOT only */
    bool root;     /* the result is the square root of the sum */
    bool last;     /* no segment follows */
    void *result;  /* receives the rounded sum of all segments, or instead */
    int64_t *sum;  /* receives all its words, carried */
} wi_exact_args;

/* Describes a call with the arrays of args, and runs it on this place alone when they are checked.
 * `call` gets the public name. */
void wi_exact_describe(weft_context *ctx, const char *name, const wi_exact_args *args,
                       wi_call *call);
weft_status wi_exact_call_run(weft_context *ctx, wi_call *call, wi_exact_args *args);

/* Checks and runs a call on any place; `status` is what its own checks have said. */
weft_status wi_exact_call(weft_context *ctx, const char *name, wi_exact_args *args,
                          weft_status status);

/* Over ranks: the words of this rank's elements, carried. */
weft_status wi_exact_add_part(weft_context *ctx, const char *name, wi_exact_args args,
                              int64_t *word);

/* Refuses what is not a float type; `argument` is its name. */
weft_status wi_exact_check_float(weft_context *ctx, const char *call, const char *argument,
                                 weft_type type);

/* Ends a call in host memory: rounds the words, or stores them. */
void wi_exact_finish(const wi_exact_args *args, const int64_t *word);

/* Element i of an array of floats. */
double wi_exact_load(weft_type type, const void *x, size_t i);

/* Adds elements [from, from + n), one by one. */
void wi_exact_add_elements(const wi_exact_args *args, size_t from, size_t n, int64_t *word);

extern const wi_ladder wi_exact_ladder;

/* The rungs; `ranks` gets wi_dist_args. The result is host memory on the cpu, and memory that the
 * device can access on a GPU. */
weft_status wi_exact_serial(weft_context *ctx, const void *args);
weft_status wi_exact_threads(weft_context *ctx, const void *args);
weft_status wi_exact_digits(weft_context *ctx, const void *args);
weft_status wi_exact_folds(weft_context *ctx, const void *args);
weft_status wi_exact_windows(weft_context *ctx, const void *args);
weft_status wi_exact_ranks(weft_context *ctx, const void *args);

/* The words of elements [from, from + n) of a sum, carried, by the way that `threads` adds. */
void wi_exact_add_share(const wi_exact_args *args, size_t from, size_t n, int64_t *word);

#ifdef __cplusplus
}
#endif
#endif
