/* SPDX-License-Identifier: Apache-2.0 */
/* The layers over ranks, each with images of its own. Of small whole numbers sums are exact, so
 * that the bits are those of one place; where layers divide or take roots they come close. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/dist.h"
#include "dist.h"
#include "weft/nn.h"

enum {
    MOST_ARRAYS = 12
};

/* An array of a call: dealt out by images, or whole on every rank. */
typedef struct array {
    weft_type type;
    size_t each; /* elements of an image; of a whole array, all of them */
    bool whole;
    unsigned char *p; /* of the call on one place */
    dist_array own;
} array;

/* A call on one place and over ranks. */
typedef struct rig {
    test_random *r;
    const char *what;
    size_t n; /* images */
    dist_part part;
    array a[MOST_ARRAYS];
    int count;
} rig;

static weft_type wide(weft_type type) {
    return type == WEFT_F16 || type == WEFT_BF16 ? WEFT_F32 : type;
}

static array *add(rig *g, weft_type type, size_t each, bool whole) {
    array *const a = &g->a[g->count++];
    const size_t bytes = each * test_size_of(type);
    *a = (array){.type = type, .each = each, .whole = whole};
    a->p = dist_whole(g->r, TEST_SMALL, type, each * (whole ? 1 : g->n));
    a->own = dist_take(g->r, a->p + (whole ? 0 : g->part.first * bytes),
                       bytes * (whole ? 1 : g->part.n));
    return a;
}

