/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a Cholesky factorization. Internal. */
#ifndef WI_SPARSE_CHOL_H
#define WI_SPARSE_CHOL_H

#include "sparse/symbolic.h"

#ifdef __cplusplus
extern "C" {
#endif

struct weft_chol {
    wi_symbolic symbolic;
    uint64_t fingerprint; /* of the pattern analyzed */
    weft_chol_report report;
};

/* A number that tells patterns apart: entries and their places, not values. */
uint64_t wi_pattern_fingerprint(const weft_sparse *matrix);

/* A plan with nothing in it. */
weft_status wi_chol_create(weft_context *ctx, const char *call, weft_chol **plan);

/* Fills what the report says of the structure. */
void wi_chol_describe(weft_chol *plan);

#ifdef __cplusplus
}
#endif
#endif
