/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of gemv's ladder, on every place: sizes, types, ways to store the matrix, gaps,
 * strides, alignments, alpha and beta, special numbers, host and device memory. The oracle is that
 * of gemm, for a product with one column. */
#include <stdio.h>

#include "gemm/gemm_cases.h"
#include "gemm/gemv.h"
#include "gemm/matrix_rig.h"
#include "gemm/vector_cases.h"
#include "limits.h"

enum {
    STORED = 4,
    SHAPES = 4,
    SCALINGS = 16,
    KINDS = 4,
    TYPES = PAIRS - 1, /* all but whole numbers */
    ALL_ON_DEVICE = 7,
    MOST_OFFSET = 7,
    MOST_GAP = 5
};

#ifdef WEFT_EMU
static const size_t most_products = 17000, capacity = 1 << 21;
#else
static const size_t most_products = 100000, capacity = 1 << 21;
#endif

static const size_t sizes[] = {0,  1,  2,  3,  7,   8,   15,  16,  17,  31,  32,  33,
                               63, 64, 65, 97, 127, 128, 129, 255, 256, 257, 511, 513};
static const size_t long_sizes[] = {1023, 1025, 2049, 4095, 4096, 4097, 5003, 9001, 16500};
static const size_t short_sizes[] = {1, 2, 3, 4, 5, 9, 17, 33};

/* op(A) is m x k in the words of gemm, and x and y are its B and C. */
typedef struct vector_product {
    product p;
    ptrdiff_t incx, incy;
} vector_product;

static const char *describe(const rig *r, const vector_product *v) {
    static char text[400];
    const product *const p = &v->p;
    snprintf(text, sizeof text,
             "%s and %s on %s, variant %s, how %#x, %zu x %zu, lda %zu, strides %td and %td, "
             "offsets %zu %zu %zu, alpha %g, beta %g, pattern %d, device %#x",
             test_type_name(p->types.type), test_type_name(p->types.out), weft_place(r->ctx),
             p->row ? p->row->name : "auto", p->how, p->m, p->k, p->ld[A], v->incx, v->incy,
             p->offset[A], p->offset[B], p->offset[C], p->alpha, p->beta, p->pattern, p->device);
    return text;
}

static test_buffer *buffer_of(rig *r, const vector_product *v, int array) {
    return rig_buffer(r, v->p.device, array);
}

static size_t count_of(const vector_product *v, int array) {
    return array == B ? v->p.k : v->p.m;
}

static ptrdiff_t stride_of(const vector_product *v, int array) {
    return array == B ? v->incx : v->incy;
}

/* Elements of an array, gaps included. */
static size_t elements_of(const vector_product *v, int array) {
    return array == A ? extent_of(&v->p, A)
                      : vector_extent(count_of(v, array), stride_of(v, array));
}

static size_t size_of(const vector_product *v, int array) {
    return elements_of(v, array) * test_size_of(type_of(&v->p, array));
}

/* What is not to be read holds NaN, as gaps do. */
static void fill(rig *r, const vector_product *v) {
    const product *const p = &v->p;
    for (int k = 0; k < ARRAYS; k++) {
        const size_t width = test_size_of(type_of(p, k));
        if ((k == C && p->beta == 0) || (k != C && p->alpha == 0)) {
            memset(r->source[k], 0xff, size_of(v, k));
            continue;
        }
        test_fill(&r->random, p->pattern, type_of(p, k), elements_of(v, k), r->source[k]);
        if (k != A)
            vector_fill_gaps(count_of(v, k), stride_of(v, k), width, r->source[k]);
        size_t lines, length;
        stored_as(p, A, &lines, &length);
        for (size_t line = 0; k == A && line + 1 < lines; line++)
            memset(r->source[k] + (line * p->ld[A] + length) * width, 0xff,
                   (p->ld[A] - length) * width);
    }
}

