/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of convolve, on every place: types, borders, filters of all sizes, separable or not,
 * larger than the image, one or several; channels, batches, gaps, alignments, host and device
 * memory. Outputs are compared bit by bit, as they are the same everywhere. */
#include <stdio.h>
#include <string.h>

#include "convolve/convolve.h"
#include "convolve/convolve_oracle.h"
#include "gemm/matrix_rig.h"

enum {
    X,
    Y,
    FILTER,
    ARRAYS,
    MOST_WEIGHTS = 4096,
    TILE_LOG = 14,   /* tiles of transforms have at most 2^14 pixels here, */
    TILE_ROOT = 128, /* of which this is the root */
    MOST_GAP = 5,
    MOST_OFFSET = 7,
    ALL_ON_DEVICE = 7
};

#ifdef WEFT_EMU
static const size_t most_pixels = 2500, most_products = 60000, capacity = 1 << 19;
static const unsigned share = 100;
#else
static const size_t most_pixels = 12000, most_products = 300000, capacity = 1 << 21;
static const unsigned share = 60;
#endif

static const weft_type types[] = {WEFT_U8, WEFT_U16, WEFT_F16, WEFT_F32, WEFT_F64};
static const size_t widths[] = {1,  2,   3,   5,   8,   15,  16,  17,  33,
                                64, 100, 127, 129, 161, 300, 515, 1030};
static const size_t heights[] = {1, 2, 3, 4, 7, 9, 16, 23, 33, 40};
static const size_t sides[] = {1, 2, 3, 4, 5, 6, 7, 9, 11, 15, 17, 21, 33, 37, 65};

enum {
    TYPES = sizeof types / sizeof *types,
    PAIRS = TYPES * TYPES, /* of images and outputs */
    BORDERS = 5,
    FILTERS = 3, /* any; separable; as kernels were made for */
    KINDS = 4,   /* of numbers */
    WIDTHS = sizeof widths / sizeof *widths,
    HEIGHTS = sizeof heights / sizeof *heights,
    SIDES = sizeof sides / sizeof *sides
};

/* A case: the call, and how it is made. */
typedef struct picture {
    const wi_row *row;
    oracle o;
    size_t offset[ARRAYS];
    test_pattern pattern;
    unsigned device;
    double largest; /* of x, by magnitude */
    size_t rank;    /* of the filters; 0: any */
} picture;

static double weights[MOST_WEIGHTS], columns[MOST_WEIGHTS], lines[MOST_WEIGHTS];

static const char *describe(const rig *r, const picture *p) {
    static char text[500];
    const weft_convolution *const c = &p->o.c;
    snprintf(
        text, sizeof text,
        "%s to %s on %s, variant %s, how %#x, border %d, %zu images of %zu x %zu x %u, filters "
        "%zu of %zu x %zu%s, ld %zu %zu, apart %zu %zu, offsets %zu %zu, pattern %d, device "
        "%#x",
        test_type_name(c->type), test_type_name(c->out), weft_place(r->ctx),
        p->row ? p->row->name : "auto", c->how, (int)c->border, c->images, c->width, c->height,
        c->channels, c->filters, c->filter_width, c->filter_height,
        p->o.by_factors ? " by factors" : "", c->ldx, c->ldy, c->apart_x, c->apart_y, p->offset[X],
        p->offset[Y], (int)p->pattern, p->device);
    return text;
}

static size_t elements_of(const picture *p, int array) {
    const weft_convolution *const c = &p->o.c;
    const size_t width = array == X ? c->width : oracle_width(&p->o);
    const size_t height = array == X ? c->height : oracle_height(&p->o);
    const size_t ld = array == X ? c->ldx : c->ldy, apart = array == X ? c->apart_x : c->apart_y;
    if (array == FILTER)
        return c->filters * c->filter_width * c->filter_height;
    return width && height && c->images
               ? ((c->images - 1) * apart + height - 1) * ld + width * c->channels
               : 0;
}

static weft_type type_of(const picture *p, int array) {
    return array == X ? p->o.c.type : array == Y ? p->o.c.out : WEFT_F64;
}

/* ---- drawing a case ---- */

static size_t draw_of(rig *r, const size_t *from, size_t n) {
    return from[test_below(&r->random, n)];
}

