/* SPDX-License-Identifier: Apache-2.0 */
/* Predicates as ranges of keys, so that kernels need one test for all types and comparisons. */
#include <string.h>

#include "select/select.h"

/* The order of a type's elements: ranks 0 ... `top`, of which `least` to `most` are numbers; rank r
 * has the key r + bottom. */
typedef struct order {
    unsigned bits;
    uint64_t ones, fold, bottom;
    uint64_t least, most;
} order;

/* A constant: the ranks equal to it, two of them for zero. */
typedef struct constant {
    uint64_t first, last;
    bool is_nan;
} constant;

static uint64_t rank_of(const order *o, uint64_t bits) {
    const bool negative = bits >> (o->bits - 1) & 1;
    return ((bits ^ (negative ? o->fold : 0)) - o->bottom) & o->ones;
}

/* The bits of infinity. */
static uint64_t infinity_of(weft_type type) {
    switch (type) {
    case WEFT_F16:
        return 0x7c00;
    case WEFT_BF16:
        return 0x7f80;
    case WEFT_F32:
        return 0x7f800000;
    default:
        return 0x7ff0000000000000;
    }
}

static order order_of(weft_type type) {
    const unsigned bits = 8 * (unsigned)weft_type_size(type);
    const uint64_t ones = UINT64_MAX >> (64 - bits), sign = ones ^ ones >> 1;
    order o = {.bits = bits, .ones = ones, .most = ones};
    if (wi_type_is_float(type)) {
        o.fold = ones >> 1;
        o.bottom = sign;
        o.least = rank_of(&o, infinity_of(type) | sign);
        o.most = rank_of(&o, infinity_of(type));
    } else if (wi_type_is_signed(type)) {
        o.bottom = sign;
    }
    return o;
}

static constant constant_of(const order *o, const weft_element *element) {
    uint64_t bits = 0;
    memcpy(&bits, element, o->bits / 8);
    const uint64_t sign = o->ones ^ o->ones >> 1, rank = rank_of(o, bits);
    constant c = {rank, rank, rank < o->least || rank > o->most};
    if (o->fold && (bits & ~sign) == 0) {
        c.first = rank_of(o, sign);
        c.last = rank_of(o, 0);
    }
    return c;
}

/* Floats of one sign are in the order of their bits (reversed if negative), so their range needs no
 * folding. */
static wi_select_range range(const order *o, uint64_t first, uint64_t last, bool negate) {
    const uint64_t zero = o->ones ^ o->ones >> 1; /* the rank of +0.0 */
    wi_select_range r = {(first + o->bottom) & o->ones, last - first, o->fold, negate};
    if (o->fold && last < zero)
        r.low = ((last + o->bottom) & o->ones) ^ o->fold;
    if (last < zero || first >= zero || r.span == o->ones)
        r.fold = 0;
    return r;
}

wi_select_range wi_select_range_of(const weft_predicate *p) {
    const order o = order_of(p->type);
    const constant a = constant_of(&o, &p->a), b = constant_of(&o, &p->b);
    const wi_select_range all = range(&o, 0, o.ones, false), none = range(&o, 0, o.ones, true);
    if (p->test == WEFT_IS_NAN)
        return range(&o, o.least, o.most, true);
    if (a.is_nan || (p->test == WEFT_BETWEEN && b.is_nan))
        return p->test == WEFT_NE ? all : none;
    switch (p->test) {
    case WEFT_EQ:
    case WEFT_NE:
        return range(&o, a.first, a.last, p->test == WEFT_NE);
    case WEFT_LT:
        return a.first == o.least ? none : range(&o, o.least, a.first - 1, false);
    case WEFT_LE:
        return range(&o, o.least, a.last, false);
    case WEFT_GT:
        return a.last == o.most ? none : range(&o, a.last + 1, o.most, false);
    case WEFT_GE:
        return range(&o, a.first, o.most, false);
    default:
        return a.first > b.last ? none : range(&o, a.first, b.last, false);
    }
}
