/* SPDX-License-Identifier: Apache-2.0 */
/* What `weft precision` compares: ways to add up an array, in accumulators of each float type. */
#ifndef WI_PRECISION_H
#define WI_PRECISION_H

#include <stdio.h>

#include "core/core.h"
#include "reduce/reduce_methods.h"

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
