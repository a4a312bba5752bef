/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of fft, on every place: lengths of all kinds, dimensions, strides, batches, in place
 * and not, host and device memory; against long double. fft_long_test.c has long lines. */
#include "fft/fft_case.h"

enum {
    KINDS = 4 /* forward, inverse, to complex, to real */
};

#ifdef WEFT_EMU
static const size_t most_numbers = 6000, most_defined = 128;
#else
static const size_t most_numbers = 70000, most_defined = 600;
#endif

static const size_t lengths[] = {
    1,    2,    3,    4,    5,    6,    7,    8,     9,     10,    11,    12,   13,   14,
    15,   16,   17,   18,   19,   20,   23,   25,    27,    29,    30,    31,   32,   34,
    37,   48,   49,   60,   64,   81,   84,   97,    100,   121,   128,   132,  143,  149,
    169,  210,  243,  256,  277,  282,  323,  360,   380,   509,   512,   625,  729,  870,
    961,  1000, 1001, 1021, 1024, 1031, 1188, 1331,  2048,  2053,  2187,  2401, 3125, 3145,
    4091, 4096, 4098, 4608, 5003, 5390, 8192, 10007, 16384, 19683, 32768, 65536};

/* ---- drawing a case ---- */

/* Dimensions in a random order, with gaps or without. */
static void draw_strides(rig *r, weft_fft_description *d, int array, bool has_gaps) {
    size_t *const strides = array == X ? d->stride_x : d->stride_y;
    size_t step = has_gaps ? 1 + test_below(&r->random, 3) : 1;
    for (unsigned k = d->rank; k > 0; k--) {
        strides[k - 1] = step;
        step *= length_of(d, array, k - 1) + (has_gaps ? test_below(&r->random, 3) : 0);
    }
    if (has_gaps && d->rank > 1 && test_below(&r->random, 3) == 0) { /* the batch innermost */
        for (unsigned k = 0; k < d->rank; k++)
            strides[k] *= d->batch;
        step = 1;
    }
    *(array == X ? &d->apart_x : &d->apart_y) = step;
}

/* Strides of both that put rows at the same addresses. */
static void draw_in_place(rig *r, weft_fft_description *d) {
    const bool has_gaps = test_below(&r->random, 2);
    if (d->kind == WEFT_FFT_COMPLEX) {
        draw_strides(r, d, X, has_gaps);
        memcpy(d->stride_y, d->stride_x, sizeof d->stride_y);
        d->apart_y = d->apart_x;
        return;
    }
    const int real = is_real(d, X) ? X : Y;
    size_t *const of_real = real == X ? d->stride_x : d->stride_y;
    size_t *const of_complex = real == X ? d->stride_y : d->stride_x;
    size_t step = 1;
    for (unsigned k = d->rank; k > 0; k--) {
        of_complex[k - 1] = step;
        of_real[k - 1] = k == d->rank ? 1 : 2 * step;
        step *= length_of(d, !real, k - 1) + (has_gaps ? test_below(&r->random, 3) : 0);
    }
    *(real == X ? &d->apart_x : &d->apart_y) = 2 * step;
    *(real == X ? &d->apart_y : &d->apart_x) = step;
}

static bool needs_powers(const wi_row *row) {
    return is_named(row, "radix2") || is_named(row, "stages") || is_named(row, "shared");
}

static size_t draw_length(rig *r, const picture *p, size_t most) {
    size_t n;
    do {
        n = lengths[test_below(&r->random, sizeof lengths / sizeof *lengths)];
    } while (n > most || (needs_powers(p->row) && (n & (n - 1))));
    return n;
}

static bool draw_lengths(rig *r, picture *p, size_t n, size_t rank) {
    weft_fft_description *const d = &p->d;
    const size_t most = is_defined(p->row) ? most_defined : most_numbers;
    if (n > most || (needs_powers(p->row) && (n & (n - 1))))
        return false;
    d->rank = (unsigned)rank + 1;
    for (unsigned k = 0; k < d->rank; k++)
        d->n[k] = 1;
    d->n[test_below(&r->random, d->rank)] = n;
    for (unsigned k = 0; k < d->rank; k++)
        if (d->n[k] == 1)
            d->n[k] = draw_length(r, p, most / numbers_of(d));
    const size_t room = most / numbers_of(d);
    d->batch = test_below(&r->random, 3) ? 1 + test_below(&r->random, room < 40 ? room : 40) : 1;
    return true;
}

/* Axes: the type; what is transformed into what; dimensions. */
static bool run_drawn(void *user, size_t n, const wi_row *row, const size_t at[]) {
    rig *const r = user;
    picture p = {.row = row};
    weft_fft_description *const d = &p.d;
    static const weft_type types[] = {WEFT_F32, WEFT_F64, WEFT_F16};
    d->type = types[at[0]];
    d->kind = at[1] < 2 ? WEFT_FFT_COMPLEX : (weft_fft_kind)(at[1] - 1);
    d->direction = at[1] == 1 ? WEFT_FFT_INVERSE : WEFT_FFT_FORWARD;
    if (!draw_lengths(r, &p, n, at[2]))
        return false;
    d->scale = test_below(&r->random, 2) ? 0 : 1 / (double)numbers_of(d);
    p.in_place = test_below(&r->random, 3) == 0;
    if (p.in_place)
        draw_in_place(r, d);
    for (int k = X; k <= Y && !p.in_place; k++)
        draw_strides(r, d, k, test_below(&r->random, 2));
    for (int k = X; k <= Y; k++)
        p.offset[k] = test_below(&r->random, 3) * (is_real(d, k) && !p.in_place ? 1 : 2) *
                      test_size_of(d->type);
    p.device = (unsigned)test_below(&r->random, 4);
    if (reals_of(&p, X) * 8 > capacity || reals_of(&p, Y) * 8 > capacity)
        return false;
    return run_case(r, &p);
}

static void all_pictures(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, capacity);
    const test_sweep s = {.sizes = lengths,
                          .size_count = sizeof lengths / sizeof *lengths,
                          .ladder = &wi_fft_ladder,
                          .extent = {3, KINDS, WEFT_FFT_DIMENSIONS},
                          .must = 3,
                          .share = 60,
                          .one_in = 4,
                          .run = run_drawn};
    test_sweep_run(ctx, &r.random, &s, &r);
    rig_close(&r);
}

/* ---- f16 ---- */

/* Sums beyond the largest f16 are infinite, unless they are scaled: that comes before rounding. */
static void halves_overflow(weft_context *ctx) {
    enum {
        N = 4096
    };
    static const uint16_t four = 0x4400, infinite = 0x7c00;
    static uint16_t x[2 * N], y[2 * N];
    weft_fft_description d = {.type = WEFT_F16, .rank = 2, .n = {N / 2, 2}, .batch = 1};
    for (size_t k = 0; k < N; k++)
        x[2 * k] = x[2 * k + 1] = four;
    for (int scaled = 0; scaled < 2; scaled++) {
        memset(y, TEST_POISON, sizeof y);
        d.scale = scaled ? 1.0 / N : 8;
        const weft_status status = weft_fft(ctx, &d, x, y);
        if (status != WEFT_OK)
            fail_msg("%s", weft_message(ctx));
        assert_int_equal(y[0], scaled ? four : infinite);
        assert_int_equal(y[1], scaled ? four : infinite);
        for (size_t k = 2; k < sizeof y / sizeof *y; k++)
            assert_int_equal(y[k] & 0x7fff, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(all_pictures),
        TEST_ON_EACH_PLACE(halves_overflow),
    };
    return cmocka_run_group_tests_name("fft", tests, NULL, NULL);
}
