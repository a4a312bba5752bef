/* SPDX-License-Identifier: Apache-2.0 */
/* Places, the environment, messages, types, the choice of rungs, memory of every place. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/gpu.h"
#include "gpu_name.h"
#include "testing.h"

/* ---- names and types ---- */

static void test_names(void **state) {
    (void)state;
    assert_string_equal(weft_version(), WEFT_VERSION);
    assert_string_equal(weft_status_name(WEFT_OK), "WEFT_OK");
    assert_string_equal(weft_status_name(WEFT_ECOMM), "WEFT_ECOMM");
    assert_string_equal(weft_status_name(WEFT_ECANCELLED), "WEFT_ECANCELLED");
    assert_string_equal(weft_status_name((weft_status)99), "?");
    assert_string_equal(weft_status_name((weft_status)-1), "?");
    assert_string_equal(weft_place(NULL), "");
}

static void test_type_facts(void **state) {
    (void)state;
    for (int t = 0; t < WEFT_TYPE_COUNT; t++) {
        const weft_type type = (weft_type)t;
        assert_int_equal(weft_type_size(type), test_size_of(type));
        assert_string_equal(weft_type_name(type), test_type_name(type));
        assert_int_equal(wi_type_is_float(type), test_is_float(type));
        assert_int_equal(wi_type_is_signed(type), test_is_signed(type));
    }
    test_random r = test_random_at(1);
    for (int round = 0; round < 1000; round++) {
        const weft_type type = (weft_type)(round % WEFT_TYPE_COUNT);
        uint64_t element;
        test_fill(&r, TEST_ANY, type, 1, &element);
        const test_value v = test_load(type, &element, 0);
        const double expected = test_is_float(type)    ? v.f
                                : test_is_signed(type) ? (double)v.i
                                                       : (double)v.u;
        assert_true(wi_element_value(type, &element) == expected);
    }
    assert_int_equal(weft_type_size((weft_type)WEFT_TYPE_COUNT), 0);
    assert_int_equal(weft_type_size((weft_type)-1), 0);
    assert_string_equal(weft_type_name((weft_type)-1), "?");
}

/* One of the 16-bit floats: its layout, and the conversions under test. */
typedef struct small_float {
    const char *name;
    int fraction_bits, exponent_bits;
    float (*widen)(unsigned bits);
    unsigned (*narrow)(float value);
} small_float;

static float widen_f16(unsigned bits) {
    return weft_f16_to_float((weft_f16){(uint16_t)bits});
}

static unsigned narrow_f16(float value) {
    return weft_f16_from_float(value).bits;
}

static float widen_bf16(unsigned bits) {
    return weft_bf16_to_float((weft_bf16){(uint16_t)bits});
}

static unsigned narrow_bf16(float value) {
    return weft_bf16_from_float(value).bits;
}

static const small_float small_floats[] = {
    {"f16", 10, 5, widen_f16, narrow_f16},
    {"bf16", 7, 8, widen_bf16, narrow_bf16},
};

/* The value of the bits of a non-negative number, by the definition of IEEE 754. The pattern of
 * infinity gives the next power of two, which rounding compares with. */
static double meaning(const small_float *f, unsigned magnitude) {
    const int bias = (1 << (f->exponent_bits - 1)) - 1;
    const int exponent = (int)(magnitude >> f->fraction_bits);
    const unsigned fraction = magnitude & ((1u << f->fraction_bits) - 1);
    if (exponent == 0)
        return ldexp(fraction, 1 - bias - f->fraction_bits);
    return ldexp((1u << f->fraction_bits) + fraction, exponent - bias - f->fraction_bits);
}

static void check_narrow(const small_float *f, double value, unsigned expected) {
    const float v = (float)value;
    if (f->narrow(v) != expected || f->narrow(-v) != (expected | 0x8000u))
        fail_msg("%s: %a gives %#x and %#x, not %#x with either sign", f->name, value, f->narrow(v),
                 f->narrow(-v), expected);
}

/* Checks a value, and numbers around the middle between it and the next one. All are exact in f32,
 * except the neighbours of the middle, which are rounded to f32. */
static void check_around(const small_float *f, unsigned magnitude) {
    const double here = meaning(f, magnitude), next = meaning(f, magnitude + 1);
    const double middle = (here + next) / 2;
    check_narrow(f, here, magnitude);
    if ((float)middle != middle) /* above the largest bf16 f32 ends too */
        return;
    check_narrow(f, middle, magnitude + (magnitude & 1));
    check_narrow(f, nextafterf((float)middle, 0), magnitude);
    check_narrow(f, nextafterf((float)middle, INFINITY), magnitude + 1);
}

