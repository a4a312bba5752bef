/* SPDX-License-Identifier: Apache-2.0 */
/* Every rung of fft, on every place: lengths of all kinds, dimensions, strides, batches, in place
 * and not, host and device memory; against long double, within eps sqrt(log2 n). */
#include <stdio.h>
#include <string.h>

#include "fft/fft.h"
#include "fft/fft_oracle.h"
#include "gemm/matrix_rig.h"
#include "limits.h"

enum {
    X,
    Y,
    ARRAYS,
    KINDS = 4 /* forward, inverse, to complex, to real */
};

#ifdef WEFT_EMU
static const size_t most_numbers = 6000, most_defined = 128;
#else
static const size_t most_numbers = 70000, most_defined = 600;
#endif
static const size_t capacity = 1 << 23;

static const size_t lengths[] = {
    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,    12,    13,    14,    15,
    16,   17,   18,   20,   25,   27,   30,   32,   37,   48,   49,    64,    81,    97,    100,
    121,  128,  143,  169,  210,  243,  256,  360,  509,  512,  625,   729,   1000,  1001,  1021,
    1024, 1331, 2048, 2187, 2401, 3125, 4096, 4098, 4608, 8192, 10007, 16384, 19683, 32768, 65536};

/* A case: the call, and where its arrays are. */
typedef struct picture {
    const wi_row *row;
    weft_fft_description d; /* strides filled in */
    size_t offset[ARRAYS];
    bool in_place;
    unsigned device;
} picture;

static bool is_real(const weft_fft_description *d, int array) {
    return d->kind == (array == X ? WEFT_FFT_REAL_TO_COMPLEX : WEFT_FFT_COMPLEX_TO_REAL);
}

static size_t length_of(const weft_fft_description *d, int array, unsigned k) {
    return d->kind != WEFT_FFT_COMPLEX && !is_real(d, array) && k + 1 == d->rank ? d->n[k] / 2 + 1
                                                                                 : d->n[k];
}

static size_t numbers_of(const weft_fft_description *d) {
    size_t n = 1;
    for (unsigned k = 0; k < d->rank; k++)
        n *= d->n[k];
    return n;
}

static const char *describe(const rig *r, const picture *p) {
    static char text[600];
    const weft_fft_description *const d = &p->d;
    snprintf(
        text, sizeof text,
        "%s on %s, variant %s, kind %d, direction %d, rank %u of %zu x %zu x %zu, batch %zu, "
        "strides %zu %zu %zu and %zu %zu %zu, apart %zu %zu, offsets %zu %zu, scale %g%s, device "
        "%#x",
        test_type_name(d->type), weft_place(r->ctx), p->row ? p->row->name : "auto", (int)d->kind,
        (int)d->direction, d->rank, d->n[0], d->n[1], d->n[2], d->batch, d->stride_x[0],
        d->stride_x[1], d->stride_x[2], d->stride_y[0], d->stride_y[1], d->stride_y[2], d->apart_x,
        d->apart_y, p->offset[X], p->offset[Y], d->scale, p->in_place ? ", in place" : "",
        p->device);
    return text;
}

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

static bool is_named(const wi_row *row, const char *name) {
    return row && strcmp(row->name, name) == 0;
}

