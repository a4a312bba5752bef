/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of scan's ladder, on every place: sizes, types, operations, inclusive and exclusive,
 * with and without an initial value, alignments, in place, host and device memory. The oracle works
 * in integers modulo 2^bits and in long double. */
#include "scan/scan.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capability.h"
#include "limits.h"
#include "testing.h"

#ifdef WEFT_CUDA
#    include "core/gpu.h"
#endif

enum {
    OPS = WEFT_XOR + 1,
    FLOAT_OPS = WEFT_MAX + 1,
    DEVICE_X = 1,
    DEVICE_Y = 2,
    DEVICE_INIT = 4,
    LONGEST_TILE = 65536, /* no rung a user gets keeps f32 for longer */
    ALL_PREFIXES_MOST = 200000
};

_Static_assert(LDBL_MANT_DIG >= 64, "the oracle needs a long double wider than double");

typedef struct scan_case {
    const wi_row *row; /* NULL: the library chooses */
    weft_scan_kind kind;
    weft_op op;
    weft_type type;
    size_t n;
    size_t offset_x, offset_y; /* elements past a 64-byte boundary */
    bool in_place, has_init;
    unsigned device;
    test_pattern pattern;
} scan_case;

/* What y must hold: exactly `value`, or a number within `tolerance` (floats only). */
typedef struct output {
    test_value value;
    long double number, tolerance;
} output;

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_buffer host_x, host_y, host_init, device_x, device_y, device_init;
    unsigned char *source;
    unsigned char init[8];
    output *expected;
} rig;

static rig rig_open(weft_context *ctx, size_t n, size_t element_bytes) {
    rig r = {.ctx = ctx, .random = test_random_at(4)};
    size_t capacity = n * element_bytes;
    r.host_x = test_buffer_open(ctx, false, capacity);
    r.host_y = test_buffer_open(ctx, false, capacity);
    r.host_init = test_buffer_open(ctx, false, 8);
    if (ctx->kind == WI_CUDA) {
        r.device_x = test_buffer_open(ctx, true, capacity);
        r.device_y = test_buffer_open(ctx, true, capacity);
        r.device_init = test_buffer_open(ctx, true, 8);
    }
    r.source = malloc(capacity);
    r.expected = malloc(n * sizeof *r.expected);
    assert_true(r.source && r.expected);
    return r;
}

static void rig_close(rig *r) {
    test_buffer_close(&r->host_x);
    test_buffer_close(&r->host_y);
    test_buffer_close(&r->host_init);
    if (r->ctx->kind == WI_CUDA) {
        test_buffer_close(&r->device_x);
        test_buffer_close(&r->device_y);
        test_buffer_close(&r->device_init);
    }
    free(r->source);
    free(r->expected);
}

static const char *describe(const rig *r, const scan_case *c) {
    static char text[256];
    snprintf(text, sizeof text,
             "%s scan, %s of %s on %s, variant %s, n %zu, offsets %zu %zu%s%s, device %#x, "
             "pattern %d",
             c->kind == WEFT_INCLUSIVE ? "inclusive" : "exclusive", test_op_name(c->op),
             test_type_name(c->type), weft_place(r->ctx), c->row ? c->row->name : "auto", c->n,
             c->offset_x, c->offset_y, c->in_place ? ", in place" : "", c->has_init ? ", init" : "",
             c->device, c->pattern);
    return text;
}

/* ---- the oracle ---- */

static uint64_t integer_identity(weft_op op, weft_type type) {
    uint64_t top = UINT64_C(1) << (8 * test_size_of(type) - 1);
    switch (op) {
    case WEFT_PRODUCT:
        return 1;
    case WEFT_MIN:
        return test_wrap(type, test_is_signed(type) ? top - 1 : UINT64_MAX);
    case WEFT_MAX:
        return test_is_signed(type) ? test_wrap(type, top) : 0;
    case WEFT_AND:
        return test_wrap(type, UINT64_MAX);
    default:
        return 0;
    }
}

