/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of blend, on every place: types, channels, gaps, alignments, weights and masks, in
 * place or not, host and device memory; bit by bit, as outputs are the same everywhere. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "blend/blend.h"
#include "testing.h"

enum {
    A,
    B,
    MASK,
    OUT,
    ARRAYS,
    MOST_GAP = 5,
    MOST_OFFSET = 5,
    ALL_ON_DEVICE = (1 << ARRAYS) - 1,
    MOST_ELEMENTS = 40000,
    BYTES = 4 * MOST_ELEMENTS
};

static const weft_type types[] = {WEFT_U8, WEFT_U16, WEFT_F32};
static const size_t widths[] = {1, 2, 3, 5, 15, 16, 17, 33, 64, 100, 255, 341, 1030, 4099};
static const double weights[][2] = {{0.3, 0.7}, {0.5, 0.5}, {1.5, -0.75},  {-1, 2},
                                    {1, 0},     {3, 9},     {1e36, -1e36}, {1e-42, 1}};

enum {
    TYPES = sizeof types / sizeof *types,
    WIDTHS = sizeof widths / sizeof *widths,
    WEIGHTS = sizeof weights / sizeof *weights,
    MASKED = 2,
    PLACED = 3 /* apart; in the place of a; in that of b */
};

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_buffer host[ARRAYS], device[ARRAYS];
    unsigned char source[ARRAYS][BYTES];
    unsigned char right[BYTES];
} rig;

static rig room;

typedef struct blend_case {
    const wi_row *row;
    weft_blending b;
    bool has_mask;
    size_t place; /* of out: 0, or 1 + the array that it is */
    unsigned device;
} blend_case;

static size_t *ld_of(blend_case *s, int array) {
    size_t *const of[ARRAYS] = {&s->b.lda, &s->b.ldb, &s->b.ldmask, &s->b.ldout};
    return of[array];
}

static size_t elements_of(blend_case *s, int array) {
    const size_t width = array == MASK ? s->b.width : s->b.width * s->b.channels;
    return s->b.height ? (s->b.height - 1) * *ld_of(s, array) + width : 0;
}

static const char *describe(const rig *e, const blend_case *s) {
    static char text[300];
    snprintf(text, sizeof text,
             "%s on %s, variant %s, %zu x %zu x %u, weights %g %g, mask %d, ld %zu %zu %zu %zu, "
             "place %zu, device %#x",
             test_type_name(s->b.type), weft_place(e->ctx), s->row ? s->row->name : "auto",
             s->b.width, s->b.height, s->b.channels, s->b.weight_a, s->b.weight_b, s->has_mask,
             s->b.lda, s->b.ldb, s->b.ldmask, s->b.ldout, s->place, s->device);
    return text;
}

static test_buffer *buffer_of(rig *e, const blend_case *s, int array) {
    const int of = array == OUT && s->place ? (int)s->place - 1 : array;
    return e->ctx->kind == WI_CUDA && (s->device >> of & 1) ? &e->device[of] : &e->host[of];
}

static void load(rig *e, blend_case *s) {
    const size_t size = test_size_of(s->b.type);
    const bool is_tidy = test_below(&e->random, 3) == 0;
    for (int k = 0; k < ARRAYS; k++) {
        const size_t width = k == MASK ? s->b.width : s->b.width * s->b.channels;
        *ld_of(s, k) = width + (is_tidy ? 0 : test_below(&e->random, MOST_GAP));
        if (is_tidy && test_below(&e->random, 2))
            *ld_of(s, k) = (width + 15) / 16 * 16;
    }
    if (s->place)
        s->b.ldout = *ld_of(s, (int)s->place - 1);
    for (int k = 0; k < ARRAYS; k++) {
        if (k == OUT && s->place)
            continue;
        const test_pattern pattern = test_below(&e->random, 4) ? TEST_ANY : TEST_NANS;
        const size_t n = elements_of(s, k), offset = is_tidy ? 0 : test_below(&e->random, 5);
        test_fill(&e->random, pattern, s->b.type, n, e->source[k]);
        test_buffer_load(buffer_of(e, s, k), e->source[k], n * size, offset * size);
    }
}

/* The element of an image as f32. */
static float number(const rig *e, const blend_case *s, int array, size_t at) {
    const test_value v = test_load(s->b.type, e->source[array], at);
    return test_is_float(s->b.type) ? (float)v.f : (float)v.u;
}

