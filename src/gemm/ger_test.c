/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of ger's ladder, on every place: sizes, types, ways to store the matrix, gaps,
 * strides, alignments, special numbers, host and device memory. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "gemm/ger.h"
#include "gemm/matrix_rig.h"
#include "gemm/vector_cases.h"

enum {
    X,
    Y,
    A,
    ARRAYS,
    SHAPES = 3,
    ALPHAS = 4,
    KINDS = 4, /* of numbers */
    ALL_ON_DEVICE = 7,
    MOST_OFFSET = 7,
    MOST_GAP = 5
};

#ifdef WEFT_EMU
static const size_t most_elements = 10000, capacity = 1 << 20;
#else
static const size_t most_elements = 60000, capacity = 1 << 21;
#endif

static const weft_type types[] = {WEFT_F64, WEFT_F32, WEFT_F16, WEFT_BF16};
static const size_t sizes[] = {0,  1,  2,  3,   7,   8,   15,  16,  17,  31,   33,  63,
                               64, 65, 97, 127, 129, 255, 257, 511, 513, 1025, 4099};
static const size_t short_sizes[] = {1, 2, 3, 4, 5, 9, 17, 33};

enum {
    TYPES = sizeof types / sizeof *types
};

typedef struct update {
    const wi_row *row;
    weft_type type;
    unsigned how;
    size_t m, n, lda;
    ptrdiff_t incx, incy;
    size_t offset[ARRAYS];
    double alpha;
    test_pattern pattern;
    unsigned device;
} update;

static const char *describe(const rig *r, const update *u) {
    static char text[300];
    snprintf(text, sizeof text,
             "%s on %s, variant %s, how %#x, %zu x %zu, lda %zu, strides %td and %td, offsets %zu "
             "%zu %zu, alpha %g, pattern %d, device %#x",
             test_type_name(u->type), weft_place(r->ctx), u->row ? u->row->name : "auto", u->how,
             u->m, u->n, u->lda, u->incx, u->incy, u->offset[X], u->offset[Y], u->offset[A],
             u->alpha, u->pattern, u->device);
    return text;
}

static test_buffer *buffer_of(rig *r, const update *u, int array) {
    return rig_buffer(r, u->device, array);
}

static size_t lines_of(const update *u) {
    return u->how & WEFT_ROW_MAJOR ? u->m : u->n;
}

static size_t length_of(const update *u) {
    return u->how & WEFT_ROW_MAJOR ? u->n : u->m;
}

static size_t place_of(const update *u, size_t i, size_t j) {
    return u->how & WEFT_ROW_MAJOR ? i * u->lda + j : i + j * u->lda;
}

static size_t elements_of(const update *u, int array) {
    if (array == A)
        return u->m && u->n ? (lines_of(u) - 1) * u->lda + length_of(u) : 0;
    return array == X ? vector_extent(u->m, u->incx) : vector_extent(u->n, u->incy);
}

/* Gaps hold NaN, and so does what is not to be read. */
static void fill(rig *r, const update *u) {
    const size_t width = test_size_of(u->type);
    for (int k = 0; k < ARRAYS; k++) {
        test_fill(&r->random, u->pattern, u->type, elements_of(u, k), r->source[k]);
        if (k != A && u->alpha == 0)
            memset(r->source[k], 0xff, elements_of(u, k) * width);
    }
    vector_fill_gaps(u->m, u->incx, width, r->source[X]);
    vector_fill_gaps(u->n, u->incy, width, r->source[Y]);
    for (size_t line = 0; u->m && line + 1 < lines_of(u); line++)
        memset(r->source[A] + (line * u->lda + length_of(u)) * width, 0xff,
               (u->lda - length_of(u)) * width);
}

/* Is `got` a + x (alpha y), if alpha y is rounded, then the sum, and then the result to the type?
 */
static bool is_right(const update *u, double a, double x, double y, double got) {
    const weft_type sums = u->type == WEFT_F64 ? WEFT_F64 : WEFT_F32;
    const double alpha = test_round(sums, u->alpha);
    const long double part = test_round(sums, alpha * y) * (long double)x; /* rounded once */
    const long double right = u->alpha == 0 ? (long double)a : part + a;
    const double value = test_round(u->type, right);
    if (isnan(value) || isnan(got))
        return isnan(value) && isnan(got);
    if (isinf(value) || isinf(got))
        return value == got;
    /* 0x1p-63: `part` is itself rounded to long double, which shows where a sum of f64 cancels */
    const double within =
        2 * test_roundoff(sums) * fabs((double)right) + 0x1p-63 * fabs((double)part) +
        fmax(test_half_tiny(sums), DBL_TRUE_MIN) +
        (u->type == sums ? 0 : 2 * test_roundoff(u->type) * fabs(value) + test_half_tiny(u->type));
    return u->pattern == TEST_SMALL || u->alpha == 0 ? got == value : fabs(got - value) <= within;
}

