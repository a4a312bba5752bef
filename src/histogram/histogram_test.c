/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of histogram's ladder, on every place: sizes, types, bins of every kind, channels,
 * alignments, both widths of counts, overwriting and adding, host and device memory, and inputs
 * concentrated in few bins. The oracle compares elements with edges in long double. */
#include "histogram/histogram.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

_Static_assert(LDBL_MANT_DIG >= 64, "the oracle needs a long double that holds every integer");

enum {
    DEVICE_X = 1,
    DEVICE_COUNTS = 2,
    DEVICE_OUTSIDE = 4,
    DEVICE_ALL = 7,
    MOST_TESTED_BINS = 400000, /* of all channels together */
    OUTSIDES = 3 * WEFT_MOST_CHANNELS,
    BEGUN_WITH = 5 /* the counts before a call that accumulates */
};

/* How the elements of a case are spread. */
typedef enum spread {
    PATTERN, /* as test_fill makes them */
    EQUAL,
    TWO_VALUES,
    ASCENDING,
    STRETCHES,
    SPREADS
} spread;

typedef enum bins_kind {
    VALUES,
    EVEN_WHOLE, /* edges at whole numbers, a power of two apart */
    EVEN_ANY,
    EVEN_NARROW, /* narrower than the precision of the elements */
    EDGES,
    EDGES_REPEATED,
    BINS_KINDS
} bins_kind;

typedef struct histogram_case {
    const wi_row *row; /* NULL: the library chooses */
    weft_type type, count_type;
    size_t n; /* pixels */
    unsigned channels;
    bins_kind kind;
    size_t bins;
    size_t offset; /* elements past a 64-byte boundary */
    weft_counting counting;
    bool has_outside;
    unsigned device;
    spread spread;
    test_pattern pattern;
} histogram_case;

typedef struct rig {
    weft_context *ctx;
    test_random random;
    test_buffer host_x, host_counts, host_outside, device_x, device_counts, device_outside;
    unsigned char *source;
    weft_bins bins;
    double *edges; /* of the oracle, always all of them */
    uint64_t *expected;
    uint64_t expected_outside[OUTSIDES];
} rig;

static rig rig_open(weft_context *ctx, size_t elements) {
    rig r = {.ctx = ctx, .random = test_random_at(5)};
    const size_t x_bytes = elements * 8, count_bytes = MOST_TESTED_BINS * sizeof(uint64_t);
    r.host_x = test_buffer_open(ctx, false, x_bytes);
    r.host_counts = test_buffer_open(ctx, false, count_bytes);
    r.host_outside = test_buffer_open(ctx, false, OUTSIDES * 8);
    if (ctx->kind == WI_CUDA) {
        r.device_x = test_buffer_open(ctx, true, x_bytes);
        r.device_counts = test_buffer_open(ctx, true, count_bytes);
        r.device_outside = test_buffer_open(ctx, true, OUTSIDES * 8);
    }
    r.source = malloc(x_bytes);
    r.edges = malloc((MOST_TESTED_BINS + 1) * sizeof *r.edges);
    r.expected = malloc(count_bytes);
    assert_true(r.source && r.edges && r.expected);
    return r;
}

static void rig_close(rig *r) {
    test_buffer_close(&r->host_x);
    test_buffer_close(&r->host_counts);
    test_buffer_close(&r->host_outside);
    if (r->ctx->kind == WI_CUDA) {
        test_buffer_close(&r->device_x);
        test_buffer_close(&r->device_counts);
        test_buffer_close(&r->device_outside);
    }
    free(r->source);
    free(r->edges);
    free(r->expected);
}

static const char *describe(const rig *r, const histogram_case *c) {
    static char text[320];
    static const char *const kinds[] = {"values",      "even whole", "even",
                                        "even narrow", "edges",      "repeated edges"};
    snprintf(text, sizeof text,
             "histogram of %s on %s, variant %s, n %zu, channels %u, %zu bins (%s) from %.17g to "
             "%.17g, offset %zu, counts of %s, %s, device %#x, spread %d, pattern %d",
             test_type_name(c->type), weft_place(r->ctx), c->row ? c->row->name : "auto", c->n,
             c->channels, c->bins, kinds[c->kind], r->edges[0], r->edges[c->bins], c->offset,
             test_type_name(c->count_type), c->counting == WEFT_ACCUMULATE ? "added" : "set",
             c->device, c->spread, c->pattern);
    return text;
}

