/* SPDX-License-Identifier: Apache-2.0 */
/* What the panels of L Lt and the windows of L D Lt share: all large fronts of a level at once. */
#ifndef WI_CHOL_PANELS_CUH
#define WI_CHOL_PANELS_CUH

#include <limits.h>

#include "sparse/chol_cuda.cuh"

/* A launch over the large fronts of a level: front + k is the first's record number + k. It is for
 * a panel; or it assembles, and `panel` is the first block of the first front. */
struct wi_front_batch {
    int first, fronts;
    const int32_t *sums;
    int panel;
    int64_t maps; /* the first front's description, if it has one */
};

__device__ inline int wi_panel_width(const wi_front_record &r, int p) {
    return r.columns - p * WI_PANEL < WI_PANEL ? r.columns - p * WI_PANEL : WI_PANEL;
}

/* The number of the first large front of a level. */
inline int wi_first_large(const wi_chol_level *level) {
    return level->first + wi_small_fronts(level);
}

/* The fronts' entries of A, and what their children left: chol_tiles.cu. */
weft_status wi_chol_assemble_large(weft_context *ctx, const weft_chol *plan,
                                   const wi_chol_level *level);

/* The same of columns begin ... end - 1 of a level's only front; `begin` is a multiple of
 * WI_FRONT_COLUMNS. */
weft_status wi_chol_assemble_columns(weft_context *ctx, const weft_chol *plan,
                                     const wi_chol_level *level, int begin, int end);

/* Stripes of a front, each so many of its columns or of those of its update: number first, first +
 * step ... before `end`. */
struct wi_front_stripes {
    int first, step, end, columns;
};

/* A tile: its row, counted from its column's diagonal down, and its column, counted from the
 * front's first; and how many rows and columns tiles have. */
struct wi_stripe_tile {
    int row, column;
};
struct wi_tile_size {
    int high, wide;
};

/* Tile `number` of the tiles of these stripes, column by column, from the one on that has column
 * `begin` of the front. If there are not so many, one in row -1 - (number - how many there are). */
WI_COUNTED wi_stripe_tile wi_tile_of_stripes(int height, int begin, wi_front_stripes stripes,
                                             wi_tile_size size, int number) {
    const int across = stripes.columns / size.wide, all = wi_pieces(height, size.wide);
    const int from = begin / size.wide;
    for (int s = stripes.first; s < stripes.end; s += stripes.step) {
        const int end = (s + 1) * across < all ? (s + 1) * across : all;
        for (int column = s * across > from ? s * across : from; column < end; column++) {
            const int down = wi_pieces(height - column * size.wide, size.high);
            if (number < down)
                return {number, column};
            number -= down;
        }
    }
    return {-1 - number, -1};
}

/* How many tiles these stripes have. */
inline int wi_tiles_of_stripes(int height, int begin, wi_front_stripes stripes, wi_tile_size size) {
    return INT_MAX + wi_tile_of_stripes(height, begin, stripes, size, INT_MAX).row + 1;
}

/* A panel of so many blocks of rows, of all fronts of a batch: L Lt, or L D Lt with known signs. */
weft_status wi_chol_factor_panel(weft_context *ctx, const weft_chol *plan, const wi_device_chol &d,
                                 const wi_front_batch &b, unsigned blocks);

/* What the last panel of a block changes in the fronts of a batch, in so many tiles by the copy
 * engine. */
weft_status wi_chol_update_by_ring(weft_context *ctx, const wi_device_chol &d,
                                   const wi_front_batch &b, unsigned tiles);

/* The block of columns that begins with column `begin`, in one kernel: L Lt in doubles, of a front
 * that wi_flow_columns says to have it. */
weft_status wi_chol_flow_block(weft_context *ctx, const wi_device_chol &d, const wi_front_record &r,
                               int begin);

/* Afterwards: the inverses of the squares in such blocks, of `fronts` fronts. */
weft_status wi_chol_invert_squares(weft_context *ctx, const weft_chol *plan,
                                   const wi_device_chol &d, int first, int fronts);

/* What a panel, or window, of every front changes, in so many tiles. */
weft_status wi_chol_update_tiles(weft_context *ctx, const weft_chol *plan, const wi_device_chol &d,
                                 const wi_front_batch &b, unsigned tiles);

/* What the last panel of a block changes in stripes of one front, of which `r` is the record
 * `number`. Not if pivots are interchanged. */
weft_status wi_chol_update_stripes(weft_context *ctx, const weft_chol *plan,
                                   const wi_device_chol &d, const wi_front_record &r, int number,
                                   int panel, wi_front_stripes stripes);
/* The same by the copy engine, of the only front of a batch. */
weft_status wi_chol_stripes_by_ring(weft_context *ctx, const wi_device_chol &d,
                                    const wi_front_record &r, const wi_front_batch &b,
                                    wi_front_stripes stripes);

/* The only front of a level, by all GPUs of the plan: chol_together.cu. */
weft_status wi_chol_together(weft_context *ctx, const weft_chol *plan, const wi_chol_level *level);

/* Large fronts whose pivots are chosen: ldlt_panels.cu. */
weft_status wi_ldlt_large_fronts(weft_context *ctx, const weft_chol *plan,
                                 const wi_chol_level *level);

#endif
