/* SPDX-License-Identifier: Apache-2.0 */
/* Links are measured between all ends there are, and steps of communication between several GPUs,
 * with what arrives checked. Over ranks the command's tests do that. */
#include "climb/links.h"

#include "climb/collectives.h"
#include "comm/gpus.h"
#include "core/gpu.h"
#include "gpu_name.h"
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

/* ---- steps ---- */

static const size_t sizes[] = {1, 1000, 1 << 16, (1 << 17) + 4};

static weft_status measure_step(weft_context *rank, wi_step_kind kind, size_t bytes, bool device) {
    const wi_step step = {.kind = kind,
                          .bytes = bytes,
                          .samples = 2,
                          .a = rank->comm->size - 1,
                          .device = {device, kind & 1}};
    wi_step_rate rate;
    const weft_status status = wi_step_measure(rank, &step, &rate);
    const bool well =
        rate.right && rate.seconds > 0 && rate.bytes + 16 > bytes && rate.bus > 0 && rate.transport;
    if (status != WEFT_OK || well)
        return status;
    return wi_fail(rank, WEFT_EDEVICE, "%s of %zu bytes is wrong", wi_step_name(kind), bytes);
}

static weft_status measure_all(weft_context *rank, void *user) {
    weft_status status = WEFT_OK;
    (void)user;
    for (int kind = 0; kind < WI_STEP_KINDS && status == WEFT_OK; kind++) {
        for (size_t s = 0; s < 2 * sizeof sizes / sizeof *sizes && status == WEFT_OK; s++)
            status = measure_step(rank, (wi_step_kind)kind, sizes[s / 2], s & 1);
    }
    return status;
}

static void test_steps(void **state) {
    (void)state;
    weft_context *ctx;
    if (weft_open(&ctx, TEST_GPU "s") != WEFT_OK)
        skip();
    if (wi_gpus_count(ctx) > 1 && wi_gpus_run(ctx, NULL, "test", measure_all, NULL) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(ends), cmocka_unit_test(test_host),
                                       cmocka_unit_test(test_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
