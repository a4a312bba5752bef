/* SPDX-License-Identifier: Apache-2.0 */
/* Cascades of many rows, for one instruction set. */
#include "cpu/lanes.h"
#include "exact/exact_cascade.h"
#include "solve/solve_exact.h"

/* Adds x to sum `first` of the rows of a vector, and what each sum loses to the next. */
WI_INLINE void add_from(wi_solve_exact_sums *sums, size_t i, int first, wi_doubles x) {
    for (int k = first; k < WI_DEEP_SUMS; k++) {
        const wi_doubles before = wi_load(&sums->sum[k][i]), sum = before + x, part = sum - before;
        wi_store(&sums->sum[k][i], sum);
        x = (before - (sum - part)) + (x - part);
    }
    const wi_doubles size = (wi_doubles)((wi_longs)x & INT64_MAX);
    wi_store(&sums->lost[i], wi_load(&sums->lost[i]) + size);
}

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
