/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling and up-sampling on every place, at sizes around what a thread of a GPU takes, in memory
 * that begins anywhere; against formulas of the test's own that spread each pixel of y. Where
 * memory begins decides which kernels run, but not the bits. */
#include <math.h>
#include <string.h>

#include "nn/image_at.h"
#include "testing.h"

enum {
    MOST = 16000 /* elements of an array */
};

/* A layer, its images, and how many elements past a boundary its arrays begin. */
typedef struct layer_case {
    bool pools;
    weft_images x, y;
    weft_pool pool;
    weft_interpolation how;
    size_t offset;
} layer_case;

typedef struct arrays {
    double x[MOST], y[MOST], dy[MOST], dx[MOST];
} arrays;

static arrays right, found;

static size_t elements_of(const weft_images *x) {
    return x->n * x->c * x->h * x->w;
}

/* ---- the oracle ---- */

/* Pixel (p, q) of channel c of image n, and what it gives back. */
static void pool_pixel(const layer_case *k, size_t n, size_t c, size_t p, size_t q) {
    const weft_pool *const pool = &k->pool;
    const size_t to = image_at(&k->y, n, c, p, q);
    size_t inside[16], count = 0, best = 0;
    double sum = 0;
    for (size_t r = 0; r < pool->kernel_h; r++)
        for (size_t s = 0; s < pool->kernel_w; s++) {
            const size_t h = p * pool->stride_h + r, w = q * pool->stride_w + s;
            if (h < pool->pad_h || h - pool->pad_h >= k->x.h || w < pool->pad_w ||
                w - pool->pad_w >= k->x.w)
                continue;
            inside[count] = image_at(&k->x, n, c, h - pool->pad_h, w - pool->pad_w);
            const double v = right.x[inside[count]], most = right.x[inside[best]];
            sum += v;
            if (v > most || (isnan(v) && !isnan(most)))
                best = count;
            count++;
        }
    const size_t all = pool->kind == WEFT_POOL_AVERAGE ? count : pool->kernel_h * pool->kernel_w;
    if (pool->kind == WEFT_POOL_MAX) {
        right.y[to] = right.x[inside[best]];
        right.dx[inside[best]] += right.dy[to];
        return;
    }
    right.y[to] = sum / (double)all;
    for (size_t i = 0; i < count; i++)
        right.dx[inside[i]] += right.dy[to] / (double)all;
}

/* The rows of x that row p of y lies between, and how far from the first. */
static double rows_of(const layer_case *k, size_t p, size_t extent, size_t out, size_t row[2]) {
    const double centre = ((double)p + 0.5) * (double)extent / (double)out;
    if (k->how == WEFT_NEAREST) {
        row[0] = row[1] = (2 * p + 1) * extent / (2 * out);
        return 0;
    }
    const double at = fmin(fmax(centre - 0.5, 0), (double)extent - 1);
    row[0] = (size_t)at;
    row[1] = row[0] + 1 < extent ? row[0] + 1 : row[0];
    return at - (double)row[0];
}

static void sample_pixel(const layer_case *k, size_t n, size_t c, size_t p, size_t q) {
    const size_t to = image_at(&k->y, n, c, p, q);
    size_t row[2], column[2];
    const double v = rows_of(k, p, k->x.h, k->y.h, row), u = rows_of(k, q, k->x.w, k->y.w, column);
    right.y[to] = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            const size_t from = image_at(&k->x, n, c, row[i], column[j]);
            const double share = (i ? v : 1 - v) * (j ? u : 1 - u);
            right.y[to] += share * right.x[from];
            right.dx[from] += share * right.dy[to];
        }
}

static void make_right(const layer_case *k) {
    memset(right.dx, 0, sizeof right.dx);
    for (size_t n = 0; n < k->y.n; n++)
        for (size_t c = 0; c < k->y.c; c++)
            for (size_t p = 0; p < k->y.h; p++)
                for (size_t q = 0; q < k->y.w; q++)
                    (k->pools ? pool_pixel : sample_pixel)(k, n, c, p, q);
}

/* ---- the calls ---- */

/* An array of the place with the elements of `from`, or poison. */
static test_buffer buffer_of(weft_context *ctx, const layer_case *k, const double *from,
                             const weft_images *images) {
    static double narrow[MOST]; /* room for any type */
    const size_t n = elements_of(images), size = test_size_of(k->x.type);
    test_buffer b = test_buffer_open(ctx, ctx->kind == WI_CUDA, n * size + 64);
    for (size_t i = 0; from && i < n; i++)
        test_store(k->x.type, narrow, i, (test_value){.f = from[i]});
    if (from)
        test_buffer_load(&b, narrow, n * size, k->offset * size);
    else
        test_buffer_poison(&b, n * size, k->offset * size);
    return b;
}

