/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of select's ladder, on every place: all calls, tests and types, elements of many
 * widths, sizes, alignments, in place, host and device memory. The oracle compares numbers, one
 * element at a time, and lays out byte by byte what must lie in the outputs, that left untouched
 * included. */
#include "select/select.h"

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

typedef enum call_kind {
    SELECT,
    SELECT_WHERE,
    COUNT,
    INDICES,
    PARTITION,
    PARTITION_WHERE,
    EXPAND,
    UNIQUE,
    RUN_LENGTH,
    CALLS
} call_kind;

static const char *const call_names[CALLS] = {
    "weft_select",         "weft_select_where", "weft_select_count",
    "weft_select_indices", "weft_partition",    "weft_partition_where",
    "weft_expand",         "weft_unique",       "weft_run_length"};

/* The arrays of a call: S tested, X moved, Y and Z written. */
enum {
    S,
    X,
    Y,
    Z,
    ARRAYS,
    WIDEST = 24,
    COUNT_BIT = 1 << ARRAYS
};

typedef struct select_case {
    const wi_row *row; /* NULL: the library chooses */
    call_kind call;
    weft_predicate p;
    size_t n, width;       /* bytes of an element moved */
    size_t packed;         /* EXPAND: elements of x */
    size_t offset[ARRAYS]; /* bytes past a boundary of 64 */
    bool in_place;         /* y is x */
    bool behind;           /* the rest follows those kept */
    bool has_fill;
    weft_type index_type;
    unsigned device; /* a bit for each array, and COUNT_BIT */
    test_pattern pattern;
} select_case;

typedef struct rig {
    weft_context *ctx;
    test_random random;
    size_t most; /* elements */
    test_buffer buffers[2][ARRAYS], counts[2];
    unsigned char *source[ARRAYS]; /* what an array holds before the call */
    unsigned char *expected[2];    /* what Y and Z must hold after it */
    unsigned char fill[WIDEST];
    bool *wanted;
} rig;

static rig rig_open(weft_context *ctx, size_t n) {
    rig r = {.ctx = ctx, .random = test_random_at(7), .most = n};
    for (int device = 0; device <= (ctx->kind == WI_CUDA); device++) {
        for (int k = 0; k < ARRAYS; k++)
            r.buffers[device][k] = test_buffer_open(ctx, device, n * WIDEST);
        r.counts[device] = test_buffer_open(ctx, device, sizeof(uint64_t));
    }
    for (int k = 0; k < ARRAYS; k++)
        assert_non_null(r.source[k] = malloc(n * WIDEST + 1));
    for (int k = 0; k < 2; k++)
        assert_non_null(r.expected[k] = malloc(n * WIDEST + 1));
    assert_non_null(r.wanted = malloc(n * sizeof *r.wanted + 1));
    return r;
}

static void rig_close(rig *r) {
    for (int device = 0; device <= (r->ctx->kind == WI_CUDA); device++) {
        for (int k = 0; k < ARRAYS; k++)
            test_buffer_close(&r->buffers[device][k]);
        test_buffer_close(&r->counts[device]);
    }
    for (int k = 0; k < ARRAYS; k++)
        free(r->source[k]);
    for (int k = 0; k < 2; k++)
        free(r->expected[k]);
    free(r->wanted);
}

static const char *describe(const rig *r, const select_case *c) {
    static char text[320];
    snprintf(text, sizeof text,
             "%s on %s, variant %s, test %d of %s, n %zu, width %zu, packed %zu, offsets %zu %zu "
             "%zu %zu%s%s%s, indices %s, device %#x, pattern %d",
             call_names[c->call], weft_place(r->ctx), c->row ? c->row->name : "auto", c->p.test,
             test_type_name(c->p.type), c->n, c->width, c->packed, c->offset[S], c->offset[X],
             c->offset[Y], c->offset[Z], c->in_place ? ", in place" : "",
             c->behind ? ", rest behind" : "", c->has_fill ? ", fill" : "",
             test_type_name(c->index_type), c->device, c->pattern);
    return text;
}

/* ---- the oracle ---- */

