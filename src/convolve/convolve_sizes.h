/* SPDX-License-Identifier: Apache-2.0 */
/* For which square filters the kernels of rows and fused exist: their loops are unrolled for each
 * side. A build for emu, which runs the same source slowly, has few of them. */
#ifndef WI_CONVOLVE_SIZES_H
#define WI_CONVOLVE_SIZES_H

#ifdef WEFT_EMU
#    define WI_CONVOLVE_ROWS_F32(side) side(3) side(5)
#    define WI_CONVOLVE_ROWS_U8(side) side(5)
#    define WI_CONVOLVE_ROWS_RGB(side) side(3)
#    define WI_CONVOLVE_FUSED_F32(side) side(3) side(9)
#    define WI_CONVOLVE_FUSED_U8(side) side(5)
#    define WI_CONVOLVE_FUSED_RGB(side) side(3)
#else
#    define WI_CONVOLVE_ROWS_F32(side)                                                             \
        side(3) side(5) side(7) side(9) side(11) side(13) side(15) side(17)
#    define WI_CONVOLVE_ROWS_U8(side) side(3) side(5) side(7) side(9)
#    define WI_CONVOLVE_ROWS_RGB(side) side(3) side(5) side(7)
#    define WI_CONVOLVE_FUSED_F32(side)                                                            \
        side(3) side(5) side(7) side(9) side(11) side(13) side(15) side(17) side(21) side(25)      \
            side(33)
#    define WI_CONVOLVE_FUSED_U8(side) side(3) side(5) side(7) side(9) side(13) side(17)
#    define WI_CONVOLVE_FUSED_RGB(side) side(3) side(5) side(7) side(9)
#endif

#endif
