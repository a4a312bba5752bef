/* SPDX-License-Identifier: Apache-2.0 */
/* Charts of counts for terminals. */
#ifndef WI_CHART_H
#define WI_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Even bins over [lo, hi), and the number of elements outside. */
typedef struct wi_chart {
    const char *title; /* or NULL */
    size_t bins;
    double lo, hi;
    const uint64_t *counts;
    uint64_t below, above, nan;
    bool every_bin; /* print a line for each bin, however many there are */
} wi_chart;

/* Prints the chart on standard output, a bar on each line. Unless every bin is wanted there are at
 * most 32 lines; if there are more bins, a line stands for several neighbouring ones, and a last
 * line says so. Bars consist of block characters on a terminal with UTF-8, else of #. */
void wi_print_chart(const wi_chart *chart);

#endif