static void test_small_floats(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof small_floats / sizeof *small_floats; k++) {
        const small_float *const f = &small_floats[k];
        const unsigned infinite = ((1u << f->exponent_bits) - 1) << f->fraction_bits;
        for (unsigned bits = 0; bits < 0x10000; bits++) {
            const unsigned magnitude = bits & 0x7fffu;
            const float value = f->widen(bits);
            if (magnitude > infinite) {
                assert_true(isnan(value));
                assert_true((f->narrow(value) & 0x7fffu) > infinite);
                assert_int_equal(!!signbit(value), bits >> 15);
            } else if (magnitude == infinite) {
                assert_true(value == (bits >> 15 ? -INFINITY : INFINITY));
                assert_int_equal(f->narrow(value), bits);
            } else {
                assert_true(fabs(value) == meaning(f, magnitude));
                assert_int_equal(!!signbit(value), bits >> 15);
                check_around(f, magnitude);
            }
        }
        check_narrow(f, HUGE_VALF, infinite);
        check_narrow(f, 3.4028234663852886e38, infinite);
        check_narrow(f, 1e-45, 0);
    }
}

/* ---- places and the environment ---- */

static void clear_environment(void) {
    unsetenv("WEFT_PLACE");
    unsetenv("WEFT_THREADS");
    unsetenv("WEFT_VARIANT");
}

/* Opening must fail with this status and a message that names `word`. */
static void refuse_open(const char *place, weft_status expected, const char *word) {
    weft_context *ctx = (weft_context *)&ctx;
    const weft_status status = weft_open(&ctx, place);
    if (status != expected || ctx || !strstr(weft_message(NULL), word))
        fail_msg("place %s: %s, \"%s\"", place ? place : "NULL", weft_status_name(status),
                 weft_message(NULL));
}

static void expect_place(const char *asked, const char *got) {
    weft_context *const ctx = test_open(asked);
    assert_string_equal(weft_place(ctx), got);
    assert_string_equal(weft_message(ctx), "");
    weft_close(ctx);
}

static void test_place_strings(void **state) {
    (void)state;
    clear_environment();
    expect_place("cpu:1", "cpu:1");
    expect_place("cpu:4096", "cpu:4096");
    static const char *const bad[] = {
        "",
        "CPU",
        "cpus",
        "cpu ",
        " cpu",
        "cpu:",
        "cpu:0",
        "cpu:-1",
        "cpu:+1",
        "cpu:01",
        "cpu:4097",
        "cpu:1x",
        "cpu: 1",
        "cpu:1.5",
        TEST_GPU ":",
        TEST_GPU ":-1",
        TEST_GPU ":x",
        TEST_GPU ":1024",
        TEST_GPU "0",
        "cpu:4294967297",
        "tpu",
        TEST_GPU ":0x0",
        "cpu:99999999999999999999",
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        refuse_open(bad[k], WEFT_EARG, bad[k]);
        assert_non_null(strstr(weft_message(NULL), "cpu:N"));
    }
    refuse_open(TEST_GPU "s:0,", WEFT_EARG, TEST_GPU "s:0,2");
    refuse_open(TEST_GPU "s:0,0", WEFT_EARG, "twice");
    refuse_open(TEST_GPU "s:", WEFT_EARG, "names no GPU");
    refuse_open("cpu:1\n2", WEFT_EARG, "cpu:1\\n2");
    assert_int_equal(weft_open(NULL, "cpu"), WEFT_EARG);
    weft_close(NULL);
}

static void test_gpu_places(void **state) {
    (void)state;
    clear_environment();
    char why[WI_MESSAGE_BYTES];
    if (wi_gpu_present(why, sizeof why)) {
        assert_string_equal(why, "");
        weft_context *const ctx = test_open(TEST_GPU);
        char again[WI_PLACE_BYTES];
        strcpy(again, weft_place(ctx));
        expect_place(again, again);
        weft_close(ctx);
        refuse_open(TEST_GPU ":1023", WEFT_EARG, "gpu:1023");
        return;
    }
    assert_true(*why);
#ifdef WEFT_CUDA
    refuse_open(TEST_GPU, WEFT_EDEVICE, why);
    refuse_open(TEST_GPU ":0", WEFT_EDEVICE, "cpu");
#else
    refuse_open(TEST_GPU, WEFT_EUNSUPPORTED, why);
    refuse_open(TEST_GPU ":0", WEFT_EUNSUPPORTED, "configure");
#endif
}

