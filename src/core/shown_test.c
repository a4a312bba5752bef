/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of text from outside: what is shown unchanged, what is escaped, and where it is cut off. */
#include <stdio.h>
#include <string.h>

#include "core/core.h"
#include "testing.h"

static void check_shown(const char *text, const char *expected) {
    char out[128];
    memset(out, 'x', sizeof out);
    wi_shown(text, out, sizeof out);
    assert_string_equal(out, expected);
}

static void shown(void **state) {
    (void)state;
    check_shown("", "");
    check_shown("plain \\ text\"", "plain \\ text\"");
    check_shown("a\nb\tc\rd\033e\177f", "a\\nb\\tc\\x0dd\\x1be\\x7ff");
    check_shown("na\303\257ve \342\230\203 \360\235\204\236 \364\217\277\277",
                "na\303\257ve \342\230\203 \360\235\204\236 \364\217\277\277");
    check_shown("\302\200\302\237\302\240", "\\xc2\\x80\\xc2\\x9f\302\240"); /* controls, too */
    check_shown("\200\277\300\200\301\277", "\\x80\\xbf\\xc0\\x80\\xc1\\xbf");
    check_shown("\355\237\277\355\240\200", "\355\237\277\\xed\\xa0\\x80"); /* a surrogate */
    check_shown("\340\237\277\360\217\277\277",
                "\\xe0\\x9f\\xbf\\xf0\\x8f\\xbf\\xbf"); /* longer than necessary */
    check_shown("\364\220\200\200\370\377", "\\xf4\\x90\\x80\\x80\\xf8\\xff"); /* beyond the last */
    check_shown("\342\230", "\\xe2\\x98");                                     /* incomplete */
    check_shown("\342x\360\235\204", "\\xe2x\\xf0\\x9d\\x84");
}

/* For any bytes, the result is one line that fits its room, and escaping it again changes nothing.
 */
static void any_bytes(void **state) {
    (void)state;
    test_random r = test_random_at(1);
    for (int run = 0; run < 20000; run++) {
        char text[24], out[40], again[40];
        const size_t length = test_below(&r, sizeof text), room = 1 + test_below(&r, sizeof out);
        for (size_t k = 0; k < length; k++)
            text[k] = (char)(1 + test_below(&r, 255));
        text[length] = '\0';
        memset(out, 'x', sizeof out);
        wi_shown(text, out, room);
        assert_true(strlen(out) < room);
        for (const char *c = out; *c; c += wi_utf8_bytes(c)) {
            assert_true(wi_utf8_bytes(c) > 0);
            assert_false(wi_is_control(c));
        }
        for (size_t k = room; k < sizeof out; k++)
            assert_int_equal(out[k], 'x');
        wi_shown(out, again, sizeof again);
        assert_string_equal(again, out);
    }
}

static void messages(weft_context *ctx) {
    wi_fail(ctx, WEFT_EIO, "%s: no", "a\033\n\377b");
    assert_string_equal(weft_message(ctx), "a\\x1b\\n\\xffb: no");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shown),
        cmocka_unit_test(any_bytes),
        TEST_ON_EACH_PLACE(messages),
    };
    return cmocka_run_group_tests_name("text shown", tests, NULL, NULL);
}
