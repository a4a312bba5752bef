/* SPDX-License-Identifier: Apache-2.0 */
/* gemv, ger and syrk over ranks: each has its columns of all matrices (rows, by rows) and its
 * elements of vectors. Elements are small whole numbers, so that sums are exact in any order, and
 * the bits those of one place. */
#include <math.h>
#include <stdio.h>

#include "dist_parts.h"

static const weft_type floats[] = {WEFT_F64, WEFT_F32, WEFT_F16, WEFT_BF16};

static weft_type draw_float(test_random *r, size_t count) {
    return floats[dist_draw(r, count)];
}

/* Which zeros are negative is the same on all cpus, and not on a GPU. */
static double draw_scalar(test_random *r) {
    static const double scalars[] = {1, 1, 0, 2, -1};
    const double x = scalars[dist_draw(r, sizeof scalars / sizeof *scalars)];
    return dist_ctx->gpu ? fabs(x) : x;
}

/* Calls body so often for all sizes and shapes on the cpu, on emu for some. */
typedef void blas_case(test_random *r, dist_shape shape, const size_t size[2]);
static void for_each(uint64_t stream, const size_t sizes[][2], size_t count, int times,
                     blas_case *body) {
    test_random r = test_random_at(stream);
    for (size_t k = 0; k < count; k++)
        for (int shape = 0; shape < DIST_SHAPES; shape++)
            for (int t = 0; t < times && dist_wanted(k, shape, sizes[k][0] * sizes[k][1]); t++)
                body(&r, (dist_shape)shape, sizes[k]);
}

/* On emu over ranks once. */
static int usual_times(void) {
    return dist_ctx->gpu && !dist_on_gpus() ? 1 : 6;
}

/* ---- gemv ---- */

static void gemv_case(test_random *r, dist_shape shape, const size_t size[2]) {
    const size_t m = size[0], n = size[1];
    const weft_type type = draw_float(r, 4);
    const weft_type out = test_size_of(type) == 2 && dist_draw(r, 2) ? WEFT_F32 : type;
    const unsigned how = (unsigned)dist_draw(r, 4);
    const bool rows = how & WEFT_ROW_MAJOR, across = how & WEFT_TRANSPOSE_A;
    const double alpha = draw_scalar(r), beta = draw_scalar(r);
    matrix a = whole_of(r, m, n, rows != across, type);
    unsigned char *const x = dist_whole(r, TEST_SMALL, type, n), *const y = dist_whole(
                                                                     r, TEST_SMALL, out, m);
    if (beta == 0)
        memset(y, 0xff, m * test_size_of(out)); /* NaN */
    const dist_part px = rows ? deal_other(r, n) : dist_deal(r, shape, n),
                    py = rows ? dist_deal(r, shape, m) : deal_other(r, m);
    matrix own = part_of(r, &a, rows, rows ? py : px, type);
    strided vx = strided_of(r, x, px, test_size_of(type)),
            vy = strided_of(r, y, py, test_size_of(out));
    dist_array da = take_part(r, &own), dx = dist_take(r, vx.p, vx.bytes),
               dy = dist_take(r, vy.p, vy.bytes);
    dist_ok(dist_one,
            weft_gemv(dist_one, how, type, out, m, n, alpha, a.p, a.ld, x, 1, beta, y, 1));
    dist_ok(dist_ctx, weft_gemv(dist_ctx, how, type, out, py.n, px.n, alpha, alpha ? da.p : NULL,
                                own.ld, alpha ? dx.p : NULL, vx.inc, beta, dy.p, vy.inc));
    lay(&vy, y, py.first);
    char what[128];
    snprintf(what, sizeof what, "weft_gemv of %s to %s, how %u, %zu x %zu, alpha %g, beta %g",
             test_type_name(type), test_type_name(out), how, m, n, alpha, beta);
    dist_expect(&dy, vy.p, vy.bytes, what);
    dist_give(&da), dist_give(&dx), dist_give(&dy);
    free(a.p), free(own.p), free(vx.p), free(vy.p), free(x), free(y);
}

/* NaN and infinity go where the formula says, and nowhere else. */
static void gemv_spreads(void) {
    const size_t ranks = (size_t)dist_ranks, me = (size_t)dist_rank;
    float a[64], y = 7;
    const float x = 0;
    if (dist_on_gpus() || ranks > 64)
        return;
    for (int rows = 0; rows < 2; rows++) {
        for (size_t i = 0; i < ranks; i++)
            a[i] = (rows ? me : i) == ranks - 1 ? INFINITY : 1;
        dist_ok(dist_ctx, weft_gemv(dist_ctx, rows ? WEFT_ROW_MAJOR : 0, WEFT_F32, WEFT_F32, 1, 1,
                                    1, a, ranks, &x, 1, 0, &y, 1));
        assert_true(me == ranks - 1 ? y != y : y == 0);
    }
}

