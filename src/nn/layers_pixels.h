/* SPDX-License-Identifier: Apache-2.0 */
/* Which pixels meet in pooling and up-sampling. CPU loops and kernels include it, with
 * WI_PIXELS_INLINE saying what comes before a function. */
#ifndef WI_LAYERS_PIXELS_H
#define WI_LAYERS_PIXELS_H

#include "nn/layers.h"

/* The pixels of x in a window. */
typedef struct wi_window_at {
    int row, row_end, column, column_end;
} wi_window_at;

WI_PIXELS_INLINE wi_window_at window_at(const wi_sampling *z, int p, int q) {
    const int row = p * z->stride_h - z->pad_h, column = q * z->stride_w - z->pad_w;
    wi_window_at at;
    at.row = row > 0 ? row : 0;
    at.column = column > 0 ? column : 0;
    at.row_end = z->height - row < z->kernel_h ? z->height : row + z->kernel_h;
    at.column_end = z->width - column < z->kernel_w ? z->width : column + z->kernel_w;
    return at;
}

/* What the sum of a window is divided by. */
WI_PIXELS_INLINE double divisor_of(const wi_sampling *z, const wi_window_at *at) {
    return z->kind == WEFT_POOL_AVERAGE_PADDED
               ? (double)z->kernel_h * z->kernel_w
               : (double)(at->row_end - at->row) * (at->column_end - at->column);
}

/* first <= i < end */
typedef struct span {
    int first, end;
} span;

/* The windows that a row, or column, of x lies in. */
WI_PIXELS_INLINE span windows_over(int row, int kernel, int stride, int pad, int count) {
    const int below = row + pad - kernel;
    span over;
    over.first = below < 0 ? 0 : below / stride + 1;
    over.end = (row + pad) / stride + 1;
    over.end = over.end < count ? over.end : count;
    return over;
}

/* Between which two rows of x a row of y lies. */
typedef struct sample {
    int first, second;
} sample;

/* floor(a / b) of whole numbers that are not negative. */
WI_PIXELS_INLINE int quotient_of(bool narrow, long long a, long long b) {
    return narrow ? (int)((unsigned)a / (unsigned)b) : (int)(a / b);
}

/* A row of y that is no later than the first that takes of this row of x. */
WI_PIXELS_INLINE int first_sample(const wi_sampling *z, int row, int extent, int out) {
    const long long before = (long long)(row > 1 ? row - 1 : 0) * out;
    const int at = quotient_of(z->narrow, before, extent);
    return at > 0 ? at - 1 : 0;
}

#endif