/* Each element of y, and the gaps. */
static void compare(rig *r, const vector_product *v) {
    const product *const p = &v->p;
    const weft_type type = p->types.type, out = p->types.out;
    const size_t width = test_size_of(out), bytes = size_of(v, C);
    test_value *const a = malloc((elements_of(v, A) + 1) * sizeof *a);
    unsigned char *const got = malloc(bytes + 1);
    assert_non_null(a);
    assert_non_null(got);
    test_widen(type, elements_of(v, A), r->source[A], a);
    test_value *const x[] = {a, vector_values(type, p->k, v->incx, r->source[B]),
                             vector_values(out, p->m, v->incy, r->source[C])};
    memcpy(got, test_buffer_read(buffer_of(r, v, C), describe(r, v)), bytes);
    for (size_t i = 0; i < p->m; i++) {
        const right_value right = right_float(p, x, i, 0);
        const size_t at = vector_place(p->m, v->incy, i);
        const test_value value = test_load(out, got, at);
        if (!is_right(p, value, &right))
            fail_msg("%s: element %zu is %s, should be %s within %g", describe(r, v), i,
                     test_text(out, value), test_text(out, right.value), right.within);
        memset(got + at * width, 0xff, width);
    }
    for (size_t b = 0; b < bytes; b++)
        if (got[b] != 0xff)
            fail_msg("%s: a gap of y was written, byte %zu", describe(r, v), b);
    free(got);
    for (int k = 0; k < ARRAYS; k++)
        free(x[k]);
}

static bool is_taught(const product *p) {
    return p->types.type == WEFT_F64 || p->types.type == WEFT_F32;
}

static void run_case(rig *r, const vector_product *v) {
    const product *const p = &v->p;
    fill(r, v);
    for (int k = 0; k < ARRAYS; k++)
        test_buffer_load(buffer_of(r, v, k), r->source[k], size_of(v, k),
                         p->offset[k] * test_size_of(type_of(p, k)));
    test_use(r->ctx, "gemv", p->row);
    const weft_status status = weft_gemv(
        r->ctx, p->how, p->types.type, p->types.out, p->m, p->k, p->alpha, buffer_of(r, v, A)->p,
        p->ld[A], buffer_of(r, v, B)->p, v->incx, p->beta, buffer_of(r, v, C)->p, v->incy);
    if (status == WEFT_EUNSUPPORTED && p->row && !is_taught(p) &&
        (strcmp(p->row->name, "naive") == 0 || strcmp(p->row->name, "warps") == 0))
        return;
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(r, v), weft_status_name(status), weft_message(r->ctx));
    if (p->m > 0)
        test_used(r->ctx, "gemv", p->row, describe(r, v));
    compare(r, v);
    for (int k = A; k <= B; k++)
        if (memcmp(test_buffer_read(buffer_of(r, v, k), describe(r, v)), r->source[k],
                   size_of(v, k)) != 0)
            fail_msg("%s: %c was changed", describe(r, v), "Ax"[k]);
}

/* ---- drawn cases ---- */

static void choose_extents(rig *r, product *p, size_t n, size_t shape) {
    const size_t other = short_sizes[test_below(&r->random, sizeof short_sizes / sizeof(size_t))];
    p->m = shape == 1 ? other : n;
    p->k = shape == 2 ? other : n;
    if (shape == 3 && n > 3) {
        p->m -= test_below(&r->random, 3);
        p->k = n / 2 + test_below(&r->random, n);
    }
    if (test_below(&r->random, 16) == 0)
        p->k = 0;
    test_shrink(&p->m, &p->k, most_products);
    p->n = 1;
}

