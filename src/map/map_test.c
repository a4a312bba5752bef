/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of map's ladder, on every place: sizes, types, operations, alignments, in place,
 * matrices, host and device memory. The expected bits are computed here, element by element, and
 * all bytes of the output are compared, including gaps between rows and the guards around it. */
#include "map/map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

enum {
    X,
    Y,
    Z,
    ARRAYS
};

enum {
    ON_DEVICE = 7, /* bits of map_case.device: every array */
    DEVICE_X = 1,
    DEVICE_Y = 2,
    DEVICE_Z = 4,
    OP_COUNT = 4,
    SEPARATE_LAYOUTS = 5 /* the first so many of layouts */
};

typedef enum aliasing {
    SEPARATE,
    Z_IS_X,
    Z_IS_Y, /* of add only; axpy always does this */
    ALL_ONE
} aliasing;

typedef struct map_case {
    const wi_row *row; /* NULL: the library chooses */
    wi_map_op op;
    weft_type type;
    bool matrix;
    size_t rows, cols;
    size_t ld[ARRAYS];
    size_t offset[ARRAYS]; /* elements past a 64-byte boundary */
    aliasing alias;
    unsigned device; /* which arrays are device memory, if the place has any */
    test_pattern pattern;
} map_case;

/* Everything that a case uses, made once for each place. */
typedef struct rig {
    weft_context *ctx;
    test_random random;
    size_t capacity;
    test_buffer host[ARRAYS], device[ARRAYS];
    unsigned char *source[ARRAYS]; /* what the arrays hold before the call */
    unsigned char *expected;       /* what z holds after it */
} rig;

static const char *const op_names[OP_COUNT] = {"add", "axpy", "fill", "iota"};

static rig rig_open(weft_context *ctx, size_t capacity) {
    rig r = {.ctx = ctx, .random = test_random_at(1), .capacity = capacity};
    for (int k = 0; k < ARRAYS; k++) {
        r.host[k] = test_buffer_open(ctx, false, capacity);
        if (ctx->kind == WI_CUDA) {
            r.device[k] = test_buffer_open(ctx, true, capacity);
        }
        r.source[k] = malloc(capacity);
        assert_non_null(r.source[k]);
    }
    r.expected = malloc(capacity);
    assert_non_null(r.expected);
    return r;
}

static void rig_close(rig *r) {
    for (int k = 0; k < ARRAYS; k++) {
        test_buffer_close(&r->host[k]);
        if (r->ctx->kind == WI_CUDA) {
            test_buffer_close(&r->device[k]);
        }
        free(r->source[k]);
    }
    free(r->expected);
}

static const char *describe(const rig *r, const map_case *c) {
    static char text[320];
    snprintf(text, sizeof text,
             "map %s of %s on %s, variant %s, %zu x %zu, ld %zu %zu %zu, offsets %zu %zu %zu, "
             "aliasing %d, device %#x, pattern %d",
             op_names[c->op], test_type_name(c->type), weft_place(r->ctx),
             c->row ? c->row->name : "auto", c->rows, c->cols, c->ld[X], c->ld[Y], c->ld[Z],
             c->offset[X], c->offset[Y], c->offset[Z], c->alias, c->device, c->pattern);
    return text;
}

static bool reads_x(wi_map_op op) {
    return op == WI_MAP_ADD || op == WI_MAP_AXPY;
}

/* Which array holds operand k: the aliases of z are z. */
static int home_of(const map_case *c, int k) {
    bool aliased = c->alias == ALL_ONE || (c->alias == Z_IS_X && k == X) ||
                   ((c->alias == Z_IS_Y || c->op == WI_MAP_AXPY) && k == Y);
    return aliased ? Z : k;
}

static test_buffer *buffer_of(rig *r, const map_case *c, int k) {
    int home = home_of(c, k);
    bool device = r->ctx->kind == WI_CUDA && (c->device >> home & 1);
    return device ? &r->device[home] : &r->host[home];
}

