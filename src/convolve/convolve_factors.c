/* SPDX-License-Identifier: Apache-2.0 */
/* Separable filters: those that are the product of a column and a row. */
#include <math.h>
#include <stdint.h>

#include "convolve/convolve.h"

/* Where the first weight of largest magnitude is. */
static size_t largest_of(const double *filter, size_t n) {
    size_t at = 0;
    for (size_t k = 1; k < n; k++)
        if (fabs(filter[k]) > fabs(filter[at]))
            at = k;
    return at;
}

/* If a filter is the product of a column and a row, then they are its column and its row through
 * any weight, up to a scale. Takes those through the largest weight, and compares all weights with
 * their product; false if one is too far off. */
static bool find(const double *filter, size_t width, size_t height, double within, double *column,
                 double *row) {
    const size_t at = largest_of(filter, width * height);
    const double pivot = filter[at];
    for (size_t j = 0; j < height; j++)
        column[j] = filter[j * width + at % width];
    for (size_t i = 0; i < width; i++)
        row[i] = pivot != 0 ? filter[at / width * width + i] / pivot : 0;
    for (size_t k = 0; k < width * height; k++) {
        const double product = column[k / width] * row[k % width];
        if (!(fabs(product - filter[k]) <= within * fabs(filter[k])))
            return false;
    }
    return true;
}

bool wi_convolve_factors(const wi_convolve_args *args, double *column, double *row) {
    const size_t width = args->filter_width, height = args->filter_height;
    const double within = args->doubles ? 0x1p-51 : 0x1p-22;
    for (size_t f = 0; f < args->filters; f++)
        if (!find(args->filter + f * width * height, width, height, within, column + f * height,
                  row + f * width))
            return false;
    return true;
}

size_t wi_convolve_between(const wi_convolve_args *args) {
    return args->out_width * args->channels * args->height * args->images;
}

wi_convolve_args wi_convolve_of_rows(const wi_convolve_args *args, void *between) {
    wi_convolve_args a = *args;
    a.out = args->doubles ? WEFT_F64 : WEFT_F32;
    a.out_height = args->height;
    a.y = between;
    a.ldy = args->out_width * args->channels;
    a.apart_y = a.ldy * args->height;
    a.filter_height = 1;
    a.above = 0;
    return a;
}

wi_convolve_args wi_convolve_of_columns(const wi_convolve_args *args, const void *between) {
    wi_convolve_args a = *args;
    a.type = args->doubles ? WEFT_F64 : WEFT_F32;
    a.width = args->out_width;
    a.x = between;
    a.ldx = args->out_width * args->channels;
    a.apart_x = a.ldx * args->height;
    a.filter_width = 1;
    a.left = 0;
    return a;
}