static void choose_layout(rig *r, vector_product *v, size_t stored) {
    product *const p = &v->p;
    size_t lines, length;
    p->how = (stored & 1 ? WEFT_TRANSPOSE_A : 0) | (stored & 2 ? WEFT_ROW_MAJOR : 0);
    stored_as(p, A, &lines, &length);
    p->ld[A] = length + (test_below(&r->random, 2) ? test_below(&r->random, MOST_GAP) : 0);
    /* of x and y as the oracle has them */
    p->ld[B] = stored & 2 ? 1 : p->k;
    p->ld[C] = stored & 2 ? 1 : p->m;
    v->incx = test_strides[test_below(&r->random, TEST_STRIDES)];
    v->incy = test_strides[test_below(&r->random, TEST_STRIDES)];
    for (int k = 0; k < ARRAYS; k++)
        p->offset[k] = test_below(&r->random, 2) ? test_below(&r->random, MOST_OFFSET) : 0;
    if (test_below(&r->random, 3) == 0) { /* as the fastest kernels want it */
        p->ld[A] = (length + 7) / 8 * 8;
        p->offset[A] = 0;
    }
    for (int k = 0; k < ARRAYS; k++)
        assert_true(size_of(v, k) + MOST_OFFSET * 8 <= capacity);
}

static void choose_numbers(product *p, size_t scaling, size_t kind) {
    static const double broken[] = {0, 1, -1, 0.3}, half[] = {0, 1, -1, 0.5};
    static const test_pattern patterns[KINDS] = {TEST_SMALL, TEST_ANY, TEST_SPECIAL, TEST_NANS};
    p->pattern = patterns[kind];
    const double *const from = p->pattern == TEST_SMALL ? half : broken;
    p->alpha = from[scaling % 4];
    p->beta = from[scaling / 4];
}

/* Axes: the pair of types; how the matrix is stored; the shape; alpha and beta; kind of numbers. */
static bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    vector_product v = {.p = {.row = row, .types = pairs[at[0]], .device = ALL_ON_DEVICE}};
    choose_numbers(&v.p, at[3], at[4]);
    choose_extents(r, &v.p, n, at[2]);
    choose_layout(r, &v, at[1]);
    if (test_below(&r->random, 4) == 0)
        v.p.device = (unsigned)test_below(&r->random, ALL_ON_DEVICE);
    run_case(r, &v);
    return true;
}

static void sweep(weft_context *ctx, const size_t *from, size_t count, unsigned share,
                  unsigned must) {
    rig r = rig_open(ctx, ARRAYS, capacity);
    const test_sweep s = {.sizes = from,
                          .size_count = count,
                          .ladder = &wi_gemv_ladder,
                          .extent = {TYPES, STORED, SHAPES, SCALINGS, KINDS},
                          .must = must,
                          .share = share,
                          .one_in = 16,
                          .run = run_drawn};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void usual_sizes(weft_context *ctx) {
    sweep(ctx, sizes, sizeof sizes / sizeof *sizes, 30, 3);
}

static void longer_sizes(weft_context *ctx) {
    sweep(ctx, long_sizes, sizeof long_sizes / sizeof *long_sizes, 20, 2);
}

#ifdef WEFT_EMU
/* No sums are cut into slices, as of large matrices: a block goes through all terms, of which a
 * part at a time is in shared memory. */
static void in_one_slice(weft_context *ctx) {
    const size_t blocks = wi_gemv_wanted_blocks;
    if (ctx->kind != WI_CUDA)
        return;
    rig r = rig_open(ctx, ARRAYS, capacity);
    wi_gemv_wanted_blocks = 1;
    for (size_t t = 0; t < TYPES; t++)
        for (size_t stored = 0; stored < STORED; stored++) {
            vector_product v = {.p = {.row = test_row_named(&wi_gemv_ladder, "slices"),
                                      .types = pairs[t],
                                      .m = 40,
                                      .n = 1,
                                      .k = 2100,
                                      .device = ALL_ON_DEVICE}};
            choose_numbers(&v.p, 1, 0);
            choose_layout(&r, &v, stored);
            run_case(&r, &v);
        }
    wi_gemv_wanted_blocks = blocks;
    rig_close(&r);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(usual_sizes),
        TEST_ON_EACH_PLACE(longer_sizes),
#ifdef WEFT_EMU
        TEST_ON_EACH_PLACE(in_one_slice),
#endif
    };
    return cmocka_run_group_tests_name("gemv", tests, NULL, NULL);
}
