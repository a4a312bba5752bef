/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that lie next to each other, in clusters (compute capability 9.0). */
#ifndef WI_FFT_COLUMNS_H
#define WI_FFT_COLUMNS_H

#include "fft/fft.h"

bool wi_fft_takes_columns(const wi_fft_lines *l);
weft_status wi_fft_run_columns(weft_context *ctx, const wi_fft_lines *l, bool queues);

#endif
