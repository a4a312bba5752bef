/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands on sparse matrices have in common. */
#ifndef WI_CLI_MATRIX_H
#define WI_CLI_MATRIX_H

#include "cli/session.h"
#include "weft/sparse.h"

/* Explains if --ordering names none. */
wi_exit wi_check_ordering(const wi_arguments *args);

/* The first operand, or "standard input", as wi_shown has it: for messages, reports and pictures.
 */
const char *wi_matrix_name(const wi_arguments *args);

/* Reads the first operand, "-" being standard input, a symmetric matrix; anything but WI_EXIT_OK
 * has been explained. */
wi_exit wi_load_matrix(const wi_arguments *args, weft_context *ctx, weft_sparse **matrix);

/* After WEFT_ENOTSPD: says which column of the file showed it; returns WI_EXIT_FAILED. */
wi_exit wi_not_definite(const wi_arguments *args, const weft_chol *plan);

#endif
