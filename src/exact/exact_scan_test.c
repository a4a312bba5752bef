/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of exact_scan's ladder, on every place, against the oracle of exact_oracle.h: sizes,
 * types, both kinds, initial values, alignments, in place, host and device memory, and data made to
 * break what is not exact. */
#include "exact/exact_scan.h"

#include <stdio.h>
#include <stdlib.h>

#include "exact/exact_data.h"
#include "exact/exact_oracle.h"
#include "limits.h"

enum {
    DEVICE_X = 1,
    DEVICE_Y = 2,
    DEVICE_INIT = 4,
    FLOATS = 4,
    /* Further patterns */
    TIES = PATTERNS, /* half a last place above or below a large number, again and again */
    RETURNING,       /* large numbers that are taken away again, above ever smaller ones */
    LEADING_ZEROS,   /* -0.0 up to the middle */
    DEEPER,          /* exponents that fall from the first element to the last */
    CROWDED,  /* what the first fold leaves is as much as can be, beside last bits far below */
    SHADOWED, /* ties of a large number, with far smaller ones in its shadow; see below */
    ALL_PATTERNS
};

static const weft_type floats[FLOATS] = {WEFT_F16, WEFT_BF16, WEFT_F32, WEFT_F64};

typedef struct scan_case {
    const wi_row *row;
    weft_scan_kind kind;
    weft_type type;
    size_t n, offset_x, offset_y;
    bool in_place, has_init;
    unsigned device;
    int pattern;
} scan_case;

/* Exponents of three numbers, each far below the one before, that are added first and, the largest
 * first, taken away at last; between, half last places of the largest come and go. */
typedef struct shadow {
    int large, middle, small;
    double sign;
} shadow;

static shadow drawn; /* the latest */

/* ---- data ---- */

static double draw_shadowed(rig *r, const scan_case *c, size_t i) {
    test_random *const t = &r->random;
    const int low = lowest_of(c->type), digits = 1 - (int)log2(test_roundoff(c->type));
    const size_t period = c->n < 4500 ? c->n / 2 + 5 : 4500, at = i % period;
    shadow *const s = &drawn;
    if (at == 0) {
        s->large = highest_of(c->type) - 1 - (int)test_below(t, 20);
        if (c->type == WEFT_F64 ||
            c->type == WEFT_F32) /* or so that carries of 184 bits hold all */
            s->large =
                test_bits(t) & 1 ? (int)test_below(t, c->type == WEFT_F64 ? 100 : 10) : s->large;
        s->middle = s->large - 20 - (int)test_below(t, 130);
        s->small = s->middle - 1 - (int)test_below(t, 250);
        s->sign = test_bits(t) & 1 ? -1 : 1;
    }
    const double large = ldexp(1, s->large), middle = ldexp(1, s->middle > low ? s->middle : low);
    const double small = ldexp(s->sign, s->small > low ? s->small : low);
    if (at < 3)
        return at == 0 ? large : at == 1 ? middle : small;
    const size_t away = period < 4500 ? period - 2 : period - 1100;
    if (at == away || at + 1 == period)
        return at == away ? -large : -middle;
    if (at > period / 2 && at + 200 < away && test_below(t, 8) == 0)
        return ldexp(test_bits(t) & 1 ? 1 : -1, s->large - digits + 1 + (int)test_below(t, 2));
    return 0;
}

/* A run of 512 for a first fold with unit 2^-39: it leaves nearly half of it of each large element.
 * The small ones have a last bit of 2^-86, and nearly cancel; in the end the large ones do. */
static double crowded(test_random *r, size_t at) {
    const double large = 1 - 0x1p-40 - 0x1p-53;
    const double small = 0x1p-34 + ldexp((double)test_below(r, 1024), -86);
    if (at % 4 == 1)
        return at % 8 == 1 ? small : -small;
    return at < 256 ? large : -large;
}

static double draw_further(rig *of_test, const scan_case *c, size_t i) {
    test_random *const r = &of_test->random;
    const int low = lowest_of(c->type), high = highest_of(c->type);
    const int middle = (low + high) / 2, digits = c->type == WEFT_F64 ? 53 : 24;
    const double sign = test_bits(r) & 1 ? -1 : 1;
    const int at = (int)(i % 64 / 2) * (high - low - 2) / 32;
    const int fallen = high - 1 - (int)((size_t)(high - low - 1) * i / c->n);
    switch (c->pattern) {
    case TIES:
        return i == 0 ? ldexp(1, middle) : ldexp(sign, middle - digits + (int)test_below(r, 3) - 1);
    case RETURNING:
        return i % 64 < 40 ? ldexp(i % 2 ? -1 : 1, high - 1 - at)
                           : any_of(r, low, low + 60 < 0 ? low + 60 : 0);
    case LEADING_ZEROS:
        return i < c->n / 2 ? -0.0 : test_below(r, 3) ? 0.0 : sign;
    case DEEPER:
        return any_of(r, fallen, fallen);
    case CROWDED:
        return crowded(r, i % 512);
    default:
        return draw_shadowed(of_test, c, i);
    }
}

