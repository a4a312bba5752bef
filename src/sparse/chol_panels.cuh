/* SPDX-License-Identifier: Apache-2.0 */
/* What the panels of L Lt and the windows of L D Lt share: all large fronts of a level at once. */
#ifndef WI_CHOL_PANELS_CUH
#define WI_CHOL_PANELS_CUH

#include "sparse/chol_cuda.cuh"

/* A launch over the large fronts of a level: front + k is the first's record number + k. It is for
 * a panel; or it assembles, and `panel` is the first block of the first front. */
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

/* The same of columns begin ... end - 1 of a level's only front; `begin` is a multiple of
 * WI_FRONT_COLUMNS. */
weft_status wi_chol_assemble_columns(weft_context *ctx, const weft_chol *plan,
                                     const wi_chol_level *level, int begin, int end);

constexpr int wi_stripe = WI_OUTER * WI_PANEL;

/* Stripes of a front, each wi_stripe of its columns or of those of its update: number first, first
 * + step ... before `end`. */
struct wi_front_stripes {
    int first, step, end;
};

/* A tile's row and column, counted in tiles from the front's first. */
struct wi_stripe_tile {
    int row, column;
};

/* Tile `number` of the tiles of these stripes, column by column, from the one on that has column
 * `begin` of the front. If there are not so many, one in row -1 - (number - how many there are). */
WI_COUNTED wi_stripe_tile wi_tile_of_stripes(int height, int begin, wi_front_stripes stripes,
                                             int number) {
    const int across = wi_stripe / WI_FRONT_TILE, down = wi_pieces(height, WI_FRONT_TILE);
    const int from = begin / WI_FRONT_TILE;
    for (int s = stripes.first; s < stripes.end; s += stripes.step) {
        const int end = (s + 1) * across < down ? (s + 1) * across : down;
        for (int column = s * across > from ? s * across : from; column < end; column++) {
            if (number < down - column)
                return {column + number, column};
            number -= down - column;
        }
    }
    return {-1 - number, -1};
}

/* A panel of so many blocks of rows, of all fronts of a batch: L Lt, or L D Lt with known signs. */
weft_status wi_chol_factor_panel(weft_context *ctx, const weft_chol *plan, const wi_device_chol &d,
                                 const wi_front_batch &b, unsigned blocks);

/* What a panel, or window, of every front changes, in so many tiles. */
weft_status wi_chol_update_tiles(weft_context *ctx, const weft_chol *plan, const wi_device_chol &d,
                                 const wi_front_batch &b, unsigned tiles);

/* What the last panel of a block changes in stripes of one front, of which `r` is the record
 * `number`. Not if pivots are interchanged. */
weft_status wi_chol_update_stripes(weft_context *ctx, const weft_chol *plan,
                                   const wi_device_chol &d, const wi_front_record &r, int number,
                                   int panel, wi_front_stripes stripes);

/* The only front of a level, by all GPUs of the plan: chol_together.cu. */
weft_status wi_chol_together(weft_context *ctx, const weft_chol *plan, const wi_chol_level *level);

/* Large fronts whose pivots are chosen: ldlt_panels.cu. */
weft_status wi_ldlt_large_fronts(weft_context *ctx, const weft_chol *plan,
                                 const wi_chol_level *level);

#endif
