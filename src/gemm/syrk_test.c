/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of syrk's ladder, on every place: each element of the triangle, and that nothing else
 * is read or written. What is not to be read holds NaN. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WEFT_CUDA
#    include "core/gpu.h"
#endif
#include "gemm/matrix_rig.h"
#include "gemm/syrk.h"

enum {
    A,
    C,
    ARRAYS,
    STORED = 8, /* combinations of the flags */
    SCALINGS = 16,
    KINDS = 2, /* of numbers */
    ALL_ON_DEVICE = 3,
    MOST_OFFSET = 7,
    MOST_GAP = 5,
    CAPACITY = 11 << 20
};

#ifdef WEFT_EMU
enum {
    MOST_PRODUCTS = 1 << 16,
    MUST = 2 /* each rung with each combination of flags */
};
#else
enum {
    MOST_PRODUCTS = 1 << 21,
    MUST = 3 /* and with each type */
};
#endif

static const size_t orders[] = {0,  1,  2,  3,  7,   8,   15,  16,  17,  31,  33,
                                63, 64, 65, 97, 127, 128, 129, 130, 191, 257, 300};
static const size_t terms[] = {0, 1, 2, 3, 7, 8, 15, 17, 31, 32, 33, 40, 65, 130, 300};

typedef struct update {
    const wi_row *row; /* NULL: the library chooses */
    weft_type type;
    unsigned how;
    size_t n, k;
    size_t ld[ARRAYS], offset[ARRAYS];
    double alpha, beta;
    bool specials;
    unsigned device; /* bit k: array k is device memory, if the place has any */
    bool one_unit;   /* of a GPU: as if it had one multiprocessor, for which tiles are large */
} update;

static bool has(const update *p, unsigned flag) {
    return p->how & flag;
}

/* Element (i, q) of op(A), or (i, j) of C. */
static size_t place_of(const update *p, int array, size_t i, size_t j) {
    const bool turned = array == A && has(p, WEFT_TRANSPOSE_A);
    return has(p, WEFT_ROW_MAJOR) != turned ? i * p->ld[array] + j : i + j * p->ld[array];
}

static void stored_as(const update *p, int array, size_t *lines, size_t *length) {
    const bool by_rows = has(p, WEFT_ROW_MAJOR) != (array == A && has(p, WEFT_TRANSPOSE_A));
    const size_t columns = array == A ? p->k : p->n;
    *lines = by_rows ? p->n : columns;
    *length = by_rows ? columns : p->n;
}

static size_t bytes_of(const update *p, int array) {
    size_t lines, length;
    stored_as(p, array, &lines, &length);
    return lines && length ? ((lines - 1) * p->ld[array] + length) * test_size_of(p->type) : 0;
}

static bool is_stored(const update *p, size_t i, size_t j) {
    return has(p, WEFT_UPPER_TRIANGLE) ? i <= j : i >= j;
}

static const char *describe(const rig *r, const update *p) {
    static char text[300];
    snprintf(text, sizeof text,
             "weft_syrk of %s on %s, variant %s, how %#x, %zu x %zu, ld %zu %zu, offsets %zu %zu, "
             "alpha %g, beta %g%s, device %#x%s",
             test_type_name(p->type), weft_place(r->ctx), p->row ? p->row->name : "auto", p->how,
             p->n, p->k, p->ld[A], p->ld[C], p->offset[A], p->offset[C], p->alpha, p->beta,
             p->specials ? ", with specials" : "", p->device,
             p->one_unit ? ", one multiprocessor" : "");
    return text;
}

static test_buffer *buffer_of(rig *r, const update *p, int array) {
    return rig_buffer(r, p->device, array);
}

static double drawn(rig *r, const update *p) {
    static const double specials[] = {NAN, INFINITY, -INFINITY, -0.0};
    return p->specials && test_below(&r->random, 50) == 0 ? specials[test_below(&r->random, 4)]
                                                          : test_unit(&r->random);
}

