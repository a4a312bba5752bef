/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests in this folder share: difficult inputs, and an oracle that compares elements as
 * the header defines it and sorts positions by merging. */
#ifndef WI_SORT_ORACLE_H
#define WI_SORT_ORACLE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

typedef enum oracle_pattern {
    ORACLE_BITS,    /* all bits random: the floats contain every kind of NaN */
    ORACLE_VALUES,  /* TEST_ANY */
    ORACLE_TIES,    /* TEST_TIES */
    ORACLE_EQUAL,   /* TEST_EQUAL */
    ORACLE_NANS,    /* TEST_NANS */
    ORACLE_RISING,  /* ascending, as far as the type can count */
    ORACLE_FALLING, /* descending */
    ORACLE_STAIRS,  /* descending steps, whose length depends on n */
    ORACLE_PIPES,   /* ascending, then descending */
    ORACLE_KILLER,  /* a "median-of-3 killer" (Musser 1997): the median of first, middle and last is
                       a bad pivot */
    ORACLE_TWISTED, /* in order except for a few */
    ORACLE_SKEWED,  /* all but a few are within a thousandth of the range */
    ORACLE_FEW,     /* eight different values */
    ORACLE_PATTERNS
} oracle_pattern;

static inline uint64_t oracle_bits(weft_type type, const void *p, size_t i) {
    const size_t size = test_size_of(type);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)p + i * size, size);
    return bits;
}

/* ---- inputs ---- */

/* The numbers 1 ... n in an order in which a quicksort with the median of three removes only two
 * elements in each partition. */
static inline size_t oracle_killer(size_t i, size_t n) {
    const size_t half = n / 2;
    if (i >= half)
        return 2 * (i - half + 1);
    return i % 2 == 0 ? i + 1 : half + i;
}

static inline size_t oracle_count(test_random *r, oracle_pattern pattern, size_t i, size_t n) {
    switch (pattern) {
    case ORACLE_RISING:
        return i;
    case ORACLE_FALLING:
        return n - i;
    case ORACLE_STAIRS:
        return (n - i) / (n % 2 ? 40 : 3);
    case ORACLE_PIPES:
        return i < n / 2 ? i : n - i;
    case ORACLE_KILLER:
        return oracle_killer(i, n);
    case ORACLE_TWISTED:
        return test_below(r, 50) == 0 ? test_below(r, n) : i;
    case ORACLE_SKEWED:
        return test_below(r, 500) == 0 ? test_bits(r) >> 33 : 1000000000 + test_below(r, 1 << 20);
    default:
        return test_below(r, 8) << 20;
    }
}

static inline void oracle_fill(test_random *r, oracle_pattern pattern, weft_type type, size_t n,
                               void *p) {
    static const test_pattern fills[] = {[ORACLE_VALUES] = TEST_ANY,
                                         [ORACLE_TIES] = TEST_TIES,
                                         [ORACLE_EQUAL] = TEST_EQUAL,
                                         [ORACLE_NANS] = TEST_NANS};
    if (pattern == ORACLE_BITS) {
        for (size_t k = 0; k < n * test_size_of(type); k++)
            ((unsigned char *)p)[k] = (unsigned char)test_bits(r);
    } else if (pattern <= ORACLE_NANS) {
        test_fill(r, fills[pattern], type, n, p);
    } else {
        for (size_t i = 0; i < n; i++) {
            const size_t k = oracle_count(r, pattern, i, n);
            const test_value v = test_is_float(type) ? (test_value){.f = (double)k - (double)n / 2}
                                                     : (test_value){.u = k};
            test_store(type, p, i, v);
        }
    }
}

/* ---- the order ---- */

/* The order of the kinds of floats: numbers, NaN with sign bit 0, NaN with sign bit 1. */
static inline int oracle_kind(double value, bool sign) {
    return !isnan(value) ? 0 : sign ? 2 : 1;
}

