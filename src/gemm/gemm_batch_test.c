/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of products: every rung, on every place, of matrices a stride apart and at any addresses,
 * against the oracle of gemm's tests; and what is promised of bits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemm/gemm_batch.h"
#include "gemm/gemm_cases.h"
#include "limits.h"

enum {
    STORED = 8,   /* ways to store the matrices */
    PATTERNS = 4, /* ways to place one matrix after another */
    FORMS = 3,    /* strided, addresses on the host, addresses on the device */
    ALL_ON_DEVICE = 7,
    MOST_COUNT = 70,
    MOST_OFFSET = 3,
    MOST_GAP = 3
};

#ifdef WEFT_EMU
static const size_t most_products = 30000, capacity = 200000;
#else
static const size_t most_products = 300000, capacity = 1 << 20;
#endif

static const size_t sizes[] = {1,  2,  3,  5,  7,  8,  9,  11, 15, 16, 17, 23,
                               24, 31, 32, 33, 47, 48, 63, 64, 65, 70, 96, 97};

/* How the matrices of an array follow each other. */
typedef enum pattern {
    CLOSE,  /* one behind the other */
    GAPS,   /* with a gap between */
    SHARED, /* one matrix for all; of C: CLOSE */
    BESIDE  /* lines beside lines */
} pattern;

typedef enum form {
    STRIDED,
    HOST_ADDRESSES,
    DEVICE_ADDRESSES
} form;

typedef struct batch {
    product p;
    size_t count, stride[ARRAYS];
    form form;
} batch;

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_buffer host[ARRAYS], device[ARRAYS], addresses[ARRAYS];
    unsigned char *source[ARRAYS];
} rig;

static rig rig_open(weft_context *ctx) {
    const bool gpu = ctx->kind == WI_CUDA;
    rig r = {.ctx = ctx, .random = test_random_at(3)};
    for (int k = 0; k < ARRAYS; k++) {
        r.host[k] = test_buffer_open(ctx, false, capacity);
        r.addresses[k] = test_buffer_open(ctx, gpu, MOST_COUNT * sizeof(void *));
        if (gpu)
            r.device[k] = test_buffer_open(ctx, true, capacity);
        r.source[k] = malloc(capacity);
        assert_non_null(r.source[k]);
    }
    return r;
}

static void rig_close(rig *r) {
    for (int k = 0; k < ARRAYS; k++) {
        test_buffer_close(&r->host[k]);
        test_buffer_close(&r->addresses[k]);
        if (r->ctx->kind == WI_CUDA)
            test_buffer_close(&r->device[k]);
        free(r->source[k]);
    }
}

static const char *describe(const rig *r, const batch *b) {
    static const char *const forms[] = {"strided", "addresses on the host",
                                        "addresses on the device"};
    static char text[500];
    const product *const p = &b->p;
    snprintf(text, sizeof text,
             "%s and %s on %s, variant %s, %s, how %#x, %zu of %zu x %zu x %zu, ld %zu %zu %zu, "
             "strides %zu %zu %zu, offsets %zu %zu %zu, alpha %g, beta %g, pattern %d, device %#x",
             test_type_name(p->types.type), test_type_name(p->types.out), weft_place(r->ctx),
             p->row ? p->row->name : "auto", forms[b->form], p->how, b->count, p->m, p->n, p->k,
             p->ld[A], p->ld[B], p->ld[C], b->stride[A], b->stride[B], b->stride[C], p->offset[A],
             p->offset[B], p->offset[C], p->alpha, p->beta, p->pattern, p->device);
    return text;
}

static size_t all_bytes(const batch *b, int array) {
    const size_t one = extent_of(&b->p, array);
    return one && b->count
               ? ((b->count - 1) * b->stride[array] + one) * test_size_of(type_of(&b->p, array))
               : 0;
}

