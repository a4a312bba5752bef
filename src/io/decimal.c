/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal to binary, correctly rounded, in three steps of growing cost.
 *
 * A number is w 10^e, where w is its first 19 digits (so w < 2^64), or a little more if more digits
 * follow.
 *   1. w <= 2^53 and |e| <= 22: w and 10^|e| are doubles, and one operation rounds once.
 *   2. The product of w, 5^b and 128 bits of 5^(27 k), 27 k + b = e, bounds the value from below
 *      and above. If both bounds round to the same double, that is the answer.
 *   3. Otherwise the point half-way between two doubles lies between the bounds (or on the value),
 *      and integers of as many digits as it takes decide on which side the number is. */
#include "io/decimal.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "io/decimal_exact.h"

_Static_assert(FLT_EVAL_METHOD == 0, "step 1 needs operations that round to double at once");

__extension__ typedef unsigned __int128 wide;

enum {
    KEPT_DIGITS = 19,
    STEP = 27,             /* 5^27 < 2^63 */
    LEAST_K = -13,         /* 27 * -13 <= LEAST_EXPONENT */
    LEAST_EXPONENT = -343, /* below, w 10^e < 2^-1075, half the least double */
    MOST_EXPONENT = 308    /* above, w 10^e > DBL_MAX */
};

/* bits * 2^exponent, truncated: the true value is less than one unit of the last bit larger. */
typedef struct scaled {
    uint64_t high, low;
    int exponent;
} scaled;

/* 5^(27 k), k = LEAST_K ... 11 */
static const scaled fives[] = {
    {0x8049a4ac0c5811ae, 0x205b896d777d6278, -942}, /* 5^-351 */
    {0xcf42894a5dce35ea, 0x52064cac828675b9, -880}, /* 5^-324 */
    {0xa76c582338ed2621, 0xaf2af2b80af6f24e, -817}, /* 5^-297 */
    {0x873e4f75e2224e68, 0x5a7744a6e804a291, -754}, /* 5^-270 */
    {0xda7f5bf590966848, 0xaf39a475506a899e, -692}, /* 5^-243 */
    {0xb080392cc4349dec, 0xbd8d794d96aacfb3, -629}, /* 5^-216 */
    {0x8e938662882af53e, 0x547eb47b7282ee9c, -566}, /* 5^-189 */
    {0xe65829b3046b0afa, 0x0cb4a5a3112a5112, -504}, /* 5^-162 */
    {0xba121a4650e4ddeb, 0x92f34d62616ce413, -441}, /* 5^-135 */
    {0x964e858c91ba2655, 0x3a6a07f8d510f86f, -378}, /* 5^-108 */
    {0xf2d56790ab41c2a2, 0xfae27299423fb9c3, -316}, /* 5^-81 */
    {0xc428d05aa4751e4c, 0xaa97e14c3c26b886, -253}, /* 5^-54 */
    {0x9e74d1b791e07e48, 0x775ea264cf55347d, -190}, /* 5^-27 */
    {0x8000000000000000, 0x0000000000000000, -127}, /* 5^0 */
    {0xcecb8f27f4200f3a, 0x0000000000000000, -65},  /* 5^27 */
    {0xa70c3c40a64e6c51, 0x999090b65f67d924, -2},   /* 5^54 */
    {0x86f0ac99b4e8dafd, 0x69a028bb3ded71a3, 61},   /* 5^81 */
    {0xda01ee641a708de9, 0xe80e6f4820cc9495, 123},  /* 5^108 */
    {0xb01ae745b101e9e4, 0x5ec05dcff72e7f8f, 186},  /* 5^135 */
    {0x8e41ade9fbebc27d, 0x14588f13be847307, 249},  /* 5^162 */
    {0xe5d3ef282a242e81, 0x8f1668c8a86da5fa, 311},  /* 5^189 */
    {0xb9a74a0637ce2ee1, 0x6d953e2bd7173692, 374},  /* 5^216 */
    {0x95f83d0a1fb69cd9, 0x4abdaf101564f98e, 437},  /* 5^243 */
    {0xf24a01a73cf2dccf, 0xbc633b39673c8cec, 499},  /* 5^270 */
    {0xc3b8358109e84f07, 0x0a862f80ec4700c8, 562},  /* 5^297 */
};

/* 5^b, b = 0 ... 26 */
static const uint64_t small_fives[STEP] = {
    1u,
    5u,
    25u,
    125u,
    625u,
    3125u,
    15625u,
    78125u,
    390625u,
    1953125u,
    9765625u,
    48828125u,
    244140625u,
    1220703125u,
    6103515625,
    30517578125,
    152587890625,
    762939453125,
    3814697265625,
    19073486328125,
    95367431640625,
    476837158203125,
    2384185791015625,
    11920928955078125,
    59604644775390625,
    298023223876953125,
    1490116119384765625,
};

