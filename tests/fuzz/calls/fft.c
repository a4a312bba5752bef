/* SPDX-License-Identifier: Apache-2.0 */
/* weft_fft, compared with the sums of its definition. */
#include "calls/calls.h"

#include <math.h>
#include <string.h>

enum {
    CPU_POINTS = 600, /* of a transform: the oracle takes their square */
    GPU_POINTS = 200,
    MOST_BATCH = 3
};

typedef struct number {
    long double re, im;
} number;

/* exp(-+2 pi i sum of j k / n), for the indices of two points. */
static number root(const weft_fft_description *d, bool inverse, size_t j, size_t k) {
    long double turns = 0;
    for (unsigned r = d->rank; r-- > 0;) {
        turns += (long double)(j % d->n[r] * (k % d->n[r]) % d->n[r]) / (long double)d->n[r];
        j /= d->n[r];
        k /= d->n[r];
    }
    const long double angle = 2 * acosl(-1.0L) * turns;
    return (number){cosl(angle), inverse ? sinl(angle) : -sinl(angle)};
}

static size_t points(const weft_fft_description *d) {
    size_t all = 1;
    for (unsigned r = 0; r < d->rank; r++) {
        all *= d->n[r];
    }
    return all;
}

/* Only elements 0 to n / 2 of the last dimension of a transform of real numbers are kept. */
static size_t kept(const weft_fft_description *d) {
    const size_t last = d->n[d->rank - 1];
    return points(d) / last * (last / 2 + 1);
}

/* The point of the whole transform that element k of its kept half is. */
static size_t whole_index(const weft_fft_description *d, size_t k) {
    const size_t last = d->n[d->rank - 1], half = last / 2 + 1;
    return k / half * last + k % half;
}

static weft_fft_description draw(fuzz *f) {
    weft_fft_description d = {.type = fuzz_one_in(f, 2) ? WEFT_F64 : WEFT_F32};
    size_t left = f->gpu ? GPU_POINTS : CPU_POINTS;
    d.kind = (weft_fft_kind)fuzz_below(f, 3);
    d.direction = d.kind == WEFT_FFT_REAL_TO_COMPLEX ? WEFT_FFT_FORWARD
                                                     : (weft_fft_direction)fuzz_below(f, 2);
    d.rank = 1 + (unsigned)fuzz_below(f, WEFT_FFT_DIMENSIONS);
    for (unsigned r = 0; r < d.rank; r++) {
        d.n[r] = 1 + fuzz_below(f, r + 1 < d.rank && left > 12 ? 12 : left);
        left /= d.n[r];
    }
    d.batch = fuzz_below(f, MOST_BATCH + 1);
    d.scale = fuzz_one_in(f, 2) ? 0 : 0.25;
    return d;
}

/* One transform of x, which has all points, into y, which has `count` of them; *size is the root of
 * the sum of the squares. */
static void transform(const weft_fft_description *d, bool inverse, const number *x, number *y,
                      size_t count, bool half, long double *size) {
    const size_t all = points(d);
    const long double scale = d->scale == 0 ? 1 : d->scale;
    *size = 0;
    for (size_t j = 0; j < all; j++) {
        *size += x[j].re * x[j].re + x[j].im * x[j].im;
    }
    *size = scale * sqrtl(*size * (long double)all);
    for (size_t k = 0; k < count; k++) {
        number sum = {0, 0};
        for (size_t j = 0; j < all; j++) {
            const number w = root(d, inverse, j, half ? whole_index(d, k) : k);
            sum.re += x[j].re * w.re - x[j].im * w.im;
            sum.im += x[j].re * w.im + x[j].im * w.re;
        }
        y[k] = (number){scale * sum.re, scale * sum.im};
    }
}

/* The whole transform whose kept half is x: element -k is the conjugate of element k. */
static void complete(const weft_fft_description *d, const number *x, number *whole) {
    const size_t all = points(d), last = d->n[d->rank - 1], half = last / 2 + 1;
    for (size_t k = 0; k < all; k++) {
        size_t mirror = 0, rest = k, step = 1;
        for (unsigned r = d->rank; r-- > 0; step *= d->n[r]) {
            mirror += (d->n[r] - rest % d->n[r]) % d->n[r] * step;
            rest /= d->n[r];
        }
        const bool there = k % last < half;
        const size_t from = there ? k : mirror;
        const number v = x[from / last * half + from % last];
        whole[k] = there ? v : (number){v.re, -v.im};
    }
}

