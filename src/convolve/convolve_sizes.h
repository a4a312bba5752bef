/* SPDX-License-Identifier: Apache-2.0 */
/* For which square filters the kernels of rows, fused and low_rank_fused exist: their loops are
 * unrolled for each side. And the widths, in words, for which those of tensor do. A build for emu,
 * which runs the same source slowly, has few of them. */
#ifndef WI_CONVOLVE_SIZES_H
#define WI_CONVOLVE_SIZES_H

/* Large images of bytes have so many warps of wide kernels for each multiprocessor; on emu, all. */
#ifdef WEFT_EMU
#    define WI_CONVOLVE_WIDE_WARPS 0
#    define WI_CONVOLVE_ROWS_F32 3, 5
#    define WI_CONVOLVE_ROWS_U8 5
#    define WI_CONVOLVE_ROWS_RGB 3
#    define WI_CONVOLVE_FUSED_F32 3, 9, 17, 33
#    define WI_CONVOLVE_FUSED_U8 5
#    define WI_CONVOLVE_FUSED_RGB 3
#    define WI_CONVOLVE_TERMS_F32 9
#    define WI_CONVOLVE_TENSOR_SLOTS 3, 6, 9
#else
#    define WI_CONVOLVE_WIDE_WARPS 16
#    define WI_CONVOLVE_ROWS_F32 3, 5, 7, 9, 11, 13, 15, 17
#    define WI_CONVOLVE_ROWS_U8 3, 5, 7, 9
#    define WI_CONVOLVE_ROWS_RGB 3, 5, 7
#    define WI_CONVOLVE_FUSED_F32 3, 5, 7, 9, 11, 13, 15, 17, 21, 25, 33
#    define WI_CONVOLVE_FUSED_U8 3, 5, 7, 9, 13, 17
#    define WI_CONVOLVE_FUSED_RGB 3, 5, 7, 9
#    define WI_CONVOLVE_TERMS_F32 9, 13, 17, 25, 33
#    define WI_CONVOLVE_TENSOR_SLOTS 2, 3, 4, 5, 6, 7, 8, 9
#endif

#endif
