/* SPDX-License-Identifier: Apache-2.0 */
/* Right-hand sides for `weft solve`: columns of doubles from a .npy or a Matrix Market file. */
#ifndef WI_RHS_H
#define WI_RHS_H

#include "cli/session.h"
#include "weft/sparse.h"

extern const wi_option wi_rhs_option;

/* n x count numbers, by columns. Zeroed, it holds nothing. */
typedef struct wi_rhs {
    size_t n, count;
    bool flat;     /* one column, and an array of one dimension */
    double *value; /* from wi_host_alloc */
} wi_rhs;

/* Room for n x count numbers. For these three, anything but WI_EXIT_OK has been explained. */
wi_exit wi_rhs_take(const wi_arguments *args, size_t n, size_t count, bool flat, wi_rhs *rhs);

/* What --rhs names, "-" being standard input: n rows are wanted. */
wi_exit wi_rhs_load(const wi_arguments *args, weft_context *ctx, size_t n, wi_rhs *rhs);

/* A times a column of ones; and what rounding it has left, rhs - A 1. */
wi_exit wi_rhs_of_ones(const wi_arguments *args, weft_context *ctx, const weft_sparse *matrix,
                       wi_rhs *rhs, wi_rhs *rounding);

/* The same numbers as an array, which must not be freed apart. */
wi_npy wi_rhs_as_array(const wi_rhs *rhs);

void wi_rhs_free(wi_rhs *rhs);

#endif
