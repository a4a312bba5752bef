/* SPDX-License-Identifier: Apache-2.0 */
/* `weft solve` of a matrix in a .npy file. */
#ifndef WI_CLI_SOLVE_DENSE_H
#define WI_CLI_SOLVE_DENSE_H

#include "cli/session.h"
#include "weft/solve.h"

extern const wi_option wi_spd_option, wi_precision_option, wi_exact_solution_option;

/* Is the first operand a .npy file? Of standard input nothing is consumed. On failure an error has
 * been printed. */
wi_exit wi_is_dense(const wi_arguments *args, bool *dense);

/* What --precision says; AUTO without it. */
wi_exit wi_check_precision(const wi_arguments *args, weft_precision *precision);

/* The whole command; options that mean nothing here have been refused. */
wi_exit wi_solve_dense(const wi_arguments *args);

#endif