/* ---- bins ---- */

static long double number_of(weft_type type, test_value v) {
    if (test_is_float(type))
        return v.f;
    return test_is_signed(type) ? (long double)v.i : (long double)v.u;
}

/* The formula that the header states. */
static void make_even(rig *r, size_t count, double lo, double hi) {
    r->bins = (weft_bins){.count = count, .lo = lo, .hi = hi};
    for (size_t k = 0; k <= count; k++) {
        const double product = (double)k * (hi - lo);
        const double quotient = product / (double)count;
        const double edge = lo + quotient;
        r->edges[k] = k == count || edge > hi ? hi : edge;
    }
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Edges among the elements, so that many elements are exactly at one. */
static void make_edges(rig *r, const histogram_case *c) {
    const size_t elements = c->n * c->channels;
    for (size_t k = 0; k <= c->bins; k++) {
        const size_t i = elements ? test_below(&r->random, elements) : 0;
        const double near =
            elements ? (double)number_of(c->type, test_load(c->type, r->source, i)) : (double)k;
        r->edges[k] = near == near ? near : 0;
        if (test_below(&r->random, 3) == 0)
            r->edges[k] += test_unit(&r->random);
        if (c->kind == EDGES_REPEATED && test_below(&r->random, 2))
            r->edges[k] = test_below(&r->random, 2) ? 0 : r->edges[k / 2];
    }
    if (test_below(&r->random, 4) == 0)
        r->edges[0] = -INFINITY;
    if (test_below(&r->random, 4) == 0)
        r->edges[c->bins] = INFINITY;
    qsort(r->edges, c->bins + 1, sizeof *r->edges, ascending);
    r->bins = (weft_bins){.count = c->bins, .lo = NAN, .hi = NAN, .edges = r->edges};
}

/* Where the elements are: whole numbers near 0, fractions, or all of an integer type. */
static double reach_of(const histogram_case *c) {
    if (c->pattern == TEST_SMALL)
        return 4;
    return test_is_float(c->type) ? 1 : ldexp(1, 8 * (int)test_size_of(c->type) - 1);
}

static void make_bins(rig *r, const histogram_case *c) {
    const double reach = reach_of(c);
    const bool from_zero = !test_is_float(c->type) && !test_is_signed(c->type);
    const double bits = ldexp(1, 8 * (int)test_size_of(c->type));
    switch (c->kind) {
    case VALUES:
        make_even(r, c->bins, from_zero ? 0 : -bits / 2, from_zero ? bits : bits / 2);
        break;
    case EVEN_WHOLE: {
        const double width = fmax(1, ldexp(1, ilogb(2 * reach / (double)c->bins)));
        const double lo = from_zero ? 0 : -floor(reach);
        make_even(r, c->bins, lo, lo + width * (double)c->bins);
        break;
    }
    case EVEN_ANY:
        make_even(r, c->bins, from_zero ? 0.1 * reach : -0.9 * reach, (1 + 0.3) * reach);
        break;
    case EVEN_NARROW:
        make_even(r, c->bins, 0.5 * reach, nextafter(0.5 * reach, INFINITY));
        break;
    default:
        make_edges(r, c);
    }
}

/* ---- the oracle ---- */

/* The number of edges at or below x. */
static size_t edges_below(const rig *r, size_t count, long double x) {
    size_t from = 0, to = count + 1;
    while (from < to) {
        const size_t middle = (from + to) / 2;
        if ((long double)r->edges[middle] <= x)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static void expect(rig *r, const histogram_case *c) {
    const uint64_t begin = c->counting == WEFT_ACCUMULATE ? BEGUN_WITH : 0;
    for (size_t k = 0; k < c->bins * c->channels; k++)
        r->expected[k] = begin;
    for (size_t k = 0; k < OUTSIDES; k++)
        r->expected_outside[k] = begin;
    for (size_t i = 0; i < c->n * c->channels; i++) {
        const size_t channel = i % c->channels;
        const long double x = number_of(c->type, test_load(c->type, r->source, i));
        if (x != x) {
            r->expected_outside[3 * channel + 2]++;
            continue;
        }
        const size_t below = edges_below(r, c->bins, x);
        if (below == 0)
            r->expected_outside[3 * channel]++;
        else if (below == c->bins + 1)
            r->expected_outside[3 * channel + 1]++;
        else
            r->expected[channel * c->bins + below - 1]++;
    }
}

/* ---- one case ---- */

static void copy_element(rig *r, size_t size, size_t from, size_t to) {
    memmove(r->source + to * size, r->source + from * size, size);
}

/* Runs of random values, of one value, of two, or of a repeated sequence of eight. */
static void draw_stretches(rig *r, size_t elements, size_t size) {
    for (size_t first = 0; first < elements;) {
        const size_t kind = test_below(&r->random, 4), length = test_below(&r->random, 6000);
        const size_t end = elements - first < length ? elements : first + length;
        for (size_t i = first + 8; kind > 0 && i < end; i++)
            copy_element(r, size,
                         kind == 1   ? first
                         : kind == 2 ? first + test_below(&r->random, 2)
                                     : i - 8,
                         i);
        first = end;
    }
}

static void draw(rig *r, const histogram_case *c) {
    const size_t elements = c->n * c->channels, size = test_size_of(c->type);
    test_fill(&r->random, c->pattern, c->type, elements, r->source);
    if (c->spread == STRETCHES)
        draw_stretches(r, elements, size);
    for (size_t i = 1; i < elements; i++) {
        if (c->spread == EQUAL)
            copy_element(r, size, 0, i);
        else if (c->spread == TWO_VALUES && i > 1)
            copy_element(r, size, test_below(&r->random, 2), i);
        else if (c->spread == ASCENDING && test_below(&r->random, 16) != 0)
            copy_element(r, size, i - 1, i); /* runs, as sorted data has them */
    }
}

static bool is_one_of(const wi_row *row, const char *a, const char *b, const char *c) {
    return strcmp(row->name, a) == 0 || strcmp(row->name, b) == 0 || strcmp(row->name, c) == 0;
}

/* May this rung refuse the call? Teaching rungs take few types; others have limited room for bins,
 * or do not take bytes. */
static bool may_refuse(const histogram_case *c) {
    if (!c->row || c->row->kinds & WI_ON_CPU)
        return false;
    const bool bytes = test_size_of(c->type) == 1;
    const bool teaches = is_one_of(c->row, "global", "shared", "cluster");
    const size_t counters = c->channels * (bytes && !teaches ? 256 : c->bins + 3);
    if (teaches && c->type != WEFT_U8 && !test_taught_type(c->type))
        return true;
    if (is_one_of(c->row, "partitioned", "sampled", "cached") ||
        is_one_of(c->row, "ranges", "ranges", "ranges"))
        return bytes;
    if (is_one_of(c->row, "packed", "packed", "packed") && bytes)
        return true;
    if (is_one_of(c->row, "shared", "lanes", "packed"))
        return counters > 11000; /* any GPU has room for as many */
    return is_one_of(c->row, "cluster", "cluster", "cluster");
}

static test_buffer *choose(const rig *r, const histogram_case *c, unsigned bit, test_buffer *host,
                           test_buffer *device) {
    return r->ctx->kind == WI_CUDA && (c->device & bit) ? device : host;
}

static void fill_counts(const histogram_case *c, test_buffer *b, size_t n) {
    const size_t size = test_size_of(c->count_type);
    if (c->counting == WEFT_OVERWRITE) {
        test_buffer_poison(b, n * size, size);
        return;
    }
    void *const begun = malloc(n * size);
    assert_non_null(begun);
    for (size_t k = 0; k < n; k++)
        test_store(c->count_type, begun, k, (test_value){.u = BEGUN_WITH});
    test_buffer_load(b, begun, n * size, size);
    free(begun);
}

static void compare(const rig *r, const histogram_case *c, const char *what, const void *got,
                    const uint64_t *right, size_t n) {
    for (size_t k = 0; k < n; k++) {
        const uint64_t count = test_load(c->count_type, got, k).u;
        if (count != right[k])
            fail_msg("%s: %s[%zu] is %llu, should be %llu", describe(r, c), what, k,
                     (unsigned long long)count, (unsigned long long)right[k]);
    }
}

static void run_case(rig *r, const histogram_case *c) {
    const size_t elements = c->n * c->channels, size = test_size_of(c->type);
    test_buffer *x = choose(r, c, DEVICE_X, &r->host_x, &r->device_x);
    test_buffer *counts = choose(r, c, DEVICE_COUNTS, &r->host_counts, &r->device_counts);
    test_buffer *outside = choose(r, c, DEVICE_OUTSIDE, &r->host_outside, &r->device_outside);
    draw(r, c);
    make_bins(r, c);
    test_buffer_load(x, r->source, elements * size, c->offset * size);
    fill_counts(c, counts, c->bins * c->channels);
    fill_counts(c, outside, 3 * (size_t)c->channels);
    test_use(r->ctx, "histogram", c->row);
    const weft_status status = weft_histogram(
        r->ctx, c->type, c->n, c->channels, x->p, c->kind == VALUES ? NULL : &r->bins, c->counting,
        c->count_type, counts->p, c->has_outside ? outside->p : NULL);
    if (status == WEFT_EUNSUPPORTED && may_refuse(c)) {
        test_refused(r->ctx, status, WEFT_EUNSUPPORTED, "weft_histogram", c->row->name);
        return;
    }
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(r, c), weft_status_name(status), weft_message(r->ctx));
    test_used(r->ctx, "histogram", c->row, describe(r, c));
    expect(r, c);
    compare(r, c, "counts", test_buffer_read(counts, describe(r, c)), r->expected,
            c->bins * c->channels);
    if (c->has_outside)
        compare(r, c, "outside", test_buffer_read(outside, describe(r, c)), r->expected_outside,
                3 * (size_t)c->channels);
    if (elements && memcmp(test_buffer_read(x, describe(r, c)), r->source, elements * size) != 0)
        fail_msg("%s: x was changed", describe(r, c));
}

/* ---- what to run ---- */

static bool has_values(weft_type type) {
    return test_size_of(type) <= 2 && !test_is_float(type);
}

/* The case with bins, spread, alignment and placement drawn. */
static void run_drawing(rig *r, histogram_case c) {
    static const size_t bin_counts[] = {1, 2, 3, 10, 100, 255, 256, 1000, 4096};
    static const unsigned mixtures[] = {0, DEVICE_X, DEVICE_COUNTS, DEVICE_OUTSIDE,
                                        DEVICE_COUNTS | DEVICE_OUTSIDE};
    static const test_pattern patterns[] = {TEST_SMALL, TEST_ANY, TEST_TIES, TEST_SPECIAL,
                                            TEST_NANS};
    static const weft_type count_types[] = {WEFT_U32, WEFT_U64, WEFT_I32, WEFT_I64};
    c.kind = (bins_kind)test_below(&r->random, BINS_KINDS);
    if (c.kind == VALUES && !has_values(c.type))
        c.kind = EDGES;
    c.bins = c.kind == VALUES ? (size_t)1 << 8 * test_size_of(c.type)
                              : bin_counts[test_below(&r->random, 9)];
    c.pattern = patterns[test_below(&r->random, 5)];
    c.spread = test_below(&r->random, 2) ? PATTERN : (spread)test_below(&r->random, SPREADS);
    c.offset = test_below(&r->random, 4);
    c.count_type = count_types[test_below(&r->random, 4)];
    c.counting = test_below(&r->random, 3) ? WEFT_OVERWRITE : WEFT_ACCUMULATE;
    c.has_outside = test_below(&r->random, 4) != 0;
    c.device = test_below(&r->random, 2) ? DEVICE_ALL : mixtures[test_below(&r->random, 5)];
    run_case(r, &c);
}

static bool run_at(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    run_drawing(rig_of_test,
                (histogram_case){
                    .row = row, .type = (weft_type)at[0], .channels = 1 + (unsigned)at[1], .n = n});
    return true;
}

/* Every size, row, type and number of channels, `times` over. */
static test_sweep sweep_of(const size_t *sizes, size_t count, size_t times) {
    return (test_sweep){.sizes = sizes,
                        .size_count = count,
                        .ladder = &wi_histogram_ladder,
                        .extent = {WEFT_TYPE_COUNT, WEFT_MOST_CHANNELS, times},
                        .must = 1,
                        .run = run_at};
}

static void small_sizes(weft_context *ctx) {
    rig r = rig_open(ctx, 257 * WEFT_MOST_CHANNELS);
    test_sweep s = sweep_of(test_small_sizes, test_small_size_count, 2);
    s.share = 15;
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void medium_sizes(weft_context *ctx) {
    rig r = rig_open(ctx, 16385 * WEFT_MOST_CHANNELS);
    test_sweep s = sweep_of(test_medium_sizes, test_medium_size_count, 1);
    s.must = 0;
    s.share = 40;
    s.one_in = 3;
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

static void large_sizes(weft_context *ctx) {
    static const size_t sizes[] = {100003, (1 << 20) + 7};
    if (!test_size_wanted(sizes[0]))
        return;
    rig r = rig_open(ctx, sizes[1] * WEFT_MOST_CHANNELS);
    for (size_t k = 0; k < 2; k++) {
        test_sweep s = sweep_of(&sizes[k], 1, 1);
        s.must = 0;
        s.share = 10;
        s.one_in = k == 0 ? 6 : 20;
        test_sweep_run(ctx, &r.random, &s, &r);
    }
    rig_close(&r);
}

static bool run_many_bins(void *rig_of_test, size_t n, const wi_row *row, const size_t at[]) {
    static const size_t bin_counts[] = {20000, 57000, 65536, 100000, MOST_TESTED_BINS};
    static const weft_type types[] = {WEFT_U32, WEFT_I16, WEFT_F32, WEFT_F64};
    rig *const r = rig_of_test;
    const histogram_case c = {.row = row,
                              .type = types[test_below(&r->random, 4)],
                              .count_type = WEFT_U32,
                              .n = n,
                              .channels = 1,
                              .bins = bin_counts[at[0]],
                              .spread = (spread)at[1],
                              .kind = test_below(&r->random, 2) ? EVEN_WHOLE : EVEN_ANY,
                              .pattern = TEST_ANY,
                              .has_outside = true,
                              .device = DEVICE_ALL};
    run_case(r, &c);
    return true;
}

/* More bins than one block, one cluster or a few ranges have room for, and concentrated inputs. */
static void many_bins(weft_context *ctx) {
    const size_t n = test_size_wanted(1 << 18) ? (1 << 18) + 3 : 5003;
    const test_sweep s = {.sizes = &n,
                          .size_count = 1,
                          .ladder = &wi_histogram_ladder,
                          .extent = {5, SPREADS},
                          .share = 25,
                          .run = run_many_bins};
    rig r = rig_open(ctx, n);
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

/* Counters of 16 and of 8 bits pass their limits many times over, on every block and thread. */
static void crowded_counters(weft_context *ctx) {
    const size_t n = ctx->kind == WI_CPU ? 1 << 21 : 1 << 25;
    if (!test_size_wanted(n))
        return;
    rig r = rig_open(ctx, n / 4);
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_histogram_ladder, rows);
    for (size_t k = 0; k < 2 * count; k++) {
        histogram_case c = {.row = rows[k / 2],
                            .type = WEFT_U16,
                            .count_type = WEFT_U64,
                            .n = n,
                            .channels = 1,
                            .kind = VALUES,
                            .bins = 65536,
                            .spread = k % 2 ? EQUAL : TWO_VALUES,
                            .pattern = TEST_ANY,
                            .device = DEVICE_ALL};
        run_case(&r, &c);
        c.type = WEFT_U8;
        c.bins = 256;
        run_case(&r, &c);
    }
    rig_close(&r);
}

/* The same on a device of few blocks, whose counters pass their limits with fewer elements. */
static void crowded_blocks(weft_context *ctx) {
    static const struct {
        const char *name;
        weft_type type;
        spread spread;
        size_t offset; /* in elements */
    } cases[] = {{"packed", WEFT_U16, EQUAL, 0},
                 {"ranges", WEFT_U16, EQUAL, 0},
                 {"lanes", WEFT_U8, EQUAL, 0},
                 {"lanes", WEFT_I8, PATTERN, 5}};
    const size_t n = 400000;
    if (ctx->kind != WI_CUDA)
        return;
    rig r = rig_open(ctx, n / 4);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const histogram_case c = {.row = test_row_named(&wi_histogram_ladder, cases[k].name),
                                  .type = cases[k].type,
                                  .count_type = WEFT_U32,
                                  .n = n - cases[k].offset,
                                  .channels = 1,
                                  .kind = VALUES,
                                  .bins = weft_type_size(cases[k].type) == 1 ? 256 : 65536,
                                  .offset = cases[k].offset,
                                  .spread = cases[k].spread,
                                  .pattern = TEST_ANY,
                                  .device = DEVICE_ALL};
        run_case(&r, &c);
    }
    rig_close(&r);
}

/* Bytes that are enough for every thread to count them by pairs, at any alignment. */
static void many_bytes(weft_context *ctx) {
    const size_t n = (1 << 21) + 4999;
    if (!test_size_wanted(n))
        return;
    rig r = rig_open(ctx, n / 8 + 8);
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_histogram_ladder, rows);
    for (size_t k = 0; k < count * SPREADS; k++) {
        const histogram_case c = {.row = rows[k % count],
                                  .type = k / count % 2 ? WEFT_I8 : WEFT_U8,
                                  .count_type = k % 3 ? WEFT_U64 : WEFT_U32,
                                  .n = n - test_below(&r.random, 2000),
                                  .channels = 1,
                                  .kind = VALUES,
                                  .bins = 256,
                                  .offset = test_below(&r.random, 64),
                                  .counting = k % 5 ? WEFT_OVERWRITE : WEFT_ACCUMULATE,
                                  .spread = (spread)(k / count),
                                  .pattern = TEST_ANY,
                                  .device = DEVICE_ALL};
        run_case(&r, &c);
    }
    rig_close(&r);
}

/* Whole numbers beyond 2^53 fall on the right side of an edge that f64 holds. */
static void wide_integers(weft_context *ctx) {
    const uint64_t top = UINT64_C(1) << 63;
    const uint64_t x[] = {top - 1, top, top + 1, UINT64_MAX, 0, UINT64_MAX - 1};
    const double edges[] = {0, 0x1p63, nextafter(0x1p63, INFINITY), 0x1p64};
    const weft_bins bins = {.count = 3, .edges = edges};
    uint64_t counts[3], outside[3];
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_histogram_ladder, rows);
    for (size_t k = 0; k < count; k++) {
        test_use(ctx, "histogram", rows[k]);
        const weft_status status = weft_histogram(ctx, WEFT_U64, 6, 1, x, &bins, WEFT_OVERWRITE,
                                                  WEFT_U64, counts, outside);
        if (status == WEFT_EUNSUPPORTED)
            continue;
        assert_int_equal(status, WEFT_OK);
        assert_true(counts[0] == 2 && counts[1] == 2 && counts[2] == 2);
        assert_true(outside[0] == 0 && outside[1] == 0 && outside[2] == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(small_sizes),      TEST_ON_EACH_PLACE(medium_sizes),
        TEST_ON_EACH_PLACE(large_sizes),      TEST_ON_EACH_PLACE(many_bins),
        TEST_ON_EACH_PLACE(crowded_counters), TEST_ON_EACH_PLACE(many_bytes),
        TEST_ON_EACH_PLACE(wide_integers),    TEST_ON_EACH_PLACE(crowded_blocks),
    };
    return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
