/* SPDX-License-Identifier: Apache-2.0 */
/* Bands of rows of images, over ranks. */
#ifndef WI_CONVOLVE_BANDS_H
#define WI_CONVOLVE_BANDS_H

#include "comm/dist.h"
#include "convolve/convolve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A call on one rank: of images of its own, or of bands. */
typedef struct wi_convolve_bands {
    const weft_convolution *c;
    const wi_convolve_args *args; /* of bands: of this rank's rows */
    const void *x;
    void *y;
    const size_t *begin; /* where each rank's rows begin in the whole, and where all end */
} wi_convolve_bands;

/* Where the centre of a filter lies in its column. */
ptrdiff_t wi_convolve_centre(const weft_convolution *c);

/* Rows first ... end - 1 of the whole. */
typedef struct wi_convolve_span {
    ptrdiff_t first, end;
} wi_convolve_span;

wi_convolve_span wi_convolve_band(const wi_convolve_bands *r, int rank);

/* The rows of y that a rank with this band computes, as rows of x. */
wi_convolve_span wi_convolve_outputs(const weft_convolution *c, wi_convolve_span band,
                                     size_t whole);

/* Filters this rank's band. */
weft_status wi_convolve_run_bands(weft_context *ctx, const wi_convolve_bands *r);

#ifdef __cplusplus
}
#endif
#endif
