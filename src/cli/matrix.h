/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands on sparse matrices have in common. */
#ifndef WI_CLI_MATRIX_H
#define WI_CLI_MATRIX_H

#include "cli/session.h"
#include "weft/sparse.h"

enum {
    WI_BEHIND_LABEL = 10 /* column at which the values in a report on a matrix begin */
};

extern const wi_option wi_kind_option, wi_ordering_option, wi_factorizations_option, wi_half_option,
    wi_symmetry_tolerance_option;

/* Prints an error if --ordering names no ordering. */
wi_exit wi_check_ordering(const wi_arguments *args);

/* What --factorizations says; prints an error if it is no count. */
wi_exit wi_check_factorizations(const wi_arguments *args, double *factorizations);

/* What --kind says; prints an error if it names no kind. And the name of a kind. */
wi_exit wi_check_kind(const wi_arguments *args, weft_chol_kind *kind);
const char *wi_kind_name(weft_chol_kind kind);

/* Prints an error if --half or --symmetry-tolerance make no sense. */
wi_exit wi_check_meaning(const wi_arguments *args);

/* The first operand, or "standard input", with control characters escaped: for messages, reports
 * and pictures. */
const char *wi_matrix_name(const wi_arguments *args);

/* Reads the first operand ("-": standard input), which must be a symmetric matrix. On failure an
 * error has been printed. */
wi_exit wi_load_matrix(const wi_arguments *args, weft_context *ctx, weft_sparse **matrix);

/* Prints how far apart the two halves of the file were, unless they were equal. */
void wi_print_asymmetry(FILE *to, const weft_sparse *matrix);

/* After weft_chol_factor failed: prints why, and which column of the file showed it; returns
 * WI_EXIT_FAILED. */
wi_exit wi_factor_failed(const wi_arguments *args, weft_status status, const weft_context *ctx,
                         const weft_chol *plan);

#endif