static void fill(rig *r, const update *p) {
    for (int k = 0; k < ARRAYS; k++)
        memset(r->source[k], 0xff, bytes_of(p, k));
    for (size_t i = 0; p->alpha != 0 && i < p->n; i++)
        for (size_t q = 0; q < p->k; q++)
            test_store(p->type, r->source[A], place_of(p, A, i, q), (test_value){.f = drawn(r, p)});
    for (size_t i = 0; p->beta != 0 && i < p->n; i++)
        for (size_t j = 0; j < p->n; j++)
            if (is_stored(p, i, j))
                test_store(p->type, r->source[C], place_of(p, C, i, j),
                           (test_value){.f = drawn(r, p)});
}

static void compare_element(const rig *r, const update *p, size_t i, size_t j, double got) {
    const unsigned char *const a = r->source[A];
    const double alpha = test_round(p->type, p->alpha), beta = test_round(p->type, p->beta);
    long double sum = 0, size = 0;
    for (size_t q = 0; alpha != 0 && q < p->k; q++) {
        const long double x = (long double)test_load(p->type, a, place_of(p, A, i, q)).f *
                              test_load(p->type, a, place_of(p, A, j, q)).f;
        sum += alpha * x;
        size += fabsl(alpha * x);
    }
    if (beta != 0) {
        const long double before =
            (long double)beta * test_load(p->type, r->source[C], place_of(p, C, i, j)).f;
        sum += before;
        size += fabsl(before);
    }
    const double within =
        ((double)p->k + 4) * ((double)size * test_roundoff(p->type) + test_half_tiny(p->type) * 2);
    const bool same = isnan(sum) ? isnan(got) : got == sum;
    if (isfinite(sum) ? !(fabsl(got - sum) <= within) : !same)
        fail_msg("%s: element (%zu, %zu) is %g, should be %Lg", describe(r, p), i, j, got, sum);
}

/* What has been looked at is overwritten as gaps are filled. */
static void compare(rig *r, const update *p) {
    const size_t bytes = bytes_of(p, C), width = test_size_of(p->type);
    unsigned char *const got = malloc(bytes + 1);
    assert_non_null(got);
    memcpy(got, test_buffer_read(buffer_of(r, p, C), describe(r, p)), bytes);
    for (size_t j = 0; j < p->n; j++)
        for (size_t i = 0; i < p->n; i++) {
            const size_t at = place_of(p, C, i, j);
            if (!is_stored(p, i, j))
                continue;
            compare_element(r, p, i, j, test_load(p->type, got, at).f);
            memset(got + at * width, 0xff, width);
        }
    for (size_t b = 0; b < bytes; b++)
        if (got[b] != 0xff)
            fail_msg("%s: byte %zu of C is not of its triangle, and was written", describe(r, p),
                     b);
    free(got);
    if (memcmp(test_buffer_read(buffer_of(r, p, A), describe(r, p)), r->source[A],
               bytes_of(p, A)) != 0)
        fail_msg("%s: A was changed", describe(r, p));
}

static weft_status make_call(rig *r, const update *p) {
    test_use(r->ctx, "syrk", p->row);
#ifdef WEFT_CUDA
    const bool changes = r->ctx->kind == WI_CUDA && p->one_unit;
    const int units = changes ? r->ctx->gpu->multiprocessors : 0;
    if (changes)
        r->ctx->gpu->multiprocessors = 1;
#endif
    const weft_status status =
        weft_syrk(r->ctx, p->how, p->type, p->n, p->k, p->alpha, buffer_of(r, p, A)->p, p->ld[A],
                  p->beta, buffer_of(r, p, C)->p, p->ld[C]);
#ifdef WEFT_CUDA
    if (changes)
        r->ctx->gpu->multiprocessors = units;
#endif
    return status;
}

static bool is_named(const wi_row *row, const char *name) {
    return row && strcmp(row->name, name) == 0;
}

