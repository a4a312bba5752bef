/* SPDX-License-Identifier: Apache-2.0 */
/* How far sums are from the exact ones, for the climbs of operations that add up. */
#ifndef WI_EXACT_ERROR_CLIMB_H
#define WI_EXACT_ERROR_CLIMB_H

#include "climb/climb.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds up the n elements at x, of setup->type: one public call. */
typedef weft_status (*wi_error_call)(const wi_setup *setup, size_t n, const void *x, void *sum);

/* Makes setup->n numbers in [-1, 1), 2^20 at most, in memory of the place, and finds by how many
 * units in the last place of `type`, which the call's result has, their sum differs from the exact
 * one. */
weft_status wi_error_of_sum(const wi_setup *setup, weft_type type, wi_error_call call,
                            double *ulps);

#ifdef __cplusplus
}
#endif
#endif
