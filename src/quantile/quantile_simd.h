/* SPDX-License-Identifier: Apache-2.0 */
/* The pass over the elements on a cpu, compiled for each instruction set. */
#ifndef WI_QUANTILE_SIMD_H
#define WI_QUANTILE_SIMD_H

#include <stdatomic.h>

#include "cpu/isa.h"
#include "quantile/quantile.h"

/* Where the keys inside a bracket go, from all threads. */
typedef struct wi_quantile_store {
    _Atomic size_t used; /* keys that found room or would have */
    size_t room;
    uint64_t *keys;
} wi_quantile_store;

/* One thread's share of a pass. */
typedef struct wi_quantile_share {
    weft_type type;
    size_t n;
    const void *x;
    unsigned count;                /* of brackets, at most WI_QUANTILE_GROUP */
    wi_quantile_bracket *brackets; /* this thread's own: their counts are added to */
    wi_quantile_store *stores;     /* one for each bracket, shared by the threads */
} wi_quantile_share;

typedef struct wi_quantile_simd {
    void (*pass)(wi_quantile_share *share);
} wi_quantile_simd;

WI_DECLARE_ISAS(wi_quantile_simd, wi_quantile_simd);

#endif
