/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of fused for tall filters over large images: convolve_cuda_tall.cu. */
#ifndef WI_CONVOLVE_TALL_H
#define WI_CONVOLVE_TALL_H

#include "convolve/convolve.h"
#include "core/gpu.h"

/* An image has so many pixels for each multiprocessor; on emu, any. */
#ifdef WEFT_EMU
#    define WI_CONVOLVE_TALL_PIXELS 0
#else
#    define WI_CONVOLVE_TALL_PIXELS 7600
#endif

/* Are its images of f32 with one channel and a border of zeros, which begin at multiples of 16
 * bytes as their rows do, on a GPU with a copy engine? */
bool wi_convolve_is_tidy(const weft_context *ctx, const wi_convolve_args *args);
/* Is a call that fused takes one for it? convolve_cuda_boxes.cu asks. */
bool wi_convolve_suits_tall(const weft_context *ctx, const wi_convolve_args *args);
weft_status wi_convolve_tall(weft_context *ctx, const wi_convolve_args *args);

#endif
