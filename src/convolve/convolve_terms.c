/* SPDX-License-Identifier: Apache-2.0 */
/* Filters of low rank: sums of a few products of a column and a row, which are found by a singular
 * value decomposition. A filter F is first cut down to Q B, where the columns of Q are orthonormal
 * and B has few rows: each column of Q is the largest one that F has left. Then rows of B are
 * turned in pairs, and columns of Q with them, until the rows are orthogonal: with singular values
 * s and unit vectors v they are s v, and the terms are (Q s) v. */
#include "convolve/convolve_terms.h"

#include <math.h>
#include <string.h>

enum {
    MOST_SWEEPS = 30 /* a dozen have always been enough */
};

/* One filter as a matrix, and what is found. All are by rows. */
typedef struct matrix {
    size_t height, width, most; /* most: terms */
    double *left;               /* what the terms so far leave of the filter */
    double *q, *b;              /* `most` columns of height, and rows of width, each as a line */
} matrix;

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum = fma(a[i], b[i], sum);
    return sum;
}

static double norm(const double *a, size_t n) {
    return sqrt(dot(a, a, n));
}

/* The column of what is left with the largest norm, as a unit vector at right angles to those
 * before; the second time takes away what rounding left of them. */
static void take_column(const matrix *m, size_t count) {
    double *const q = m->q + count * m->height;
    size_t best = 0;
    double largest = -1;
    for (size_t i = 0; i < m->width; i++) {
        double square = 0;
        for (size_t j = 0; j < m->height; j++)
            square = fma(m->left[j * m->width + i], m->left[j * m->width + i], square);
        if (square > largest) {
            largest = square;
            best = i;
        }
    }
    for (size_t j = 0; j < m->height; j++)
        q[j] = m->left[j * m->width + best];
    for (int again = 0; again < 2; again++) {
        const double length = norm(q, m->height);
        for (size_t j = 0; j < m->height; j++)
            q[j] /= length;
        for (size_t k = 0; k < count; k++) {
            const double *const other = m->q + k * m->height;
            const double along = dot(q, other, m->height);
            for (size_t j = 0; j < m->height; j++)
                q[j] -= along * other[j];
        }
    }
}

/* b = q left, left -= q b. */
static void take_row(const matrix *m, size_t count) {
    const double *const q = m->q + count * m->height;
    double *const b = m->b + count * m->width;
    memset(b, 0, m->width * sizeof *b);
    for (size_t j = 0; j < m->height; j++)
        for (size_t i = 0; i < m->width; i++)
            b[i] = fma(q[j], m->left[j * m->width + i], b[i]);
    for (size_t j = 0; j < m->height; j++)
        for (size_t i = 0; i < m->width; i++)
            m->left[j * m->width + i] = fma(-q[j], b[i], m->left[j * m->width + i]);
}

static void turn(double *a, double *b, size_t n, double c, double s) {
    for (size_t i = 0; i < n; i++) {
        const double x = a[i], y = b[i];
        a[i] = c * x - s * y;
        b[i] = s * x + c * y;
    }
}

/* Makes rows k and l of B orthogonal; false if they were. */
static bool turn_pair(const matrix *m, size_t k, size_t l) {
    double *const a = m->b + k * m->width, *const b = m->b + l * m->width;
    const double aa = dot(a, a, m->width), bb = dot(b, b, m->width), ab = dot(a, b, m->width);
    if (!(fabs(ab) > 0x1p-52 * sqrt(aa) * sqrt(bb)))
        return false;
    const double zeta = (bb - aa) / (2 * ab);
    const double t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    const double c = 1 / sqrt(1 + t * t);
    turn(a, b, m->width, c, c * t);
    turn(m->q + k * m->height, m->q + l * m->height, m->height, c, c * t);
    return true;
}

/* The terms that are found from `count` columns and rows: those with the largest singular values
 * first, without the last ones that are together no more than `within`. */
static size_t decompose(const matrix *m, size_t count, double within, double *columns,
                        double *rows) {
    double values[WI_CONVOLVE_MOST_TERMS];
    bool has_turned = true;
    for (int sweep = 0; sweep < MOST_SWEEPS && has_turned; sweep++) {
        has_turned = false;
        for (size_t k = 0; k + 1 < count; k++)
            for (size_t l = k + 1; l < count; l++)
                has_turned |= turn_pair(m, k, l);
    }
    double rest = 0;
    for (size_t k = 0; k < count; k++) {
        values[k] = norm(m->b + k * m->width, m->width);
        rest += values[k] * values[k];
    }
    size_t terms = 0;
    for (; terms < count && rest > within * within; terms++) {
        size_t best = 0;
        for (size_t k = 1; k < count; k++)
            best = values[k] > values[best] ? k : best;
        for (size_t j = 0; j < m->height; j++)
            columns[terms * m->height + j] = m->q[best * m->height + j] * values[best];
        for (size_t i = 0; i < m->width; i++)
            rows[terms * m->width + i] = m->b[best * m->width + i] / values[best];
        values[best] = -1;
        rest = 0;
        for (size_t k = 0; k < count; k++)
            rest += values[k] > 0 ? values[k] * values[k] : 0;
    }
    return terms;
}

/* Columns and rows of Q B, until no more than `within` is left. False if that takes too many. */
static bool cut_down(const matrix *m, double within, size_t *count) {
    for (*count = 0; norm(m->left, m->width * m->height) > within; ++*count) {
        if (*count == m->most)
            return false;
        take_column(m, *count);
        take_row(m, *count);
    }
    return true;
}

