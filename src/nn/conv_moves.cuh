/* SPDX-License-Identifier: Apache-2.0 */
/* What is done in memory before and after products on tensor cores: matrices are turned, so that
 * channels lie side by side, and the sums of slices are added up. */
#ifndef WI_CONV_MOVES_CUH
#define WI_CONV_MOVES_CUH

#include "nn/conv_cuda.cuh"
#include "nn/divisor.cuh"

/* Copies of many matrices at once: [rows][inner] becomes lines of `padded` elements, those beyond
 * `inner` zeros. The matrices are numbered by three indices. */
struct wi_conv_turning {
    int rows, inner, padded;
    size_t from_row, from_inner, to_row; /* elements; those of a line of the result lie together */
    int count[3];
    size_t from_step[3], to_step[3];
};

/* Elements of `width` bytes, 2 or 4. */
weft_status wi_conv_turn(weft_context *ctx, size_t width, const wi_conv_turning &t,
                         const void *from, void *to);

/* Sums [slice][group][row][column], and where results go: those of rows, which are pixels, or of
 * columns, which are taps. */
struct wi_conv_joining {
    int rows, columns, groups, slices;
    bool taps;
    wi_nn_divisor line; /* wi_conv_join fills these: columns, and are there fewer than 2^32 sums? */
    bool narrow;
    wi_nn_divisor outer, inner; /* pixels: to the image, and to the row; taps: to the place in the
                                   window, and from it to the row */
    int channels;               /* of taps; further ones are left out */
    size_t group, image, row, column, other; /* elements; other: from a channel of taps, or a
                                                column of pixels, to the next */
    size_t filter;                           /* of taps: from a row to the next */
};

weft_status wi_conv_join(weft_context *ctx, weft_type type, wi_conv_joining j, const float *partial,
                         void *to);

#endif
