/* SPDX-License-Identifier: Apache-2.0 */
/* exact: correctly rounded sums. The result is the exact value, rounded once to the type asked for,
 * to nearest, ties to even. So it has the same bits on every place, with any number of threads,
 * GPUs or ranks, in any order of the elements, and in every release. docs/precision.md explains
 * how.
 *
 * Elements are f16, bf16, f32 or f64; the result is any of these. Sums of integers are exact
 * modulo 2^64 already: they are those of weft_reduce, and have its type.
 *
 *   what          value                        n = 0
 *   SUM           x[0] + ... + x[n-1]          +0
 *   NRM1          |x[0]| + ... + |x[n-1]|      +0
 *   NRM2          sqrt(x[0]^2 + ...)           +0   the exact root, rounded once
 *   dot           x[0] y[0] + ...              +0   the products are exact, too
 *   mean          SUM / n                      NaN
 *   variance      the sum of (x[i] - mean)^2,  NaN  with the exact mean; NaN unless n > correction
 *                 over n - correction
 *
 * The special results of IEEE 754: NaN if an element is NaN, if there are infinities of both signs,
 * or of a product of zero and infinity; else an infinity if there is one, or if the exact value
 * rounds to one (what overflows on the way does not matter). The variance of an infinity is NaN. An
 * exact sum of zero is +0, but -0 if every element, or every product, is -0. All NaN have the same
 * bits.
 *
 * x (and y) may be host or device memory, and so may the result. On a GPU place a result in device
 * memory is queued on the context's stream, those of mean and variance excepted; otherwise the call
 * returns when the answer is there. No alignment is needed beyond that of C's own types. The result
 * must not overlap an input. The processor must round to nearest and keep subnormal numbers, as it
 * does unless the program has changed that.
 *
 * Over ranks (place mpi) every rank passes its part of x (and y), and all get the result of the
 * whole, which has the bits of one place. */
#ifndef WEFT_EXACT_H
#define WEFT_EXACT_H

#include "weft/core.h"
#include "weft/op.h"
#include "weft/reduce.h"
#include "weft/scan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reduces x[0 .. n) with `op`: SUM, NRM1 or NRM2. `result` takes one element of result_type: any
 * float type if x has one, else the type that weft_reduce_type gives. */
WEFT_API weft_status weft_exact_reduce(weft_context *ctx, weft_op op, weft_type type, size_t n,
                                       const void *x, weft_type result_type, void *result);

/* result = the sum of x[i] y[i]; result_type as for SUM. */
WEFT_API weft_status weft_exact_dot(weft_context *ctx, weft_type type, size_t n, const void *x,
                                    const void *y, weft_type result_type, void *result);

/* The same in the type that weft_reduce_type gives for SUM: f64 for f64, f32 for the other floats.
 */
WEFT_API weft_status weft_dot(weft_context *ctx, weft_type type, size_t n, const void *x,
                              const void *y, void *result);

/* result = the mean, or the variance, of x[0 .. n), of floats. `correction` is 0 for the variance
 * of all there is, 1 for that of a sample. Returns when the answer is there. */
WEFT_API weft_status weft_mean(weft_context *ctx, weft_type type, size_t n, const void *x,
                               weft_type result_type, void *result);
WEFT_API weft_status weft_variance(weft_context *ctx, weft_type type, size_t n, const void *x,
                                   size_t correction, weft_type result_type, void *result);

/* ---- prefix sums ---- */

/* The sums of all elements before each, of floats: every y[i] is the exact sum, rounded once to the
 * type of the elements, so it has the same bits on every place.
 *
 *     WEFT_INCLUSIVE  y[i] = init + x[0] + ... + x[i]
 *     WEFT_EXCLUSIVE  y[i] = init + x[0] + ... + x[i-1];  y[0] = init
 *
 * `init` points to one element of `type`, host or device memory; NULL: there is none, and y[i] is
 * what weft_exact_reduce gives of the elements before it. y may be x itself; any other overlap is
 * WEFT_EARG. When x and y are both device memory the call is queued on the context's stream;
 * otherwise it returns when the answer is there. Over ranks every rank passes its part of x, and
 * its y continues those of the ranks before; `init` is that of rank 0.
 *
 * weft_scan has the other operations, and sums of integers, which are exact there. */
WEFT_API weft_status weft_exact_scan(weft_context *ctx, weft_scan_kind kind, weft_type type,
                                     size_t n, const void *x, void *y, const void *init);

/* ---- by segment and by key ---- */

/* y[s] = segment s of x reduced with `op`, SUM, NRM1 or NRM2, for floats: what weft_exact_reduce
 * gives of its elements. Segments are described as in weft/group.h, by segments + 1 offsets of
 * offset_type; y has `segments` elements of result_type, a float type. The time depends on the
 * number of elements and of segments, not on how long each segment is, as long as most sums are
 * known without the wide integer (docs/precision.md).
 *
 * All arrays may be host or device memory, mixed freely. When all are device memory, the call is
 * queued on the context's stream; otherwise it returns when the answer is there. Over ranks and
 * GPUs the bits are those of one place (docs/clusters.md says who passes and gets what).
 *
 * weft_reduce_segments and weft_reduce_by_key add up integers, which is exact modulo 2^64. */
