/* SPDX-License-Identifier: Apache-2.0 */
/* Filters of low rank: the sum of a few terms, each the product of a column and a row. */
#ifndef WI_CONVOLVE_TERMS_H
#define WI_CONVOLVE_TERMS_H

#include "convolve/convolve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How far the sum of the terms may be from a filter: the root of the sum of squared differences,
 * divided by that of the squared weights. */
static inline double wi_convolve_terms_within(bool doubles) {
    return doubles ? 0x1p-49 : 0x1p-22;
}

/* How many terms have fewer weights than the filter; 0: not even one. */
size_t wi_convolve_most_terms(const wi_convolve_args *args);

/* Doubles that wi_convolve_find_terms needs. */
size_t wi_convolve_terms_room(const wi_convolve_args *args);

/* Sets `terms`, `term_columns` and `term_rows`, which lie in `room`, if all filters are near enough
 * to a sum of at most wi_convolve_most_terms terms; that number must not be 0. */
void wi_convolve_find_terms(wi_convolve_args *args, double *room);

/* The rung low_rank of each kind of place. */
weft_status wi_convolve_low_rank_cpu(weft_context *ctx, const wi_convolve_args *args);
weft_status wi_convolve_low_rank_cuda(weft_context *ctx, const wi_convolve_args *args);

#ifdef __cplusplus
}
#endif
#endif