static bool holds_of_float(const weft_predicate *p, double e, double a, double b) {
    switch (p->test) {
    case WEFT_EQ:
        return e == a;
    case WEFT_NE:
        return e != a;
    case WEFT_LT:
        return e < a;
    case WEFT_LE:
        return e <= a;
    case WEFT_GT:
        return e > a;
    case WEFT_GE:
        return e >= a;
    case WEFT_BETWEEN:
        return a <= e && e <= b;
    default:
        return isnan(e);
    }
}

/* Of integers only the order counts: unsigned ones are moved to where signed ones have theirs. */
static bool holds_of_integer(const weft_predicate *p, test_value e, test_value a, test_value b) {
    const uint64_t move = test_is_signed(p->type) ? 0 : UINT64_C(1) << 63;
    const int64_t x = (int64_t)(e.u ^ move), y = (int64_t)(a.u ^ move), z = (int64_t)(b.u ^ move);
    const int against_y = (x > y) - (x < y), against_z = (x > z) - (x < z);
    switch (p->test) {
    case WEFT_EQ:
        return against_y == 0;
    case WEFT_NE:
        return against_y != 0;
    case WEFT_LT:
        return against_y < 0;
    case WEFT_LE:
        return against_y <= 0;
    case WEFT_GT:
        return against_y > 0;
    case WEFT_GE:
        return against_y >= 0;
    case WEFT_BETWEEN:
        return against_y >= 0 && against_z <= 0;
    default:
        return false;
    }
}

static bool finds_runs(const select_case *c) {
    return c->call == UNIQUE || c->call == RUN_LENGTH;
}

/* Marks what is wanted; gives how many. */
static size_t mark(rig *r, const select_case *c) {
    const size_t size = test_size_of(c->p.type);
    const test_value a = test_load(c->p.type, &c->p.a, 0), b = test_load(c->p.type, &c->p.b, 0);
    size_t count = 0;
    for (size_t i = 0; i < c->n; i++) {
        const unsigned char *own = r->source[S] + i * size;
        const test_value e = test_load(c->p.type, r->source[S], i);
        if (finds_runs(c))
            r->wanted[i] = i == 0 || memcmp(own, own - size, size) != 0;
        else if (test_is_float(c->p.type))
            r->wanted[i] = holds_of_float(&c->p, e.f, a.f, b.f);
        else
            r->wanted[i] = holds_of_integer(&c->p, e, a, b);
        count += r->wanted[i];
    }
    return count;
}

static void put_index(const select_case *c, unsigned char *array, size_t k, uint64_t index) {
    const uint32_t shorter = (uint32_t)index;
    if (test_size_of(c->index_type) == sizeof shorter)
        memcpy(array + 4 * k, &shorter, 4);
    else
        memcpy(array + 8 * k, &index, 8);
}

static void expect_expanded(rig *r, const select_case *c) {
    size_t k = 0;
    for (size_t i = 0; i < c->n; i++) {
        unsigned char *const to = r->expected[0] + i * c->width;
        if (r->wanted[i] && k < c->packed)
            memcpy(to, r->source[X] + k * c->width, c->width);
        else if (c->has_fill)
            memcpy(to, r->fill, c->width);
        k += r->wanted[i];
    }
}

static void expect_runs(rig *r, const select_case *c, size_t count) {
    size_t end = c->n;
    for (size_t i = c->n; i-- > 0;)
        if (r->wanted[i]) {
            put_index(c, r->expected[1], --count, end - i);
            end = i;
        }
}

/* Lays out the outputs. */
static size_t expect(rig *r, const select_case *c) {
    const size_t count = mark(r, c), w = c->width;
    size_t kept = 0, rest = 0;
    if (c->call == EXPAND) {
        expect_expanded(r, c);
        return count;
    }
    for (size_t i = 0; i < c->n && c->call != COUNT; i++) {
        const unsigned char *own = r->source[X] + i * w;
        if (c->call == INDICES && r->wanted[i])
            put_index(c, r->expected[0], kept++, i);
        else if (r->wanted[i])
            memcpy(r->expected[0] + kept++ * w, own, w);
        else if (c->call == PARTITION || c->call == PARTITION_WHERE)
            memcpy(c->behind ? r->expected[0] + (count + rest++) * w : r->expected[1] + rest++ * w,
                   own, w);
    }
    if (c->call == RUN_LENGTH)
        expect_runs(r, c, count);
    return count;
}