static uint64_t combine_integers(weft_op op, weft_type type, uint64_t a, uint64_t b) {
    bool below = test_is_signed(type) ? (int64_t)b < (int64_t)a : b < a;
    switch (op) {
    case WEFT_SUM:
        return test_wrap(type, a + b);
    case WEFT_PRODUCT:
        return test_wrap(type, a * b);
    case WEFT_MIN:
        return below ? b : a;
    case WEFT_MAX:
        return below ? a : b;
    case WEFT_AND:
        return a & b;
    case WEFT_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static void expect_integers(rig *r, const scan_case *c) {
    uint64_t so_far =
        c->has_init ? test_load(c->type, r->init, 0).u : integer_identity(c->op, c->type);
    for (size_t i = 0; i < c->n; i++) {
        uint64_t before = so_far;
        so_far = combine_integers(c->op, c->type, so_far, test_load(c->type, r->source, i).u);
        r->expected[i] = (output){.value.u = c->kind == WEFT_INCLUSIVE ? so_far : before};
    }
}

static bool less(double a, double b) {
    return a < b || (a == b && signbit(a) && !signbit(b));
}

static double combine_extremes(weft_op op, double a, double b) {
    if (isnan(a) || isnan(b)) {
        return NAN;
    }
    return (op == WEFT_MIN ? less(b, a) : less(a, b)) ? b : a;
}

static void expect_extremes(rig *r, const scan_case *c) {
    double so_far = c->has_init         ? test_load(c->type, r->init, 0).f
                    : c->op == WEFT_MIN ? INFINITY
                                        : -INFINITY;
    for (size_t i = 0; i < c->n; i++) {
        double before = so_far;
        so_far = combine_extremes(c->op, so_far, test_load(c->type, r->source, i).f);
        r->expected[i] = (output){.value.f = c->kind == WEFT_INCLUSIVE ? so_far : before};
    }
}

/* How many additions in the type of the tile may lie behind output i: all of them in the serial
 * loop and in the rungs that teach, a tile's in the others. */
static long double chain(const scan_case *c, size_t i) {
    bool tiled = !c->row || strcmp(c->row->name, "blocked") == 0 ||
                 strcmp(c->row->name, "lookback") == 0 || strcmp(c->row->name, "bulk") == 0;
    return (long double)(tiled && i + 2 > LONGEST_TILE ? LONGEST_TILE : i + 2);
}

/* Are all partial results of this data whole numbers, or powers of two, that f32 holds? Then every
 * order of operations gives the same numbers, and only the last rounding, to f16 or bf16, shows. */
static bool is_exact(const scan_case *c) {
    return c->op == WEFT_SUM ? c->pattern == TEST_SMALL || c->pattern == TEST_EQUAL
                             : c->pattern == TEST_SIGNS;
}

/* |y - s| <= e + u (|s| + e) + half a smallest number: e is the error before the last rounding, u
 * the type's unit roundoff. With v the roundoff inside a tile (2^-53 for f64, else 2^-24) and k
 * operations in the chain, e <= 1.1 k v sum |x| for a sum, 1.1 k v |s| for a product; k v is below
 * 1/16 in every case tested, so 1.1 covers the higher powers, and the carry in f64 with them. */
static void expect_inexact(rig *r, const scan_case *c) {
    bool sum = c->op == WEFT_SUM;
    long double v = c->type == WEFT_F64 ? 0x1p-53L : 0x1p-24L;
    long double u = test_roundoff(c->type);
    long double so_far = c->has_init ? test_load(c->type, r->init, 0).f : sum ? 0 : 1;
    long double size = fabsl(so_far);
    bool exact = is_exact(c);
    for (size_t i = 0; i < c->n; i++) {
        long double x = test_load(c->type, r->source, i).f, before = so_far, before_size = size;
        so_far = sum ? so_far + x : so_far * x;
        size = sum ? size + fabsl(x) : fabsl(so_far);
        bool inclusive = c->kind == WEFT_INCLUSIVE;
        long double s = inclusive ? so_far : before;
        long double e = 1.1L * chain(c, i) * v * (inclusive ? size : before_size);
        output *o = &r->expected[i];
        *o = (output){.value.f = test_round(c->type, s), .number = s};
        if (exact) {
            o->number = o->value.f;
        } else {
            o->tolerance = e + u * (fabsl(s) + e) + test_half_tiny(c->type);
        }
    }
}

static void expect(rig *r, const scan_case *c) {
    if (!test_is_float(c->type)) {
        expect_integers(r, c);
    } else if (c->op == WEFT_MIN || c->op == WEFT_MAX) {
        expect_extremes(r, c);
    } else {
        expect_inexact(r, c);
    }
}

/* ---- one case ---- */

/* A product has the sign of its factors, even if it is zero. A sum that is zero is -0.0 only if so
 * is all that was added. */
static bool has_right_sign(const scan_case *c, const output *o, double got) {
    if (c->op == WEFT_SUM && got != 0) {
        return true;
    }
    const bool negative = signbit(o->number) && (c->op == WEFT_PRODUCT || o->number == 0);
    return !signbit(got) == !negative;
}

static bool is_right(const scan_case *c, const output *o, test_value got) {
    bool by_number = test_is_float(c->type) && (c->op == WEFT_SUM || c->op == WEFT_PRODUCT);
    if (!by_number || !isfinite(o->value.f)) {
        return test_same(c->type, got, o->value);
    }
    return fabsl(got.f - o->number) <= o->tolerance && has_right_sign(c, o, got.f);
}

static void compare(const rig *r, const scan_case *c, const void *got) {
    for (size_t i = 0; i < c->n; i++) {
        const output *o = &r->expected[i];
        test_value y = test_load(c->type, got, i);
        if (!is_right(c, o, y)) {
            fail_msg("%s: y[%zu] is %s, should be %s within %.3Lg", describe(r, c), i,
                     test_text(c->type, y), test_text(c->type, o->value), o->tolerance);
        }
    }
}

/* May this row refuse the call? Never what a user gets, but for bulk copies, which need 16-byte
 * alignment and a Hopper; those that teach offer few types, and some only one block. */
static bool may_refuse(const rig *r, const scan_case *c) {
    if (!c->row || c->row->kinds & WI_ON_CPU || strcmp(c->row->name, "lookback") == 0) {
        return false;
    }
    if (strcmp(c->row->name, "bulk") == 0) {
        size_t size = test_size_of(c->type);
        bool aligned = c->offset_x * size % 16 == 0 && c->offset_y * size % 16 == 0;
        return !aligned || !test_has_capability(r->ctx, 90);
    }
    size_t most = strcmp(c->row->name, "doubling_shared") == 0 ? 1024
                  : strncmp(c->row->name, "two_sweep", 9) == 0 ? 2048
                                                               : SIZE_MAX;
    return !test_taught_type(c->type) || c->n > most;
}

static test_buffer *choose(const rig *r, const scan_case *c, unsigned bit, test_buffer *host,
                           test_buffer *device) {
    return r->ctx->kind == WI_CUDA && (c->device & bit) ? device : host;
}

static void check_refusal(const rig *r, const scan_case *c, weft_status status, const void *y) {
    test_refused(r->ctx, status, WEFT_EUNSUPPORTED, "weft_scan", c->row->name);
    const unsigned char *bytes = y;
    for (size_t i = 0; i < c->n * test_size_of(c->type); i++) {
        if (bytes[i] != (c->in_place ? r->source[i] : TEST_POISON)) {
            fail_msg("%s: refused, yet byte %zu of y was written", describe(r, c), i);
        }
    }
}

static void draw(rig *r, const scan_case *c) {
    test_fill(&r->random, c->pattern, c->type, c->n, r->source);
    test_fill(&r->random, c->pattern == TEST_NANS ? TEST_SPECIAL : c->pattern, c->type, 1, r->init);
}

static void run_case(rig *r, const scan_case *c) {
    size_t size = test_size_of(c->type), bytes = c->n * size;
    test_buffer *x = choose(r, c, DEVICE_X, &r->host_x, &r->device_x);
    test_buffer *y = c->in_place ? x : choose(r, c, DEVICE_Y, &r->host_y, &r->device_y);
    test_buffer *init = choose(r, c, DEVICE_INIT, &r->host_init, &r->device_init);
    draw(r, c);
    test_buffer_load(x, r->source, bytes, c->offset_x * size);
    test_buffer_load(init, r->init, size, size);
    if (!c->in_place) {
        test_buffer_poison(y, bytes, c->offset_y * size);
    }
    test_use(r->ctx, "scan", c->row);
    weft_status status =
        weft_scan(r->ctx, c->kind, c->op, c->type, c->n, x->p, y->p, c->has_init ? init->p : NULL);
    const void *got = test_buffer_read(y, describe(r, c));
    if (status == WEFT_EUNSUPPORTED && may_refuse(r, c)) {
        check_refusal(r, c, status, got);
        return;
    }
    if (status != WEFT_OK) {
        fail_msg("%s: %s: %s", describe(r, c), weft_status_name(status), weft_message(r->ctx));
    }
    if (c->n) {
        test_used(r->ctx, "scan", c->row, describe(r, c));
    }
    expect(r, c);
    compare(r, c, got);
    if (!c->in_place && bytes &&
        memcmp(test_buffer_read(x, describe(r, c)), r->source, bytes) != 0) {
        fail_msg("%s: x was changed", describe(r, c));
    }
}

/* ---- what to run ---- */

static test_pattern draw_pattern(rig *r, weft_op op) {
    static const test_pattern sums[] = {TEST_ANY, TEST_SMALL, TEST_EQUAL};
    static const test_pattern products[] = {TEST_NEAR_ONE, TEST_SIGNS};
    static const test_pattern others[] = {TEST_ANY, TEST_TIES, TEST_SPECIAL, TEST_NANS};
    switch (op) {
    case WEFT_SUM:
        return sums[test_below(&r->random, 3)];
    case WEFT_PRODUCT:
        return products[test_below(&r->random, 2)];
    default:
        return others[test_below(&r->random, 4)];
    }
}

/* The case with alignment, data and placement drawn. */
static void run_drawing(rig *r, scan_case c) {
    static const size_t offsets[][2] = {{0, 0}, {1, 1}, {1, 2}, {0, 3}, {3, 0}};
    static const unsigned mixtures[] = {0, DEVICE_X, DEVICE_Y, DEVICE_INIT,
                                        DEVICE_X | DEVICE_Y | DEVICE_INIT};
    const size_t *offset = offsets[test_below(&r->random, sizeof offsets / sizeof *offsets)];
    c.offset_x = offset[0];
    c.in_place = test_below(&r->random, 3) == 0;
    c.offset_y = c.in_place ? c.offset_x : offset[1];
    c.pattern = draw_pattern(r, c.op);
    c.device = DEVICE_X | DEVICE_Y;
    if (test_below(&r->random, 2)) {
        c.device = mixtures[test_below(&r->random, sizeof mixtures / sizeof *mixtures)];
    }
    run_case(r, &c);
}

static bool is_too_slow(const scan_case *c) {
    return c->row && strcmp(c->row->name, "all_prefixes") == 0 &&
           (c->n > ALL_PREFIXES_MOST || !test_size_wanted(4 * c->n)); /* its work grows as n^2 */
}

static bool run_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    const scan_case c = {.row = row,
                         .n = n,
                         .type = (weft_type)at[0],
                         .op = (weft_op)at[1],
                         .kind = at[2] & 1 ? WEFT_EXCLUSIVE : WEFT_INCLUSIVE,
                         .has_init = at[2] >> 1 & 1};
    if ((test_is_float(c.type) && at[1] >= FLOAT_OPS) || is_too_slow(&c)) {
        return false;
    }
    run_drawing(r, c);
    return true;
}

/* Every size, row, type, operation, kind, with and without init, `times` over. */
static test_sweep sweep_of(const size_t *sizes, size_t count, size_t times) {
    return (test_sweep){.sizes = sizes,
                        .size_count = count,
                        .ladder = &wi_scan_ladder,
                        .extent = {WEFT_TYPE_COUNT, OPS, 4, times},
                        .must = 1,
                        .run = run_at};
}

static void small_sizes(weft_context *ctx) {
    rig r = rig_open(ctx, 257, 8);
    test_sweep s = sweep_of(test_small_sizes, test_small_size_count, 3);
    s.share = 15;
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void medium_sizes(weft_context *ctx) {
    rig r = rig_open(ctx, 16385, 8);
    test_sweep s = sweep_of(test_medium_sizes, test_medium_size_count, 1);
    s.share = 55;
    s.one_in = 2;
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void large_sizes(weft_context *ctx) {
    static const size_t sizes[] = {100003, (1 << 20) + 7};
    if (!test_size_wanted(sizes[0])) {
        return;
    }
    rig r = rig_open(ctx, sizes[1], 8);
    for (size_t k = 0; k < 2; k++) {
        test_sweep s = sweep_of(&sizes[k], 1, 1);
        s.must = 0;
        s.share = 15;
        s.one_in = k == 0 ? 6 : 50;
        test_sweep_run(ctx, &r.random, &s, &r);
    }
    rig_close(&r);
}

/* On the cpu large outputs bypass the cache, in place or not. */
static void streamed_arrays(weft_context *ctx) {
    const size_t n = (1 << 22) + 77;
    if (ctx->kind != WI_CPU || !test_size_wanted(n)) {
        return;
    }
    rig r = rig_open(ctx, n, 8);
    scan_case c = {.n = n, .type = WEFT_F32, .pattern = TEST_SMALL, .offset_y = 1};
    run_case(&r, &c);
    c.type = WEFT_F64;
    c.kind = WEFT_EXCLUSIVE;
    c.has_init = true;
    run_case(&r, &c);
    c.type = WEFT_U32;
    c.in_place = true;
    c.pattern = TEST_ANY;
    run_case(&r, &c);
    c.op = WEFT_MAX;
    c.type = WEFT_F64;
    c.in_place = false;
    c.pattern = TEST_NANS;
    run_case(&r, &c);
    rig_close(&r);
}

/* More blocks than 2^16, with one element a thread; more tiles than blocks fit a device; and host
 * memory that travels in many segments. */
static void huge_sizes(weft_context *ctx) {
    const size_t n = (1 << 24) + 13, more = (1 << 26) + 77;
    if (ctx->kind != WI_CUDA || !test_size_wanted(more)) {
        return;
    }
    rig r = rig_open(ctx, more, 1);
    const wi_row *rows[TEST_MAX_ROWS];
    size_t count = test_rows(ctx, &wi_scan_ladder, rows);
    for (size_t k = 0; k < count; k++) {
        scan_case c = {.row = rows[k], .type = WEFT_F32, .n = n, .device = DEVICE_X | DEVICE_Y};
        c.pattern = TEST_SMALL;
        if (is_too_slow(&c)) {
            continue;
        }
        run_case(&r, &c);
        c.in_place = true;
        c.kind = WEFT_EXCLUSIVE;
        c.type = WEFT_U32;
        c.pattern = TEST_ANY;
        run_case(&r, &c);
    }
    scan_case c = {.type = WEFT_F32, .n = n, .has_init = true, .pattern = TEST_SMALL};
    run_case(&r, &c);
    c.type = WEFT_U8;
    c.n = more;
    run_case(&r, &c);
    c.device = DEVICE_X | DEVICE_Y;
    run_case(&r, &c);
    rig_close(&r);
}

/* ---- many tiles ---- */

enum {
    TILE_ELEMENTS = 4096, /* of 8 bytes, in the rungs that look back */
    RINGS_TILES =
        37 /* more than emu's blocks have room for at once, so that slots are used again */
};

/* How many tiles form a group of look-back; on emu as few as `wanted`. */
static unsigned set_group(unsigned wanted) {
#ifdef WEFT_EMU
    wi_group = wanted;
    return wanted;
#else
    (void)wanted;
    return 32;
#endif
}

/* Sums of data of which at most the first number in a group of tiles is not zero, and these not
 * exact: they depend on the order in which the groups' totals are added up, which is to be that of
 * the loop, whoever comes first. */
static void compare_order(rig *r, const scan_case *c, unsigned group) {
    double *const x = (double *)r->source, so_far = 0;
    memset(x, 0, c->n * sizeof *x);
    for (size_t i = 0; i < c->n; i += (size_t)group * TILE_ELEMENTS)
        x[i] = ldexp(test_unit(&r->random), (int)test_below(&r->random, 40));
    test_buffer_load(&r->device_x, x, c->n * sizeof *x, 0);
    test_buffer_poison(&r->device_y, c->n * sizeof *x, 0);
    test_use(r->ctx, "scan", c->row);
    assert_int_equal(weft_scan(r->ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F64, c->n, r->device_x.p,
                               r->device_y.p, NULL),
                     WEFT_OK);
    const double *const got = test_buffer_read(&r->device_y, describe(r, c));
    for (size_t i = 0; i < c->n; i++) {
        so_far += x[i];
        if (memcmp(&got[i], &so_far, sizeof so_far) != 0)
            fail_msg("%s: y[%zu] is %a, in the order of the groups it is %a", describe(r, c), i,
                     got[i], so_far);
    }
}

static void many_tiles(weft_context *ctx) {
    static const char *const names[] = {"lookback", "bulk"};
    const size_t most = (size_t)RINGS_TILES * TILE_ELEMENTS;
    if (ctx->kind != WI_CUDA) {
        return;
    }
    rig r = rig_open(ctx, most, 8);
    for (size_t k = 0; k < 2; k++) {
        const bool is_bulk = k == 1;
        if (is_bulk && !test_has_capability(ctx, 90)) {
            continue;
        }
        scan_case c = {.row = test_row_named(&wi_scan_ladder, names[k]),
                       .type = is_bulk ? WEFT_F64 : WEFT_I64,
                       .n = is_bulk ? most : most / 2 + 5,
                       .device = DEVICE_X | DEVICE_Y,
                       .pattern = TEST_SMALL};
        set_group(is_bulk ? 32 : 4);
        run_case(&r, &c);
        c.type = WEFT_F64;
        c.n = most / 2 + 5;
        compare_order(&r, &c, set_group(2));
        set_group(32);
    }
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(small_sizes), TEST_ON_EACH_PLACE(medium_sizes),
        TEST_ON_EACH_PLACE(large_sizes), TEST_ON_EACH_PLACE(streamed_arrays),
        TEST_ON_EACH_PLACE(huge_sizes),  TEST_ON_EACH_PLACE(many_tiles),
    };
    return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
