/* SPDX-License-Identifier: Apache-2.0 */
/* What `weft precision` compares: ways to add up an array, in accumulators of each float type. */
#ifndef WI_PRECISION_H
#define WI_PRECISION_H

#include <stdio.h>

#include "core/core.h"

/* Plain loops on one thread of the cpu, by what they do about rounding. */
typedef enum wi_method {
    WI_NAIVE,         /* one addition after the other */
    WI_PAIRWISE,      /* halves of the array, added; runs of 32 as NAIVE */
    WI_COMPENSATED,   /* what each addition loses is added up beside (Neumaier 1974) */
    WI_DOUBLE_DOUBLE, /* the sum is kept in two f64 */
    WI_METHODS
} wi_method;

extern const char *const wi_method_names[WI_METHODS];

/* The sum of n elements of `type`, with an accumulator of type `in`, to which every element and
 * every sum is rounded. DOUBLE_DOUBLE has f64 only. */
double wi_method_sum(wi_method method, weft_type in, weft_type type, size_t n, const void *x);

/* One line of the comparison. */
typedef struct wi_precision_row {
    const char *method, *place;
    weft_type in;               /* the type of the accumulator, or of the result */
    double sum, error, seconds; /* relative error; NaN if there is none to tell */
} wi_precision_row;

/* One array, and what was found. */
typedef struct wi_precision {
    const char *name;
    weft_type type;
    size_t n;
    double exact, magnitudes; /* the sum, and that of |x|; both exact, rounded to f64 */
    double condition;         /* sum |x| / |sum x| */
    const wi_precision_row *rows;
    size_t count;
} wi_precision;

/* One sentence that explains what the person sees. */
void wi_precision_explain(const wi_precision *p, char *text, size_t bytes);

/* Draws the errors as an SVG; false if the file cannot be written. */
bool wi_plot_precision(FILE *file, const wi_precision *p, size_t count);

#endif
