/* SPDX-License-Identifier: Apache-2.0 */
/* Links are measured between all ends there are, with what arrives checked. */
#include "climb/links.h"
#include "core/gpu.h"
#include "testing.h"

enum {
    BYTES = 1 << 14
};

static void measure(weft_context *ctx, int from, int to, bool staged) {
    wi_link link;
    if (wi_link_measure(ctx, from, to, BYTES, staged, &link) != WEFT_OK)
        fail_msg("from %d to %d: %s", from, to, weft_message(ctx));
    assert_null(link.broken);
    assert_true(link.one_way > 0 && link.latency > 0);
    const bool pageable = from == WI_END_PAGEABLE || to == WI_END_PAGEABLE;
    assert_int_equal(link.both_ways > 0, !pageable);
    assert_true(!staged || !link.direct);
}

static void ends(weft_context *ctx) {
    if (ctx->kind == WI_CPU)
        return;
    const int gpus = wi_gpu_visible(), own = ctx->device;
    for (int host = WI_END_PAGEABLE; host < 0; host++) {
        measure(ctx, host, own, false);
        measure(ctx, own, host, false);
    }
    for (int k = 0; k < gpus; k++) {
        if (k == own)
            continue;
        measure(ctx, own, k, false);
        measure(ctx, k, own, true);
    }
}

static void test_host(void **state) {
    wi_link link;
    (void)state;
    assert_int_equal(wi_link_of_host(BYTES, &link), WEFT_OK);
    assert_true(link.one_way > 0);
    assert_null(link.broken);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(ends), cmocka_unit_test(test_host)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
