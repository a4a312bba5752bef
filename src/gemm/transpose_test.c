/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of transpose's ladder, on every place: sizes, widths of elements, gaps, any alignment,
 * in place and not, host and device memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemm/transpose.h"
#include "testing.h"

enum {
    A,
    B,
    ARRAYS,
    MOST_WIDTH = 16,
    SHAPES = 4,
    HOMES = 3, /* apart, in place square, in place without gaps */
    BOTH_ON_DEVICE = 3,
    MOST_OFFSET = 17,
    MOST_GAP = 5,
    APART = 0,
    SQUARE = 1,
    DENSE = 2,
    GAP_BYTE = 0xC3
};

#ifdef WEFT_EMU
static const size_t most_elements = 9000, capacity = 1 << 22;
#else
static const size_t most_elements = 20000, capacity = 1 << 22;
#endif

static const size_t sizes[] = {0,  1,  2,  3,  5,   8,   15,  16,  17,  31,  32,   33,  47,
                               63, 64, 65, 97, 127, 128, 129, 150, 257, 513, 1025, 4099};
static const size_t short_sizes[] = {1, 2, 3, 4, 5, 9, 17, 33};

typedef struct turning {
    const wi_row *row;
    unsigned how;
    size_t width, m, n, ld[ARRAYS], offset[ARRAYS]; /* offsets in bytes */
    int home;
    unsigned device;
} turning;

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_buffer host[ARRAYS], device[ARRAYS];
    unsigned char *source, *right;
} rig;

static const char *describe(const rig *r, const turning *t) {
    static char text[300];
    snprintf(text, sizeof text,
             "%s, variant %s, how %#x, width %zu, %zu x %zu, ld %zu and %zu, offsets %zu and %zu, "
             "home %d, device %#x",
             weft_place(r->ctx), t->row ? t->row->name : "auto", t->how, t->width, t->m, t->n,
             t->ld[A], t->ld[B], t->offset[A], t->offset[B], t->home, t->device);
    return text;
}

static size_t lines_of(const turning *t, int array) {
    return !(t->how & WEFT_ROW_MAJOR) == (array == A) ? t->n : t->m;
}

static size_t length_of(const turning *t, int array) {
    return lines_of(t, 1 - array);
}

static size_t bytes_of(const turning *t, int array) {
    const size_t lines = lines_of(t, array), length = length_of(t, array);
    return lines && length ? ((lines - 1) * t->ld[array] + length) * t->width : 0;
}

static test_buffer *buffer_of(rig *r, const turning *t, int array) {
    const bool device = r->ctx->kind == WI_CUDA && (t->device >> array & 1);
    return device ? &r->device[array] : &r->host[array];
}

/* What B should hold: its gaps hold what they did. */
static void make_right(rig *r, const turning *t) {
    const size_t lines = lines_of(t, A), length = length_of(t, A);
    if (t->home == SQUARE)
        memcpy(r->right, r->source, bytes_of(t, A));
    else
        memset(r->right, GAP_BYTE, bytes_of(t, B));
    for (size_t line = 0; line < lines; line++)
        for (size_t i = 0; i < length; i++)
            memcpy(r->right + (line + i * t->ld[B]) * t->width,
                   r->source + (i + line * t->ld[A]) * t->width, t->width);
}

static bool may_refuse(const turning *t) {
    static const char *const taught[] = {"naive", "shared", "padded"};
    for (size_t k = 0; t->row && k < sizeof taught / sizeof *taught; k++)
        if (strcmp(t->row->name, taught[k]) == 0)
            return (t->width != 4 && t->width != 8) || t->home != APART ||
                   t->offset[A] % t->width || t->offset[B] % t->width;
    return false;
}

static void run_case(rig *r, const turning *t) {
    const bool apart = t->home == APART;
    for (size_t k = 0; k < bytes_of(t, A); k++)
        r->source[k] = (unsigned char)test_bits(&r->random);
    make_right(r, t);
    test_buffer *const a = buffer_of(r, t, A), *const b = apart ? buffer_of(r, t, B) : a;
    test_buffer_load(a, r->source, bytes_of(t, A), t->offset[A]);
    if (apart) {
        memset(r->source + capacity / 2, GAP_BYTE, bytes_of(t, B));
        test_buffer_load(b, r->source + capacity / 2, bytes_of(t, B), t->offset[B]);
    }
    test_use(r->ctx, "transpose", t->row);
    const weft_status status =
        weft_transpose(r->ctx, t->how, t->width, t->m, t->n, a->p, t->ld[A], b->p, t->ld[B]);
    if (status == WEFT_EUNSUPPORTED && may_refuse(t))
        return;
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(r, t), weft_status_name(status), weft_message(r->ctx));
    if (t->m > 0 && t->n > 0)
        test_used(r->ctx, "transpose", t->row, describe(r, t));
    const unsigned char *const got = test_buffer_read(b, describe(r, t));
    for (size_t k = 0; k < bytes_of(t, B); k++)
        if (got[k] != r->right[k])
            fail_msg("%s: byte %zu of b is %#x, should be %#x", describe(r, t), k, got[k],
                     r->right[k]);
    if (apart && memcmp(test_buffer_read(a, describe(r, t)), r->source, bytes_of(t, A)) != 0)
        fail_msg("%s: a was changed", describe(r, t));
}

