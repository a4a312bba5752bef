/* SPDX-License-Identifier: Apache-2.0 */
/* The rung threads: placeholder engine, lines by the plain loops. */
#include "fft/fft_cpu.h"
weft_status wi_fft_threads(weft_context *ctx, const void *args) { return wi_fft_definition(ctx, args); }
