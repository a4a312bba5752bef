/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of wrong arguments share: arrays that a refused call must not write. */
#ifndef WEFT_TEST_ARGUMENTS_H
#define WEFT_TEST_ARGUMENTS_H

#include "testing.h"

enum {
    COUNT = 64,
    ARRAY_BYTES = 4 * COUNT
};

static const weft_type bad_types[] = {(weft_type)-1, (weft_type)WEFT_TYPE_COUNT, (weft_type)99};

/* Three arrays of 64 i32 in one block of memory of the place, and scalars on the host. */
typedef struct rig {
    weft_context *ctx;
    test_buffer block;
    int32_t *x, *y, *z;
    int32_t one;
} rig;

static inline rig rig_open(weft_context *ctx) {
    rig r = {.ctx = ctx, .one = 1};
    r.block = test_buffer_open(ctx, ctx->kind == WI_CUDA, 3 * ARRAY_BYTES);
    test_buffer_poison(&r.block, 3 * ARRAY_BYTES, 0);
    r.x = (int32_t *)r.block.p;
    r.y = r.x + COUNT;
    r.z = r.y + COUNT;
    return r;
}

/* Checks that no refused call has written. */
static inline void rig_close(rig *r) {
    const unsigned char *bytes = test_buffer_read(&r->block, "refused calls");
    for (size_t i = 0; i < 3 * ARRAY_BYTES; i++) {
        if (bytes[i] != TEST_POISON) {
            fail_msg("a refused call wrote byte %zu", i);
        }
    }
    test_buffer_close(&r->block);
}

/* The call must be WEFT_EARG with a message naming the public function and the argument. */
#define REFUSED(name, argument, call) test_refused(r.ctx, (call), WEFT_EARG, (name), (argument))

#endif