static void draw_case(rig *r, const scan_case *c) {
    const exact_case of_sums = {.type = c->type,
                                .result_type = c->type,
                                .n = c->n,
                                .pattern =
                                    (exact_pattern)(c->pattern < (int)PATTERNS ? c->pattern : 0)};
    draw(&r->random, &of_sums, r->x, r->source_x);
    for (size_t i = 0; i < c->n && c->pattern >= (int)PATTERNS; i++) {
        test_store(c->type, r->source_x, i, (test_value){.f = draw_further(r, c, i)});
        r->x[i] = test_load(c->type, r->source_x, i).f;
    }
}

/* ---- one case ---- */

static const char *describe(const rig *r, const scan_case *c) {
    static char text[256];
    snprintf(text, sizeof text,
             "%s exact scan of %s on %s, variant %s, n %zu, offsets %zu %zu, device %#x, %s%s"
             "pattern %d",
             c->kind == WEFT_EXCLUSIVE ? "exclusive" : "inclusive", test_type_name(c->type),
             weft_place(r->ctx), c->row ? c->row->name : "auto", c->n, c->offset_x, c->offset_y,
             c->device, c->in_place ? "in place, " : "", c->has_init ? "from init, " : "",
             c->pattern);
    return text;
}

static void check(const rig *r, const scan_case *c, double init, const void *got) {
    oracle o;
    oracle_clear(&o);
    if (c->has_init)
        oracle_add(&o, init);
    for (size_t i = 0; i < c->n; i++) {
        if (c->kind == WEFT_INCLUSIVE)
            oracle_add(&o, r->x[i]);
        const test_value right = {.f = oracle_round(&o, c->type)};
        const test_value seen = test_load(c->type, got, i);
        if (!test_same(c->type, right, seen))
            fail_msg("%s: y[%zu] is %s, not %s", describe(r, c), i, test_text(c->type, seen),
                     test_text(c->type, right));
        if (c->kind == WEFT_EXCLUSIVE)
            oracle_add(&o, r->x[i]);
    }
}

static test_buffer *choose(const rig *r, const scan_case *c, unsigned which, test_buffer *host,
                           test_buffer *device) {
    return r->ctx->kind == WI_CUDA && c->device & which ? device : host;
}

/* bulk and lanes take arrays at 16-byte boundaries only, and lanes f32 and f64. */
static bool may_refuse(const scan_case *c) {
    return c->row && (strcmp(c->row->name, "bulk") == 0 || strcmp(c->row->name, "lanes") == 0);
}

static void run_case(rig *r, const scan_case *c) {
    const size_t size = test_size_of(c->type), bytes = c->n * size;
    test_buffer *const x = choose(r, c, DEVICE_X, &r->host_x, &r->device_x);
    test_buffer *const y = c->in_place ? x : choose(r, c, DEVICE_Y, &r->host_y, &r->device_y);
    test_buffer *const init = choose(r, c, DEVICE_INIT, &r->host_result, &r->device_result);
    double first = 0;
    draw_case(r, c);
    if (!c->in_place)
        test_buffer_poison(y, bytes, c->offset_y * size);
    test_buffer_load(x, r->source_x, bytes, c->offset_x * size);
    if (c->has_init) {
        first = c->n > 0 ? r->x[test_below(&r->random, c->n)] : 1;
        unsigned char element[8];
        test_store(c->type, element, 0, (test_value){.f = first});
        test_buffer_load(init, element, size, 0);
    }
    test_use(r->ctx, "exact_scan", c->row);
    const weft_status status =
        weft_exact_scan(r->ctx, c->kind, c->type, c->n, x->p, y->p, c->has_init ? init->p : NULL);
    const void *const seen = test_buffer_read(y, describe(r, c));
    if (status == WEFT_EUNSUPPORTED && may_refuse(c))
        return;
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(r, c), weft_status_name(status), weft_message(r->ctx));
    if (c->n > 0)
        test_used(r->ctx, "exact_scan", c->row, describe(r, c));
    check(r, c, first, seen);
}