/* ---- one case ---- */

static bool is_aligned_for_bulk(const select_case *c) {
    bool moves = c->call != COUNT && c->call != INDICES;
    bool one_piece = (c->width & (c->width - 1)) == 0 && c->width <= 16;
    for (int k = Y; k <= Z; k++)
        one_piece = one_piece && c->offset[k] % c->width == 0;
    return c->offset[S] % 16 == 0 && (!moves || (c->offset[X] % 16 == 0 && one_piece));
}

/* May this row refuse the call? */
static bool may_refuse(const rig *r, const select_case *c) {
    if (!c->row)
        return false;
    if (strcmp(c->row->name, "bulk") == 0)
        return c->call == EXPAND || !is_aligned_for_bulk(c) || !test_has_capability(r->ctx, 90);
    if (strcmp(c->row->name, "three_kernels") == 0)
        return c->call != SELECT || c->in_place || c->width < 4;
    return false;
}

static test_buffer *buffer(rig *r, const select_case *c, int array) {
    const bool device = r->ctx->kind == WI_CUDA && (c->device >> array & 1);
    return &r->buffers[device][array == Y && c->in_place ? X : array];
}

/* The bytes of an element of an array. */
static size_t width_of(const select_case *c, int array) {
    const bool indices =
        (array == Y && c->call == INDICES) || (array == Z && c->call == RUN_LENGTH);
    return array == S ? test_size_of(c->p.type) : indices ? test_size_of(c->index_type) : c->width;
}

/* Does the call test what it moves? Then X is S. */
static bool tests_itself(const select_case *c) {
    return c->call != SELECT_WHERE && c->call != PARTITION_WHERE && c->call != EXPAND;
}

static weft_status run_call(rig *r, const select_case *c, void *const p[], uint64_t *count) {
    weft_context *const ctx = r->ctx;
    const size_t n = c->n, w = c->width;
    void *const z = c->behind ? NULL : p[Z];
    switch (c->call) {
    case SELECT:
        return weft_select(ctx, c->p, n, p[X], p[Y], count);
    case SELECT_WHERE:
        return weft_select_where(ctx, c->p, n, p[S], w, p[X], p[Y], count);
    case COUNT:
        return weft_select_count(ctx, c->p, n, p[X], count);
    case INDICES:
        return weft_select_indices(ctx, c->p, n, p[X], c->index_type, p[Y], count);
    case PARTITION:
        return weft_partition(ctx, c->p, n, p[X], p[Y], z, count);
    case PARTITION_WHERE:
        return weft_partition_where(ctx, c->p, n, p[S], w, p[X], p[Y], z, count);
    case EXPAND:
        return weft_expand(ctx, c->p, n, p[S], w, c->packed, p[X], c->has_fill ? r->fill : NULL,
                           p[Y]);
    case UNIQUE:
        return weft_unique(ctx, c->p.type, n, p[X], p[Y], count);
    default:
        return weft_run_length(ctx, c->p.type, n, p[X], p[Y], c->index_type, p[Z], count);
    }
}

/* Fills the inputs, and copies of what the outputs hold before. */
static void load(rig *r, const select_case *c) {
    const size_t bytes = c->n * c->width;
    test_fill(&r->random, c->pattern, c->p.type, c->n, r->source[S]);
    if (finds_runs(c))
        for (size_t i = 1, size = test_size_of(c->p.type); i < c->n; i++)
            if (test_below(&r->random, 3) > 0)
                memcpy(r->source[S] + i * size, r->source[S] + (i - 1) * size, size);
    for (size_t i = 0; i < bytes; i++)
        r->source[X][i] = (unsigned char)test_bits(&r->random);
    if (tests_itself(c))
        memcpy(r->source[X], r->source[S], bytes);
    for (size_t i = 0; i < WIDEST; i++)
        r->fill[i] = (unsigned char)test_bits(&r->random);
    for (int k = 0; k < ARRAYS; k++) {
        const size_t n = k == X && c->call == EXPAND ? c->packed : c->n;
        if (k >= Y) {
            memset(r->expected[k - Y], TEST_POISON, n * width_of(c, k));
            if (!(k == Y && c->in_place))
                test_buffer_poison(buffer(r, c, k), n * width_of(c, k), c->offset[k]);
        } else {
            test_buffer_load(buffer(r, c, k), r->source[k], n * width_of(c, k), c->offset[k]);
        }
    }
    if (c->in_place)
        memcpy(r->expected[0], r->source[X], bytes);
}