static bool is_named(const wi_row *row, const char *name) {
    return row && strcmp(row->name, name) == 0;
}

static bool is_low_rank_rung(const wi_row *row) {
    return is_named(row, "low_rank") || is_named(row, "low_rank_fused");
}

/* Are sums made in the promised order? */
static bool is_in_order(const wi_row *row) {
    return !is_named(row, "transforms") && !is_low_rank_rung(row);
}

static bool is_strips_rung(const wi_row *row) {
    return is_named(row, "rows") || is_named(row, "fused") || is_named(row, "low_rank_fused");
}

static bool is_tensor_rung(const wi_row *row) {
    return is_named(row, "tensor") || is_named(row, "quads");
}

static bool is_separable_rung(const wi_row *row) {
    return is_named(row, "two_pass") || is_named(row, "fused") || is_named(row, "separable");
}

/* Adds a product of a column and a row to a filter. */
static void add_product(rig *r, const weft_convolution *c, double *filter) {
    double row[MOST_WEIGHTS];
    for (size_t i = 0; i < c->filter_width; i++)
        row[i] = test_unit(&r->random);
    for (size_t j = 0; j < c->filter_height; j++) {
        const double column = test_unit(&r->random);
        for (size_t i = 0; i < c->filter_width; i++)
            filter[j * c->filter_width + i] += column * row[i];
    }
}

/* Weights that f32 holds, or not; of any rank (0), or sums of products of a column and a row; now
 * and then one filter of zeros. */
static void draw_weights(rig *r, const picture *p, size_t rank) {
    const weft_convolution *const c = &p->o.c;
    const size_t one = c->filter_width * c->filter_height;
    memset(weights, 0, c->filters * one * sizeof *weights);
    for (size_t f = 0; f < c->filters; f++) {
        if (test_below(&r->random, 20) == 0)
            continue;
        for (size_t t = 0; t < rank; t++)
            add_product(r, c, weights + f * one);
        for (size_t k = 0; k < one && rank == 0; k++)
            weights[f * one + k] = p->pattern == TEST_SMALL ? (double)test_below(&r->random, 7) - 3
                                                            : test_unit(&r->random);
    }
}

/* Weights that leave most outputs between the least and the largest byte. */
static void scale_down(const weft_convolution *c) {
    const size_t n = c->filters * c->filter_width * c->filter_height;
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += fabs(weights[k]);
    for (size_t k = 0; k < n && sum > 0; k++)
        weights[k] *= (double)c->filters / sum;
}

static void draw_filter(rig *r, picture *p, size_t kind) {
    weft_convolution *const c = &p->o.c;
    static const size_t made[] = {3, 5, 9};
    do {
        c->filter_width = draw_of(r, sides, SIDES);
        c->filter_height = draw_of(r, sides, SIDES);
    } while (c->filter_width * c->filter_height * 4 > MOST_WEIGHTS);
    c->filters = 1;
    if (kind == 0 && test_below(&r->random, 2))
        c->filters = c->channels * (1 + test_below(&r->random, 4 / c->channels));
    if (kind == 2 || is_strips_rung(p->row)) {
        c->filter_width = c->filter_height = draw_of(r, made, 3);
        c->filters = 1;
    }
    p->rank = kind == 1 || is_separable_rung(p->row) || test_below(&r->random, 4) == 0;
    if (is_low_rank_rung(p->row)) {
        c->filter_width = c->filter_width < 9 || kind == 2 ? 9 : c->filter_width;
        c->filter_height = c->filter_height < 9 || kind == 2 ? 9 : c->filter_height;
        p->rank = 2 + test_below(&r->random, 2);
    }
    if (is_tensor_rung(p->row)) {
        c->filter_width = 1 + test_below(&r->random, 9);
        c->filter_height =
            1 + test_below(&r->random, kind == 0 && is_named(p->row, "tensor") ? 27 : 9);
        c->filters = 1;
    }
    draw_weights(r, p, p->rank);
    if (c->out == WEFT_U8 && test_below(&r->random, 2))
        scale_down(c);
}