static void take(const layer_case *k, test_buffer *b, const char *what, size_t n, double *to) {
    const void *const bytes = test_buffer_read(b, what);
    for (size_t i = 0; i < n; i++)
        to[i] = test_load(k->x.type, bytes, i).f;
}

static void make_found(weft_context *ctx, const layer_case *k) {
    test_buffer x = buffer_of(ctx, k, right.x, &k->x), y = buffer_of(ctx, k, NULL, &k->y);
    test_buffer dy = buffer_of(ctx, k, right.dy, &k->y), dx = buffer_of(ctx, k, NULL, &k->x);
    weft_status status;
    if (k->pools) {
        status = weft_pool_forward(ctx, &k->x, &k->pool, x.p, y.p);
        if (status == WEFT_OK)
            status = weft_pool_backward(ctx, &k->x, &k->pool, x.p, dy.p, dx.p);
    } else {
        status = weft_upsample_forward(ctx, &k->x, k->how, k->y.h, k->y.w, x.p, y.p);
        if (status == WEFT_OK)
            status = weft_upsample_backward(ctx, &k->x, k->how, k->y.h, k->y.w, dy.p, dx.p);
    }
    assert_int_equal(status, WEFT_OK);
    take(k, &y, "y", elements_of(&k->y), found.y);
    take(k, &dx, "dx", elements_of(&k->x), found.dx);
    test_buffer_close(&x);
    test_buffer_close(&y);
    test_buffer_close(&dy);
    test_buffer_close(&dx);
}

static void compare(const layer_case *k, const char *what, const double *now, const double *correct,
                    size_t n) {
    const bool is_half = k->x.type == WEFT_F16 || k->x.type == WEFT_BF16;
    const double room = k->x.type == WEFT_F64 ? 1e-11 : 2e-3;
    const double rounding = is_half ? test_roundoff(k->x.type) : 0; /* of what f32 has made */
    for (size_t i = 0; i < n; i++)
        if (!(fabs(now[i] - correct[i]) <= room + rounding * fabs(correct[i])) &&
            !(isnan(now[i]) && isnan(correct[i])))
            fail_msg("%s[%zu] is %.17g, should be %.17g: layout %d, type %d, %zu x %zu x %zu x %zu "
                     "to %zu x %zu, %s %d, kernel %zu, pad %zu, offset %zu",
                     what, i, now[i], correct[i], (int)k->x.layout, (int)k->x.type, k->x.n, k->x.c,
                     k->x.h, k->x.w, k->y.h, k->y.w, k->pools ? "pooling" : "sampling",
                     k->pools ? (int)k->pool.kind : (int)k->how, k->pool.kernel_h, k->pool.pad_h,
                     k->offset);
}

/* The same call on arrays that begin elsewhere gives the same bits. */
static void try_elsewhere(weft_context *ctx, const layer_case *k) {
    static arrays before;
    layer_case elsewhere = *k;
    elsewhere.offset = k->offset ? 0 : 1;
    before = found;
    make_found(ctx, &elsewhere);
    for (int to_x = 0; to_x < 2; to_x++) {
        const double *const was = to_x ? before.dx : before.y;
        const double *const is = to_x ? found.dx : found.y;
        const size_t n = elements_of(to_x ? &k->x : &k->y);
        for (size_t i = 0; i < n; i++)
            if (!(was[i] == is[i] || (isnan(was[i]) && isnan(is[i]))))
                fail_msg("%s[%zu] is %.17g, and %.17g elsewhere: type %d, %zu x %zu x %zu x %zu",
                         to_x ? "dx" : "y", i, was[i], is[i], (int)k->x.type, k->x.n, k->x.c,
                         k->x.h, k->x.w);
    }
}

/* Numbers below the normal ones of f32, and some that are not finite: windows are divided alike. */
static void try_extremes(weft_context *ctx, test_random *r, const layer_case *k) {
    static const double values[] = {3e-39, -1e-40, 0x1p-149, 5 * 0x1p-149, 0, -0.0, 1, INFINITY};
    for (size_t i = 0; i < elements_of(&k->x); i++)
        right.x[i] = values[test_below(r, 7)];
    for (size_t i = 0; i < elements_of(&k->y); i++)
        right.dy[i] = values[test_below(r, test_below(r, 9) ? 7 : 8)];
    make_found(ctx, k);
    try_elsewhere(ctx, k);
}

