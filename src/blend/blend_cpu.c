/* SPDX-License-Identifier: Apache-2.0 */
/* The rung threads: pieces of rows for each thread. */
#include "blend/blend_simd.h"
#include "cpu/team.h"

enum {
    PIECE = 24576 /* elements: a multiple of 1, 2, 3 and 4 */
};

typedef struct job {
    wi_blend_args args;
    wi_blend_line line;
    size_t across; /* pieces of a row */
} job;

static void run_share(void *user, int rank, int team) {
    const job *const j = user;
    const size_t count = j->args.rows * j->across;
    const size_t end = wi_team_share(count, rank + 1, team);
    for (size_t k = wi_team_share(count, rank, team); k < end; k++) {
        const size_t first = k % j->across * PIECE;
        const size_t left = j->args.cols - first;
        j->line(&j->args, k / j->across, first, first + (left < PIECE ? left : PIECE));
    }
}

weft_status wi_blend_threads(weft_context *ctx, const void *args) {
    const wi_blend_simd *const simd = WI_OF_ISA(wi_cpu_isa(), wi_blend_simd);
    job j = {.args = wi_blend_flat(args)};
    const size_t bytes = j.args.rows * j.args.cols * 3 * weft_type_size(j.args.type);
    j.line = j.args.type == WEFT_U8 ? simd->u8 : j.args.type == WEFT_U16 ? simd->u16 : simd->f32;
    j.across = (j.args.cols + PIECE - 1) / PIECE;
    wi_team_run(ctx, wi_team_size(ctx, j.args.rows * j.across, bytes), run_share, &j);
    return WEFT_OK;
}
