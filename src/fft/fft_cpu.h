/* SPDX-License-Identifier: Apache-2.0 */
/* What the rungs of the cpu share. */
#ifndef WI_FFT_CPU_H
#define WI_FFT_CPU_H

#include "fft/fft.h"

/* Moves and folds, one row after the other. */
weft_status wi_fft_move_rows(weft_context *ctx, const wi_fft_move *m);
weft_status wi_fft_fold_rows(weft_context *ctx, const wi_fft_fold *f);

#endif
