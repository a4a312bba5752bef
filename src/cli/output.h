/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the command writes. Whatever ends it, a signal too, they are the old ones or the new
 * ones, whole. */
#ifndef WI_CLI_OUTPUT_H
#define WI_CLI_OUTPUT_H

#include "cli/options.h"
#include "io/target.h"

/* Is this "-", which stands for standard input or output? */
bool wi_is_standard(const char *path);

/* Explains if the file that `option` names, if it does, cannot be written, is where another output
 * goes, or is an input; but --output may take the place of an array. Nothing is written yet. */
wi_exit wi_check_writable(const wi_arguments *args, const wi_option *option);

/* A file being written, or standard output. */
typedef struct wi_output {
    FILE *file;
    const char *name; /* for messages */
    wi_target target; /* open unless it is standard output */
} wi_output;

/* Opens one; no more than one at a time. From here to wi_output_end a signal that ends the command
 * takes the unfinished file along. Anything but WI_EXIT_OK has been explained. */
wi_exit wi_output_open(const char *path, wi_output *output);

/* Ends it. `written` says whether all went well; if not, which has been explained, what was written
 * is removed. Anything but WI_EXIT_OK has been explained. */
wi_exit wi_output_end(wi_output *output, bool written);

#endif
