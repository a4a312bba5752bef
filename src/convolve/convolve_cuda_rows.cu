/* SPDX-License-Identifier: Apache-2.0 */
/* The rung rows of convolve: which kernel a call takes. */
#include "convolve/convolve_rows.cuh"
#include "convolve/convolve_sizes.h"

weft_status wi_convolve_rows(weft_context *ctx, const void *arguments) {
    const wi_convolve_args *const args = (const wi_convolve_args *)arguments;
    if (args->type == WEFT_F32)
        return wi_strip_choose<float, 1, 0, WI_CONVOLVE_ROWS_F32>(ctx, args);
    if (args->channels == 1)
        return wi_strip_choose<uint8_t, 1, 0, WI_CONVOLVE_ROWS_U8>(ctx, args);
    return args->channels == 3 ? wi_strip_choose<uint8_t, 3, 0, WI_CONVOLVE_ROWS_RGB>(ctx, args)
                               : wi_strip_choose<uint8_t, 4, 0, WI_CONVOLVE_ROWS_RGB>(ctx, args);
}
