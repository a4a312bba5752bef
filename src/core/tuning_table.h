/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a table of tuning, for tuning.c and tuning_read.c. */
#ifndef WI_TUNING_TABLE_H
#define WI_TUNING_TABLE_H

#include "core/tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Factors by row, type and class of calls; 0: none measured. */
struct wi_tuning {
    double *of[WI_MAX_OPS]; /* by index in wi_ops; NULL: the table says nothing of this one */
};

/* Makes room for the factors of wi_ops[op]. */
weft_status wi_tuning_take(wi_tuning *tuning, size_t op);

/* Where a factor is; NULL if there is no room for it. */
double *wi_tuning_at(const wi_tuning *tuning, size_t op, size_t row, weft_type type,
                     unsigned shape);

#ifdef __cplusplus
}
#endif
#endif
