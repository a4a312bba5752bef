/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs rows, fused and low_rank_fused of convolve: which kernel a call takes. The kernels are
 * much alike, so they are compressed together. */
#include "convolve/convolve_boxes.h"
#include "convolve/convolve_rows.cuh"

weft_status wi_convolve_rows(weft_context *ctx, const void *arguments) {
    const wi_convolve_args *const args = (const wi_convolve_args *)arguments;
    if (wi_convolve_suits_boxes(ctx, args))
        return wi_convolve_boxes(ctx, args);
    if (args->type == WEFT_F32)
        return wi_strip_choose<float, 1, 0, WI_CONVOLVE_ROWS_F32>(ctx, args);
    if (args->channels == 1)
        return wi_strip_choose<uint8_t, 1, 0, WI_CONVOLVE_ROWS_U8>(ctx, args);
    return args->channels == 3 ? wi_strip_choose<uint8_t, 3, 0, WI_CONVOLVE_ROWS_RGB>(ctx, args)
                               : wi_strip_choose<uint8_t, 4, 0, WI_CONVOLVE_ROWS_RGB>(ctx, args);
}

weft_status wi_convolve_fused(weft_context *ctx, const void *arguments) {
    const wi_convolve_args *const args = (const wi_convolve_args *)arguments;
    if (wi_convolve_suits_boxes(ctx, args))
        return wi_convolve_boxes(ctx, args);
    if (args->type == WEFT_F32)
        return wi_strip_choose<float, 1, 1, WI_CONVOLVE_FUSED_F32>(ctx, args);
    if (args->channels == 1)
        return wi_strip_choose<uint8_t, 1, 1, WI_CONVOLVE_FUSED_U8>(ctx, args);
    return args->channels == 3 ? wi_strip_choose<uint8_t, 3, 1, WI_CONVOLVE_FUSED_RGB>(ctx, args)
                               : wi_strip_choose<uint8_t, 4, 1, WI_CONVOLVE_FUSED_RGB>(ctx, args);
}

weft_status wi_convolve_low_rank_fused(weft_context *ctx, const void *arguments) {
    const wi_convolve_args *const args = (const wi_convolve_args *)arguments;
    return wi_strip_choose<float, 1, WI_CONVOLVE_MOST_TERMS, WI_CONVOLVE_TERMS_F32>(ctx, args);
}
