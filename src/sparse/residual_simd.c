/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of b - A x and of |A| |x| + |b|, for one instruction set: with fused multiplication a
 * product and its error are two instructions. A row is short, so one walk through it sums up both.
 */
#include "sparse/residual_simd.h"

#include <math.h>

#include "cpu/vector.h"

/* a + b = sum + error, exactly (Knuth). */
WI_INLINE double two_sum(double a, double b, double *error) {
    const double sum = a + b, b_part = sum - a;
    *error = (a - (sum - b_part)) + (b - b_part);
    return sum;
}

/* The sums of a row: b - A x as high + low, in twice the precision of double, or as `high` alone;
 * and |A| |x|. */
typedef struct sums {
    double high, low, size;
} sums;

/* s = s - a * x */
WI_INLINE void subtract_product(const bool extended, sums *s, double a, double x) {
    const double product = a * x;
    s->size += fabs(product);
    if (extended) {
        const double product_error = fma(-a, x, product);
        double sum_error;
        s->high = two_sum(s->high, -product, &sum_error);
        s->low += sum_error + product_error;
    } else {
        s->high += product;
    }
}

WI_INLINE sums sum_row(const bool extended, const weft_sparse *m, size_t i, const double *x,
                       double b) {
    sums s = {extended ? b : 0, 0, 0};
    for (int64_t k = m->row_start[i]; k < m->row_start[i + 1]; k++)
        subtract_product(extended, &s, m->value[m->at[k]], x[m->col[k]]);
    if (m->symmetric) {
        for (int64_t k = m->start[i]; k < m->start[i + 1]; k++)
            subtract_product(extended, &s, m->value[k], x[m->row[k]]);
    }
    return s;
}

WI_INLINE void residuals(const bool extended, const wi_residual_args *args, size_t begin,
                         size_t end, double *error) {
    for (size_t i = begin; i < end; i++) {
        for (size_t j = 0; j < args->n; j++) {
            const double b = args->b[i + j * args->ldb];
            const sums s = sum_row(extended, args->matrix, i, args->x + j * args->ldx, b);
            const double r = extended ? s.high + s.low : b - s.high;
            const double scale = s.size + fabs(b);
            if (args->r)
                args->r[args->place ? (size_t)args->place[i] * args->n + j : i + j * args->ldr] = r;
            if (args->scale)
                args->scale[i + j * args->ld_scale] = scale;
            const double ratio = r == 0 && scale == 0 ? 0 : fabs(r) / scale;
            if (args->error && wi_worse(ratio, error[j]))
                error[j] = ratio;
        }
    }
}

static void rows(const wi_residual_args *args, size_t begin, size_t end, double *error) {
    if (args->extended)
        residuals(true, args, begin, end, error);
    else
        residuals(false, args, begin, end, error);
}

const wi_residual_simd WI_FOR_ISA(wi_residual_simd) = {
    .rows = rows,
};