static size_t span_bytes(const map_case *c, int k) {
    if (c->rows == 0 || c->cols == 0) {
        return 0;
    }
    return ((c->rows - 1) * c->ld[k] + c->cols) * test_size_of(c->type);
}

static bool is_read(const map_case *c, int home) {
    return (home == home_of(c, X) && reads_x(c->op)) ||
           (home == home_of(c, Y) && (c->op == WI_MAP_ADD || c->op == WI_MAP_AXPY));
}

/* z of this element, from the definition in weft/map.h. */
static test_value right_float(const map_case *c, double a, double b, double x, double y,
                              uint64_t i) {
    if (c->op == WI_MAP_FILL) {
        return (test_value){.f = a};
    }
    if (c->op == WI_MAP_IOTA) {
        double product = (double)i * b;
        return (test_value){.f = test_round(c->type, a + product)};
    }
    if (c->type == WEFT_F64) {
        double product = a * x;
        return (test_value){.f = c->op == WI_MAP_ADD ? x + y : product + y};
    }
    float product = (float)a * (float)x;
    float sum = c->op == WI_MAP_ADD ? (float)x + (float)y : product + (float)y;
    return (test_value){.f = test_round(c->type, sum)};
}

static test_value right_integer(const map_case *c, uint64_t a, uint64_t b, uint64_t x, uint64_t y,
                                uint64_t i) {
    switch (c->op) {
    case WI_MAP_ADD:
        return (test_value){.u = x + y};
    case WI_MAP_AXPY:
        return (test_value){.u = a * x + y};
    case WI_MAP_FILL:
        return (test_value){.u = a};
    default:
        return (test_value){.u = a + i * b};
    }
}

/* The contents of z after the call. */
static void expect(rig *r, const map_case *c, const void *scalar_a, const void *scalar_b) {
    test_value a = test_load(c->type, scalar_a, 0), b = test_load(c->type, scalar_b, 0);
    test_value x = {0}, y = {0};
    const unsigned char *source_x = r->source[home_of(c, X)];
    const unsigned char *source_y = r->source[home_of(c, Y)];
    memcpy(r->expected, r->source[Z], span_bytes(c, Z));
    for (size_t row = 0; row < c->rows; row++) {
        for (size_t col = 0; col < c->cols; col++) {
            uint64_t i = row * c->cols + col;
            if (reads_x(c->op)) {
                x = test_load(c->type, source_x, row * c->ld[X] + col);
                y = test_load(c->type, source_y, row * c->ld[Y] + col);
            }
            test_value z = test_is_float(c->type) ? right_float(c, a.f, b.f, x.f, y.f, i)
                                                  : right_integer(c, a.u, b.u, x.u, y.u, i);
            test_store(c->type, r->expected, row * c->ld[Z] + col, z);
        }
    }
}

static void compare(const rig *r, const map_case *c, const void *got) {
    size_t bytes = span_bytes(c, Z);
    if (bytes == 0 || memcmp(got, r->expected, bytes) == 0) {
        return;
    }
    for (size_t i = 0; i < bytes / test_size_of(c->type); i++) {
        test_value a = test_load(c->type, got, i), b = test_load(c->type, r->expected, i);
        bool in_gap = i % c->ld[Z] >= c->cols;
        size_t size = test_size_of(c->type);
        bool right = in_gap
                         ? memcmp((const char *)got + i * size, r->expected + i * size, size) == 0
                         : test_same(c->type, a, b);
        if (!right) {
            fail_msg("%s: element %zu%s is %s, should be %s", describe(r, c), i,
                     in_gap ? ", in a gap," : "", test_text(c->type, a), test_text(c->type, b));
        }
    }
}

