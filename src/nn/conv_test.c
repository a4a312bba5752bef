/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of conv, on every place, in all three passes, on drawn layers: layouts, types,
 * strides, padding, dilation, groups, images smaller than a filter, none at all; host and device
 * memory. */
#include "nn/conv_rig.h"

/* Of images, and how they are multiplied. */
static const struct numbers {
    weft_type type;
    unsigned how;
} numbers[] = {{WEFT_F32, 0},  {WEFT_F64, 0},         {WEFT_F16, 0},
               {WEFT_BF16, 0}, {WEFT_F32, WEFT_TF32}, {WEFT_BF16, WEFT_F32_WEIGHTS}};

enum {
    NUMBERS = sizeof numbers / sizeof *numbers
};

/* ---- drawing a case ---- */

static size_t draw_to(rig *r, size_t most) {
    return 1 + test_below(&r->random, most);
}

static void draw_window(rig *r, weft_conv *c) {
    c->kernel_h = draw_to(r, 4);
    c->kernel_w = test_below(&r->random, 3) ? c->kernel_h : draw_to(r, 5);
    c->stride_h = test_below(&r->random, 4);
    c->stride_w = test_below(&r->random, 3) ? c->stride_h : test_below(&r->random, 4);
    c->pad_h = test_below(&r->random, 3);
    c->pad_w = test_below(&r->random, 3) ? c->pad_h : test_below(&r->random, 6);
    c->dilation_h = test_below(&r->random, 3);
    c->dilation_w = test_below(&r->random, 3) ? c->dilation_h : test_below(&r->random, 4);
    if (test_below(&r->random, 4) == 0) {
        c->kernel_h = c->kernel_w = 1;
        c->pad_h = c->pad_w = 0;
        c->stride_h = c->stride_w = test_below(&r->random, 3);
    }
}

static void draw_channels(rig *r, layer *l) {
    const size_t kind = test_below(&r->random, 4);
    const bool depthwise = l->row && strcmp(l->row->name, "depthwise") == 0;
    if (depthwise || kind == 0) {
        l->c.groups = l->x.c = draw_to(r, 12);
        l->c.filters = depthwise || kind == 1 ? l->x.c : l->x.c * draw_to(r, 3);
    } else if (kind == 1) {
        l->c.groups = draw_to(r, 4);
        l->x.c = l->c.groups * draw_to(r, 5);
        l->c.filters = l->c.groups * draw_to(r, 70);
    } else {
        l->c.groups = test_below(&r->random, 2);
        l->x.c = draw_to(r, kind == 2 ? 80 : 9);
        l->c.filters = draw_to(r, kind == 2 ? 140 : 9);
    }
}

/* Halves what is large until the oracle can follow. */
static void shrink(layer *l) {
    for (;;) {
        l->y = (weft_images){
            l->x.type,
            l->x.layout,
            l->x.n,
            l->c.filters,
            count_of(l->x.h, l->c.kernel_h, l->c.stride_h, l->c.pad_h, l->c.dilation_h),
            count_of(l->x.w, l->c.kernel_w, l->c.stride_w, l->c.pad_w, l->c.dilation_w)};
        const size_t products = elements_of(l, Y) * (elements_of(l, F) / l->c.filters);
        size_t largest = 0;
        for (int k = 0; k < ARRAYS; k++)
            largest = elements_of(l, k) > largest ? elements_of(l, k) : largest;
        if (products <= most_products && largest * sizeof(double) + GUARD <= capacity)
            return;
        if (l->x.h > 3 || l->x.w > 3) {
            l->x.h -= l->x.h / 2;
            l->x.w -= l->x.w / 2;
        } else if (l->x.n > 1) {
            l->x.n -= l->x.n / 2;
        } else {
            l->c.filters -= l->c.filters / one(l->c.groups) / 2 * one(l->c.groups);
            l->x.c -= l->x.c / one(l->c.groups) / 2 * one(l->c.groups);
        }
    }
}

static void draw(rig *r, layer *l, size_t size) {
    draw_window(r, &l->c);
    draw_channels(r, l);
    l->x.n = test_below(&r->random, 12) ? draw_to(r, 5) : test_below(&r->random, 2) * 11;
    l->x.h = size ? draw_to(r, size) : 0;
    l->x.w = size ? size : 3;
    shrink(l);
    for (int k = 0; k < ARRAYS; k++)
        l->offset[k] = test_below(&r->random, 2) ? test_below(&r->random, MOST_OFFSET) : 0;
    l->device =
        test_below(&r->random, 4) ? ALL_ON_DEVICE : (unsigned)test_below(&r->random, ALL_ON_DEVICE);
}

/* Axes: the pass, the layout, the type, the kind of numbers. */
static bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    layer l = {.row = row,
               .pass = (wi_conv_pass)at[0],
               .x = {.type = numbers[at[2]].type, .layout = (weft_layout)at[1]},
               .c = {.how = numbers[at[2]].how},
               .pattern = at[3] ? TEST_ANY : TEST_SMALL};
    draw(r, &l, n);
    return run_case(r, &l);
}

static void all_layers(weft_context *ctx) {
    static const size_t sizes[] = {0, 1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 28, 33};
    rig r = rig_open(ctx, ARRAYS, capacity);
    const test_sweep s = {.sizes = sizes,
                          .size_count = sizeof sizes / sizeof *sizes,
                          .ladder = &wi_conv_ladder,
                          .extent = {PASSES, LAYOUTS, NUMBERS, 2},
                          .must = 5,
                          .share = 80,
                          .one_in = 4,
                          .run = run_drawn};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

/* A place gives the same bits each time and, on a cpu, whatever the threads. */
static void same_bits(weft_context *ctx) {
    enum {
        LENGTH = 2 * 6 * 9 * 9,
        WEIGHTS = 5 * 6 * 9
    };
    const weft_images x = {WEFT_F32, WEFT_NCHW, 2, 6, 9, 9};
    const weft_conv c = {.filters = 5, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1};
    static float data[LENGTH], dy[LENGTH], first[WEIGHTS], second[WEIGHTS];
    test_random random = test_random_at(3);
    test_fill(&random, TEST_ANY, WEFT_F32, LENGTH, data);
    test_fill(&random, TEST_ANY, WEFT_F32, LENGTH, dy);
    assert_int_equal(weft_conv_backward_weights(ctx, &x, &c, data, dy, first), WEFT_OK);
    assert_int_equal(weft_conv_backward_weights(ctx, &x, &c, data, dy, second), WEFT_OK);
    assert_memory_equal(first, second, sizeof first);
    if (ctx->kind == WI_CPU) {
        weft_context *const other = test_open("cpu:2");
        assert_int_equal(weft_conv_backward_weights(other, &x, &c, data, dy, second), WEFT_OK);
        assert_memory_equal(first, second, sizeof first);
        weft_close(other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(all_layers),
                                       TEST_ON_EACH_PLACE(same_bits)};
    return cmocka_run_group_tests_name("conv", tests, NULL, NULL);
}
