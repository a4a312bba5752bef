/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of sizes: the smaller and the greater of two, and multiples. */
#ifndef WI_CORE_SMALLER_H
#define WI_CORE_SMALLER_H

#include <stddef.h>

static inline size_t wi_smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static inline size_t wi_greater(size_t a, size_t b) {
    return a > b ? a : b;
}

/* The least multiple of `unit` that is not below x. */
static inline size_t wi_round_up(size_t x, size_t unit) {
    return (x + unit - 1) / unit * unit;
}

#endif
