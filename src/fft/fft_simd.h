/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a thread of fft, compiled for each instruction set: as many lines at a time as a
 * vector has lanes. */
#ifndef WI_FFT_SIMD_H
#define WI_FFT_SIMD_H

#include "cpu/isa.h"
#include "fft/fft.h"

enum {
    WI_FFT_MOST_CPU_STAGES = 8
};

/* How lines are transformed. */
typedef struct wi_fft_work {
    const wi_fft_lines *lines;
    size_t stages;
    unsigned radix[WI_FFT_MOST_CPU_STAGES];
    const void *twiddles; /* WI_FFT_STAGES_OF */
    const void *turns;    /* of a short period: WI_FFT_TURNS; or NULL, and then these: */
    const void *powers;   /* of a period: WI_FFT_POWERS */
    size_t part;
    const void *lanes; /* of a period: WI_FFT_LANES; or NULL if all lanes are turned alike */
} wi_fft_work;

/* Lines first ... first + count - 1 of all, no more than there are lanes; with a period they are
 * next to each other in the innermost loop. `room` is for 4 n vectors. */
typedef void wi_fft_transform_lines(const wi_fft_work *work, size_t first, size_t count,
                                    void *room);

typedef struct wi_fft_simd {
    size_t bytes; /* of a vector */
    wi_fft_transform_lines *f32, *half /* arrays of f16 */, *f64;
} wi_fft_simd;

WI_DECLARE_ISAS(wi_fft_simd, wi_fft_simd);

#endif
