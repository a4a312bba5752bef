/* SPDX-License-Identifier: Apache-2.0 */
/* The last resort of reading decimals: integers of thousands of bits. Internal to decimal.c. */
#ifndef WI_DECIMAL_EXACT_H
#define WI_DECIMAL_EXACT_H

#include <stdint.h>

/* Compares a number with the point half-way from the finite double of `bits` (positive or zero) to
 * the next: negative, zero or positive as the number is below, on or above it. The number is the
 * digits in [digits, end), a point among them perhaps, times 10^exponent; it must lie between the
 * two doubles, and have a digit that is not 0. */
int wi_decimal_compare_halfway(const char *digits, const char *end, int64_t exponent,
                               uint64_t bits);

#endif
