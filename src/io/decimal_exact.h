/* SPDX-License-Identifier: Apache-2.0 */
/* Reading decimals exactly, with integers of thousands of bits, if nothing cheaper decides.
 * Internal to decimal.c. */
#ifndef WI_DECIMAL_EXACT_H
#define WI_DECIMAL_EXACT_H

#include <stdint.h>

/* Compares a number with the point half-way between the finite double of `bits` (positive or zero)
 * and the next one: the result is negative, zero or positive if the number is below, on or above
 * it. The number is the digits in [digits, end), which may contain a point, times 10^exponent; it
 * must be between the two doubles and have a nonzero digit. */
int wi_decimal_compare_halfway(const char *digits, const char *end, int64_t exponent,
                               uint64_t bits);

#endif
