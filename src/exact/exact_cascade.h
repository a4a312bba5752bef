/* SPDX-License-Identifier: Apache-2.0 */
/* Short sums without a wide integer, on the host and in kernels. `high` is the sum as the processor
 * rounds it, `low` the sum of what each of these roundings took away, and `lost` bounds what
 * rounding took from `low`. So the exact sum lies within 2 lost of high + low; where all of that
 * interval rounds to one number, this is the result, and otherwise the wide integer decides.
 * docs/precision.md has the proof. */
#ifndef WI_EXACT_CASCADE_H
#define WI_EXACT_CASCADE_H

#include <math.h>

#include "exact/exact_digits.h"

typedef struct wi_cascade {
    double high, low, lost; /* infinities and NaN make high or low one; the wide integer then */
} wi_cascade;

/* What rounding takes from a product that is smaller may be below all numbers. */
#define WI_FAINT_PRODUCT 0x1p-960

/* a + b = the result + *rest, unless it overflows (Knuth). */
WI_EXACT_INLINE double wi_two_sum(double a, double b, double *rest) {
    const double sum = a + b, part = sum - a;
    *rest = (a - (sum - part)) + (b - part);
    return sum;
}

/* The sum of nothing: -0, so that adding -0.0 leaves it. */
WI_EXACT_INLINE wi_cascade wi_cascade_empty(void) {
    const wi_cascade empty = {-0.0, 0, 0};
    return empty;
}

/* Adds x, of which nothing but low's own rounding is lost. */
WI_EXACT_INLINE void wi_cascade_add_low(wi_cascade *c, double x) {
    double rest;
    c->low = wi_two_sum(c->low, x, &rest);
    c->lost += fabs(rest);
}

WI_EXACT_INLINE void wi_cascade_add(wi_cascade *c, double x) {
    double rest;
    c->high = wi_two_sum(c->high, x, &rest);
    wi_cascade_add_low(c, rest);
}

/* Is x y too small to be told by a product and what rounding takes from it? */
WI_EXACT_INLINE bool wi_is_faint(double x, double y, double product) {
    return fabs(product) < WI_FAINT_PRODUCT && x != 0 && y != 0;
}

/* Adds x y, for any x and y. */
WI_EXACT_INLINE void wi_cascade_add_product(wi_cascade *c, double x, double y) {
    const double product = x * y;
    wi_cascade_add(c, product);
    wi_cascade_add_low(c, fma(x, y, -product));
    if (wi_is_faint(x, y, product))
        c->lost = (double)INFINITY;
}

/* Adds the sum of other elements. */
WI_EXACT_INLINE void wi_cascade_merge(wi_cascade *c, const wi_cascade *other) {
    wi_cascade_add(c, other->high);
    wi_cascade_add_low(c, other->low);
    c->lost += other->lost;
}

/* The bits of a number that was rounded to odd, rounded to `type`. */
WI_EXACT_INLINE uint64_t wi_exact_round_odd(double odd, weft_type type) {
    const uint64_t bits = wi_exact_bits(odd);
    wi_exact_lead lead;
    if (type == WEFT_F64)
        return bits;
    lead.exponent = wi_exact_split(bits, &lead.bits) - 11;
    lead.bits <<= 11;
    lead.negative = bits >> 63;
    lead.more = false;
    return wi_exact_signed(type, lead.negative,
                           wi_exact_round_lead(&lead, wi_exact_format_of(type)));
}

/* The bits of high + low, which is at most half a last place of `high`, rounded to `type`. */
WI_EXACT_INLINE uint64_t wi_exact_round_pair(double high, double low, weft_type type) {
    if (low == 0) /* keeps the sign of -0.0 */
        return wi_exact_round_odd(high, type);
    return wi_exact_round_odd(type == WEFT_F64 ? high + low : wi_add_to_odd(high, low), type);
}

/* The square root of c, as r + (c - r^2) / 2 r; what that leaves out is less than 2^-52 of the
 * second term. False if c is so small or large that these are not accurate. */
WI_EXACT_INLINE bool wi_cascade_root(wi_cascade *c) {
    if (c->high == 0 && c->low == 0 && c->lost == 0)
        return true;
    if (!(c->high >= 0x1p-900 && c->high <= 0x1p1000))
        return false;
    const double root = sqrt(c->high);
    c->low = (fma(-root, root, c->high) + c->low) / (2 * root);
    c->lost = c->lost / root + fabs(c->low) * 0x1p-50;
    c->high = root;
    return true;
}

/* The bits of the sum, or of its square root, rounded to `type`; false if c does not tell. */
WI_EXACT_INLINE bool wi_cascade_round(const wi_cascade *sum, bool root, weft_type type,
                                      uint64_t *bits) {
    wi_cascade c = *sum;
    if (c.low != 0)
        c.high = wi_two_sum(c.high, c.low, &c.low);
    if (root && !wi_cascade_root(&c))
        return false;
    if (c.lost == 0 && c.low - c.low == 0 && c.high - c.high == 0) {
        *bits = wi_exact_round_pair(c.high, c.low, type);
        return true;
    }
    /* Twice the bound, and more than rounding takes from these two sums. */
    const double slack = 4 * c.lost + fabs(c.low) * 0x1p-51;
    const double least = c.low - slack, most = c.low + slack;
    if (!(most - least < (double)INFINITY && c.high - c.high == 0))
        return false;
    *bits = wi_exact_round_pair(c.high, least, type);
    return *bits == wi_exact_round_pair(c.high, most, type);
}

/* ---- one sum more, for terms that all but cancel ---- */

enum {
    WI_DEEP_SUMS = 3
};

/* sum[k + 1] has what sum[k] loses. */
typedef struct wi_deep_cascade {
    double sum[WI_DEEP_SUMS], lost;
} wi_deep_cascade;

/* Adds x, of which sums before `first` lose nothing. */
WI_EXACT_INLINE void wi_deep_add(wi_deep_cascade *c, int first, double x) {
    for (int k = first; k < WI_DEEP_SUMS; k++)
        c->sum[k] = wi_two_sum(c->sum[k], x, &x);
    c->lost += fabs(x);
}

WI_EXACT_INLINE void wi_deep_add_product(wi_deep_cascade *c, double x, double y) {
    const double product = x * y;
    wi_deep_add(c, 0, product);
    wi_deep_add(c, 1, fma(x, y, -product));
    if (wi_is_faint(x, y, product))
        c->lost = (double)INFINITY;
}

/* Adds the sum of other terms. */
WI_EXACT_INLINE void wi_deep_merge(wi_deep_cascade *c, const wi_deep_cascade *other) {
    for (int k = 0; k < WI_DEEP_SUMS; k++)
        wi_deep_add(c, k, other->sum[k]);
    c->lost += other->lost;
}

/* As wi_cascade_round. */
WI_EXACT_INLINE bool wi_deep_round(const wi_deep_cascade *c, weft_type type, uint64_t *bits) {
    wi_cascade flat = {0, 0, c->lost};
    double of_high, of_low;
    flat.low = wi_two_sum(c->sum[1], c->sum[2], &of_low);
    flat.high = wi_two_sum(c->sum[0], flat.low, &of_high);
    flat.low = of_high;
    wi_cascade_add_low(&flat, of_low);
    return wi_cascade_round(&flat, false, type, bits);
}

#endif
