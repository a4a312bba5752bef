/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory this process uses, and how much it will use. */
#ifndef WI_MEMORY_H
#define WI_MEMORY_H

#include <stddef.h>

#include "weft/sparse.h"

/* Returns freed memory that the C library keeps to the system; then returns how many bytes are
 * resident. */
size_t wi_resident_bytes(void);

/* The most memory that has been resident. Linux: from /proc; getrusage would also count the program
 * that this process ran before exec. Other systems: from getrusage. */
size_t wi_most_resident_bytes(void);

/* The most memory that this process will have used after solving with the plan that `report`
 * describes: `resident` bytes now, the values of L, and `more` bytes. */
size_t wi_predicted_bytes(const weft_chol_report *report, size_t resident, size_t more);

#endif
