/* SPDX-License-Identifier: Apache-2.0 */
/* weft_reduce_segments: every rung, operation, type and shape of segments against an oracle. */
#include "group/group_oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group/group.h"
#include "limits.h"

enum {
    MOST_N = 40000,
    ROOM = MOST_N + 400,
    OPS = 9
};

static const weft_op ops[OPS] = {WEFT_SUM,    WEFT_PRODUCT, WEFT_MIN,  WEFT_MAX,   WEFT_ARGMIN,
                                 WEFT_ARGMAX, WEFT_NRM1,    WEFT_NRM2, WEFT_NRMINF};
static const weft_type index_types[] = {WEFT_U32, WEFT_U64, WEFT_I32, WEFT_I64};

typedef struct group_case {
    const wi_row *row;
    weft_type type, result, offset_type;
    weft_op op;
    group_shape shape;
    size_t n, segments;
    unsigned device; /* bit k: array k is in device memory, on a GPU place */
    size_t shift;    /* elements by which arrays are off a boundary */
} group_case;

enum {
    X,
    OFFSETS,
    Y,
    ARRAYS
};

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_pair pair[ARRAYS];
    unsigned char *x;
    uint64_t *offsets;
    void *typed; /* offsets in their type */
} rig;

static rig rig_open(weft_context *ctx, size_t most) {
    rig r = {.ctx = ctx, .random = test_random_at(21)};
    const size_t bytes[ARRAYS] = {most * 8, (most + 400) * 8, (most + 400) * 8};
    for (int k = 0; k < ARRAYS; k++) {
        r.pair[k] = test_pair_open(ctx, bytes[k] + TEST_MAX_OFFSET);
    }
    r.x = malloc(bytes[X]);
    r.offsets = malloc(bytes[OFFSETS]);
    r.typed = malloc(bytes[OFFSETS]);
    assert_true(r.x && r.offsets && r.typed);
    return r;
}

static void rig_close(rig *r) {
    for (int k = 0; k < ARRAYS; k++) {
        test_pair_close(&r->pair[k]);
    }
    free(r->x);
    free(r->offsets);
    free(r->typed);
}

static const char *describe(const rig *r, const group_case *c) {
    static char text[256];
    snprintf(text, sizeof text,
             "%s %s of %s, n %zu, %zu segments of shape %d, %s offsets, device %u",
             c->row ? c->row->name : "chosen", test_op_name(c->op), test_type_name(c->type), c->n,
             c->segments, (int)c->shape, test_type_name(c->offset_type), c->device);
    (void)r;
    return text;
}

static test_buffer *home(rig *r, const group_case *c, int k) {
    return test_pair_at(&r->pair[k], c->device >> k & 1);
}

static test_pattern draw_pattern(rig *r, weft_op op) {
    static const test_pattern sums[] = {TEST_ANY, TEST_SMALL},
                              others[] = {TEST_ANY, TEST_TIES, TEST_SPECIAL, TEST_NANS};
    if (op == WEFT_SUM || op == WEFT_NRM1 || op == WEFT_NRM2)
        return sums[test_below(&r->random, 2)];
    return op == WEFT_PRODUCT ? TEST_SIGNS : others[test_below(&r->random, 4)];
}

static void compare(rig *r, const group_case *c, const void *got) {
    for (size_t s = 0; s < c->segments; s++) {
        const group_result right =
            group_reduced(c->op, c->type, r->x, r->offsets[s], r->offsets[s + 1]);
        const test_value y = test_load(c->result, got, s);
        if (!group_is_right(c->result, &right, y))
            fail_msg("%s: y[%zu], of elements %llu to %llu, is %s, should be %s", describe(r, c), s,
                     (unsigned long long)r->offsets[s], (unsigned long long)r->offsets[s + 1],
                     test_text(c->result, y), test_text(c->result, right.value));
    }
}

