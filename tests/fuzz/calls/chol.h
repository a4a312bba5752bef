/* SPDX-License-Identifier: Apache-2.0 */
/* A symmetric system to factor and solve, and what an oracle says of it. */
#ifndef WEFT_FUZZ_CHOL_H
#define WEFT_FUZZ_CHOL_H

#include "calls/dense.h"

typedef enum fuzz_outcome {
    DEFINITE,
    INDEFINITE, /* in a leading block that no rounding makes definite */
    UNCLEAR
} fuzz_outcome;

typedef struct fuzz_chol_case {
    fuzz *f;
    size_t n;
    fuzz_dense a; /* both halves */
    weft_sparse *matrix;
    weft_chol *plan;
    const int64_t *perm;
    long double *l; /* of P A Pt, row by row */
    fuzz_outcome outcome;
    size_t failed; /* the first column of P A Pt where it is not definite */
    int left;      /* calls of the progress function before it cancels */
} fuzz_chol_case;

/* The plan goes through a file, and is used on; and a damaged file is refused or harmless. */
void fuzz_plan_through_file(fuzz_chol_case *c);

/* Now and then analyzes, factors and solves the system as one of the kinds with D; the oracle has
 * factored. */
void fuzz_chol_kinds(fuzz_chol_case *c);

#endif
