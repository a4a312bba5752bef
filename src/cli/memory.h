/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory this process has, and is going to have. */
#ifndef WI_MEMORY_H
#define WI_MEMORY_H

#include <stddef.h>

#include "weft/sparse.h"

/* Gives memory that was freed, and that the C library keeps for later, back to the system; returns
 * how much is resident then. */
size_t wi_resident_bytes(void);

/* What solving with a plan, of which `report` is, will have taken of this process at the most: what
 * is resident now, and the numbers of L and `more` bytes beside. */
size_t wi_predicted_bytes(const weft_chol_report *report, size_t resident, size_t more);

#endif