static weft_status call_matrix(weft_context *ctx, const map_case *c, const void *a, const void *b,
                               void *const p[]) {
    switch (c->op) {
    case WI_MAP_ADD:
        return weft_add_matrix(ctx, c->type, c->rows, c->cols, p[X], c->ld[X], p[Y], c->ld[Y], p[Z],
                               c->ld[Z]);
    case WI_MAP_AXPY:
        return weft_axpy_matrix(ctx, c->type, c->rows, c->cols, a, p[X], c->ld[X], p[Z], c->ld[Z]);
    case WI_MAP_FILL:
        return weft_fill_matrix(ctx, c->type, c->rows, c->cols, a, p[Z], c->ld[Z]);
    default:
        return weft_iota_matrix(ctx, c->type, c->rows, c->cols, a, b, p[Z], c->ld[Z]);
    }
}

static weft_status call_vector(weft_context *ctx, const map_case *c, const void *a, const void *b,
                               void *const p[]) {
    switch (c->op) {
    case WI_MAP_ADD:
        return weft_add(ctx, c->type, c->cols, p[X], p[Y], p[Z]);
    case WI_MAP_AXPY:
        return weft_axpy(ctx, c->type, c->cols, a, p[X], p[Z]);
    case WI_MAP_FILL:
        return weft_fill(ctx, c->type, c->cols, a, p[Z]);
    default:
        return weft_iota(ctx, c->type, c->cols, a, b, p[Z]);
    }
}

static const char *call_name(const map_case *c) {
    static char name[32];
    snprintf(name, sizeof name, "weft_%s%s", op_names[c->op], c->matrix ? "_matrix" : "");
    return name;
}

/* May this rung refuse the call? Rungs for users take everything; teaching rungs take few types,
 * and those without rows and columns no gaps. */
static bool may_refuse(const map_case *c) {
    if (!c->row || c->row->kinds & WI_ON_CPU || strcmp(c->row->name, "vector") == 0) {
        return false;
    }
    bool gaps = false;
    for (int k = 0; k < ARRAYS; k++) {
        gaps |= c->rows > 1 && c->ld[k] != c->cols;
    }
    return !test_taught_type(c->type) || (gaps && strcmp(c->row->name, "blocks_2d") != 0);
}

static void prepare(rig *r, const map_case *c, void *p[]) {
    for (int k = 0; k < ARRAYS; k++) {
        size_t bytes = span_bytes(c, k), size = test_size_of(c->type);
        if (home_of(c, k) == k) {
            assert_true(bytes <= r->capacity);
            if (is_read(c, k)) {
                test_fill(&r->random, c->pattern, c->type, bytes / size, r->source[k]);
            } else {
                memset(r->source[k], TEST_POISON, bytes);
            }
            test_buffer_load(buffer_of(r, c, k), r->source[k], bytes, c->offset[k] * size);
        }
    }
    for (int k = 0; k < ARRAYS; k++) {
        p[k] = buffer_of(r, c, k)->p;
    }
}

static void check_inputs_unchanged(rig *r, const map_case *c) {
    for (int k = X; k <= Y; k++) {
        if (home_of(c, k) == k && is_read(c, k)) {
            const void *now = test_buffer_read(buffer_of(r, c, k), describe(r, c));
            if (memcmp(now, r->source[k], span_bytes(c, k)) != 0) {
                fail_msg("%s: input %c was changed", describe(r, c), "xy"[k]);
            }
        }
    }
}

static void run_case(rig *r, const map_case *c) {
    void *p[ARRAYS];
    unsigned char a[8] = {0}, b[8] = {0};
    prepare(r, c, p);
    test_fill(&r->random, c->pattern, c->type, 1, a);
    test_fill(&r->random, TEST_ANY, c->type, 1, b);
    if (c->op == WI_MAP_AXPY && test_below(&r->random, 4) == 0) {
        memset(a, 0, sizeof a); /* alpha = 0 must still spread NaN and infinity */
    }
    test_use(r->ctx, "map", c->row);
    weft_status status =
        c->matrix ? call_matrix(r->ctx, c, a, b, p) : call_vector(r->ctx, c, a, b, p);
    if (status == WEFT_EUNSUPPORTED && may_refuse(c)) {
        test_refused(r->ctx, status, WEFT_EUNSUPPORTED, call_name(c), c->row->name);
        memcpy(r->expected, r->source[Z], span_bytes(c, Z));
    } else {
        if (status != WEFT_OK) {
            fail_msg("%s: %s: %s", describe(r, c), weft_status_name(status), weft_message(r->ctx));
        }
        if (c->rows * c->cols > 0) {
            test_used(r->ctx, "map", c->row, describe(r, c));
        }
        expect(r, c, a, b);
    }
    compare(r, c, test_buffer_read(buffer_of(r, c, Z), describe(r, c)));
    check_inputs_unchanged(r, c);
}

