/* SPDX-License-Identifier: Apache-2.0 */
/* A filter in whole numbers, for images of bytes: weights in units of 2^-shift, of at most three
 * bytes. Sums of their products are exact, in any order. How far they may be from the sums of the
 * promised order is known; a sum that may then round to either of two numbers is in doubt. */
#ifndef WI_CONVOLVE_UNITS_H
#define WI_CONVOLVE_UNITS_H

#include "convolve/convolve.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_CONVOLVE_MOST_UNITS = 127 * (65536 + 256 + 1), /* the largest weight: three bytes of 127 */
    WI_CONVOLVE_MOST_SHIFT = 22,
    WI_CONVOLVE_FINE_SHIFT = 24, /* of weights below 1/2, and of those below 4 */
    WI_CONVOLVE_COARSE_SHIFT = 21
};

typedef struct wi_convolve_units {
    int shift;
    bool is_exact;    /* these sums are those of the promised order */
    bool is_short;    /* all weights are signed bytes; only if exact */
    int32_t begin;    /* if not exact: sums begin with this, to be the most that they may be; */
    int32_t in_doubt; /* less this they are the least. Both are rounded down */
} wi_convolve_units;

/* How tensor reads a row of x. A slot in shared memory begins at a multiple of 16 bytes of it. */
typedef struct wi_convolve_reach {
    int skipped; /* bytes of a slot's row before the first that counts */
    int slots;   /* of the kernel: words that the four bytes of an output word need, at least */
} wi_convolve_reach;

enum {
    WI_CONVOLVE_REACH = 36 /* bytes of a slot's row beyond those of the outputs but the last four */
};

/* False if a slot's row has no room for it. */
bool wi_convolve_find_reach(const wi_convolve_args *args, wi_convolve_reach *reach);

/* The units for a call's filter, which is one for all; false if its weights are too large. */
bool wi_convolve_find_units(const wi_convolve_args *args, wi_convolve_units *units);

/* The same for sums that are cut to units of 2^-16, in which `begin` and `in_doubt` count here:
 * weights are finer, one of the two shifts above. False if they, or sums, are too large. */
bool wi_convolve_find_fine_units(const wi_convolve_args *args, wi_convolve_units *units);

/* Weight (j, i) in units of 2^-shift. */
int32_t wi_convolve_unit(const wi_convolve_args *args, size_t j, size_t i, int shift);

enum {
    WI_CONVOLVE_QUADS_FRAME = 5,
    WI_CONVOLVE_QUADS_WIDE_FRAME = 9
};

/* The side of the frame that rung quads (convolve_quads.cuh) puts the filter in, with the output in
 * the middle of its columns; 0: it has none. */
int wi_convolve_quads_frame(const wi_convolve_args *args);

#ifdef __cplusplus
}
#endif
#endif