static bool run_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    const uint64_t bits = test_bits(&r->random);
    const scan_case c = {.row = row,
                         .kind = bits & 1 ? WEFT_EXCLUSIVE : WEFT_INCLUSIVE,
                         .type = floats[at[0]],
                         .n = n,
                         .offset_x = bits & 2 ? test_below(&r->random, 4) : 0,
                         .offset_y = bits & 4 ? test_below(&r->random, 4) : 0,
                         .in_place = bits & 8,
                         .has_init = bits & 16,
                         .device = (unsigned)test_below(&r->random, 8),
                         .pattern = (int)test_below(&r->random, ALL_PATTERNS)};
    run_case(r, &c);
    return true;
}

static test_sweep sweep_of(const size_t *sizes, size_t count, unsigned share) {
    return (test_sweep){.sizes = sizes,
                        .size_count = count,
                        .ladder = &wi_exact_scan_ladder,
                        .extent = {FLOATS},
                        .must = 1,
                        .share = share,
                        .run = run_at};
}

static void small_sizes(weft_context *ctx) {
    rig r = rig_open(ctx, 23, 257);
    const test_sweep s = sweep_of(test_small_sizes, test_small_size_count, 25);
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

/* How many tiles form a group of look-back, on emu. */
static void set_group(unsigned tiles) {
#ifdef WEFT_EMU
    wi_group = tiles;
#else
    (void)tiles;
#endif
}

/* On emu with several groups of tiles. */
static void medium_sizes(weft_context *ctx) {
    rig r = rig_open(ctx, 23, 16385);
    const test_sweep s = sweep_of(test_medium_sizes, test_medium_size_count, 25);
    set_group(2);
    test_sweep_run(ctx, &r.random, &s, &r);
    set_group(32);
    rig_close(&r);
}

/* Many tiles, each a group of its own: on emu, some find their carry from groups far back. */
static void groups(weft_context *ctx) {
    const size_t n = 14 * 4096 + 5;
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_exact_scan_ladder, rows);
    if (ctx->kind != WI_CUDA)
        return;
    rig r = rig_open(ctx, 26, n);
    set_group(1);
    for (size_t k = 0; k < count; k++) {
        const scan_case c = {.row = rows[k],
                             .type = WEFT_F64,
                             .n = n,
                             .device = DEVICE_X | DEVICE_Y,
                             .pattern = UNIFORM};
        run_case(&r, &c);
    }
    set_group(32);
    rig_close(&r);
}

/* On emu launches are numbered anew after every third. A long one leaves words that the two short
 * ones after it do not overwrite: the next long one must not take them for its own. */
static void epochs(weft_context *ctx) {
#ifdef WEFT_EMU
    static const size_t sizes[] = {6 * 4096 + 7, 4099, 5003};
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_exact_scan_ladder, rows);
    rig r = rig_open(ctx, 23, sizes[0]);
    wi_last_epoch = 3;
    for (size_t k = 0; k + 1 < count; k++) { /* the last is the library's choice */
        for (size_t call = 0; call < 7; call++) {
            const scan_case c = {.row = rows[k],
                                 .type = WEFT_F64,
                                 .n = sizes[call % 3],
                                 .device = DEVICE_X | DEVICE_Y,
                                 .pattern = UNIFORM};
            run_case(&r, &c);
        }
    }
    wi_last_epoch = UINT32_MAX;
    rig_close(&r);
#else
    (void)ctx;
#endif
}

/* Each kind of data on each rung, at sizes with several tiles. */
static bool run_pattern(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = rig_of_test;
    if (!test_case_wanted(&r->random))
        return true;
    const scan_case c = {.row = row,
                         .kind = at[0] % 2 ? WEFT_EXCLUSIVE : WEFT_INCLUSIVE,
                         .type = at[1] ? WEFT_F64 : WEFT_F32,
                         .n = n,
                         .device = DEVICE_X | DEVICE_Y,
                         .pattern = (int)at[0]};
    run_case(r, &c);
    return true;
}

