/* SPDX-License-Identifier: Apache-2.0 */
/* What is between each pair of several ends: as a table, and as a picture. */
#ifndef WI_PAIRS_H
#define WI_PAIRS_H

#include <stdio.h>

#include "cli/text.h"

typedef struct wi_pairs {
    const char *title;
    int ends;
    const void *user;
    const char *(*name)(const void *user, int end, char out[WI_FIELD_BYTES]);
    /* What is shown of a pair; an empty text: nothing is between them. */
    void (*cell)(const void *user, int from, int to, char out[WI_FIELD_BYTES]);
} wi_pairs;

/* Prints the table on standard output, a few columns at a time: within 80 columns of text. */
void wi_print_pairs(const wi_pairs *pairs);

/* Writes an SVG in which the larger numbers of the table are darker, and below it `note`. False:
 * see errno. */
bool wi_plot_pairs(FILE *file, const wi_pairs *pairs, const char *note);

#endif