static double value_of(weft_type type, const void *p, size_t i) {
    return type == WEFT_F64 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

/* Of f32 and f64. */
static void expect_near(const rig *g, const array *a) {
    const double room = a->type == WEFT_F64 ? 1e-12 : 2e-5;
    const size_t n = a->each * (a->whole ? 1 : g->part.n);
    const size_t first = a->whole ? 0 : a->each * g->part.first;
    void *const got = dist_fetch(&a->own);
    for (size_t i = 0; i < n; i++) {
        const double x = value_of(a->type, got, i), y = value_of(a->type, a->p, first + i);
        if (!(fabs(x - y) <= room * (1 + fabs(y))) && !(x != x && y != y))
            fail_msg("%s: rank %d of %d: element %zu is %.9g, on one place %.9g", g->what,
                     dist_rank, dist_ranks, i, x, y);
    }
    free(got);
}

static void expect_equal(const rig *g, const array *a) {
    const size_t bytes = a->each * test_size_of(a->type);
    dist_expect(&a->own, a->p + (a->whole ? 0 : g->part.first * bytes),
                bytes * (a->whole ? 1 : g->part.n), g->what);
}

/* Compares array k and those behind it, and frees all. */
static void finish(rig *g, int k, bool exact) {
    for (; k < g->count; k++)
        (exact ? expect_equal : expect_near)(g, &g->a[k]);
    for (k = 0; k < g->count; k++) {
        dist_give(&g->a[k].own);
        free(g->a[k].p);
    }
    g->count = 0;
}

static size_t pixels(const weft_images *x) {
    return x->c * x->h * x->w;
}

static weft_images some(const weft_images *x, size_t n) {
    weft_images y = *x;
    y.n = n;
    return y;
}

/* Calls the function on one place with all images, and over ranks with the own ones. */
#define BOTH(g, x, ONE)                                                                            \
    do {                                                                                           \
        weft_images in = some(x, (g)->n);                                                          \
        weft_context *ctx = dist_one;                                                              \
        dist_ok(ctx, ONE(p));                                                                      \
        in = some(x, (g)->part.n);                                                                 \
        ctx = dist_ctx;                                                                            \
        dist_ok(ctx, ONE(own.p));                                                                  \
    } while (0)

/* ---- convolutions ---- */

static void conv_case(rig *g, const weft_images *x) {
    static const weft_conv convs[] = {
        {.filters = 4, .kernel_h = 3, .kernel_w = 2, .pad_h = 1, .stride_w = 2, .groups = 2},
        {.filters = 3, .kernel_h = 1, .kernel_w = 1},
    };
    weft_conv conv = convs[dist_draw(g->r, 2)];
    weft_images out;
    if (x->type == WEFT_F32)
        conv.how = WEFT_F32_STRICT;
    if (wide(x->type) != x->type && dist_draw(g->r, 2))
        conv.how = WEFT_F32_WEIGHTS;
    const size_t weights =
        conv.filters * (conv.groups ? x->c / conv.groups : x->c) * conv.kernel_h * conv.kernel_w;
    const weft_type sums = conv.how & WEFT_F32_WEIGHTS ? WEFT_F32 : x->type;
    dist_ok(dist_ctx, weft_conv_output(dist_ctx, x, &conv, &out));
    const array *const a = add(g, x->type, pixels(x), false);
    const array *const f = add(g, x->type, weights, true);
    const array *const dy = add(g, x->type, pixels(&out), false);
    const array *const y = add(g, x->type, pixels(&out), false);
    const array *const dx = add(g, x->type, pixels(x), false);
    const array *const df = add(g, sums, weights, true);
#define FORWARD(p) weft_conv_forward(ctx, &in, &conv, a->p, f->p, y->p)
#define DATA(p) weft_conv_backward_data(ctx, &in, &conv, dy->p, f->p, dx->p)
#define WEIGHTS(p) weft_conv_backward_weights(ctx, &in, &conv, a->p, dy->p, df->p)
    g->what = "conv";
    BOTH(g, x, FORWARD);
    BOTH(g, x, DATA);
    BOTH(g, x, WEIGHTS);
    assert_string_equal(weft_used(dist_ctx, "conv"), "ranks");
    finish(g, 3, true);
}

/* ---- layers without sums ---- */

static void pixel_case(rig *g, const weft_images *x) {
    const weft_pool pool = {.kind = (weft_pooling)dist_draw(g->r, 2), .kernel_h = 2, .kernel_w = 2};
    const weft_interpolation how = (weft_interpolation)dist_draw(g->r, 2);
    const size_t h = 2 * x->h, w = 2 * x->w;
    weft_images out;
    dist_ok(dist_ctx, weft_pool_output(dist_ctx, x, &pool, &out));
    const array *const a = add(g, x->type, pixels(x), false);
    const array *const small = add(g, x->type, pixels(&out), false);
    const array *const large = add(g, x->type, 4 * pixels(x), false);
    const array *const bias = add(g, wide(x->type), x->c, true);
    const array *const pooled = add(g, x->type, pixels(&out), false);
    const array *const of_pool = add(g, x->type, pixels(x), false);
    const array *const up = add(g, x->type, 4 * pixels(x), false);
    const array *const of_up = add(g, x->type, pixels(x), false);
    const array *const biased = add(g, x->type, pixels(x), false);
    const array *const of_bias = add(g, wide(x->type), x->c, true);
#define POOL(p) weft_pool_forward(ctx, &in, &pool, a->p, pooled->p)
#define POOL_BACK(p) weft_pool_backward(ctx, &in, &pool, a->p, small->p, of_pool->p)
#define UP(p) weft_upsample_forward(ctx, &in, how, h, w, a->p, up->p)
#define UP_BACK(p) weft_upsample_backward(ctx, &in, how, h, w, large->p, of_up->p)
#define BIAS(p) weft_bias_forward(ctx, &in, a->p, bias->p, biased->p)
#define BIAS_BACK(p) weft_bias_backward(ctx, &in, a->p, of_bias->p)
    g->what = "pooling, up-sampling or bias";
    BOTH(g, x, POOL);
    BOTH(g, x, POOL_BACK);
    BOTH(g, x, UP);
    BOTH(g, x, UP_BACK);
    BOTH(g, x, BIAS);
    BOTH(g, x, BIAS_BACK);
    assert_string_equal(weft_used(dist_ctx, "layers"), "ranks");
    finish(g, 4, true);
}

static void row_case(rig *g, const weft_images *x) {
    const weft_activation kind = (weft_activation)dist_draw(g->r, 3);
    const weft_type type = wide(x->type);
    const size_t each = pixels(x), classes = x->c;
    const array *const a = add(g, type, each, false);
    const array *const dy = add(g, type, each, false);
    const array *const rows = add(g, type, classes, false);
    array *const label = add(g, WEFT_I32, 1, false);
    const array *const y = add(g, type, each, false);
    const array *const dx = add(g, type, each, false);
    const array *const soft = add(g, type, classes, false);
    const array *const loss = add(g, type, 1, false);
    const array *const back = add(g, type, classes, false);
    const array *const w = add(g, type, each, false); /* of parameters each rank has its own */
    const array *const speed = add(g, type, each, false);
    const weft_sgd sgd = {0.5, 0.25, 0.125};
#define ACTIVATE(p) weft_activation_forward(ctx, kind, type, in.n *each, a->p, y->p)
#define ACTIVATE_BACK(p) weft_activation_backward(ctx, kind, type, in.n *each, a->p, dy->p, dx->p)
#define SOFTMAX(p) weft_softmax_forward(ctx, type, in.n, classes, rows->p, soft->p)
#define LOSS(p)                                                                                    \
    weft_cross_entropy_forward(ctx, type, in.n, classes, rows->p, (void *)label->p, loss->p)
#define LOSS_BACK(p)                                                                               \
    weft_cross_entropy_backward(ctx, type, in.n, classes, 0.5, rows->p, (void *)label->p, back->p)
#define SGD(p) weft_sgd_step(ctx, &sgd, type, in.n *each, dy->p, w->p, speed->p)
    g->what = "activation, softmax, loss or step";
    BOTH(g, x, ACTIVATE);
    BOTH(g, x, ACTIVATE_BACK);
    BOTH(g, x, SOFTMAX);
    BOTH(g, x, LOSS);
    BOTH(g, x, LOSS_BACK);
    BOTH(g, x, SGD);
    finish(g, 4, false);
}

/* ---- batch normalisation ---- */

static void norm_case(rig *g, const weft_images *image) {
    const weft_images x = {wide(image->type), image->layout, 0, image->c, image->h, image->w};
    const size_t each = pixels(&x);
    const array *const a = add(g, x.type, each, false);
    const array *const scale = add(g, x.type, x.c, true);
    const array *const shift = add(g, x.type, x.c, true);
    const array *const dy = add(g, x.type, each, false);
    const array *const y = add(g, x.type, each, false);
    const array *const mean = add(g, x.type, x.c, true);
    const array *const inverse = add(g, x.type, x.c, true);
    const array *const mean_of_all = add(g, x.type, x.c, true);
    const array *const variance = add(g, x.type, x.c, true);
    const array *const dscale = add(g, x.type, x.c, true);
    const array *const dshift = add(g, x.type, x.c, true);
    const array *const dx = add(g, x.type, each, false);
    const bool keeps = dist_draw(g->r, 2);
#define NORM(p)                                                                                    \
    weft_batch_norm_forward(ctx, &in, 1e-3, 0.25, a->p, scale->p, shift->p, y->p, mean->p,         \
                            inverse->p, keeps ? mean_of_all->p : NULL, keeps ? variance->p : NULL)
#define NORM_BACK(p)                                                                               \
    weft_batch_norm_backward(ctx, &in, a->p, scale->p, mean->p, inverse->p, dy->p, dx->p,          \
                             dscale->p, dshift->p)
    g->what = "batch normalisation";
    BOTH(g, &x, NORM);
    BOTH(g, &x, NORM_BACK);
    finish(g, 4, false);
}

/* All ranks have the same bits of what is whole. */
static void expect_alike(const void *p, size_t bytes) {
    unsigned char *const all = malloc(bytes * (size_t)dist_ranks);
    assert_non_null(all);
    dist_ok(dist_ctx, dist_ctx->comm->calls->all_gather(dist_ctx, p, all, bytes, WEFT_U8));
    for (int r = 0; r < dist_ranks; r++)
        assert_memory_equal(all + (size_t)r * bytes, p, bytes);
    free(all);
}

/* Gradients whose sums must be rounded. */
static void alike_case(test_random *r) {
    enum {
        SIDE = 5,
        CHANNELS = 3,
        PIXELS = SIDE * SIDE * CHANNELS
    };
    const weft_images x = {WEFT_F32, WEFT_NHWC, 1, CHANNELS, SIDE, SIDE};
    const weft_conv conv = {
        .filters = CHANNELS, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1};
    float a[PIXELS], dy[PIXELS], df[CHANNELS * CHANNELS * 9], bias[CHANNELS];
    for (size_t i = 0; i < PIXELS; i++) {
        a[i] = (float)(dist_rank + 1) / (float)(1 + dist_draw(r, 1000));
        dy[i] = a[i] - 0.1f;
    }
    dist_ok(dist_ctx, weft_conv_backward_weights(dist_ctx, &x, &conv, a, dy, df));
    dist_ok(dist_ctx, weft_bias_backward(dist_ctx, &x, dy, bias));
    expect_alike(df, sizeof df);
    expect_alike(bias, sizeof bias);
}

/* One rank is refused: the others learn it, and the next call works. */
static void failure_case(void) {
    const weft_images x = {WEFT_F32, WEFT_NCHW, 1, 1, 1, 1};
    const weft_conv conv = {.filters = 1, .kernel_h = 1, .kernel_w = 1};
    const int culprit = dist_ranks / 2;
    const bool wrong = dist_rank == culprit;
    const weft_status status = wrong ? WEFT_EARG : WEFT_ECOMM;
    const float one = 1;
    float to = 7;
    char word[32];
    snprintf(word, sizeof word, "%d", culprit);
    test_refused(dist_ctx, weft_bias_backward(dist_ctx, &x, wrong ? NULL : &one, &to), status,
                 "weft_bias_backward", wrong ? "dy" : word);
    test_refused(dist_ctx,
                 weft_pool_forward(dist_ctx, wrong ? NULL : &x,
                                   &(weft_pool){.kernel_h = 1, .kernel_w = 1}, &one, &to),
                 status, "weft_pool_forward", wrong ? "x" : word);
    test_refused(dist_ctx,
                 weft_conv_backward_weights(dist_ctx, &x, wrong ? NULL : &conv, &one, &one, &to),
                 status, "weft_conv_backward_weights", wrong ? "conv" : word);
    test_refused(dist_ctx, weft_sgd_step(dist_ctx, NULL, WEFT_F32, 1, &one, &to, NULL), WEFT_EARG,
                 "weft_sgd_step", "sgd");
    assert_true(to == 7);
    dist_ok(dist_ctx, weft_bias_backward(dist_ctx, &x, &one, &to));
    assert_true(to == (float)dist_ranks);
}

void dist_test_layers(void **state) {
    (void)state;
    static const weft_type types[] = {WEFT_F64, WEFT_F32, WEFT_F16, WEFT_BF16};
    static void (*const cases[])(rig *, const weft_images *) = {conv_case, pixel_case, row_case,
                                                                norm_case};
    static const size_t counts[] = {0, 1, 3, 8};
    test_random r = test_random_at(83);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (int shape = 0; shape < DIST_SHAPES; shape++)
            for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
                const size_t n = counts[k];
                const weft_images x = {
                    types[dist_draw(&r, 4)],  (weft_layout)dist_draw(&r, 2), n,
                    2 + 2 * dist_draw(&r, 2), 2 + dist_draw(&r, 4),          2 + dist_draw(&r, 4)};
                rig g = {.r = &r, .n = n, .part = dist_deal(&r, (dist_shape)shape, n)};
                if (dist_wanted(k + c, shape, n))
                    cases[c](&g, &x);
            }
    if (!dist_on_gpus()) {
        alike_case(&r);
        failure_case();
    }
}