/* Weights and factors in the type of the sums. */
static double rounded(bool doubles, double v) {
    return doubles ? v : (float)v;
}

/* Is the sum of the terms, whose columns are to be multiplied by `scale`, as near to the filter as
 * is promised? */
static bool is_near(const wi_convolve_args *args, const double *filter, double scale, size_t terms,
                    double *columns, double *rows) {
    const size_t width = args->filter_width, height = args->filter_height;
    double square = 0, off = 0;
    for (size_t k = 0; k < terms * height; k++)
        columns[k] = rounded(args->doubles, columns[k] * scale);
    for (size_t k = 0; k < terms * width; k++)
        rows[k] = rounded(args->doubles, rows[k]);
    for (size_t k = 0; k < width * height; k++) {
        const double weight = filter[k] / scale;
        double error = -weight;
        for (size_t t = 0; t < terms; t++)
            error =
                fma(columns[t * height + k / width] / scale, rows[t * width + k % width], error);
        square = fma(weight, weight, square);
        off = fma(error, error, off);
    }
    return sqrt(off) <= wi_convolve_terms_within(args->doubles) * sqrt(square);
}

/* Once more with what the terms leave of the filter, for the roundings so far are as large as what
 * sums in f64 allow: the rows take it in. */
static void refine(const matrix *m, const double *filter, double scale, size_t terms,
                   const double *columns, double *rows) {
    for (size_t k = 0; k < m->width * m->height; k++) {
        m->left[k] = filter[k] / scale;
        for (size_t t = 0; t < terms; t++)
            m->left[k] = fma(-columns[t * m->height + k / m->width],
                             rows[t * m->width + k % m->width], m->left[k]);
    }
    for (size_t t = 0; t < terms; t++) {
        const double *const column = columns + t * m->height;
        const double square = dot(column, column, m->height);
        for (size_t k = 0; k < m->width * m->height; k++)
            rows[t * m->width + k % m->width] += column[k / m->width] / square * m->left[k];
    }
}

/* A power of 2 near the largest magnitude, so that no square leaves the range; 0 for zeros. */
static double scale_of(const double *filter, size_t n) {
    double largest = 0;
    int exponent;
    for (size_t k = 0; k < n; k++)
        largest = fmax(largest, fabs(filter[k]));
    if (largest == 0)
        return 0;
    (void)frexp(largest, &exponent);
    return ldexp(1, exponent - 1);
}

/* The terms of one filter, in `columns` and `rows` one after the other. */
static bool find(const wi_convolve_args *args, const double *filter, matrix *m, size_t *terms,
                 double *columns, double *rows) {
    const size_t n = m->width * m->height;
    const double scale = scale_of(filter, n);
    size_t count;
    *terms = 0;
    if (scale == 0)
        return true;
    for (size_t k = 0; k < n; k++)
        m->left[k] = filter[k] / scale;
    const double within = wi_convolve_terms_within(args->doubles) / 2 * norm(m->left, n);
    if (!cut_down(m, within, &count))
        return false;
    *terms = decompose(m, count, within / 2, columns, rows);
    refine(m, filter, scale, *terms, columns, rows);
    return is_near(args, filter, scale, *terms, columns, rows);
}

size_t wi_convolve_most_terms(const wi_convolve_args *args) {
    const size_t sides = args->filter_width + args->filter_height;
    size_t most = (args->filter_width * args->filter_height - 1) / sides;
    most = most < args->filter_width ? most : args->filter_width;
    most = most < args->filter_height ? most : args->filter_height;
    return most < WI_CONVOLVE_MOST_TERMS ? most : WI_CONVOLVE_MOST_TERMS;
}

size_t wi_convolve_terms_room(const wi_convolve_args *args) {
    const size_t sides = args->filter_width + args->filter_height;
    return wi_convolve_most_terms(args) * sides * (args->filters + 2) +
           args->filter_width * args->filter_height;
}

/* Each filter's terms are found behind the place where all terms will be, and then put there. */
void wi_convolve_find_terms(wi_convolve_args *args, double *room) {
    const size_t width = args->filter_width, height = args->filter_height;
    const size_t most = wi_convolve_most_terms(args), all = most * args->filters;
    double *const columns = room, *const rows = columns + all * height;
    double *const found = rows + all * width;
    double *const found_rows = found + most * height;
    matrix m = {.height = height, .width = width, .most = most};
    m.q = found_rows + most * width;
    m.b = m.q + most * height;
    m.left = m.b + most * width;
    size_t largest = 1;
    memset(room, 0, all * (width + height) * sizeof *room);
    for (size_t f = 0; f < args->filters; f++) {
        size_t terms;
        if (!find(args, args->filter + f * width * height, &m, &terms, found, found_rows))
            return;
        for (size_t t = 0; t < terms; t++) {
            memcpy(columns + (t * args->filters + f) * height, found + t * height,
                   height * sizeof *columns);
            memcpy(rows + (t * args->filters + f) * width, found_rows + t * width,
                   width * sizeof *rows);
        }
        largest = terms > largest ? terms : largest;
    }
    args->terms = largest;
    args->term_columns = columns;
    args->term_rows = rows;
}

weft_status wi_convolve_low_rank(weft_context *ctx, const void *args) {
#ifdef WEFT_CUDA
    if (ctx->kind != WI_CPU)
        return wi_convolve_low_rank_cuda(ctx, args);
#endif
    return wi_convolve_low_rank_cpu(ctx, args);
}
