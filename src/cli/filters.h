/* SPDX-License-Identifier: Apache-2.0 */
/* The filters that `weft convolve` knows by name, and those from files. */
#ifndef WI_FILTERS_H
#define WI_FILTERS_H

#include "cli/session.h"

/* One filter; or two, whose results are the sides of a right angle, and the output its third. */
typedef struct wi_filter {
    size_t width, height;
    unsigned count;  /* 1 or 2 */
    bool correlates; /* as named filters do; those of files are turned */
    double *weights; /* from wi_host_alloc: of one filter after the other */
} wi_filter;

/* Makes the filter that `text` says, the value of `option`. On failure an error has been printed.
 */
wi_exit wi_filter_make(const wi_arguments *args, const wi_option *option, const char *text,
                       wi_filter *filter);
void wi_filter_free(wi_filter *filter);

/* The names, for help and completion. */
void wi_list_filters(const wi_command *command, wi_words *words);

#endif
