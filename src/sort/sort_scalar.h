/* SPDX-License-Identifier: Apache-2.0 */
/* From one element to its key and back (wi_sort_key of sort.h), for code that looks at single
 * elements, such as searches. */
#ifndef WI_SORT_SCALAR_H
#define WI_SORT_SCALAR_H

#include <string.h>

#include "sort/sort.h"

/* The key of x[i]. Elements have `size` bytes, 1, 2, 4 or 8, and x is aligned to it. */
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
    const uint64_t negative = 0 - (bits >> (8 * size - 1)); /* all bits set, or 0 */
    const uint64_t t = bits ^ (key->sign | (negative & key->floats));
    return ((t - key->lowest) & ones) ^ key->flip;
}

/* Stores the element that has this key, at any address. */
static inline void wi_sort_of_key(const wi_sort_key *key, size_t size, uint64_t k, void *element) {
    const uint64_t ones = UINT64_MAX >> (64 - 8 * size);
    const uint64_t t = ((k ^ key->flip) + key->lowest) & ones;
    const uint64_t positive = 0 - (t >> (8 * size - 1)); /* of floats: all bits set, or 0 */
    const uint64_t bits = t ^ (key->sign | (~positive & key->floats));
    const uint8_t bits_8 = (uint8_t)bits;
    const uint16_t bits_16 = (uint16_t)bits;
    const uint32_t bits_32 = (uint32_t)bits;
    const void *const from[] = {[1] = &bits_8, [2] = &bits_16, [4] = &bits_32, [8] = &bits};
    memcpy(element, from[size], size);
}

#endif
