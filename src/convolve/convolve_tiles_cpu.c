/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of the rung transforms on a cpu, beside the transforms themselves: by rows. */
#include "convolve/convolve_border.h"
#include "convolve/convolve_pixels.h"
#include "convolve/convolve_tiles.h"
#include "cpu/team.h"

/* Where the outputs of a tile begin. */
typedef struct tile_at {
    bool is_there;
    size_t image, channel, top, left;
} tile_at;

/* The first or the second tile of a pair. */
static tile_at locate(const wi_convolve_tiles *t, size_t pair, size_t part) {
    const size_t at = t->first + pair, plane = at / t->pairs, tile = at % t->pairs * 2 + part;
    return (tile_at){.is_there = tile < t->across * t->down,
                     .image = plane / t->args->channels,
                     .channel = plane % t->args->channels,
                     .top = tile / t->across * t->out_height,
                     .left = tile % t->across * t->out_width};
}

#define REAL float
#define NAME(f) f##_f32
#include "convolve/convolve_tiles_loops.inc"
#define REAL double
#define NAME(f) f##_f64
#include "convolve/convolve_tiles_loops.inc"

typedef struct job {
    const wi_convolve_tiles *tiles;
    wi_convolve_step step;
} job;

static void run_share(void *user, int rank, int team) {
    const job *const j = user;
    const size_t rows = wi_convolve_tiles_rows(j->tiles, j->step);
    const size_t end = wi_team_share(rows, rank + 1, team);
    for (size_t k = wi_team_share(rows, rank, team); k < end; k++)
        if (j->tiles->args->doubles)
            run_row_f64(j->tiles, j->step, k);
        else
            run_row_f32(j->tiles, j->step, k);
}

weft_status wi_convolve_step_cpu(weft_context *ctx, const wi_convolve_tiles *t,
                                 wi_convolve_step step) {
    job j = {.tiles = t, .step = step};
    const size_t rows = wi_convolve_tiles_rows(t, step);
    const int team = wi_team_size(ctx, rows, rows * t->width * wi_convolve_tiles_number(t->args));
    wi_team_run(ctx, team, run_share, &j);
    return WEFT_OK;
}
