/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of gemm share: one product with arrays of its own, and an oracle in long double or
 * integers modulo 2^32 that knows nothing of the library's loops. */
#ifndef WEFT_GEMM_CASES_H
#define WEFT_GEMM_CASES_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "gemm/gemm.h"
#include "testing.h"

typedef struct type_pair {
    weft_type type, out, sums;
} type_pair;

static const type_pair pairs[] = {
    {WEFT_F64, WEFT_F64, WEFT_F64},   {WEFT_F32, WEFT_F32, WEFT_F32},
    {WEFT_F16, WEFT_F16, WEFT_F32},   {WEFT_F16, WEFT_F32, WEFT_F32},
    {WEFT_BF16, WEFT_BF16, WEFT_F32}, {WEFT_BF16, WEFT_F32, WEFT_F32},
    {WEFT_I8, WEFT_I32, WEFT_I32},
};

enum {
    A,
    B,
    C,
    ARRAYS,
    PAIRS = sizeof pairs / sizeof *pairs
};

typedef struct product {
    const wi_row *row; /* NULL: the library chooses */
    type_pair types;
    unsigned how;
    size_t m, n, k;
    size_t ld[ARRAYS];
    size_t offset[ARRAYS]; /* elements past a 64-byte boundary */
    double alpha, beta;
    test_pattern pattern;
    bool same;       /* A is B */
    unsigned device; /* bit k: array k is device memory, if the place has any */
    bool on_gpu;     /* where tensor cores may do the work */
} product;

static inline bool is_transposed(const product *p, int array) {
    return (array == A && p->how & WEFT_TRANSPOSE_A) || (array == B && p->how & WEFT_TRANSPOSE_B);
}

/* How often ld counts in an array, and how many elements lie one after another. */
static inline void stored_as(const product *p, int array, size_t *lines, size_t *length) {
    const size_t rows = array == B ? p->k : p->m, cols = array == A ? p->k : p->n;
    const bool by_rows = !(p->how & WEFT_ROW_MAJOR) == is_transposed(p, array);
    *lines = by_rows ? rows : cols;
    *length = by_rows ? cols : rows;
}

/* Where element (row, col) of a factor as it is multiplied, or of C, lies. */
static inline size_t place_of(const product *p, int array, size_t row, size_t col) {
    const bool by_rows = !(p->how & WEFT_ROW_MAJOR) == is_transposed(p, array);
    return by_rows ? row * p->ld[array] + col : col * p->ld[array] + row;
}

typedef struct steps {
    size_t row, col;
} steps;

static inline steps steps_of(const product *p, int array) {
    return (steps){place_of(p, array, 1, 0), place_of(p, array, 0, 1)};
}

static inline size_t extent_of(const product *p, int array) {
    size_t lines, length;
    stored_as(p, array, &lines, &length);
    return lines && length ? (lines - 1) * p->ld[array] + length : 0;
}

static inline weft_type type_of(const product *p, int array) {
    return array == C ? p->types.out : p->types.type;
}

static inline size_t bytes_of(const product *p, int array) {
    return extent_of(p, array) * test_size_of(type_of(p, array));
}

static inline weft_status call_gemm(weft_context *ctx, const product *p, const void *a,
                                    const void *b, void *c) {
    return weft_gemm(ctx, p->how, p->types.type, p->types.out, p->m, p->n, p->k, p->alpha, a,
                     p->ld[A], b, p->ld[B], p->beta, c, p->ld[C]);
}

/* May this row refuse the call? */
static inline bool may_refuse(const product *p) {
    const bool wide = p->types.type == WEFT_F64 || p->types.type == WEFT_F32;
    if (!p->row || strcmp(p->row->name, "ring") == 0 || strcmp(p->row->name, "serial") == 0 ||
        strcmp(p->row->name, "packed") == 0)
        return false;
    if (strcmp(p->row->name, "tensor") == 0)
        return p->types.type == WEFT_F32 && !(p->how & WEFT_TF32);
    const bool has_no_parts =
        p->types.type != WEFT_F32 || p->how & (WEFT_TF32 | WEFT_F32_STRICT) || p->k < 16;
    if (strcmp(p->row->name, "parts") == 0)
        return has_no_parts;
    if (strcmp(p->row->name, "pipeline") == 0)
        return p->types.type != WEFT_F32;
    if (strcmp(p->row->name, "outer") == 0)
        return p->types.type == WEFT_I8 || p->k > WI_GEMM_OUTER_TERMS;
    if (strcmp(p->row->name, "gemv") == 0)
        return p->types.type == WEFT_I8 || (p->m > 1 && p->n > 1);
    if (strcmp(p->row->name, "narrow") == 0)
        return test_size_of(p->types.type) == 2 ? p->m > 16 && p->n > 16
                                                : has_no_parts || (p->m > 256 && p->n > 256);
    if (strcmp(p->row->name, "thin") == 0)
        return p->types.type == WEFT_I8 || (p->m > 64 && p->n > 64);
    return !wide || strcmp(p->row->name, "openblas") == 0;
}

