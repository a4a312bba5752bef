/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of f32 whose first stage goes over the blocks of a cluster (compute capability 9.0).
 */
#ifndef WI_FFT_CROSSED_H
#define WI_FFT_CROSSED_H

#include "fft/fft.h"

/* Lines of 2^15 or 2^17 numbers, each in one piece. */
bool wi_fft_takes_crossed_line(const wi_fft_lines *l);
weft_status wi_fft_run_crossed_line(weft_context *ctx, const wi_fft_lines *l, bool queues);

/* 8192 rows of 8192 numbers, each in one piece, from one array to another, and their columns. */
bool wi_fft_takes_planes(const wi_fft_lines *rows, const wi_fft_lines *columns);
weft_status wi_fft_run_planes(weft_context *ctx, const wi_fft_lines *rows,
                              const wi_fft_lines *columns, bool queues);

#endif
