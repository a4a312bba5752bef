/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to add up floats that round in the type of the elements, for the teaching rungs and for
 * `weft precision`. */
#ifndef WI_REDUCE_METHODS_H
#define WI_REDUCE_METHODS_H

#include <stddef.h>

#include "weft/types.h"

/* Plain loops on one thread of the cpu, by what they do about rounding. */
typedef enum wi_method {
    WI_NAIVE,         /* one addition after the other */
    WI_PAIRWISE,      /* halves of the array, added; runs of 32 as NAIVE */
    WI_COMPENSATED,   /* what each addition loses is added up beside (Neumaier 1974) */
    WI_DOUBLE_DOUBLE, /* the sum is kept in two f64 */
    WI_METHODS
} wi_method;

extern const char *const wi_method_names[WI_METHODS];

/* The sum of n elements of a float type. Every sum is rounded to that type; DOUBLE_DOUBLE rounds to
 * f64 once, at its end. */
double wi_method_sum(wi_method method, weft_type type, size_t n, const void *x);

#endif
