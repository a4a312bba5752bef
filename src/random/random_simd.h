/* SPDX-License-Identifier: Apache-2.0 */
/* random by many blocks at a time, compiled for each instruction set. */
#ifndef WI_RANDOM_SIMD_H
#define WI_RANDOM_SIMD_H

#include "cpu/isa.h"
#include "random/random.h"

typedef struct wi_random_simd {
    /* Makes elements [from, to) of a call. */
    void (*make)(const wi_random_args *args, size_t from, size_t to);
} wi_random_simd;

WI_DECLARE_ISAS(wi_random_simd, wi_random_simd);

#endif
