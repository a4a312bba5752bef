/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of trsm and trmm share: one call with arrays of its own, and its operands in long
 * double as the public header describes them, without the library's way to see them. What is not to
 * be read holds NaN. */
#ifndef WEFT_TRIANGLE_CASES_H
#define WEFT_TRIANGLE_CASES_H

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemm/triangle.h"
#include "testing.h"

typedef weft_status public_call(weft_context *ctx, unsigned how, weft_type type, size_t m, size_t n,
                                double alpha, const void *a, size_t lda, void *b, size_t ldb);

enum {
    A,
    B,
    ARRAYS,
    MOST_OFFSET = 7,
    MOST_GAP = 5,
    STORED = 32, /* combinations of the flags */
    SCALINGS = 4,
    KINDS = 3 /* of numbers */
};

/* What spoils some of the results. */
typedef enum spoiler {
    NOTHING,
    B_HAS_SPECIALS, /* infinities, NaN, subnormals, -0.0 */
    A_HAS_NAN       /* one, below or above the diagonal */
} spoiler;

typedef struct triangle {
    const wi_row *row; /* NULL: the library chooses */
    weft_type type;
    unsigned how;
    size_t m, n;
    size_t ld[ARRAYS], offset[ARRAYS];
    double alpha;
    spoiler spoiler;
    bool bad;        /* unknowns grow along op(A), as if it were nearly singular */
    unsigned device; /* bit k: array k is device memory, if the place has any */
    bool one_unit;   /* of a GPU: as if it had one multiprocessor, for which panels are wide */
    bool less_room; /* of a GPU: as if blocks had less shared memory, too little for tensor cores */
} triangle;

static inline unsigned flags_of(size_t stored) {
    return (stored & 1 ? WEFT_ROW_MAJOR : 0) | (stored & 2 ? WEFT_TRANSPOSE_A : 0) |
           (stored & 4 ? WEFT_UPPER_TRIANGLE : 0) | (stored & 8 ? WEFT_UNIT_DIAGONAL : 0) |
           (stored & 16 ? WEFT_RIGHT : 0);
}

static inline bool has(const triangle *p, unsigned flag) {
    return p->how & flag;
}

static inline size_t order_of(const triangle *p) {
    return has(p, WEFT_RIGHT) ? p->n : p->m;
}

static inline size_t place_of(const triangle *p, int array, size_t row, size_t column) {
    return has(p, WEFT_ROW_MAJOR) ? row * p->ld[array] + column : column * p->ld[array] + row;
}

static inline void stored_as(const triangle *p, int array, size_t *lines, size_t *length) {
    const size_t rows = array == A ? order_of(p) : p->m, columns = array == A ? order_of(p) : p->n;
    *lines = has(p, WEFT_ROW_MAJOR) ? rows : columns;
    *length = has(p, WEFT_ROW_MAJOR) ? columns : rows;
}

static inline size_t bytes_of(const triangle *p, int array) {
    size_t lines, length;
    stored_as(p, array, &lines, &length);
    return lines && length ? ((lines - 1) * p->ld[array] + length) * test_size_of(p->type) : 0;
}

/* Is A(i, k) to be read? */
static inline bool is_stored(const triangle *p, size_t i, size_t k) {
    if (i == k)
        return !has(p, WEFT_UNIT_DIAGONAL);
    return has(p, WEFT_UPPER_TRIANGLE) ? i < k : i > k;
}

/* Rows and columns far from singular: no sum of a row can cancel the diagonal. */
static inline double element_of_a(test_random *r, const triangle *p, size_t i, size_t k) {
    const double order = (double)order_of(p), x = test_unit(r);
    const double some = x == 0 ? 0.5 : x;
    if (p->bad)
        return i == k ? (p->type == WEFT_F64 ? 1 : 1.25) + some / 4 : some;
    if (i == k)
        return (some < 0 ? -1 : 1) * (order / 2 + 1 + fabs(some));
    return has(p, WEFT_UNIT_DIAGONAL) ? some / order : some;
}