static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* The text of a number, without its sign. */
typedef struct decimal {
    uint64_t w;
    int64_t exponent;                /* of 10 */
    bool cut;                        /* nonzero digits follow those in w */
    ptrdiff_t room;                  /* how many more digits fit w, after the first nonzero one */
    const char *digits, *digits_end; /* the digits, with the point among them */
    int64_t written;                 /* the exponent in the text */
} decimal;

static inline bool is_digit(char c) {
    return (unsigned char)(c - '0') <= 9;
}

/* Are all eight digits? Adding 6 to a digit leaves its upper half 3, as it was. */
static inline bool are_digits(uint64_t bytes) {
    const uint64_t upper = 0xF0F0F0F0F0F0F0F0;
    return ((bytes & upper) | ((bytes + 0x0606060606060606) & upper) >> 4) == 0x3333333333333333;
}

/* The number of eight digits: neighbours are combined to pairs, pairs to fours, fours to one
 * number. */
static inline uint64_t join_digits(uint64_t bytes) {
    bytes = (bytes & 0x0F0F0F0F0F0F0F0F) * (1 + (10 << 8)) >> 8;
    bytes = (bytes & 0x00FF00FF00FF00FF) * (1 + (100 << 16)) >> 16;
    return (bytes & 0x0000FFFF0000FFFF) * (1 + ((uint64_t)10000 << 32)) >> 32;
}

/* Adds the digits from `at` on to d, and counts their places in d->exponent: after the point, each
 * digit added decreases it; before the point, each digit left out increases it. */
static inline const char *scan_digits(decimal *d, const char *at, const char *end, bool fraction) {
    uint64_t w = d->w;
    const char *const begin = at;
    if (w == 0) {
        while (at < end && *at == '0')
            at++;
    }
    const char *const full = end - at > d->room ? at + d->room : end, *const first = at;
    for (; full - at >= 8 && are_digits(wi_decimal_eight(at)); at += 8)
        w = 100000000 * w + join_digits(wi_decimal_eight(at));
    for (; at < full && is_digit(*at); at++)
        w = 10 * w + (uint64_t)(*at - '0');
    d->room -= at - first;
    d->w = w;
    const char *const taken = at;
    for (; at < end && is_digit(*at); at++)
        d->cut |= *at != '0';
    d->exponent += fraction ? begin - taken : at - taken;
    return at;
}

/* Reads the exponent after its letter; returns `at` if there are no digits. */
static const char *scan_exponent(const char *at, const char *end, int64_t *exponent) {
    enum {
        ENOUGH = 1 << 30 /* clamp here: no text in memory is long enough to make up for more */
    };
    const char *p = at;
    const bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end || !is_digit(*p))
        return at;
    int64_t value = 0;
    for (; p < end && is_digit(*p); p++)
        value = value < ENOUGH ? 10 * value + (*p - '0') : value;
    *exponent = negative ? -value : value;
    return p;
}

/* Reads a number; returns its end, or NULL. */
static const char *scan(decimal *d, const char *at, const char *end) {
    *d = (decimal){.digits = at, .room = KEPT_DIGITS};
    const char *p = scan_digits(d, at, end, false);
    int64_t count = p - at;
    if (p < end && *p == '.') {
        const char *const point = p++;
        p = scan_digits(d, p, end, true);
        count += p - point - 1;
    }
    if (count == 0)
        return NULL;
    d->digits_end = p;
    if (p < end && ((*p | 32) == 'e' || (*p | 32) == 'd')) {
        const char *const after = scan_exponent(p + 1, end, &d->written);
        p = after == p + 1 ? p : after;
    }
    d->exponent += d->written;
    return p;
}

/* m 2^exponent, m >= 2^127, as the bits of a double: rounded to nearest, ties to even, or
 * truncated. */
static inline uint64_t bits_of(wide m, int64_t exponent, bool nearest) {
    const int64_t top = exponent + 127;
    if (top >= 1024)
        return nearest ? 0x7FF0000000000000 : 0x7FEFFFFFFFFFFFFF;
    /* subnormal numbers have fewer bits, down to none */
    const int64_t keep = top >= -1022 ? 53 : 53 - (-1022 - top);
    if (keep < 0)
        return 0;
    const int drop = (int)(128 - keep); /* 75 ... 128 */
    const uint64_t whole = drop == 128 ? 0 : (uint64_t)(m >> drop);
    const wide rest = drop == 128 ? m : m & (((wide)1 << drop) - 1), half = (wide)1 << (drop - 1);
    const uint64_t up = nearest && (rest > half || (rest == half && (whole & 1)));
    /* the leading bit adds one to the exponent field, and so does a carry out of the rest */
    const uint64_t field = top >= -1022 ? (uint64_t)(top + 1022) << 52 : 0;
    return field + whole + up;
}

