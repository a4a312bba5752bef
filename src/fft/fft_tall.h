/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that are two passes of columns which fill a multiprocessor, or a small cluster of them
 * (compute capability 9.0). */
#ifndef WI_FFT_TALL_H
#define WI_FFT_TALL_H

#include "fft/fft.h"

/* Lines of as many numbers as two such passes transform, between which each has a copy in `room`.
 */
bool wi_fft_takes_two_tall(const weft_context *ctx, const wi_fft_lines *l);
weft_status wi_fft_run_two_tall(weft_context *ctx, const wi_fft_lines *l, void *room, bool queues);

/* Columns of 2048 numbers of f32, on emu of 64: l->loops.count[0] next to each other, on both
 * sides, a multiple of 8. */
weft_status wi_fft_run_tall_columns(weft_context *ctx, const wi_fft_lines *l, bool queues);

#endif