static void compare(rig *r, const select_case *c, int array, const unsigned char *right) {
    const size_t n = array == X && c->call == EXPAND ? c->packed : c->n;
    const unsigned char *got = test_buffer_read(buffer(r, c, array), describe(r, c));
    for (size_t i = 0, w = width_of(c, array); i < n; i++)
        if (memcmp(got + i * w, right + i * w, w) != 0)
            fail_msg("%s: element %zu of array %d is wrong", describe(r, c), i, array);
}

static void run_case(rig *r, const select_case *c) {
    void *p[ARRAYS];
    load(r, c);
    for (int k = 0; k < ARRAYS; k++)
        p[k] = buffer(r, c, k)->p;
    test_buffer *count = &r->counts[r->ctx->kind == WI_CUDA && (c->device & COUNT_BIT)];
    test_buffer_poison(count, sizeof(uint64_t), 0);
    test_use(r->ctx, "select", c->row);
    const weft_status status = run_call(r, c, p, (uint64_t *)(void *)count->p);
    uint64_t got;
    memcpy(&got, test_buffer_read(count, describe(r, c)), sizeof got);
    if (status == WEFT_EUNSUPPORTED && may_refuse(r, c)) {
        test_refused(r->ctx, status, WEFT_EUNSUPPORTED, call_names[c->call], c->row->name);
    } else {
        if (status != WEFT_OK)
            fail_msg("%s: %s: %s", describe(r, c), weft_status_name(status), weft_message(r->ctx));
        const size_t right = expect(r, c);
        if (c->call != EXPAND && got != right)
            fail_msg("%s: the count is %zu, should be %zu", describe(r, c), (size_t)got, right);
        if (c->n)
            test_used(r->ctx, "select", c->row, describe(r, c));
    }
    compare(r, c, Y, r->expected[0]);
    compare(r, c, Z, r->expected[1]);
    if (!tests_itself(c))
        compare(r, c, S, r->source[S]);
    if (!c->in_place)
        compare(r, c, X, r->source[X]);
}

/* ---- what to run ---- */

/* A constant: one of the elements, or anything at all. */
static void draw_constant(rig *r, const select_case *c, weft_element *constant) {
    memset(constant, 0, sizeof *constant);
    test_fill(&r->random, test_below(&r->random, 4) ? c->pattern : TEST_NANS, c->p.type, 1,
              constant);
    if (test_is_float(c->p.type) && test_below(&r->random, 6) == 0) {
        static const double some[] = {0.0, -0.0, INFINITY, -INFINITY, NAN};
        test_store(c->p.type, constant, 0, (test_value){.f = some[test_below(&r->random, 5)]});
    }
}

