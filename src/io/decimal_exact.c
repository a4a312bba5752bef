/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a decimal number with the point half-way between two doubles, with integers. */
#include "io/decimal_exact.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
    /* A half-way point has at most 768 significant digits, so of the digits after these it only
     * matters whether one is not 0. */
    MOST_DIGITS = 770,
    /* The largest integers: MOST_DIGITS + 1 digits (2562 bits) shifted by up to 1075 bits, and 54
     * bits times 10^(MOST_DIGITS + 1 + 343) (3701 bits). */
    LIMBS = 128
};

/* limb[0] + limb[1] 2^32 + ...; limbs from `used` on are not set. */
typedef struct natural {
    uint32_t limb[LIMBS];
    size_t used;
} natural;

/* n = n * factor + term */
static void multiply_add(natural *n, uint32_t factor, uint32_t term) {
    uint64_t carry = term;
    for (size_t k = 0; k < n->used; k++) {
        carry += (uint64_t)n->limb[k] * factor;
        n->limb[k] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry)
        n->limb[n->used++] = (uint32_t)carry;
}

static void multiply_by_five_to(natural *n, int64_t power) {
    for (; power >= 13; power -= 13)
        multiply_add(n, 1220703125, 0); /* 5^13 */
    for (; power > 0; power--)
        multiply_add(n, 5, 0);
}

static void shift_left(natural *n, int64_t bits) {
    const size_t limbs = (size_t)bits / 32;
    multiply_add(n, (uint32_t)1 << bits % 32, 0);
    if (n->used == 0 || limbs == 0)
        return;
    memmove(n->limb + limbs, n->limb, n->used * sizeof *n->limb);
    memset(n->limb, 0, limbs * sizeof *n->limb);
    n->used += limbs;
}

static int compare(const natural *a, const natural *b) {
    if (a->used != b->used)
        return a->used < b->used ? -1 : 1;
    for (size_t k = a->used; k > 0; k--) {
        if (a->limb[k - 1] != b->limb[k - 1])
            return a->limb[k - 1] < b->limb[k - 1] ? -1 : 1;
    }
    return 0;
}

/* Reads the digits as an integer; returns what to add to the exponent of 10 for that. */
static int64_t take_digits(natural *n, const char *digits, const char *end) {
    int64_t exponent = 0;
    size_t taken = 0;
    bool fraction = false, more = false;
    n->used = 0;
    for (const char *p = digits; p < end; p++) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        if (taken < MOST_DIGITS) {
            multiply_add(n, 10, (uint32_t)(*p - '0'));
            taken += n->used > 0;
            exponent -= fraction;
        } else {
            more |= *p != '0';
            exponent += !fraction;
        }
    }
    if (more) {
        multiply_add(n, 10, 1);
        exponent--;
    }
    return exponent;
}

int wi_decimal_compare_halfway(const char *digits, const char *end, int64_t exponent,
                               uint64_t bits) {
    natural number, halfway = {.used = 0};
    exponent += take_digits(&number, digits, end);
    /* half-way: (2 m + 1) 2^(e - 1) for the double m 2^e */
    const uint64_t field = bits >> 52, fraction = bits & 0xFFFFFFFFFFFFF;
    const uint64_t twice = 2 * (field ? fraction | (uint64_t)1 << 52 : fraction) + 1;
    const int64_t binary = (field ? (int64_t)field : 1) - 1075 - 1;
    halfway.limb[0] = (uint32_t)twice;
    halfway.limb[1] = (uint32_t)(twice >> 32);
    halfway.used = halfway.limb[1] ? 2 : 1;
    /* number 5^x 2^x against halfway 2^binary */
    multiply_by_five_to(exponent > 0 ? &number : &halfway, exponent > 0 ? exponent : -exponent);
    if (exponent > binary)
        shift_left(&number, exponent - binary);
    else
        shift_left(&halfway, binary - exponent);
    return compare(&number, &halfway);
}