static void test_environment(void **state) {
    (void)state;
    clear_environment();
    setenv("WEFT_PLACE", "cpu:3", 1);
    expect_place(NULL, "cpu:3");
    expect_place("cpu:2", "cpu:2");
    setenv("WEFT_PLACE", "cpu:none", 1);
    refuse_open(NULL, WEFT_EARG, "WEFT_PLACE");
    setenv("WEFT_PLACE", TEST_GPU ":1023", 1); /* there is none, with a GPU or without */
    weft_context *none;
    assert_int_not_equal(weft_open(&none, NULL), WEFT_OK);
    assert_ptr_equal(strstr(weft_message(NULL), "WEFT_PLACE: "), weft_message(NULL));
    setenv("WEFT_PLACE", "cpu", 1);
    setenv("WEFT_THREADS", "5", 1);
    expect_place(NULL, "cpu:5");
    expect_place("cpu:2", "cpu:2");
    static const char *const bad[] = {"0", "-2", "4097", "two", "1 ", "1.0"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        setenv("WEFT_THREADS", bad[k], 1);
        refuse_open("cpu", WEFT_EARG, "WEFT_THREADS");
        expect_place("cpu:2", "cpu:2");
    }
    clear_environment();
    setenv("WEFT_PLACE", "", 1); /* the same as unset */
    setenv("WEFT_THREADS", "", 1);
    setenv("WEFT_VARIANT", "", 1);
    weft_context *const ctx = test_open(NULL);
    weft_close(ctx);
    clear_environment();
}

static void test_variant_list(void **state) {
    (void)state;
    clear_environment();
    static const char *const good[] = {"map:serial", "map:serial,reduce:serial",
                                       "map:threads,map:auto", "map:serial,"};
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        setenv("WEFT_VARIANT", good[k], 1);
        weft_close(test_open("cpu:1"));
    }
    static const char *const bad[] = {"map", "map:", "map:none",     "none:serial", "map:serial;x",
                                      ":",   ",",    "map:serial,,", " map:serial"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        setenv("WEFT_VARIANT", bad[k], 1);
        refuse_open("cpu:1", WEFT_EARG, "WEFT_VARIANT");
    }
    float x = 1, y = 2;
    setenv("WEFT_VARIANT", "map:serial", 1);
    weft_context *const ctx = test_open("cpu:2");
    assert_null(weft_used(ctx, "map"));
    assert_int_equal(weft_add(ctx, WEFT_F32, 1, &x, &y, &y), WEFT_OK);
    assert_string_equal(weft_used(ctx, "map"), "serial");
    weft_close(ctx);
#ifdef WEFT_CUDA
    setenv("WEFT_VARIANT", "map:vector,stage:segmented", 1); /* of another kind of place: ignored */
    weft_close(test_open("cpu:1"));
#endif
    clear_environment();
}

/* ---- messages ---- */

static void *message_elsewhere(void *unused) {
    (void)unused;
    static const char empty[] = "";
    return strcmp(weft_message(NULL), empty) == 0 ? NULL : "another thread's message";
}

static void test_messages(void **state) {
    (void)state;
    refuse_open("nowhere", WEFT_EARG, "nowhere");
    pthread_t thread;
    void *complaint;
    assert_int_equal(pthread_create(&thread, NULL, message_elsewhere, NULL), 0);
    assert_int_equal(pthread_join(thread, &complaint), 0);
    assert_null(complaint);

    weft_context *const ctx = test_open("cpu:1");
    assert_string_equal(weft_message(ctx), "");
    assert_int_equal(wi_fail(ctx, WEFT_EIO, "%s %d", "seven", 7), WEFT_EIO);
    assert_string_equal(weft_message(ctx), "seven 7");
    char longest[2 * WI_MESSAGE_BYTES];
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    wi_fail(ctx, WEFT_EIO, "%s", longest);
    assert_int_equal(strlen(weft_message(ctx)), WI_MESSAGE_BYTES - 1);
    weft_close(ctx);

    assert_int_equal(weft_alloc(NULL, NULL, 1), WEFT_EARG);
    assert_int_equal(weft_free(NULL, NULL), WEFT_EARG);
    assert_int_equal(weft_copy(NULL, NULL, NULL, 1), WEFT_EARG);
    assert_int_equal(weft_sync(NULL), WEFT_EARG);
    assert_int_equal(weft_set_stream(NULL, NULL), WEFT_EARG);
    assert_int_equal(weft_use(NULL, "map", "serial"), WEFT_EARG);
    assert_non_null(strstr(weft_message(NULL), "context"));
}