/* What the header promises, with the C library's rounding. */
static void put_right(rig *e, blend_case *s, size_t row, size_t col) {
    const float a = number(e, s, A, row * s->b.lda + col),
                b = number(e, s, B, row * s->b.ldb + col);
    const float unit = s->b.type == WEFT_U8    ? 1.0f / 255
                       : s->b.type == WEFT_U16 ? 1.0f / 65535
                                               : 1.0f;
    float share_a = (float)s->b.weight_a, share_b = (float)s->b.weight_b;
    if (s->has_mask) {
        share_a = number(e, s, MASK, row * s->b.ldmask + col / s->b.channels) * unit;
        share_b = 1 - share_a;
    }
    const float other = share_b * b, sum = fmaf(share_a, a, other);
    const double most = s->b.type == WEFT_U8 ? 255 : 65535;
    const double clamped = sum > 0 ? (sum < most ? sum : most) : 0;
    const test_value v = {.u = (uint64_t)nearbyint(clamped)}, f = {.f = sum};
    test_store(s->b.type, e->right, row * s->b.ldout + col, test_is_float(s->b.type) ? f : v);
}

static void compare(rig *e, blend_case *s) {
    const size_t n = elements_of(s, OUT), cols = s->b.width * s->b.channels;
    const int from = s->place ? (int)s->place - 1 : OUT;
    memcpy(e->right, e->source[from], n * test_size_of(s->b.type));
    for (size_t r = 0; r < s->b.height; r++)
        for (size_t c = 0; c < cols; c++)
            put_right(e, s, r, c);
    const void *const found = test_buffer_read(buffer_of(e, s, OUT), describe(e, s));
    for (size_t i = 0; i < n; i++) {
        const test_value now = test_load(s->b.type, found, i);
        const test_value right = test_load(s->b.type, e->right, i);
        if (!test_same(s->b.type, now, right))
            fail_msg("%s: element %zu of row %zu is %s, should be %s", describe(e, s),
                     i % s->b.ldout, i / s->b.ldout, test_text(s->b.type, now),
                     test_text(s->b.type, right));
    }
}

/* Axes: the type; the mask; the place of out; the weights. */
static bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const e = user;
    blend_case s = {.row = row, .has_mask = at[1], .place = at[2]};
    s.b.type = types[at[0]];
    s.b.weight_a = weights[at[3]][0];
    s.b.weight_b = weights[at[3]][1];
    s.b.channels = 1 + (unsigned)test_below(&e->random, 4);
    s.b.width = n;
    s.b.height = 1 + test_below(&e->random, 40);
    while ((s.b.width * s.b.channels + 16) * s.b.height > MOST_ELEMENTS / 2)
        s.b.height = (s.b.height + 1) / 2;
    s.device = test_below(&e->random, 2) ? ALL_ON_DEVICE : (unsigned)test_below(&e->random, 16);
    load(e, &s);
    test_use(e->ctx, "blend", row);
    const weft_status status =
        weft_blend(e->ctx, &s.b, buffer_of(e, &s, A)->p, buffer_of(e, &s, B)->p,
                   s.has_mask ? buffer_of(e, &s, MASK)->p : NULL, buffer_of(e, &s, OUT)->p);
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(e, &s), weft_status_name(status), weft_message(e->ctx));
    test_used(e->ctx, "blend", row, describe(e, &s));
    compare(e, &s);
    return true;
}

static void all_images(weft_context *ctx) {
    rig *const e = &room;
    e->ctx = ctx;
    e->random = test_random_at(1);
    for (int k = 0; k < ARRAYS; k++) {
        e->host[k] = test_buffer_open(ctx, false, BYTES);
        if (ctx->kind == WI_CUDA)
            e->device[k] = test_buffer_open(ctx, true, BYTES);
    }
    const test_sweep sweep = {.sizes = widths,
                              .size_count = WIDTHS,
                              .ladder = &wi_blend_ladder,
                              .extent = {TYPES, MASKED, PLACED, WEIGHTS},
                              .must = 7,
                              .share = 60,
                              .run = run_drawn};
    test_sweep_run(ctx, &e->random, &sweep, e);
    for (int k = 0; k < ARRAYS; k++) {
        test_buffer_close(&e->host[k]);
        if (ctx->kind == WI_CUDA)
            test_buffer_close(&e->device[k]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(all_images)};
    return cmocka_run_group_tests_name("blend", tests, NULL, NULL);
}
