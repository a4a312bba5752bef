/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of conv's rung fft: planes of images, filters and results are all transformed as height
 * x width numbers, zeros around what they have. */
#ifndef WI_CONV_FFT_H
#define WI_CONV_FFT_H

#include "nn/conv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of one plane. A row of real numbers has room for the 2 * half that its transform has. */
typedef struct wi_conv_plane {
    size_t height, width, half;
} wi_conv_plane;

/* Large enough that what goes around the edges meets zeros, or is not read. The least that has no
 * prime factors above 7. */
wi_conv_plane wi_conv_plane_of(const wi_conv_args *a);

/* Complex numbers of the spectrum of a plane. */
static inline size_t wi_conv_spectrum(const wi_conv_plane *p) {
    return p->height * p->half;
}

weft_status wi_conv_fft(weft_context *ctx, const void *args);

#ifdef __cplusplus
}
#endif
#endif
