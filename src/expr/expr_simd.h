/* SPDX-License-Identifier: Apache-2.0 */
/* expr by blocks in the first-level cache, compiled for each instruction set. */
#ifndef WI_EXPR_SIMD_H
#define WI_EXPR_SIMD_H

#include "cpu/isa.h"
#include "expr/expr.h"

enum {
    WI_EXPR_BUFFER_BYTES = 4096, /* of a block's values */
    WI_EXPR_WORK_BUFFERS = 5     /* that a thread has beside slots and constants */
};

/* Elements in a block. */
static inline size_t wi_expr_block_n(const wi_expr_program *p) {
    return WI_EXPR_BUFFER_BYTES / (p->wide ? 8 : 4);
}

/* Bytes of memory that a thread needs. */
static inline size_t wi_expr_room(const wi_expr_program *p) {
    return (size_t)WI_EXPR_BUFFER_BYTES * (WI_EXPR_WORK_BUFFERS + p->slots + p->constants);
}

/* Gets the values of n elements from element i on; they must not be read after it has returned. */
typedef void (*wi_expr_taker)(void *user, size_t i, size_t n, const void *values);

typedef struct wi_expr_simd {
    /* Computes elements [from, to) with a thread's own memory; with `stream` z bypasses the cache.
     */
    void (*run)(const wi_expr_args *args, size_t from, size_t to, bool stream, void *room);
    /* Hands the values of elements [from, to) to `take`, a block after the other. */
    void (*each)(const wi_expr_args *args, size_t from, size_t to, void *room, wi_expr_taker take,
                 void *user);
} wi_expr_simd;

WI_DECLARE_ISAS(wi_expr_simd, wi_expr_simd);

#endif
