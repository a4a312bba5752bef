/* SPDX-License-Identifier: Apache-2.0 */
/* Lines in blocks, for the rungs that use them. */
#ifndef WI_FFT_CUDA_H
#define WI_FFT_CUDA_H

#include "fft/fft.h"

bool wi_fft_block_cuts(weft_type type, size_t n);
bool wi_fft_block_takes(const weft_context *ctx, const wi_fft_lines *l);
weft_status wi_fft_queue_lines(weft_context *ctx, const wi_fft_lines *l, void *room);
weft_status wi_fft_prepare_lines(weft_context *ctx, const wi_fft_lines *l,
                                 size_t *room_bytes); /* tables only */

#endif
