/* SPDX-License-Identifier: Apache-2.0 */
/* Exact sums, products and norms against MPFR, where that is installed: as its numbers have as many
 * bits as any sum of f64 needs, it adds without rounding, and rounds once at the end. The oracle of
 * the other tests is held against it, too. */
#include <stdio.h>

#include "testing.h"

#if WEFT_MPFR
#    include <mpfr.h>

#    include "exact/exact_data.h"
#    include "exact/exact_oracle.h"

enum {
    FLOATS = 4,
    BITS = 4500, /* from 2^-2148, the last of a product, to sums of 2^64 products of 2^2048 */
    MOST = 300,
    CASES = 1 << 20,
    LONG = 200, /* cases of up to LONGEST elements */
    LONGEST = 1 << 20
};

/* Cases of each kind so far; a case may be of several. */
typedef enum kind {
    TO_ZERO,     /* everything cancels, and not all elements are 0 */
    CONDITION,   /* the sum of magnitudes is 1e300 times that of the terms, or more */
    HUGE_AMONG,  /* one is huge, and many tiny */
    SUBNORMAL,   /* all elements are */
    NOT_FINITE,  /* infinities or NaN among the elements */
    TIE,         /* half way between two numbers of the result's type */
    OVERFLOWING, /* finite elements whose result is an infinity */
    KINDS
} kind;

static const char *const kind_names[KINDS] = {
    "that cancel to 0", "of condition 1e300 or more", "of one huge and many tiny elements",
    "all subnormal",    "with infinities or NaN",     "half way between two numbers",
    "that overflow"};
static size_t seen[KINDS];

static const weft_type floats[FLOATS] = {WEFT_F16, WEFT_BF16, WEFT_F32, WEFT_F64};

/* ---- what MPFR says ---- */

/* Numbers of a type as MPFR counts exponents: 0.1... 2^e. */
typedef struct format {
    mpfr_prec_t bits;
    mpfr_exp_t least, most;
} format;

static format format_of(weft_type type) {
    switch (type) {
    case WEFT_F16:
        return (format){11, -23, 16};
    case WEFT_BF16:
        return (format){8, -132, 128};
    case WEFT_F32:
        return (format){24, -148, 128};
    default:
        return (format){53, -1073, 1024};
    }
}

/* The exact number, or its root, rounded to the type. */
static double rounded(const mpfr_t exact, bool root, weft_type type) {
    const format f = format_of(type);
    const mpfr_exp_t least = mpfr_get_emin(), most = mpfr_get_emax();
    mpfr_t r;
    mpfr_init2(r, f.bits);
    int side = root ? mpfr_sqrt(r, exact, MPFR_RNDN) : mpfr_set(r, exact, MPFR_RNDN);
    mpfr_set_emin(f.least);
    mpfr_set_emax(f.most);
    side = mpfr_check_range(r, side, MPFR_RNDN);
    mpfr_subnormalize(r, side, MPFR_RNDN);
    const double result = mpfr_get_d(r, MPFR_RNDN);
    mpfr_set_emin(least);
    mpfr_set_emax(most);
    mpfr_clear(r);
    return result;
}

/* Adds one term; that rounds nothing. */
static void add_term(mpfr_t sum, wi_exact_terms terms, double x, double y) {
    mpfr_t term, factor;
    mpfr_init2(term, 106);
    mpfr_init2(factor, 53);
    assert_int_equal(mpfr_set_d(term, terms == WI_EXACT_NRM1 ? fabs(x) : x, MPFR_RNDN), 0);
    mpfr_set_d(factor, terms == WI_EXACT_DOT ? y : x, MPFR_RNDN);
    if (terms == WI_EXACT_DOT || terms == WI_EXACT_SQUARES)
        assert_int_equal(mpfr_mul(term, term, factor, MPFR_RNDN), 0);
    assert_int_equal(mpfr_add(sum, sum, term, MPFR_RNDN), 0);
    mpfr_clear(term);
    mpfr_clear(factor);
}

/* Half way between two numbers of `bits` bits, of which subnormal ones have fewer? */
static bool is_tie(const mpfr_t exact, format f) {
    mpfr_t r;
    if (!mpfr_regular_p(exact) || mpfr_get_exp(exact) <= f.least + f.bits)
        return false;
    mpfr_init2(r, f.bits + 1);
    const bool fits = mpfr_set(r, exact, MPFR_RNDN) == 0;
    const bool needs_all = fits && mpfr_min_prec(r) == f.bits + 1;
    mpfr_clear(r);
    return needs_all;
}

static void note_kinds(const rig *r, const exact_case *c, const mpfr_t sum, double result) {
    size_t subnormal = 0, zeros = 0, special = 0;
    for (size_t i = 0; i < c->n; i++) {
        zeros += r->x[i] == 0;
        special += !isfinite(r->x[i]);
        subnormal += fabs(r->x[i]) > 0 && c->pattern == TINY;
    }
    const bool has_sum = c->terms != WI_EXACT_SQUARES && c->n > 0 && special == 0;
    seen[TO_ZERO] += has_sum && mpfr_zero_p(sum) && zeros < c->n && c->pattern != FAINT;
    seen[HUGE_AMONG] += c->pattern == ONE_HUGE && c->n > 2;
    seen[SUBNORMAL] += subnormal > 0 && subnormal + zeros == c->n;
    seen[NOT_FINITE] += special > 0;
    seen[TIE] += c->terms != WI_EXACT_SQUARES && is_tie(sum, format_of(c->result_type));
    seen[OVERFLOWING] += special == 0 && isinf(result);
    if (c->terms != WI_EXACT_SUM || special > 0 || !mpfr_regular_p(sum))
        return;
    double largest = 0;
    for (size_t i = 0; i < c->n; i++)
        largest = fmax(largest, fabs(r->x[i]));
    seen[CONDITION] += ilogb(largest) - (int)mpfr_get_exp(sum) >= 997; /* 2^997 > 1e300 */
}