/* May this row refuse the call? */
static bool may_refuse(const update *p) {
    enum {
        PARTS_LEAST_K = 16
    };
    return is_named(p->row, "openblas") || (is_named(p->row, "ring") && p->type != WEFT_F64) ||
           (is_named(p->row, "parts") && (p->type != WEFT_F32 || p->k < PARTS_LEAST_K));
}

static void run_case(rig *r, const update *p) {
    fill(r, p);
    for (int k = 0; k < ARRAYS; k++) {
        assert_true(bytes_of(p, k) + MOST_OFFSET * 8 <= CAPACITY);
        test_buffer_load(buffer_of(r, p, k), r->source[k], bytes_of(p, k),
                         p->offset[k] * test_size_of(p->type));
    }
    const weft_status status = make_call(r, p);
    if (status == WEFT_EUNSUPPORTED && may_refuse(p)) {
        test_refused(r->ctx, status, WEFT_EUNSUPPORTED, "weft_syrk", p->row->name);
        return;
    }
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(r, p), weft_status_name(status), weft_message(r->ctx));
    if (p->n > 0)
        test_used(r->ctx, "syrk", p->row, describe(r, p));
    compare(r, p);
}

static void choose_layout(rig *r, update *p) {
    for (int k = 0; k < ARRAYS; k++) {
        size_t lines, length;
        stored_as(p, k, &lines, &length);
        p->ld[k] = length + (test_below(&r->random, 2) ? test_below(&r->random, MOST_GAP) : 0);
        p->offset[k] = test_below(&r->random, 2) ? test_below(&r->random, MOST_OFFSET) : 0;
    }
}

/* Axes: the type; the flags; alpha and beta; kind of numbers. */
static bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    static const double alphas[] = {1, -1, 0.3, 0}, betas[] = {0, 1, -1, 0.3};
    rig *const r = user;
    update p = {.row = row,
                .type = at[0] ? WEFT_F32 : WEFT_F64,
                .how = (at[1] & 1 ? WEFT_ROW_MAJOR : 0) | (at[1] & 2 ? WEFT_TRANSPOSE_A : 0) |
                       (at[1] & 4 ? WEFT_UPPER_TRIANGLE : 0),
                .n = n,
                .k = terms[test_below(&r->random, sizeof terms / sizeof *terms)],
                .alpha = alphas[at[2] % 4],
                .beta = betas[at[2] / 4],
                .specials = at[3] && !is_named(row, "openblas"),
                .device = ALL_ON_DEVICE,
                .one_unit = test_below(&r->random, 2)};
    while (n * n * p.k > MOST_PRODUCTS)
        p.k /= 2;
    choose_layout(r, &p);
    if (test_below(&r->random, 4) == 0)
        p.device = (unsigned)test_below(&r->random, ALL_ON_DEVICE);
    run_case(r, &p);
    return true;
}

static void all_rungs(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    const test_sweep all = {.sizes = orders,
                            .size_count = sizeof orders / sizeof *orders,
                            .ladder = &wi_syrk_ladder,
                            .extent = {2, STORED, SCALINGS, KINDS},
                            .must = MUST,
                            .one_in = 8,
                            .share = 60,
                            .run = run_drawn};
    test_sweep_run(ctx, &r.random, &all, &r);
    rig_close(&r);
}

/* More tiles than a band has columns, small ones and large ones, and whole tiles on the diagonal.
 */
static void several_bands(weft_context *ctx) {
    static const struct {
        const char *row;
        weft_type type;
        size_t n, k;
        bool one_unit;
    } cases[] = {{"triangle", WEFT_F32, 64 * 9 + 1, 1, false},
#ifdef WEFT_RING
                 {"ring", WEFT_F64, 128 * 9 + 2, 1, true},
                 {"parts", WEFT_F32, 132, 16, false},
#endif
                 {"triangle", WEFT_F32, 128 * 8 + 1, 1, true}};
    if (ctx->kind != WI_CUDA)
        return;
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++) {
        update p = {.row = test_row_named(&wi_syrk_ladder, cases[k / 2].row),
                    .type = cases[k / 2].type,
                    .how = k & 1 ? WEFT_UPPER_TRIANGLE : 0,
                    .n = cases[k / 2].n,
                    .k = cases[k / 2].k,
                    .alpha = 1,
                    .beta = 0,
                    .device = ALL_ON_DEVICE,
                    .one_unit = cases[k / 2].one_unit};
        p.ld[A] = p.ld[C] = p.n;
        run_case(&r, &p);
    }
    rig_close(&r);
}

