/* SPDX-License-Identifier: Apache-2.0 */
/* `weft solve` of a sparse matrix: what a run has, and the report on it. */
#ifndef WI_CLI_SOLVE_REPORT_H
#define WI_CLI_SOLVE_REPORT_H

#include "cli/rhs.h"
#include "weft/sparse.h"

extern const wi_option wi_refine_option;

/* One run of the command. */
typedef struct wi_solving {
    const wi_arguments *args;
    weft_context *ctx;
    weft_sparse *matrix;
    weft_chol *plan;
    weft_chol_kind kind;
    weft_precision precision;
    double factorizations; /* that there will be */
    wi_rhs b, x;
    wi_rhs rounding; /* for b = A 1: first the rounding error of b, then A \ that error */
    size_t repeats;
    double *factor_seconds, *solve_seconds; /* of each repeat */
    size_t bytes_predicted;                 /* of the whole process, at its largest */
    double shown_at;                        /* when progress was shown last */
    size_t first;                           /* over ranks, the first of this rank's rows */
} wi_solving;

/* The report, when the system is solved: as JSON, or in words. */
void wi_solve_print_json(const wi_solving *s, const weft_chol_report *report);
void wi_solve_print_report(const wi_solving *s, const weft_chol_report *report);

#endif