static void gemv_failures(void) {
    const float x[2] = {1, 1};
    float y = 7;
    const float a[64] = {1};
    const int culprit = dist_ranks / 2;
    const bool wrong = dist_rank == culprit && !dist_on_gpus();
    const size_t ranks = (size_t)dist_ranks;
    if (dist_on_gpus() || ranks > 64)
        return;
    dist_refused_by_one(
        weft_gemv(dist_ctx, 0, WEFT_F32, WEFT_F32, 1, 1, 1, a, ranks, x, wrong ? 0 : 1, 0, &y, 1),
        culprit, "weft_gemv", "incx");
    dist_refused_by_one(weft_gemv(dist_ctx, 0, WEFT_F32, WEFT_F32, 1, 1, 1, a,
                                  wrong ? ranks - 1 : ranks, x, 1, 0, &y, 1),
                        culprit, "weft_gemv", "lda");
    dist_refused_by_one(weft_gemv(dist_ctx, 0, WEFT_F32, WEFT_F32, 1, 1, 1, a, ranks,
                                  wrong ? NULL : x, 1, 0, &y, 1),
                        culprit, "weft_gemv", "x");
    assert_true(y == 7);
}

void dist_test_gemv(void **state) {
    static const size_t sizes[][2] = {{1, 1},  {0, 4}, {4, 0},   {1, 20},
                                      {20, 1}, {7, 5}, {19, 21}, {300, 130}};
    (void)state;
    for_each(45, sizes, sizeof sizes / sizeof *sizes, usual_times(), gemv_case);
    assert_string_equal(weft_used(dist_ctx, "gemv"), "ranks");
    gemv_spreads();
    gemv_failures();
}

/* ---- ger ---- */

static void ger_case(test_random *r, dist_shape shape, const size_t size[2]) {
    const size_t m = size[0], n = size[1];
    const weft_type type = draw_float(r, 4);
    const bool rows = dist_draw(r, 2);
    const double alpha = draw_scalar(r);
    matrix a = whole_of(r, m, n, rows, type);
    unsigned char *const x = dist_whole(r, TEST_SMALL, type, m), *const y = dist_whole(
                                                                     r, TEST_SMALL, type, n);
    const dist_part px = rows ? dist_deal(r, shape, m) : deal_other(r, m),
                    py = rows ? deal_other(r, n) : dist_deal(r, shape, n);
    matrix own = part_of(r, &a, rows, rows ? px : py, type);
    const strided vx = strided_of(r, x, px, test_size_of(type)),
                  vy = strided_of(r, y, py, test_size_of(type));
    dist_array da = take_part(r, &own), dx = dist_take(r, vx.p, vx.bytes),
               dy = dist_take(r, vy.p, vy.bytes);
    const unsigned how = rows ? WEFT_ROW_MAJOR : 0;
    dist_ok(dist_one, weft_ger(dist_one, how, type, m, n, alpha, x, 1, y, 1, a.p, a.ld));
    dist_ok(dist_ctx, weft_ger(dist_ctx, how, type, px.n, py.n, alpha, dx.p, vx.inc, dy.p, vy.inc,
                               da.p, own.ld));
    copy_part(&own, &a, rows ? px.first : 0, rows ? 0 : py.first);
    char what[128];
    snprintf(what, sizeof what, "weft_ger of %s, how %u, %zu x %zu, alpha %g", test_type_name(type),
             how, m, n, alpha);
    dist_expect(&da, own.p, bytes_of(&own), what);
    dist_give(&da), dist_give(&dx), dist_give(&dy);
    free(a.p), free(own.p), free(vx.p), free(vy.p), free(x), free(y);
}

static void ger_failure(void) {
    const double x = 1, y = 1;
    double a[64] = {1};
    const int culprit = dist_ranks - 1;
    const bool wrong = dist_rank == culprit;
    const size_t ranks = (size_t)dist_ranks;
    if (dist_on_gpus() || ranks > 64)
        return;
    dist_refused_by_one(
        weft_ger(dist_ctx, 0, WEFT_F64, 1, 1, 1, &x, 1, &y, 1, wrong ? NULL : a, ranks), culprit,
        "weft_ger", "a");
    assert_true(a[0] == 1);
}

void dist_test_ger(void **state) {
    static const size_t sizes[][2] = {{1, 1},  {0, 4}, {4, 0},   {1, 20},
                                      {20, 1}, {7, 5}, {19, 21}, {300, 130}};
    (void)state;
    for_each(46, sizes, sizeof sizes / sizeof *sizes, usual_times(), ger_case);
    assert_string_equal(weft_used(dist_ctx, "ger"), "ranks");
    ger_failure();
}

/* ---- syrk ---- */

