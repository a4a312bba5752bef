/* SPDX-License-Identifier: Apache-2.0 */
/* The wide number: an integer of 4352 bits, in units of 2^-2176, that holds every finite f64, every
 * product of two, and sums of 2^63 of them without rounding. Word k, of 64 bits, counts 2^(32 k)
 * units, so that WI_EXACT_MOST_ADDS additions need no carry; in a carried number it is a digit of
 * 32 bits. Behind the digits are counts, of which IEEE's special results are made. Adding all words
 * of two numbers gives those of their sum, in any order. Used on the host and by kernels. */
#ifndef WI_EXACT_NUMBER_H
#define WI_EXACT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "weft/types.h"

#ifdef __CUDACC__
#    define WI_EXACT_INLINE static inline __host__ __device__
#else
#    define WI_EXACT_INLINE static inline
#endif

enum {
    WI_EXACT_DIGITS = 136,
    WI_EXACT_UNIT = -2176,          /* exponent of the unit */
    WI_EXACT_NAN = WI_EXACT_DIGITS, /* first count: NaN, products of zero and infinity */
    WI_EXACT_PLUS,                  /* +infinity */
    WI_EXACT_MINUS,                 /* -infinity */
    WI_EXACT_OTHER,                 /* not 0 unless all that was added is -0.0 */
    WI_EXACT_COUNT,                 /* elements, or pairs */
    WI_EXACT_WORDS,
    WI_EXACT_MOST_ADDS = 1 << 30 /* between two calls of wi_exact_carry */
};

__extension__ typedef unsigned __int128 wi_exact_u128;

/* The leading bits of a magnitude, which is (bits + f) 2^exponent with 0 <= f < 1; `more`: f is not
 * 0. The top bit of `bits` is set unless the magnitude is 0. */
typedef struct wi_exact_lead {
    uint64_t bits;
    int exponent;
    bool negative, more;
} wi_exact_lead;

/* Adds m 2^exponent, or subtracts it. Exponents of f64 and of their products fit. */
WI_EXACT_INLINE void wi_exact_add_integer(int64_t *word, bool negative, uint64_t m, int exponent) {
    const unsigned at = (unsigned)(exponent - WI_EXACT_UNIT), shift = at % 32;
    int64_t *const w = word + at / 32;
    const int64_t sign = negative ? -1 : 1;
    const uint64_t low = m << shift, high = m >> 32 >> (32 - shift);
    w[0] += sign * (int64_t)(low & UINT32_MAX);
    w[1] += sign * (int64_t)(low >> 32);
    w[2] += sign * (int64_t)high;
}

/* The parts of a finite f64: its magnitude is *m 2^(the result). */
WI_EXACT_INLINE int wi_exact_split(uint64_t bits, uint64_t *m) {
    const int field = (int)(bits >> 52 & 2047);
    *m = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)(field > 0) << 52;
    return (field > 0 ? field : 1) - 1075;
}

WI_EXACT_INLINE uint64_t wi_exact_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Counts an infinity or a NaN. */
WI_EXACT_INLINE void wi_exact_add_special(int64_t *word, uint64_t bits) {
    const bool is_nan = (bits & (((uint64_t)1 << 52) - 1)) != 0;
    word[is_nan ? WI_EXACT_NAN : bits >> 63 ? WI_EXACT_MINUS : WI_EXACT_PLUS]++;
}

/* Adds any f64, but does not count it as an element. */
WI_EXACT_INLINE void wi_exact_add_f64(int64_t *word, double x) {
    const uint64_t bits = wi_exact_bits(x);
    uint64_t m;
    word[WI_EXACT_OTHER] += bits != (uint64_t)1 << 63;
    if ((bits >> 52 & 2047) == 2047) {
        wi_exact_add_special(word, bits);
    } else {
        const int exponent = wi_exact_split(bits, &m);
        wi_exact_add_integer(word, bits >> 63, m, exponent);
    }
}

