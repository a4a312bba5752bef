/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of gemv and ger share: vectors with strides of either sign. */
#ifndef WEFT_VECTOR_CASES_H
#define WEFT_VECTOR_CASES_H

#include <stdlib.h>
#include <string.h>

#include "testing.h"

static const ptrdiff_t test_strides[] = {1, 1, 1, -1, 2, -3};

enum {
    TEST_STRIDES = sizeof test_strides / sizeof *test_strides
};

static inline size_t stride_size(ptrdiff_t inc) {
    return inc < 0 ? (size_t)-inc : (size_t)inc;
}

/* Elements from the lowest of a vector to the highest, gaps included. */
static inline size_t vector_extent(size_t n, ptrdiff_t inc) {
    return n ? (n - 1) * stride_size(inc) + 1 : 0;
}

/* Where element k lies, counted from the lowest. */
static inline size_t vector_place(size_t n, ptrdiff_t inc, size_t k) {
    return (inc < 0 ? n - 1 - k : k) * stride_size(inc);
}

/* Sets what lies between elements to all ones: NaN. */
static inline void vector_fill_gaps(size_t n, ptrdiff_t inc, size_t width, unsigned char *bytes) {
    const size_t apart = stride_size(inc);
    for (size_t k = 0; k + 1 < n; k++)
        memset(bytes + (k * apart + 1) * width, 0xff, (apart - 1) * width);
}

/* The elements as values, in their order; the caller frees them. */
static inline test_value *vector_values(weft_type type, size_t n, ptrdiff_t inc, const void *from) {
    test_value *const values = malloc((n + 1) * sizeof *values);
    assert_non_null(values);
    for (size_t k = 0; k < n; k++)
        values[k] = test_load(type, from, vector_place(n, inc, k));
    return values;
}

#endif
