/* SPDX-License-Identifier: Apache-2.0 */
/* The rung transforms: an image is cut into tiles that overlap by the size of the filter less one.
 * Each becomes a circular correlation, by Fourier transforms. Filters are real, so two tiles of a
 * plane (of one channel of an image) are the real and the imaginary parts of one complex array. */
#ifndef WI_CONVOLVE_TILES_H
#define WI_CONVOLVE_TILES_H

#include "convolve/convolve.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wi_convolve_tiles {
    const wi_convolve_args *args;
    size_t width, height;         /* of a tile, powers of 2 */
    size_t out_width, out_height; /* of the outputs that a tile gives */
    size_t across, down;          /* tiles of a plane */
    size_t pairs;                 /* of tiles, of a plane */
    size_t first, count;          /* pairs of all planes that are in `numbers` */
    void *spectra;                /* of each filter, complex */
    void *numbers;                /* complex */
} wi_convolve_tiles;

/* The sizes of tiles for a call. `level` is the cost of one level of the transforms, if to read and
 * write a tile costs 1. */
wi_convolve_tiles wi_convolve_cut(const wi_convolve_args *args, double level);

typedef enum wi_convolve_step {
    WI_CONVOLVE_SPREAD, /* filters to `spectra`, zeros around them */
    WI_CONVOLVE_GATHER, /* pixels to `numbers` */
    WI_CONVOLVE_TURN,   /* `numbers` times the conjugates of `spectra` */
    WI_CONVOLVE_SCATTER /* `numbers` to outputs */
} wi_convolve_step;

weft_status wi_convolve_step_cpu(weft_context *ctx, const wi_convolve_tiles *t,
                                 wi_convolve_step step);
weft_status wi_convolve_step_cuda(weft_context *ctx, const wi_convolve_tiles *t,
                                  wi_convolve_step step);

/* That cost on each kind of place. On a GPU arithmetic goes on while memory is read and written. */
static inline double wi_convolve_level(bool is_cpu) {
    return is_cpu ? 0.25 : 0.02;
}

/* The bytes of a complex number. */
static inline size_t wi_convolve_tiles_number(const wi_convolve_args *args) {
    return 2 * (args->doubles ? sizeof(double) : sizeof(float));
}

/* How many rows of tiles a step has. */
static inline size_t wi_convolve_tiles_rows(const wi_convolve_tiles *t, wi_convolve_step step) {
    return step == WI_CONVOLVE_SPREAD    ? t->args->filters * t->height
           : step == WI_CONVOLVE_SCATTER ? t->count * t->out_height
                                         : t->count * t->height;
}

#ifdef __cplusplus
}
#endif
#endif