static void test_overlap(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    char a[64];
    assert_int_equal(wi_check_overlap(ctx, "f", "x", a, 16, "y", a + 16, 16), WEFT_OK);
    assert_int_equal(wi_check_overlap(ctx, "f", "x", a + 16, 16, "y", a, 16), WEFT_OK);
    assert_int_equal(wi_check_overlap(ctx, "f", "x", a, 16, "y", a, 16), WEFT_OK);
    assert_int_equal(wi_check_overlap(ctx, "f", "x", a, 16, "y", a + 15, 0), WEFT_OK);
    assert_int_equal(wi_check_overlap(ctx, "f", "x", NULL, 0, "y", NULL, 0), WEFT_OK);
    test_refused(ctx, wi_check_overlap(ctx, "f", "x", a, 16, "y", a + 15, 16), WEFT_EARG, "f", "x");
    test_refused(ctx, wi_check_overlap(ctx, "f", "x", a + 15, 16, "y", a, 16), WEFT_EARG, "f", "y");
    test_refused(ctx, wi_check_overlap(ctx, "f", "x", a, 16, "y", a, 15), WEFT_EARG, "f", "x");
    test_refused(ctx, wi_check_overlap(ctx, "f", "x", a, 40, "y", a + 8, 8), WEFT_EARG, "f", "x");
    weft_close(ctx);
}

static void test_array_checks(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    char a;
    assert_int_equal(wi_check_array(ctx, "f", "x", NULL, 0, WEFT_F64), WEFT_OK);
    assert_int_equal(wi_check_array(ctx, "f", "x", &a, PTRDIFF_MAX, WEFT_I8), WEFT_OK);
    test_refused(ctx, wi_check_array(ctx, "f", "x", NULL, 1, WEFT_F64), WEFT_EARG, "f", "x");
    test_refused(ctx, wi_check_array(ctx, "f", "x", &a, SIZE_MAX, WEFT_I8), WEFT_EARG, "f", "x");
    test_refused(ctx, wi_check_array(ctx, "f", "x", &a, SIZE_MAX / 8 + 1, WEFT_F64), WEFT_EARG, "f",
                 "x");
    test_refused(ctx, wi_check_type(ctx, "f", (weft_type)12), WEFT_EARG, "f", "type");
    weft_close(ctx);
}

/* ---- forcing a rung ---- */

static void test_forcing(weft_context *ctx) {
    test_refused(ctx, weft_use(ctx, NULL, "serial"), WEFT_EARG, "weft_use", "op");
    test_refused(ctx, weft_use(ctx, "sums", "serial"), WEFT_EARG, "weft_use", "sums");
    assert_true(test_has_word(weft_message(ctx), "reduce")); /* it lists the operations */
    test_refused(ctx, weft_use(ctx, "reduce", "fastest"), WEFT_EARG, "weft_use", "fastest");
    assert_true(test_has_word(weft_message(ctx), "threads"));
    assert_null(weft_used(ctx, "sums"));
    assert_null(weft_used(ctx, NULL));
    assert_null(weft_used(NULL, "map"));
    for (size_t op = 0; op < wi_op_count; op++) {
        const wi_ladder *const ladder = wi_ops[op];
        for (size_t k = 0; k < ladder->count; k++) {
            const wi_row *const row = &ladder->rows[k];
            const weft_status status = weft_use(ctx, ladder->op, row->name);
            test_refused(ctx, status, wi_row_serves(row, ctx) ? WEFT_OK : WEFT_EUNSUPPORTED,
                         "weft_use", row->name);
        }
        assert_int_equal(weft_use(ctx, ladder->op, NULL), WEFT_OK);
        assert_null(ctx->forced[op]);
        assert_int_equal(weft_use(ctx, ladder->op, "auto"), WEFT_OK);
    }
}

/* Names must be good in messages, options and JSON. */
static void test_ladders(void **state) {
    (void)state;
    for (size_t op = 0; op < wi_op_count; op++) {
        const wi_ladder *const ladder = wi_ops[op];
        for (size_t k = 0; k < ladder->count; k++) {
            const char *const name = ladder->rows[k].name;
            assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(name));
            assert_string_not_equal(name, "auto");
            assert_true(ladder->rows[k].kinds != 0 && ladder->rows[k].types != 0);
            assert_true(ladder->rows[k].what && ladder->rows[k].run);
            for (size_t other = 0; other < k; other++)
                assert_string_not_equal(name, ladder->rows[other].name);
        }
    }
}

