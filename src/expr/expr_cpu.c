/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "blocks" of expr: each thread takes a stretch of the array, block by block. */
#include "cpu/team.h"
#include "expr/expr_simd.h"

enum {
    /* A larger array would not stay in a cache until it is next used. */
    STREAM_BYTES = 1 << 24
};

typedef struct plan {
    const wi_expr_args *args;
    const wi_expr_simd *simd;
    size_t blocks;
    bool stream;
    unsigned char *room;
} plan;

/* Bytes of the widest array for each element. */
static size_t widest(const wi_expr_program *p) {
    size_t most = weft_type_size((weft_type)p->type);
    for (uint32_t k = 0; k < p->inputs; k++) {
        const size_t size = weft_type_size((weft_type)p->from[k]);
        most = size > most ? size : most;
    }
    return most;
}

static bool should_stream(const wi_expr_args *args) {
    const wi_expr_program *const p = args->program;
    bool in_place = false;
    for (uint32_t k = 0; k < p->inputs; k++)
        in_place |= args->x[k] == args->z;
    return !in_place && args->n >= STREAM_BYTES / weft_type_size((weft_type)p->type);
}

static void run_share(void *user, int rank, int team) {
    const plan *const p = user;
    const size_t block = wi_expr_block_n(p->args->program);
    const size_t from = wi_team_share(p->blocks, rank, team) * block;
    const size_t end = wi_team_share(p->blocks, rank + 1, team) * block;
    p->simd->run(p->args, from, end < p->args->n ? end : p->args->n, p->stream,
                 p->room + (size_t)rank * wi_expr_room(p->args->program));
}

weft_status wi_expr_blocks(weft_context *ctx, const void *args) {
    const wi_expr_args *const call = args;
    plan p = {.args = call, .simd = WI_OF_ISA(wi_cpu_isa(), wi_expr_simd)};
    p.blocks = (call->n - 1) / wi_expr_block_n(call->program) + 1;
    p.stream = should_stream(call);
    const int team = wi_team_size(ctx, p.blocks, call->n * widest(call->program));
    const size_t bytes = (size_t)team * wi_expr_room(call->program);
    p.room = wi_host_alloc(bytes);
    if (!p.room)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "expr: no host memory for buffers of %zu bytes; free some, or use variant "
                       "serial, which needs none",
                       bytes);
    wi_team_run(ctx, team, run_share, &p);
    wi_host_free(p.room);
    return WEFT_OK;
}
