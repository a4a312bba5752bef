/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "blocks" of reduction by key: runs that cross blocks and threads, keys of any width, in
 * place and not, several columns; sums of floats to the bit, in the order that the header states.
 */
#include "group/group_oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group/group.h"

enum {
    LARGE = (1 << 19) + 77,   /* worth many threads */
    STREAMED = (1 << 21) + 5, /* outputs past the caches, with keys of 8 bytes */
    MOST_COLUMNS = 3,
    UNTOUCHED = 0xa5
};

static const size_t widths[] = {1, 2, 4, 8, 3, 12, 64};
enum {
    WIDTHS = 7,
    MOST_WIDTH = 64
};

typedef struct column_kind {
    weft_op op;
    weft_type type, result;
} column_kind;

static const column_kind kinds[] = {
    {WEFT_SUM, WEFT_F32, WEFT_F32},    {WEFT_SUM, WEFT_F64, WEFT_F64},
    {WEFT_SUM, WEFT_I32, WEFT_I64},    {WEFT_SUM, WEFT_U32, WEFT_U64},
    {WEFT_SUM, WEFT_I64, WEFT_I64},    {WEFT_SUM, WEFT_U64, WEFT_U64},
    {WEFT_ARGMAX, WEFT_I16, WEFT_U64}, {WEFT_MIN, WEFT_F32, WEFT_F32},
    {WEFT_SUM, WEFT_F16, WEFT_F32},    {WEFT_NRM2, WEFT_F64, WEFT_F64}};
enum {
    KINDS = 10
};

typedef struct rig {
    test_random random;
    size_t n, width, runs, columns;
    uint64_t *offsets; /* where runs begin; n at the end */
    unsigned char *keys, *keys_out;
    const column_kind *kind[MOST_COLUMNS];
    unsigned char *x[MOST_COLUMNS], *y[MOST_COLUMNS];
} rig;

static void rig_close(rig *r) {
    free(r->offsets);
    free(r->keys);
    free(r->keys_out);
    for (size_t c = 0; c < r->columns; c++) {
        free(r->x[c]);
        free(r->y[c]);
    }
}

enum {
    LONGER = GROUP_SHAPES, /* runs of up to 60,000 elements: of several pieces and blocks */
    SHAPES
};

static size_t divide(rig *r, int shape) {
    size_t s = 0, at = 0;
    if (shape != LONGER)
        return group_divide(&r->random, (group_shape)shape, r->n, r->n + 400, r->offsets);
    for (r->offsets[0] = 0; at < r->n; r->offsets[++s] = at) {
        const size_t length = 1 + (size_t)test_below(&r->random, 60000);
        at = length < r->n - at ? at + length : r->n;
    }
    return s;
}

/* Neighbouring keys differ in one byte. */
static void make_keys(rig *r, int shape) {
    const size_t segments = divide(r, shape);
    unsigned char key[MOST_WIDTH] = {0};
    for (size_t s = 0; s < segments; s++) {
        const uint64_t first = r->offsets[s], end = r->offsets[s + 1];
        if (first == end)
            continue;
        key[test_below(&r->random, r->width)] ^= (unsigned char)(1 + test_below(&r->random, 255));
        for (uint64_t i = first; i < end; i++)
            memcpy(r->keys + i * r->width, key, r->width);
        r->offsets[r->runs++] = first;
    }
    r->offsets[r->runs] = r->n;
}

static rig make_rig(uint64_t seed, size_t n, size_t width, int shape, size_t columns) {
    rig r = {.random = test_random_at(seed), .n = n, .width = width, .columns = columns};
    r.offsets = malloc((n + 401) * sizeof *r.offsets);
    r.keys = malloc(n * width);
    r.keys_out = malloc(n * width);
    assert_true(r.offsets && r.keys && r.keys_out);
    make_keys(&r, shape);
    for (size_t c = 0; c < columns; c++) {
        r.kind[c] = &kinds[test_below(&r.random, KINDS)];
        r.x[c] = malloc(n * test_size_of(r.kind[c]->type));
        r.y[c] = malloc(n * test_size_of(r.kind[c]->result));
        assert_true(r.x[c] && r.y[c]);
        test_fill(&r.random, TEST_ANY, r.kind[c]->type, n, r.x[c]);
    }
    return r;
}

/* Elements first ... end - 1, fewer than 2^14, in 16 lanes and then one by one. */
static double piece_of(weft_type type, const void *x, size_t first, size_t end) {
    double lane[16] = {0};
    const size_t rows = (end - first) / 16;
    for (size_t i = 0; i < rows * 16; i++)
        lane[i % 16] += test_load(type, x, first + i).f;
    for (size_t half = 8; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++)
            lane[k] += lane[k + half];
    double total = lane[0];
    for (size_t i = first + rows * 16; i < end; i++)
        total += test_load(type, x, i).f;
    return total;
}

static double ordered_sum(weft_type type, const void *x, size_t first, size_t end) {
    double total = 0;
    for (size_t at = first; at < end; at += 1 << 14) {
        const size_t stop = end - at < 1 << 14 ? end : at + (1 << 14);
        const double piece = piece_of(type, x, at, stop);
        total = at == first ? piece : total + piece;
    }
    return type == WEFT_F64 ? total : (float)total;
}