/* ---- memory ---- */

enum {
    LARGEST = (9 << 20) + 7
};

/* Copies `bytes` through memory of the place and back. */
static void round_trip(weft_context *ctx, size_t bytes, size_t offset) {
    test_random r = test_random_at(bytes + offset);
    unsigned char *const from = malloc(bytes), *const to = calloc(bytes, 1);
    void *a, *b;
    assert_true(from && to);
    for (size_t i = 0; i < bytes; i++)
        from[i] = (unsigned char)test_bits(&r);
    assert_int_equal(weft_alloc(ctx, &a, bytes + offset), WEFT_OK);
    assert_int_equal(weft_alloc(ctx, &b, bytes + offset), WEFT_OK);
    assert_int_equal((uintptr_t)a % 64, 0);
    assert_int_equal(wi_is_device(ctx, a), ctx->gpu != NULL);
    assert_false(wi_is_device(ctx, from));
    char *const x = (char *)a + offset, *const y = (char *)b + offset;
    assert_int_equal(weft_copy(ctx, x, from, bytes), WEFT_OK);
    assert_int_equal(weft_copy(ctx, y, x, bytes), WEFT_OK);
    assert_int_equal(weft_copy(ctx, to, y, bytes), WEFT_OK);
    assert_memory_equal(from, to, bytes);
    memset(to, 0, bytes);
    assert_int_equal(weft_copy(ctx, to, from, bytes), WEFT_OK);
    assert_memory_equal(from, to, bytes);
    assert_int_equal(weft_free(ctx, a), WEFT_OK);
    assert_int_equal(weft_free(ctx, b), WEFT_OK);
    assert_int_equal(weft_sync(ctx), WEFT_OK);
    free(from);
    free(to);
}

static void test_memory(weft_context *ctx) {
    static const size_t sizes[] = {1, 63, 64, 65, 4096, 1 << 20, (1 << 20) + 1, LARGEST};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        round_trip(ctx, sizes[k], 0);
        round_trip(ctx, sizes[k], 3);
    }
    void *p = &p;
    assert_int_equal(weft_alloc(ctx, &p, 0), WEFT_OK);
    assert_null(p);
    assert_int_equal(weft_free(ctx, NULL), WEFT_OK);
    test_refused(ctx, weft_alloc(ctx, NULL, 8), WEFT_EARG, "weft_alloc", "memory");
    p = &p;
    assert_int_equal(weft_alloc(ctx, &p, SIZE_MAX / 2), WEFT_ENOMEM);
    assert_null(p);
    assert_int_equal(weft_alloc(ctx, &p, SIZE_MAX), WEFT_ENOMEM);

    char bytes[32];
    assert_int_equal(weft_copy(ctx, NULL, NULL, 0), WEFT_OK);
    test_refused(ctx, weft_copy(ctx, NULL, bytes, 8), WEFT_EARG, "weft_copy", "to");
    test_refused(ctx, weft_copy(ctx, bytes, NULL, 8), WEFT_EARG, "weft_copy", "from");
    test_refused(ctx, weft_copy(ctx, bytes, bytes + 7, 8), WEFT_EARG, "weft_copy", "overlap");
    test_refused(ctx, weft_copy(ctx, bytes + 7, bytes, 8), WEFT_EARG, "weft_copy", "overlap");
    test_refused(ctx, weft_copy(ctx, bytes, bytes, 8), WEFT_EARG, "weft_copy", "overlap");
    assert_int_equal(weft_set_stream(ctx, NULL), WEFT_OK);
    if (!ctx->gpu)
        test_refused(ctx, weft_set_stream(ctx, bytes), WEFT_EUNSUPPORTED, "weft_set_stream",
                     "streams");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),        cmocka_unit_test(test_type_facts),
        cmocka_unit_test(test_small_floats), cmocka_unit_test(test_place_strings),
        cmocka_unit_test(test_gpu_places),   cmocka_unit_test(test_environment),
        cmocka_unit_test(test_variant_list), cmocka_unit_test(test_messages),
        cmocka_unit_test(test_overlap),      cmocka_unit_test(test_array_checks),
        TEST_ON_EACH_PLACE(test_forcing),    cmocka_unit_test(test_ladders),
        TEST_ON_EACH_PLACE(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
