/* SPDX-License-Identifier: Apache-2.0 */
/* Deals the subtrees of an elimination tree to several GPUs, so that the work foreseen ends
 * soonest: the longest time that one needs for its subtrees, and after it that of the top, whose
 * fronts are the first GPU's, or all GPUs' together where that pays. */
#include "sparse/spread.h"

#include <math.h>
#include <string.h>

#include "sparse/schedule.h"

enum {
    SUBTREES = 24 /* for each GPU, at most */
};

/* What it has to gain: sharing is worth its copies and waits from here on. */
static const double most_share = 0.9;

/* The work that a byte of an update costs on its way to the first GPU: 10 Tflop/s beside 370 GB/s.
 */
static const double work_of_byte = 27;

/* The work that GPUs could do while they wait for each other, for each block of columns of a front
 * that they factor together. */
static const double work_of_block = 1e9;

/* Subtrees that are dealt, the one with the most work first. */
typedef struct dealing {
    const wi_symbolic *symbolic;
    int gpus, count;
    int64_t root[SUBTREES * WI_SPREAD_MOST_GPUS];
    double top;         /* what the supernodes above them cost */
    double byte, block; /* what a byte of an update costs, and a block of columns */
    bool together;      /* the top may be factored by several GPUs together */
} dealing;

static double cost_of(const dealing *d, int64_t s) {
    const wi_symbolic *const symbolic = d->symbolic;
    const double rows = (double)(wi_super_height(symbolic, s) - wi_super_columns(symbolic, s));
    return symbolic->work[s] + d->byte * sizeof(double) * rows * rows;
}

/* What a front costs that all GPUs factor: its columns are dealt out, and those of the update come
 * back; and a part of L is on its way that no work hides. */
static double cost_together(const dealing *d, int64_t s) {
    const double height = (double)wi_super_height(d->symbolic, s);
    const double columns = (double)wi_super_columns(d->symbolic, s), below = height - columns;
    const double numbers = height * height / 2 + below * below / 2;
    const double away = 1 - 1.0 / d->gpus;
    return wi_super_work(d->symbolic, s) / d->gpus + d->byte * sizeof(double) * numbers * away +
           d->block * ceil(columns / (WI_OUTER * WI_PANEL));
}

static bool pays_together(const dealing *d, int64_t s) {
    return d->together && cost_together(d, s) < wi_super_work(d->symbolic, s);
}

/* Each subtree to the GPU that has the least so far; *most = the most that one has. */
static void share_out(const dealing *d, int8_t *gpu, double *most) {
    double load[WI_SPREAD_MOST_GPUS] = {0};
    *most = 0;
    for (int k = 0; k < d->count; k++) {
        int least = 0;
        for (int g = 1; g < d->gpus; g++)
            least = load[g] < load[least] ? g : least;
        load[least] += cost_of(d, d->root[k]);
        gpu[k] = (int8_t)least;
        *most = load[least] > *most ? load[least] : *most;
    }
}

/* Puts a subtree in its place among the others. */
static void add(dealing *d, int64_t s) {
    int at = d->count++;
    for (; at > 0 && d->symbolic->work[d->root[at - 1]] < d->symbolic->work[s]; at--)
        d->root[at] = d->root[at - 1];
    d->root[at] = s;
}

/* The root of the largest subtree becomes part of the top. False if its children are too many, or
 * none. */
static bool split(dealing *d) {
    const wi_symbolic *const symbolic = d->symbolic;
    const int64_t s = d->root[0];
    int children = 0;
    for (int64_t c = wi_last_child(symbolic, s); c >= 0; c = wi_child_before(symbolic, s, c))
        children++;
    if (children == 0 || d->count - 1 + children > SUBTREES * d->gpus)
        return false;
    d->count--;
    memmove(d->root, d->root + 1, (size_t)d->count * sizeof *d->root);
    d->top += pays_together(d, s) ? cost_together(d, s) : wi_super_work(symbolic, s);
    for (int64_t c = wi_last_child(symbolic, s); c >= 0; c = wi_child_before(symbolic, s, c))
        add(d, c);
    return true;
}

/* All work; the roots of the tree are the first subtrees. False if they are too many. */
static bool begin(dealing *d, double *all) {
    *all = 0;
    for (int64_t s = 0; s < d->symbolic->supernodes; s++) {
        if (d->symbolic->super_parent[s] >= 0)
            continue;
        if (d->count == SUBTREES * d->gpus)
            return false;
        *all += d->symbolic->work[s];
        add(d, s);
    }
    return d->count > 0;
}

