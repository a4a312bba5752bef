/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels as numbers and numbers as pixels, on a cpu. */
#ifndef WI_CONVOLVE_PIXELS_H
#define WI_CONVOLVE_PIXELS_H

#include "convolve/convolve.h"
#include "cpu/half.h"

/* Element i of an array. */
static inline double wi_convolve_number(weft_type type, const void *p, size_t i) {
    switch (type) {
    case WEFT_U8:
        return ((const uint8_t *)p)[i];
    case WEFT_U16:
        return ((const uint16_t *)p)[i];
    case WEFT_F16:
        return wi_f16_widen(((const uint16_t *)p)[i]);
    case WEFT_F32:
        return ((const float *)p)[i];
    default:
        return ((const double *)p)[i];
    }
}

/* A whole number from 0 to `most`: to nearest, ties to even, or cut; NaN becomes 0. Adding and
 * subtracting 2^52 rounds to nearest. */
static inline unsigned wi_convolve_whole(double v, unsigned most, bool truncates) {
    v = v > 0 ? v : 0;
    v = v < most ? v : most;
    return (unsigned)(truncates ? v : v + 0x1p52 - 0x1p52);
}

/* v, a sum in f32 or f64, as element i. */
static inline void wi_convolve_put(const wi_convolve_args *a, void *y, size_t i, double v) {
    switch (a->out) {
    case WEFT_U8:
        ((uint8_t *)y)[i] = (uint8_t)wi_convolve_whole(v, UINT8_MAX, a->truncates);
        break;
    case WEFT_U16:
        ((uint16_t *)y)[i] = (uint16_t)wi_convolve_whole(v, UINT16_MAX, a->truncates);
        break;
    case WEFT_F16:
        ((uint16_t *)y)[i] = wi_f16_narrow_double(v);
        break;
    case WEFT_F32:
        ((float *)y)[i] = (float)v;
        break;
    default:
        ((double *)y)[i] = v;
    }
}

#endif