static test_buffer *buffer_of(rig *r, const batch *b, int array) {
    const bool device = r->ctx->kind == WI_CUDA && (b->p.device >> array & 1);
    return device ? &r->device[array] : &r->host[array];
}

/* ---- arrays ---- */

/* Fills the sources: what is not to be read with all bits set, which is NaN and -1, and gaps too.
 */
static void fill(rig *r, const batch *b) {
    const product *const p = &b->p;
    for (int k = 0; k < ARRAYS; k++) {
        const weft_type type = type_of(p, k);
        const size_t width = test_size_of(type);
        size_t lines, length;
        stored_as(p, k, &lines, &length);
        memset(r->source[k], 0xff, all_bytes(b, k));
        if (all_bytes(b, k) == 0 || (k == C ? p->beta == 0 : p->alpha == 0))
            continue;
        for (size_t i = 0; i < b->count; i++)
            for (size_t line = 0; line < lines; line++)
                test_fill(&r->random, p->pattern, type, length,
                          r->source[k] + (i * b->stride[k] + line * p->ld[k]) * width);
    }
}

static void load(rig *r, const batch *b) {
    for (int k = 0; k < ARRAYS; k++) {
        assert_true(all_bytes(b, k) + MOST_OFFSET * 8 <= capacity);
        test_buffer_load(buffer_of(r, b, k), r->source[k], all_bytes(b, k),
                         b->p.offset[k] * test_size_of(type_of(&b->p, k)));
    }
}

static void compare_product(const rig *r, const batch *b, size_t i, test_value *const all[],
                            unsigned char *got) {
    const product *const p = &b->p;
    const weft_type out = p->types.out;
    test_value *x[ARRAYS];
    for (int k = 0; k < ARRAYS; k++)
        x[k] = all[k] + i * b->stride[k];
    for (size_t column = 0; column < p->n; column++)
        for (size_t row = 0; row < p->m; row++) {
            const right_value right =
                out == WEFT_I32 ? right_whole(p, x, row, column) : right_float(p, x, row, column);
            const size_t at = i * b->stride[C] + place_of(p, C, row, column);
            const test_value value = test_load(out, got, at);
            if (!is_right(p, value, &right))
                fail_msg("%s: product %zu, element (%zu, %zu) is %s, should be %s within %g",
                         describe(r, b), i, row, column, test_text(out, value),
                         test_text(out, right.value), right.within);
            memset(got + at * test_size_of(out), 0xff, test_size_of(out));
        }
}

static void compare(rig *r, const batch *b) {
    const size_t bytes = all_bytes(b, C);
    unsigned char *const got = malloc(bytes + 1);
    test_value *x[ARRAYS];
    assert_non_null(got);
    memcpy(got, test_buffer_read(buffer_of(r, b, C), describe(r, b)), bytes);
    for (int k = 0; k < ARRAYS; k++) {
        const weft_type type = type_of(&b->p, k);
        const size_t elements = all_bytes(b, k) / test_size_of(type);
        x[k] = malloc((elements + 1) * sizeof *x[k]);
        assert_non_null(x[k]);
        test_widen(type, elements, r->source[k], x[k]);
    }
    for (size_t i = 0; i < b->count; i++)
        compare_product(r, b, i, x, got);
    for (size_t byte = 0; byte < bytes; byte++)
        if (got[byte] != 0xff)
            fail_msg("%s: a gap of C was written, byte %zu", describe(r, b), byte);
    free(got);
    for (int k = 0; k < ARRAYS; k++)
        free(x[k]);
    for (int k = A; k <= B; k++)
        if (memcmp(test_buffer_read(buffer_of(r, b, k), describe(r, b)), r->source[k],
                   all_bytes(b, k)) != 0)
            fail_msg("%s: %c was changed", describe(r, b), "AB"[k]);
}

/* ---- one call ---- */

