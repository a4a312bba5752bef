/* SPDX-License-Identifier: Apache-2.0 */
/* How the tests of trsm and trmm run their cases: every row of a ladder, on every place. */
#ifndef WEFT_TRIANGLE_RIG_H
#define WEFT_TRIANGLE_RIG_H

#ifdef WEFT_CUDA
#    include "core/gpu.h"
#endif
#include "gemm/matrix_rig.h"
#include "gemm/triangle_cases.h"
#include "gemm/trsm.h"

/* The call that is tested. */
typedef struct subject {
    const char *op, *name;
    const wi_ladder *ladder;
    public_call *call;
    /* Fails the test, with `what`, unless this is right: op(A), B before the call and after it. */
    void (*compare)(const triangle *p, const long double *a, const long double *before,
                    const long double *after, const char *what);
} subject;

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

enum {
    CAPACITY = 1 << 20,
    ALL_ON_DEVICE = 3
};

static const size_t orders[] = {0,  1,  2,  3,   7,   8,   15,  17,  31,  33,  63,
                                64, 65, 97, 127, 128, 129, 130, 191, 193, 257, 300};
static const size_t counts[] = {1, 2, 3, 7, 8, 9, 31, 33, 64, 65, 130};

static test_buffer *buffer_of(rig *r, const triangle *p, int array) {
    return rig_buffer(r, p->device, array);
}

/* What lies between B's lines, and all of A, is as it was. */
static void compare_rest(rig *r, const triangle *p, const unsigned char *b, const char *what) {
    const size_t width = test_size_of(p->type);
    size_t lines, length;
    stored_as(p, B, &lines, &length);
    for (size_t line = 0; length > 0 && line + 1 < lines; line++)
        for (size_t e = length * width; e < p->ld[B] * width; e++)
            if (b[line * p->ld[B] * width + e] != 0xff)
                fail_msg("%s: a gap of B was written after line %zu", what, line);
    if (memcmp(test_buffer_read(buffer_of(r, p, A), what), r->source[A], bytes_of(p, A)) != 0)
        fail_msg("%s: A was changed", what);
}

static void compare_zeros(const triangle *p, const long double *after, const char *what) {
    for (size_t e = 0; e < p->m * p->n; e++)
        if (after[e] != 0)
            fail_msg("%s: alpha is 0 and element %zu is %Lg", what, e, after[e]);
}

static weft_status make_call(rig *r, const triangle *p) {
    test_use(r->ctx, r->subject->op, p->row);
#ifdef WEFT_CUDA
    wi_gpu *const gpu = r->ctx->kind == WI_CUDA ? r->ctx->gpu : NULL;
    const int units = gpu ? gpu->multiprocessors : 0;
    const size_t shared = gpu ? gpu->shared_optin : 0;
    if (gpu && p->one_unit)
        gpu->multiprocessors = 1;
    if (gpu && p->less_room)
        gpu->shared_optin = 99 << 10;
#endif
    const weft_status status =
        r->subject->call(r->ctx, p->how, p->type, p->m, p->n, p->alpha, buffer_of(r, p, A)->p,
                         p->ld[A], buffer_of(r, p, B)->p, p->ld[B]);
#ifdef WEFT_CUDA
    if (gpu) {
        gpu->multiprocessors = units;
        gpu->shared_optin = shared;
    }
#endif
    return status;
}

/* The call on what the sources hold. */
static void run_filled(rig *r, const triangle *p) {
    const char *const what = describe_case(r->ctx, r->subject->name, p);
    for (int k = 0; k < ARRAYS; k++)
        test_buffer_load(buffer_of(r, p, k), r->source[k], bytes_of(p, k),
                         p->offset[k] * test_size_of(p->type));
    const weft_status status = make_call(r, p);
    if (status == WEFT_EUNSUPPORTED && p->row && strcmp(p->row->name, "openblas") == 0)
        return;
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", what, weft_status_name(status), weft_message(r->ctx));
    if (p->m > 0 && p->n > 0)
        test_used(r->ctx, r->subject->op, p->row, what);
    const unsigned char *const b = test_buffer_read(buffer_of(r, p, B), what);
    long double *const a = widened_a(p, r->source[A]), *const before = widened_b(p, r->source[B]);
    long double *const after = widened_b(p, b);
    if (p->alpha == 0)
        compare_zeros(p, after, what);
    else
        r->subject->compare(p, a, before, after, what);
    compare_rest(r, p, b, what);
    free(a);
    free(before);
    free(after);
}

