/* SPDX-License-Identifier: Apache-2.0 */
/* Right-hand sides for `weft solve`: columns of doubles from a .npy or a Matrix Market file. */
#ifndef WI_RHS_H
#define WI_RHS_H

#include "cli/session.h"
#include "weft/sparse.h"

extern const wi_option wi_rhs_option;

/* n x count numbers, by columns. All zeros: empty. */
typedef struct wi_rhs {
    size_t n, count;
    bool flat;     /* one column that came from an array of one dimension */
    double *value; /* from wi_host_alloc */
} wi_rhs;

/* Allocates room for n x count numbers. If one of these three fails, an error has been printed. */
wi_exit wi_rhs_take(const wi_arguments *args, size_t n, size_t count, bool flat, wi_rhs *rhs);

/* Reads the file of --rhs ("-": standard input), which must have n rows. */
wi_exit wi_rhs_load(const wi_arguments *args, weft_context *ctx, size_t n, wi_rhs *rhs);

/* A times a column of ones; and the rounding error of that product, rhs - A 1. */
wi_exit wi_rhs_of_ones(const wi_arguments *args, weft_context *ctx, const weft_sparse *matrix,
                       wi_rhs *rhs, wi_rhs *rounding);

/* The same numbers as an array; do not free it. */
wi_npy wi_rhs_as_array(const wi_rhs *rhs);

void wi_rhs_free(wi_rhs *rhs);

#endif