/* ---- rows below a triangle ---- */

typedef struct trapezoid {
    size_t n, below, k;
    bool one_unit;
} trapezoid;

/* By the library's choice, or by `ring` on a GPU as if it had few multiprocessors. */
static void run_below(weft_context *ctx, const wi_syrk_args *g, const trapezoid *t, bool ring) {
    weft_status status = WEFT_OK;
#ifdef WEFT_CUDA
    int before = 0, units = 0;
    if (ctx->gpu) {
        units = ctx->gpu->multiprocessors;
        ctx->gpu->multiprocessors = t->one_unit ? 1 : units;
        assert_int_equal(wi_gpu_enter(ctx, &before), WEFT_OK);
    }
#endif
    if (!ring)
        status = wi_syrk_and_below(ctx, g, t->below);
#ifdef WEFT_RING
    wi_syrk_args both = *g;
    both.below = t->below;
    if (ring)
        status = wi_syrk_ring(ctx, &both);
#endif
#ifdef WEFT_CUDA
    if (ctx->gpu) {
        wi_gpu_leave(ctx, before);
        ctx->gpu->multiprocessors = units;
    }
#endif
    assert_int_equal(status, WEFT_OK);
}

/* Whole numbers: sums are exact. What is above the diagonal, or between columns, is kept. */
static void check_below(weft_context *ctx, test_random *random, const trapezoid *t, bool ring) {
    const size_t rows = t->n + t->below, ld = (rows + 3) / 2 * 2;
    const size_t bytes[ARRAYS] = {ld * t->k * sizeof(double), ld * t->n * sizeof(double)};
    double *host[ARRAYS], *own[ARRAYS], *const got = malloc(bytes[C]);
    for (int x = 0; x < ARRAYS; x++) {
        host[x] = malloc(bytes[x]);
        for (size_t e = 0; e < bytes[x] / sizeof(double); e++)
            host[x][e] = e % ld < rows && (x == A || e % ld >= e / ld)
                             ? (double)test_below(random, 7) - 3
                             : (double)NAN;
        assert_int_equal(weft_alloc(ctx, (void **)&own[x], bytes[x]), WEFT_OK);
        assert_int_equal(weft_copy(ctx, own[x], host[x], bytes[x]), WEFT_OK);
    }
    const wi_syrk_args g = {.type = WEFT_F64,
                            .n = t->n,
                            .k = t->k,
                            .alpha = -1,
                            .beta = 1,
                            .a = own[A],
                            .lda = ld,
                            .c = own[C],
                            .ldc = ld};
    run_below(ctx, &g, t, ring);
    assert_int_equal(weft_copy(ctx, got, own[C], bytes[C]), WEFT_OK);
    for (size_t e = 0; e < ld * t->n; e++) {
        const size_t i = e % ld, j = e / ld;
        double wanted = host[C][e];
        for (size_t q = 0; q < t->k && i < rows; q++)
            wanted -= host[A][i + q * ld] * host[A][j + q * ld];
        if (i >= j && i < rows ? got[e] != wanted : got[e] == got[e])
            fail_msg("%zu + %zu rows, k = %zu: C(%zu, %zu) is %g, not %g", t->n, t->below, t->k, i,
                     j, got[e], wanted);
    }
    for (int x = 0; x < ARRAYS; x++) {
        assert_int_equal(weft_free(ctx, own[x]), WEFT_OK);
        free(host[x]);
    }
    free(got);
}

