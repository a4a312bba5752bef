/* SPDX-License-Identifier: Apache-2.0 */
/* Charts of counts for terminals. */
#ifndef WI_CHART_H
#define WI_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Even bins over [lo, hi) and what lies outside. */
typedef struct wi_chart {
    const char *title; /* or NULL */
    size_t bins;
    double lo, hi;
    const uint64_t *counts;
    uint64_t below, above, nan;
    bool every_bin; /* a line for each bin, however many there are */
} wi_chart;

/* Prints it on standard output: a bar a line, 32 of them at most unless every bin is wanted;
 * neighbouring bins go together where there are more, and a last line says so. Bars are of block
 * characters on a terminal that shows UTF-8, else of #. */
void wi_print_chart(const wi_chart *chart);

#endif
