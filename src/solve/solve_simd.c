/* SPDX-License-Identifier: Apache-2.0 */
/* Residuals in twice the precision of f64, for one instruction set. With fused multiply-add a
 * product and its error take two instructions. */
#include "solve/solve_simd.h"

#include "cpu/lanes.h"

WI_INLINE wi_doubles size_of(wi_doubles x) {
    return (wi_doubles)((wi_longs)x & INT64_MAX);
}

/* high + low -= a x, size += |a x|: the errors of the product and of the sum (Knuth) go to `low`.
 */
WI_INLINE void subtract(wi_doubles a, wi_doubles x, wi_doubles *high, wi_doubles *low,
                        wi_doubles *size) {
    const wi_doubles product = a * x, error = wi_minus_product(a, x, product);
    const wi_doubles sum = *high - product, part = sum - *high;
    const wi_doubles sum_error = (*high - (sum - part)) - (product + part);
    *size += size_of(product);
    *low += sum_error + error;
    *high = sum;
}

WI_INLINE void subtract_one(double a, double x, double *high, double *low, double *size) {
    const double product = a * x, error = fma(-a, x, product);
    const double sum = *high - product, part = sum - *high;
    const double sum_error = (*high - (sum - part)) - (product + part);
    *size += fabs(product);
    *low += sum_error + error;
    *high = sum;
}

static void down(size_t n, const double *a, double x, double *high, double *low, double *size) {
    const wi_doubles factor = wi_splat(x);
    size_t i = 0;
    for (; i + WI_WIDE <= n; i += WI_WIDE) {
        wi_doubles h = wi_load(high + i), l = wi_load(low + i), s = wi_load(size + i);
        subtract(wi_load(a + i), factor, &h, &l, &s);
        wi_store(high + i, h);
        wi_store(low + i, l);
        wi_store(size + i, s);
    }
    for (; i < n; i++)
        subtract_one(a[i], x, high + i, low + i, size + i);
}

static void along(size_t n, const double *a, const double *x, wi_solve_sums *sums) {
    enum {
        VECTORS = WI_SOLVE_LANES / WI_WIDE
    };
    wi_doubles high[VECTORS], low[VECTORS], size[VECTORS];
    size_t k = 0;
    for (int v = 0; v < VECTORS; v++) {
        high[v] = wi_load(sums->high + v * WI_WIDE);
        low[v] = wi_load(sums->low + v * WI_WIDE);
        size[v] = wi_load(sums->size + v * WI_WIDE);
    }
    for (; k + WI_SOLVE_LANES <= n; k += WI_SOLVE_LANES)
        for (int v = 0; v < VECTORS; v++)
            subtract(wi_load(a + k + v * WI_WIDE), wi_load(x + k + v * WI_WIDE), &high[v], &low[v],
                     &size[v]);
    for (int v = 0; v < VECTORS; v++) {
        wi_store(sums->high + v * WI_WIDE, high[v]);
        wi_store(sums->low + v * WI_WIDE, low[v]);
        wi_store(sums->size + v * WI_WIDE, size[v]);
    }
    for (int lane = 0; k < n; k++, lane++)
        subtract_one(a[k], x[k], &sums->high[lane], &sums->low[lane], &sums->size[lane]);
}

static void widen(size_t n, const float *from, double *to) {
    size_t i = 0;
    for (; i + WI_WIDE <= n; i += WI_WIDE)
        wi_store(to + i, wi_doubles_of_f32(from + i));
    for (; i < n; i++)
        to[i] = from[i];
}

const wi_solve_simd WI_FOR_ISA(wi_solve_simd) = {.down = down, .along = along, .widen = widen};
