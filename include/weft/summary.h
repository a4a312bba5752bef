/* SPDX-License-Identifier: Apache-2.0 */
/* summary: count, extremes, mean and variance of many elements, in one pass. */
#ifndef WEFT_SUMMARY_H
#define WEFT_SUMMARY_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The summary of x[0 .. n). NaN are counted and otherwise left out: "elements" below are those that
 * are no NaN. */
typedef struct weft_statistics {
    uint64_t count; /* of elements */
    uint64_t nans;  /* count + nans = n */
    double min, max;
    uint64_t min_at, max_at; /* the first position of each in x; WEFT_NOWHERE (2^64 - 1) if count
                                is 0 */
    double mean;
    double variance; /* the mean of (x[i] - mean)^2; times count / (count - 1) it is the estimate
                        of a population's variance from a sample */
} weft_statistics;

/* *result = the summary of x[0 .. n). If there are no elements, min, max, mean and variance are
 * NaN.
 *
 * -0.0 is less than +0.0. min and max are elements converted to f64; integers beyond 2^53 are
 * rounded, and the positions tell where they are exact.
 *
 * Mean and variance are computed in f64 (integers beyond 2^53 are rounded to it first) from
 * differences to an element near by, in blocks that are then merged, so a large mean costs no
 * accuracy: the relative error of the variance is below 2^-30 whatever the elements, their order
 * and their number are, and usually about 2^-50; the error of the mean is below 2^-30 of the
 * standard deviation, and its last rounding. If all elements are equal, the variance is 0 and the
 * mean is their value. With infinities the mean is what adding them gives and the variance is NaN.
 * Where squares of differences are beyond f64, the variance is infinite or NaN, and so is the mean
 * where sums of differences are; a variance below 2^-1022 is accurate to that.
 *
 * x and the result may be host or device memory, with no alignment beyond that of C's own types;
 * the result, in host memory, needs none. They must not overlap. When both are device memory the
 * call is queued on the context's stream; otherwise it returns when the answer is there. The same
 * input gives the same bits on every run at one place; on the cpu they do not depend on the number
 * of threads or on the instruction set. Counts run from 0 past 2^32.
 *
 * Over ranks (place mpi) every rank passes its part of x, and all get the summary of the whole,
 * whose positions are those in the whole. */
WEFT_API weft_status weft_summary(weft_context *ctx, weft_type type, size_t n, const void *x,
                                  weft_statistics *result);

#ifdef __cplusplus
}
#endif
#endif
