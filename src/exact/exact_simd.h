/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of doubles added up without rounding, compiled for each instruction set.
 *
 * A fold begins with s = 1.5 2^p in each lane, which stays between 2^p and 2^(p+1), so that the
 * distance between neighbours is u = 2^(p-52) throughout. Adding x rounds x to a multiple of u: s
 * takes that multiple, and what is left of x, at most u / 2, goes to the next fold, whose p is less
 * by WI_EXACT_FOLD_BITS. The bits of s, as an integer, less those of its first value, are the sum
 * in units of u. docs/precision.md has the proof. */
#ifndef WI_EXACT_SIMD_H
#define WI_EXACT_SIMD_H

#include "cpu/isa.h"
#include "exact/exact.h"

enum {
    WI_EXACT_BLOCK = 1024,      /* terms of a block, at most: 128 for each of 8 lanes */
    WI_EXACT_STEP = 32,         /* terms that are added side by side, at most: n is a multiple */
    WI_EXACT_FOLDS = 4,         /* of a block, at most */
    WI_EXACT_STRETCH = 1 << 14, /* bytes of an array; its four pages are read alternately */
    WI_EXACT_FOLD_BITS = 44,    /* 52 less 7 for the carries of 128 additions, less one for half */
    WI_EXACT_FIRST = 8,         /* p of the first fold is this above the window */
    WI_EXACT_TOP_MOST = 1014,
    WI_EXACT_TOP_LEAST = -898 /* the last u is 2^-1074 then: nothing is left */
};

/* What the terms are made of. */
typedef enum wi_exact_shape {
    WI_EXACT_DOUBLES,  /* x */
    WI_EXACT_FLOATS,   /* x, of f32 */
    WI_EXACT_PRODUCTS, /* x y, and what rounding takes from it; half as many in a block */
    WI_EXACT_FLOAT_PRODUCTS
} wi_exact_shape;

/* One block. */
typedef struct wi_exact_run {
    wi_exact_shape shape;
    bool magnitudes; /* adds up |x|; not for products */
    bool more;       /* a whole stretch follows in memory */
    const void *x, *y;
    size_t n;
    size_t in_stretch; /* bytes from the start of a stretch, which is one of the array, to x */
    int folds;         /* at least wi_exact_least_folds */
    int top;           /* the window: every term is to be below 2^top */
} wi_exact_run;

/* The result for a block. */
typedef struct wi_exact_block {
    int64_t sum[WI_EXACT_FOLDS]; /* in units of u of each fold */
    double largest;              /* the largest magnitude of a term; NaN may be missed */
    bool left;                   /* something is left after the last fold, or was NaN */
    bool lost; /* a product is so small that its rounding error may not be a double */
} wi_exact_block;

static inline int wi_exact_least_folds(wi_exact_shape shape) {
    return shape == WI_EXACT_PRODUCTS ? 3 : shape == WI_EXACT_FLOATS ? 1 : 2;
}

typedef struct wi_exact_simd {
    void (*fold)(const wi_exact_run *run, wi_exact_block *block);
    /* n elements of a 16-bit float as f32. */
    void (*widen)(weft_type type, size_t n, const void *from, float *to);
} wi_exact_simd;

WI_DECLARE_ISAS(wi_exact_simd, wi_exact_simd);

#endif
