/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of group share: segments of awkward lengths, and an oracle that shares no code
 * with the library. */
#ifndef WI_GROUP_ORACLE_H
#define WI_GROUP_ORACLE_H

#include <math.h>

#include "testing.h"

/* How n elements are divided into segments. */
typedef enum group_shape {
    GROUP_ONES,   /* one element each */
    GROUP_SHORT,  /* 0 to 20 elements */
    GROUP_LONG,   /* up to 3000 */
    GROUP_ALL,    /* all in one */
    GROUP_SPARSE, /* mostly empty ones, before, behind and between a few others */
    GROUP_MIXED,  /* a long one among ones, and then many empty ones */
    GROUP_SHAPES
} group_shape;

static inline size_t group_length(test_random *r, group_shape shape, size_t s, size_t n) {
    switch (shape) {
    case GROUP_ONES:
        return 1;
    case GROUP_SHORT:
        return (size_t)test_below(r, 21);
    case GROUP_LONG:
        return (size_t)test_below(r, 3001);
    case GROUP_ALL:
        return n;
    case GROUP_SPARSE:
        return test_below(r, 8) == 0 ? (size_t)test_below(r, 200) : 0;
    default:
        return s == 3 ? n / 2 : s % 7 == 6 ? 0 : 1;
    }
}

/* Fills at most `room` offsets; returns how many segments there are. */
static inline size_t group_divide(test_random *r, group_shape shape, size_t n, size_t room,
                                  uint64_t *offsets) {
    size_t s = 0, at = 0;
    offsets[0] = 0;
    while (s + 1 < room && (at < n || s == 0)) {
        const size_t length = group_length(r, shape, s, n);
        at = s + 2 == room || length > n - at ? n : at + length;
        offsets[++s] = at;
    }
    if (shape == GROUP_SPARSE || shape == GROUP_MIXED)
        for (size_t more = (size_t)test_below(r, 300); more > 0 && s + 1 < room; more--)
            offsets[++s] = n;
    return s;
}

/* A result, and how far from it a correct one may be. */
typedef struct group_result {
    test_value value;
    long double tolerance;
} group_result;

static inline bool group_is_better(weft_type type, bool most, test_value a, test_value b) {
    if (test_is_float(type)) {
        if (isnan(a.f) || isnan(b.f))
            return isnan(a.f) && !isnan(b.f);
        if (a.f == b.f)
            return most ? !signbit(a.f) && signbit(b.f) : signbit(a.f) && !signbit(b.f);
        return most ? a.f > b.f : a.f < b.f;
    }
    if (test_is_signed(type))
        return most ? a.i > b.i : a.i < b.i;
    return most ? a.u > b.u : a.u < b.u;
}

/* The result over no elements of MIN and MAX. */
static inline test_value group_none(weft_type type, bool most) {
    const size_t bits = 8 * test_size_of(type);
    if (test_is_float(type))
        return (test_value){.f = most ? -INFINITY : INFINITY};
    if (!test_is_signed(type))
        return (test_value){.u = most ? 0 : UINT64_MAX >> (64 - bits)};
    const int64_t largest = (int64_t)(UINT64_MAX >> (65 - bits));
    return (test_value){.i = most ? -largest - 1 : largest};
}

static inline group_result group_extreme(weft_op op, weft_type type, const void *x, size_t first,
                                         size_t end) {
    const bool most = op == WEFT_MAX || op == WEFT_ARGMAX;
    size_t at = first;
    for (size_t i = first + 1; i < end; i++)
        at = group_is_better(type, most, test_load(type, x, i), test_load(type, x, at)) ? i : at;
    if (op == WEFT_ARGMIN || op == WEFT_ARGMAX)
        return (group_result){{.u = first < end ? at : UINT64_MAX}, 0};
    return (group_result){first < end ? test_load(type, x, at) : group_none(type, most), 0};
}

static inline group_result group_integers(weft_op op, weft_type type, const void *x, size_t first,
                                          size_t end) {
    uint64_t total = op == WEFT_PRODUCT;
    long double squares = 0;
    for (size_t i = first; i < end; i++) {
        const test_value v = test_load(type, x, i);
        const bool negative = test_is_signed(type) && v.i < 0;
        const uint64_t size = negative ? 0 - v.u : v.u;
        const long double number = test_is_signed(type) ? (long double)v.i : (long double)v.u;
        squares += number * number;
        if (op == WEFT_NRMINF)
            total = size > total ? size : total;
        else
            total = op == WEFT_PRODUCT ? total * v.u : total + (op == WEFT_NRM1 ? size : v.u);
    }
    if (op == WEFT_NRM2)
        return (group_result){{.f = (double)sqrtl(squares)}, sqrtl(squares) * 0x1p-40L};
    return (group_result){{.u = total}, 0};
}

static inline group_result group_floats(weft_op op, weft_type type, const void *x, size_t first,
                                        size_t end) {
    const weft_type result = type == WEFT_F64 ? WEFT_F64 : WEFT_F32;
    long double total = op == WEFT_PRODUCT, size = 0;
    for (size_t i = first; i < end; i++) {
        const double v = test_load(type, x, i).f;
        const long double term = op == WEFT_NRM1   ? fabs(v)
                                 : op == WEFT_NRM2 ? (long double)v * v
                                                   : v;
        if (op == WEFT_NRMINF)
            total = isnan(v) || isnan((double)total) ? NAN : fmaxl(total, fabs(v));
        else
            total = op == WEFT_PRODUCT ? total * v : total + term;
        size += fabsl(term);
    }
    if (op == WEFT_NRMINF)
        return (group_result){{.f = (double)total}, 0};
    if (op == WEFT_NRM2)
        size = total = sqrtl(total);
    const long double error =
        (long double)(end - first) * (op == WEFT_PRODUCT ? fabsl(total) : size);
    return (group_result){{.f = test_round(result, total)},
                          error * 0x1p-50L + fabsl(total) * test_roundoff(result) * 1.01L};
}

/* Elements first ... end - 1 of x reduced. */
static inline group_result group_reduced(weft_op op, weft_type type, const void *x, size_t first,
                                         size_t end) {
    if (op == WEFT_MIN || op == WEFT_MAX || op == WEFT_ARGMIN || op == WEFT_ARGMAX)
        return group_extreme(op, type, x, first, end);
    return test_is_float(type) ? group_floats(op, type, x, first, end)
                               : group_integers(op, type, x, first, end);
}

/* Is `got`, of type `type`, a correct result? NaN is only where it should be. */
static inline bool group_is_right(weft_type type, const group_result *right, test_value got) {
    if (right->tolerance == 0 || !test_is_float(type) || !isfinite(right->value.f))
        return test_same(type, got, right->value);
    return fabsl((long double)got.f - (long double)right->value.f) <= right->tolerance;
}

#endif
