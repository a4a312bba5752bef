/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of b - A x and of |A| |x| + |b|, for one instruction set. With fused multiply-add a product
 * and its error take two instructions. Rows are short, so one pass computes both sums. */
#include "sparse/residual_simd.h"

#include <math.h>

#include "cpu/vector.h"

/* For code that few rows need, to keep it out of the loop. */
#define RARE static __attribute__((noinline, cold))

/* a + b = sum + error, exactly (Knuth). */
WI_INLINE double two_sum(double a, double b, double *error) {
    const double sum = a + b, b_part = sum - a;
    *error = (a - (sum - b_part)) + (b - b_part);
    return sum;
}

/* The sums of a row: b - A x as high + low, in twice the precision of double, or as `high` alone;
 * |A| |x|; and the sum of |a|. */
typedef struct sums {
    double high, low, size, norm;
} sums;

/* s = s - a * x */
WI_INLINE void subtract_product(const bool extended, const bool normed, sums *s, double a,
                                double x) {
    const double product = a * x;
    s->size += fabs(product);
    s->norm += normed ? fabs(a) : 0;
    if (extended) {
        const double product_error = fma(-a, x, product);
        double sum_error;
        s->high = two_sum(s->high, -product, &sum_error);
        s->low += sum_error + product_error;
    } else {
        s->high += product;
    }
}

WI_INLINE sums sum_row(const bool extended, const bool normed, const weft_sparse *m, size_t i,
                       const double *x, double b) {
    sums s = {extended ? b : 0, 0, 0, 0};
    for (int64_t k = m->row_start[i]; k < m->row_start[i + 1]; k++)
        subtract_product(extended, normed, &s, m->value[m->at[k]], x[m->col[k]]);
    if (m->symmetric) {
        for (int64_t k = m->start[i]; k < m->start[i + 1]; k++)
            subtract_product(extended, normed, &s, m->value[k], x[m->row[k]]);
    }
    return s;
}

/* b[i] of column j, shifted by powers of two. */
RARE double shifted(const wi_residual_args *args, size_t i, size_t j) {
    return ldexp(args->b[i + j * args->ldb], (args->power ? args->power[i] : 0) - args->shift[j]);
}

WI_INLINE double right_side(const wi_residual_args *args, size_t i, size_t j) {
    return args->shift ? shifted(args, i, j) : args->b[i + j * args->ldb];
}

static double largest_of_row(const weft_sparse *m, size_t i) {
    double most = 0;
    for (int64_t k = m->row_start[i]; k < m->row_start[i + 1]; k++)
        most = fmax(most, fabs(m->value[m->at[k]]));
    if (m->symmetric) {
        for (int64_t k = m->start[i]; k < m->start[i + 1]; k++)
            most = fmax(most, fabs(m->value[k]));
    }
    return most;
}

/* |r| / scale of row i; for a tiny scale, the replacement that wi_residual_args describes. */
RARE double error_of_row(const wi_residual_args *args, size_t i, size_t j, double r, double size,
                         double b) {
    const double tiny = 1000 * (double)args->matrix->rows * 0x1p-53;
    const double most = largest_of_row(args->matrix, i) * args->largest[j];
    const double scale = size + (size + fabs(b) <= tiny * (most + fabs(b)) ? most : fabs(b));
    return r == 0 && scale == 0 ? 0 : fabs(r) / scale;
}

/* The error of a row with a tiny scale is smaller with the replacement, so only rows that would
 * raise the maximum need it. */
WI_INLINE void note_row(const wi_residual_args *args, size_t i, size_t j, double r, const sums *s,
                        double b, wi_misfit *misfit) {
    const double size = s->size, scale = size + fabs(b);
    const double ratio = r == 0 && scale == 0 ? 0 : fabs(r) / scale;
    if (wi_worse(ratio, misfit->error[j])) {
        const double error = error_of_row(args, i, j, r, size, b);
        if (wi_worse(error, misfit->error[j]))
            misfit->error[j] = error;
    }
    if (wi_worse(fabs(r), misfit->most[j]))
        misfit->most[j] = fabs(r);
    misfit->norm = s->norm > misfit->norm ? s->norm : misfit->norm;
}

WI_INLINE void residuals(const bool extended, const size_t n, const wi_residual_args *args,
                         size_t begin, size_t end, wi_misfit *misfit) {
    wi_misfit worst = *misfit;
    for (size_t i = begin; i < end; i++) {
        for (size_t j = 0; j < n; j++) {
            const double *const x = args->x + j * args->ldx;
            const double b = right_side(args, i, j);
            const sums s = j == 0 ? sum_row(extended, true, args->matrix, i, x, b)
                                  : sum_row(extended, false, args->matrix, i, x, b);
            const double r = extended ? s.high + s.low : b - s.high;
            if (args->r)
                args->r[args->place ? (size_t)args->place[i] * n + j : i + j * args->ldr] = r;
            if (args->scale)
                args->scale[i + j * args->ld_scale] = s.size + fabs(b);
            if (args->misfit)
                note_row(args, i, j, r, &s, b, &worst);
        }
    }
    *misfit = worst;
}

static void rows(const wi_residual_args *args, size_t begin, size_t end, wi_misfit *misfit) {
    if (args->extended && args->n == 1)
        residuals(true, 1, args, begin, end, misfit);
    else if (args->extended)
        residuals(true, args->n, args, begin, end, misfit);
    else
        residuals(false, args->n, args, begin, end, misfit);
}

/* Compares the bits as integers, which the compiler can vectorize. */
static double largest(size_t n, const double *x) {
    uint64_t most = 0;
    double result;
    for (size_t i = 0; i < n; i++)
        most = wi_size_bits(x[i]) > most ? wi_size_bits(x[i]) : most;
    memcpy(&result, &most, sizeof result);
    return result;
}

static bool within(size_t n, const double *x, double least, double most) {
    const uint64_t low = wi_size_bits(least), high = wi_size_bits(most);
    uint64_t outside = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = wi_size_bits(x[i]);
        outside |= (uint64_t)((bits != 0) & ((bits < low) | (bits > high)));
    }
    return outside == 0;
}

const wi_residual_simd WI_FOR_ISA(wi_residual_simd) = {
    .rows = rows,
    .largest = largest,
    .within = within,
};