/* Does a rung not take this type, or not this operation? */
static bool may_refuse(const group_case *c) {
    return c->row &&
           ((c->row->types != WI_ALL_TYPES && !test_taught_type(c->type)) ||
            (c->row->misfit && c->op != WEFT_SUM && c->op != WEFT_MIN && c->op != WEFT_MAX));
}

static void run_case(rig *r, group_case c) {
    const size_t size = test_size_of(c.type), index_size = test_size_of(c.offset_type);
    assert_int_equal(weft_reduce_type(c.op, c.type, &c.result), WEFT_OK);
    const size_t y_size = test_size_of(c.result);
    c.segments = group_divide(&r->random, c.shape, c.n, c.n + 400, r->offsets);
    test_fill(&r->random, draw_pattern(r, c.op), c.type, c.n, r->x);
    for (size_t s = 0; s <= c.segments; s++)
        test_store(c.offset_type, r->typed, s, (test_value){.u = r->offsets[s]});
    test_buffer *const x = home(r, &c, X), *const offsets = home(r, &c, OFFSETS),
                       *const y = home(r, &c, Y);
    test_buffer_load(x, r->x, c.n * size, c.shift * size);
    test_buffer_load(offsets, r->typed, (c.segments + 1) * index_size, index_size);
    test_buffer_poison(y, c.segments * y_size, c.shift * y_size);
    test_use(r->ctx, "group", c.row);
    const weft_status status = weft_reduce_segments(r->ctx, c.op, c.type, c.n, x->p, c.segments,
                                                    c.offset_type, offsets->p, y->p);
    const void *const got = test_buffer_read(y, describe(r, &c));
    if (status == WEFT_EUNSUPPORTED && may_refuse(&c)) {
        test_refused(r->ctx, status, WEFT_EUNSUPPORTED, "weft_reduce_segments", c.row->name);
        return;
    }
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(r, &c), weft_status_name(status), weft_message(r->ctx));
    test_used(r->ctx, "group", c.row, describe(r, &c));
    compare(r, &c, got);
    if (memcmp(test_buffer_read(x, describe(r, &c)), r->x, c.n * size) != 0)
        fail_msg("%s: x was changed", describe(r, &c));
}

static bool run_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    run_case(r, (group_case){
                    .row = row,
                    .n = n,
                    .type = (weft_type)at[0],
                    .op = ops[at[1]],
                    .shape = (group_shape)at[2],
                    .offset_type = index_types[test_below(&r->random, 4)],
                    .device = test_below(&r->random, 2) ? 7 : (unsigned)test_below(&r->random, 8),
                    .shift = (size_t)test_below(&r->random, 3)});
    return true;
}

