/* SPDX-License-Identifier: Apache-2.0 */
/* Decimals compared with the C library's strtod, which rounds correctly too: random numbers of
 * every length and size, and the hard cases, at and near the points half-way between two doubles.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comma.h"
#include "io/decimal.h"
#include "testing.h"

enum {
    RANDOM_CASES = 200000,
    HALFWAY_CASES = 20000,
    TEXT_BYTES = 1200
};

static void check(const char *text) {
    double got = NAN;
    char *expected_end;
    const double expected = strtod(text, &expected_end);
    const char *const end = wi_decimal_read(text, text + strlen(text), &got);
    if (end != expected_end || memcmp(&got, &expected, sizeof got) != 0)
        fail_msg("\"%s\": %.17g and %td characters, not %.17g and %td", text, got,
                 end ? end - text : -1, expected, expected_end - text);
}

static double any_double(test_random *r) {
    for (;;) {
        const uint64_t bits = test_bits(r);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            return value;
    }
}

static void random_numbers(void **state) {
    (void)state;
    test_random r = test_random_at(1);
    char text[TEXT_BYTES];
    for (int k = 0; k < RANDOM_CASES; k++) {
        if (!test_case_wanted(&r))
            continue;
        snprintf(text, sizeof text, "%.*g", (int)test_below(&r, 20) + 1, any_double(&r));
        check(text);
        snprintf(text, sizeof text, "%s%llu.%llue%d", k % 2 ? "-" : "",
                 (unsigned long long)(test_bits(&r) >> test_below(&r, 64)),
                 (unsigned long long)test_bits(&r), (int)test_below(&r, 700) - 360);
        check(text);
    }
}

/* Inserts `digits` before the exponent, or at the end. */
static void append_digits(char *text, const char *digits) {
    char tail[32] = "";
    char *const exponent = strchr(text, 'e');
    if (exponent) {
        snprintf(tail, sizeof tail, "%s", exponent);
        *exponent = '\0';
    }
    if (!strchr(text, '.'))
        strcat(text, ".");
    strcat(text, digits);
    strcat(text, tail);
}

/* Half-way points in full (long double has the one extra bit), slightly above, and truncated after
 * some digits, which is slightly below. */
static void halfway(void **state) {
    (void)state;
    test_random r = test_random_at(2);
    char text[TEXT_BYTES];
    assert_true(LDBL_MANT_DIG > DBL_MANT_DIG);
    for (int k = 0; k < HALFWAY_CASES; k++) {
        const double value = k % 3 ? any_double(&r) : (double)(test_bits(&r) >> 11);
        const double next = nextafter(value, value < 0 ? -INFINITY : INFINITY);
        if (!test_case_wanted(&r) || isinf(next))
            continue;
        const long double middle = value + ((long double)next - value) / 2;
        snprintf(text, sizeof text, "%.*Lg", (int)test_below(&r, 40) + 15, middle);
        check(text);
        snprintf(text, sizeof text, "%.800Lg", middle);
        check(text);
        append_digits(text, k % 2 ? "0000000000000000000000001" : "1");
        check(text);
    }
}

static void known_hard_cases(void **state) {
    (void)state;
    static const char *const texts[] = {
        "0",
        "-0",
        "00",
        "0.0",
        ".0",
        "0.",
        "0e5",
        "-.5",
        "5.",
        "+5.e1",
        "1e+0",
        "1e-0",
        "1E5",
        "0e99999999999999999999",
        "1e-99999999999999999999",
        "1e99999999999999999999",
        "1e308",
        "1e309",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "-1.7976931348623159e308",
        "179769313486231570000000000000e279",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2.2250738585072011e-308",
        "2.2250738585072012e-308",
        "2.2250738585072014e-308",
        "9007199254740993",
        "9007199254740992.99999999999999999999999999999",
        "1e22",
        "1e23",
        "9007199254740993.0000000000000000000000000000000000000000000000000000000000000001",
        "8.5e22",
        "123456789012345678901234567890",
        "0.000001234567890123456789e-300",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999999999",
        "00000000000000000000000000000000000000000000000000000000000001.5",
        "0.00000000000000000000000000000000000000000000000000000000000000000000000015e50",
        "1e",
        "1e+",
        "1e-x",
        "1.5.5",
        "12ab",
        "1e5.5",
        "7e3 "};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        check(texts[k]);
}

