/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a thread of blend, compiled for each instruction set. */
#ifndef WI_BLEND_SIMD_H
#define WI_BLEND_SIMD_H

#include "blend/blend.h"
#include "cpu/isa.h"

/* Elements first ... end - 1 of one row. With a mask, first is that of a pixel. */
typedef void (*wi_blend_line)(const wi_blend_args *args, size_t row, size_t first, size_t end);

typedef struct wi_blend_simd {
    wi_blend_line u8, u16, f32;
} wi_blend_simd;

WI_DECLARE_ISAS(wi_blend_simd, wi_blend_simd);

#endif