static void syrk_case(test_random *r, dist_shape shape, const size_t size[2]) {
    const size_t n = size[0], k = size[1];
    const weft_type type = draw_float(r, 2);
    const bool rows = dist_draw(r, 2), across = dist_draw(r, 2), upper = dist_draw(r, 2);
    const unsigned how = (rows ? WEFT_ROW_MAJOR : 0) | (across ? WEFT_TRANSPOSE_A : 0) |
                         (upper ? WEFT_UPPER_TRIANGLE : 0);
    const double alpha = draw_scalar(r), beta = draw_scalar(r);
    matrix a = whole_of(r, n, k, rows != across, type), c = whole_of(r, n, n, rows, type);
    if (beta == 0)
        memset(c.p, 0xff, bytes_of(&c)); /* NaN */
    const dist_part pn = dist_deal(r, shape, n), pk = deal_other(r, k);
    matrix own_a = part_of(r, &a, rows, rows ? pn : pk, type),
           own_c = part_of(r, &c, rows, pn, type);
    dist_array da = take_part(r, &own_a), dc = take_part(r, &own_c);
    dist_ok(dist_one, weft_syrk(dist_one, how, type, n, k, alpha, a.p, a.ld, beta, c.p, c.ld));
    dist_ok(dist_ctx, weft_syrk(dist_ctx, how, type, pn.n, rows ? k : pk.n, alpha,
                                alpha ? da.p : NULL, own_a.ld, beta, dc.p, own_c.ld));
    copy_part(&own_c, &c, rows ? pn.first : 0, rows ? 0 : pn.first);
    char what[128];
    snprintf(what, sizeof what, "weft_syrk of %s, how %u, %zu x %zu, alpha %g, beta %g",
             test_type_name(type), how, n, k, alpha, beta);
    dist_expect(&dc, own_c.p, bytes_of(&own_c), what);
    dist_give(&da), dist_give(&dc);
    free(a.p), free(c.p), free(own_a.p), free(own_c.p);
}

static void syrk_failure(void) {
    const double a[64] = {1};
    double c[64] = {1};
    const int culprit = dist_ranks / 2;
    const bool wrong = dist_rank == culprit;
    const size_t ranks = (size_t)dist_ranks;
    if (dist_on_gpus() || ranks > 64)
        return;
    dist_refused_by_one(weft_syrk(dist_ctx, 0, WEFT_F64, 1, 1, 1, a, ranks, 0, c, ranks - wrong),
                        culprit, "weft_syrk", "ldc");
    dist_refused_by_one(
        weft_syrk(dist_ctx, wrong ? 1u << 20 : 0, WEFT_F64, 1, 1, 1, a, ranks, 0, c, ranks),
        culprit, "weft_syrk", "how");
    assert_true(c[0] == 1);
}

void dist_test_syrk(void **state) {
    static const size_t sizes[][2] = {{1, 1},  {0, 4}, {4, 0},   {1, 20},
                                      {20, 1}, {7, 5}, {19, 21}, {150, 60}};
    static const size_t long_one[][2] = {{1400, 3}}; /* lines are passed in pieces */
    (void)state;
    for_each(47, sizes, sizeof sizes / sizeof *sizes, usual_times(), syrk_case);
    if (!dist_ctx->gpu)
        for_each(48, long_one, 1, 1, syrk_case);
    assert_string_equal(weft_used(dist_ctx, "syrk"), "ranks");
    syrk_failure();
}

/* ---- memory that runs out ---- */

typedef struct square {
    unsigned how;
    double a[64], b[64];
    int64_t pivot[64];
} square;

static weft_status multiply_vector(void *user) {
    square *const s = user;
    double y = 0;
    return weft_gemv(dist_ctx, s->how, WEFT_F64, WEFT_F64, 1, 1, 1, s->a, (size_t)dist_ranks, s->b,
                     1, 0, &y, 1);
}

static weft_status add_product(void *user) {
    square *const s = user;
    const double x = 1;
    return weft_ger(dist_ctx, s->how, WEFT_F64, 1, 1, 1, &x, 1, &x, 1, s->b, (size_t)dist_ranks);
}

static weft_status multiply_own(void *user) {
    square *const s = user;
    return weft_syrk(dist_ctx, s->how, WEFT_F64, 1, 1, 1, s->a, 1, 0, s->b, (size_t)dist_ranks);
}

static weft_status invert(void *user) {
    square *const s = user;
    return weft_lu_inverse(dist_ctx, 0, WEFT_F64, 1, s->a, (size_t)dist_ranks, s->pivot);
}

static weft_status factor_upper(void *user) {
    square *const s = user;
    return weft_cholesky_factor(dist_ctx, WEFT_ROW_MAJOR | WEFT_UPPER_TRIANGLE, WEFT_F64, 1, s->a,
                                1);
}

/* Each rank has one column of the unit matrix, or one row. */
void dist_test_blas_memory(void **state) {
    square s = {.how = 0};
    (void)state;
    if (dist_ranks > 64 || dist_on_gpus())
        return;
    s.a[dist_rank] = 1;
    for (int k = 0; k < 64; k++)
        s.pivot[k] = k;
    for (s.how = 0; s.how < 2; s.how++) {
        fail_allocations(multiply_vector, &s);
        fail_allocations(add_product, &s);
    }
    s.how = WEFT_TRANSPOSE_A;
    fail_allocations(multiply_own, &s);
    fail_allocations(invert, &s);
    fail_allocations(factor_upper, &s);
    assert_true(s.a[dist_rank] == 1);
}
