/* SPDX-License-Identifier: Apache-2.0 */
/* One key at a time, for accesses that vectors cannot do. */
#ifndef WI_SORT_SCALAR_H
#define WI_SORT_SCALAR_H

#include "sort/sort.h"

/* The key of x[i], where elements have `size` bytes. */
static inline uint64_t wi_sort_key_at(const wi_sort_key *key, size_t size, const void *x,
                                      size_t i) {
    uint64_t bits = 0;
    switch (size) {
    case 1:
        bits = ((const uint8_t *)x)[i];
        break;
    case 2:
        bits = ((const uint16_t *)x)[i];
        break;
    case 4:
        bits = ((const uint32_t *)x)[i];
        break;
    default:
        bits = ((const uint64_t *)x)[i];
    }
    const uint64_t ones = UINT64_MAX >> (64 - 8 * size);
    const uint64_t negative = 0 - (bits >> (8 * size - 1));
    const uint64_t t = bits ^ (key->sign | (negative & key->floats));
    return ((t - key->lowest) & ones) ^ key->flip;
}

#endif
