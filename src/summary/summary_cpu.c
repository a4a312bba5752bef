/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "threads" of summary. The array is divided into blocks of fixed size; runs of blocks, at
 * most MAX_SPANS of them, are summarised by any thread, and merged in a tree. The division depends
 * on n only, so neither the number of threads nor the instruction set changes a bit. */
#include "cpu/team.h"
#include "summary/summary_simd.h"

enum {
    MAX_SPANS = 512,
    FEW_SPANS = 64, /* so many states fit the stack */
    BLOCK = WI_SUMMARY_BLOCK
};

typedef struct plan {
    const wi_summary_args *args;
    const wi_summary_simd *simd;
    wi_sort_key form;
    size_t span, spans; /* elements of a span, a multiple of BLOCK; how many */
    wi_summary_state *states;
} plan;

static wi_summary_run run_at(const plan *p, size_t first) {
    const size_t left = p->args->n - first;
    return (wi_summary_run){.type = p->args->type,
                            .form = p->form,
                            .n = left < BLOCK ? left : BLOCK,
                            .x = (const char *)p->args->x + first * weft_type_size(p->args->type),
                            .at = first};
}

static void span_part(void *user, int rank, int team) {
    const plan *const p = user;
    const size_t end = wi_team_share(p->spans, rank + 1, team);
    for (size_t k = wi_team_share(p->spans, rank, team); k < end; k++) {
        wi_summary_state all = {0};
        for (size_t i = k * p->span; i < (k + 1) * p->span && i < p->args->n; i += BLOCK) {
            const wi_summary_run run = run_at(p, i);
            wi_summary_state own;
            p->simd->block(&run, &own);
            all = wi_summary_merge(all, own);
        }
        p->states[k] = all;
    }
}

/* Finds the extremes in the blocks where they are first. */
static void locate(const plan *p, wi_summary_state *s) {
    if (s->sums.count == 0)
        return;
    const wi_summary_run low = run_at(p, s->least_at), high = run_at(p, s->most_at);
    s->least_at += p->args->first + p->simd->find(&low, s->least);
    s->most_at += p->args->first + p->simd->find(&high, s->most);
}

weft_status wi_summary_threads(weft_context *ctx, const void *arguments) {
    const wi_summary_args *const args = arguments;
    const size_t blocks = args->n / BLOCK + (args->n % BLOCK > 0);
    const size_t of_span = blocks / MAX_SPANS + 1;
    wi_summary_state few[FEW_SPANS] = {{{0}, 0, 0, 0, 0, 0}};
    plan p = {.args = args,
              .simd = WI_OF_ISA(wi_cpu_isa(), wi_summary_simd),
              .form = wi_sort_key_of(args->type, false),
              .span = of_span * BLOCK,
              .spans = blocks / of_span + (blocks % of_span > 0),
              .states = few};
    if (p.spans > FEW_SPANS)
        p.states = wi_host_alloc(p.spans * sizeof *p.states);
    if (!p.states)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "weft_summary: no memory for %zu partial results; free some, or use variant "
                       "serial, which needs none",
                       p.spans);
    wi_team_run(ctx, wi_team_size(ctx, p.spans, args->n * weft_type_size(args->type)), span_part,
                &p);
    for (size_t step = 1; step < p.spans; step *= 2)
        for (size_t k = 0; k + step < p.spans; k += 2 * step)
            p.states[k] = wi_summary_merge(p.states[k], p.states[k + step]);
    locate(&p, &p.states[0]);
    wi_summary_put(args, &p.states[0]);
    if (p.states != few)
        wi_host_free(p.states);
    return WEFT_OK;
}
