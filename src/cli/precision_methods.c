/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to add up floats that round, as one would write them. */
#include <math.h>

#include "cli/precision.h"
#include "cpu/half.h"

const char *const wi_method_names[WI_METHODS] = {"naive", "pairwise", "compensated",
                                                 "double-double"};

enum {
    RUN = 32 /* elements that pairwise adds one after the other */
};

static double load(weft_type type, const void *x, size_t i) {
    switch (type) {
    case WEFT_F16:
        return (double)wi_f16_widen(((const uint16_t *)x)[i]);
    case WEFT_BF16:
        return (double)wi_bf16_widen(((const uint16_t *)x)[i]);
    case WEFT_F32:
        return (double)((const float *)x)[i];
    default:
        return ((const double *)x)[i];
    }
}

/* An f64 has more than twice the bits of the others, so a sum of two of them that is rounded to f64
 * first and then to their type is what their own addition would give. */
static double round_to(weft_type type, double x) {
    switch (type) {
    case WEFT_F16:
        return (double)wi_f16_widen(wi_f16_narrow_double(x));
    case WEFT_BF16:
        return (double)wi_bf16_widen(wi_bf16_narrow_double(x));
    case WEFT_F32:
        return (double)(float)x;
    default:
        return x;
    }
}

static double naive(weft_type in, weft_type type, size_t first, size_t n, const void *x) {
    double sum = 0;
    for (size_t i = first; i < first + n; i++)
        sum = round_to(in, sum + round_to(in, load(type, x, i)));
    return sum;
}

static double pairwise(weft_type in, weft_type type, size_t first, size_t n, const void *x) {
    if (n <= RUN)
        return naive(in, type, first, n, x);
    const double low = pairwise(in, type, first, n / 2, x);
    return round_to(in, low + pairwise(in, type, first + n / 2, n - n / 2, x));
}

static double compensated(weft_type in, weft_type type, size_t n, const void *x) {
    double sum = 0, lost = 0;
    for (size_t i = 0; i < n; i++) {
        const double a = round_to(in, load(type, x, i)), next = round_to(in, sum + a);
        const double large = fabs(sum) >= fabs(a) ? sum : a, small = fabs(sum) >= fabs(a) ? a : sum;
        lost = round_to(in, lost + round_to(in, round_to(in, large - next) + small));
        sum = next;
    }
    return isfinite(sum) ? round_to(in, sum + lost) : sum;
}

static double double_double(weft_type type, size_t n, const void *x) {
    double high = 0, low = 0;
    for (size_t i = 0; i < n; i++) {
        const double a = load(type, x, i), sum = high + a, part = sum - high;
        const double error = (high - (sum - part)) + (a - part) + low;
        high = sum + error;
        low = error - (high - sum);
    }
    return high;
}

double wi_method_sum(wi_method method, weft_type in, weft_type type, size_t n, const void *x) {
    switch (method) {
    case WI_NAIVE:
        return naive(in, type, 0, n, x);
    case WI_PAIRWISE:
        return pairwise(in, type, 0, n, x);
    case WI_COMPENSATED:
        return compensated(in, type, n, x);
    default:
        return double_double(type, n, x);
    }
}