/* Adds x y, exactly, for any two f64. */
WI_EXACT_INLINE void wi_exact_add_product(int64_t *word, double x, double y) {
    const uint64_t a = wi_exact_bits(x), b = wi_exact_bits(y);
    const double product = x * y;
    uint64_t m, n;
    if ((a >> 52 & 2047) == 2047 || (b >> 52 & 2047) == 2047 || x == 0 || y == 0) {
        wi_exact_add_f64(word, product);
        return;
    }
    const int exponent = wi_exact_split(a, &m) + wi_exact_split(b, &n);
    const bool negative = (a ^ b) >> 63;
    const wi_exact_u128 whole = (wi_exact_u128)m * n;
    word[WI_EXACT_OTHER]++;
    wi_exact_add_integer(word, negative, (uint64_t)whole, exponent);
    wi_exact_add_integer(word, negative, (uint64_t)(whole >> 64), exponent + 64);
}

/* The words of a carried number that have to be looked at. Digits before `first` are 0; those from
 * `end` on are 0 or, if it is negative, wi_exact_ones, whatever their words hold. */
typedef struct wi_exact_extent {
    int first, end;
    bool negative;
} wi_exact_extent;

/* Carries a number whose words outside of first ... last are 0: digits become 0 ... 2^32 - 1,
 * except that digit WI_EXACT_DIGITS - 1 has the sign. Stops behind `last` as soon as the carry is 0
 * or -1: words from the extent's end on stay 0, even if the number is negative. */
WI_EXACT_INLINE wi_exact_extent wi_exact_carry_within(int64_t *word, int first, int last) {
    int64_t carry = 0;
    int k = first;
    for (; k < WI_EXACT_DIGITS - 1 && (k <= last || (carry != 0 && carry != -1)); k++) {
        const int64_t sum = word[k] + carry;
        word[k] = sum & UINT32_MAX;
        carry = (sum - word[k]) / ((int64_t)1 << 32);
    }
    if (k < WI_EXACT_DIGITS - 1)
        word[k] = carry & UINT32_MAX;
    else
        word[k] += carry;
    const wi_exact_extent extent = {first, k + 1,
                                    k < WI_EXACT_DIGITS - 1 ? carry < 0 : word[k] < 0};
    return extent;
}

/* Digit k of a negative number, for k at or after its extent's end. */
WI_EXACT_INLINE int64_t wi_exact_ones(int k) {
    return k < WI_EXACT_DIGITS - 1 ? (int64_t)UINT32_MAX : -1;
}

/* Carries all words: digits become 0 ... 2^32 - 1, except that the last has the sign. */
WI_EXACT_INLINE void wi_exact_carry(int64_t *word) {
    wi_exact_carry_within(word, 0, WI_EXACT_DIGITS - 1);
}

/* Adds all words of `other`; both have been carried. */
WI_EXACT_INLINE void wi_exact_merge_words(int64_t *word, const int64_t *other) {
    for (int k = 0; k < WI_EXACT_WORDS; k++)
        word[k] += other[k];
}

/* Digit k of the magnitude of a carried number whose lowest digit that is not 0 is `lowest`. */
WI_EXACT_INLINE uint32_t wi_exact_digit(const int64_t *word, bool negative, int lowest, int k) {
    const uint32_t digit = k < 0 ? 0 : (uint32_t)(uint64_t)word[k];
    if (!negative)
        return digit;
    return k < lowest ? 0 : k == lowest ? 0 - digit : ~digit;
}

WI_EXACT_INLINE int wi_exact_leading_zeros(uint64_t bits) {
    int zeros = 0;
    for (int step = 32; step > 0; step /= 2) {
        if (bits >> (64 - step) == 0) {
            zeros += step;
            bits <<= step;
        }
    }
    return zeros;
}

/* The leading 128 bits of a carried number's magnitude, *high and *low, such that the exponent is
 * even: the top bit or the one after it is set. All are 0 if the number is. The result has
 * exponent, sign and `more` of these 128 bits; its own `bits` are 0. */