static void run_case(rig *r, const triangle *p) {
    assert_true(bytes_of(p, A) + MOST_OFFSET * 8 <= CAPACITY);
    assert_true(bytes_of(p, B) + MOST_OFFSET * 8 <= CAPACITY);
    fill_a(&r->random, p, r->source[A]);
    fill_b(&r->random, p, r->source[B]);
    run_filled(r, p);
}

/* OpenBLAS has its own mind about NaN and infinity. */
static bool is_openblas(const wi_row *row) {
    return row && strcmp(row->name, "openblas") == 0;
}

static void choose_layout(rig *r, triangle *p) {
    for (int k = 0; k < ARRAYS; k++) {
        size_t lines, length;
        stored_as(p, k, &lines, &length);
        p->ld[k] = length + (test_below(&r->random, 2) ? test_below(&r->random, MOST_GAP) : 0);
        p->offset[k] = test_below(&r->random, 2) ? test_below(&r->random, MOST_OFFSET) : 0;
    }
}

/* How many right-hand sides; the rung chain takes few. */
static size_t draw_count(test_random *r, const wi_row *row) {
    if (row && strcmp(row->name, "chain") == 0)
        return 1 + test_below(r, WI_TRSM_CHAIN_MOST);
    return counts[test_below(r, sizeof counts / sizeof *counts)];
}

/* Axes: the type; the flags; alpha; kind of numbers. */
static bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    static const double alphas[SCALINGS] = {1, -1, 0.3, 0};
    rig *const r = user;
    size_t count = draw_count(&r->random, row);
    triangle p = {.row = row,
                  .type = at[0] ? WEFT_F32 : WEFT_F64,
                  .how = flags_of(at[1]),
                  .alpha = alphas[at[2]],
                  .spoiler = is_openblas(row) ? NOTHING : (spoiler)at[3],
                  .device = ALL_ON_DEVICE,
                  .one_unit = test_below(&r->random, 2),
                  .less_room = test_below(&r->random, 4) == 0};
    while (n * n * count > MOST_PRODUCTS && count > 1)
        count /= 2;
    if (n * n * count > MOST_PRODUCTS)
        return false;
    p.m = has(&p, WEFT_RIGHT) ? count : n;
    p.n = has(&p, WEFT_RIGHT) ? n : count;
    choose_layout(r, &p);
    if (test_below(&r->random, 4) == 0)
        p.device = (unsigned)test_below(&r->random, ALL_ON_DEVICE);
    run_case(r, &p);
    return true;
}

static void sweep(weft_context *ctx, const subject *s) {
    rig r = rig_open(ctx, ARRAYS, CAPACITY);
    r.subject = s;
    const test_sweep all = {.sizes = orders,
                            .size_count = sizeof orders / sizeof *orders,
                            .ladder = s->ladder,
                            .extent = {2, STORED, SCALINGS, KINDS},
                            .must = MUST,
                            .one_in = 8,
                            .share = 60,
                            .run = run_drawn};
    test_sweep_run(ctx, &r.random, &all, &r);
    rig_close(&r);
}

/* ---- the same bits ---- */

