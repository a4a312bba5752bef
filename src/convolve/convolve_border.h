/* SPDX-License-Identifier: Apache-2.0 */
/* Which pixel stands for one beyond the border, on a cpu and in kernels. */
#ifndef WI_CONVOLVE_BORDER_H
#define WI_CONVOLVE_BORDER_H

#include "weft/convolve.h"

#ifdef __CUDACC__
#    define WI_CONVOLVE_BOTH __host__ __device__ static inline
#else
#    define WI_CONVOLVE_BOTH static inline
#endif

/* i modulo n, from 0 to n - 1. */
WI_CONVOLVE_BOTH int wi_convolve_modulo(int i, int n) {
    const int rest = i % n;
    return rest < 0 ? rest + n : rest;
}

/* The pixel of a line of n (not 0) that stands for pixel i; -1: it counts as 0. The borders differ
 * only where i lies outside. With a valid border no pixel outside matters to the output. */
WI_CONVOLVE_BOTH int wi_convolve_pixel(weft_border border, int i, int n) {
    if (i >= 0 && i < n)
        return i;
    if (border == WEFT_BORDER_CLAMP)
        return i < 0 ? 0 : n - 1;
    if (border == WEFT_BORDER_WRAP)
        return wi_convolve_modulo(i, n);
    if (border != WEFT_BORDER_REFLECT)
        return -1;
    const int at = wi_convolve_modulo(i, 2 * n);
    return at < n ? at : 2 * n - 1 - at;
}

#endif
