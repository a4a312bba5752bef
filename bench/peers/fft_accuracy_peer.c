/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of weft_fft on a cpu beside those of FFTW 3, both against transforms in 113 bits: random
 * lengths and numbers, forward and inverse. `fft_accuracy_peer [PLACE [TRANSFORMS]]`: cpu, and
 * 10,000. One JSON object for each type and kind of length: of the rms errors, relative to the rms
 * result and in units of the type, the largest and the rms over all transforms; and ours over
 * FFTW's, transform by transform: the geometric mean and the largest. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weft/weft.h"

#if WEFT_FFTW_PEER && defined(__SIZEOF_FLOAT128__)
#    include <fftw3.h>

__extension__ typedef __float128 quad;

enum {
    MOST = 1 << 14,
    MOST_ROUGH = 1 << 9 /* lengths with any prime factor: the reference takes n p operations */
};

typedef struct number {
    quad re, im;
} number;

static void fail(const char *why) {
    fprintf(stderr, "fft_accuracy_peer: %s\n", why);
    exit(1);
}

static void *take(size_t bytes) {
    void *const p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!p)
        fail("no memory");
    return p;
}

/* ---- the reference ---- */

/* cos and sin of an angle of at most pi / 4, by their series. */
static number turn_of(quad angle) {
    number w = {1, angle};
    quad term = angle;
    for (int k = 2; k < 40; k++) {
        term *= angle / k;
        if (k % 2 == 0)
            w.re += k % 4 == 0 ? term : -term;
        else
            w.im += k % 4 == 1 ? term : -term;
    }
    return w;
}

/* exp(-2 pi i k / n), from the nearest eighth of a turn. */
static number root_of(size_t k, size_t n) {
    const quad pi = (quad)3.141592653589793116 + (quad)1.2246467991473532072e-16 +
                    (quad)-2.9947698097183396659e-33;
    const size_t quarter = (4 * k + n / 2) / n; /* the nearest */
    const quad part = ((quad)(4 * k) - (quad)(quarter * n)) / (quad)n;
    const number w = turn_of(part * pi / 2);
    switch (quarter % 4) {
    case 0:
        return (number){w.re, -w.im};
    case 1:
        return (number){-w.im, -w.re};
    case 2:
        return (number){-w.re, w.im};
    default:
        return (number){w.im, w.re};
    }
}

/* n numbers, `step` apart: each length by its smallest prime factor. */
static void transform(const number *x, size_t step, number *to, size_t n, const number *roots,
                      size_t whole) {
    size_t p = 2;
    while (p * p <= n && n % p != 0)
        p++;
    p = n % p == 0 ? p : n;
    if (n == 1) {
        *to = *x;
        return;
    }
    const size_t m = n / p;
    number *const part = take(n * sizeof *part);
    for (size_t r = 0; r < p; r++)
        transform(x + r * step, step * p, part + r * m, m, roots, whole);
    for (size_t k = 0; k < n; k++) {
        to[k] = (number){0, 0};
        for (size_t r = 0; r < p; r++) {
            const number a = part[r * m + k % m], w = roots[r * k % n * (whole / n)];
            to[k].re += a.re * w.re - a.im * w.im;
            to[k].im += a.re * w.im + a.im * w.re;
        }
    }
    free(part);
}

/* ---- one transform ---- */

static uint64_t seed = 20261123;