static double expected(const rig *r, const exact_case *c) {
    mpfr_t sum;
    mpfr_init2(sum, BITS);
    mpfr_set_zero(sum, c->n > 0 ? -1 : 1); /* nothing but -0.0 remains that */
    for (size_t i = 0; i < c->n; i++)
        add_term(sum, c->terms, r->x[i], r->y[i]);
    const double result = rounded(sum, c->terms == WI_EXACT_SQUARES, c->result_type);
    note_kinds(r, c, sum, result);
    mpfr_clear(sum);
    return result;
}

/* ---- cases ---- */

static double of_oracle(const rig *r, const exact_case *c) {
    oracle o;
    oracle_clear(&o);
    for (size_t i = 0; i < c->n; i++) {
        if (c->terms == WI_EXACT_DOT)
            oracle_add_product(&o, r->x[i], r->y[i]);
        else
            oracle_add(&o, c->terms == WI_EXACT_NRM1 ? fabs(r->x[i]) : r->x[i]);
    }
    return oracle_round(&o, c->result_type);
}

static void compare(const exact_case *c, const char *who, double right, double got) {
    const test_value a = {.f = right}, b = {.f = got};
    if (!test_same(c->result_type, a, b))
        fail_msg("%s: terms %d of %s as %s, n %zu, pattern %d: %s, and MPFR %s", who, c->terms,
                 weft_type_name(c->type), weft_type_name(c->result_type), c->n, c->pattern,
                 test_text(c->result_type, b), test_text(c->result_type, a));
}

static void run_case(rig *r, const exact_case *c) {
    static const weft_op ops[] = {WEFT_SUM, WEFT_NRM1, WEFT_NRM2};
    _Alignas(8) unsigned char result[8];
    draw(&r->random, c, r->x, r->source_x);
    draw(&r->random, c, r->y, r->source_y);
    test_use(r->ctx, "exact", c->row);
    const weft_status status = c->terms == WI_EXACT_DOT
                                   ? weft_exact_dot(r->ctx, c->type, c->n, r->source_x, r->source_y,
                                                    c->result_type, result)
                                   : weft_exact_reduce(r->ctx, ops[c->terms], c->type, c->n,
                                                       r->source_x, c->result_type, result);
    assert_int_equal(status, WEFT_OK);
    const double right = expected(r, c);
    compare(c, c->row->name, right, test_load(c->result_type, result, 0).f);
    if (c->terms != WI_EXACT_SQUARES)
        compare(c, "the oracle", right, of_oracle(r, c));
}

/* A length up to `most`; longer ones are rarer. */
static size_t draw_length(test_random *r, size_t most) {
    const double log = log2((double)most + 1) * (double)(test_bits(r) >> 11) * 0x1p-53;
    return test_below(r, 64) == 0 ? most : (size_t)exp2(log) - 1;
}

/* Half of them on one rung, half on the other. */
static void run_cases(rig *r, size_t cases, size_t most) {
    const wi_row *const rows[] = {test_row_named(&wi_exact_ladder, "serial"),
                                  test_row_named(&wi_exact_ladder, "threads")};
    for (size_t k = 0; k < cases; k++) {
        const exact_case c = {.row = rows[k % 2],
                              .terms = (wi_exact_terms)test_below(&r->random, WI_EXACT_TERMS),
                              .type = floats[test_below(&r->random, FLOATS)],
                              .result_type = floats[test_below(&r->random, FLOATS)],
                              .n = draw_length(&r->random, most),
                              .pattern = (exact_pattern)test_below(&r->random, PATTERNS)};
        run_case(r, &c);
    }
}

static void against_mpfr(void **state) {
    const size_t cases = test_times(CASES), more = test_times(LONG);
    weft_context *ctx;
    (void)state;
    assert_int_equal(weft_open(&ctx, "cpu:2"), WEFT_OK);
    rig r = rig_open(ctx, 25, LONGEST);
    run_cases(&r, cases, MOST);
    run_cases(&r, more, LONGEST);
    print_message("%zu cases of up to %d elements and %zu of up to %d agree with MPFR %s\n", cases,
                  MOST, more, LONGEST, mpfr_get_version());
    for (int k = 0; k < KINDS; k++)
        print_message("%8zu %s\n", seen[k], kind_names[k]);
    for (int k = 0; k < KINDS; k++)
        assert_true(seen[k] > 0);
    rig_close(&r);
    weft_close(ctx);
    mpfr_free_cache();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_mpfr)};
    return cmocka_run_group_tests_name("exact, MPFR", tests, NULL, NULL);
}
#else
int main(void) {
    puts("skipped: MPFR was not there when this was compiled");
    return 77;
}
#endif
