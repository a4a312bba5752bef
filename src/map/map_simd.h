/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of map, compiled for each instruction set. */
#ifndef WI_MAP_SIMD_H
#define WI_MAP_SIMD_H

#include "cpu/isa.h"
#include "map/map_run.h"

typedef struct wi_map_simd {
    wi_map_loop loops[WI_MAP_OPS][WEFT_TYPE_COUNT];
    /* The same with streaming stores; size is that of an element. */
    void (*stream)(wi_map_loop loop, const wi_map_run *run, size_t size);
} wi_map_simd;

WI_DECLARE_ISAS(wi_map_simd, wi_map_simd);

#endif
