/* SPDX-License-Identifier: Apache-2.0 */
/* The rung of small systems that users get on a cpu: threads share them. */
#include <stdatomic.h>

#include "cpu/team.h"
#include "solve_batch/solve_batch_simd.h"

enum {
    TURN_FLOPS = 1 << 18, /* of as many systems as a thread takes at a time */
    ALIGNMENT = 64
};

typedef struct job {
    const wi_solve_batch_args *g;
    wi_batch_systems *run;
    size_t turn; /* systems */
    char *memory;
    size_t each; /* bytes of it for a thread */
    atomic_size_t next;
} job;

static void do_systems(void *user, int rank, int size) {
    job *const j = user;
    const size_t count = j->g->count;
    (void)size;
    for (size_t first; (first = atomic_fetch_add(&j->next, j->turn)) < count;)
        j->run(j->g, first, count - first < j->turn ? count : first + j->turn,
               j->memory + (size_t)rank * j->each);
}

void *wi_batch_memory(weft_context *ctx, const wi_solve_batch_args *g, int team, size_t *each) {
    const size_t bytes = g->n * g->n * weft_type_size(g->type);
    *each = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *const memory = wi_host_alloc((size_t)team * *each);
    if (!memory)
        wi_fail(ctx, WEFT_ENOMEM, "solve_batch: no memory for %zu bytes of copies; free some",
                (size_t)team * *each);
    return memory;
}

weft_status wi_solve_batch_threads(weft_context *ctx, const void *args) {
    const wi_solve_batch_args *const g = args;
    const wi_solve_batch_simd *const simd = WI_OF_ISA(wi_cpu_isa(), wi_solve_batch_simd);
    const size_t flops = g->n * g->n * (g->n + 2 * g->nrhs + 8);
    job j = {.g = g,
             .run = g->type == WEFT_F64 ? simd->f64 : simd->f32,
             .turn = flops < TURN_FLOPS ? TURN_FLOPS / flops : 1};
    const size_t turns = (g->count - 1) / j.turn + 1;
    const int team = turns < (size_t)ctx->threads ? (int)turns : ctx->threads;
    j.memory = wi_batch_memory(ctx, g, team, &j.each);
    if (!j.memory)
        return WEFT_ENOMEM;
    wi_team_run(ctx, team, do_systems, &j);
    wi_host_free(j.memory);
    return WEFT_OK;
}