/* The addresses of an array's matrices, on the host or where the case wants them. */
static const void *const *addresses_of(rig *r, const batch *b, int k, const void **on_host) {
    const size_t width = test_size_of(type_of(&b->p, k));
    for (size_t i = 0; i < b->count; i++)
        on_host[i] = buffer_of(r, b, k)->p + i * b->stride[k] * width;
    if (b->form == HOST_ADDRESSES)
        return on_host;
    test_buffer_load(&r->addresses[k], (const void *)on_host, b->count * sizeof *on_host, 0);
    return (const void *const *)(void *)r->addresses[k].p;
}

static weft_status call(rig *r, const batch *b) {
    const product *const p = &b->p;
    const void *on_host[ARRAYS][MOST_COUNT];
    if (b->form == STRIDED)
        return weft_gemm_batch_strided(
            r->ctx, p->how, p->types.type, p->types.out, p->m, p->n, p->k, p->alpha,
            buffer_of(r, b, A)->p, p->ld[A], b->stride[A], buffer_of(r, b, B)->p, p->ld[B],
            b->stride[B], p->beta, buffer_of(r, b, C)->p, p->ld[C], b->stride[C], b->count);
    const void *const *const a = addresses_of(r, b, A, on_host[A]);
    const void *const *const b_at = addresses_of(r, b, B, on_host[B]);
    const void *const *const c = addresses_of(r, b, C, on_host[C]);
    return weft_gemm_batch(r->ctx, p->how, p->types.type, p->types.out, p->m, p->n, p->k, p->alpha,
                           a, p->ld[A], b_at, p->ld[B], p->beta, (void *const *)(uintptr_t)c,
                           p->ld[C], b->count);
}

/* May the forced rung refuse the call? */
static bool may_refuse_batch(const rig *r, const batch *b) {
    const weft_type type = b->p.types.type;
    if (!b->p.row)
        return false;
    if (strcmp(b->p.row->name, "tiles") == 0)
        return type != WEFT_F32 && type != WEFT_F64;
    return strcmp(b->p.row->name, "queued") == 0 && b->form == DEVICE_ADDRESSES &&
           r->ctx->kind == WI_CUDA;
}

/* Does the call go product by product, because of gaps of two kinds in host memory? */
static bool is_cut_up(const rig *r, const batch *b) {
    bool any = false;
    for (int k = 0; k < ARRAYS && r->ctx->kind == WI_CUDA && b->form == STRIDED; k++) {
        size_t lines, length;
        stored_as(&b->p, k, &lines, &length);
        const bool gaps = lines > 1 && b->p.ld[k] != length;
        any = any || (!(b->p.device >> k & 1) && gaps && b->count > 1 && b->stride[k] != 0 &&
                      b->stride[k] != lines * b->p.ld[k]);
    }
    return any;
}

static void run_case(rig *r, const batch *b) {
    fill(r, b);
    load(r, b);
    test_use(r->ctx, "gemm_batch", b->p.row);
    const weft_status status = call(r, b);
    if (status == WEFT_EUNSUPPORTED && may_refuse_batch(r, b)) {
        test_refused(r->ctx, status, WEFT_EUNSUPPORTED,
                     b->form == STRIDED ? "weft_gemm_batch_strided" : "weft_gemm_batch",
                     b->p.row->name);
        return;
    }
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(r, b), weft_status_name(status), weft_message(r->ctx));
    if (b->p.m > 0 && b->p.n > 0 && b->count > 0 && !is_cut_up(r, b))
        test_used(r->ctx, "gemm_batch", b->p.row, describe(r, b));
    compare(r, b);
}

/* ---- drawn cases ---- */