/* An element of C as it should be, and how far from it one may be. */
typedef struct right_value {
    test_value value;
    double within; /* of floats; 0: the value itself */
    bool any;      /* on the way to it sums, or factors of tf32, may have left their range */
} right_value;

static inline right_value right_whole(const product *p, test_value *const x[], size_t i, size_t j) {
    const int64_t alpha = (int64_t)p->alpha, beta = (int64_t)p->beta;
    const steps a = steps_of(p, A), b = steps_of(p, B);
    uint64_t sum = 0;
    for (size_t q = 0; q < p->k; q++)
        sum += (uint64_t)(x[A][i * a.row + q * a.col].i * x[B][q * b.row + j * b.col].i);
    const uint64_t before = (uint64_t)x[C][place_of(p, C, i, j)].i;
    sum = (uint64_t)alpha * sum + (beta ? (uint64_t)beta * before : 0);
    return (right_value){.value = {.u = test_wrap(WEFT_I32, sum)}};
}

/* Do tensor cores do the work that add up in f32? They cut sums instead of rounding them, and line
 * products up by the exponents of their factors, for which f16 has none below 2^-14. */
static inline bool is_cut(const product *p) {
    return p->on_gpu && (p->types.sums == WEFT_F32) &&
           (p->types.type != WEFT_F32 || p->how & WEFT_TF32);
}
static inline double counts_as(const product *p, double factor) {
    return is_cut(p) && p->types.type == WEFT_F16 ? fmax(fabs(factor), 0x1p-14) : fabs(factor);
}

/* Each of the k products is rounded when it is added, alpha and beta round three times more, and
 * what is narrower than the sums once more; of tf32 each factor is cut to 11 bits. */
static inline right_value right_float(const product *p, test_value *const x[], size_t i, size_t j) {
    const weft_type out = p->types.out, sums = p->types.sums;
    const steps a = steps_of(p, A), b = steps_of(p, B);
    const double end = 0.99 * test_largest_of(p->types.type); /* tf32 may round it to infinity */
    long double sum = 0, size = 0, finite = 0;
    bool rounds_away = false; /* to infinity or, what infinity makes a NaN, to zero */
    const double alpha = test_round(sums, p->alpha), beta = test_round(sums, p->beta);
    for (size_t q = 0; alpha != 0 && q < p->k; q++) {
        const double at_a = x[A][i * a.row + q * a.col].f, at_b = x[B][q * b.row + j * b.col].f;
        const long double x_y = (long double)at_a * at_b;
        sum += x_y;
        size += (long double)counts_as(p, at_a) * counts_as(p, at_b);
        finite += isfinite(x_y) ? fabsl(x_y) : 0;
        const double least = fmin(fabs(at_a), fabs(at_b)), most = fmax(fabs(at_a), fabs(at_b));
        rounds_away = rounds_away || (isfinite(at_a) && fabs(at_a) > end) ||
                      (isfinite(at_b) && fabs(at_b) > end) ||
                      (isinf(most) && least > 0 && least < FLT_MIN);
    }
    rounds_away = rounds_away && p->how & WEFT_TF32;
    finite *= fmaxl(1, fabsl((long double)alpha));
    const bool scaled = alpha != 0 && p->k > 0;
    sum = scaled ? alpha * sum : 0;
    size = scaled ? fabsl(alpha) * size : 0;
    if (p->beta != 0) {
        const long double before = (long double)beta * x[C][place_of(p, C, i, j)].f;
        sum += before;
        size += fabsl(before);
        finite += isfinite(before) ? fabsl(before) : 0;
    }
    right_value right = {.value = {.f = test_round(out, sum)}};
    right.any = rounds_away || finite > test_largest_of(sums) / 2;
    if (p->pattern == TEST_SMALL)
        return right;
    double part = ((double)p->k + 4) * test_roundoff(sums) * (is_cut(p) ? 2 : 1);
    if (p->how & WEFT_TF32)
        part += 0x1.01p-9;
    right.within =
        (double)size * part + ((double)p->k + 4) * fmax(test_half_tiny(sums), DBL_TRUE_MIN);
    if (out != sums)
        right.within += fabs(right.value.f) * test_roundoff(out) * 2 + test_half_tiny(out) * 2;
    return right;
}

static inline bool is_right(const product *p, test_value got, const right_value *right) {
    if (right->any)
        return true;
    if (p->types.out == WEFT_I32)
        return got.u == right->value.u;
    if (isnan(right->value.f) || isnan(got.f))
        return isnan(right->value.f) && isnan(got.f);
    if (isinf(right->value.f) || isinf(got.f))
        return got.f == right->value.f;
    return fabs(got.f - right->value.f) <= right->within;
}

#endif
