/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that the drawn ones of conv_test.c seldom are: more than a tile, slices, classes of
 * pixels, transforms in parts, windows beyond what a rung can. */
#include "limits.h"
#include "nn/conv_rig.h"

/* Layers that a drawn case seldom is: all of a tile and more, with sums in slices. */
static void large_layers(weft_context *ctx) {
    static const weft_conv large[] = {
        {.filters = 130, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1},
        {.filters = 70,
         .kernel_h = 3,
         .kernel_w = 3,
         .stride_h = 2,
         .stride_w = 2,
         .pad_h = 1,
         .pad_w = 1},
        {.filters = 64, .kernel_h = 1, .kernel_w = 1, .stride_h = 2, .stride_w = 2},
        {.filters = 65,
         .kernel_h = 7,
         .kernel_w = 7,
         .stride_h = 2,
         .stride_w = 2,
         .pad_h = 3,
         .pad_w = 3},
    };
    static const struct {
        const char *row;
        weft_type type;
        unsigned how;
    } by[] = {{"implicit", WEFT_F32, 0},
              {"tensor", WEFT_F16, 0},
              {"tensor", WEFT_F32, WEFT_TF32},
              {"ring", WEFT_BF16, WEFT_F32_WEIGHTS}};
    const size_t kinds = ctx->kind == WI_CUDA ? sizeof by / sizeof *by : 1;
    const size_t shapes = sizeof large / sizeof *large, turns = SLOW_PLACE ? 1 : shapes;
    rig r = rig_open(ctx, ARRAYS, capacity);
    for (size_t e = 0; e < PASSES * kinds; e++)
        for (size_t turn = 0; turn < turns; turn++) {
            const size_t k = turns == 1 ? test_below(&r.random, shapes) : turn;
            layer l = {.pass = (wi_conv_pass)(e / kinds),
                       .x = {by[e % kinds].type, (weft_layout)((k + e) % LAYOUTS), 2,
                             k == 3 ? 3 : 20, 9, 9},
                       .c = large[k],
                       .pattern = TEST_SMALL,
                       .device = ALL_ON_DEVICE};
            l.c.how = by[e % kinds].how;
            if (ctx->kind == WI_CUDA)
                l.row = test_row_named(&wi_conv_ladder, by[e % kinds].row);
            if (!test_case_wanted(&r.random))
                continue;
            weft_conv_output(ctx, &l.x, &l.c, &l.y);
            run_case(&r, &l);
        }
    rig_close(&r);
}

/* What only few drawn cases have: weights of a group that are f32 where images are not; and for
 * `ring` weights that are read as they lie, in several classes of pixels, of groups, in slices. */
static void groups_and_classes(weft_context *ctx) {
    static const struct {
        const char *row;
        wi_conv_pass pass;
        unsigned how;
        size_t channels;
        weft_conv c;
    } chosen[] = {
        {"unrolled",
         WI_CONV_WEIGHTS,
         WEFT_F32_WEIGHTS,
         12,
         {.filters = 20, .kernel_h = 1, .kernel_w = 1, .groups = 4}},
        {"ring",
         WI_CONV_DATA,
         0,
         32,
         {.filters = 128,
          .kernel_h = 3,
          .kernel_w = 3,
          .stride_h = 2,
          .stride_w = 2,
          .pad_h = 1,
          .pad_w = 1,
          .groups = 2}},
        {"ring",
         WI_CONV_DATA,
         0,
         136,
         {.filters = 128, .kernel_h = 2, .kernel_w = 3, .pad_w = 2, .dilation_w = 2}},
    };
    rig r = rig_open(ctx, ARRAYS, capacity);
    for (size_t k = 0; k < sizeof chosen / sizeof *chosen; k++) {
        layer l = {.row =
                       ctx->kind == WI_CUDA ? test_row_named(&wi_conv_ladder, chosen[k].row) : NULL,
                   .pass = chosen[k].pass,
                   .x = {WEFT_BF16, WEFT_NHWC, 2, chosen[k].channels, 6, 5},
                   .c = chosen[k].c,
                   .pattern = TEST_SMALL,
                   .device = ALL_ON_DEVICE};
        l.c.how = chosen[k].how;
        assert_int_equal(weft_conv_output(ctx, &l.x, &l.c, &l.y), WEFT_OK);
        assert_true(run_case(&r, &l));
    }
    rig_close(&r);
}

/* Layers whose images the copy engine gathers for `ring`: channels are whole steps. Windows and
 * strides differ down and across, and so do the edges; groups; slices; more than a tile. */
