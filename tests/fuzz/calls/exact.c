/* SPDX-License-Identifier: Apache-2.0 */
/* Correctly rounded sums, alone and in an accumulator that is saved, loaded and merged. The oracle
 * adds numbers to a long integer in units of 2^-2176, one by one. */
#include "calls/calls.h"

#include <math.h>
#include <string.h>

enum {
    LIMBS = 70, /* of 64 bits, the lowest first */
    UNIT = -2176,
    MANTISSA = 53
};

/* A sum of f64 and of products of two. */
typedef struct long_sum {
    uint64_t limb[LIMBS];
    bool nan, plus, minus; /* NaN, or infinities, among the terms */
    bool only_minus_zero;  /* every term is -0.0, and there is one */
    size_t terms;
} long_sum;

/* Adds (or subtracts, by the two's complement) magnitude 2^exponent. */
static void add_shifted(long_sum *s, unsigned __int128 magnitude, int exponent, bool negative) {
    const unsigned shift = (unsigned)(exponent - UNIT);
    uint64_t part[LIMBS] = {0};
    for (unsigned k = 0; k < 128; k++)
        if (magnitude >> k & 1)
            part[(shift + k) / 64] |= UINT64_C(1) << (shift + k) % 64;
    unsigned carry = negative;
    for (size_t k = 0; k < LIMBS; k++) {
        const unsigned __int128 sum =
            (unsigned __int128)s->limb[k] + (negative ? ~part[k] : part[k]) + carry;
        s->limb[k] = (uint64_t)sum;
        carry = (unsigned)(sum >> 64);
    }
}

/* |x| = the result times 2^exponent; the result is a whole number. */
static uint64_t whole_of(double x, int *exponent) {
    const double fraction = frexp(fabs(x), exponent);
    *exponent -= MANTISSA;
    return (uint64_t)ldexp(fraction, MANTISSA);
}

/* Adds x y exactly. */
static void add_term(long_sum *s, double x, double y) {
    const double rounded = x * y;
    const bool negative = signbit(x) != signbit(y), zero = x == 0 || y == 0;
    s->only_minus_zero =
        (s->terms == 0 || s->only_minus_zero) && zero && negative && !isnan(rounded);
    s->terms++;
    s->nan = s->nan || isnan(rounded);
    if (isinf(x) || isinf(y)) {
        s->plus = s->plus || (!isnan(rounded) && !negative);
        s->minus = s->minus || (!isnan(rounded) && negative);
    } else if (!zero && !isnan(rounded)) {
        int of_x, of_y;
        const uint64_t a = whole_of(x, &of_x), b = whole_of(y, &of_y);
        const unsigned low_x = (unsigned)__builtin_ctzll(a), low_y = (unsigned)__builtin_ctzll(b);
        add_shifted(s, (unsigned __int128)(a >> low_x) * (b >> low_y),
                    of_x + of_y + (int)(low_x + low_y), negative);
    }
}

static bool has_bit(const long_sum *s, int at) {
    return s->limb[at / 64] >> at % 64 & 1;
}

/* The sum rounded once to `type`: to as many bits as the type has there, ties to even. */
static double round_sum(const long_sum *sum, weft_type type) {
    long_sum s = *sum;
    const bool negative = s.limb[LIMBS - 1] >> 63;
    if (s.nan || (s.plus && s.minus))
        return NAN;
    if (s.plus || s.minus)
        return s.plus ? INFINITY : -INFINITY;
    for (size_t k = 0, carry = negative; k < LIMBS && negative; k++) {
        s.limb[k] = ~s.limb[k] + carry;
        carry = carry && s.limb[k] == 0;
    }
    int top = 64 * LIMBS - 1;
    while (top >= 0 && !has_bit(&s, top))
        top--;
    if (top < 0)
        return s.only_minus_zero ? -0.0 : 0.0;
    const int precision = -ilogb(test_roundoff(type)); /* bits of a significand */
    const int smallest = type == WEFT_F64 ? -1074 : ilogb(test_half_tiny(type)) + 1;
    const int least = smallest - UNIT; /* the bit of the smallest subnormal number */
    const int low = top - precision + 1 > least ? top - precision + 1 : least;
    const unsigned count = top >= low ? (unsigned)(top - low + 1) : 0;
    const bool half = has_bit(&s, low - 1);
    bool below = false;
    uint64_t significand = 0;
    for (int k = 0; k < low - 1; k++)
        below = below || has_bit(&s, k);
    for (unsigned k = 0; k < count; k++)
        significand |= (uint64_t)has_bit(&s, low + (int)k) << k;
    if (half && (below || significand % 2))
        significand++;
    const double value = ldexp((double)significand, low + UNIT);
    const double bounded = value > test_largest_of(type) ? INFINITY : value;
    return negative ? -bounded : bounded;
}

