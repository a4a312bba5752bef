/* SPDX-License-Identifier: Apache-2.0 */
/* reduce: many elements to one.
 *
 * Sums of floats are fast here, but rounded many times. weft_sum, weft_dot, weft_nrm1 and weft_nrm2
 * of weft/exact.h are correctly rounded; weft_sum_fast and its kin are those of weft_reduce.
 *
 * x (and y) may be host or device memory, and so may the result. On a GPU place a result in device
 * memory is queued on the context's stream; otherwise the call returns when the answer is there. No
 * alignment is needed beyond that of C's own types. Counts run from 0 past 2^32. The result must
 * not overlap an input.
 *
 * What is computed, and the type of the result (weft_reduce_type gives it at run time):
 *
 *   op           elements       result   n = 0 how
 *   SUM, PRODUCT i8..i64        i64      0, 1  wraps modulo 2^64
 *                u8..u64        u64      0, 1  wraps modulo 2^64
 *                f16, bf16, f32 f32      0, 1  every step in f64, rounded
 *                                              to f32 once
 *                f64            f64      0, 1  f64, many partial sums
 *                                              combined in a tree
 *   MIN, MAX     any            the same       n = 0: the largest, the
 *                                              smallest value of the type
 *                                              (infinities for floats)
 *   ARGMIN/MAX   any            u64            n = 0: WEFT_NOWHERE; of
 *                                              equal elements, the first
 *   NRM1         i, u           u64      0     sum of |x|, modulo 2^64
 *                floats         as SUM   0     as SUM
 *   NRM2         f64, i, u      f64      0     sqrt(sum of x^2), in f64,
 *                                              without needless overflow
 *                                              or underflow
 *                f16, bf16, f32 f32      0     the same in f64, rounded
 *                                              to f32 once
 *   NRMINF       i, u           u64      0     largest |x|
 *                floats         the same 0     largest |x|
 *   dot          as SUM         as SUM   0     integer products wrap;
 *                                              products of f16, bf16 and
 *                                              f32 are exact in f64; f64
 *                                              rounds each product
 *
 * Floating-point rules. NaN anywhere makes MIN, MAX, NRMINF a NaN, and ARGMIN, ARGMAX the position
 * of the first NaN. -0.0 counts as smaller than +0.0 in MIN, MAX, ARGMIN and ARGMAX.
 *
 * Reproducibility: the same input gives the same bits on every run at one place; on the cpu the
 * bits do not depend on the number of threads or on the instruction set either. The rungs naive,
 * pairwise, compensated, double_double and exact, which run only if weft_use names them, do SUM of
 * floats in other ways, to show what rounding does.
 *
 * Over ranks (place mpi) every rank passes its part of x (and y), and all get the result of the
 * whole; positions are those in the whole. What is exact has the bits of one place; sums and
 * products of floats are those of the parts, in f64, combined in the order of the ranks and rounded
 * once. */
#ifndef WEFT_REDUCE_H
#define WEFT_REDUCE_H

#include "weft/core.h"
#include "weft/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The result of ARGMIN and ARGMAX over no elements. */
#define WEFT_NOWHERE UINT64_MAX

/* Reduces x[0 .. n) with `op`: any of SUM ... NRMINF but the bitwise ones, which are
 * WEFT_EUNSUPPORTED. `result` takes one element of the type that weft_reduce_type gives. */
WEFT_API weft_status weft_reduce(weft_context *ctx, weft_op op, weft_type type, size_t n,
                                 const void *x, void *result);

/* result = the sum of x[i] y[i]; it has the type of SUM. */
WEFT_API weft_status weft_dot_fast(weft_context *ctx, weft_type type, size_t n, const void *x,
                                   const void *y, void *result);

/* *result_type = the type of the result of `op` over elements of `type`. WEFT_EUNSUPPORTED if
 * weft_reduce does not offer this combination, WEFT_EARG if either is not a value of its enum. */
WEFT_API weft_status weft_reduce_type(weft_op op, weft_type type, weft_type *result_type);

#ifdef __cplusplus
}
#else

/* Typed calls: the element type comes from x. `result` must be a pointer of the right type (or void
 * *); the compiler warns of any other.
 *     float sum; weft_sum_fast(ctx, n, x, &sum); */
#    define weft_wide_of(x)                                                                        \
        _Generic(*(x), signed char                                                                 \
                 : (int64_t *)0, short                                                             \
                 : (int64_t *)0, int                                                               \
                 : (int64_t *)0, long                                                              \
                 : (int64_t *)0, long long                                                         \
                 : (int64_t *)0, weft_f16                                                          \
                 : (float *)0, weft_bf16                                                           \
                 : (float *)0, float                                                               \
                 : (float *)0, double                                                              \
                 : (double *)0, default                                                            \
                 : (uint64_t *)0)
#    define weft_norm_of(x, integers)                                                              \
        _Generic(*(x), weft_f16                                                                    \
                 : (float *)0, weft_bf16                                                           \
                 : (float *)0, float                                                               \
                 : (float *)0, double                                                              \
                 : (double *)0, default                                                            \
                 : (integers *)0)
#    define weft_sum_fast(ctx, n, x, result)                                                       \
        ((void)sizeof((result) == weft_wide_of(x)),                                                \
         weft_reduce((ctx), WEFT_SUM, weft_type_of(x), (n), (x), (result)))
#    define weft_nrm1_fast(ctx, n, x, result)                                                      \
        ((void)sizeof((result) == weft_norm_of(x, uint64_t)),                                      \
         weft_reduce((ctx), WEFT_NRM1, weft_type_of(x), (n), (x), (result)))
#    define weft_nrm2_fast(ctx, n, x, result)                                                      \
        ((void)sizeof((result) == weft_norm_of(x, double)),                                        \
         weft_reduce((ctx), WEFT_NRM2, weft_type_of(x), (n), (x), (result)))
#    define weft_product(ctx, n, x, result)                                                        \
        ((void)sizeof((result) == weft_wide_of(x)),                                                \
         weft_reduce((ctx), WEFT_PRODUCT, weft_type_of(x), (n), (x), (result)))
#    define weft_min(ctx, n, x, result)                                                            \
        ((void)sizeof(1 ? (result) : (x)),                                                         \
         weft_reduce((ctx), WEFT_MIN, weft_type_of(x), (n), (x), (result)))
#    define weft_max(ctx, n, x, result)                                                            \
        ((void)sizeof(1 ? (result) : (x)),                                                         \
         weft_reduce((ctx), WEFT_MAX, weft_type_of(x), (n), (x), (result)))
#    define weft_argmin(ctx, n, x, result)                                                         \
        ((void)sizeof((result) == (uint64_t *)0),                                                  \
         weft_reduce((ctx), WEFT_ARGMIN, weft_type_of(x), (n), (x), (result)))
#    define weft_argmax(ctx, n, x, result)                                                         \
        ((void)sizeof((result) == (uint64_t *)0),                                                  \
         weft_reduce((ctx), WEFT_ARGMAX, weft_type_of(x), (n), (x), (result)))

#endif
#endif
