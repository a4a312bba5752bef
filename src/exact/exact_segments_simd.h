/* SPDX-License-Identifier: Apache-2.0 */
/* Exact sums of short segments, compiled for each instruction set. */
#ifndef WI_EXACT_SEGMENTS_SIMD_H
#define WI_EXACT_SEGMENTS_SIMD_H

#include "cpu/isa.h"
#include "exact/exact_segments.h"

enum {
    WI_EXACT_SHORT = 2048 /* elements of a segment that is added up by a cascade, at most */
};

typedef struct wi_exact_segments_simd {
    /* Results of segments s ... end - 1, up to the first one that needs the wide integer: returns
     * its number, or end. */
    size_t (*cascades)(const wi_group_args *a, size_t segments, size_t s, size_t end);
} wi_exact_segments_simd;

WI_DECLARE_ISAS(wi_exact_segments_simd, wi_exact_segments_simd);

#endif
