/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the unit in which all weights of a filter are whole numbers, and what sums in it may be
 * off. */
#include "convolve/convolve_units.h"

#include <math.h>

#include "convolve/convolve_sizes.h"

static const double most_byte = 255;

/* Weight (j, i) as f32, or the product of those of its column and its row. */
static double weight_of(const wi_convolve_args *a, size_t j, size_t i) {
    if (a->column)
        return (double)(float)a->column[j] * (double)(float)a->row[i];
    return (float)a->filter[j * a->filter_width + i];
}

/* The least e such that 2^e times each of n weights is a whole number; 0 at least. */
static int bits_behind_point(const double *weights, size_t n) {
    int most = 0;
    for (size_t k = 0; k < n; k++) {
        int exponent = 0;
        const int64_t digits = (int64_t)ldexp(frexp((float)weights[k], &exponent), 24);
        if (digits != 0) {
            const int bits = 24 - __builtin_ctzll((unsigned long long)digits) - exponent;
            most = bits > most ? bits : most;
        }
    }
    return most;
}

static double sum_of_magnitudes(const double *weights, size_t n) {
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += fabs((double)(float)weights[k]);
    return sum;
}

/* What is to be known of all weights. */
typedef struct magnitudes {
    double largest, sum;
} magnitudes;

static magnitudes magnitudes_of(const wi_convolve_args *a) {
    magnitudes m = {0, 0};
    for (size_t j = 0; j < a->filter_height; j++)
        for (size_t i = 0; i < a->filter_width; i++) {
            const double size = fabs(weight_of(a, j, i));
            m.largest = fmax(m.largest, size);
            m.sum += size;
        }
    return m;
}

/* Do sums in units of 2^-shift have room? */
static bool has_room(magnitudes m, int shift) {
    return ldexp(m.largest, shift) <= WI_CONVOLVE_MOST_UNITS &&
           ldexp(m.sum, shift) * most_byte <= 0x1p30;
}

/* If f32 holds all sums of the promised order: in which units they are whole; else -1. */
static int exact_shift(const wi_convolve_args *a, magnitudes m) {
    const size_t w = a->filter_width, h = a->filter_height;
    int shift;
    double sum;
    if (a->column) {
        const int of_column = bits_behind_point(a->column, h);
        const int of_row = bits_behind_point(a->row, w);
        shift = of_column + of_row;
        sum = ldexp(sum_of_magnitudes(a->column, h), of_column) *
              ldexp(sum_of_magnitudes(a->row, w), of_row);
    } else {
        shift = bits_behind_point(a->filter, w * h);
        sum = ldexp(m.sum, shift);
    }
    return shift <= WI_CONVOLVE_MOST_SHIFT && has_room(m, shift) && sum * most_byte < 0x1p24 ? shift
                                                                                             : -1;
}

/* The sum of what |weights| add up to, up to each of n: with pixels of at most 1, rounding a sum of
 * products moves it by at most 2^-24 of that. */
static double sum_of_partial_sums(const double *weights, size_t n) {
    double partial = 0, sum = 0;
    for (size_t k = 0; k < n; k++) {
        partial += fabs((double)(float)weights[k]);
        sum += partial;
    }
    return sum;
}

/* How far rounding moves a number of at most `most`: less than 2^e, by at most 2^(e - 25). */
static double rounding_of(double most) {
    int e = 0;
    frexp(most, &e);
    return most > 0 ? ldexp(1, (e > -100 ? e : -100) - 25) : 0;
}

/* How far rounding moves a sum of the promised order, at most. A partial sum is a little larger
 * than what it should be, by what rounding moved those before. */
static double most_rounding(const wi_convolve_args *a) {
    const size_t w = a->filter_width, h = a->filter_height;
    const double of_one = most_byte * 0x1.01p-24;
    double partial = 0, sum = 0;
    if (a->column)
        return of_one * (sum_of_partial_sums(a->row, w) * sum_of_magnitudes(a->column, h) +
                         sum_of_partial_sums(a->column, h) * sum_of_magnitudes(a->row, w));
    for (size_t k = 0; k < w * h; k++) {
        partial += fabs((double)(float)a->filter[k]);
        sum += rounding_of(most_byte * 0x1.01p0 * partial);
    }
    return sum;
}

