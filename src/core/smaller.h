/* SPDX-License-Identifier: Apache-2.0 */
/* The smaller of two sizes. */
#ifndef WI_CORE_SMALLER_H
#define WI_CORE_SMALLER_H

#include <stddef.h>

static inline size_t wi_smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

#endif