/* x of one transform: whole numbers; what is completed is the transform of real numbers. */
static void fill(fuzz *f, const weft_fft_description *d, number *x, number *whole) {
    const size_t all = points(d);
    const bool back = d->kind == WEFT_FFT_COMPLEX_TO_REAL;
    long double size;
    for (size_t j = 0; j < all; j++) {
        whole[j].re = (long double)test_below(&f->random, 17) - 8;
        whole[j].im = d->kind == WEFT_FFT_COMPLEX ? (long double)test_below(&f->random, 17) - 8 : 0;
    }
    if (back) {
        const weft_fft_description plain = {
            .type = d->type, .rank = d->rank, .n = {d->n[0], d->n[1], d->n[2]}};
        transform(&plain, false, whole, x, kept(d), true, &size);
        for (size_t k = 0; k < kept(d); k++) { /* as an array holds them */
            x[k].re = d->type == WEFT_F32 ? (float)x[k].re : (double)x[k].re;
            x[k].im = d->type == WEFT_F32 ? (float)x[k].im : (double)x[k].im;
        }
        complete(d, x, whole);
    }
}

static void store(weft_type type, void *p, size_t at, long double v) {
    test_store(type, p, at, (test_value){.f = (double)v});
}

/* Elements of one transform of each side, and of their numbers. */
typedef struct sides {
    size_t x, y;
    bool real_x, real_y;
} sides;

static void put_numbers(weft_type type, void *p, size_t first, size_t count, bool real,
                        const number *from) {
    for (size_t k = 0; k < count; k++) {
        if (real) {
            store(type, p, first + k, from[k].re);
        } else {
            store(type, p, 2 * (first + k), from[k].re);
            store(type, p, 2 * (first + k) + 1, from[k].im);
        }
    }
}

static void foretell(const weft_fft_description *d, sides s, fuzz_array *y, size_t t,
                     const number *got, long double size) {
    const long double eps = d->type == WEFT_F32 ? 0x1p-24L : 0x1p-53L;
    const long double bound = 40 * eps * (1 + log2l((long double)points(d))) * size;
    const size_t parts = s.real_y ? 1 : 2;
    for (size_t k = 0; k < s.y * parts; k++) {
        const number *const v = &got[k / parts];
        y->value[t * s.y * parts + k] = k % parts ? v->im : v->re;
        y->bound[t * s.y * parts + k] = bound;
    }
}

void fuzz_fft(fuzz *f) {
    fuzz_begin(f, "fft");
    weft_fft_description d = draw(f);
    const size_t all = points(&d), size = test_size_of(d.type);
    const sides s = {.x = d.kind == WEFT_FFT_COMPLEX_TO_REAL ? kept(&d) : all,
                     .y = d.kind == WEFT_FFT_REAL_TO_COMPLEX ? kept(&d) : all,
                     .real_x = d.kind == WEFT_FFT_REAL_TO_COMPLEX,
                     .real_y = d.kind == WEFT_FFT_COMPLEX_TO_REAL};
    const size_t x_parts = s.real_x ? 1 : 2, y_parts = s.real_y ? 1 : 2;
    const bool inverse = s.real_y || (!s.real_x && d.direction == WEFT_FFT_INVERSE);
    number *const whole = fuzz_take(f, all * sizeof *whole),
                  *const in = fuzz_take(f, all * sizeof *in),
                  *const out = fuzz_take(f, all * sizeof *out);
    void *const data = fuzz_take(f, d.batch * s.x * x_parts * size);
    const uint64_t state = f->random.state;
    for (size_t t = 0; t < d.batch; t++) {
        fill(f, &d, in, whole);
        put_numbers(d.type, data, t * s.x, s.x, s.real_x, s.real_y ? in : whole);
    }
    fuzz_array *const x = fuzz_input(f, "x", d.batch * s.x * x_parts * size, x_parts * size, data);
    fuzz_array *const y = d.kind == WEFT_FFT_COMPLEX
                              ? fuzz_output_or(f, x, "y")
                              : fuzz_output(f, "y", d.batch * s.y * y_parts * size, y_parts * size);
    y->value = fuzz_take(f, d.batch * s.y * y_parts * sizeof *y->value);
    y->bound = fuzz_take(f, d.batch * s.y * y_parts * sizeof *y->bound);
    y->type = d.type;
    y->compare = FUZZ_BOUNDED;
    f->random.state = state;
    for (size_t t = 0; t < d.batch; t++) {
        long double magnitude;
        fill(f, &d, in, whole);
        transform(&d, inverse, whole, out, s.y, s.real_x, &magnitude);
        foretell(&d, s, y, t, out, magnitude);
    }
    fuzz_spoil_any_array(f);
    fuzz_say(f, "weft_fft(%s, kind %d, direction %d, %u: %zu %zu %zu, batch %zu, scale %g)",
             weft_type_name(d.type), (int)d.kind, (int)d.direction, d.rank, d.n[0], d.n[1], d.n[2],
             d.batch, d.scale);
    fuzz_end(f, "weft_fft", weft_fft(f->ctx, &d, x->p, y->p));
}