static void draw_case(rig *r, select_case *c) {
    static const size_t widths[] = {1, 2, 4, 8, 16, 4, 8, 3, 6, 12, 24};
    static const test_pattern patterns[] = {TEST_SMALL, TEST_ANY,     TEST_TIES,
                                            TEST_EQUAL, TEST_SPECIAL, TEST_NANS};
    static const weft_type index_types[] = {WEFT_U32, WEFT_U64, WEFT_I32, WEFT_I64};
    const size_t size = test_size_of(c->p.type);
    c->pattern = patterns[test_below(&r->random, sizeof patterns / sizeof *patterns)];
    c->p.test = (weft_test)test_below(&r->random, WEFT_TEST_COUNT);
    draw_constant(r, c, &c->p.a);
    draw_constant(r, c, &c->p.b);
    c->index_type = index_types[test_below(&r->random, 4)];
    const size_t piece = tests_itself(c) ? size : 1;
    c->width = tests_itself(c) ? size : widths[test_below(&r->random, 11)];
    const bool aligned = test_below(&r->random, 3) > 0;
    for (int k = 0; k < ARRAYS; k++)
        c->offset[k] = aligned ? 0 : piece * test_below(&r->random, 64 / piece);
    c->offset[S] = c->offset[S] / size * size;
    if (c->call == INDICES)
        c->offset[Y] = c->offset[Y] / 8 * 8;
    if (c->call == RUN_LENGTH)
        c->offset[Z] = c->offset[Z] / 8 * 8;
    if (tests_itself(c))
        c->offset[X] = c->offset[S];
    const bool partition = c->call == PARTITION || c->call == PARTITION_WHERE;
    c->behind = partition && test_below(&r->random, 2);
    c->in_place = test_below(&r->random, 3) == 0 && !c->behind && c->call != COUNT &&
                  c->call != INDICES && c->call != EXPAND;
    if (c->in_place)
        c->offset[Y] = c->offset[X];
    c->packed = test_below(&r->random, 3) ? c->n : test_below(&r->random, c->n + 1);
    c->has_fill = test_below(&r->random, 4) > 0;
}

static void run_drawing(rig *r, select_case c) {
    draw_case(r, &c);
    c.device = ~0u;
    run_case(r, &c);
    if (r->ctx->kind == WI_CUDA) {
        c.device = (unsigned)test_bits(&r->random);
        if (c.in_place)
            c.device = (c.device & ~(1u << Y)) | (c.device >> X & 1) << Y;
        run_case(r, &c);
    }
}

static bool run_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    run_drawing(
        rig_of_test,
        (select_case){.row = row, .call = (call_kind)at[0], .p.type = (weft_type)at[1], .n = n});
    return true;
}

/* Every size, row, call and type, `times` over with other tests, widths, alignments and data. */
static test_sweep sweep_of(const size_t *sizes, size_t count, size_t times) {
    return (test_sweep){.sizes = sizes,
                        .size_count = count,
                        .ladder = &wi_select_ladder,
                        .extent = {CALLS, WEFT_TYPE_COUNT, times},
                        .must = 1,
                        .run = run_at};
}

static void small_sizes(weft_context *ctx) {
    rig r = rig_open(ctx, 257);
    test_sweep s = sweep_of(test_small_sizes, test_small_size_count, 4);
    s.must = 3;
    s.share = 25;
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void medium_sizes(weft_context *ctx) {
    rig r = rig_open(ctx, 16385);
    test_sweep s = sweep_of(test_medium_sizes, test_medium_size_count, 1);
    s.share = 45;
    s.one_in = 2;
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void large_sizes(weft_context *ctx) {
    static const size_t sizes[] = {100003, (1 << 20) + 7};
    if (!test_size_wanted(sizes[0]))
        return;
    rig r = rig_open(ctx, sizes[1]);
    for (size_t k = 0; k < 2; k++) {
        test_sweep s = sweep_of(&sizes[k], 1, 1);
        s.must = 0;
        s.share = 15;
        s.one_in = k == 0 ? 8 : 60;
        test_sweep_run(ctx, &r.random, &s, &r);
    }
    rig_close(&r);
}

/* Several tiles a block, even on a small device, with the rest behind those kept. */
static void rest_behind(weft_context *ctx) {
    const size_t n = 40007;
    rig r = rig_open(ctx, n);
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_select_ladder, rows);
    static const weft_type types[] = {WEFT_F64, WEFT_U8, WEFT_U32};
    for (size_t k = 0; k < 3 * count; k++) {
        select_case c = {
            .row = rows[k % count], .call = PARTITION_WHERE, .p.type = types[k / count], .n = n};
        draw_case(&r, &c);
        memset(c.offset, 0, sizeof c.offset);
        c.width = 16;
        c.behind = true;
        c.in_place = false;
        c.device = ~0u;
        run_case(&r, &c);
    }
    rig_close(&r);
}

/* In place: a tile may be written over tiles before it once they have been read, which word comes
 * of in the groups' totals. Half of the elements are kept: a tile goes to where the one half as far
 * was. */
static void select_in_place(rig *r, const wi_row *row, size_t n) {
    select_case c = {.row = row, .call = SELECT_WHERE, .p.type = WEFT_F64, .n = n};
    draw_case(r, &c);
    memset(c.offset, 0, sizeof c.offset);
    c.pattern = TEST_ANY;
    c.p.test = WEFT_GT;
    memset(&c.p.a, 0, sizeof c.p.a);
    c.width = 16;
    c.in_place = true;
    c.device = ~0u;
    run_case(r, &c);
}

/* With many groups of tiles in flight; of more than two, word of a tile may come by a lane that is
 * neither the one that publishes nor the tile's own. */
static void many_groups(weft_context *ctx) {
    const size_t n = 30011;
    rig r = rig_open(ctx, n);
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_select_ladder, rows);
    for (size_t k = 0; k < 2 * count; k++) {
#ifdef WEFT_EMU
        wi_group = k < count ? 2 : 5;
#endif
        select_in_place(&r, rows[k % count], n);
    }
#ifdef WEFT_EMU
    wi_group = 32;
#endif
    rig_close(&r);
}