static uint64_t draw(uint64_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

/* Lengths whose logarithms are about even; without prime factors above 7, or any. */
static size_t draw_length(bool rough) {
    for (;;) {
        const double most = rough ? MOST_ROUGH : MOST;
        const size_t n = (size_t)exp(log(most) * (double)(draw(1 << 20) + 1) / (1 << 20));
        size_t left = n;
        for (size_t p = 2; p <= 7; p++)
            while (left % p == 0)
                left /= p;
        if (n > 1 && (rough || left == 1))
            return n;
    }
}

static double value_at(weft_type type, const void *x, size_t i) {
    return type == WEFT_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* The rms error of n numbers, relative to their rms, in units of the type. */
static double error_of(weft_type type, const void *y, const number *right, size_t n) {
    quad wrong = 0, size = 0;
    for (size_t k = 0; k < n; k++) {
        const quad re = value_at(type, y, 2 * k) - right[k].re;
        const quad im = value_at(type, y, 2 * k + 1) - right[k].im;
        wrong += re * re + im * im;
        size += right[k].re * right[k].re + right[k].im * right[k].im;
    }
    return sqrt((double)(wrong / size)) / (type == WEFT_F64 ? 0x1p-53 : 0x1p-24);
}

static void by_fftw(weft_type type, size_t n, bool inverse, void *x, void *y) {
    const int sign = inverse ? FFTW_BACKWARD : FFTW_FORWARD;
    const unsigned how = FFTW_ESTIMATE | FFTW_PRESERVE_INPUT;
    if (type == WEFT_F64) {
        const fftw_plan p = fftw_plan_dft_1d((int)n, x, y, sign, how);
        fftw_execute(p);
        fftw_destroy_plan(p);
    } else {
        const fftwf_plan p = fftwf_plan_dft_1d((int)n, x, y, sign, how);
        fftwf_execute(p);
        fftwf_destroy_plan(p);
    }
}

/* What is known of one type and kind of length. */
typedef struct errors {
    size_t count;
    double most[2], squares[2]; /* ours, FFTW's */
    double logs, most_ratio;
    size_t at; /* the length of the largest ratio */
} errors;

static void one_transform(weft_context *ctx, weft_type type, bool rough, errors *e) {
    const size_t n = draw_length(rough), bytes = 2 * n * weft_type_size(type);
    const bool inverse = draw(2);
    void *const x = take(bytes), *const y = take(bytes), *const z = take(bytes);
    number *const in = take(n * sizeof *in), *const roots = take(n * sizeof *roots);
    number *const right = take(n * sizeof *right);
    const weft_fft_description d = {.type = type,
                                    .rank = 1,
                                    .n = {n},
                                    .batch = 1,
                                    .direction = inverse ? WEFT_FFT_INVERSE : WEFT_FFT_FORWARD};
    for (size_t i = 0; i < 2 * n; i++) {
        const double v = (double)draw(1 << 30) * 0x1p-29 - 1;
        if (type == WEFT_F64)
            ((double *)x)[i] = v + (double)draw(1 << 22) * 0x1p-51;
        else
            ((float *)x)[i] = (float)v;
    }
    for (size_t k = 0; k < n; k++) {
        in[k] = (number){value_at(type, x, 2 * k), value_at(type, x, 2 * k + 1)};
        roots[k] = root_of(inverse && k > 0 ? n - k : k, n);
    }
    transform(in, 1, right, n, roots, n);
    if (weft_fft(ctx, &d, x, y) != WEFT_OK)
        fail(weft_message(ctx));
    by_fftw(type, n, inverse, x, z);
    const double error[2] = {error_of(type, y, right, n), error_of(type, z, right, n)};
    const double ratio = error[0] / error[1];
    for (int k = 0; k < 2; k++) {
        e->most[k] = fmax(e->most[k], error[k]);
        e->squares[k] += error[k] * error[k];
    }
    e->count++;
    if (error[0] > 0 && error[1] > 0) {
        e->logs += log(ratio);
        e->at = ratio > e->most_ratio ? n : e->at;
        e->most_ratio = fmax(e->most_ratio, ratio);
    }
    free(x), free(y), free(z), free(in), free(roots), free(right);
}

static void say(weft_type type, bool rough, const errors *e) {
    const double n = (double)e->count;
    printf("{\"op\":\"fft_accuracy\",\"type\":\"%s\",\"lengths\":\"%s\",\"transforms\":%zu,"
           "\"most_error_units\":%.3f,\"rms_error_units\":%.3f,\"peer\":\"FFTW\","
           "\"peer_most_error_units\":%.3f,\"peer_rms_error_units\":%.3f,\"rms_ratio\":%.3f,"
           "\"mean_ratio\":%.3f,\"most_ratio\":%.2f,\"most_ratio_at\":%zu}\n",
           weft_type_name(type), rough ? "any up to 512" : "factors up to 7, up to 16384", e->count,
           e->most[0], sqrt(e->squares[0] / n), e->most[1], sqrt(e->squares[1] / n),
           sqrt(e->squares[0] / e->squares[1]), exp(e->logs / n), e->most_ratio, e->at);
    fflush(stdout);
}

int main(int argc, char **argv) {
    const size_t all = argc > 2 ? (size_t)strtoull(argv[2], NULL, 10) : 10000;
    weft_context *ctx = NULL;
    if (weft_open(&ctx, argc > 1 ? argv[1] : "cpu") != WEFT_OK)
        fail(weft_message(NULL));
    for (int t = 0; t < 4; t++) {
        errors e = {0};
        for (size_t k = 0; k < all / 4; k++)
            one_transform(ctx, t % 2 ? WEFT_F64 : WEFT_F32, t / 2, &e);
        say(t % 2 ? WEFT_F64 : WEFT_F32, t / 2, &e);
    }
    weft_close(ctx);
    return 0;
}
#else
int main(void) {
    fprintf(stderr, "fft_accuracy_peer: no race: FFTW 3 was not there when this was compiled\n");
    return 77;
}
#endif
