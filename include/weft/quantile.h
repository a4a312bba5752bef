/* SPDX-License-Identifier: Apache-2.0 */
/* quantile: elements by their rank in the order of all, without a sort.
 *
 * The order is weft_sort's, ascending: -0.0 before +0.0, every NaN after +infinity (weft/sort.h has
 * it in formulas). The element of rank k, s(k), is the one that a sort would leave at position k:
 * s(0) is the smallest. NaN count as elements; a quantile that meets one is NaN.
 *
 * x and the results may be host or device memory, mixed freely, with no alignment beyond that of
 * C's own types; they must not overlap. ranks and q are in host memory, and are read before the
 * call returns. When x and the results are device memory the call is queued on the context's
 * stream; otherwise it returns when the answer is there. Results are exact: the same bits on every
 * run, at every place. Several ranks in one call cost little more than one. Counts run from 0 past
 * 2^32.
 *
 * Over ranks (place mpi) every rank passes its part of x, and the same ranks or q, which are those
 * of the whole: a rank is below the number of elements of all parts. All ranks get the results,
 * which are the bits of one place. */
#ifndef WEFT_QUANTILE_H
#define WEFT_QUANTILE_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* values[j] = s(ranks[j]), the element of that rank in x[0 .. n), for j = 0 ... m - 1. Each rank is
 * below n, in any order; equal ones are allowed. */
WEFT_API weft_status weft_nth(weft_context *ctx, weft_type type, size_t n, const void *x, size_t m,
                              const uint64_t *ranks, void *values);

/* What lies between two elements. With h = q (n - 1), the product rounded to f64, i = floor(h),
 * g = h - i, a = s(i) and b = s(i + 1), the quantile is
 *     WEFT_LINEAR           a + g (b - a)
 *     WEFT_LOWER_VALUE      a
 *     WEFT_HIGHER_VALUE     a if g = 0, else b
 *     WEFT_NEAREST_VALUE    a if g < 1/2, b if g > 1/2; if g = 1/2, the one of even rank
 *     WEFT_MIDPOINT         a if g = 0, else a + (b - a) / 2 */
typedef enum weft_quantile_rule {
    WEFT_LINEAR = 0,
    WEFT_LOWER_VALUE,
    WEFT_HIGHER_VALUE,
    WEFT_NEAREST_VALUE,
    WEFT_MIDPOINT
} weft_quantile_rule;

/* quantiles[j] = the quantile q[j] of x[0 .. n) by the rule, as f64, for j = 0 ... m - 1. Each q is
 * from 0 (the smallest element) to 1 (the largest), in any order. If n is 0, all are NaN.
 *
 * a and b are elements converted to f64; integers beyond 2^53 are rounded (weft_nth gives them as
 * they are). The result is a if g = 0 or a = b. Otherwise b - a is rounded to f64, then the rest
 * once more, and what rounds beyond b is b; if b - a is infinite, it is g b + (1 - g) a. So
 * quantiles rise with q. */
WEFT_API weft_status weft_quantiles(weft_context *ctx, weft_quantile_rule rule, weft_type type,
                                    size_t n, const void *x, size_t m, const double *q,
                                    double *quantiles);

/* *median = the quantile 1/2 of x[0 .. n), by WEFT_LINEAR: of an even number of elements, halfway
 * between the two in the middle. */
WEFT_API weft_status weft_median(weft_context *ctx, weft_type type, size_t n, const void *x,
                                 double *median);

#ifdef __cplusplus
}
#endif
#endif
