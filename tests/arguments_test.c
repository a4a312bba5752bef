/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong arguments: each has its own status and a message that names the call and the argument, and
 * a refused call has changed nothing. The cases are from the slices, SLICE_cases.c. */
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "cases.h"
#include "gpu_name.h"

static void test_no_context(void **state) {
    (void)state;
    for (const test_cases *const *slice = test_all_cases; *slice; slice++)
        (*slice)->without_context();
}

/* ---- places ---- */

static void test_bad_places(void **state) {
    (void)state;
    static const char *const places[] = {"",
                                         " ",
                                         "CPU",
                                         "cpu ",
                                         " cpu",
                                         "cpu:",
                                         "cpu:0",
                                         "cpu:-1",
                                         "cpu:+2",
                                         "cpu:x",
                                         "tpu",
                                         TEST_GPU ":",
                                         TEST_GPU ":x",
                                         TEST_GPU ":-1",
                                         "cpu:2x",
                                         TEST_GPU "x",
                                         "cpu: 2",
                                         "cpu:4097",
                                         "cpus",
                                         TEST_GPU ":0:1",
                                         "cpu:99999999999999999999"};
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        weft_context *ctx = (weft_context *)1;
        weft_status status = weft_open(&ctx, places[k]);
        if (status != WEFT_EARG || ctx) {
            fail_msg("place \"%s\": status %s", places[k], weft_status_name(status));
        }
        const char *message = weft_message(NULL);
        if (!strstr(message, places[k]) || !strstr(message, "cpu:N") || strchr(message, '\n')) {
            fail_msg("place \"%s\": message \"%s\"", places[k], message);
        }
    }
}

/* A GPU that does not exist is not a wrong string: the status may concern the device or the build.
 */
static void test_missing_gpu(void **state) {
    (void)state;
    weft_context *ctx = NULL;
    assert_int_not_equal(weft_open(&ctx, TEST_GPU ":1000"), WEFT_OK);
    assert_null(ctx);
    assert_true(strlen(weft_message(NULL)) > 0);
}

/* ---- calls on arrays of several operations ---- */

/* Arrays that touch but share nothing do not overlap; nor does in place. */
static void neighbours(weft_context *ctx) {
    int32_t *x = NULL, back[COUNT], ones[COUNT];
    const int32_t one = 1;
    void *memory = NULL;
    assert_int_equal(weft_alloc(ctx, &memory, sizeof back), WEFT_OK);
    x = memory;
    assert_int_equal(weft_fill(ctx, WEFT_I32, COUNT, &one, x), WEFT_OK);
    assert_int_equal(weft_add(ctx, WEFT_I32, 8, x, x + 16, x + 8), WEFT_OK);
    assert_int_equal(weft_add(ctx, WEFT_I32, 8, x + 24, x + 24, x + 24), WEFT_OK);
    assert_int_equal(weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_I32, 8, x + 32, x + 40, NULL),
                     WEFT_OK);
    assert_int_equal(weft_reduce(ctx, WEFT_MAX, WEFT_I32, 8, x + 32, x + 48), WEFT_OK);
    assert_int_equal(weft_copy(ctx, back, x, sizeof back), WEFT_OK);
    for (int i = 0; i < COUNT; i++) {
        bool doubled = (i >= 8 && i < 16) || (i >= 24 && i < 32);
        ones[i] = doubled ? 2 : i >= 40 && i < 48 ? i - 39 : 1;
    }
    assert_memory_equal(back, ones, sizeof back);
    assert_int_equal(weft_free(ctx, memory), WEFT_OK);
}

/* ---- variants ---- */

static void bad_variants(weft_context *ctx) {
    rig r = rig_open(ctx);
    REFUSED("weft_use", "sacn", weft_use(ctx, "sacn", "serial"));
    assert_true(test_has_word(weft_message(ctx), "scan")); /* the message lists what exists */
    REFUSED("weft_use", "fastest", weft_use(ctx, "scan", "fastest"));
    assert_true(test_has_word(weft_message(ctx), "serial"));
    REFUSED("weft_use", NULL, weft_use(ctx, "scan", ""));
    const char *foreign = ctx->kind == WI_CPU ? "lookback" : "serial";
    weft_status status = weft_use(ctx, "scan", foreign);
#ifdef WEFT_CUDA
    test_refused(ctx, status, WEFT_EUNSUPPORTED, "weft_use", foreign);
#else
    test_refused(ctx, status, WEFT_EARG, "weft_use", foreign); /* this build does not have it */
#endif
    assert_int_equal(weft_use(ctx, "scan", "auto"), WEFT_OK);
    rig_close(&r);
}

static void message_rules(weft_context *ctx) {
    weft_context *fresh = test_open(weft_place(ctx));
    assert_string_equal(weft_message(fresh), "");
    assert_null(weft_used(fresh, "reduce"));
    assert_null(weft_used(fresh, "no such"));
    weft_close(fresh);
}

/* ---- all of them ---- */

enum {
    MOST_TESTS = 256
};

int main(void) {
    struct CMUnitTest tests[MOST_TESTS] = {
        cmocka_unit_test(test_no_context),  cmocka_unit_test(test_bad_places),
        cmocka_unit_test(test_missing_gpu), TEST_ON_EACH_PLACE(neighbours),
        TEST_ON_EACH_PLACE(bad_variants),   TEST_ON_EACH_PLACE(message_rules),
    };
    test_body bodies[MOST_TESTS];
    size_t count = 0;
    while (tests[count].name)
        count++;
    for (const test_cases *const *slice = test_all_cases; *slice; slice++) {
        for (size_t k = 0; k < (*slice)->refusal_count; k++, count++) {
            const test_refusal *const r = &(*slice)->refusals[k];
            if (count == MOST_TESTS) {
                fprintf(stderr, "arguments_test: MOST_TESTS is less than there are\n");
                return 1;
            }
            bodies[count].run = r->run;
            tests[count] =
                (struct CMUnitTest){r->name, test_on_each_place, NULL, NULL, &bodies[count]};
        }
    }
    return _cmocka_run_group_tests("arguments", tests, count, NULL, NULL);
}
