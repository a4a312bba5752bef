/* SPDX-License-Identifier: Apache-2.0 */
/* What a context remembers of even bins: it says the same of them as one that is asked for the
 * first time, whatever others it was asked about before, of which many differ in one way only. */
#include "histogram/histogram.h"
#include "testing.h"

enum {
    TIMES = 3000,
    LEAST = 100 /* of either answer */
};

static bool ask(weft_context *ctx, const wi_bins *bins) {
    bool straight = false;
    test_ok(ctx, wi_histogram_look(ctx, bins, &straight));
    return straight;
}

static wi_bins draw(test_random *r) {
    static const weft_type types[] = {WEFT_F16, WEFT_F32, WEFT_F64, WEFT_I32};
    static const size_t counts[] = {10, 49, 98};
    static const double los[] = {0, 0.1, -0.3}, his[] = {0.7, 1, 2.9, 1000.1};
    const weft_bins bins = {.count = counts[test_below(r, 3)],
                            .lo = los[test_below(r, 3)],
                            .hi = his[test_below(r, 4)]};
    return wi_bins_of(types[test_below(r, 4)], &bins);
}

static void remembered(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    test_random r = test_random_at(1);
    size_t straight = 0;
    for (size_t t = 0; t < TIMES; t++) {
        weft_context *const other = test_open("cpu:1");
        const wi_bins bins = draw(&r);
        const bool right = ask(other, &bins);
        if (ask(ctx, &bins) != right)
            fail_msg("%u bins from %g to %g, %u bits: said to be %s", (unsigned)bins.count, bins.lo,
                     bins.hi, bins.form.bits, right ? "crooked" : "straight");
        straight += right;
        weft_close(other);
    }
    assert_in_range(straight, LEAST, TIMES - LEAST);
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(remembered)};
    return cmocka_run_group_tests_name("histogram_straight", tests, NULL, NULL);
}
