/* SPDX-License-Identifier: Apache-2.0 */
/* What exact scans are made of, on the host and in kernels.
 *
 * A line of digits is a sum as a two's complement integer: digit k counts 2^(unit + 32 k), and the
 * last one has the sign. Unlike the words of exact_number.h it is always carried, so it can be
 * rounded at any time.
 *
 * A window says where the folds of a run of elements stand. Fold k holds multiples of its unit,
 * 2^(top - 52 - 41 k): the first takes of each element what is a multiple of its unit, the next
 * what is left, and so on. docs/precision.md has the proof. */
#ifndef WI_EXACT_DIGITS_H
#define WI_EXACT_DIGITS_H

#include "exact/exact_number.h"

enum {
    WI_LINE_FIRST = 34,  /* the word of wi_exact_number that is digit 0 of a line for f64 */
    WI_LINE_COUNT = 69,  /* digits for sums of f64: up to 2^1120 */
    WI_SHORT_FIRST = 63, /* the same for narrower floats: 2^-160 ... 2^224 */
    WI_SHORT_COUNT = 12,
    WI_FOLD_GAP = 41,      /* bits between the units of two folds */
    WI_FOLD_MOST = 4,      /* folds */
    WI_RUN_MOST = 1 << 11, /* elements of a run */
    WI_RUN_LOG = 11,
    WI_TOP_MOST = 1020,
    WI_NO_EXPONENT = -4000 /* of nothing but zeros */
};

/* Adds m 2^exponent, or subtracts it; exponent is at least `unit`, and the sum fits. */
WI_EXACT_INLINE void wi_line_add(uint32_t *digit, int count, int unit, bool negative, uint64_t m,
                                 int exponent) {
    const unsigned at = (unsigned)(exponent - unit), shift = at % 32;
    const uint64_t low = m << shift;
    const uint32_t part[3] = {(uint32_t)low, (uint32_t)(low >> 32),
                              (uint32_t)(m >> 32 >> (32 - shift))};
    const uint32_t flip = negative ? UINT32_MAX : 0;
    uint32_t carry = negative;
    int k = (int)(at / 32);
    for (int p = 0; p < 3 && k < count; p++, k++) {
        const uint64_t sum = (uint64_t)digit[k] + (part[p] ^ flip) + carry;
        digit[k] = (uint32_t)sum;
        carry = (uint32_t)(sum >> 32);
    }
    for (; k < count && carry != (uint32_t)negative; k++) {
        const uint64_t sum = (uint64_t)digit[k] + flip + carry;
        digit[k] = (uint32_t)sum;
        carry = (uint32_t)(sum >> 32);
    }
}

/* Adds a finite f64 whose last bit is not below `unit`. */
WI_EXACT_INLINE void wi_line_add_f64(uint32_t *digit, int count, int unit, double x) {
    const uint64_t bits = wi_exact_bits(x);
    uint64_t m;
    int exponent = wi_exact_split(bits, &m);
    for (; m != 0 && exponent < unit; exponent++)
        m /= 2;
    if (m != 0)
        wi_line_add(digit, count, unit, bits >> 63, m, exponent);
}

WI_EXACT_INLINE bool wi_line_is_negative(const uint32_t *digit, int count) {
    return digit[count - 1] >> 31;
}

WI_EXACT_INLINE uint32_t wi_line_digit(const uint32_t *digit, int count, int k) {
    if (k < 0)
        return 0;
    return k < count ? digit[k] : wi_line_is_negative(digit, count) ? UINT32_MAX : 0;
}