static void walks(weft_context *ctx) {
#define STEM                                                                                       \
    {                                                                                              \
        .filters = 64, .kernel_h = 7, .kernel_w = 7, .stride_h = 2, .stride_w = 2, .pad_h = 3,     \
        .pad_w = 3                                                                                 \
    }
    static const struct {
        wi_conv_pass pass;
        unsigned how;
        size_t channels;
        weft_conv c;
    } chosen[] = {
        {WI_CONV_FORWARD, 0, 64, {.filters = 70, .kernel_h = 3, .kernel_w = 2, .pad_h = 1}},
        {WI_CONV_FORWARD,
         0,
         128,
         {.filters = 136,
          .kernel_h = 2,
          .kernel_w = 3,
          .stride_h = 2,
          .stride_w = 3,
          .pad_w = 2,
          .dilation_h = 2}},
        {WI_CONV_FORWARD,
         0,
         128,
         {.filters = 12, .kernel_h = 5, .kernel_w = 5, .pad_h = 2, .pad_w = 2, .groups = 2}},
        {WI_CONV_DATA, 0, 64, {.filters = 64, .kernel_h = 3, .kernel_w = 2, .pad_h = 1}},
        {WI_CONV_DATA,
         0,
         72,
         {.filters = 128,
          .kernel_h = 3,
          .kernel_w = 4,
          .stride_h = 2,
          .stride_w = 3,
          .pad_h = 1,
          .pad_w = 2,
          .dilation_w = 2}},
        {WI_CONV_DATA,
         0,
         64,
         {.filters = 128, .kernel_h = 1, .kernel_w = 1, .stride_h = 2, .stride_w = 2, .groups = 2}},
        {WI_CONV_WEIGHTS, 0, 64, {.filters = 70, .kernel_h = 3, .kernel_w = 2, .pad_h = 1}},
        {WI_CONV_WEIGHTS,
         WEFT_F32_WEIGHTS,
         128,
         {.filters = 128,
          .kernel_h = 2,
          .kernel_w = 3,
          .stride_h = 2,
          .stride_w = 3,
          .pad_w = 2,
          .groups = 2}},
        /* few channels */
        {WI_CONV_FORWARD, 0, 3, STEM},
        {WI_CONV_FORWARD, 0, 5, {.filters = 70, .kernel_h = 2, .kernel_w = 5, .pad_w = 1}},
        {WI_CONV_DATA, 0, 3, STEM},
        {WI_CONV_DATA,
         0,
         2,
         {.filters = 64, .kernel_h = 2, .kernel_w = 3, .stride_h = 3, .stride_w = 2, .pad_w = 1}},
        {WI_CONV_WEIGHTS, 0, 3, STEM},
        {WI_CONV_WEIGHTS, WEFT_F32_WEIGHTS, 3, STEM},
    };
#undef STEM
    rig r = rig_open(ctx, ARRAYS, capacity);
    for (size_t k = 0; k < sizeof chosen / sizeof *chosen; k++) {
        if (!test_case_wanted(&r.random))
            continue;
        layer l = {.row = ctx->kind == WI_CUDA ? test_row_named(&wi_conv_ladder, "ring") : NULL,
                   .pass = chosen[k].pass,
                   .x = {k % 2 ? WEFT_F16 : WEFT_BF16, WEFT_NHWC, 3, chosen[k].channels, 9, 6},
                   .c = chosen[k].c,
                   .pattern = TEST_SMALL,
                   .device = ALL_ON_DEVICE};
        l.c.how = chosen[k].how;
        assert_int_equal(weft_conv_output(ctx, &l.x, &l.c, &l.y), WEFT_OK);
        assert_true(run_case(&r, &l));
    }
    rig_close(&r);
}

/* Transforms of some images at a time, the last fewer. */
static void transforms_in_parts(weft_context *ctx) {
    static const weft_conv c = {
        .filters = 4, .kernel_h = 3, .kernel_w = 5, .pad_h = 1, .pad_w = 2, .groups = 2};
    rig r = rig_open(ctx, ARRAYS, capacity);
#ifdef WEFT_EMU
    const size_t before = wi_conv_fft_bytes;
    wi_conv_fft_bytes = 12000; /* two images' */
#endif
    for (int pass = 0; pass < PASSES; pass++) {
        layer l = {.row = ctx->kind == WI_CUDA ? test_row_named(&wi_conv_ladder, "fft") : NULL,
                   .pass = (wi_conv_pass)pass,
                   .x = {WEFT_F64, WEFT_NCHW, 3, 2, 9, 8},
                   .c = c,
                   .pattern = TEST_ANY,
                   .device = ALL_ON_DEVICE};
        assert_int_equal(weft_conv_output(ctx, &l.x, &l.c, &l.y), WEFT_OK);
        assert_true(run_case(&r, &l));
    }
#ifdef WEFT_EMU
    wi_conv_fft_bytes = before;
#endif
    rig_close(&r);
}

/* Strides and padding beyond what `implicit` can: another rung does it, and if it is forced it says
 * why it cannot. */
static void far_windows(weft_context *ctx) {
    static const weft_conv far[] = {
        {.filters = 3, .kernel_h = 3, .kernel_w = 3, .stride_h = 9, .stride_w = 9, .pad_h = 1},
        {.filters = 1, .kernel_h = 1, .kernel_w = 2, .dilation_w = 33000, .pad_w = 33000},
    };
    rig r = rig_open(ctx, ARRAYS, capacity);
    for (size_t k = 0; k < sizeof far / sizeof *far; k++) {
        layer l = {.pass = WI_CONV_DATA,
                   .x = {WEFT_F32, WEFT_NCHW, 1, 2, k ? 1 : 21, k ? 3 : 20},
                   .c = far[k],
                   .pattern = TEST_SMALL,
                   .device = ALL_ON_DEVICE};
        assert_int_equal(weft_conv_output(ctx, &l.x, &l.c, &l.y), WEFT_OK);
        run_case(&r, &l);
        if (ctx->kind == WI_CUDA) {
            assert_int_equal(weft_use(ctx, "conv", "implicit"), WEFT_OK);
            test_refused(ctx, call(&r, &l), WEFT_EUNSUPPORTED, "weft_conv_backward_data",
                         "implicit");
            assert_int_equal(weft_use(ctx, "conv", NULL), WEFT_OK);
        }
    }
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(large_layers), TEST_ON_EACH_PLACE(groups_and_classes),
        TEST_ON_EACH_PLACE(walks), TEST_ON_EACH_PLACE(transforms_in_parts),
        TEST_ON_EACH_PLACE(far_windows)};
    return cmocka_run_group_tests_name("conv_shapes", tests, NULL, NULL);
}