/* -1, 0 or 1 if element a comes before, equals, or comes after b in ascending order. */
static inline int oracle_compare(weft_type type, uint64_t a, uint64_t b) {
    const test_value va = test_load(type, &a, 0), vb = test_load(type, &b, 0);
    if (test_is_signed(type))
        return (va.i > vb.i) - (va.i < vb.i);
    if (!test_is_float(type))
        return (va.u > vb.u) - (va.u < vb.u);
    const unsigned top = 8 * (unsigned)test_size_of(type) - 1;
    const bool sign_a = a >> top, sign_b = b >> top;
    const int kind_a = oracle_kind(va.f, sign_a), kind_b = oracle_kind(vb.f, sign_b);
    if (kind_a != kind_b)
        return kind_a > kind_b ? 1 : -1;
    if (kind_a == 0 && va.f != vb.f)
        return va.f > vb.f ? 1 : -1;
    if (kind_a == 0)
        return sign_b - sign_a;
    const int payloads = (a > b) - (a < b);
    return kind_a == 1 ? payloads : -payloads;
}

/* The ordered bits, by the formulas of the header. */
static inline uint64_t oracle_ordered(weft_type type, uint64_t u) {
    const unsigned bits = 8 * (unsigned)test_size_of(type);
    const uint64_t top = UINT64_C(1) << (bits - 1), ones = top | (top - 1);
    const unsigned m = type == WEFT_F16 ? 10 : type == WEFT_BF16 ? 7 : type == WEFT_F32 ? 23 : 52;
    if (test_is_signed(type))
        return u ^ top;
    if (!test_is_float(type))
        return u;
    return ((u & top ? ~u : u | top) - ((UINT64_C(1) << m) - 1)) & ones;
}

/* What is sorted. */
typedef struct oracle {
    weft_type type;
    bool descending;
    bool whole; /* compare as the header defines it; else only the bits below */
    unsigned first_bit, end_bit;
    const void *x;
} oracle;

static inline int oracle_order(const oracle *o, size_t i, size_t k) {
    const uint64_t a = oracle_bits(o->type, o->x, i), b = oracle_bits(o->type, o->x, k);
    int sign;
    if (o->whole) {
        sign = oracle_compare(o->type, a, b);
    } else {
        const unsigned width = o->end_bit - o->first_bit;
        const uint64_t mask = width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX;
        const uint64_t ka = width ? oracle_ordered(o->type, a) >> o->first_bit & mask : 0;
        const uint64_t kb = width ? oracle_ordered(o->type, b) >> o->first_bit & mask : 0;
        sign = (ka > kb) - (ka < kb);
    }
    return o->descending ? -sign : sign;
}

/* Sorts positions order[0 .. n) by merging runs of doubling length. */
static inline void oracle_merge(const oracle *o, size_t n, size_t *order) {
    size_t *const other = malloc(n * sizeof *other + 1), *from = order, *to = other;
    assert_non_null(other);
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t start = 0; start < n; start += 2 * run) {
            const size_t middle = start + run < n ? start + run : n;
            const size_t end = middle + run < n ? middle + run : n;
            size_t a = start, b = middle;
            for (size_t k = start; k < end; k++) {
                const bool first =
                    b == end || (a < middle && oracle_order(o, from[a], from[b]) <= 0);
                to[k] = from[first ? a++ : b++];
            }
        }
        size_t *const swapped = from;
        from = to;
        to = swapped;
    }
    if (from != order)
        memcpy(order, from, n * sizeof *order);
    free(other);
}

/* order[i] = which element of x comes i-th. */
static inline void oracle_sort(weft_type type, bool descending, unsigned first_bit,
                               unsigned end_bit, size_t n, const void *x, size_t *order) {
    const oracle o = {.type = type,
                      .descending = descending,
                      .whole = first_bit == 0 && end_bit == 8 * test_size_of(type),
                      .first_bit = first_bit,
                      .end_bit = end_bit,
                      .x = x};
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    oracle_merge(&o, n, order);
}

#endif
