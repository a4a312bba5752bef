/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of rows and fused for small filters over large images: convolve_cuda_boxes.cu. */
#ifndef WI_CONVOLVE_BOXES_H
#define WI_CONVOLVE_BOXES_H

#include "convolve/convolve.h"
#include "core/gpu.h"

/* Images have so many pixels for each multiprocessor (512 x 512 on an H200, the smallest that was
 * timed: 4.2 to 6.0 us, strips 5.6 to 11); on emu, any. */
#ifdef WEFT_EMU
#    define WI_CONVOLVE_BOXES_PIXELS 0
#else
#    define WI_CONVOLVE_BOXES_PIXELS 1900
#endif

/* Is a call that rows or fused takes one for it? */
bool wi_convolve_suits_boxes(const weft_context *ctx, const wi_convolve_args *args);
weft_status wi_convolve_boxes(weft_context *ctx, const wi_convolve_args *args);

#endif