/* Leading dimensions and strides by a pattern for each array. */
static void choose_layout(rig *r, batch *b, size_t stored, const pattern at[ARRAYS]) {
    product *const p = &b->p;
    p->how |= (stored & 1 ? WEFT_TRANSPOSE_A : 0) | (stored & 2 ? WEFT_TRANSPOSE_B : 0) |
              (stored & 4 ? WEFT_ROW_MAJOR : 0);
    for (int k = 0; k < ARRAYS; k++) {
        size_t lines, length;
        stored_as(p, k, &lines, &length);
        p->offset[k] = test_below(&r->random, 2) ? test_below(&r->random, MOST_OFFSET) : 0;
        p->ld[k] = length + (test_below(&r->random, 2) ? test_below(&r->random, MOST_GAP) : 0);
        b->stride[k] = lines * p->ld[k];
        if (at[k] == GAPS)
            b->stride[k] += 1 + test_below(&r->random, 4);
        else if (at[k] == SHARED && k != C)
            b->stride[k] = 0;
        else if (at[k] == BESIDE) {
            b->stride[k] = length + test_below(&r->random, 2);
            p->ld[k] = b->count * b->stride[k];
        }
    }
}

static void choose_numbers(rig *r, product *p) {
    static const double whole[] = {0, 1, -1, 7}, broken[] = {0, 1, -1, 0.3},
                        half[] = {0, 1, -1, 0.5};
    static const test_pattern patterns[] = {TEST_SMALL, TEST_ANY, TEST_SPECIAL, TEST_NANS};
    p->pattern = p->types.type == WEFT_I8 ? TEST_ANY : patterns[test_below(&r->random, 4)];
    const double *const from = p->types.type == WEFT_I8   ? whole
                               : p->pattern == TEST_SMALL ? half
                                                          : broken;
    p->alpha = from[test_below(&r->random, 8) ? 1 + test_below(&r->random, 3) : 0];
    p->beta = from[test_below(&r->random, 4)];
    if (p->types.type == WEFT_F32)
        p->how |= (unsigned[]){0, WEFT_F32_STRICT, WEFT_TF32}[test_below(&r->random, 3)];
}

static void choose_extents(rig *r, batch *b, size_t n) {
    product *const p = &b->p;
    p->m = p->n = p->k = n;
    if (test_below(&r->random, 2)) {
        p->m = 1 + test_below(&r->random, n);
        p->n = 1 + test_below(&r->random, n);
        p->k = test_below(&r->random, 2 * n);
    }
    b->count = 1 + test_below(&r->random, n < 10 ? MOST_COUNT - 1 : n < 33 ? 9 : 3);
    while (b->count > 1 && ((double)(p->m * p->n * p->k * b->count) > (double)most_products ||
                            (n + MOST_GAP) * (2 * n + MOST_GAP) * 8 * b->count > capacity / 2))
        b->count--;
}

static bool is_gpu(const rig *r) {
#ifdef WEFT_EMU
    (void)r;
    return false;
#else
    return r->ctx->kind == WI_CUDA;
#endif
}

/* Axes: the pair of types; how matrices are stored; the form of the call; the pattern of A. */
static bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    batch b = {
        .p = {.row = row, .types = pairs[at[0]], .device = ALL_ON_DEVICE, .on_gpu = is_gpu(r)},
        .form = (form)at[2]};
    const pattern patterns[ARRAYS] = {(pattern)at[3], (pattern)test_below(&r->random, PATTERNS),
                                      (pattern)test_below(&r->random, PATTERNS)};
    choose_numbers(r, &b.p);
    choose_extents(r, &b, n);
    choose_layout(r, &b, at[1], patterns);
    if (b.form == STRIDED && test_below(&r->random, 3) == 0)
        b.p.device = (unsigned)test_below(&r->random, ALL_ON_DEVICE);
    run_case(r, &b);
    return true;
}

/* Elsewhere than on emu work is counted in bytes, of which each here is multiplied often. */
#ifdef WEFT_EMU
enum {
    SHARE = 60
};
#else
enum {
    SHARE = 15
};
#endif

