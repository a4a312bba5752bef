/* SPDX-License-Identifier: Apache-2.0 */
/* convolve: images filtered by convolution or correlation. */
#ifndef WEFT_CONVOLVE_H
#define WEFT_CONVOLVE_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What stands for pixels beyond the border of an image a b c d. */
typedef enum weft_border {
    WEFT_BORDER_ZERO = 0, /* 0 0 | a b c d | 0 0 */
    WEFT_BORDER_CLAMP,    /* a a | a b c d | d d */
    WEFT_BORDER_REFLECT,  /* b a | a b c d | d c, again and again if the filter reaches further */
    WEFT_BORDER_WRAP,     /* c d | a b c d | a b */
    WEFT_BORDER_VALID     /* none is read: the output has only pixels whose filter lies inside */
} weft_border;

/* Flags for weft_convolution.how. */
enum {
    WEFT_CORRELATE = 1,  /* the filter is laid on the image as it is; else turned by 180 degrees */
    WEFT_DENSE = 2,      /* a separable filter is computed like any other */
    WEFT_SUMS_F64 = 4,   /* f64 weights and sums; else f32 */
    WEFT_TRUNCATE = 8,   /* integer outputs are cut towards zero; else to nearest, ties to even */
    WEFT_ANY_ORDER = 16, /* sums may be made in any order, by Fourier transforms or as sums of
                            separable filters too: see below */
    WEFT_OWN_IMAGES = 32 /* over ranks each has images of its own: see below */
};

/* A convolution. All members that are 0 have a meaning, so that an initializer can leave them out.
 */
typedef struct weft_convolution {
    weft_type type;       /* of the images that are read: u8, u16, f16, f32 or f64 */
    weft_type out;        /* of the images that are written: any of these, whatever `type` is */
    size_t width, height; /* of an image that is read, in pixels */
    unsigned channels;    /* interleaved in a pixel: 1 to 4 */
    size_t images;        /* how many, one after the other: planes of an image, or a batch */
    size_t ldx, ldy;      /* elements from one row to the next; 0: rows have no gaps */
    size_t apart_x;       /* rows from one image to the next; 0: images have no gaps between them */
    size_t apart_y;
    weft_border border;
    unsigned how;                       /* WEFT_CORRELATE | ... */
    size_t filter_width, filter_height; /* at least 1; odd or even */
    size_t filters;       /* 0 and 1: the same for all. Else a multiple of channels: channel c of
                             image k has filter (k * channels + c) % filters */
    const double *filter; /* rows of weights from the top, one filter after the other */
} weft_convolution;

/* Filters x into y. The element in column w / 2 and row h / 2 of a filter of w x h (integer
 * divisions) is its centre, which lies on the pixel that is computed:
 *
 *     correlation: y(r, s) = sum over j, i of f(j, i) x(r + j - h / 2, s + i - w / 2)
 *     convolution: y(r, s) = sum over j, i of f(j, i) x(r - j + h / 2, s - i + w / 2)
 *
 * y has the size of x or, with WEFT_BORDER_VALID, width - filter_width + 1 columns and height -
 * filter_height + 1 rows of pixels; if that leaves none, nothing is written.
 *
 * Weights are finite. They are rounded to the type of the sums, f32, or f64 with WEFT_SUMS_F64 and
 * for images of f64. A sum begins with +0.0 and takes in one product after the other, each by a
 * fused multiply-add, in the order in which the pixels lie in x: row by row from the top, each from
 * the left; pixels beyond the border count where they stand in for. The sum is rounded to `out`
 * once: to nearest, ties to even, floats beyond the range to infinity; integers as `how` says,
 * those beyond the range to its end, and NaN to 0. So the bits of y are the same on every place,
 * and the error of a sum is at most about w h 2^-24 sum |f| |x|, or w h 2^-53 of it with sums in
 * f64.
 *
 * Separable filters. If w + h < w h, and every weight of all filters is that of a product of a
 * column and a row to within 2^-22 of itself (2^-51 with sums in f64), then the rows of x are
 * filtered first, from left to right, by fused multiply-adds that begin with +0.0; each result is
 * kept in the type of the sums, and columns of them are filtered in the same way, from the top. The
 * column that is used is the one of the first weight of largest magnitude, and the row is that of
 * this weight divided by it. Again the bits are the same on every place; the error of a sum is at
 * most about (w + h + 8) 2^-24 sum |f| |x|. WEFT_DENSE switches this off. A variant that is forced
 * by weft_use decides by itself: "two_pass", "fused" and "separable" compute this way, "low_rank"
 * and "transforms" as follows, all others the first.
 *
 * Filters of low rank. With WEFT_ANY_ORDER, and without WEFT_DENSE, a filter that is the sum of r
 * terms, each the product of a column and a row, with r up to 8 and r (w + h) < w h, is computed as
 * such, where that is faster: variants "low_rank" and "low_rank_fused". The terms are found by a
 * singular value decomposition and rounded to the type of the sums; a filter is such a sum if,
 * after that, the root of the sum of squared differences to it is at most 2^-22 |f|, or 2^-49 |f|
 * with sums in f64, and no other filter is computed so. The error of an output is at most about (w
 * + r h + 20) sqrt(r) 2^-24 |f| |x|, or 2^-53 of it with sums in f64, where |f| and |x| are the
 * roots of the sums of squares of the filter and of the pixels that it lies on. An infinity, or a
 * number so large that its products overflow, may become NaN.
 *
 * Large filters. With WEFT_ANY_ORDER the call may also choose the variant "transforms", where it is
 * faster: the image is cut into overlapping tiles, which are filtered by Fourier transforms in the
 * type of the sums. The error of a sum is then at most about 2^-22 log2(N) |f| |x|, or 2^-51
 * log2(N) |f| |x| with sums in f64, where |f| and |x| are the roots of the sums of squares of the
 * filter and of a tile of N pixels: small beside the largest outputs, not beside each. Bits may
 * differ from place to place, but are the same on every run of one place. A NaN, an infinity, or a
 * number so large that its products overflow, may make all outputs of its tile NaN, and of the one
 * that is transformed with it.
 *
 * Arrays may be host or device memory, mixed freely; x and y share no memory. `filter` is host or
 * device memory; if it is device memory the call waits for it, and cannot be captured into a graph.
 * With x and y on the device the call is queued on the context's stream. It is fastest where rows
 * begin at multiples of 16 bytes. What lies between rows is neither read nor written (where a GPU
 * works on images in host memory that lie apart, it is copied there and back as it is).
 *
 * Over ranks (place mpi) images are cut into bands of rows. Each rank passes its own rows, in the
 * order of the ranks: `height` counts these, and may differ and be 0; with several images, a band
 * of each, of as many on all ranks. All else but the distances is the same on all ranks. Rows
 * around a band come from those that have them, however far the filter reaches. y has the rows of
 * x; with WEFT_BORDER_VALID a rank has those of its rows whose filter lies in the whole image: of
 * the whole, rows a to H - filter_height + a, where the filter has `a` rows above its centre as it
 * lies on the image: filter_height / 2 of a correlation, (filter_height - 1) / 2 of a convolution.
 * The bits are those of one place, where that is promised above. With WEFT_OWN_IMAGES each rank has
 * images of its own instead, as many as it likes, and calls for them alone, with numbers k of its
 * own; elsewhere the flag does nothing. */
WEFT_API weft_status weft_convolve(weft_context *ctx, const weft_convolution *c, const void *x,
                                   void *y);

#ifdef __cplusplus
}
#endif
#endif