/* ---- what to run ---- */

typedef struct layout {
    aliasing alias;
    size_t offset[ARRAYS];
} layout;

/* With offset 1 no array is aligned for vectors; with unequal offsets they never become aligned
 * together. */
static const layout layouts[] = {
    {SEPARATE, {0, 0, 0}}, {SEPARATE, {1, 1, 1}}, {SEPARATE, {1, 2, 3}}, {SEPARATE, {0, 0, 1}},
    {SEPARATE, {3, 0, 0}}, {Z_IS_X, {0, 1, 0}},   {Z_IS_Y, {1, 1, 1}},   {ALL_ONE, {1, 1, 1}},
};
static const size_t layout_count = sizeof layouts / sizeof *layouts;

/* Which arrays are device memory, for the calls that mix. */
static const unsigned mixtures[] = {0, DEVICE_X, DEVICE_X | DEVICE_Y, DEVICE_Z,
                                    DEVICE_X | DEVICE_Z};
static const size_t mixture_count = sizeof mixtures / sizeof *mixtures;

static const test_pattern patterns[] = {TEST_ANY, TEST_SPECIAL, TEST_NANS};

static void run_layout(rig *r, map_case c, const layout *l) {
    c.alias = l->alias;
    memcpy(c.offset, l->offset, sizeof c.offset);
    c.pattern = patterns[test_below(&r->random, 3)];
    c.device = ON_DEVICE;
    run_case(r, &c);
    if (r->ctx->kind == WI_CUDA) {
        c.device = mixtures[test_below(&r->random, mixture_count)];
        run_case(r, &c);
    }
}

/* One of the first `count` layouts. */
static const layout *any_layout(rig *r, size_t count) {
    return &layouts[test_below(&r->random, count)];
}

static map_case vector_case(const wi_row *row, wi_map_op op, weft_type type, size_t n) {
    return (map_case){.row = row, .op = op, .type = type, .rows = 1, .cols = n, .ld = {n, n, n}};
}

static bool run_vector(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    run_layout(rig_of_test, vector_case(row, (wi_map_op)at[0], (weft_type)at[1], n),
               &layouts[at[2]]);
    return true;
}

/* Every size, row, operation, type and layout. */
static test_sweep vectors_of(const size_t *sizes, size_t count) {
    return (test_sweep){.sizes = sizes,
                        .size_count = count,
                        .ladder = &wi_map_ladder,
                        .extent = {OP_COUNT, WEFT_TYPE_COUNT, layout_count},
                        .must = 3,
                        .run = run_vector};
}

