/* SPDX-License-Identifier: Apache-2.0 */
/* Refinement by several threads, with the result of one. A pass needs the division that the one
 * before it leaves. But most passes find nothing, or what they find early, and then go on in vain:
 * from what is the best division so far, threads without work do the next passes meanwhile. They
 * count if it stays the best. */
#include <string.h>

#include "sparse/separator.h"

typedef struct next_pass {
    wi_parting *parting;
    uint8_t to;
    bool better;
} next_pass;

/* The passes after the current one. */
typedef struct ahead {
    wi_job_queue *queue;
    wi_parting *p; /* of the current pass, to side `to` */
    uint8_t to;
    int most;  /* how many passes may follow */
    int count; /* of those that are under way */
    bool vain; /* they began with a division that is not the best any more */
    _Alignas(WI_APART) atomic_bool stop;    /* which all of them read after every move */
    _Alignas(WI_APART) wi_parting *parting; /* WI_AHEAD of them */
    next_pass next[WI_AHEAD];
    wi_job job[WI_AHEAD];
} ahead;

/* Makes `to` the same division as p. */
static void copy_division(const wi_parting *p, wi_parting *to) {
    to->graph = p->graph;
    to->most = p->most;
    to->heaviest = p->heaviest;
    to->shift = p->shift;
    to->count = p->count;
    memcpy(to->weight, p->weight, sizeof p->weight);
    memcpy(to->list, p->list, (size_t)p->count * sizeof *p->list);
    memcpy(to->side, p->side, (size_t)p->graph->n);
}

/* Makes q the division that p, in a pass to side `to`, had after `kept` moves. */
static void copy_best(const wi_parting *p, uint8_t to, int32_t kept, const int32_t best[3],
                      wi_parting *q) {
    const int32_t listed = p->drawn[kept];
    copy_division(p, q);
    for (int32_t k = kept; k < p->moves; k++)
        q->side[p->moved[k]] = WI_SEPARATOR;
    for (int32_t k = listed; k < p->count; k++)
        q->side[p->list[k]] = 1 - to;
    q->count = 0;
    for (int32_t k = 0; k < listed; k++) {
        if (q->side[p->list[k]] == WI_SEPARATOR)
            q->list[q->count++] = p->list[k];
    }
    memcpy(q->weight, best, sizeof q->weight);
}

static void run_pass(void *user, int32_t piece) {
    next_pass *const next = user;
    (void)piece;
    next->better = wi_parting_pass(next->parting, next->to, NULL);
}

/* Ends the passes that are under way. */
static void end_passes(ahead *a) {
    atomic_store_explicit(&a->stop, true, memory_order_relaxed);
    for (int k = 0; k < a->count; k++)
        wi_job_cancel(a->queue, &a->job[k]);
    a->count = 0;
}

/* Begins passes, all from the division that their partings have: each counts if those before it
 * find nothing. */
static void begin_passes(ahead *a, int count) {
    atomic_store_explicit(&a->stop, false, memory_order_relaxed);
    a->vain = false;
    a->count = count;
    for (int k = 0; k < count; k++) {
        const uint8_t to = k % 2 == 0 ? 1 - a->to : a->to;
        a->next[k] = (next_pass){.parting = &a->parting[k], .to = to};
        a->parting[k].vain = &a->stop;
        a->job[k] = (wi_job){.work = run_pass, .user = &a->next[k], .pieces = 1};
        wi_job_post(a->queue, &a->job[k]);
    }
}

static void found_better(void *user) {
    ahead *const a = user;
    if (a->count == 0 || a->vain)
        return;
    a->vain = true;
    atomic_store_explicit(&a->stop, true, memory_order_relaxed);
}

/* The pass is likely to find nothing more, and then two more passes would show whether there is
 * something to be found at all. */
static void went_stale(void *user, int32_t kept, const int32_t best[3]) {
    ahead *const a = user;
    const int count = a->most < WI_AHEAD ? a->most : WI_AHEAD;
    if (!wi_job_queue_has_idle(a->queue))
        return;
    end_passes(a);
    for (int k = 0; k < count; k++)
        copy_best(a->p, a->to, kept, best, &a->parting[k]);
    begin_passes(a, count);
}

/* Waits for passes that began with the division of p, and takes over what they found. Returns how
 * many of them count; the last of them has found something if *better. */
static int take_passes(ahead *a, bool *better) {
    int taken = 0;
    *better = false;
    while (taken < a->count && !*better) {
        wi_job_finish(a->queue, &a->job[taken]);
        *better = a->next[taken].better;
        if (*better)
            copy_division(a->next[taken].parting, a->p);
        taken++;
    }
    end_passes(a);
    return taken;
}

void wi_parting_refine_together(wi_job_queue *queue, wi_parting *p, wi_parting parting[WI_AHEAD]) {
    enum {
        PATIENCE = 64 /* a pass is stale after as many moves as there are vertices, over this */
    };
    ahead a = {.queue = queue, .p = p, .parting = parting};
    const wi_pass_watch watch = {found_better, went_stale, p->graph->n / PATIENCE + 1, &a};
    a.to = p->weight[0] > p->weight[1];
    for (int k = 0, vain = 0; k < WI_PASSES && vain < 2 && p->count > 0;) {
        a.most = WI_PASSES - k - 1;
        if (vain == 0 && a.most > 0 && wi_job_queue_has_idle(queue)) {
            copy_division(p, &parting[0]);
            begin_passes(&a, 1);
        }
        bool better = wi_parting_pass(p, a.to, &watch);
        int passes = 1;
        vain = better ? 0 : vain + 1;
        if (a.vain)
            end_passes(&a);
        if (a.count > 0) {
            const int taken = take_passes(&a, &better);
            vain = better ? 0 : vain + taken;
            passes += taken;
        }
        k += passes;
        a.to = passes % 2 == 0 ? a.to : 1 - a.to;
        a.vain = false;
    }
}
