/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of calls on matrices work in: up to three arrays in host memory, the same on the
 * device, and what they hold before a call. Made once for a place. */
#ifndef WEFT_MATRIX_RIG_H
#define WEFT_MATRIX_RIG_H

#include <stdlib.h>

#include "testing.h"

enum {
    RIG_MOST_ARRAYS = 3
};

typedef struct rig {
    weft_context *ctx;
    const struct subject *subject; /* which operation, where a file tests several */
    test_random random;
    int arrays;
    test_pair pair[RIG_MOST_ARRAYS];
    unsigned char *source[RIG_MOST_ARRAYS];
} rig;

static inline rig rig_open(weft_context *ctx, int arrays, size_t capacity) {
    rig r = {.ctx = ctx, .random = test_random_at(1), .arrays = arrays};
    for (int k = 0; k < arrays; k++) {
        r.pair[k] = test_pair_open(ctx, capacity);
        r.source[k] = malloc(capacity);
        assert_non_null(r.source[k]);
    }
    return r;
}

static inline void rig_close(rig *r) {
    for (int k = 0; k < r->arrays; k++) {
        test_pair_close(&r->pair[k]);
        free(r->source[k]);
    }
}

/* Array k, on the device if the place has one and bit k of `device` says so. */
static inline test_buffer *rig_buffer(rig *r, unsigned device, int k) {
    return test_pair_at(&r->pair[k], device >> k & 1);
}

#endif
