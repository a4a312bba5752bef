/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of tuning: which files are refused and why, what the environment says, and that factors
 * change what is chosen, but not what is forced. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/tuning.h"
#include "testing.h"

enum {
    TEXT_BYTES = 2048
};

static char path[64];

static void write_file(const char *text) {
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Writes a table for the context's device with these lines below the head. */
static void write_table(const weft_context *ctx, const char *lines) {
    char device[WI_DEVICE_BYTES], text[TEXT_BYTES];
    wi_tuning_device(ctx, device);
    snprintf(text, sizeof text, "weft-tuning 1\nplace %s\nlibrary %s\ndevice %s\n%s",
             wi_tuning_place(ctx), weft_version(), device, lines);
    write_file(text);
}

static int make_path(void **state) {
    (void)state;
    snprintf(path, sizeof path, "/tmp/weft_tuning_%ld", (long)getpid());
    unsetenv("WEFT_TUNING");
    return 0;
}

static int remove_file(void **state) {
    (void)state;
    unlink(path);
    return 0;
}

static void refused(weft_context *ctx, weft_status status, const char *why) {
    test_refused(ctx, weft_set_tuning(ctx, path), status, "weft_set_tuning", why);
}

static void test_damaged(weft_context *ctx) {
    static const struct {
        const char *lines, *why;
    } bad[] = {
        {"", "does not end"},
        {"map serial f32 any 2\n", "does not end"},
        {"factors 1\n", "does not end"},
        {"map serial f32 any 2\nfactors 2\n", "does not end"},
        {"map serial f32 any 2\nfactors 1", "cut off"},
        {"map serial f32 any 2\nfactors 1\nfactors 1\n", "follows"},
        {"map serial f32 any 2\nmap serial f32 any 3\nfactors 2\n", "before"},
        {"map serial f32 any\nfactors 1\n", "OPERATION"},
        {"map  serial f32 any 2\nfactors 1\n", "OPERATION"},
        {"map serial f32 any 2 3\nfactors 1\n", "OPERATION"},
        {"\nfactors 0\n", "OPERATION"},
        {"mop serial f32 any 2\nfactors 1\n", "rung"},
        {"map cereal f32 any 2\nfactors 1\n", "rung"},
        {"map serial f33 any 2\nfactors 1\n", "type"},
        {"map serial f64 round 2\nfactors 1\n", "shape"},
        {"map serial f32 any nan\nfactors 1\n", "factor"},
        {"map serial f32 any inf\nfactors 1\n", "factor"},
        {"map serial f32 any 1e400\nfactors 1\n", "factor"},
        {"map serial f32 any 1e7\nfactors 1\n", "factor"},
        {"map serial f32 any 1e-7\nfactors 1\n", "factor"},
        {"map serial f32 any 0\nfactors 1\n", "factor"},
        {"map serial f32 any -1\nfactors 1\n", "factor"},
        {"map serial f32 any 2x\nfactors 1\n", "factor"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        write_table(ctx, bad[k].lines);
        refused(ctx, WEFT_EFORMAT, bad[k].why);
        assert_null(ctx->tuning);
    }
    char line[TEXT_BYTES / 2];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    write_table(ctx, line);
    refused(ctx, WEFT_EFORMAT, "too long");
    write_file("");
    refused(ctx, WEFT_EFORMAT, "no table");
    write_file("{}\n");
    refused(ctx, WEFT_EFORMAT, "no table");
    write_file("weft-tuning 1\nplace cpu\n");
    assert_true(weft_set_tuning(ctx, path) != WEFT_OK);
    unlink(path);
    refused(ctx, WEFT_EIO, "opening");
    test_refused(ctx, weft_set_tuning(ctx, "/tmp"), WEFT_EIO, "weft_set_tuning", "reading");
}

static void test_others(weft_context *ctx) {
    const char *const other = ctx->kind == WI_CPU ? "gpu" : "cpu";
    char text[TEXT_BYTES], device[WI_DEVICE_BYTES];
    weft_context *opened = NULL;
    wi_tuning_device(ctx, device);
    write_file("weft-tuning 2\n");
    refused(ctx, WEFT_EUNSUPPORTED, "format");
    snprintf(text, sizeof text, "weft-tuning 1\nplace %s\nlibrary 0.0.1\n", wi_tuning_place(ctx));
    write_file(text);
    refused(ctx, WEFT_EUNSUPPORTED, "0.0.1");
    snprintf(text, sizeof text, "weft-tuning 1\nplace %s\nlibrary %s\ndevice %s II\nfactors 0\n",
             wi_tuning_place(ctx), weft_version(), device);
    write_file(text);
    refused(ctx, WEFT_EUNSUPPORTED, "II");
    setenv("WEFT_TUNING", path, 1);
    assert_int_equal(weft_open(&opened, weft_place(ctx)), WEFT_EUNSUPPORTED);
    assert_non_null(strstr(weft_message(NULL), "WEFT_TUNING"));
    assert_null(opened);
    /* one of another kind of place is passed over there, and only there */
    snprintf(text, sizeof text, "weft-tuning 1\nplace %s\n", other);
    write_file(text);
    refused(ctx, WEFT_EUNSUPPORTED, other);
    opened = test_open(weft_place(ctx));
    assert_null(opened->tuning);
    weft_close(opened);
    write_file("weft-tuning 1\nplace moon\n");
    assert_int_equal(weft_open(&opened, weft_place(ctx)), WEFT_EUNSUPPORTED);
    write_table(ctx, "factors 0\n");
    opened = test_open(weft_place(ctx));
    assert_non_null(opened->tuning);
    weft_close(opened);
    unsetenv("WEFT_TUNING");
}

/* ---- the choice ---- */

typedef struct mock_args {
    unsigned shape;
} mock_args;

static double one_second(const weft_context *ctx, const void *args) {
    (void)ctx;
    (void)args;
    return 1;
}

static double two_seconds(const weft_context *ctx, const void *args) {
    return 2 * one_second(ctx, args);
}

static unsigned shape_of(const void *args) {
    return ((const mock_args *)args)->shape;
}

static weft_status run_nothing(weft_context *ctx, const void *args) {
    (void)ctx;
    (void)args;
    return WEFT_OK;
}

/* Rows in the order of map's, of which the factors are: "serial" and "threads". */
static wi_row mock_rows[] = {
    {.name = "serial",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = one_second,
     .shape = shape_of,
     .run = run_nothing},
    {.name = "threads",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = two_seconds,
     .shape = shape_of,
     .run = run_nothing},
};
static const wi_ladder mock_ladder = {"map", mock_rows, 2};

static void expect_row(weft_context *ctx, weft_type type, unsigned shape, const char *row) {
    const mock_args args = {shape};
    assert_int_equal(wi_run(ctx, &mock_ladder, "weft_mock", type, &args), WEFT_OK);
    assert_string_equal(weft_used(ctx, "map"), row);
}

static void test_choice(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    expect_row(ctx, WEFT_F32, WI_SHAPE_THIN, "serial");
    write_table(ctx, "map serial f32 thin 3\nmap serial f32 any 1\nmap threads tf32 any 0.25\n"
                     "# a comment\nmap threads - tall 1e-6\nfactors 4\n");
    assert_int_equal(weft_set_tuning(ctx, path), WEFT_OK);
    expect_row(ctx, WEFT_F32, WI_SHAPE_THIN, "threads");
    expect_row(ctx, WEFT_F32, WI_SHAPE_LARGE, "serial");
    expect_row(ctx, WEFT_F32, WI_ROUNDED + WI_SHAPE_LARGE, "threads");
    expect_row(ctx, WEFT_F64, WI_SHAPE_THIN, "serial");
    expect_row(ctx, WI_NO_TYPE, WI_SHAPE_TALL, "threads");
    expect_row(ctx, WI_NO_TYPE, WI_SHAPE_SHORT, "serial");
    /* what is refused leaves the table as it was */
    assert_int_equal(weft_set_tuning(ctx, "/tmp"), WEFT_EIO);
    expect_row(ctx, WEFT_F32, WI_SHAPE_THIN, "threads");
    /* a forced rung runs whatever the table says */
    assert_int_equal(weft_use(ctx, "map", "serial"), WEFT_OK);
    const float x[2] = {1, 2};
    float z[2];
    assert_int_equal(weft_add(ctx, WEFT_F32, 2, x, x, z), WEFT_OK);
    assert_string_equal(weft_used(ctx, "map"), "serial");
    assert_int_equal(weft_use(ctx, "map", NULL), WEFT_OK);
    write_table(ctx, "map serial f32 thin 1.5\nfactors 1\n");
    assert_int_equal(weft_set_tuning(ctx, path), WEFT_OK);
    expect_row(ctx, WEFT_F32, WI_SHAPE_THIN, "serial");
    assert_int_equal(weft_set_tuning(ctx, NULL), WEFT_OK);
    assert_null(ctx->tuning);
    weft_close(ctx);
}

/* Through a public call: the rung that a table makes look slow is not chosen. */
static void test_public_call(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    const float x[2] = {1, 2};
    float z[2];
    assert_int_equal(weft_add(ctx, WEFT_F32, 2, x, x, z), WEFT_OK);
    const bool serial = strcmp(weft_used(ctx, "map"), "serial") == 0;
    write_table(ctx, serial ? "map serial f32 any 1e6\nmap threads f32 any 1e-6\nfactors 2\n"
                            : "map threads f32 any 1e6\nmap serial f32 any 1e-6\nfactors 2\n");
    assert_int_equal(weft_set_tuning(ctx, path), WEFT_OK);
    assert_int_equal(weft_add(ctx, WEFT_F32, 2, x, x, z), WEFT_OK);
    assert_string_equal(weft_used(ctx, "map"), serial ? "threads" : "serial");
    assert_true(z[1] == 4);
    weft_close(ctx);
}

/* What is predicted without a table is recorded, of the ladder asked for only. */
static void test_forecast(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    wi_forecast told = {.ladder = &mock_ladder};
    write_table(ctx, "map serial f32 any 1.5\nfactors 1\n");
    assert_int_equal(weft_set_tuning(ctx, path), WEFT_OK);
    ctx->forecast = &told;
    expect_row(ctx, WEFT_F32, WI_SHAPE_FLAT, "serial");
    expect_row(ctx, WEFT_F32, WI_SHAPE_FLAT, "serial");
    const float x[2] = {1, 2};
    float z[2];
    assert_int_equal(weft_add(ctx, WEFT_F32, 2, x, x, z), WEFT_OK);
    assert_true(told.calls == 2 && told.seconds == 2);
    assert_true(told.type == WEFT_F32 && told.shape == WI_SHAPE_FLAT);
    ctx->forecast = NULL;
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(test_damaged), TEST_ON_EACH_PLACE(test_others),
        cmocka_unit_test(test_choice),    cmocka_unit_test(test_public_call),
        cmocka_unit_test(test_forecast),
    };
    return cmocka_run_group_tests_name("tuning", tests, make_path, remove_file);
}
