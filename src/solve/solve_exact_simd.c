/* SPDX-License-Identifier: Apache-2.0 */
/* The exact residuals of many rows at once, for one instruction set: each row has a cascade of f64
 * sums, of which one takes what rounding took from the one before. */
#include "cpu/lanes.h"
#include "exact/exact_cascade.h"
#include "solve/solve_exact.h"

/* Adds x to sum `first` of the rows of a vector, what that loses to rounding to the next sum, and
 * so on; `lost` counts what the last one loses. */
WI_INLINE void add_from(wi_solve_exact_sums *sums, size_t i, int first, wi_doubles x) {
    for (int k = first; k < WI_DEEP_SUMS; k++) {
        const wi_doubles before = wi_load(&sums->sum[k][i]), sum = before + x, part = sum - before;
        wi_store(&sums->sum[k][i], sum);
        x = (before - (sum - part)) + (x - part);
    }
    const wi_doubles size = (wi_doubles)((wi_longs)x & INT64_MAX);
    wi_store(&sums->lost[i], wi_load(&sums->lost[i]) + size);
}

/* Adds a[i] x to the cascade of each row i. A product so small that its error is no f64 makes
 * `lost` infinite: its row is then summed in another way. */
static void add(const double *a, double x, wi_solve_exact_sums *sums) {
    const wi_doubles factor = wi_splat(x), infinite = wi_splat((double)INFINITY);
    for (size_t i = 0; i < WI_SOLVE_EXACT_ROWS; i += WI_WIDE) {
        const wi_doubles v = wi_load(a + i), product = v * factor;
        const wi_doubles size = (wi_doubles)((wi_longs)product & INT64_MAX);
        const wi_longs faint = (size < WI_FAINT_PRODUCT) & (v != 0) & (factor != 0);
        add_from(sums, i, 0, product);
        add_from(sums, i, 1, wi_plus_product(v, factor, -product));
        wi_store(&sums->lost[i],
                 wi_load(&sums->lost[i]) + (wi_doubles)(faint & (wi_longs)infinite));
    }
}

const wi_solve_exact_simd WI_FOR_ISA(wi_solve_exact_simd) = {.add = add};