static void sizes(weft_context *ctx, const size_t *list, size_t count, size_t most, unsigned must,
                  unsigned share, size_t one_in) {
    rig r = rig_open(ctx, most);
    const test_sweep s = {.sizes = list,
                          .size_count = count,
                          .ladder = &wi_group_ladder,
                          .extent = {WEFT_TYPE_COUNT, OPS, GROUP_SHAPES},
                          .must = must,
                          .share = share,
                          .one_in = one_in,
                          .run = run_at};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void small_sizes(weft_context *ctx) {
    sizes(ctx, test_small_sizes, test_small_size_count, 257, 3, 30, 3);
}

static void medium_sizes(weft_context *ctx) {
    sizes(ctx, test_medium_sizes, test_medium_size_count, 16385, 4, 40, 8);
}

static void large_sizes(weft_context *ctx) {
    static const size_t large[] = {32768, 33333, MOST_N};
    sizes(ctx, large, 3, MOST_N, 4, 30, 20);
}

/* Few blocks, so that each walks several tiles; of teams small tiles. */
static void many_tiles(weft_context *ctx) {
    if (ctx->kind != WI_CUDA)
        return;
#ifdef WEFT_EMU
    wi_path_blocks = wi_stretch_blocks = wi_mark_blocks = wi_lane_blocks = 2;
#endif
    enum {
        RUNGS = 5
    };
    static const char *const rungs[RUNGS] = {"paths", "stretches", "marks", "lanes", "teams"};
    rig r = rig_open(ctx, MOST_N);
    for (int k = 0; k < RUNGS * GROUP_SHAPES; k++) {
        const bool few_ops = k % RUNGS == 2 || k % RUNGS == 3;
#ifdef WEFT_EMU
        wi_team_tile = k / RUNGS % 3 ? 128 : 16; /* some hundred tiles, or thousands */
#endif
        const bool sums = few_ops || k / RUNGS % 2; /* of the rungs behind, only sums */
        run_case(&r, (group_case){.row = test_row_named(&wi_group_ladder, rungs[k % RUNGS]),
                                  .n = MOST_N - 77,
                                  .type = few_ops && k / RUNGS % 2 ? WEFT_F64 : WEFT_F32,
                                  .op = sums ? WEFT_SUM : WEFT_ARGMAX,
                                  .shape = (group_shape)(k / RUNGS),
                                  .offset_type = k / RUNGS % 2 ? WEFT_U32 : WEFT_U64,
                                  .device = 7,
                                  .shift = (size_t)(k % 2)});
    }
    rig_close(&r);
#ifdef WEFT_EMU
    wi_path_blocks = wi_stretch_blocks = wi_mark_blocks = wi_lane_blocks = SIZE_MAX;
    wi_team_tile = 4096;
#endif
}

/* The same bits with any number of threads, wherever they cut a segment, and correct ones. */
static void threads_do_not_matter(void **state) {
    enum {
        N = 1 << 19,
        SEGMENTS = 1000
    };
    static const weft_op tried[] = {WEFT_SUM, WEFT_MIN, WEFT_MAX, WEFT_ARGMIN, WEFT_NRMINF};
    static const char *const places[] = {"cpu:1", "cpu:3"};
    (void)state;
    if (!test_size_wanted(N))
        return;
    test_random random = test_random_at(22);
    double *const x = malloc(N * sizeof *x);
    uint64_t *const offsets = malloc((SEGMENTS + 1) * sizeof *offsets);
    double y[2][SEGMENTS];
    assert_true(x && offsets);
    test_fill(&random, TEST_ANY, WEFT_F64, N, x);
    offsets[0] = 0;
    for (size_t s = 1; s < SEGMENTS; s++)
        offsets[s] = s < 500 ? s * 10 : 5000 + (s - 500) * 40;
    offsets[SEGMENTS] = N;
    for (size_t o = 0; o < sizeof tried / sizeof *tried; o++) {
        for (int k = 0; k < 2; k++) {
            weft_context *const ctx = test_open(places[k]);
            test_use(ctx, "group", test_row_named(&wi_group_ladder, "threads"));
            assert_int_equal(weft_reduce_segments(ctx, tried[o], WEFT_F64, N, x, SEGMENTS, WEFT_U64,
                                                  offsets, y[k]),
                             WEFT_OK);
            weft_close(ctx);
        }
        assert_memory_equal(y[0], y[1], sizeof y[0]);
        const weft_type type = tried[o] == WEFT_ARGMIN ? WEFT_U64 : WEFT_F64;
        const group_result right = group_reduced(tried[o], WEFT_F64, x, offsets[SEGMENTS - 1], N);
        const test_value got = test_load(type, y[0], SEGMENTS - 1);
        if (!group_is_right(type, &right, got))
            fail_msg("%s of %d elements is %s, should be %s", test_op_name(tried[o]),
                     (int)(N - offsets[SEGMENTS - 1]), test_text(type, got),
                     test_text(type, right.value));
    }
    free(offsets);
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(small_sizes),         TEST_ON_EACH_PLACE(medium_sizes),
        TEST_ON_EACH_PLACE(large_sizes),         TEST_ON_EACH_PLACE(many_tiles),
        cmocka_unit_test(threads_do_not_matter),
    };
    return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}