/* The leading bits of its magnitude. */
WI_EXACT_INLINE wi_exact_lead wi_line_lead(const uint32_t *digit, int count, int unit) {
    wi_exact_lead lead = {0, 0, wi_line_is_negative(digit, count), false};
    const uint32_t sign = lead.negative ? UINT32_MAX : 0;
    int lowest = 0, top = count - 1;
    while (lowest < count && digit[lowest] == 0)
        lowest++;
    if (lowest == count)
        return lead;
    while (top > lowest && digit[top] == sign)
        top--;
    uint32_t d[3]; /* -v = ~v + 1, and the 1 goes no further than the lowest digit */
    for (int k = 0; k < 3; k++) {
        const int at = top - k;
        d[k] = at < lowest    ? 0
               : at == lowest ? (lead.negative ? 0 - digit[at] : digit[at])
                              : digit[at] ^ sign;
    }
    const uint64_t first = (uint64_t)d[0] << 32 | d[1];
    const int shift = wi_exact_leading_zeros(first);
    lead.bits = first << shift | (shift ? (uint64_t)d[2] >> (32 - shift) : 0);
    lead.more = (uint32_t)((uint64_t)d[2] << shift) != 0 || lowest < top - 2;
    lead.exponent = unit + 32 * (top - 1) - shift;
    return lead;
}

/* The bits of the sum rounded to `type`. A sum of 0 is +0. */
WI_EXACT_INLINE uint64_t wi_line_round(const uint32_t *digit, int count, int unit, weft_type type) {
    const wi_exact_lead lead = wi_line_lead(digit, count, unit);
    return wi_exact_signed(type, lead.bits != 0 && lead.negative,
                           wi_exact_round_lead(&lead, wi_exact_format_of(type)));
}

/* The least g with |sum| < 2^g, or one more. */
WI_EXACT_INLINE int wi_line_height(const uint32_t *digit, int count, int unit) {
    const wi_exact_lead lead = wi_line_lead(digit, count, unit);
    return lead.bits == 0 ? WI_NO_EXPONENT : lead.exponent + 64;
}

/* 64 bits of floor(sum / 2^exponent). */
WI_EXACT_INLINE uint64_t wi_line_from(const uint32_t *digit, int count, int unit, int exponent) {
    const int at = exponent - unit, k = at >= 0 ? at / 32 : -((31 - at) / 32), shift = at - 32 * k;
    const uint64_t low =
        wi_line_digit(digit, count, k) | (uint64_t)wi_line_digit(digit, count, k + 1) << 32;
    const uint64_t high = wi_line_digit(digit, count, k + 2);
    return low >> shift | (shift ? high << (64 - shift) : 0);
}

/* Has the sum bits below 2^exponent? */
WI_EXACT_INLINE bool wi_line_below(const uint32_t *digit, int count, int unit, int exponent) {
    const int at = exponent - unit;
    for (int k = 0; k < count && 32 * k < at; k++) {
        const uint32_t mask = at - 32 * k >= 32 ? UINT32_MAX : ((uint32_t)1 << (at - 32 * k)) - 1;
        if (digit[k] & mask)
            return true;
    }
    return false;
}