static void compare(rig *r, const update *u) {
    const size_t width = test_size_of(u->type), bytes = elements_of(u, A) * width;
    test_value *const x = vector_values(u->type, u->m, u->incx, r->source[X]);
    test_value *const y = vector_values(u->type, u->n, u->incy, r->source[Y]);
    unsigned char *const got = malloc(bytes + 1);
    assert_non_null(got);
    memcpy(got, test_buffer_read(buffer_of(r, u, A), describe(r, u)), bytes);
    for (size_t j = 0; j < u->n; j++)
        for (size_t i = 0; i < u->m; i++) {
            const size_t at = place_of(u, i, j);
            const double before = test_load(u->type, r->source[A], at).f;
            const test_value now = test_load(u->type, got, at);
            if (!is_right(u, before, x[i].f, y[j].f, now.f))
                fail_msg("%s: element (%zu, %zu) is %s; it was %g, x is %g and y is %g",
                         describe(r, u), i, j, test_text(u->type, now), before, x[i].f, y[j].f);
            memset(got + at * width, 0xff, width);
        }
    for (size_t b = 0; b < bytes; b++)
        if (got[b] != 0xff)
            fail_msg("%s: a gap of A was written, byte %zu", describe(r, u), b);
    free(got);
    free(x);
    free(y);
}

static void run_case(rig *r, const update *u) {
    const size_t width = test_size_of(u->type);
    fill(r, u);
    for (int k = 0; k < ARRAYS; k++)
        test_buffer_load(buffer_of(r, u, k), r->source[k], elements_of(u, k) * width,
                         u->offset[k] * width);
    test_use(r->ctx, "ger", u->row);
    const weft_status status =
        weft_ger(r->ctx, u->how, u->type, u->m, u->n, u->alpha, buffer_of(r, u, X)->p, u->incx,
                 buffer_of(r, u, Y)->p, u->incy, buffer_of(r, u, A)->p, u->lda);
    if (status == WEFT_EUNSUPPORTED && u->row && strcmp(u->row->name, "naive") == 0 && width == 2)
        return;
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(r, u), weft_status_name(status), weft_message(r->ctx));
    if (u->m > 0 && u->n > 0 && u->alpha != 0)
        test_used(r->ctx, "ger", u->row, describe(r, u));
    compare(r, u);
    for (int k = X; k <= Y; k++)
        if (memcmp(test_buffer_read(buffer_of(r, u, k), describe(r, u)), r->source[k],
                   elements_of(u, k) * width) != 0)
            fail_msg("%s: %c was changed", describe(r, u), "xy"[k]);
}

static void choose_extents(rig *r, update *u, size_t n, size_t shape) {
    const size_t other = short_sizes[test_below(&r->random, sizeof short_sizes / sizeof(size_t))];
    u->m = shape == 1 ? other : n;
    u->n = shape == 2 ? other : n;
    test_shrink(&u->m, &u->n, most_elements);
    u->lda = length_of(u) + (test_below(&r->random, 2) ? test_below(&r->random, MOST_GAP) : 0);
    u->incx = test_strides[test_below(&r->random, TEST_STRIDES)];
    u->incy = test_strides[test_below(&r->random, TEST_STRIDES)];
    for (int k = 0; k < ARRAYS; k++)
        u->offset[k] = test_below(&r->random, 2) ? test_below(&r->random, MOST_OFFSET) : 0;
    if (test_below(&r->random, 3) == 0) { /* as the fastest kernels want it */
        u->lda = (length_of(u) + 7) / 8 * 8;
        u->offset[A] = 0;
    }
}

/* Axes: the type; by columns or rows; the shape; alpha; kind of numbers. */
static bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    static const double alphas[ALPHAS] = {0, 1, -1, 0.3};
    static const test_pattern patterns[KINDS] = {TEST_SMALL, TEST_ANY, TEST_SPECIAL, TEST_NANS};
    rig *const r = user;
    update u = {.row = row,
                .type = types[at[0]],
                .how = at[1] ? WEFT_ROW_MAJOR : 0,
                .alpha = alphas[at[3]],
                .pattern = patterns[at[4]],
                .device = ALL_ON_DEVICE};
    if (u.pattern == TEST_SMALL && u.alpha == 0.3)
        u.alpha = 0.5;
    choose_extents(r, &u, n, at[2]);
    if (test_below(&r->random, 4) == 0)
        u.device = (unsigned)test_below(&r->random, ALL_ON_DEVICE);
    run_case(r, &u);
    return true;
}

static void all_sizes(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, capacity);
    const test_sweep s = {.sizes = sizes,
                          .size_count = sizeof sizes / sizeof *sizes,
                          .ladder = &wi_ger_ladder,
                          .extent = {TYPES, 2, SHAPES, ALPHAS, KINDS},
                          .must = 3,
                          .share = 25,
                          .one_in = 4,
                          .run = run_drawn};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(all_sizes),
    };
    return cmocka_run_group_tests_name("ger", tests, NULL, NULL);
}
