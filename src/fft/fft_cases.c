/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of fft for the tests of all calls: with no context, with wrong arguments, and with each
 * of their allocations failed. */
#include <math.h>
#include <stdint.h>

#include "arguments.h"
#include "cases.h"
#include "fft/fft.h"

static const char call[] = "weft_fft";

static weft_fft_description good(void) {
    return (weft_fft_description){.type = WEFT_F32, .rank = 2, .n = {4, 6}, .batch = 1};
}

static void without_context(void) {
    float x[48] = {1}, y[48] = {2};
    size_t bytes = 1;
    const weft_fft_description d = good();
    assert_int_equal(weft_fft(NULL, &d, x, y), WEFT_EARG);
    assert_int_equal(weft_fft_prepare(NULL, &d), WEFT_EARG);
    assert_int_equal(weft_fft_bytes(NULL, &d, &bytes, NULL, NULL), WEFT_EARG);
    assert_true(y[0] == 2 && bytes == 1);
}

/* Refused with a message that has `word`, if one member is changed. */
#define BAD(word, member, value)                                                                   \
    do {                                                                                           \
        weft_fft_description changed = good();                                                     \
        changed.member = (value);                                                                  \
        REFUSED(call, word, weft_fft(ctx, &changed, r.x, r.y));                                    \
        REFUSED("weft_fft_prepare", word, weft_fft_prepare(ctx, &changed));                        \
        REFUSED("weft_fft_bytes", word, weft_fft_bytes(ctx, &changed, NULL, NULL, NULL));          \
    } while (0)

static void arguments(weft_context *ctx) {
    rig r = rig_open(ctx);
    weft_fft_description d = good();
    REFUSED(call, "d", weft_fft(ctx, NULL, r.x, r.y));
    REFUSED("weft_fft_prepare", "d", weft_fft_prepare(ctx, NULL));
    REFUSED("weft_fft_bytes", "d", weft_fft_bytes(ctx, NULL, NULL, NULL, NULL));
    REFUSED(call, "x", weft_fft(ctx, &d, NULL, r.y));
    REFUSED(call, "y", weft_fft(ctx, &d, r.x, NULL));
    REFUSED(call, "x", weft_fft(ctx, &d, (char *)r.x + 2, r.y));
    REFUSED(call, "x", weft_fft(ctx, &d, r.x + 1, r.y));
    REFUSED(call, "y", weft_fft(ctx, &d, r.x, r.y + 1));
    REFUSED(call, "overlap", weft_fft(ctx, &d, r.x, r.x + 2));
    BAD("kind", kind, (weft_fft_kind)3);
    BAD("direction", direction, (weft_fft_direction)2);
    BAD("rank", rank, 0);
    BAD("rank", rank, 4);
    BAD("0", n[1], 0);
    BAD("n", n[0], SIZE_MAX / 2);
    BAD("batch", batch, SIZE_MAX / 2);
    BAD("scale", scale, NAN);
    BAD("stride_x", stride_x[0], 6);
    BAD("stride_y", stride_y[1], 1);
    d.batch = 16;
    d.apart_x = SIZE_MAX / 4;
    REFUSED(call, "apart_x", weft_fft(ctx, &d, r.x, r.y));
    rig_close(&r);
}

/* One transform of n x n numbers, or a batch, with these distances in y. */
static weft_fft_description laid(size_t n0, size_t n1, size_t batch, size_t stride0, size_t stride1,
                                 size_t apart) {
    return (weft_fft_description){.type = WEFT_F32,
                                  .rank = 2,
                                  .n = {n0, n1},
                                  .batch = batch,
                                  .stride_y = {stride0, stride1},
                                  .apart_y = apart};
}

/* Elements of y that share an address are refused, and those that lie in each other's gaps not. */
static void places(weft_context *ctx) {
    rig r = rig_open(ctx);
    const weft_fft_description bad[] = {
        laid(1, 8, 2, 8, 1, 1),                         /* lines that overlap by all but one */
        laid(4, 4, 1, 4, 4, 0), laid(4, 4, 1, 6, 4, 0), /* 2 rows on are 3 columns on */
        laid(2, 3, 2, 1, 2, 3), /* no two of the three meet, but 12 numbers have 9 places */
    };
    const weft_fft_description fine[] = {
        laid(1, 4, 2, 8, 2, 1),
        laid(2, 2, 2, 1, 4, 2),
        laid(2, 2, 1, 2, 3, 0), /* 0, 2, 3 and 5 */
        laid(2, 4, 2, 1, 4, 2),
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        REFUSED(call, "same address", weft_fft(ctx, &bad[k], r.x, r.y));
        REFUSED("weft_fft_bytes", "same address", weft_fft_bytes(ctx, &bad[k], NULL, NULL, NULL));
    }
    for (size_t k = 0; k < sizeof fine / sizeof *fine; k++)
        assert_int_equal(weft_fft_bytes(ctx, &fine[k], NULL, NULL, NULL), WEFT_OK);
    weft_fft_description d = {.type = WEFT_F32, .rank = 1, .n = {8}, .batch = 2};
    d.apart_x = d.apart_y = 4;
    REFUSED(call, "same address", weft_fft(ctx, &d, r.x, r.x));
    d.apart_y = 8; /* input may be shared: windows that overlap */
    assert_int_equal(weft_fft_bytes(ctx, &d, NULL, NULL, NULL), WEFT_OK);
    d = (weft_fft_description){.type = WEFT_F32,
                               .kind = WEFT_FFT_COMPLEX_TO_REAL,
                               .rank = 1,
                               .n = {7},
                               .batch = 2,
                               .stride_x = {1},
                               .stride_y = {1},
                               .apart_x = 3,
                               .apart_y = 6};
    REFUSED(call, "same address", weft_fft(ctx, &d, r.x, r.x));
    rig_close(&r);
}