static void choose_extents(rig *r, turning *t, size_t n, size_t shape) {
    const size_t other = short_sizes[test_below(&r->random, sizeof short_sizes / sizeof(size_t))];
    t->m = shape == 1 ? other : n;
    t->n = shape == 2 ? other : n;
    if (shape == 3)
        t->n = n / 2 + test_below(&r->random, n + 1);
    if (t->home == SQUARE)
        t->m = t->n = n < 200 ? n : 200;
    test_shrink(&t->m, &t->n, most_elements);
    if (t->home == SQUARE)
        t->m = t->n = t->m < t->n ? t->m : t->n;
}

static void choose_layout(rig *r, turning *t) {
    const bool tidy = test_below(&r->random, 3) == 0; /* as the fastest kernels want it */
    for (int k = 0; k < ARRAYS; k++) {
        t->ld[k] = length_of(t, k);
        if (t->home != DENSE)
            t->ld[k] += test_below(&r->random, 2) ? test_below(&r->random, MOST_GAP) : 0;
        if (t->home != DENSE && tidy)
            t->ld[k] = (length_of(t, k) + 15) / 16 * 16;
        t->offset[k] = tidy || test_below(&r->random, 2) ? 0 : test_below(&r->random, MOST_OFFSET);
        if (test_below(&r->random, 2))
            t->offset[k] = t->offset[k] / t->width * t->width;
    }
    if (t->home == SQUARE)
        t->ld[B] = t->ld[A];
    assert_true(bytes_of(t, A) <= capacity / 2 && bytes_of(t, B) <= capacity / 2);
}

/* Axes: the width; by columns or rows; the shape; in place or not. */
static bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    turning t = {.row = row,
                 .width = at[0] + 1,
                 .how = at[1] ? WEFT_ROW_MAJOR : 0,
                 .home = (int)at[3],
                 .device = BOTH_ON_DEVICE};
    choose_extents(r, &t, n, at[2]);
    choose_layout(r, &t);
    if (test_below(&r->random, 4) == 0)
        t.device = (unsigned)test_below(&r->random, BOTH_ON_DEVICE);
    run_case(r, &t);
    return true;
}

/* Tiles that both matrices have all of, and others beside them. */
static void whole_tiles(rig *r) {
    enum {
        LD = 144
    };
    for (size_t width = 1; width <= 16; width *= 2) {
        const turning t = {.width = width,
                           .m = 130,
                           .n = 131,
                           .ld = {LD, LD},
                           .home = APART,
                           .device = BOTH_ON_DEVICE};
        run_case(r, &t);
    }
}

static void all_sizes(weft_context *ctx) {
    rig r = {.ctx = ctx, .random = test_random_at(1)};
    for (int k = 0; k < ARRAYS; k++) {
        r.host[k] = test_buffer_open(ctx, false, capacity);
        if (ctx->kind == WI_CUDA)
            r.device[k] = test_buffer_open(ctx, true, capacity);
    }
    r.source = malloc(capacity);
    r.right = malloc(capacity);
    assert_true(r.source && r.right);
    const test_sweep s = {.sizes = sizes,
                          .size_count = sizeof sizes / sizeof *sizes,
                          .ladder = &wi_transpose_ladder,
                          .extent = {MOST_WIDTH, 2, SHAPES, HOMES},
                          .must = 9,
                          .share = 25,
                          .one_in = 4,
                          .run = run_drawn};
    test_sweep_run(ctx, &r.random, &s, &r);
    whole_tiles(&r);
    for (int k = 0; k < ARRAYS; k++) {
        test_buffer_close(&r.host[k]);
        if (ctx->kind == WI_CUDA)
            test_buffer_close(&r.device[k]);
    }
    free(r.source);
    free(r.right);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(all_sizes),
    };
    return cmocka_run_group_tests_name("transpose", tests, NULL, NULL);
}
