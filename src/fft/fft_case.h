/* SPDX-License-Identifier: Apache-2.0 */
/* A case of the tests of fft: a call, its arrays, and a comparison with an oracle in long double,
 * within eps sqrt(log2 n). */
#ifndef WI_FFT_CASE_H
#define WI_FFT_CASE_H

#include <stdio.h>
#include <string.h>

#include "fft/fft.h"
#include "fft/fft_oracle.h"
#include "gemm/matrix_rig.h"

enum {
    X,
    Y,
    ARRAYS
};

static const size_t capacity = 1 << 23;

/* A case: the call, and where its arrays are. */
typedef struct picture {
    const wi_row *row;
    weft_fft_description d; /* strides filled in */
    size_t offset[ARRAYS];
    bool in_place;
    unsigned device;
} picture;

static inline bool is_real(const weft_fft_description *d, int array) {
    return d->kind == (array == X ? WEFT_FFT_REAL_TO_COMPLEX : WEFT_FFT_COMPLEX_TO_REAL);
}

static inline size_t length_of(const weft_fft_description *d, int array, unsigned k) {
    return d->kind != WEFT_FFT_COMPLEX && !is_real(d, array) && k + 1 == d->rank ? d->n[k] / 2 + 1
                                                                                 : d->n[k];
}

static inline size_t numbers_of(const weft_fft_description *d) {
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

static inline bool is_named(const wi_row *row, const char *name) {
    return row && strcmp(row->name, name) == 0;
}

/* A sum of products for each result. */
static inline bool is_defined(const wi_row *row) {
    return is_named(row, "definition") || is_named(row, "sums");
}

/* ---- a case ---- */

static inline size_t elements_of(const picture *p, int array) {
    const weft_fft_description *const d = &p->d;
    const size_t *const strides = array == X ? d->stride_x : d->stride_y;
    size_t last = (d->batch - 1) * (array == X ? d->apart_x : d->apart_y);
    for (unsigned k = 0; k < d->rank; k++)
        last += (length_of(d, array, k) - 1) * strides[k];
    return last + 1;
}

static inline size_t reals_of(const picture *p, int array) {
    size_t reals[ARRAYS];
    for (int k = X; k <= Y; k++)
        reals[k] = elements_of(p, k) * (is_real(&p->d, k) ? 1 : 2);
    if (p->in_place)
        return reals[X] > reals[Y] ? reals[X] : reals[Y];
    return reals[array];
}

/* Element `i` of transform `t`, counted as in a dense array of the kept lengths. */
static inline size_t place_of(const weft_fft_description *d, int array, size_t t, size_t i) {
    const size_t *const strides = array == X ? d->stride_x : d->stride_y;
    size_t at = t * (array == X ? d->apart_x : d->apart_y);
    for (unsigned k = d->rank; k > 0; k--) {
        const size_t n = length_of(d, array, k - 1);
        at += i % n * strides[k - 1];
        i /= n;
    }
    return at;
}

static inline oracle_number number_at(const weft_fft_description *d, int array, const void *p,
                                      size_t at) {
    if (is_real(d, array))
        return (oracle_number){test_load(d->type, p, at).f, 0};
    return (oracle_number){test_load(d->type, p, 2 * at).f, test_load(d->type, p, 2 * at + 1).f};
}

/* The whole input of transform t as complex numbers; halves are completed. */
static inline void whole_input(const picture *p, const void *x, size_t t, oracle_number *to) {
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
static inline void make_half(picture *p, void *x) {
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

static inline void compare(rig *r, const picture *p, const void *got) {
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

static inline void load(rig *r, picture *p) {
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

static inline bool run_case(rig *r, picture *p) {
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

#endif
