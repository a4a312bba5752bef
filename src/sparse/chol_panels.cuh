/* SPDX-License-Identifier: Apache-2.0 */
/* What the panels of L Lt and the windows of L D Lt share: all large fronts of a level at once. */
#ifndef WI_CHOL_PANELS_CUH
#define WI_CHOL_PANELS_CUH

#include "sparse/chol_cuda.cuh"

/* A launch over the large fronts of a level: front + k is the first's record number + k. */
struct wi_front_batch {
    int first, fronts;
    const int32_t *sums;
    int panel;
};

__device__ inline int wi_panel_width(const wi_front_record &r, int p) {
    return r.columns - p * WI_PANEL < WI_PANEL ? r.columns - p * WI_PANEL : WI_PANEL;
}

/* The number of the first large front of a level. */
inline int wi_first_large(const wi_chol_level *level) {
    return level->first + level->small[0] + level->small[1];
}

/* The fronts' entries of A, and what their children left: chol_tiles.cu. */
weft_status wi_chol_assemble_large(weft_context *ctx, const weft_chol *plan,
                                   const wi_chol_level *level);

/* What a panel, or window, of every front changes, in so many tiles. */
weft_status wi_chol_update_tiles(weft_context *ctx, const weft_chol *plan, wi_front_batch b,
                                 unsigned tiles);

/* Large fronts whose pivots are chosen: ldlt_panels.cu. */
weft_status wi_ldlt_large_fronts(weft_context *ctx, const weft_chol *plan,
                                 const wi_chol_level *level);

#endif
