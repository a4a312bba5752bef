/* SPDX-License-Identifier: Apache-2.0 */
/* Words of two halves with a sign, each a number of 16 bits. */
#ifndef WI_HALVES_CUH
#define WI_HALVES_CUH

#include "cuda/bytes.cuh"

/* Halves with a sign, each as a byte: at least 0 and at most 255. */
__device__ inline uint32_t wi_clamp_halves(uint32_t a) {
#ifdef WEFT_EMU
    const uint32_t signs = 0x80008000u;
    return wi_max_halves(wi_min_signed_halves(a, 0x00ff00ffu) ^ signs, signs) ^ signs;
#else
    return __vimin_s16x2_relu(a, 0x00ff00ffu);
#endif
}

#endif
