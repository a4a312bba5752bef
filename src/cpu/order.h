/* SPDX-License-Identifier: Apache-2.0 */
/* The order that decides minima, maxima and their positions. */
#ifndef WI_CPU_ORDER_H
#define WI_CPU_ORDER_H

#include <math.h>

#include "core/core.h"

/* Does a come before b, for a minimum? NaN comes before all else, -0.0 before +0.0. */
static inline bool wi_comes_before(double a, double b) {
    if (isnan(b))
        return false;
    return isnan(a) || a < b || (a == b && signbit(a) && !signbit(b));
}

/* Exclusive-or with this makes signed integers compare correctly as unsigned ones; 0 for all other
 * types. */
static inline uint64_t wi_sign_turn(weft_type type) {
    if (wi_type_is_float(type) || wi_type_is_signed(type))
        return 0;
    return (uint64_t)1 << (8 * weft_type_size(type) - 1);
}

#endif