/* A sum of products for each result. */
static bool is_defined(const wi_row *row) {
    return is_named(row, "definition") || is_named(row, "sums");
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

/* ---- a case ---- */

static size_t elements_of(const picture *p, int array) {
    const weft_fft_description *const d = &p->d;
    const size_t *const strides = array == X ? d->stride_x : d->stride_y;
    size_t last = (d->batch - 1) * (array == X ? d->apart_x : d->apart_y);
    for (unsigned k = 0; k < d->rank; k++)
        last += (length_of(d, array, k) - 1) * strides[k];
    return last + 1;
}

static size_t reals_of(const picture *p, int array) {
    size_t reals[ARRAYS];
    for (int k = X; k <= Y; k++)
        reals[k] = elements_of(p, k) * (is_real(&p->d, k) ? 1 : 2);
    if (p->in_place)
        return reals[X] > reals[Y] ? reals[X] : reals[Y];
    return reals[array];
}

/* Element `i` of transform `t`, counted as in a dense array of the kept lengths. */
static size_t place_of(const weft_fft_description *d, int array, size_t t, size_t i) {
    const size_t *const strides = array == X ? d->stride_x : d->stride_y;
    size_t at = t * (array == X ? d->apart_x : d->apart_y);
    for (unsigned k = d->rank; k > 0; k--) {
        const size_t n = length_of(d, array, k - 1);
        at += i % n * strides[k - 1];
        i /= n;
    }
    return at;
}

static oracle_number number_at(const weft_fft_description *d, int array, const void *p, size_t at) {
    if (is_real(d, array))
        return (oracle_number){test_load(d->type, p, at).f, 0};
    return (oracle_number){test_load(d->type, p, 2 * at).f, test_load(d->type, p, 2 * at + 1).f};
}

/* The whole input of transform t as complex numbers; halves are completed. */
static void whole_input(const picture *p, const void *x, size_t t, oracle_number *to) {
    const weft_fft_description *const d = &p->d;
    const size_t n = numbers_of(d), last = d->n[d->rank - 1];
    for (size_t i = 0; i < n; i++) {
        const bool is_missing = d->kind == WEFT_FFT_COMPLEX_TO_REAL && i % last > last / 2;
        size_t from = 0, rest = i, step = 1;
        for (unsigned k = d->rank; k > 0; k--) {
            const size_t at = rest % d->n[k - 1];
            from += (is_missing ? (d->n[k - 1] - at) % d->n[k - 1] : at) * step;
            rest /= d->n[k - 1];
            step *= length_of(d, X, k - 1);
        }
        to[i] = number_at(d, X, x, place_of(d, X, t, from));
        if (is_missing)
            to[i].im = -to[i].im;
    }
}

/* What a complex to real transform reads must be the half of a real one's transform. */
static void make_half(picture *p, void *x) {
    const weft_fft_description *const d = &p->d;
    const size_t n = numbers_of(d), last = d->n[d->rank - 1], half = last / 2 + 1;
    const long double scale =
        d->type == WEFT_F16 ? 1 / sqrtl((long double)n) : 1; /* or it overflows */
    oracle_number *const whole = malloc(n * sizeof *whole);
    assert_non_null(whole);
    for (size_t t = 0; t < d->batch; t++) {
        whole_input(p, x, t, whole);
        for (size_t i = 0; i < n; i++)
            whole[i] = (oracle_number){whole[i].re + whole[i].im, 0};
        oracle_all(whole, d->n, d->rank, false);
        for (size_t i = 0; i < n / last * half; i++) {
            const size_t at = place_of(d, X, t, i);
            const oracle_number v = whole[i / half * last + i % half];
            test_store(d->type, x, 2 * at, (test_value){.f = (double)(v.re * scale)});
            test_store(d->type, x, 2 * at + 1, (test_value){.f = (double)(v.im * scale)});
        }
    }
    free(whole);
}

static void compare(rig *r, const picture *p, const void *got) {
    const weft_fft_description *const d = &p->d;
    const size_t n = numbers_of(d), width = test_size_of(d->type);
    const size_t reals = reals_of(p, Y);
    const bool is_inverse = d->kind == WEFT_FFT_COMPLEX_TO_REAL || d->direction == WEFT_FFT_INVERSE;
    oracle_number *const right = malloc(n * sizeof *right);
    unsigned char *const left = malloc(reals * width);
    long double wrong = 0, size = 0, scale = d->scale == 0 ? 1 : d->scale;
    const size_t last = d->n[d->rank - 1], kept = length_of(d, Y, d->rank - 1);
    assert_non_null(right);
    assert_non_null(left);
    memcpy(left, got, reals * width);
    for (size_t t = 0; t < d->batch; t++) {
        whole_input(p, r->source[X], t, right);
        oracle_all(right, d->n, d->rank, is_inverse);
        for (size_t i = 0; i < n / last * kept; i++) {
            const size_t at = place_of(d, Y, t, i);
            const oracle_number v = right[i / kept * last + i % kept];
            const oracle_number now = number_at(d, Y, got, at);
            const long double re = now.re - v.re * scale,
                              im = is_real(d, Y) ? 0 : now.im - v.im * scale;
            wrong += re * re + im * im;
            size += (v.re * v.re + (is_real(d, Y) ? 0 : v.im * v.im)) * scale * scale;
            const size_t numbers = is_real(d, Y) ? 1 : 2;
            memcpy(left + at * numbers * width, r->source[Y] + at * numbers * width,
                   numbers * width);
        }
    }
    /* The definition sums up in f64 one by one. */
    const double sums = is_defined(p->row) ? 0x1p-53 * sqrt((double)n) : 0;
    /* Arithmetic on f16 is that of f32; then each result is rounded, small ones to a multiple. */
    const bool is_half = d->type == WEFT_F16;
    const double u = test_roundoff(is_half ? WEFT_F32 : d->type);
    const double rounding =
        is_half ? test_roundoff(WEFT_F16) + test_half_tiny(WEFT_F16) *
                                                sqrt((double)(n / last * kept * 2 * d->batch)) /
                                                (double)sqrtl(size)
                : 0;
    const double allowed = 2 * u * sqrt(log2((double)n) + 3) + sums + rounding;
    if (!(sqrtl(wrong) <= allowed * sqrtl(size)))
        fail_msg("%s: rms error %.3Lg of the results, allowed is %.3g", describe(r, p),
                 sqrtl(wrong / size), allowed);
    if (!(p->in_place && d->kind != WEFT_FFT_COMPLEX) &&
        memcmp(left, r->source[Y], reals * width) != 0)
        fail_msg("%s: something between the elements of y was written", describe(r, p));
    free(right);
    free(left);
}

static void load(rig *r, picture *p) {
    const weft_type type = p->d.type;
    for (int k = X; k <= Y; k++) {
        test_fill(&r->random, TEST_ANY, type, reals_of(p, k), r->source[k]);
        if (k == X && p->d.kind == WEFT_FFT_COMPLEX_TO_REAL)
            make_half(p, r->source[X]);
    }
    if (p->in_place)
        memcpy(r->source[Y], r->source[X], reals_of(p, X) * test_size_of(type));
    for (int k = X; k <= Y; k++)
        test_buffer_load(rig_buffer(r, p->device, k), r->source[k],
                         reals_of(p, k) * test_size_of(type), p->offset[k]);
}

static bool run_case(rig *r, picture *p) {
    load(r, p);
    test_buffer *const y = rig_buffer(r, p->device, Y);
    test_buffer *const x = p->in_place ? y : rig_buffer(r, p->device, X);
    test_use(r->ctx, "fft", p->row);
    const weft_status status = weft_fft(r->ctx, &p->d, x->p, y->p);
    if (status != WEFT_OK)
        fail_msg("%s: %s: %s", describe(r, p), weft_status_name(status), weft_message(r->ctx));
    test_used(r->ctx, "fft", p->row, describe(r, p));
    compare(r, p, test_buffer_read(y, describe(r, p)));
    if (!p->in_place && memcmp(test_buffer_read(x, describe(r, p)), r->source[X],
                               reals_of(p, X) * test_size_of(p->d.type)) != 0)
        fail_msg("%s: x was changed", describe(r, p));
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

/* ---- long lines ---- */

/* Lines that a cluster holds, and groups of lines for a cache, which on emu is small here:
 * contiguous ones and columns. */
static void run_long(rig *r, const wi_row *row, weft_type type, size_t n, size_t batch,
                     bool across) {
    picture p = {.row = row, .device = 3};
    weft_fft_description *const d = &p.d;
    d->type = type;
    d->rank = 1;
    d->n[0] = n;
    d->n[1] = d->n[2] = 1;
    d->batch = batch;
    d->direction = test_below(&r->random, 2) ? WEFT_FFT_INVERSE : WEFT_FFT_FORWARD;
    d->stride_x[0] = d->stride_y[0] = across ? batch : 1;
    d->apart_x = d->apart_y = across ? 1 : n;
    p.in_place = test_below(&r->random, 2);
    run_case(r, &p);
}

/* Of f16: lines and columns, by kernels for a length, for any length and for large primes. */
static void run_halves(rig *r, const wi_row *row) {
    run_long(r, row, WEFT_F16, 1 << 13, 1, false);
    run_long(r, row, WEFT_F16, 1 << 12, 3, true);
    run_long(r, row, WEFT_F16, 1021, 3, false);
    run_long(r, row, WEFT_F16, 1000, 3, false);
    run_long(r, row, WEFT_F16, 16807, 1, false);
}

/* Several groups, the last one smaller; on a GPU by each of the kernels. */
static void run_fused(rig *r, const wi_row *row, weft_type type) {
#ifdef WEFT_EMU
    if (type != WEFT_F32) {
        run_long(r, row, type, 1 << 13, 5, type == WEFT_F64);
        return;
    }
    run_long(r, row, type, 1 << 15, 2, false);
    run_long(r, row, type, 1 << 11, 69, true);
#else
    for (unsigned bits = 11; bits < 20; bits++)
        run_long(r, row, type, (size_t)1 << bits, ((size_t)3 << 17 >> bits) + (bits > 18),
                 bits % 2 || bits < 15);
#endif
}

/* Lines in clusters, and groups of them; on emu, which takes long for them, some by each type. */
static void run_clusters(rig *r, const wi_row *row, weft_type type) {
    const size_t least = (size_t)1 << (type == WEFT_F64 ? 14 : 15);
#ifdef WEFT_EMU
    if (type == WEFT_F16) {
        run_long(r, row, type, least, 1, false);
        return;
    }
#endif
    run_long(r, row, type, least, 2, false);
    run_long(r, row, type, 2 * least, 1, false);
    run_long(r, row, type, type == WEFT_F64 ? 19683 : 16807, 1, false);
#ifndef WEFT_EMU
    run_long(r, row, type, 4 * least, 1, false);
    run_long(r, row, type, 8 * least, 1, false);
    run_long(r, row, type, 19683, 3, false);
    run_long(r, row, type, 16807, 3, false);
#endif
}

static void run_pieces(rig *r, const wi_row *row, weft_type type) {
#ifdef WEFT_EMU
    run_long(r, row, type, 1 << (type == WEFT_F64 ? 13 : 15), type == WEFT_F64 ? 5 : 2,
             type == WEFT_F64);
#else
    run_long(r, row, type, 1 << 15, 2, false);
    run_long(r, row, type, 1 << 13, 5, true);
    run_long(r, row, type, 1 << 17, 1, false);
    run_long(r, row, type, 1 << 16, 2, true);
#endif
}

static void long_lines(weft_context *ctx) {
    rig r = rig_open(ctx, ARRAYS, capacity);
    const wi_row *rows[TEST_MAX_ROWS];
    const size_t count = test_rows(ctx, &wi_fft_ladder, rows);
    static const weft_type types[] = {WEFT_F32, WEFT_F64, WEFT_F16};
#ifdef WEFT_EMU
    const size_t kept = wi_fft_kept_bytes;
    wi_fft_kept_bytes = 1 << 16;
#endif
    for (size_t k = 0; k < count; k++) {
        const char *const name = rows[k] ? rows[k]->name : "";
        const bool is_cluster = strcmp(name, "clusters") == 0;
        const bool is_fused = strcmp(name, "fused") == 0;
        if (!is_cluster && !is_fused && strcmp(name, "cached") != 0 && strcmp(name, "threads") != 0)
            continue;
        if (!is_cluster && !is_fused)
            run_halves(&r, rows[k]);
        for (int t = 0; t < 3; t++) {
            const weft_type type = types[t];
            if (is_fused)
                run_fused(&r, rows[k], type);
            else if (is_cluster)
                run_clusters(&r, rows[k], type);
            else
                run_pieces(&r, rows[k], type);
        }
    }
#ifdef WEFT_EMU
    wi_fft_kept_bytes = kept;
#endif
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
        TEST_ON_EACH_PLACE(long_lines),
        TEST_ON_EACH_PLACE(halves_overflow),
    };
    return cmocka_run_group_tests_name("fft", tests, NULL, NULL);
}
