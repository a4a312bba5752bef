/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands that compute have in common: a place, a forced variant, files. */
#ifndef WI_SESSION_H
#define WI_SESSION_H

#include <stdio.h>

#include "cli/ops.h"
#include "cli/options.h"
#include "cli/output.h"
#include "io/npy.h"

/* Opens the place of --place, or else that of WEFT_PLACE or the best there is (the cpu for an
 * operation that has rungs for no other), and forces --variant on operation `op` (NULL: the command
 * has none). A place without rungs of `op` is a failure. Anything but WI_EXIT_OK has been
 * explained, and *ctx is NULL. */
wi_exit wi_session_open(const wi_arguments *args, const char *op, weft_context **ctx);

/* Prints the context's message; returns WI_EXIT_FAILED. */
wi_exit wi_session_failed(const weft_context *ctx);

/* Opens a file to read, "-" being standard input, which must not be a terminal; `kind` says what
 * should come from there. Anything but WI_EXIT_OK has been explained. */
wi_exit wi_open_input(const wi_arguments *args, const char *path, const char *kind, FILE **file);
void wi_close_input(FILE *file);

/* Reads operand `path`, "-" being standard input. --type, if given, must be the file's. */
wi_exit wi_load(const wi_arguments *args, const char *path, wi_npy *array);

/* The same whatever --type says: the file must be of *type, unless that is NULL. */
wi_exit wi_load_any(const wi_arguments *args, const char *path, const weft_type *type,
                    wi_npy *array);

/* Explains if the arrays of the first two operands differ in type or shape. */
wi_exit wi_check_alike(const wi_arguments *args, const wi_npy_layout *a, const wi_npy_layout *b);

/* Writes to the file that `option` names, "-" being standard output. */
wi_exit wi_save(const wi_arguments *args, const wi_option *option, const wi_npy *array);

/* Explains if the array that `option` names, if it does, would go to a terminal or to where --json
 * prints, or is refused by wi_check_writable. Called before the work is done. */
wi_exit wi_check_array_output(const wi_arguments *args, const wi_option *option);

/* The same for --output, which must not be missing. */
wi_exit wi_need_output(const wi_arguments *args);

/* With --json, tells what was written: `op` of the ladder `ladder`. */
void wi_print_saved(const wi_arguments *args, const char *op, const char *ladder,
                    const weft_context *ctx, const wi_npy_layout *layout);

/* Understands --op, which is `option`; sum if it is not given. */
wi_exit wi_chosen_op(const wi_arguments *args, const wi_option *option, const wi_op_name **op);

#endif
