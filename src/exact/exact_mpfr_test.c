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
    CASES = 1 << 18
};

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

static double expected(const rig *r, const exact_case *c) {
    mpfr_t sum;
    mpfr_init2(sum, BITS);
    mpfr_set_zero(sum, c->n > 0 ? -1 : 1); /* nothing but -0.0 remains that */
    for (size_t i = 0; i < c->n; i++)
        add_term(sum, c->terms, r->x[i], r->y[i]);
    const double result = rounded(sum, c->terms == WI_EXACT_SQUARES, c->result_type);
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

static void against_mpfr(void **state) {
    const wi_row *rows[] = {test_row_named(&wi_exact_ladder, "serial"),
                            test_row_named(&wi_exact_ladder, "threads")};
    const size_t cases = test_times(CASES);
    weft_context *ctx;
    (void)state;
    assert_int_equal(weft_open(&ctx, "cpu:2"), WEFT_OK);
    rig r = rig_open(ctx, 25, MOST);
    for (size_t k = 0; k < cases; k++) {
        const exact_case c = {.row = rows[k % 2],
                              .terms = (wi_exact_terms)test_below(&r.random, WI_EXACT_TERMS),
                              .type = floats[test_below(&r.random, FLOATS)],
                              .result_type = floats[test_below(&r.random, FLOATS)],
                              .n = test_below(&r.random, k % 16 == 0 ? MOST + 1 : 20),
                              .pattern = (exact_pattern)test_below(&r.random, PATTERNS)};
        run_case(&r, &c);
    }
    print_message("%zu cases agree with MPFR %s\n", cases, mpfr_get_version());
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