/* B after the call, of a case whose arrays are full; the caller frees it. */
static unsigned char *result_of(weft_context *ctx, const subject *s, const triangle *p,
                                const unsigned char *a, const unsigned char *b) {
    unsigned char *const x = malloc(bytes_of(p, B));
    assert_non_null(x);
    memcpy(x, b, bytes_of(p, B));
    if (s->call(ctx, p->how, p->type, p->m, p->n, p->alpha, a, p->ld[A], x, p->ld[B]) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    return x;
}

static void same_for_threads(const subject *s) {
    weft_context *const one = test_open("cpu:1"), *const three = test_open("cpu:3");
    test_random random = test_random_at(3);
    for (size_t stored = 0; stored < STORED; stored += 5) {
        triangle p = {.type = stored % 2 ? WEFT_F32 : WEFT_F64,
                      .how = flags_of(stored),
                      .m = 333,
                      .n = 341,
                      .ld = {350, 350},
                      .alpha = 0.7};
        unsigned char *const a = malloc(bytes_of(&p, A)), *const b = malloc(bytes_of(&p, B));
        assert_true(a && b);
        fill_a(&random, &p, a);
        fill_b(&random, &p, b);
        unsigned char *const x = result_of(one, s, &p, a, b);
        unsigned char *const y = result_of(three, s, &p, a, b);
        assert_memory_equal(x, y, bytes_of(&p, B));
        free(a);
        free(b);
        free(x);
        free(y);
    }
    weft_close(one);
    weft_close(three);
}

/* ---- what is refused ---- */

enum {
    SIDE = 4,
    MATRIX = SIDE * SIDE
};

static void refuse(weft_context *ctx, const subject *s) {
    test_buffer block = test_buffer_open(ctx, ctx->kind == WI_CUDA, 2 * MATRIX * sizeof(float));
    test_buffer_poison(&block, 2 * MATRIX * sizeof(float), 0);
    float *const a = (float *)(void *)block.p, *const b = a + MATRIX;
    const weft_type t = WEFT_F32;
    const void *const off = (const char *)a + 1;
    const struct {
        unsigned how;
        weft_type type;
        size_t m, n;
        const void *a;
        size_t lda;
        void *b;
        size_t ldb;
        const char *word;
    } wrong[] = {
        {0, (weft_type)99, 4, 3, a, 4, b, 4, "type"},
        {WEFT_TRANSPOSE_B, t, 4, 3, a, 4, b, 4, "how"},
        {WEFT_TF32, t, 4, 3, a, 4, b, 4, "how"},
        {1 << 8, t, 4, 3, a, 4, b, 4, "how"},
        {0, t, 4, 3, NULL, 4, b, 4, "a"},
        {0, t, 4, 3, off, 4, b, 4, "a"},
        {0, t, 4, 3, a, 4, NULL, 4, "b"},
        {0, t, 4, 3, a, 3, b, 4, "lda"},
        {0, t, 4, 3, a, 4, b, 3, "ldb"},
        {WEFT_RIGHT, t, 3, 4, a, 3, b, 4, "lda"},
        {WEFT_ROW_MAJOR, t, 3, 4, a, 3, b, 3, "ldb"},
        {0, t, 4, 3, a, 4, a, 4, "overlap"},
        {0, t, 4, 3, a, SIZE_MAX, b, 4, "lda"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        test_refused(ctx,
                     s->call(ctx, wrong[k].how, wrong[k].type, wrong[k].m, wrong[k].n, 1,
                             wrong[k].a, wrong[k].lda, wrong[k].b, wrong[k].ldb),
                     WEFT_EARG, s->name, wrong[k].word);
    test_refused(ctx, s->call(ctx, 0, WEFT_F16, 4, 3, 1, a, 4, b, 4), WEFT_EUNSUPPORTED, s->name,
                 "type");
    assert_int_equal(s->call(ctx, 0, t, 0, 3, 1, NULL, 0, NULL, 0), WEFT_OK);
    assert_int_equal(s->call(ctx, 0, t, 4, 0, 1, a, 4, NULL, 4), WEFT_OK);
    const unsigned char *const bytes = test_buffer_read(&block, "refused calls");
    for (size_t i = 0; i < 2 * MATRIX * sizeof(float); i++)
        assert_int_equal(bytes[i], TEST_POISON);
    assert_int_equal(s->call(ctx, 0, t, 4, 4, 0, NULL, 0, b, 4), WEFT_OK); /* A is not needed */
    test_buffer_close(&block);
}

#endif
