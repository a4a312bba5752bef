/* SPDX-License-Identifier: Apache-2.0 */
/* scan: every output combines all the elements before it (prefix sums, and the same with other
 * operations). */
#ifndef WEFT_SCAN_H
#define WEFT_SCAN_H

#include "weft/core.h"
#include "weft/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weft_scan_kind {
    WEFT_INCLUSIVE = 0, /* y[i] = init op x[0] op ... op x[i] */
    WEFT_EXCLUSIVE      /* y[i] = init op x[0] op ... op x[i-1];  y[0] = init */
} weft_scan_kind;

/* Scans x[0 .. n) into y[0 .. n) with SUM, PRODUCT, MIN, MAX (any type), AND, OR, XOR (integers;
 * floats are WEFT_EUNSUPPORTED). `init` points to one element of `type`, host or device memory;
 * NULL stands for the operation's identity: 0, 1, the largest value (+infinity) for MIN, the
 * smallest (-infinity) for MAX, all ones, 0, 0.
 *
 * x and y may be host or device memory, mixed freely, with no alignment beyond that of C's own
 * types; y may be x itself, any other overlap is WEFT_EARG. When both are device memory the call is
 * queued on the context's stream; otherwise it returns when the answer is there.
 *
 * Numbers. Integers wrap modulo 2^bits. Inside a tile f16, bf16 and f32 are scanned in f32, f64 in
 * f64; the total carried from tile to tile is f64; every output is then rounded to its type. From
 * the first NaN on, every output of MIN and MAX is a NaN; -0.0 counts as smaller than +0.0. A zero
 * has the sign that IEEE 754 gives it: a sum is -0.0 if all its terms are, init included.
 *
 * Range. Sums and products of neighbouring elements are formed first and combined with the elements
 * before them later, so they may overflow (or products underflow) where no prefix does. On the cpu
 * this does no harm: if every prefix, init included, is in the range of the type (and a product is
 * above its smallest normal number), all outputs are right, with the usual accuracy; and an
 * infinity in a sum or a zero in a product has the same effect on later outputs as in a serial
 * loop. Arrays with elements that could overflow in this way (sums: from 2^123 on, in f64 2^1017;
 * products: outside 2^-4 ... 2^4, in f64 2^-64 ... 2^64) may take as long as variant serial does.
 * On a GPU the same holds for sums if the sum of all magnitudes is in range, and for products if
 * the product of all magnitudes above 1 and the product of all below 1 are in range. After a prefix
 * that is out of range, outputs are undefined: right, infinite or NaN.
 *
 * The same input gives the same bits on every run at one place; on the cpu the bits do not depend
 * on the number of threads or the instruction set either.
 *
 * Over ranks (place mpi) every rank passes its part of x, and its y continues those of the ranks
 * before; `init` is that of rank 0. Integers have the bits of one place. */
WEFT_API weft_status weft_scan(weft_context *ctx, weft_scan_kind kind, weft_op op, weft_type type,
                               size_t n, const void *x, void *y, const void *init);

/* The same with an output of another type, y_type: `type` itself, or one of more bits that holds
 * every element of it, integers for integers and floats for floats. Elements are converted first,
 * which is exact, so nothing overflows that y_type holds; init and the identities are of y_type. y
 * may be x only if the types are the same.
 *
 * `total` may be NULL; else *total, one element of y_type in host or device memory, gets init op
 * x[0] op ... op x[n-1], whatever the kind, and init for n = 0. It may be the element behind y: an
 * exclusive sum of counts with total = y + n is the array of n + 1 offsets that
 * weft_reduce_segments and sparse matrices take. As a sum or product of floats it may differ in the
 * last place from what one more output would be.
 *
 * Over ranks a rank's total is that of all elements up to the end of its part. */
WEFT_API weft_status weft_scan_wide(weft_context *ctx, weft_scan_kind kind, weft_op op,
                                    weft_type type, size_t n, const void *x, weft_type y_type,
                                    void *y, const void *init, void *total);

#ifdef __cplusplus
}
#else

/* Typed calls: the element type comes from x; y must point to the same type (or be void *).
 *     weft_inclusive(ctx, WEFT_SUM, n, x, y); */
#    define weft_inclusive(ctx, op, n, x, y)                                                       \
        ((void)sizeof(1 ? (y) : (x)),                                                              \
         weft_scan((ctx), WEFT_INCLUSIVE, (op), weft_type_of(x), (n), (x), (y), NULL))
#    define weft_exclusive(ctx, op, n, x, y)                                                       \
        ((void)sizeof(1 ? (y) : (x)),                                                              \
         weft_scan((ctx), WEFT_EXCLUSIVE, (op), weft_type_of(x), (n), (x), (y), NULL))

/* y may point to a wider type here. weft_offsets is the exclusive sum with its total: n counts
 * become n + 1 offsets.
 *     uint8_t counts[n]; uint64_t offsets[n + 1]; weft_offsets(ctx, n, counts, offsets); */
#    define weft_inclusive_wide(ctx, op, n, x, y)                                                  \
        weft_scan_wide((ctx), WEFT_INCLUSIVE, (op), weft_type_of(x), (n), (x), weft_type_of(y),    \
                       (y), NULL, NULL)
#    define weft_exclusive_wide(ctx, op, n, x, y)                                                  \
        weft_scan_wide((ctx), WEFT_EXCLUSIVE, (op), weft_type_of(x), (n), (x), weft_type_of(y),    \
                       (y), NULL, NULL)
#    define weft_offsets(ctx, n, counts, offsets)                                                  \
        weft_scan_wide((ctx), WEFT_EXCLUSIVE, WEFT_SUM, weft_type_of(counts), (n), (counts),       \
                       weft_type_of(offsets), (offsets), NULL, (offsets) + (n))

#endif
#endif