static void rows_below(weft_context *ctx) {
    static const trapezoid cases[] = {
        {1, 1, 1, false},     {5, 300, 3, false},          {64, 12, 64, false}, {130, 1, 33, false},
        {200, 500, 7, false}, {128 * 9 + 2, 300, 1, true}, {128, 97, 17, true}, {97, 0, 5, true}};
    test_random random = test_random_at(6);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        check_below(ctx, &random, &cases[k], false);
#ifdef WEFT_RING
        if (ctx->kind == WI_CUDA && !wi_gemm_fits_ring(ctx, &(wi_gemm_args){.type = WEFT_F64}))
            check_below(ctx, &random, &cases[k], true);
#endif
    }
}

/* ---- the same bits ---- */

static void test_threads(void **state) {
    (void)state;
    enum {
        N = 333,
        K = 270
    };
    static double a[N * K], first[N * N], second[N * N];
    weft_context *const one = test_open("cpu:1"), *const three = test_open("cpu:3");
    test_random random = test_random_at(5);
    for (size_t i = 0; i < N * K; i++)
        a[i] = test_unit(&random);
    assert_int_equal(weft_syrk(one, 0, WEFT_F64, N, K, 0.7, a, N, 0, first, N), WEFT_OK);
    assert_int_equal(weft_syrk(three, 0, WEFT_F64, N, K, 0.7, a, N, 0, second, N), WEFT_OK);
    assert_memory_equal(first, second, sizeof first);
    weft_close(one);
    weft_close(three);
}

/* ---- what is refused ---- */

static void arguments(weft_context *ctx) {
    enum {
        MATRIX = 16
    };
    const size_t bytes = 2 * MATRIX * sizeof(float);
    test_buffer block = test_buffer_open(ctx, ctx->kind == WI_CUDA, bytes);
    test_buffer_poison(&block, bytes, 0);
    float *const a = (float *)(void *)block.p, *const c = a + MATRIX;
    const weft_type t = WEFT_F32;
    const struct {
        unsigned how;
        weft_type type;
        const void *a;
        size_t lda;
        void *c;
        size_t ldc;
        const char *word;
    } wrong[] = {
        {0, (weft_type)99, a, 4, c, 4, "type"},
        {WEFT_TRANSPOSE_B, t, a, 4, c, 4, "how"},
        {WEFT_RIGHT, t, a, 4, c, 4, "how"},
        {WEFT_UNIT_DIAGONAL, t, a, 4, c, 4, "how"},
        {0, t, NULL, 4, c, 4, "a"},
        {0, t, (const char *)a + 1, 4, c, 4, "a"},
        {0, t, a, 4, NULL, 4, "c"},
        {0, t, a, 3, c, 4, "lda"},
        {WEFT_TRANSPOSE_A, t, a, 2, c, 4, "lda"},
        {0, t, a, 4, c, 3, "ldc"},
        {0, t, a, 4, a, 4, "overlap"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        test_refused(ctx,
                     weft_syrk(ctx, wrong[k].how, wrong[k].type, 4, 3, 1, wrong[k].a, wrong[k].lda,
                               0, wrong[k].c, wrong[k].ldc),
                     WEFT_EARG, "weft_syrk", wrong[k].word);
    test_refused(ctx, weft_syrk(ctx, 0, WEFT_I8, 4, 3, 1, a, 4, 0, c, 4), WEFT_EUNSUPPORTED,
                 "weft_syrk", "type");
    assert_int_equal(weft_syrk(ctx, 0, t, 0, 3, 1, NULL, 0, 0, NULL, 0), WEFT_OK);
    const unsigned char *const left = test_buffer_read(&block, "refused calls");
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(left[i], TEST_POISON);
    assert_int_equal(weft_syrk(ctx, 0, t, 4, 9, 0, NULL, 4, 0, c, 4),
                     WEFT_OK); /* A is not needed */
    test_buffer_close(&block);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(all_rungs),  TEST_ON_EACH_PLACE(several_bands),
        TEST_ON_EACH_PLACE(rows_below), cmocka_unit_test(test_threads),
        TEST_ON_EACH_PLACE(arguments),
    };
    return cmocka_run_group_tests_name("syrk", tests, NULL, NULL);
}
