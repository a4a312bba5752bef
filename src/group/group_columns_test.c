/* SPDX-License-Identifier: Apache-2.0 */
/* weft_reduce_segments_columns: each column has the bits of a call of weft_reduce_segments, by the
 * same rung, which group_test.c holds against an oracle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group/group.h"
#include "group/group_oracle.h"

enum {
    MOST = 20000,
    ROOM = MOST + 400
};

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_pair x[WEFT_COLUMNS], y[WEFT_COLUMNS], offsets, one;
    unsigned char *source;
    uint64_t *cuts;
} rig;

static rig rig_open(weft_context *ctx) {
    rig r = {.ctx = ctx, .random = test_random_at(25)};
    for (int c = 0; c < WEFT_COLUMNS; c++) {
        r.x[c] = test_pair_open(ctx, (size_t)MOST * 8);
        r.y[c] = test_pair_open(ctx, (size_t)ROOM * 8);
    }
    r.offsets = test_pair_open(ctx, (ROOM + 1) * sizeof *r.cuts);
    r.one = test_pair_open(ctx, (size_t)ROOM * 8);
    r.source = malloc((size_t)MOST * 8);
    r.cuts = malloc((ROOM + 1) * sizeof *r.cuts);
    assert_true(r.source && r.cuts);
    return r;
}

static void rig_close(rig *r) {
    for (int c = 0; c < WEFT_COLUMNS; c++) {
        test_pair_close(&r->x[c]);
        test_pair_close(&r->y[c]);
    }
    test_pair_close(&r->offsets);
    test_pair_close(&r->one);
    free(r->source);
    free(r->cuts);
}

static void draw_column(rig *r, const wi_row *row, size_t n, test_buffer *x, weft_column *column) {
    static const weft_op ops[] = {WEFT_SUM,    WEFT_MIN,  WEFT_MAX, WEFT_ARGMIN,
                                  WEFT_ARGMAX, WEFT_NRM1, WEFT_NRM2};
    const bool takes_few = row && row->misfit; /* marks: the first three */
    column->op = ops[test_below(&r->random, takes_few ? 3 : 7)];
    do
        column->type = (weft_type)test_below(&r->random, WEFT_TYPE_COUNT);
    while (row && row->types != WI_ALL_TYPES && !test_taught_type(column->type));
    test_fill(&r->random, TEST_ANY, column->type, n, r->source);
    test_buffer_load(x, r->source, n * test_size_of(column->type), 0);
    column->x = x->p;
}

static size_t result_bytes(const weft_column *column, size_t segments) {
    weft_type type;
    assert_int_equal(weft_reduce_type(column->op, column->type, &type), WEFT_OK);
    return segments * test_size_of(type);
}

static void compare(rig *r, const weft_column *column, size_t n, size_t segments,
                    const test_buffer *offsets, test_buffer *y) {
    char what[100];
    const size_t bytes = result_bytes(column, segments);
    test_buffer *const one = test_pair_at(&r->one, test_below(&r->random, 2));
    snprintf(what, sizeof what, "%s of %zu %s in %zu segments on %s", test_op_name(column->op), n,
             test_type_name(column->type), segments, weft_place(r->ctx));
    test_buffer_poison(one, bytes, 0);
    assert_int_equal(weft_reduce_segments(r->ctx, column->op, column->type, n, column->x, segments,
                                          WEFT_U64, offsets->p, one->p),
                     WEFT_OK);
    const void *const right = test_buffer_read(one, what);
    if (memcmp(test_buffer_read(y, what), right, bytes) != 0)
        fail_msg("%s: a column of several has other bits", what);
}

static bool run_case(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    const size_t columns = 1 + at[0];
    weft_column column[WEFT_COLUMNS];
    test_buffer *y[WEFT_COLUMNS];
    const size_t segments = group_divide(&r->random, (group_shape)at[1], n, n + 400, r->cuts);
    test_buffer *const offsets = test_pair_at(&r->offsets, test_below(&r->random, 2));
    test_buffer_load(offsets, r->cuts, (segments + 1) * sizeof *r->cuts, 0);
    for (size_t c = 0; c < columns; c++) {
        draw_column(r, row, n, test_pair_at(&r->x[c], test_below(&r->random, 2)), &column[c]);
        y[c] = test_pair_at(&r->y[c], test_below(&r->random, 2));
        test_buffer_poison(y[c], result_bytes(&column[c], segments), 0);
        column[c].y = y[c]->p;
    }
    test_use(r->ctx, "group", row);
    if (weft_reduce_segments_columns(r->ctx, n, segments, WEFT_U64, offsets->p, columns, column) !=
        WEFT_OK)
        fail_msg("%zu columns on %s: %s", columns, weft_place(r->ctx), weft_message(r->ctx));
    for (size_t c = 0; c < columns; c++)
        compare(r, &column[c], n, segments, offsets, y[c]);
    return true;
}

static void columns(weft_context *ctx) {
    static const size_t sizes[] = {0, 1, 100, 4099, MOST};
    rig r = rig_open(ctx);
    const test_sweep s = {.sizes = sizes,
                          .size_count = sizeof sizes / sizeof *sizes,
                          .ladder = &wi_group_ladder,
                          .extent = {WEFT_COLUMNS, GROUP_SHAPES},
                          .must = 1,
                          .share = 40,
                          .one_in = 4,
                          .run = run_case};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST_ON_EACH_PLACE(columns)};
    return cmocka_run_group_tests_name("group columns", tests, NULL, NULL);
}