static void small_vectors(weft_context *ctx) {
    rig r = rig_open(ctx, 257 * 8);
    test_sweep s = vectors_of(test_small_sizes, test_small_size_count);
    s.share = 20;
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void medium_vectors(weft_context *ctx) {
    static const size_t longer = 100003;
    rig r = rig_open(ctx, longer * 8);
    test_sweep s = vectors_of(test_medium_sizes, test_medium_size_count);
    s.share = 40;
    s.one_in = layout_count;
    test_sweep_run(ctx, &r.random, &s, &r);
    s.sizes = &longer;
    s.size_count = 1;
    s.must = 2;
    s.share = 15;
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

/* One operation a type and row, in turn. */
static void large_vectors(weft_context *ctx) {
    const size_t n = (1 << 20) + 7;
    if (!test_size_wanted(n)) {
        return;
    }
    rig r = rig_open(ctx, n * 8);
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = test_rows(ctx, &wi_map_ladder, rows);
    for (size_t type = 0; type < WEFT_TYPE_COUNT; type++) {
        for (size_t k = 0; k < count; k++) {
            wi_map_op op = (wi_map_op)((type + k) % OP_COUNT);
            run_layout(&r, vector_case(rows[k], op, (weft_type)type, n),
                       any_layout(&r, layout_count));
        }
    }
    rig_close(&r);
}

/* On the cpu outputs of 16 MiB and more bypass the cache. */
static void streamed_arrays(weft_context *ctx) {
    static const weft_type types[OP_COUNT] = {WEFT_F64, WEFT_F32, WEFT_I64, WEFT_F64};
    const size_t bytes = (1 << 24) + 1000, rows = 129, cols = 16411;
    if (ctx->kind != WI_CPU || !test_size_wanted(bytes)) {
        return;
    }
    rig r = rig_open(ctx, 18000000);
    for (int op = 0; op < OP_COUNT; op++) {
        map_case c = vector_case(NULL, (wi_map_op)op, types[op], bytes / test_size_of(types[op]));
        run_layout(&r, c, any_layout(&r, SEPARATE_LAYOUTS));
    }
    run_layout(&r, vector_case(NULL, WI_MAP_IOTA, WEFT_U8, bytes), &layouts[1]);
    map_case matrix = {.op = WI_MAP_ADD,
                       .type = WEFT_F64,
                       .matrix = true,
                       .rows = rows,
                       .cols = cols,
                       .ld = {cols + 1, cols + 2, cols + 3}};
    run_layout(&r, matrix, &layouts[2]);
    rig_close(&r);
}

/* More blocks than 2^16, with one element a thread. */
static void huge_vectors(weft_context *ctx) {
    const size_t n = (1 << 24) + 13, more = (1 << 26) + 77;
    if (ctx->kind != WI_CUDA || !test_size_wanted(more)) {
        return;
    }
    rig r = rig_open(ctx, more);
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = test_rows(ctx, &wi_map_ladder, rows);
    for (size_t k = 0; k < count; k++) {
        run_layout(&r, vector_case(rows[k], WI_MAP_ADD, WEFT_F32, n), &layouts[1]);
        run_layout(&r, vector_case(rows[k], WI_MAP_IOTA, WEFT_I32, n), &layouts[0]);
        run_layout(&r, vector_case(rows[k], WI_MAP_IOTA, WEFT_U8, more), &layouts[1]);
    }
    rig_close(&r);
}

typedef struct shape {
    size_t rows, cols;
} shape;

/* What each leading dimension adds to cols. */
static const size_t gaps[][ARRAYS] = {{1, 1, 1}, {13, 0, 5}, {0, 0, 0}, {0, 3, 0}, {16, 16, 16}};

static void run_matrix(rig *r, map_case c, const size_t gap[ARRAYS]) {
    c.matrix = true;
    for (int k = 0; k < ARRAYS; k++) {
        c.ld[k] = c.cols + gap[k];
    }
    if (c.op == WI_MAP_AXPY) {
        c.ld[Y] = c.ld[Z];
    }
    /* In place means one layout for both. */
    bool same = gap[X] == gap[Y] && gap[Y] == gap[Z];
    run_layout(r, c, any_layout(r, same ? layout_count : SEPARATE_LAYOUTS));
}

typedef struct matrices {
    rig *r;
    const shape *shapes;
    const weft_type *types; /* NULL: all */
} matrices;

static bool run_shape(void *matrices_of_test, size_t n, const wi_row *row, const size_t at[]) {
    const matrices *const m = matrices_of_test;
    const shape s = m->shapes[at[2]];
    (void)n;
    run_matrix(m->r,
               (map_case){.row = row,
                          .op = (wi_map_op)at[0],
                          .type = m->types ? m->types[at[1]] : (weft_type)at[1],
                          .rows = s.rows,
                          .cols = s.cols},
               gaps[at[3]]);
    return true;
}

/* Every row and operation on matrices of some types, shapes and gaps. */
static void run_shapes(matrices m, size_t types, size_t shapes, size_t gap_count, unsigned share) {
    const test_sweep s = {.ladder = &wi_map_ladder,
                          .extent = {OP_COUNT, types, shapes, gap_count},
                          .must = 3,
                          .share = share,
                          .run = run_shape};
    test_sweep_run(m.r->ctx, &m.r->random, &s, &m);
}

static void small_matrices(weft_context *ctx) {
    static const shape shapes[] = {{0, 5},  {5, 0},   {1, 1},    {3, 5},    {5, 3},
                                   {16, 8}, {17, 31}, {1, 1000}, {1000, 1}, {33, 64}};
    rig r = rig_open(ctx, 1000 * 17 * 8);
    run_shapes((matrices){&r, shapes, NULL}, WEFT_TYPE_COUNT, sizeof shapes / sizeof *shapes,
               sizeof gaps / sizeof *gaps, 15);
    rig_close(&r);
}

/* More rows, and more columns, than one dimension of a grid has blocks or a block has threads. */
static void large_matrices(weft_context *ctx) {
    static const shape shapes[] = {{129, 257}, {70000, 3}, {3, 70001}};
    static const weft_type types[] = {WEFT_F32, WEFT_U8};
    if (!test_size_wanted(70000 * 19)) {
        return;
    }
    rig r = rig_open(ctx, 70000 * 19 * 4);
    run_shapes((matrices){&r, shapes, types}, 2, sizeof shapes / sizeof *shapes, 2, 10);
    rig_close(&r);
}

/* Two matrices that lie side by side in one array, each in the other's gaps, do not overlap. */
static void side_by_side(weft_context *ctx) {
    enum {
        ROWS = 50,
        COLS = 7
    };
    int32_t both[ROWS][2 * COLS], one = 1;
    for (int i = 0; i < ROWS * 2 * COLS; i++) {
        both[i / (2 * COLS)][i % (2 * COLS)] = i;
    }
    test_use(ctx, "map", NULL);
    weft_status status = weft_axpy_matrix(ctx, WEFT_I32, ROWS, COLS, &one, both[0], 2 * COLS,
                                          both[0] + COLS, 2 * COLS);
    assert_int_equal(status, WEFT_OK);
    for (int i = 0; i < ROWS * 2 * COLS; i++) {
        int right = i % (2 * COLS) < COLS ? i : i + (i - COLS);
        assert_int_equal(both[i / (2 * COLS)][i % (2 * COLS)], right);
    }
}

/* A few values that would be wrong if the step were accumulated. */
static void iota_does_not_accumulate(weft_context *ctx) {
    enum {
        COUNT = 100003
    };
    double start = 1.0, step = 0.1, *x = malloc(COUNT * sizeof *x);
    assert_non_null(x);
    test_use(ctx, "map", NULL);
    assert_int_equal(weft_iota(ctx, WEFT_F64, COUNT, &start, &step, x), WEFT_OK);
    assert_true(x[0] == 1.0);
    assert_true(x[3] == 1.0 + 3 * 0.1);
    assert_true(x[100000] == 1.0 + 100000 * 0.1);
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(small_vectors),
        TEST_ON_EACH_PLACE(medium_vectors),
        TEST_ON_EACH_PLACE(large_vectors),
        TEST_ON_EACH_PLACE(streamed_arrays),
        TEST_ON_EACH_PLACE(huge_vectors),
        TEST_ON_EACH_PLACE(small_matrices),
        TEST_ON_EACH_PLACE(large_matrices),
        TEST_ON_EACH_PLACE(side_by_side),
        TEST_ON_EACH_PLACE(iota_does_not_accumulate),
    };
    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