WI_EXACT_INLINE wi_exact_lead wi_exact_window(const int64_t *word, wi_exact_extent extent,
                                              uint64_t *high, uint64_t *low) {
    wi_exact_lead lead = {0, 0, extent.negative, false};
    int lowest = extent.first, top = extent.end - 1;
    *high = *low = 0;
    while (lowest < extent.end && word[lowest] == 0)
        lowest++;
    if (lowest == extent.end)
        return lead;
    while (top > 0 && wi_exact_digit(word, lead.negative, lowest, top) == 0)
        top--;
    uint32_t d[5];
    for (int k = 0; k < 5; k++)
        d[k] = wi_exact_digit(word, lead.negative, lowest, top - k);
    const uint64_t first = (uint64_t)d[0] << 32 | d[1], second = (uint64_t)d[2] << 32 | d[3];
    const int shift = wi_exact_leading_zeros(first) & ~1;
    *high = first << shift | (shift ? second >> (64 - shift) : 0);
    *low = second << shift | (shift ? (uint64_t)d[4] >> (32 - shift) : 0);
    lead.exponent = WI_EXACT_UNIT + 32 * (top - 3) - shift;
    lead.more = (uint32_t)((uint64_t)d[4] << shift) != 0 || lowest < top - 4;
    return lead;
}

/* The leading 64 bits of what wi_exact_window gives. */
WI_EXACT_INLINE wi_exact_lead wi_exact_lead_of(const int64_t *word, wi_exact_extent extent) {
    uint64_t high, low;
    wi_exact_lead lead = wi_exact_window(word, extent, &high, &low);
    const int shift = high >> 63 ? 0 : 1;
    lead.bits = high << shift | (shift ? low >> 63 : 0);
    lead.more = lead.more || low << shift != 0;
    lead.exponent += 64 - shift;
    return lead;
}

/* The integer square root of high 2^64 + low, whose top two bits are not both 0; *more: it is not
 * exact. */
WI_EXACT_INLINE uint64_t wi_exact_root(uint64_t high, uint64_t low, bool *more) {
    const wi_exact_u128 square = (wi_exact_u128)high << 64 | low;
    uint64_t root = 0;
    for (int bit = 63; bit >= 0; bit--) {
        const uint64_t with = root | (uint64_t)1 << bit;
        if ((wi_exact_u128)with * with <= square)
            root = with;
    }
    *more = (wi_exact_u128)root * root != square;
    return root;
}

/* The leading bits of the square root of a carried number that is not negative. */
WI_EXACT_INLINE wi_exact_lead wi_exact_root_of(const int64_t *word, wi_exact_extent extent) {
    uint64_t high, low;
    wi_exact_lead lead = wi_exact_window(word, extent, &high, &low);
    bool more;
    lead.bits = wi_exact_root(high, low, &more);
    lead.more = lead.more || more;
    lead.exponent /= 2;
    return lead;
}

/* What rounding needs to know of a float type: bits of precision, exponent of the smallest
 * subnormal number, bits of an infinity. */
typedef struct wi_exact_format {
    int precision, least;
    uint64_t infinity;
} wi_exact_format;

WI_EXACT_INLINE wi_exact_format wi_exact_format_of(weft_type type) {
    const wi_exact_format f16 = {11, -24, 0x7c00}, bf16 = {8, -133, 0x7f80};
    const wi_exact_format f32 = {24, -149, 0x7f800000}, f64 = {53, -1074, (uint64_t)0x7ff << 52};
    return type == WEFT_F16 ? f16 : type == WEFT_BF16 ? bf16 : type == WEFT_F32 ? f32 : f64;
}

/* The bits of the magnitude, rounded to nearest, ties to even. The rounded significand added to the
 * exponent field gives the right bits also where it is subnormal or carries into the next power. */