static void check_column(const rig *r, size_t c, const char *what) {
    const column_kind *const kind = r->kind[c];
    const size_t size = test_size_of(kind->result);
    for (size_t s = 0; s < r->runs; s++) {
        group_result right =
            group_reduced(kind->op, kind->type, r->x[c], r->offsets[s], r->offsets[s + 1]);
        const test_value got = test_load(kind->result, r->y[c], s);
        if (kind->op == WEFT_SUM && test_is_float(kind->type) && isfinite(right.value.f))
            right = (group_result){
                {.f = ordered_sum(kind->type, r->x[c], r->offsets[s], r->offsets[s + 1])}, 0};
        if (!group_is_right(kind->result, &right, got))
            fail_msg("%s: run %zu of %zu, column %zu (%s of %s) is %s, should be %s", what, s,
                     r->runs, c, test_op_name(kind->op), test_type_name(kind->type),
                     test_text(kind->result, got), test_text(kind->result, right.value));
    }
    for (size_t i = r->runs * size; i < r->n * size; i++)
        if (r->y[c][i] != UNTOUCHED)
            fail_msg("%s: byte %zu of column %zu behind the results was written", what, i, c);
}

static void check_keys(const rig *r, const unsigned char *got, bool in_place, const char *what) {
    for (size_t s = 0; s < r->runs; s++)
        if (memcmp(got + s * r->width, r->keys + r->offsets[s] * r->width, r->width) != 0)
            fail_msg("%s: the key of run %zu of %zu is wrong", what, s, r->runs);
    const size_t from = r->runs * r->width;
    for (size_t i = from; i < r->n * r->width; i++)
        if (got[i] != (in_place ? r->keys[i] : UNTOUCHED))
            fail_msg("%s: byte %zu behind the keys was written", what, i);
}

static void run(weft_context *ctx, rig *r, bool in_place, bool no_keys) {
    weft_column column[MOST_COLUMNS];
    uint64_t count = 77;
    char what[128];
    unsigned char *const copy = malloc(r->n * r->width);
    assert_non_null(copy);
    memcpy(copy, r->keys, r->n * r->width);
    memset(r->keys_out, UNTOUCHED, r->n * r->width);
    unsigned char *const out = in_place ? copy : r->keys_out;
    for (size_t c = 0; c < r->columns; c++) {
        memset(r->y[c], UNTOUCHED, r->n * test_size_of(r->kind[c]->result));
        column[c] = (weft_column){r->kind[c]->op, r->kind[c]->type, r->x[c], r->y[c]};
    }
    snprintf(what, sizeof what, "%s, n %zu, width %zu%s%s", weft_place(ctx), r->n, r->width,
             in_place ? ", in place" : "", no_keys ? ", no keys" : "");
    test_use(ctx, "group_keys", test_row_named(&wi_group_keys_ladder, "blocks"));
    if (weft_reduce_by_key(ctx, r->n, r->width, copy, no_keys ? NULL : out, r->columns, column,
                           &count) != WEFT_OK)
        fail_msg("%s: %s", what, weft_message(ctx));
    test_use(ctx, "group_keys", NULL);
    if (count != r->runs)
        fail_msg("%s: found %llu runs of %zu", what, (unsigned long long)count, r->runs);
    for (size_t c = 0; c < r->columns; c++)
        check_column(r, c, what);
    if (!no_keys)
        check_keys(r, out, in_place, what);
    free(copy);
}

static void with_threads(const char *place) {
    static const size_t sizes[] = {1,     15,    64,    511,   513,    16383,
                                   16384, 16385, 32768, 49153, 100001, LARGE};
    weft_context *const ctx = test_open(place);
    test_random random = test_random_at(31);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int shape = 0; shape < SHAPES; shape++) {
            const uint64_t seed = test_below(&random, 1 << 30);
            const size_t width = widths[test_below(&random, sizes[k] == LARGE ? 4 : WIDTHS)];
            const size_t columns = test_below(&random, MOST_COLUMNS + 1);
            if (!test_size_wanted(sizes[k]))
                continue;
            rig r = make_rig(seed, sizes[k], width, shape, columns);
            const size_t way = test_below(&random, 3);
            run(ctx, &r, way == 1, way == 2);
            rig_close(&r);
        }
    weft_close(ctx);
}

static void one_thread(void **state) {
    (void)state;
    with_threads("cpu:1");
}

static void two_threads(void **state) {
    (void)state;
    with_threads("cpu:2");
}

static void more_threads_than_cores(void **state) {
    (void)state;
    with_threads("cpu:7");
}

static void past_the_caches(void **state) {
    (void)state;
    if (!test_size_wanted(STREAMED))
        return;
    weft_context *const ctx = test_open("cpu:3");
    rig r = make_rig(5, STREAMED, 8, GROUP_SHORT, 1);
    run(ctx, &r, false, false);
    rig_close(&r);
    weft_close(ctx);
}

/* Keys wider than the rung takes are refused where it is named, and done by another where not. */
static void wide_keys(void **state) {
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    unsigned char keys[3][WI_GROUP_KEY_BYTES + 1] = {{1}, {1}, {2}};
    uint64_t count = 9;
    test_use(ctx, "group_keys", test_row_named(&wi_group_keys_ladder, "blocks"));
    test_refused(ctx, weft_reduce_by_key(ctx, 3, sizeof keys[0], keys, NULL, 0, NULL, &count),
                 WEFT_EUNSUPPORTED, "weft_reduce_by_key", "blocks");
    test_use(ctx, "group_keys", NULL);
    assert_int_equal(count, 9);
    assert_int_equal(weft_reduce_by_key(ctx, 3, sizeof keys[0], keys, NULL, 0, NULL, &count),
                     WEFT_OK);
    assert_int_equal(count, 2);
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread),
        cmocka_unit_test(two_threads),
        cmocka_unit_test(more_threads_than_cores),
        cmocka_unit_test(past_the_caches),
        cmocka_unit_test(wide_keys),
    };
    return cmocka_run_group_tests_name("group_blocks", tests, NULL, NULL);
}