/* More tiles than blocks fit a device; outputs that bypass the caches. */
static void huge_sizes(weft_context *ctx) {
    const size_t n = (1 << 23) + 13;
    if (!test_size_wanted(n))
        return;
    rig r = rig_open(ctx, n);
    test_sweep s = sweep_of(&n, 1, 1);
    s.must = 0;
    s.share = 10;
    s.one_in = WEFT_TYPE_COUNT;
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

/* So many bytes that the cpu's threads test, keep and write in one pass; also in place. */
static void kept_in_one_pass(weft_context *ctx) {
    static const weft_type types[] = {WEFT_U8, WEFT_I16, WEFT_F32, WEFT_U64};
    enum {
        BYTES = 1 << 24,
        MORE = 77,
        GUARD = 64
    };
    if (ctx->kind != WI_CPU || !test_size_wanted(BYTES / 8))
        return;
    test_random random = test_random_at(8);
    for (size_t k = 0; k < 2 * sizeof types / sizeof *types; k++) {
        const weft_type type = types[k / 2];
        const size_t size = test_size_of(type), n = BYTES / size + MORE, bytes = n * size;
        char *const memory = malloc(3 * bytes + 8 * size + GUARD);
        assert_non_null(memory);
        char *const x = memory + 3 * size, *const y = x + bytes + 5 * size,
                    *const right = y + bytes + GUARD;
        uint64_t count, right_count;
        weft_predicate p = {.test = k % 2 ? WEFT_LE : WEFT_GT, .type = type};
        test_fill(&random, TEST_ANY, type, n, x);
        memcpy(&p.a, x + test_below(&random, n) * size, size);
        memset(y, 0x5A, bytes + GUARD);
        assert_int_equal(weft_use(ctx, "select", "serial"), WEFT_OK);
        assert_int_equal(weft_select(ctx, p, n, x, right, &right_count), WEFT_OK);
        assert_int_equal(weft_use(ctx, "select", "threads"), WEFT_OK);
        assert_int_equal(weft_select(ctx, p, n, x, y, &count), WEFT_OK);
        assert_int_equal(count, right_count);
        assert_memory_equal(y, right, count * size);
        for (size_t i = count * size; i < bytes + GUARD; i++)
            if (y[i] != 0x5A)
                fail_msg("%s: byte %zu behind those kept was written", test_type_name(type), i);
        assert_int_equal(weft_select(ctx, p, n, x, x, &count), WEFT_OK);
        assert_int_equal(count, right_count);
        assert_memory_equal(x, right, count * size);
        free(memory);
    }
    assert_int_equal(weft_use(ctx, "select", NULL), WEFT_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(small_sizes),      TEST_ON_EACH_PLACE(medium_sizes),
        TEST_ON_EACH_PLACE(large_sizes),      TEST_ON_EACH_PLACE(rest_behind),
        TEST_ON_EACH_PLACE(kept_in_one_pass), TEST_ON_EACH_PLACE(huge_sizes),
        TEST_ON_EACH_PLACE(many_groups),
    };
    return cmocka_run_group_tests_name("select", tests, NULL, NULL);
}