static void patterns(weft_context *ctx) {
    static const size_t sizes[] = {4999, 8011, 12011};
    rig r = rig_open(ctx, 23, sizes[2]);
    const test_sweep s = {.sizes = sizes,
                          .size_count = 3,
                          .ladder = &wi_exact_scan_ladder,
                          .extent = {ALL_PATTERNS, 2},
                          .must = 1,
                          .share = 40,
                          .run = run_pattern};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

/* A sum that is nearly all taken away again, down to what lies below the last of two folds, and of
 * four: 0 and some elements, small, middle and large numbers, which go in turn. */
static void shadows(weft_context *ctx) {
    enum {
        N = 9000,
        EVERY = 3000
    };
    static double x[N], y[N];
    const int middles[] = {-60, -100, -140}, smalls[] = {-180, -260, -330, -400};
    test_random r = test_random_at(25);
    for (size_t turn = 0; turn < 3 * 4; turn++) {
        if (!test_case_wanted(&r))
            continue;
        const double middle = ldexp(1, middles[turn % 3]), small = ldexp(3, smalls[turn / 3]);
        oracle o;
        oracle_clear(&o);
        memset(x, 0, sizeof x);
        x[0] = 1, x[1] = middle, x[2] = small;
        x[EVERY] = -1, x[EVERY + 1000] = ldexp(1, middles[turn % 3] - 54);
        x[2 * EVERY] = -middle;
        assert_int_equal(weft_exact_scan(ctx, WEFT_INCLUSIVE, WEFT_F64, N, x, y, NULL), WEFT_OK);
        for (size_t i = 0; i < N; i++) {
            oracle_add(&o, x[i]);
            if (y[i] != oracle_round(&o, WEFT_F64))
                fail_msg("shadows %zu on %s: y[%zu] is %a, not %a", turn, weft_place(ctx), i, y[i],
                         oracle_round(&o, WEFT_F64));
        }
    }
}

/* 1 and half last places of it that come and go, or nothing, above dust that decides every tie:
 * within the bits of f64, at their end, below them and far below; at last the 1 is taken away
 * again. On each rung. */
static void dust(weft_context *ctx) {
    enum {
        N = 4000
    };
    static float x[N], y[N];
    static const int exponents[] = {-30, -52, -56, -100};
    test_random r = test_random_at(27);
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_exact_scan_ladder, rows);
    for (size_t turn = 0; turn < 8 * count; turn++) {
        oracle o;
        oracle_clear(&o);
        memset(x, 0, sizeof x);
        x[0] = 1, x[1] = ldexpf(test_bits(&r) & 1 ? 1 : -1, exponents[turn % 4]);
        x[N - 20] = x[N - 10] = -0.5F;
        for (size_t i = 1200; i < 3000 && turn % 8 < 4; i++)
            if (test_below(&r, 4) == 0)
                x[i] = ldexpf(test_bits(&r) & 1 ? 1 : -1, -24 + (int)test_below(&r, 2));
        test_use(ctx, "exact_scan", rows[turn / 8]);
        assert_int_equal(weft_exact_scan(ctx, WEFT_INCLUSIVE, WEFT_F32, N, x, y, NULL), WEFT_OK);
        for (size_t i = 0; i < N; i++) {
            oracle_add(&o, (double)x[i]);
            if ((double)y[i] != oracle_round(&o, WEFT_F32))
                fail_msg("dust %zu on %s: y[%zu] is %a, not %a", turn, weft_place(ctx), i,
                         (double)y[i], oracle_round(&o, WEFT_F32));
        }
    }
    test_use(ctx, "exact_scan", NULL);
}

/* The last output of an inclusive scan is the exact sum, and an exclusive scan begins with init. */
static void ends(weft_context *ctx) {
    enum {
        N = 5000
    };
    test_random r = test_random_at(24);
    static double x[N], y[N];
    double sum = 0;
    const double init = 3;
    for (size_t i = 0; i < N; i++)
        x[i] = any_of(&r, -30, 30);
    assert_int_equal(weft_exact_scan(ctx, WEFT_INCLUSIVE, WEFT_F64, N, x, y, NULL), WEFT_OK);
    assert_int_equal(weft_sum(ctx, N, x, &sum), WEFT_OK);
    assert_true(sum == y[N - 1] && y[0] == x[0]);
    assert_int_equal(weft_exact_scan(ctx, WEFT_EXCLUSIVE, WEFT_F64, N, x, y, &init), WEFT_OK);
    assert_true(y[0] == init);
}

/* Enough elements for all threads to have some. */
static void test_threads(void **state) {
    static const char *const places[] = {"cpu:1", "cpu:2", "cpu:7", "cpu:16"};
    const size_t n = 700001;
    (void)state;
    if (!test_size_wanted(n))
        return;
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        weft_context *const ctx = test_open(places[k]);
        rig r = rig_open(ctx, 23, n);
        const scan_case c = {.row = test_row_named(&wi_exact_scan_ladder, "threads"),
                             .type = k % 2 ? WEFT_F64 : WEFT_F32,
                             .kind = k % 2 ? WEFT_EXCLUSIVE : WEFT_INCLUSIVE,
                             .n = n,
                             .pattern = k < 2 ? UNIFORM : SPREAD};
        run_case(&r, &c);
        rig_close(&r);
        weft_close(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(small_sizes), TEST_ON_EACH_PLACE(medium_sizes),
        TEST_ON_EACH_PLACE(groups),      TEST_ON_EACH_PLACE(patterns),
        TEST_ON_EACH_PLACE(shadows),     TEST_ON_EACH_PLACE(dust),
        TEST_ON_EACH_PLACE(ends),        TEST_ON_EACH_PLACE(epochs),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests_name("exact_scan", tests, NULL, NULL);
}
