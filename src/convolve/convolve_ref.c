/* SPDX-License-Identifier: Apache-2.0 */
/* The rung serial: the loops you would write. */
#include <math.h>

#include "convolve/convolve_border.h"
#include "convolve/convolve_pixels.h"

/* The sum of one channel of one output pixel. */
static double sum_of(const wi_convolve_args *a, size_t image, size_t channel, size_t row,
                     size_t column) {
    const size_t number = (image * a->channels + channel) % a->filters;
    const double *const filter = a->filter + number * a->filter_width * a->filter_height;
    double sum = 0;
    for (size_t j = 0; j < a->filter_height; j++) {
        const int r = wi_convolve_pixel(a->border, (int)(row + j) - (int)a->above, (int)a->height);
        for (size_t i = 0; i < a->filter_width; i++) {
            const int c =
                wi_convolve_pixel(a->border, (int)(column + i) - (int)a->left, (int)a->width);
            const double weight = filter[j * a->filter_width + i];
            double pixel = 0;
            if (r >= 0 && c >= 0)
                pixel = wi_convolve_number(a->type, a->x,
                                           image * a->apart_x + (size_t)r * a->ldx +
                                               (size_t)c * a->channels + channel);
            sum = a->doubles ? fma(weight, pixel, sum)
                             : fmaf((float)weight, (float)pixel, (float)sum);
        }
    }
    return sum;
}

weft_status wi_convolve_serial(weft_context *ctx, const void *args) {
    const wi_convolve_args *const a = args;
    (void)ctx;
    for (size_t image = 0; image < a->images; image++)
        for (size_t row = 0; row < a->out_height; row++)
            for (size_t column = 0; column < a->out_width; column++)
                for (size_t channel = 0; channel < a->channels; channel++)
                    wi_convolve_put(
                        a, a->y, image * a->apart_y + row * a->ldy + column * a->channels + channel,
                        sum_of(a, image, channel, row, column));
    return WEFT_OK;
}