static void draw_places(rig *r, picture *p) {
    weft_convolution *const c = &p->o.c;
    const bool is_tidy = (test_below(&r->random, 3) == 0) != is_tensor_rung(p->row);
    const size_t gap = is_tidy ? 0 : test_below(&r->random, MOST_GAP);
    c->ldx = c->width * c->channels + gap;
    c->ldy = oracle_width(&p->o) * c->channels + (is_tidy ? 0 : test_below(&r->random, MOST_GAP));
    if (is_tidy) { /* as the fastest kernels want it */
        c->ldx = (c->ldx + 15) / 16 * 16;
        c->ldy = (c->ldy + 15) / 16 * 16;
    }
    c->apart_x = c->height + test_below(&r->random, 2) * test_below(&r->random, 3);
    c->apart_y = oracle_height(&p->o) + test_below(&r->random, 2) * test_below(&r->random, 3);
    for (int k = X; k <= Y; k++)
        p->offset[k] = is_tidy ? 0 : test_below(&r->random, MOST_OFFSET);
    p->device =
        test_below(&r->random, 4) ? ALL_ON_DEVICE : (unsigned)test_below(&r->random, ALL_ON_DEVICE);
}

static void draw_images(rig *r, picture *p, size_t width, size_t pair) {
    weft_convolution *const c = &p->o.c;
    c->type = types[pair / TYPES];
    c->out = types[pair % TYPES];
    if (is_tensor_rung(p->row))
        c->type = c->out = WEFT_U8;
    c->width = width;
    c->height = draw_of(r, heights, HEIGHTS);
    c->channels = 1 + (unsigned)test_below(&r->random, 4);
    if (is_strips_rung(p->row))
        c->channels = c->type == WEFT_U8 && test_below(&r->random, 2)
                          ? 3 + (unsigned)test_below(&r->random, 2)
                          : 1;
    if (is_named(p->row, "quads"))
        c->channels = test_below(&r->random, 2) ? 3 : 1;
    c->images = test_below(&r->random, 4) ? 1 : test_below(&r->random, 4);
    while (c->width * c->height * c->channels * (c->images ? c->images : 1) > most_pixels)
        c->height > 1 ? c->height-- : c->width--;
}

/* ---- what a rung may refuse ---- */

static bool may_refuse(const picture *p) {
    const weft_convolution *const c = &p->o.c;
    if (!p->row || is_named(p->row, "transforms"))
        return false;
    if (is_low_rank_rung(p->row) && p->o.by_factors)
        return true; /* all filters are zeros but for separable ones */
    if (is_named(p->row, "low_rank_fused"))
        return c->type != WEFT_F32 || c->channels > 1 || oracle_sums_f64(&p->o) ||
               c->filter_width != 9;
    const bool is_apart = c->ldx % 16 != 0 || p->offset[X] % 16 != 0 || !(p->device >> X & 1);
    if (is_named(p->row, "quads"))
        return is_apart || c->ldy % 16 != 0 || p->offset[Y] % 16 != 0 || !(p->device >> Y & 1) ||
               p->o.by_factors || c->how & WEFT_TRUNCATE || c->border == WEFT_BORDER_VALID;
    if (is_tensor_rung(p->row)) /* the copy of an image in host memory has no gaps */
        return is_apart
#ifdef WEFT_EMU
               || c->filter_width > 3 /* few kernels */
#endif
            ;
    if (is_separable_rung(p->row) != p->o.by_factors)
        return true;
    const bool is_taught =
        is_named(p->row, "direct") || is_named(p->row, "constant") || is_named(p->row, "tile");
    const bool is_strips = is_named(p->row, "rows") || is_named(p->row, "fused");
    if (is_taught)
        return (c->type != WEFT_U8 && c->type != WEFT_F32) || oracle_sums_f64(&p->o) ||
               c->filters > 1 ||
               (!is_named(p->row, "direct") && c->filter_width * c->filter_height > 900) ||
               (is_named(p->row, "tile") && (c->filter_width > 64 || c->filter_height > 64));
    return is_strips &&
           (oracle_sums_f64(&p->o) || c->filters > 1 || c->filter_width != c->filter_height ||
            !((c->type == WEFT_F32 && c->channels == 1) ||
              (c->type == WEFT_U8 && c->channels != 2)) ||
            c->filter_width % 2 == 0 || c->filter_width > 7 || c->filter_width == 1
#ifdef WEFT_EMU
            || true /* few kernels */
#endif
           );
}

/* ---- a case ---- */