WI_EXACT_INLINE uint64_t wi_exact_round_lead(const wi_exact_lead *lead, wi_exact_format f) {
    const int ideal = lead->exponent + 64 - f.precision;
    const int unit = ideal > f.least ? ideal : f.least; /* exponent of the last bit kept */
    const int shift = unit - lead->exponent;
    if (lead->bits == 0 || shift > 64)
        return 0;
    if (unit - f.least >= 4096)
        return f.infinity;
    uint64_t kept = shift < 64 ? lead->bits >> shift : 0;
    const uint64_t rest = shift < 64 ? lead->bits << (64 - shift) : lead->bits;
    const uint64_t half = (uint64_t)1 << 63;
    if (rest > half || (rest == half && (lead->more || kept & 1)))
        kept++;
    const uint64_t bits = kept + ((uint64_t)(unit - f.least) << (f.precision - 1));
    return bits < f.infinity ? bits : f.infinity;
}

/* The bits of a magnitude with its sign. */
WI_EXACT_INLINE uint64_t wi_exact_signed(weft_type type, bool negative, uint64_t magnitude) {
    const int sign = type == WEFT_F64 ? 63 : type == WEFT_F32 ? 31 : 15;
    return magnitude | (uint64_t)negative << sign;
}

/* Is the result NaN or an infinity, whatever the digits are? Then *bits is it. */
WI_EXACT_INLINE bool wi_exact_is_special(const int64_t *word, weft_type type, uint64_t *bits) {
    const wi_exact_format f = wi_exact_format_of(type);
    const bool plus = word[WI_EXACT_PLUS] != 0, minus = word[WI_EXACT_MINUS] != 0;
    const bool is_nan = word[WI_EXACT_NAN] != 0 || (plus && minus);
    *bits = is_nan ? f.infinity | (uint64_t)1 << (f.precision - 2)
                   : wi_exact_signed(type, minus, f.infinity);
    return is_nan || plus || minus;
}

/* Is it -0.0: has something been added, and nothing but -0.0? */
WI_EXACT_INLINE bool wi_exact_is_minus_zero(const int64_t *word) {
    return word[WI_EXACT_OTHER] == 0 && word[WI_EXACT_COUNT] != 0;
}

/* The extent of a carried number of which no smaller one is known: all words. */
WI_EXACT_INLINE wi_exact_extent wi_exact_all(const int64_t *word) {
    const wi_exact_extent all = {0, WI_EXACT_DIGITS, word[WI_EXACT_DIGITS - 1] < 0};
    return all;
}

/* The bits of a carried number, or of its square root, rounded to nearest even in `type`. */
WI_EXACT_INLINE uint64_t wi_exact_round_within(const int64_t *word, wi_exact_extent extent,
                                               weft_type type, bool root) {
    uint64_t bits;
    if (wi_exact_is_special(word, type, &bits))
        return bits;
    const wi_exact_lead lead =
        root ? wi_exact_root_of(word, extent) : wi_exact_lead_of(word, extent);
    if (lead.bits == 0)
        return wi_exact_signed(type, wi_exact_is_minus_zero(word), 0);
    return wi_exact_signed(type, lead.negative,
                           wi_exact_round_lead(&lead, wi_exact_format_of(type)));
}

WI_EXACT_INLINE uint64_t wi_exact_round(const int64_t *word, weft_type type, bool root) {
    return wi_exact_round_within(word, wi_exact_all(word), type, root);
}

/* Stores such bits as one element of `type`, at any address. */
WI_EXACT_INLINE void wi_exact_store(weft_type type, uint64_t bits, void *result) {
    const uint32_t bits_32 = (uint32_t)bits;
    const uint16_t bits_16 = (uint16_t)bits;
    if (type == WEFT_F64)
        memcpy(result, &bits, sizeof bits);
    else if (type == WEFT_F32)
        memcpy(result, &bits_32, sizeof bits_32);
    else
        memcpy(result, &bits_16, sizeof bits_16);
}

#endif
