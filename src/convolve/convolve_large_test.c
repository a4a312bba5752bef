/* SPDX-License-Identifier: Apache-2.0 */
/* Images so large that the cpu writes outputs past its caches, aligned or not, with several
 * channels and every kind of border. Some whole rows, and outputs near the borders, must have the
 * bits of the oracle, and the gaps between rows must keep what they held. */
#include <stdio.h>
#include <string.h>

#include "convolve/convolve_oracle.h"

enum {
    ROW = 2112, /* elements of a row of 4 bytes each; half as many of 8 */
    ROWS = 2050,
    EDGE = 80,      /* elements at both ends of a row */
    FULL_ROWS = 61, /* one row in so many is compared from end to end, */
    EDGE_ROWS = 7,  /* and one in so many at both ends */
    MOST_SIDE = 13,
    LINE = 16, /* elements: where `even` says so, rows of y are a multiple of them apart */
    MARK = 0x5a
};

typedef struct layout {
    weft_type type, out;
    unsigned channels;
    bool even;          /* all rows of y begin at the same place in a cache line */
    size_t gap, offset; /* elements between rows of y, and before the first */
} layout;

static const layout layouts[] = {
    {WEFT_F32, WEFT_F32, 1, true, 0, 0},  {WEFT_F32, WEFT_F32, 1, true, 16, 5},
    {WEFT_F32, WEFT_F32, 1, false, 3, 0}, {WEFT_F32, WEFT_F32, 3, true, 0, 0},
    {WEFT_F32, WEFT_F32, 4, true, 32, 7}, {WEFT_F64, WEFT_F64, 1, true, 0, 3},
    {WEFT_F32, WEFT_F64, 1, false, 1, 0}, {WEFT_F64, WEFT_F64, 2, true, 8, 1},
};

/* Rows and columns of filters: some are unrolled, others have any width. */
static const size_t filters[][2] = {{3, 3}, {5, 5}, {7, 7}, {9, 6}, {5, 13}, {12, 1}};

static double weights[MOST_SIDE * MOST_SIDE];

/* Is element `at` of n in a row compared? All are near the upper and the lower border, and in a row
 * of FULL_ROWS. */
static bool is_compared(size_t row, size_t rows, size_t at, size_t n) {
    if (row < 2 * MOST_SIDE || row + 2 * MOST_SIDE >= rows || row % FULL_ROWS == 0)
        return true;
    return row % EDGE_ROWS == 0 && (at < EDGE || at + EDGE >= n);
}

static void compare(const oracle *o, const char *what, const unsigned char *y) {
    const size_t n = oracle_width(o) * o->c.channels, rows = oracle_height(o);
    const size_t size = test_size_of(o->c.out);
    for (size_t row = 0; row < rows; row++) {
        const unsigned char *const line = y + row * o->c.ldy * size;
        for (size_t at = 0; at < n; at++) {
            long double exact, magnitude;
            if (!is_compared(row, rows, at, n))
                continue;
            const double sum =
                oracle_sum(o, 0, at % o->c.channels, row, at / o->c.channels, &exact, &magnitude);
            const test_value right = oracle_output(o, sum), now = test_load(o->c.out, line, at);
            if (!test_same(o->c.out, right, now))
                fail_msg("%s: row %zu, element %zu is %s, should be %s", what, row, at,
                         test_text(o->c.out, now), test_text(o->c.out, right));
        }
        for (size_t k = n * size; k < o->c.ldy * size && row + 1 < rows; k++)
            if (line[k] != MARK)
                fail_msg("%s: something behind row %zu was written", what, row);
    }
}

static void run_layout(weft_context *ctx, test_random *random, const layout *l,
                       const size_t side[2]) {
    const size_t size = test_size_of(l->type), out = test_size_of(l->out);
    const size_t width = ROW * sizeof(float) / out / l->channels;
    oracle o = {.c = {.type = l->type,
                      .out = l->out,
                      .width = width,
                      .height = ROWS,
                      .channels = l->channels,
                      .images = 1,
                      .ldx = width * l->channels + test_below(random, 2) * 3,
                      .border = (weft_border)test_below(random, WEFT_BORDER_VALID + 1),
                      .how = WEFT_DENSE | (test_below(random, 2) ? WEFT_CORRELATE : 0),
                      .filter_width = side[1],
                      .filter_height = side[0],
                      .filter = weights}};
    char what[200];
    o.c.ldy = oracle_width(&o) * l->channels + l->gap;
    if (l->even)
        o.c.ldy = (o.c.ldy + LINE - 1) / LINE * LINE;
    const size_t n = o.c.ldx * ROWS, bytes = (l->offset + o.c.ldy * ROWS) * out;
    void *const x = malloc(n * size);
    unsigned char *const y = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    assert_non_null(x);
    assert_non_null(y);
    memset(y, MARK, bytes);
    test_fill(random, TEST_ANY, l->type, n, x);
    for (size_t k = 0; k < side[0] * side[1]; k++)
        weights[k] = test_unit(random);
    o.x = x;
    snprintf(
        what, sizeof what,
        "%s to %s, %u channels, filter %zu x %zu, border %d, how %#x, ldx %zu, ldy %zu, offset %zu",
        test_type_name(l->type), test_type_name(l->out), l->channels, side[0], side[1],
        (int)o.c.border, o.c.how, o.c.ldx, o.c.ldy, l->offset);
    assert_int_equal(weft_convolve(ctx, &o.c, x, y + l->offset * out), WEFT_OK);
    compare(&o, what, y + l->offset * out);
    for (size_t k = 0; k < l->offset * out; k++)
        assert_int_equal(y[k], MARK);
    free(x);
    free(y);
}

static void large_images(void **state) {
    test_random random = test_random_at(1);
    weft_context *ctx;
    (void)state;
    if (!test_size_wanted((size_t)ROW * ROWS))
        return;
    assert_int_equal(weft_open(&ctx, "cpu:2"), WEFT_OK);
    assert_int_equal(weft_use(ctx, "convolve", "threads"), WEFT_OK);
    const size_t count = sizeof filters / sizeof *filters, turn = test_below(&random, count);
    for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++)
        run_layout(ctx, &random, &layouts[k], filters[(k + turn) % count]);
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_images),
    };
    return cmocka_run_group_tests_name("convolve_large", tests, NULL, NULL);
}
