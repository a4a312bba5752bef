/* SPDX-License-Identifier: Apache-2.0 */
/* What fft_strides.c has for the public calls. */
#ifndef WI_FFT_STRIDES_H
#define WI_FFT_STRIDES_H

#include "fft/fft.h"

/* The arrays of a call. */
enum {
    WI_FFT_X,
    WI_FFT_Y
};

/* Is this array of real numbers? Which of its dimensions is divided over ranks? */
static inline bool wi_fft_is_real(const weft_fft_description *d, int array) {
    return d->kind == (array == WI_FFT_X ? WEFT_FFT_REAL_TO_COMPLEX : WEFT_FFT_COMPLEX_TO_REAL);
}
static inline unsigned wi_fft_divided_dimension(const weft_fft_description *d, int array) {
    return d->layout & (array == WI_FFT_X ? WEFT_FFT_TRANSPOSED_X : WEFT_FFT_TRANSPOSED_Y) ? 1 : 0;
}

/* Elements from the first to the end of the last; 0 if there are more than memory has. */
size_t wi_fft_extent(const weft_fft_description *d, int array);

/* Has this rank nothing of an array? */
bool wi_fft_is_empty(const weft_fft_description *d, int array);

/* Fills in strides, and checks them. Over ranks arrays may be divided in different ways, also in
 * place. */
weft_status wi_fft_complete(weft_context *ctx, const char *call, bool in_place,
                            weft_fft_description *d);

#endif
