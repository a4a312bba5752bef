/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle of exact's tests: two sums of magnitudes, one of the positive terms and one of the
 * negative ones, as whole numbers of 16-bit digits that are carried at once. At the end they are
 * compared, subtracted, and rounded bit by bit. It shares nothing with the library. */
#ifndef WEFT_EXACT_ORACLE_H
#define WEFT_EXACT_ORACLE_H

#include <math.h>
#include <string.h>

#include "testing.h"

enum {
    ORACLE_DIGITS = 300,
    ORACLE_UNIT = -2160 /* exponent of digit 0 */
};

typedef struct oracle_number {
    uint16_t digit[ORACLE_DIGITS];
    int from, to; /* digits outside are 0 */
} oracle_number;

typedef struct oracle {
    oracle_number plus, minus;
    size_t count, nans, infinite[2]; /* infinite: above 0, below 0 */
    size_t minus_zeros;
} oracle;

static inline void oracle_clear(oracle *o) {
    memset(o, 0, sizeof *o);
    o->plus.from = o->minus.from = ORACLE_DIGITS;
}

/* a = a + m 2^exponent. */
static inline void oracle_add_to(oracle_number *a, uint64_t m, int exponent) {
    const int shift = (exponent - ORACLE_UNIT) % 16;
    uint64_t carry = 0;
    int at = (exponent - ORACLE_UNIT) / 16;
    if (m == 0)
        return;
    a->from = at < a->from ? at : a->from;
    for (int part = 0; part < 6 || carry > 0; part++, at++) {
        /* 16 bits of m, shifted, from bit 16 part - shift on */
        const int low = 16 * part - shift;
        const uint64_t bits = low >= 64 ? 0 : low >= 0 ? m >> low : m << -low;
        carry += a->digit[at] + (part < 6 ? bits & 0xffff : 0);
        a->digit[at] = (uint16_t)carry;
        carry >>= 16;
        a->to = at + 1 > a->to ? at + 1 : a->to;
    }
}

/* |x| = m 2^(the result), x finite. */
static inline int oracle_parts(double x, uint64_t *m) {
    int exponent;
    const double fraction = frexp(fabs(x), &exponent);
    *m = (uint64_t)ldexp(fraction, 53);
    exponent -= 53;
    for (; *m > 0 && exponent < -1074; exponent++) /* frexp scales subnormal numbers up */
        *m /= 2;
    return *m > 0 ? exponent : 0;
}

static inline void oracle_add(oracle *o, double x) {
    uint64_t m;
    o->count++;
    o->minus_zeros += x == 0 && signbit(x);
    if (isnan(x)) {
        o->nans++;
    } else if (isinf(x)) {
        o->infinite[x < 0]++;
    } else {
        const int exponent = oracle_parts(x, &m);
        oracle_add_to(x < 0 ? &o->minus : &o->plus, m, exponent);
    }
}

static inline void oracle_add_product(oracle *o, double x, double y) {
    uint64_t a, b;
    if (!isfinite(x) || !isfinite(y) || x == 0 || y == 0) {
        oracle_add(o, x * y);
        return;
    }
    const int exponent = oracle_parts(x, &a) + oracle_parts(y, &b);
    oracle_number *const to = (x < 0) != (y < 0) ? &o->minus : &o->plus;
    const uint64_t half = UINT32_MAX;
    oracle_add_to(to, (a & half) * (b & half), exponent);
    oracle_add_to(to, (a >> 32) * (b & half), exponent + 32);
    oracle_add_to(to, (a & half) * (b >> 32), exponent + 32);
    oracle_add_to(to, (a >> 32) * (b >> 32), exponent + 64);
    o->count++;
}

static inline int oracle_compare(const oracle_number *a, const oracle_number *b) {
    for (int k = (a->to > b->to ? a->to : b->to) - 1; k >= 0; k--) {
        if (a->digit[k] != b->digit[k])
            return a->digit[k] > b->digit[k] ? 1 : -1;
    }
    return 0;
}

/* a - b, of which a is not the smaller. */
static inline oracle_number oracle_minus(const oracle_number *a, const oracle_number *b) {
    oracle_number d = *a;
    int borrow = 0;
    d.from = a->from < b->from ? a->from : b->from;
    for (int k = d.from; k < d.to; k++) {
        const int digit = a->digit[k] - b->digit[k] - borrow;
        borrow = digit < 0;
        d.digit[k] = (uint16_t)digit;
    }
    return d;
}