/* 2^exponent, from 2^-1074 to 2^1023. */
WI_EXACT_INLINE double wi_exact_power(int exponent) {
    const uint64_t bits =
        exponent >= -1022 ? (uint64_t)(exponent + 1023) << 52 : (uint64_t)1 << (exponent + 1074);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Exponent of the unit of fold k in a window. */
WI_EXACT_INLINE int wi_fold_unit(int top, int k) {
    return top - 52 - WI_FOLD_GAP * k;
}

/* (x + anchor) - anchor is x rounded to a multiple of 2^unit, if |x| < 2^(unit + 51). */
WI_EXACT_INLINE double wi_fold_anchor(int unit) {
    return 1.5 * wi_exact_power(unit + 52);
}

/* The window of `folds` folds for a sum below 2^height, to which a run of elements below 2^above
 * is added; the units of all folds are numbers. */
WI_EXACT_INLINE int wi_window_top(int folds, int height, int above) {
    const int least = -1022 + WI_FOLD_GAP * (folds - 1), of_run = above + WI_RUN_LOG;
    const int top = (height > of_run ? height : of_run) + 2;
    return top > least ? top : least;
}

/* Can that window take elements that are multiples of 2^least? */
WI_EXACT_INLINE bool wi_window_fits(int folds, int top, int least) {
    const int unit = wi_fold_unit(top, folds - 1);
    return top <= WI_TOP_MOST && (unit <= least || unit <= -1074);
}

/* The sum in a window: of fold 0 what is a multiple of its unit, of the next what is left, none of
 * it negative; and of the last one half a unit more, if anything is left below. Then true. */
WI_EXACT_INLINE bool wi_line_split(const uint32_t *digit, int count, int unit, int top, int folds,
                                   double *fold) {
    const uint64_t mask = ((uint64_t)1 << WI_FOLD_GAP) - 1;
    for (int k = 0; k < folds; k++) {
        const int of_fold = wi_fold_unit(top, k);
        const uint64_t bits = wi_line_from(digit, count, unit, of_fold);
        const int64_t m = k == 0 ? (int64_t)bits : (int64_t)(bits & mask);
        fold[k] = (double)m * wi_exact_power(of_fold);
    }
    const int last = wi_fold_unit(top, folds - 1);
    const bool more = wi_line_below(digit, count, unit, last);
    if (more)
        fold[folds - 1] += wi_exact_power(last - 1);
    return more;
}

/* a + b, which are finite, rounded to odd: a sum that is not exact gets a last bit of 1. Rounded
 * again, to a type that is shorter by two bits or more, it is a + b rounded once. */
WI_EXACT_INLINE double wi_add_to_odd(double a, double b) {
    const double sum = a + b, of_b = sum - a;
    const double error = (a - (sum - of_b)) + (b - of_b);
    uint64_t bits = wi_exact_bits(sum);
    double odd;
    if (error != 0 && !(bits & 1))
        bits += (error > 0) == (sum > 0) ? 1 : (uint64_t)-1;
    memcpy(&odd, &bits, sizeof odd);
    return odd;
}

WI_EXACT_INLINE double wi_magnitude(double x) {
    return x < 0 ? -x : x;
}

/* high + low, of which low is a multiple of 2^unit, and of what is still left only the sign counts:
 * rounded, or rounded to odd. */
WI_EXACT_INLINE double wi_fold_pair(double high, double low, int unit, double left, bool to_odd) {
    if (left != 0)
        low += left < 0 ? -wi_exact_power(unit - 1) : wi_exact_power(unit - 1);
    return to_odd ? wi_add_to_odd(high, low) : high + low;
}

/* The sum of four folds. What a lower fold has of the unit of the one above goes there. As many of
 * them are added without rounding as leave a sum far above what is left. False if the sum is too
 * small beside what the last fold leaves out, which `more` tells. */
WI_EXACT_INLINE bool wi_folds_round(const double *fold, int top, bool more, bool to_odd,
                                    double *sum) {
    const int unit_1 = wi_fold_unit(top, 1), unit_2 = wi_fold_unit(top, 2);
    const int unit_3 = wi_fold_unit(top, 3);
    const double anchor_1 = wi_fold_anchor(unit_1), anchor_2 = wi_fold_anchor(unit_2);
    const double carry_2 = (fold[3] + anchor_2) - anchor_2, rest_3 = fold[3] - carry_2;
    const double f_2 = fold[2] + carry_2;
    const double carry_1 = (f_2 + anchor_1) - anchor_1, rest_2 = f_2 - carry_1;
    const double f_0 = fold[0], f_1 = fold[1] + carry_1;
    const double left = rest_2 != 0 ? rest_2 : rest_3;
    *sum = wi_fold_pair(f_0, f_1, unit_1, left, to_odd);
    if (left == 0 || wi_magnitude(*sum) >= wi_exact_power(unit_1 + 53))
        return true;
    *sum = wi_fold_pair(f_0 + f_1, rest_2, unit_2, rest_3, to_odd);
    if (rest_3 == 0 || wi_magnitude(*sum) >= wi_exact_power(unit_2 + 53))
        return true;
    *sum = wi_fold_pair(f_0 + f_1 + rest_2, rest_3, unit_3, 0, to_odd);
    return !more || wi_magnitude(*sum) >= wi_exact_power(unit_3 + 53);
}

#endif