/* Splits as long as that may help, and keeps the best: the time foreseen, with *best's subtrees. */
static double improve(dealing *d, dealing *best) {
    int8_t gpu[SUBTREES * WI_SPREAD_MOST_GPUS];
    double time, least;
    share_out(d, gpu, &least);
    *best = *d;
    while (d->top < least && split(d)) {
        share_out(d, gpu, &time);
        time += d->top;
        if (time < least) {
            least = time;
            *best = *d;
        }
    }
    return least;
}

/* ---- who has what ---- */

/* Who has what of the top. What is above subtrees of the first GPU alone, and is not for all GPUs,
 * is its own: no other waits for it. */
static void share_top(const dealing *d, int8_t *owner) {
    const wi_symbolic *const symbolic = d->symbolic;
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        if (owner[s] != WI_TOP)
            continue;
        int64_t c = wi_last_child(symbolic, s);
        while (c >= 0 && owner[c] == 0)
            c = wi_child_before(symbolic, s, c);
        owner[s] = pays_together(d, s) ? WI_TOGETHER : c < 0 ? 0 : WI_TOP;
    }
}

/* Returns how many GPUs have something: a subtree goes to a GPU without any before a second one
 * does, the first GPU first. */
static int fill_owners(const dealing *d, int8_t *owner) {
    int8_t gpu[SUBTREES * WI_SPREAD_MOST_GPUS];
    double most;
    int gpus = 1;
    share_out(d, gpu, &most);
    memset(owner, WI_TOP, (size_t)d->symbolic->supernodes);
    for (int k = 0; k < d->count; k++) {
        const int64_t s = d->root[k], size = d->symbolic->size[s];
        memset(owner + s - size + 1, gpu[k], (size_t)size);
        gpus = gpu[k] >= gpus ? gpu[k] + 1 : gpus;
    }
    share_top(d, owner);
    return gpus;
}

static int run_of(int8_t owner) {
    return owner < 0 ? WI_TOP : owner;
}

static int64_t count_runs(const wi_symbolic *symbolic, const int8_t *owner, wi_spread_run *run) {
    int64_t runs = 0;
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        if (s > 0 && run_of(owner[s]) == run_of(owner[s - 1]))
            continue;
        if (run && runs > 0)
            run[runs - 1].end = symbolic->first[s];
        if (run)
            run[runs] = (wi_spread_run){symbolic->first[s], symbolic->n, run_of(owner[s])};
        runs++;
    }
    return runs;
}

static weft_status fill(weft_context *ctx, const char *call, const dealing *d, wi_spread *spread) {
    const size_t supernodes = (size_t)d->symbolic->supernodes;
    /* a subtree is one run, and so is what lies between two */
    const size_t most = (2 * (size_t)d->count + 1) * sizeof *spread->run;
    spread->run = wi_host_alloc(most + supernodes);
    if (!spread->run)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "%s: no memory for %zu bytes, the work of each GPU; free some", call,
                       most + supernodes);
    spread->owner = (int8_t *)spread->run + most;
    spread->gpus = fill_owners(d, spread->owner);
    spread->runs = count_runs(d->symbolic, spread->owner, spread->run);
    return WEFT_OK;
}

weft_status wi_spread_make(weft_context *ctx, const char *call, const wi_symbolic *symbolic,
                           int gpus, bool together, double least, wi_spread *spread) {
    dealing d = {.symbolic = symbolic,
                 .gpus = gpus < WI_SPREAD_MOST_GPUS ? gpus : WI_SPREAD_MOST_GPUS,
                 .byte = least > 0 ? work_of_byte : 0,
                 .block = least > 0 ? work_of_block : 0,
                 .together = together},
            best;
    double all;
    *spread = (wi_spread){.gpus = 1, .share = 1};
    if (gpus < 2 || !begin(&d, &all) || all < least)
        return WEFT_OK;
    const double share = improve(&d, &best) / all;
    if (!(share <= (least > 0 ? most_share : 1)) || best.count < 2)
        return WEFT_OK;
    spread->share = share;
    return fill(ctx, call, &best, spread);
}

void wi_spread_free(wi_spread *spread) {
    wi_host_free(spread->run);
    *spread = (wi_spread){.gpus = 1};
}