static test_buffer *buffer_of(rig *r, const picture *p, int array) {
    return rig_buffer(r, p->device, array);
}

static void load(rig *r, picture *p) {
    for (int k = X; k <= Y; k++) {
        const size_t width = test_size_of(type_of(p, k)), n = elements_of(p, k);
        test_fill(&r->random, k == X ? p->pattern : TEST_ANY, type_of(p, k), n, r->source[k]);
        test_buffer_load(buffer_of(r, p, k), r->source[k], n * width, p->offset[k] * width);
    }
    for (size_t i = 0; i < elements_of(p, X); i++) {
        const test_value v = test_load(p->o.c.type, r->source[X], i);
        const double size = test_is_float(p->o.c.type) ? fabs(v.f) : (double)v.u;
        p->largest = size > p->largest ? size : p->largest;
    }
    memcpy(r->source[FILTER], weights, elements_of(p, FILTER) * sizeof(double));
    test_buffer_load(buffer_of(r, p, FILTER), weights, elements_of(p, FILTER) * sizeof(double), 0);
    p->o.x = r->source[X];
}

/* Is an output within the bounds of weft/convolve.h? Of sums by transforms, 2^-22 (2^-51) log2(N)
 * |f| |x| for a tile x of N pixels: here at most 2^14, so |x| is at most 128 times the largest of
 * them. Of sums by terms, 2^-24 (2^-53) (w + r h + 20) sqrt(r) |f| |x|, where x is what the filter
 * lies on. An integer may then be the next one. */
static bool is_close(const picture *p, double window, long double exact, test_value now) {
    const weft_convolution *const c = &p->o.c;
    const size_t one = c->filter_width * c->filter_height;
    double square = 0, most = INFINITY;
    for (size_t f = 0; f < c->filters; f++) {
        double sum = 0;
        for (size_t k = 0; k < one; k++)
            sum += weights[f * one + k] * weights[f * one + k];
        square = sum > square ? sum : square;
    }
    const double roundoff = oracle_sums_f64(&p->o) ? 0x1p-53 : 0x1p-24;
    const double w = (double)c->filter_width, h = (double)c->filter_height;
    const double rank = (double)p->rank;
    double allowed = 4 * roundoff * TILE_LOG * sqrt(square) * p->largest * TILE_ROOT;
    if (is_low_rank_rung(p->row))
        allowed = roundoff * (w + rank * h + 20) * sqrt(rank * square) * window;
    if (!test_is_float(c->out)) {
        allowed += 1;
        most = c->out == WEFT_U8 ? 255 : 65535;
        exact = exact < 0 ? 0 : exact > most ? most : exact;
    }
    if (c->out == WEFT_F16)
        allowed += 0x1p-25; /* half of the smallest */
    const double got = test_is_float(c->out) ? now.f : (double)now.u;
    if (isinf(got)) /* as it should be beyond the range of f16 */
        return fabsl(exact) + allowed >= test_largest_of(c->out) && (got > 0) == (exact > 0);
    return fabsl(got - exact) <= allowed + 2 * test_roundoff(c->out) * fabsl(exact);
}

static void compare_element(const rig *r, const picture *p, size_t image, size_t row, size_t column,
                            size_t channel, const unsigned char *got, unsigned char *left) {
    const weft_convolution *const c = &p->o.c;
    const size_t at = (image * c->apart_y + row) * c->ldy + column * c->channels + channel;
    const size_t width = test_size_of(c->out);
    long double exact, magnitude;
    const double sum = oracle_sum(&p->o, image, channel, row, column, &exact, &magnitude);
    const test_value right = oracle_output(&p->o, sum), now = test_load(c->out, got, at);
    memcpy(left + at * width, r->source[Y] + at * width, width);
    if (!is_in_order(p->row)) {
        const double window = oracle_window(&p->o, image, channel, row, column);
        if (!is_close(p, window, exact, now))
            fail_msg("%s: image %zu, row %zu, column %zu, channel %zu is %s, should be near %.9Lg",
                     describe(r, p), image, row, column, channel, test_text(c->out, now), exact);
        return;
    }
    if (!oracle_is_near(&p->o, sum, exact, magnitude))
        fail_msg("%s: the promised order gives %.17g, far from %.17Lg", describe(r, p), sum, exact);
    if (!test_same(c->out, right, now))
        fail_msg("%s: image %zu, row %zu, column %zu, channel %zu is %s, should be %s",
                 describe(r, p), image, row, column, channel, test_text(c->out, now),
                 test_text(c->out, right));
}