/* ---- the calls ---- */

weft_type fuzz_float_type(fuzz *f) {
    static const weft_type floats[] = {WEFT_F16, WEFT_BF16, WEFT_F32, WEFT_F64};
    return floats[fuzz_below(f, 4)];
}

static long_sum sum_of(const fuzz *f, bool absolute, size_t n, const void *x, const void *y) {
    long_sum sum = {.terms = 0};
    for (size_t i = 0; i < n; i++) {
        const double v = test_load(f->type, x, i).f;
        add_term(&sum, absolute ? fabs(v) : v, y ? test_load(f->type, y, i).f : 1);
    }
    return sum;
}

double fuzz_exact_sum(const fuzz *f, bool absolute, size_t n, const void *x, weft_type type) {
    const long_sum sum = sum_of(f, absolute, n, x, NULL);
    return round_sum(&sum, type);
}

static void expect(fuzz_array *result, weft_type type, const long_sum *sum) {
    result->type = type;
    result->compare = FUZZ_SAME;
    test_store(type, result->want, 0, (test_value){.f = round_sum(sum, type)});
}

void fuzz_exact(fuzz *f) {
    fuzz_begin(f, "exact");
    f->type = fuzz_float_type(f);
    weft_op op = fuzz_one_in(f, 3) ? WEFT_NRM1 : WEFT_SUM;
    const bool dot = fuzz_one_in(f, 3);
    weft_type result_type = fuzz_float_type(f);
    const char *const name = dot ? "weft_exact_dot" : "weft_exact_reduce";
    fuzz_array *const x = fuzz_elements(f, "x", f->n);
    fuzz_array *const y = dot ? fuzz_elements(f, "y", f->n) : NULL;
    const size_t size = test_size_of(result_type);
    fuzz_array *const result = fuzz_output(f, "result", size, size);
    if (!result->buffer.device)
        result->align = 1;
    const long_sum sum = sum_of(f, !dot && op == WEFT_NRM1, f->n, x->before, y ? y->before : NULL);
    expect(result, result_type, &sum);
    fuzz_spoil(f);
    if (fuzz_spoil_own(f, "result_type"))
        result_type = (weft_type)(WEFT_TYPE_COUNT + fuzz_below(f, 9));
    fuzz_say(f, "%s(%s, %s, %zu, to %s)", name, dot ? "dot" : test_op_name(op),
             weft_type_name(f->type), f->n, weft_type_name(result_type));
    fuzz_end(f, name,
             dot ? weft_exact_dot(f->ctx, f->type, f->n, x->p, y->p, result_type, result->p)
                 : weft_exact_reduce(f->ctx, op, f->type, f->n, x->p, result_type, result->p));
}

