/* SPDX-License-Identifier: Apache-2.0 */
/* The rung low_rank_fused of convolve: which kernel a call takes. */
#include "convolve/convolve_rows.cuh"
#include "convolve/convolve_sizes.h"

weft_status wi_convolve_low_rank_fused(weft_context *ctx, const void *arguments) {
    const wi_convolve_args *const args = (const wi_convolve_args *)arguments;
    return wi_strip_choose<float, 1, WI_CONVOLVE_MOST_TERMS, WI_CONVOLVE_TERMS_F32>(ctx, args);
}