static void drawn(weft_context *ctx) {
    rig r = rig_open(ctx);
    const test_sweep s = {.sizes = sizes,
                          .size_count = sizeof sizes / sizeof *sizes,
                          .ladder = &wi_gemm_batch_ladder,
                          .extent = {PAIRS, STORED, FORMS, PATTERNS},
                          .must = 1,
                          .one_in = 16,
                          .share = SHARE,
                          .run = run_drawn};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

/* Each rung and type in each form. */
static void each_rung_once(weft_context *ctx) {
    rig r = rig_open(ctx);
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_gemm_batch_ladder, rows);
    for (size_t q = 0; q < count; q++)
        for (size_t t = 0; t < PAIRS; t++) {
            batch b = {.p = {.row = rows[q],
                             .types = pairs[t],
                             .device = ALL_ON_DEVICE,
                             .on_gpu = is_gpu(&r),
                             .m = 17,
                             .n = 13,
                             .k = 19},
                       .count = 5,
                       .form = (form)((q + t) % FORMS)};
            choose_numbers(&r, &b.p);
            choose_layout(&r, &b, q + t, (pattern[]){CLOSE, GAPS, BESIDE});
            run_case(&r, &b);
        }
    rig_close(&r);
}

/* Each size of tiles: some products of a block's second turn, k in several steps, and of the
 * largest several tiles. On emu few blocks share the turns. */
static void each_tile(weft_context *ctx) {
    static const size_t shapes[][4] = {{8, 7, 19, 70},  {16, 13, 35, 19}, {24, 24, 25, 13},
                                       {31, 32, 40, 9}, {48, 48, 50, 5},  {61, 64, 34, 3},
                                       {96, 90, 20, 2}, {65, 97, 33, 2}};
    rig r = rig_open(ctx);
#ifdef WEFT_EMU
    const size_t usual = wi_gemm_batch_blocks;
    wi_gemm_batch_blocks = 2;
#endif
    for (size_t t = 0; t < 3; t++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            batch b = {.p = {.types = pairs[t > 0],
                             .how = t == 2 ? WEFT_F32_STRICT : 0,
                             .device = ALL_ON_DEVICE,
                             .m = shapes[s][0],
                             .n = shapes[s][1],
                             .k = shapes[s][2],
                             .alpha = 1,
                             .beta = s % 2,
                             .pattern = TEST_ANY},
                       .count = shapes[s][3],
                       .form = (form)((t + s) % FORMS)};
            if (ctx->kind == WI_CUDA)
                b.p.row = test_row_named(&wi_gemm_batch_ladder, "tiles");
            choose_layout(&r, &b, t + s, (pattern[]){s % 2 ? SHARED : CLOSE, CLOSE, CLOSE});
            run_case(&r, &b);
        }
#ifdef WEFT_EMU
    wi_gemm_batch_blocks = usual;
#endif
    rig_close(&r);
}

/* ---- the same bits ---- */

/* Product i has the same bits alone as among others, at an address that is aligned and at one that
 * is not. */
static void alone(weft_context *ctx) {
    enum {
        COUNT = 6
    };
    static const size_t sides[] = {7, 16, 29, 34};
    rig r = rig_open(ctx);
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_gemm_batch_ladder, rows);
    for (size_t q = 0; q < count; q++)
        for (size_t t = 0; t < PAIRS; t++) {
            const size_t side = sides[(q + t) % 4];
            batch b = {.p = {.row = rows[q],
                             .types = pairs[t],
                             .m = side,
                             .n = side,
                             .k = side,
                             .alpha = 3,
                             .beta = -2,
                             .pattern = TEST_ANY,
                             .device = ALL_ON_DEVICE},
                       .count = COUNT};
            choose_layout(&r, &b, t, (pattern[]){GAPS, CLOSE, GAPS});
            fill(&r, &b);
            load(&r, &b);
            test_use(ctx, "gemm_batch", rows[q]);
            if (call(&r, &b) != WEFT_OK) {
                assert_true(may_refuse_batch(&r, &b));
                continue;
            }
            const size_t bytes = all_bytes(&b, C), out = test_size_of(type_of(&b.p, C));
            unsigned char *const all = malloc(bytes);
            assert_non_null(all);
            memcpy(all, test_buffer_read(buffer_of(&r, &b, C), describe(&r, &b)), bytes);
            for (size_t i = 0; i < COUNT; i += 5) {
                batch one = b;
                one.count = 1;
                for (int k = 0; k < ARRAYS; k++)
                    test_buffer_load(buffer_of(&r, &one, k),
                                     r.source[k] + i * b.stride[k] * test_size_of(type_of(&b.p, k)),
                                     all_bytes(&one, k), test_size_of(type_of(&b.p, k)) * (i % 4));
                assert_int_equal(call(&r, &one), WEFT_OK);
                if (memcmp(test_buffer_read(buffer_of(&r, &one, C), "one"),
                           all + i * b.stride[C] * out, all_bytes(&one, C)) != 0)
                    fail_msg("%s: product %zu has other bits alone", describe(&r, &b), i);
            }
            free(all);
        }
    rig_close(&r);
}

