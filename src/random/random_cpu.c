/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "threads" of random: each thread makes a stretch of the sequence. */
#include "cpu/team.h"
#include "random/random_simd.h"

enum {
    STRETCH = 1 << 14 /* elements that one thread makes */
};

typedef struct plan {
    const wi_random_args *args;
    const wi_random_simd *simd;
    size_t stretches;
} plan;

static void run_share(void *user, int rank, int team) {
    const plan *const p = user;
    const size_t from = wi_team_share(p->stretches, rank, team) * STRETCH;
    const size_t end = wi_team_share(p->stretches, rank + 1, team) * STRETCH;
    p->simd->make(p->args, from, end < p->args->n ? end : p->args->n);
}

weft_status wi_random_threads(weft_context *ctx, const void *args) {
    const wi_random_args *const call = args;
    plan p = {.args = call, .simd = WI_OF_ISA(wi_cpu_isa(), wi_random_simd)};
    if (call->op == WI_RANDOM_SMALL_PERMUTATION) {
        wi_random_small_permutation(call);
        return WEFT_OK;
    }
    p.stretches = (call->n - 1) / STRETCH + 1;
    /* to make a number takes several times as long as to copy it */
    const size_t worth = 4 * call->n * weft_type_size(call->type);
    wi_team_run(ctx, wi_team_size(ctx, p.stretches, worth), run_share, &p);
    return WEFT_OK;
}