WEFT_API weft_status weft_exact_reduce_segments(weft_context *ctx, weft_op op, weft_type type,
                                                size_t n, const void *x, size_t segments,
                                                weft_type offset_type, const void *offsets,
                                                weft_type result_type, void *y);

/* What to do with one column of a table. */
typedef struct weft_exact_column {
    weft_op op;            /* SUM, NRM1 or NRM2 */
    weft_type type;        /* of x: a float */
    const void *x;         /* n elements */
    weft_type result_type; /* of y: a float */
    void *y;               /* an element for each run */
} weft_exact_column;

/* For each run k of equal keys: keys_out[k] = its key, and for each of the columns, WEFT_COLUMNS at
 * most, y[k] = the exact sum, or norm, of the elements of x that belong to the run. Keys, runs,
 * keys_out, room in y, and count are as in weft_reduce_by_key. */
WEFT_API weft_status weft_exact_reduce_by_key(weft_context *ctx, size_t n, size_t width,
                                              const void *keys, void *keys_out, size_t columns,
                                              const weft_exact_column *column, uint64_t *count);

/* ---- sums over files, programs and time ---- */

/* An exact sum that can be added to, in host memory. It belongs to one thread at a time, and to no
 * context: those of the calls below may differ. */
typedef struct weft_exact weft_exact;

/* Makes a sum of nothing. *sum is NULL after a failure. */
WEFT_API weft_status weft_exact_create(weft_context *ctx, weft_exact **sum);

/* NULL is allowed. */
WEFT_API void weft_exact_destroy(weft_exact *sum);

/* Adds x[0 .. n), or the products x[i] y[i], of floats, host or device memory. Over ranks, the
 * elements of all ranks are added to the sum of each. A call that fails has added nothing. */
WEFT_API weft_status weft_exact_add(weft_context *ctx, weft_exact *sum, weft_type type, size_t n,
                                    const void *x);
WEFT_API weft_status weft_exact_add_dot(weft_context *ctx, weft_exact *sum, weft_type type,
                                        size_t n, const void *x, const void *y);

/* Adds one number, or x y. */
WEFT_API weft_status weft_exact_add_value(weft_context *ctx, weft_exact *sum, double x);
WEFT_API weft_status weft_exact_add_product(weft_context *ctx, weft_exact *sum, double x, double y);

/* Adds all that was added to `other`, which may be `sum` itself. */
WEFT_API weft_status weft_exact_merge(weft_context *ctx, weft_exact *sum, const weft_exact *other);

/* *result, of a float type, = the sum, rounded; *count = how many elements and products were added
 * (modulo 2^64). */
WEFT_API weft_status weft_exact_round(weft_context *ctx, const weft_exact *sum, weft_type type,
                                      void *result);
WEFT_API weft_status weft_exact_count(weft_context *ctx, const weft_exact *sum, uint64_t *count);

/* A sum as bytes, the same on every machine and in every release; equal sums of equally many
 * elements have equal bytes:
 *     8 bytes     "weftsum1"
 *     5 x 8       how many: elements; NaN; +infinity; -infinity; and 1 if any of the elements was
 *                 not -0.0, else 0. Unsigned, the low byte first
 *     544         the sum of the finite elements in units of 2^-2176, a two's complement integer,
 *                 the low byte first
 * A NaN or infinity that a product gives counts as one. */
#define WEFT_EXACT_BYTES 592

/* Writes the sum to WEFT_EXACT_BYTES bytes in host memory; or makes `sum` what was saved, with
 * WEFT_EFORMAT if the bytes are not of a sum. */
WEFT_API weft_status weft_exact_save(weft_context *ctx, const weft_exact *sum, void *bytes);
WEFT_API weft_status weft_exact_load(weft_context *ctx, weft_exact *sum, const void *bytes);

#ifdef __cplusplus
}
#else

/* Typed calls: the types come from x and from result.
 *     double sum; weft_sum(ctx, n, x, &sum);
 * weft_dot, weft_mean and weft_variance are functions, which are told the types:
 *     weft_mean(ctx, weft_type_of(x), n, x, weft_type_of(&mean), &mean); */
#    define weft_sum(ctx, n, x, result)                                                            \
        weft_exact_reduce((ctx), WEFT_SUM, weft_type_of(x), (n), (x), weft_type_of(result),        \
                          (result))
#    define weft_nrm1(ctx, n, x, result)                                                           \
        weft_exact_reduce((ctx), WEFT_NRM1, weft_type_of(x), (n), (x), weft_type_of(result),       \
                          (result))
#    define weft_nrm2(ctx, n, x, result)                                                           \
        weft_exact_reduce((ctx), WEFT_NRM2, weft_type_of(x), (n), (x), weft_type_of(result),       \
                          (result))

#endif
#endif
