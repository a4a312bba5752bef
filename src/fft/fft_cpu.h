/* SPDX-License-Identifier: Apache-2.0 */
/* What the rungs of the cpu share. */
#ifndef WI_FFT_CPU_H
#define WI_FFT_CPU_H

#include "fft/fft.h"

/* Rows first ... end - 1 of all, one after the other. */
void wi_fft_move_some(const wi_fft_move *m, size_t first, size_t end);
void wi_fft_fold_some(const wi_fft_fold *f, size_t first, size_t end);

#endif