/* Whole numbers, with many equal ones. */
static void try_case(weft_context *ctx, test_random *r, const layer_case *k) {
    const size_t n = elements_of(&k->x), m = elements_of(&k->y);
    assert_true(n <= MOST && m <= MOST);
    for (size_t i = 0; i < n; i++)
        right.x[i] = (double)test_below(r, 9) - 4;
    for (size_t i = 0; i < m; i++)
        right.dy[i] = (double)test_below(r, 200) - 100;
    if (k->pools && k->pool.kind == WEFT_POOL_MAX && n > 0)
        right.x[test_below(r, n)] = NAN;
    make_right(k);
    make_found(ctx, k);
    compare(k, "y", found.y, right.y, m);
    compare(k, "dx", found.dx, right.dx, n);
    try_elsewhere(ctx, k);
    if (k->pools)
        try_extremes(ctx, r, k);
}

/* A width below `most`, or one that fills 16 bytes. */
static size_t width_below(test_random *r, size_t most) {
    return test_below(r, 2) ? 8 * (1 + test_below(r, most / 8)) : 1 + test_below(r, most);
}

/* Images whose channels fill 16 bytes or not, in memory that is aligned or not. */
static layer_case drawn(test_random *r, bool pools, size_t h, size_t w) {
    static const size_t channels[] = {1, 3, 4, 8};
    static const weft_type types[] = {WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16, WEFT_F32};
    layer_case k = {.pools = pools, .offset = test_below(r, 2) ? 0 : 1 + test_below(r, 3)};
    k.x = (weft_images){types[test_below(r, 5)],
                        test_below(r, 2) ? WEFT_NHWC : WEFT_NCHW,
                        1 + test_below(r, 2),
                        channels[test_below(r, 4)],
                        h,
                        w};
    return k;
}

/* No less than the smallest that a window fits in. */
static size_t width_of_windows(test_random *r) {
    const size_t width = width_below(r, 16);
    return width < 3 ? 3 : width;
}

static size_t cases_on(const weft_context *ctx, size_t on_cpu) {
    return ctx->kind == WI_CPU ? on_cpu : on_cpu / 3;
}

static void windows(weft_context *ctx) {
    static const weft_pool pools[] = {
        {.kernel_h = 2, .kernel_w = 2},
        {.kernel_h = 3, .kernel_w = 3},
        {.kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1},
        {.kernel_h = 3, .kernel_w = 3, .pad_h = 2, .pad_w = 2},
        {.kernel_h = 3, .kernel_w = 3, .pad_h = 2, .pad_w = 1},
        {.kernel_h = 3, .kernel_w = 3, .pad_w = 2},
        {.kernel_h = 2, .kernel_w = 2, .pad_h = 1, .pad_w = 1},
        {.kernel_h = 2, .kernel_w = 3, .pad_w = 1},
    };
    test_random r = test_random_at(1);
    const size_t count = cases_on(ctx, 240);
    for (size_t i = 0; i < count; i++) {
        layer_case k = drawn(&r, true, 3 + test_below(&r, 22), width_of_windows(&r));
        k.pool = pools[i % (sizeof pools / sizeof *pools)];
        k.pool.kind = (weft_pooling)test_below(&r, 3);
        k.pool.stride_h = k.pool.stride_w = 2;
        assert_int_equal(weft_pool_output(ctx, &k.x, &k.pool, &k.y), WEFT_OK);
        try_case(ctx, &r, &k);
    }
}

/* Twice as many pixels; other ratios, above and below 1; and one pixel. */
static void ratios(weft_context *ctx) {
    test_random r = test_random_at(2);
    const size_t count = cases_on(ctx, 240);
    for (size_t i = 0; i < count; i++) {
        layer_case k = drawn(&r, false, 1 + test_below(&r, 19), width_below(&r, 10));
        k.how = i % 2 ? WEFT_BILINEAR : WEFT_NEAREST;
        k.y = k.x;
        k.y.h = test_below(&r, 2) ? 2 * k.x.h : 1 + test_below(&r, 38);
        k.y.w = test_below(&r, 2) ? 2 * k.x.w : 1 + test_below(&r, 22);
        try_case(ctx, &r, &k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(windows), TEST_ON_EACH_PLACE(ratios)};
    return cmocka_run_group_tests_name("layers_pixels", tests, NULL, NULL);
}