static void strides(weft_context *ctx) {
    rig r = rig_open(ctx);
    weft_fft_description d = good();
    d.batch = 3;
    d.n[0] = 1;
    d.apart_y = 7;
    REFUSED(call, "same", weft_fft(ctx, &d, r.x, r.x));
    d = good();
    d.kind = WEFT_FFT_REAL_TO_COMPLEX;
    d.stride_x[0] = 6; /* room for 6 real numbers, not for 4 complex ones */
    d.stride_x[1] = 1;
    REFUSED(call, "same", weft_fft(ctx, &d, r.x, r.x));
    d = good();
    d.kind = WEFT_FFT_REAL_TO_COMPLEX;
    d.direction = WEFT_FFT_INVERSE;
    REFUSED(call, "direction", weft_fft(ctx, &d, r.x, r.y));
    rig_close(&r);
}

static void types(weft_context *ctx) {
    rig r = rig_open(ctx);
    for (size_t k = 0; k < sizeof bad_types / sizeof *bad_types; k++)
        BAD("type", type, bad_types[k]);
    weft_fft_description d = good();
    d.type = WEFT_BF16;
    test_refused(ctx, weft_fft(ctx, &d, r.x, r.y), WEFT_EUNSUPPORTED, call, "type");
    rig_close(&r);
}

static void sizes(weft_context *ctx) {
    weft_fft_description d = good();
    size_t x = 0, y = 0, scratch = 1;
    d.kind = WEFT_FFT_REAL_TO_COMPLEX;
    assert_int_equal(weft_fft_bytes(ctx, &d, &x, &y, &scratch), WEFT_OK);
    assert_int_equal(x, 4 * 6 * sizeof(float));
    assert_int_equal(y, 4 * 4 * 2 * sizeof(float));
    d = (weft_fft_description){
        .type = WEFT_F32, .kind = WEFT_FFT_COMPLEX_TO_REAL, .rank = 2, .n = {6, 8}, .batch = 1};
    assert_int_equal(weft_fft_bytes(ctx, &d, &x, &y, &scratch), WEFT_OK);
    assert_true(scratch >= x); /* x is left as it was */
    d = good();
    d.batch = 0;
    assert_int_equal(weft_fft(ctx, &d, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_fft_bytes(ctx, &d, &x, &y, &scratch), WEFT_OK);
    assert_true(x == 0 && y == 0 && scratch == 0);
}

/* ---- allocations ---- */

/* A length that no other call of these has: its tables are made anew. */
static weft_status run_lines(weft_context *ctx, test_arrays *a) {
    const weft_fft_description d = {
        .type = WEFT_F32, .rank = 1, .n = {128}, .batch = a->n / 256 < 40 ? a->n / 256 : 40};
    return weft_fft(ctx, &d, a->x, a->z);
}

static weft_status run_real(weft_context *ctx, test_arrays *a) {
    const weft_fft_description d = {
        .type = WEFT_F32, .kind = WEFT_FFT_COMPLEX_TO_REAL, .rank = 2, .n = {16, 32}, .batch = 1};
    return weft_fft(ctx, &d, a->x, a->z);
}

static const test_refusal refusals[] = {
    {"fft: arguments", arguments}, {"fft: places", places}, {"fft: strides", strides},
    {"fft: types", types},         {"fft: sizes", sizes},
};

static const test_call calls[] = {
    {"weft_fft", run_lines, &wi_fft_ladder, NULL},
    {"weft_fft to real", run_real, &wi_fft_ladder, NULL},
};

const test_cases wi_fft_cases = {.without_context = without_context,
                                 .refusals = refusals,
                                 .refusal_count = sizeof refusals / sizeof *refusals,
                                 .calls = calls,
                                 .call_count = sizeof calls / sizeof *calls};