/* Every output, and that nothing between them was written. */
static void compare(rig *r, const picture *p) {
    const weft_convolution *const c = &p->o.c;
    const size_t bytes = elements_of(p, Y) * test_size_of(c->out);
    unsigned char *const got = malloc(bytes + 1), *const left = malloc(bytes + 1);
    assert_non_null(got);
    assert_non_null(left);
    memcpy(got, test_buffer_read(buffer_of(r, p, Y), describe(r, p)), bytes);
    memcpy(left, got, bytes);
    for (size_t image = 0; image < c->images; image++)
        for (size_t row = 0; row < oracle_height(&p->o); row++)
            for (size_t column = 0; column < oracle_width(&p->o); column++)
                for (size_t channel = 0; channel < c->channels; channel++)
                    compare_element(r, p, image, row, column, channel, got, left);
    if (memcmp(left, r->source[Y], bytes) != 0)
        fail_msg("%s: something between rows or images was written", describe(r, p));
    free(got);
    free(left);
}

static bool run_case(rig *r, picture *p) {
    weft_convolution call = p->o.c;
    load(r, p);
    call.filter = (const double *)(const void *)buffer_of(r, p, FILTER)->p;
    test_use(r->ctx, "convolve", p->row);
    const weft_status status =
        weft_convolve(r->ctx, &call, buffer_of(r, p, X)->p, buffer_of(r, p, Y)->p);
    if (status == WEFT_EUNSUPPORTED && may_refuse(p))
        return false;
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(r, p), weft_status_name(status), weft_message(r->ctx));
    const bool is_empty = elements_of(p, Y) == 0;
    if (!is_empty) {
        test_used(r->ctx, "convolve", p->row, describe(r, p));
        compare(r, p);
    }
    if (memcmp(test_buffer_read(buffer_of(r, p, X), describe(r, p)), r->source[X],
               elements_of(p, X) * test_size_of(call.type)) != 0)
        fail_msg("%s: x was changed", describe(r, p));
    return !is_empty;
}

/* Axes: the types of images and outputs; the border; the kind of filter; the kind of numbers. */
static bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    static const test_pattern patterns[KINDS] = {TEST_SMALL, TEST_ANY, TEST_ANY, TEST_NANS};
    rig *const r = user;
    picture p = {.row = row, .pattern = patterns[at[3]]};
    weft_convolution *const c = &p.o.c;
    c->border = (weft_border)at[1];
    c->how = (unsigned)test_below(&r->random, 16);
    if (is_strips_rung(row) || is_tensor_rung(row) || test_below(&r->random, 2))
        c->how &= ~(unsigned)WEFT_SUMS_F64;
    if (!is_in_order(row)) {
        c->how |= WEFT_ANY_ORDER;
        p.pattern = p.pattern == TEST_NANS ? TEST_ANY : p.pattern;
    }
    draw_images(r, &p, n, at[0]);
    draw_filter(r, &p, at[2]);
    c->filter = weights;
    p.o.column = columns;
    p.o.row = lines;
    if (c->width * c->height * c->channels * c->images * c->filter_width * c->filter_height >
        most_products)
        return false;
    draw_places(r, &p);
    if (row && !is_separable_rung(row) && !is_tensor_rung(row))
        c->how |= WEFT_DENSE;
    if (is_separable_rung(row) || is_low_rank_rung(row))
        c->how &= ~(unsigned)WEFT_DENSE;
    p.o.by_factors = !(c->how & WEFT_DENSE) && oracle_factor(&p.o);
    return run_case(r, &p);
}

static void all_pictures(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, capacity);
    const test_sweep s = {.sizes = widths,
                          .size_count = WIDTHS,
                          .ladder = &wi_convolve_ladder,
                          .extent = {PAIRS, BORDERS, FILTERS, KINDS},
                          .must = 1,
                          .share = share,
                          .one_in = 4,
                          .run = run_drawn};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(all_pictures),
    };
    return cmocka_run_group_tests_name("convolve", tests, NULL, NULL);
}