static inline bool oracle_bit(const oracle_number *a, int k) {
    return k >= 0 && k < 16 * ORACLE_DIGITS && (a->digit[k / 16] >> k % 16 & 1);
}

static inline bool oracle_any_below(const oracle_number *a, int bit) {
    for (int k = bit < 0 ? 0 : bit - 1; k >= 0; k--) {
        if (k % 16 == 15 && a->digit[k / 16] == 0)
            k -= 15;
        else if (oracle_bit(a, k))
            return true;
        if (k / 16 < a->from)
            return false;
    }
    return false;
}

/* Precision, and exponent of the smallest number. */
static inline void oracle_format(weft_type type, int *precision, int *least) {
    *precision = type == WEFT_F16 ? 11 : type == WEFT_BF16 ? 8 : type == WEFT_F32 ? 24 : 53;
    *least = type == WEFT_F16 ? -24 : type == WEFT_BF16 ? -133 : type == WEFT_F32 ? -149 : -1074;
}

/* The number a rounded to nearest even. */
static inline double oracle_round_number(const oracle_number *a, weft_type type) {
    int precision, least, top = a->to * 16 - 1;
    oracle_format(type, &precision, &least);
    while (top >= 0 && !oracle_bit(a, top))
        top--;
    if (top < 0)
        return 0;
    int unit = top - precision + 1;
    if (unit + ORACLE_UNIT < least)
        unit = least - ORACLE_UNIT;
    uint64_t kept = 0;
    for (int k = top; k >= unit; k--)
        kept = 2 * kept + oracle_bit(a, k);
    const bool half = oracle_bit(a, unit - 1);
    if (half && (kept % 2 == 1 || oracle_any_below(a, unit - 1)))
        kept++;
    const double rounded = ldexp((double)kept, unit + ORACLE_UNIT);
    return rounded > test_largest_of(type) ? (double)INFINITY : rounded;
}

/* The sum, rounded. */
static inline double oracle_round(const oracle *o, weft_type type) {
    if (o->nans || (o->infinite[0] && o->infinite[1]))
        return (double)NAN;
    if (o->infinite[0] || o->infinite[1])
        return o->infinite[1] ? (double)-INFINITY : (double)INFINITY;
    const int order = oracle_compare(&o->plus, &o->minus);
    if (order == 0)
        return o->count > 0 && o->minus_zeros == o->count ? -0.0 : 0.0;
    const oracle_number d =
        order > 0 ? oracle_minus(&o->plus, &o->minus) : oracle_minus(&o->minus, &o->plus);
    const double rounded = oracle_round_number(&d, type);
    return order > 0 ? rounded : -rounded;
}

/* a^2 2^(2 exponent). */
static inline oracle_number oracle_square(uint64_t a, int exponent) {
    oracle_number square = {.from = ORACLE_DIGITS};
    const uint64_t low = a & UINT32_MAX, high = a >> 32;
    oracle_add_to(&square, low * low, 2 * exponent);
    oracle_add_to(&square, low * high, 2 * exponent + 33);
    oracle_add_to(&square, high * high, 2 * exponent + 64);
    return square;
}

/* Is `root` the square root of the sum, which has no negative terms, rounded to nearest even? The
 * sum must lie between the squares of the points half way to the root's neighbours, or on one of
 * them if the root is even. Below a power of two the neighbour is nearer. */
static inline bool oracle_is_root(const oracle *o, weft_type type, double root) {
    int precision, least;
    uint64_t m;
    if (o->nans || o->infinite[0])
        return o->nans ? isnan(root) : isinf(root) && root > 0;
    if (isnan(root))
        return false;
    oracle_format(type, &precision, &least);
    int exponent = oracle_parts(isinf(root) ? test_largest_of(type) : root, &m);
    if (m == 0)
        exponent = least;
    while (m > 0 && (exponent < least || m >> precision))
        m /= 2, exponent++;
    while (m > 0 && exponent > least && !(m >> (precision - 1)))
        m *= 2, exponent--;
    const int even = m % 2 == 0;
    const bool power = m == (uint64_t)1 << (precision - 1) && exponent > least;
    const oracle_number above = oracle_square(2 * m + 1, exponent - 1);
    if (isinf(root))
        return root > 0 && oracle_compare(&o->plus, &above) >= 0;
    if (oracle_compare(&o->plus, &above) >= even)
        return false;
    if (m == 0)
        return true;
    const oracle_number below =
        power ? oracle_square(4 * m - 1, exponent - 2) : oracle_square(2 * m - 1, exponent - 1);
    return oracle_compare(&o->plus, &below) > -even;
}

#endif
