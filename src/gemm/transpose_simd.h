/* SPDX-License-Identifier: Apache-2.0 */
/* Small transposes, compiled for each instruction set. */
#ifndef WI_TRANSPOSE_SIMD_H
#define WI_TRANSPOSE_SIMD_H

#include <stddef.h>

#include "cpu/isa.h"

enum {
    WI_TRANSPOSE_WIDTH = 16 /* the widest element, in bytes */
};

/* Element (i, j) of m x n goes from from[i + j ld] to to[j + i step]; `to` is in a cache. */
typedef void wi_transpose_turn(size_t m, size_t n, const void *from, size_t ld, void *to,
                               size_t step);

typedef struct wi_transpose_simd {
    wi_transpose_turn *turn[WI_TRANSPOSE_WIDTH + 1];          /* by width; NULL: there is none */
    void (*stream)(void *to, const void *from, size_t bytes); /* past the caches */
    void (*stream_done)(void);
} wi_transpose_simd;

WI_DECLARE_ISAS(wi_transpose_simd, wi_transpose_simd);

#endif