/* Where sums of the promised order lie, from ours on to either side: with pixels from 0 to 255,
 * what units leave of weights moves them, and so does rounding. */
typedef struct distances {
    double above, below; /* in units */
} distances;

static distances most_distances(const wi_convolve_args *a, int shift) {
    const double rounding = ldexp(most_rounding(a), shift);
    distances d = {rounding, rounding};
    for (size_t j = 0; j < a->filter_height; j++)
        for (size_t i = 0; i < a->filter_width; i++) {
            const double weight = ldexp(weight_of(a, j, i), shift);
            const double rest = (weight - rint(weight)) * most_byte;
            d.above += rest > 0 ? rest : 0;
            d.below -= rest < 0 ? rest : 0;
        }
    return d;
}

static void find_doubt(const wi_convolve_args *a, wi_convolve_units *u) {
    const distances d = most_distances(a, u->shift);
    const double half = a->truncates ? 0 : ldexp(0.5, u->shift);
    const double most = ceil(half + d.above), least = floor(half - d.below);
    u->begin = (int32_t)most;
    u->in_doubt = (int32_t)(most - least) + 1;
}

/* A cut sum is less than a unit of 2^-16 below what it was. */
bool wi_convolve_find_fine_units(const wi_convolve_args *args, wi_convolve_units *units) {
    const magnitudes m = magnitudes_of(args);
    const bool is_fine = ldexp(m.largest, WI_CONVOLVE_FINE_SHIFT) <= WI_CONVOLVE_MOST_UNITS;
    const int shift = is_fine ? WI_CONVOLVE_FINE_SHIFT : WI_CONVOLVE_COARSE_SHIFT;
    if (!(ldexp(m.largest, shift) <= WI_CONVOLVE_MOST_UNITS) || !(m.sum * most_byte < 0x7ffe))
        return false;
    const distances d = most_distances(args, shift);
    const double above = ceil(ldexp(d.above, 16 - shift) + 1);
    const double below = ceil(ldexp(d.below, 16 - shift));
    *units = (wi_convolve_units){
        .shift = shift, .begin = 0x8000 + (int32_t)above, .in_doubt = (int32_t)(above + below) + 1};
    return true;
}

static bool find_rough_units(const wi_convolve_args *args, magnitudes m, wi_convolve_units *units) {
    *units = (wi_convolve_units){.shift = WI_CONVOLVE_MOST_SHIFT};
    while (units->shift >= 0 && !has_room(m, units->shift))
        units->shift--;
    if (units->shift < 0)
        return false;
    find_doubt(args, units);
    return true;
}

bool wi_convolve_find_units(const wi_convolve_args *args, wi_convolve_units *units) {
    const magnitudes m = magnitudes_of(args);
    const int exact = exact_shift(args, m);
    if (exact < 0)
        return find_rough_units(args, m, units);
    *units = (wi_convolve_units){.shift = exact, .is_exact = true};
    units->is_short = ldexp(m.largest, exact) <= INT8_MAX;
    return true;
}

int32_t wi_convolve_unit(const wi_convolve_args *args, size_t j, size_t i, int shift) {
    return (int32_t)rint(ldexp(weight_of(args, j, i), shift));
}

static bool lies_in(const wi_convolve_args *a, size_t frame) {
    return a->filter_height <= frame && a->left <= frame / 2 &&
           a->filter_width <= a->left + frame / 2 + 1;
}

int wi_convolve_quads_frame(const wi_convolve_args *args) {
    static const int frames[] = {WI_CONVOLVE_QUADS_FRAME, WI_CONVOLVE_QUADS_WIDE_FRAME};
    for (int k = 0; k < 2; k++)
        if (lies_in(args, (size_t)frames[k]))
            return frames[k];
    return 0;
}

bool wi_convolve_find_reach(const wi_convolve_args *args, wi_convolve_reach *reach) {
    static const size_t kernels[] = {WI_CONVOLVE_TENSOR_SLOTS};
    const size_t word = 4, before = args->left * args->channels;
    const size_t skipped = (16 - before % 16) % 16;
    const size_t bytes = skipped % word + word + (args->filter_width - 1) * args->channels;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        if (bytes <= word * kernels[k]) {
            *reach = (wi_convolve_reach){(int)skipped, (int)kernels[k]};
            return skipped / word * word + word * kernels[k] <= WI_CONVOLVE_REACH;
        }
    return false;
}
