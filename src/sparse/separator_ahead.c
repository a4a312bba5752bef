/* SPDX-License-Identifier: Apache-2.0 */
/* Refinement by several threads, with the same result as by one. Each pass begins with the division
 * that the pass before it leaves, so passes cannot simply run side by side. But most passes find
 * their best division early, or none, and then search on without success. So an idle thread guesses
 * that the best division so far is final, and runs the passes after this one from it; a further
 * idle thread does the same with what that one finds. If the guess was right, the passes are done
 * already; if a better division turns up, they are stopped and done again (speculation). */
#include <string.h>

#include "sparse/separator.h"

/* One thread's share of a refinement: passes from `passes` on, until the next share's are right. */
typedef struct share {
    wi_job_queue *queue;
    wi_parting *p;
    int passes;    /* of the refinement that are done before the current one */
    int vain;      /* how many of them, up to the latest, found nothing in a row */
    int after;     /* how many shares lie behind this one in the array */
    uint8_t to;    /* the side to which the current pass moves vertices */
    bool begun;    /* the next share is under way, from a guess of this one's result */
    bool outdated; /* that guess is wrong: this pass has found a better division since */
    wi_job job;    /* this share */
    _Alignas(WI_APART) atomic_bool stop; /* read after every move: alone in its cache line */
} share;

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

/* Tells all shares after this one to stop. */
static void stop_next(share *s) {
    for (int k = 1; k <= s->after; k++)
        atomic_store(&s[k].stop, true);
}

/* Stops the next share, if it is under way, and waits for it; its result is not used. */
static void end_next(share *s) {
    if (!s->begun)
        return;
    stop_next(s);
    wi_job_cancel(s->queue, &s[1].job);
    s->begun = false;
}

static void do_share(void *user, int32_t piece);

/* May the next share begin? `vain`: passes in a row without success if the current one has none. */
static bool may_begin(const share *s, int vain) {
    return s->after > 0 && s->passes + 1 < WI_PASSES && vain < WI_VAIN &&
           wi_job_queue_has_idle(s->queue);
}

/* Begins the next share from the division that its parting has. Whoever stops this share stops the
 * next one after it: so one of the two sees the other. */
static void begin_next(share *s, int vain) {
    share *const next = s + 1;
    next->passes = s->passes + 1;
    next->vain = vain;
    next->to = 1 - s->to;
    atomic_store(&next->stop, false);
    s->outdated = false;
    s->begun = !atomic_load(&s->stop);
    next->job = (wi_job){.work = do_share, .user = next, .pieces = 1};
    if (s->begun)
        wi_job_post(s->queue, &next->job);
}

/* The current pass has found a better division than the next share began with. */
static void found_better(void *user) {
    share *const s = user;
    if (!s->begun || s->outdated)
        return;
    s->outdated = true;
    stop_next(s);
}

/* The current pass is unlikely to improve on its best division, reached after `kept` moves. */
static void went_stale(void *user, int32_t kept, const int32_t best[3]) {
    share *const s = user;
    if (!may_begin(s, 0))
        return;
    end_next(s);
    copy_best(s->p, s->to, kept, best, s[1].p);
    begin_next(s, 0);
}

static void do_share(void *user, int32_t piece) {
    enum {
        PATIENCE = 64 /* a pass is stale after n / PATIENCE moves without a better division */
    };
    share *const s = user;
    const wi_pass_watch watch = {found_better, went_stale, s->p->graph->n / PATIENCE + 1, s};
    (void)piece;
    while (s->passes < WI_PASSES && s->vain < WI_VAIN && s->p->count > 0 &&
           !atomic_load(&s->stop)) {
        if (may_begin(s, s->vain + 1)) {
            copy_division(s->p, s[1].p);
            begin_next(s, s->vain + 1);
        }
        s->vain = wi_parting_pass(s->p, s->to, &watch) ? 0 : s->vain + 1;
        s->passes++;
        s->to = 1 - s->to;
        if (s->begun && !s->outdated) {
            wi_job_finish(s->queue, &s[1].job);
            copy_division(s[1].p, s->p);
            s->begun = false;
            return;
        }
        end_next(s);
    }
}

void wi_parting_refine_together(wi_job_queue *queue, wi_parting *p, wi_parting ahead[WI_AHEAD]) {
    share shares[1 + WI_AHEAD];
    for (int k = 0; k <= WI_AHEAD; k++) {
        shares[k] = (share){.queue = queue, .p = k == 0 ? p : &ahead[k - 1], .after = WI_AHEAD - k};
        shares[k].p->stop = &shares[k].stop;
        atomic_init(&shares[k].stop, false);
    }
    shares[0].to = p->weight[0] > p->weight[1];
    do_share(shares, 0);
    p->stop = NULL;
}