void fuzz_exact_scan(fuzz *f) {
    enum {
        MOST = 1000 /* prefixes, each of which the oracle rounds slowly */
    };
    fuzz_begin(f, "exact_scan");
    f->type = fuzz_float_type(f);
    f->n = f->n < MOST ? f->n : MOST;
    weft_scan_kind kind = (weft_scan_kind)fuzz_below(f, 2);
    const size_t size = test_size_of(f->type);
    fuzz_array *const x = fuzz_elements(f, "x", f->n), *init = NULL;
    fuzz_array *const y = fuzz_output_or(f, x, "y");
    long_sum sum = {.terms = 0};
    if (fuzz_one_in(f, 2)) {
        void *const first = fuzz_take(f, size);
        fuzz_fill(f, f->type, 1, first);
        init = fuzz_input(f, "init", size, size, first);
        init->optional = true;
        init->align = init->buffer.device && f->n > 0 ? size : 1;
        add_term(&sum, test_load(f->type, first, 0).f, 1);
    }
    y->type = f->type;
    y->compare = FUZZ_SAME;
    for (size_t i = 0; i < f->n; i++) {
        const double element = test_load(f->type, x->before, i).f;
        if (kind == WEFT_INCLUSIVE)
            add_term(&sum, element, 1);
        test_store(f->type, y->want, i, (test_value){.f = round_sum(&sum, f->type)});
        if (kind == WEFT_EXCLUSIVE)
            add_term(&sum, element, 1);
    }
    fuzz_spoil(f);
    if (fuzz_spoil_own(f, "kind"))
        kind = (weft_scan_kind)(2 + fuzz_below(f, 9));
    fuzz_say(f, "weft_exact_scan(kind %d, %s, %zu)", (int)kind, weft_type_name(f->type), f->n);
    fuzz_end(f, "weft_exact_scan",
             weft_exact_scan(f->ctx, kind, f->type, f->n, x->p, y->p, init ? init->p : NULL));
}

static void need(const fuzz *f, const char *call, weft_status status) {
    if (status != WEFT_OK)
        fail_msg("%s: %s", call, weft_message(f->ctx));
}

/* Adds x in pieces, to two sums by turns; each is saved and loaded, and the second merged into the
 * first. */
static void accumulate(fuzz *f, const fuzz_array *x, weft_type result_type, void *result) {
    weft_exact *sum[2];
    const size_t size = test_size_of(f->type);
    need(f, "weft_exact_create", weft_exact_create(f->ctx, &sum[0]));
    need(f, "weft_exact_create", weft_exact_create(f->ctx, &sum[1]));
    for (size_t at = 0, turn = 0; at < f->n; turn++) {
        unsigned char saved[WEFT_EXACT_BYTES];
        weft_exact *const to = sum[turn % 2];
        const size_t piece = 1 + fuzz_below(f, f->n - at);
        const void *const p = (const char *)x->p + at * size;
        if (piece == 1 && !x->buffer.device)
            need(f, "weft_exact_add_value",
                 weft_exact_add_value(f->ctx, to, test_load(f->type, p, 0).f));
        else
            need(f, "weft_exact_add", weft_exact_add(f->ctx, to, f->type, piece, p));
        need(f, "weft_exact_save", weft_exact_save(f->ctx, to, saved));
        need(f, "weft_exact_load", weft_exact_load(f->ctx, sum[turn % 2], saved));
        at += piece;
    }
    uint64_t count = 0;
    need(f, "weft_exact_merge", weft_exact_merge(f->ctx, sum[0], sum[1]));
    need(f, "weft_exact_count", weft_exact_count(f->ctx, sum[0], &count));
    if (count != f->n)
        fail_msg("%llu elements are counted, of %zu", (unsigned long long)count, f->n);
    need(f, "weft_exact_round", weft_exact_round(f->ctx, sum[0], result_type, result));
    weft_exact_destroy(sum[0]);
    weft_exact_destroy(sum[1]);
}

void fuzz_accumulate(fuzz *f) {
    fuzz_begin(f, NULL);
    f->type = fuzz_float_type(f);
    const weft_type result_type = fuzz_float_type(f);
    unsigned char got[8], want[8];
    const fuzz_array *const x = fuzz_elements(f, "x", f->n);
    const long_sum sum = sum_of(f, false, f->n, x->before, NULL);
    test_store(result_type, want, 0, (test_value){.f = round_sum(&sum, result_type)});
    fuzz_say(f, "a sum of %zu %s in pieces", f->n, weft_type_name(f->type));
    accumulate(f, x, result_type, got);
    const test_value have = test_load(result_type, got, 0);
    if (!test_same(result_type, have, test_load(result_type, want, 0)))
        fail_msg("the sum is %s, not %s", test_text(result_type, have),
                 test_text(result_type, test_load(result_type, want, 0)));
    fuzz_end(f, "weft_exact_round", WEFT_OK);
}