/* The upper 128 bits of a 256-bit product. */
static wide high_product(wide a, uint64_t b_high, uint64_t b_low) {
    const uint64_t a_high = (uint64_t)(a >> 64), a_low = (uint64_t)a;
    const wide low = (wide)a_low * b_low, cross = (wide)a_high * b_low;
    const wide middle = (wide)a_low * b_high + (low >> 64) + (uint64_t)cross;
    return (wide)a_high * b_high + (cross >> 64) + (middle >> 64);
}

static int leading_zeros(wide m) {
    const uint64_t high = (uint64_t)(m >> 64);
    return high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)m);
}

/* Step 2. False if the bounds round differently; *bits is then the lower bound, truncated to a
 * double. */
static inline bool bound(const decimal *d, uint64_t *bits) {
    const wide top = (wide)1 << 127;
    const int e = (int)d->exponent;
    const int k = (e - LEAST_K * STEP) / STEP, b = (e - LEAST_K * STEP) % STEP;
    wide a = (wide)d->w * small_fives[b];
    const int shift = leading_zeros(a);
    a <<= shift;
    wide low = high_product(a, fives[k].high, fives[k].low);
    /* One unit for the bits truncated from fives[k] and one for those truncated from the product;
     * and if w was truncated, the value of one more in w: 5^b in units of a. */
    wide slack = 2 + (d->cut ? (wide)small_fives[b] << shift : 0);
    int64_t exponent = 128 - shift + fives[k].exponent + e;
    if (low < top) {
        low <<= 1;
        slack <<= 1;
        exponent--;
    }
    const wide high = low + slack;
    *bits = bits_of(low, exponent, true);
    /* The bounds agree down to the bit after the 53rd, and the lower one is not a tie. */
    if ((low ^ high) >> 74 == 0 && low << 54 != 0)
        return true;
    if (*bits == (high >= low ? bits_of(high, exponent, true)
                              : bits_of(top | high >> 1, exponent + 1, true)))
        return true;
    *bits = bits_of(low, exponent, false);
    return false;
}

static double double_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The magnitude, by the cheapest step that decides. */
static double magnitude(const decimal *d) {
    uint64_t bits;
    if (d->w == 0)
        return 0;
    if (!d->cut && d->w <= (uint64_t)1 << 53 && d->exponent >= -22 && d->exponent <= 22)
        return d->exponent < 0 ? (double)d->w / tens[-d->exponent]
                               : (double)d->w * tens[d->exponent];
    if (d->exponent < LEAST_EXPONENT)
        return 0;
    if (d->exponent > MOST_EXPONENT)
        return INFINITY;
    if (bound(d, &bits))
        return double_of(bits);
    const int side = wi_decimal_compare_halfway(d->digits, d->digits_end, d->written, bits);
    return double_of(bits + (side > 0 || (side == 0 && (bits & 1))));
}

const char *wi_decimal_read(const char *at, const char *end, double *value) {
    decimal d;
    const bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    const char *const after = scan(&d, at, end);
    if (!after)
        return NULL;
    const double positive = magnitude(&d);
    *value = negative ? -positive : positive;
    return after;
}

/* Replaces the locale's decimal sign by a point. */
static size_t put_point(char *text, size_t length) {
    size_t begin = 0;
    while (begin < length && (is_digit(text[begin]) || strchr("+-e", text[begin])))
        begin++;
    size_t end = begin;
    while (end < length && !is_digit(text[end]) && !strchr("+-e", text[end]))
        end++;
    if (end == begin)
        return length;
    text[begin] = '.';
    memmove(text + begin + 1, text + end, length - end);
    return length - (end - begin - 1);
}

size_t wi_decimal_write(double value, char out[WI_DECIMAL_BYTES]) {
    size_t length = 0;
    if (fabs(value) < 1e15 && value == (double)(int64_t)value)
        return (size_t)snprintf(out, WI_DECIMAL_BYTES, "%s%lld",
                                value == 0 && signbit(value) ? "-" : "", (long long)value);
    for (int digits = 15; digits <= 17; digits++) {
        double again;
        length = put_point(out, (size_t)snprintf(out, WI_DECIMAL_BYTES, "%.*g", digits, value));
        if (wi_decimal_read(out, out + length, &again) && again == value)
            break;
    }
    return length;
}