/* Thousands of digits, of which the last decides. */
static void long_numbers(void **state) {
    (void)state;
    static char text[20000];
    for (int last = 0; last < 2; last++) {
        strcpy(text, "9007199254740993.");
        memset(text + strlen(text), '0', 15000);
        text[15017] = '\0';
        text[15016] = (char)('0' + last);
        check(text);
    }
    memset(text, '9', 400);
    strcpy(text + 400, "e-399");
    check(text);
    strcpy(text, "0.");
    memset(text + 2, '0', 5000);
    strcpy(text + 5002, "123e5000");
    check(text);
    memset(text, '1', 5000);
    strcpy(text + 5000, "e-5000");
    check(text);
}

static void no_numbers(void **state) {
    (void)state;
    static const char *const texts[] = {"",  "+",  "-",   ".",   "-.",  "e5", ".e5",
                                        "x", " 1", "--1", "+-1", "inf", "nan"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        double value = 7;
        assert_null(wi_decimal_read(texts[k], texts[k] + strlen(texts[k]), &value));
        assert_true(value == 7);
    }
}

/* Nothing is read beyond the end, and Fortran's exponents are understood. */
static void ends(void **state) {
    (void)state;
    static const char text[] = "1.25d+2";
    static const double expected[] = {0, 1, 1, 1.2, 1.25, 1.25, 1.25, 125};
    for (size_t length = 1; length < sizeof text; length++) {
        char *const exact = malloc(length);
        double value = NAN;
        assert_non_null(exact);
        memcpy(exact, text, length);
        assert_non_null(wi_decimal_read(exact, exact + length, &value));
        assert_true(value == expected[length]);
        free(exact);
    }
}

static void check_write(double value) {
    char text[WI_DECIMAL_BYTES], shortest[64];
    double again = NAN;
    const size_t length = wi_decimal_write(value, text);
    assert_true(length < WI_DECIMAL_BYTES);
    assert_int_equal(strlen(text), length);
    assert_ptr_equal(wi_decimal_read(text, text + length, &again), text + length);
    if (memcmp(&again, &value, sizeof value) != 0)
        fail_msg("%.17g was written as %s", value, text);
    int digits = 15;
    do
        snprintf(shortest, sizeof shortest, "%.*g", digits, value);
    while (strtod(shortest, NULL) != value && digits++ < 17);
    if (fabs(value) >= 1e15 || value != trunc(value))
        assert_string_equal(text, shortest);
}

static void written(void **state) {
    (void)state;
    static const double values[] = {
        0,    -0.0, 1,       -1,       0.1,     1e15,         1e16,   123456789012345,
        1e22, 1e23, DBL_MAX, -DBL_MAX, DBL_MIN, DBL_TRUE_MIN, 1.0 / 3};
    test_random r = test_random_at(3);
    for (size_t k = 0; k < sizeof values / sizeof *values; k++)
        check_write(values[k]);
    for (int k = 0; k < RANDOM_CASES / 10; k++) {
        if (test_case_wanted(&r))
            check_write(any_double(&r));
    }
}

/* A program may have set a locale with another decimal sign. */
static void other_locale(void **state) {
    (void)state;
    char text[WI_DECIMAL_BYTES];
    double value = 0;
    if (!test_comma_locale())
        skip();
    wi_decimal_write(0.1, text);
    assert_string_equal(text, "0.1");
    wi_decimal_write(-1.25e-7, text);
    assert_string_equal(text, "-1.25e-07");
    assert_non_null(wi_decimal_read(text, text + strlen(text), &value));
    assert_true(value == -1.25e-7);
    setlocale(LC_NUMERIC, "C");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_numbers),   cmocka_unit_test(halfway),
        cmocka_unit_test(known_hard_cases), cmocka_unit_test(long_numbers),
        cmocka_unit_test(no_numbers),       cmocka_unit_test(ends),
        cmocka_unit_test(written),          cmocka_unit_test(other_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
