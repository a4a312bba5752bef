/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a thread of blend, for one instruction set. All sets give the same bits. */
#include "blend/blend_simd.h"

#include "blend/blend_pixels.h"

enum {
    BLOCK = 1020 /* elements: a multiple of 1, 2, 3 and 4 */
};

#define ELEMENT uint8_t
#define NAME(name) name##_u8
#include "blend/blend_simd_line.inc"
#undef ELEMENT
#undef NAME

#define ELEMENT uint16_t
#define NAME(name) name##_u16
#include "blend/blend_simd_line.inc"
#undef ELEMENT
#undef NAME

#define ELEMENT float
#define NAME(name) name##_f32
#include "blend/blend_simd_line.inc"

const wi_blend_simd WI_FOR_ISA(wi_blend_simd) = {.u8 = line_u8, .u16 = line_u16, .f32 = line_f32};
