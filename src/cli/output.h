/* SPDX-License-Identifier: Apache-2.0 */
/* Output files of the command. However it ends, even by a signal, each file is either the old one
 * or the complete new one. */
#ifndef WI_CLI_OUTPUT_H
#define WI_CLI_OUTPUT_H

#include "cli/options.h"
#include "io/target.h"

/* Does the path stand for standard input or output? It is "-"; or "-.csv" or "-.txt" for arrays as
 * text. */
bool wi_is_standard(const char *path);

/* What messages call an input: its path, or "standard input". */
const char *wi_input_name(const char *path);

/* Does a file's name end so, as in ".png", in capitals or not? */
bool wi_ends_in(const char *path, const char *suffix);

/* Prints an error if the file that `option` names cannot be written, is another output too, or is
 * an input (but --output may replace an array). An option not given is fine. Nothing is written
 * yet. */
wi_exit wi_check_writable(const wi_arguments *args, const wi_option *option);

/* The same for a picture, which is written as SVG: the name must not have another picture's suffix.
 */
wi_exit wi_check_drawing(const wi_arguments *args, const wi_option *option);

/* A file being written, or standard output. */
typedef struct wi_output {
    FILE *file;
    const char *name; /* name for messages */
    wi_target target; /* open, unless this is standard output */
} wi_output;

/* Opens an output; only one at a time. From here to wi_output_end a signal that ends the command
 * also removes the unfinished file. On failure an error has been printed. */
wi_exit wi_output_open(const char *path, wi_output *output);

/* Closes it. `written` says whether all was written; if not, an error has been printed already, and
 * the unfinished file is removed. On failure an error has been printed. */
wi_exit wi_output_end(wi_output *output, bool written);

#endif