static inline void fill_a(test_random *r, const triangle *p, unsigned char *bytes) {
    const size_t order = order_of(p);
    memset(bytes, 0xff, bytes_of(p, A));
    for (size_t i = 0; i < order; i++)
        for (size_t k = 0; k < order; k++)
            if (is_stored(p, i, k))
                test_store(p->type, bytes, place_of(p, A, i, k),
                           (test_value){.f = element_of_a(r, p, i, k)});
    if (p->spoiler == A_HAS_NAN && order > 1) {
        const size_t high = 1 + test_below(r, order - 1), low = test_below(r, high);
        const bool upper = has(p, WEFT_UPPER_TRIANGLE);
        test_store(p->type, bytes, place_of(p, A, upper ? low : high, upper ? high : low),
                   (test_value){.f = NAN});
    }
}

static inline void fill_b(test_random *r, const triangle *p, unsigned char *bytes) {
    const double specials[] = {NAN, INFINITY, -INFINITY, test_half_tiny(p->type) * 6, -0.0};
    const size_t width = test_size_of(p->type);
    size_t lines, length;
    stored_as(p, B, &lines, &length);
    memset(bytes, 0xff, bytes_of(p, B));
    for (size_t line = 0; line < lines && p->alpha != 0; line++) {
        test_fill(r, TEST_ANY, p->type, length, bytes + line * p->ld[B] * width);
        if (length > 0 && p->spoiler == B_HAS_SPECIALS && test_below(r, 3) == 0)
            test_store(p->type, bytes, line * p->ld[B] + test_below(r, length),
                       (test_value){.f = specials[test_below(r, 5)]});
    }
}

/* op(A), order x order by rows, and a matrix in B's place, in long double. The caller frees them.
 */
static inline long double *widened_a(const triangle *p, const unsigned char *bytes) {
    const size_t order = order_of(p);
    long double *const x = calloc(order * order + 1, sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < order; i++)
        for (size_t k = 0; k < order; k++) {
            const size_t at = has(p, WEFT_TRANSPOSE_A) ? k * order + i : i * order + k;
            if (is_stored(p, i, k))
                x[at] = test_load(p->type, bytes, place_of(p, A, i, k)).f;
            else if (i == k)
                x[at] = 1;
        }
    return x;
}

static inline long double *widened_b(const triangle *p, const unsigned char *bytes) {
    long double *const x = calloc(p->m * p->n + 1, sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++)
            x[i * p->n + j] = test_load(p->type, bytes, place_of(p, B, i, j)).f;
    return x;
}

/* One element of op(A) X or X op(A), the products that op(A) has; and the sum of their sizes. */
typedef struct product {
    long double sum, size;
} product;

static inline product product_at(const triangle *p, const long double *a, const long double *x,
                                 size_t i, size_t j) {
    const size_t order = order_of(p);
    const bool right = has(p, WEFT_RIGHT);
    const size_t own = right ? j : i;
    const bool a_is_upper = has(p, WEFT_UPPER_TRIANGLE) != has(p, WEFT_TRANSPOSE_A);
    /* op(A)(own, k), or op(A)(k, own): from or to the diagonal */
    const bool from_own = a_is_upper != right;
    const size_t first = from_own ? own : 0, end = from_own ? order : own + 1;
    product result = {0, 0};
    for (size_t k = first; k < end; k++) {
        const long double y =
            right ? x[i * p->n + k] * a[k * order + j] : a[i * order + k] * x[k * p->n + j];
        result.sum += y;
        result.size += fabsl(y);
    }
    return result;
}

static inline const char *describe_case(const weft_context *ctx, const char *call,
                                        const triangle *p) {
    static char text[300];
    snprintf(text, sizeof text,
             "%s of %s on %s, variant %s, how %#x, %zu x %zu, ld %zu %zu, offsets %zu %zu, alpha "
             "%g, spoiler %d, device %#x%s%s",
             call, test_type_name(p->type), weft_place(ctx), p->row ? p->row->name : "auto", p->how,
             p->m, p->n, p->ld[A], p->ld[B], p->offset[A], p->offset[B], p->alpha, p->spoiler,
             p->device, p->one_unit ? ", one multiprocessor" : "",
             p->less_room ? ", less shared memory" : "");
    return text;
}

/* How far sums of so many terms may be off, of which the sizes add up to this. */
static inline double allowed(const triangle *p, long double size, double slack) {
    const double terms = (double)order_of(p) + 8;
    return slack * terms *
           ((double)size * test_roundoff(p->type) + fmax(test_half_tiny(p->type), DBL_TRUE_MIN));
}

#endif
