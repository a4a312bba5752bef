/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands that compute have in common: a place, a forced variant, files. */
#ifndef WI_SESSION_H
#define WI_SESSION_H

#include <stdio.h>

#include "cli/ops.h"
#include "cli/options.h"
#include "cli/output.h"
#include "io/npy.h"

/* Opens the place of --place, else that of WEFT_PLACE, else the best there is (the cpu for an
 * operation with rungs for the cpu only), and forces --variant on the ladder `op` (NULL: the
 * command has none). Fails if the place has no rungs of `op`. On failure an error has been printed,
 * and *ctx is NULL. */
wi_exit wi_session_open(const wi_arguments *args, const char *op, weft_context **ctx);

/* Prints the context's message; returns WI_EXIT_FAILED. */
wi_exit wi_session_failed(const weft_context *ctx);

/* Opens a file to read ("-": standard input, which must not be a terminal); `kind` says what it
 * should contain, for messages. On failure an error has been printed. */
wi_exit wi_open_input(const wi_arguments *args, const char *path, const char *kind, FILE **file);
void wi_close_input(FILE *file);

/* Reads operand `path` ("-": standard input). If --type is given the file must be of that type. */
wi_exit wi_load(const wi_arguments *args, const char *path, wi_npy *array);

/* The same, but ignores --type: the file must be of *type, unless that is NULL. */
wi_exit wi_load_any(const wi_arguments *args, const char *path, const weft_type *type,
                    wi_npy *array);

/* The same with chosen columns, or all if `columns` is NULL, in place of those of --columns. */
wi_exit wi_load_any_columns(const wi_arguments *args, const char *path, const char *columns,
                            const weft_type *type, wi_npy *array);

/* Refuses several columns of a table of text, for an operation that would mix their numbers and
 * write them back under the columns' names. */
wi_exit wi_need_one_column(const wi_arguments *args, const weft_context *ctx, const wi_npy *array);

/* Prints an error if the arrays of the first two operands differ in type or shape. */
wi_exit wi_check_alike(const wi_arguments *args, const wi_npy_layout *a, const wi_npy_layout *b);

/* Writes to the file that `option` names ("-": standard output). A table gets the array's titles,
 * if it has as many columns. */
wi_exit wi_save(const wi_arguments *args, const wi_option *option, const wi_npy *array);

/* The same; a table of text gets these names of its columns, separated by commas, as its first
 * line. */
wi_exit wi_save_titled(const wi_arguments *args, const wi_option *option, const char *titles,
                       const wi_npy *array);

/* Prints an error if the array that `option` names would go to a terminal or to standard output
 * together with --json, or if wi_check_writable refuses it. Called before the computation. */
wi_exit wi_check_array_output(const wi_arguments *args, const wi_option *option);

/* The same for --output, which must be given. */
wi_exit wi_need_output(const wi_arguments *args);

/* With --json, prints what was written: `op` of the ladder `ladder`. */
void wi_print_saved(const wi_arguments *args, const char *op, const char *ladder,
                    const weft_context *ctx, const wi_npy_layout *layout);

/* Parses --op, which is `option`; sum if it is not given. */
wi_exit wi_chosen_op(const wi_arguments *args, const wi_option *option, const wi_op_name **op);

#endif
