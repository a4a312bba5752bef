/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the plan of the rung "threads" of select. */
#include "select/select_plan.h"

#include <string.h>

enum {
    BLOCK_BYTES = 1 << 17, /* of the widest array: three blocks fit a second-level cache */
    TILE_BYTES = 1 << 10,  /* the same; between two tiles, part of the block before is written */
    /* Larger outputs would not stay in a cache until they are next used. */
    STREAM_BYTES = 1 << 24
};

static void store_plain(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
}

wi_select_plan wi_select_make_plan(const wi_select_args *args) {
    wi_select_plan p = {.args = args,
                        .simd = WI_OF_ISA(wi_cpu_isa(), wi_select_simd),
                        .job = args->job,
                        .tested_log = wi_select_log_of(args->tested_bytes),
                        .width = args->unit * args->units};
    if (args->job == WI_SELECT_KEEP) {
        p.size[WI_SELECT_TO_KEPT] = args->kept ? p.width : 0;
        p.size[WI_SELECT_TO_REST] = args->rest || args->rest_follows ? p.width : 0;
        p.size[WI_SELECT_TO_POSITIONS] = args->positions ? args->position_bytes : 0;
    }
    const size_t widest =
        wi_greater(wi_greater(args->tested_bytes, p.width), p.size[WI_SELECT_TO_POSITIONS]);
    p.keeps = args->job == WI_SELECT_KEEP && !args->unique && args->x == args->tested &&
              args->units == 1 && p.width == args->tested_bytes &&
              args->n * p.width >= STREAM_BYTES && p.size[WI_SELECT_TO_KEPT] &&
              !p.size[WI_SELECT_TO_REST] && !p.size[WI_SELECT_TO_POSITIONS];
    p.tile = wi_greater((p.keeps ? WI_SELECT_KEEP_BYTES : TILE_BYTES) / widest / 64 * 64, 64);
    p.tiles = wi_greater(BLOCK_BYTES / (p.tile * widest), 1);
    p.block = p.tile * p.tiles;
    p.whole_blocks = args->n / p.block;
    p.blocks = p.whole_blocks + (args->n % p.block != 0);
    p.marks_bytes = wi_select_round_up(p.block / 8);
    for (int k = 0; k < WI_SELECT_OUTPUTS; k++)
        p.room[k] = p.size[k] ? wi_select_round_up(p.block * p.size[k] + WI_SELECT_SLACK_BYTES) : 0;
    p.to[WI_SELECT_TO_KEPT] = args->kept;
    p.to[WI_SELECT_TO_REST] = args->rest;
    p.to[WI_SELECT_TO_POSITIONS] = args->positions;
    p.in_place = args->x && (args->x == args->kept || args->x == args->rest);
    p.store = args->n * p.width >= STREAM_BYTES ? p.simd->stream : store_plain;
    return p;
}