/* Whole tiles at multiples of 16 bytes have a kernel of their own, with the bits of the other: here
 * any one matrix is moved by an element. On emu few blocks share the turns. */
static void whole(weft_context *ctx, const product *like, size_t gap) {
    rig r = rig_open(ctx);
    batch b = {.p = *like, .count = like->m > 32 ? 2 : 5};
    if (ctx->kind == WI_CUDA)
        b.p.row = test_row_named(&wi_gemm_batch_ladder, "tiles");
    for (int k = 0; k < ARRAYS; k++) {
        size_t lines;
        stored_as(&b.p, k, &lines, &b.p.ld[k]);
        b.p.ld[k] += gap;
        b.stride[k] = lines * b.p.ld[k] + gap;
    }
    run_case(&r, &b);
    load(&r, &b);
    assert_int_equal(call(&r, &b), WEFT_OK);
    const size_t bytes = all_bytes(&b, C);
    unsigned char *const got = malloc(bytes);
    assert_non_null(got);
    memcpy(got, test_buffer_read(buffer_of(&r, &b, C), describe(&r, &b)), bytes);
    for (int k = 0; k < ARRAYS; k++) {
        b.p.offset[k] = 1;
        load(&r, &b);
        assert_int_equal(call(&r, &b), WEFT_OK);
        if (memcmp(test_buffer_read(buffer_of(&r, &b, C), "moved"), got, bytes) != 0)
            fail_msg("%s: other bits than of aligned matrices", describe(&r, &b));
        b.p.offset[k] = 0;
    }
    free(got);
    rig_close(&r);
}

static void wholes(weft_context *ctx) {
    static const size_t shapes[][3] = {{16, 16, 32}, {32, 32, 32}, {32, 32, 64},
                                       {64, 64, 32}, {64, 64, 64}, {128, 64, 32}};
#ifdef WEFT_EMU
    const size_t usual = wi_gemm_batch_blocks;
    wi_gemm_batch_blocks = 2;
#endif
    for (size_t t = 0; t < 4; t++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            whole(ctx,
                  &(product){.types = pairs[t > 1],
                             .how = t % 2 ? WEFT_TRANSPOSE_A : 0,
                             .device = ALL_ON_DEVICE,
                             .m = shapes[s][0],
                             .n = shapes[s][1],
                             .k = shapes[s][2],
                             .alpha = s % 3 == 2 ? 3 : 1,
                             .beta = s % 2 ? -2 : 0,
                             .pattern = TEST_ANY},
                  s % 4 / 2 * 4);
#ifdef WEFT_EMU
    wi_gemm_batch_blocks = usual;
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(each_rung_once), TEST_ON_EACH_PLACE(each_tile),
        TEST_ON_EACH_PLACE(drawn),          TEST_ON_EACH_PLACE(alone),
        TEST_ON_EACH_PLACE(wholes),
    };
    return cmocka_run_group_tests_name("gemm_batch", tests, NULL, NULL);
}
