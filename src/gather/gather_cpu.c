/* SPDX-License-Identifier: Apache-2.0 */
/* gather and scatter on a cpu: the loops you would write, and shares of them for threads. */
#include <stdatomic.h>
#include <string.h>

#include "core/smaller.h"
#include "cpu/team.h"
#include "gather/gather.h"

enum {
    LISTED = 512 /* elements that are looked at before some of them move */
};

/* ---- the loops ---- */

/* Moves element i, whose index is k; `width` is a constant in each use. */
static inline __attribute__((always_inline)) void move_one(const wi_gather_args *a, size_t i,
                                                           uint64_t k, size_t width) {
    if (a->scatters)
        memcpy((char *)a->y + k * width, (const char *)a->x + i * width, width);
    else
        memcpy((char *)a->y + i * width, (const char *)a->x + k * width, width);
}

/* Moves those of elements [from, end) whose indices are below a->m. */
static inline __attribute__((always_inline)) void move_range(const wi_gather_args *a, size_t from,
                                                             size_t end, size_t width) {
    for (size_t i = from; i < end; i++) {
        const uint64_t k = wi_gather_index(a, i);
        if (k < a->m)
            move_one(a, i, k, width);
    }
}

/* Moves all elements whose targets are in [low, high). They are listed first, without a branch,
 * which would be mispredicted where targets are in no order. */
static inline __attribute__((always_inline)) void move_kept(const wi_gather_args *a, uint64_t low,
                                                            uint64_t high, size_t width) {
    uint32_t kept[LISTED];
    for (size_t at = 0; at < a->n; at += LISTED) {
        const size_t n = wi_smaller(a->n - at, LISTED);
        size_t count = 0;
        for (size_t i = 0; i < n; i++) {
            kept[count] = (uint32_t)i;
            count += wi_gather_index(a, at + i) - low < high - low;
        }
        for (size_t i = 0; i < count; i++)
            move_one(a, at + kept[i], wi_gather_index(a, at + kept[i]), width);
    }
}

/* Moves elements [from, end) or, if `targets`, all elements whose targets are in [from, end). */
static inline __attribute__((always_inline)) void
move_some(const wi_gather_args *a, size_t from, size_t end, bool targets, size_t width) {
    if (targets)
        move_kept(a, from, end, width);
    else
        move_range(a, from, end, width);
}

static void move_elements(const wi_gather_args *a, size_t from, size_t end, bool targets) {
    switch (a->width) {
    case 1:
        move_some(a, from, end, targets, 1);
        break;
    case 2:
        move_some(a, from, end, targets, 2);
        break;
    case 4:
        move_some(a, from, end, targets, 4);
        break;
    case 8:
        move_some(a, from, end, targets, 8);
        break;
    case 16:
        move_some(a, from, end, targets, 16);
        break;
    default:
        move_some(a, from, end, targets, a->width);
        break;
    }
}

/* ---- checks ---- */

typedef struct checking {
    const wi_gather_args *args;
    _Atomic uint64_t first;
} checking;

static void check_share(void *user, int rank, int size) {
    checking *const c = user;
    const wi_gather_args *const a = c->args;
    const size_t end = wi_team_share(a->n, rank + 1, size);
    size_t i = wi_team_share(a->n, rank, size);
    while (i < end && wi_gather_index(a, i) < a->m)
        i++;
    uint64_t known = atomic_load(&c->first);
    while (i < end && i < known && !atomic_compare_exchange_weak(&c->first, &known, i))
        continue;
}

static int team_of(const weft_context *ctx, const wi_gather_args *a) {
    return wi_team_size(ctx, a->n, a->n * (a->width + weft_type_size(a->index_type)));
}

weft_status wi_gather_check(weft_context *ctx, const wi_gather_args *a) {
#ifdef WEFT_CUDA
    if (ctx->kind == WI_CUDA)
        return wi_gather_check_cuda(ctx, a);
#endif
    checking c = {.args = a};
    atomic_init(&c.first, WEFT_NOWHERE);
    wi_team_run(ctx, team_of(ctx, a), check_share, &c);
    *a->bad = atomic_load(&c.first);
    return WEFT_OK;
}

/* ---- the rungs ---- */

weft_status wi_gather_serial(weft_context *ctx, const void *args) {
    const wi_gather_args *const a = args;
    (void)ctx;
    move_elements(a, 0, a->n, false);
    return WEFT_OK;
}

static void gather_share(void *user, int rank, int size) {
    const wi_gather_args *const a = user;
    move_elements(a, wi_team_share(a->n, rank, size), wi_team_share(a->n, rank + 1, size), false);
}

weft_status wi_gather_threads(weft_context *ctx, const void *args) {
    wi_gather_args a = *(const wi_gather_args *)args;
    wi_team_run(ctx, team_of(ctx, &a), gather_share, &a);
    return WEFT_OK;
}

weft_status wi_scatter_serial(weft_context *ctx, const void *args) {
    return wi_gather_serial(ctx, args);
}

/* Every thread reads all indices, and writes what goes to its part of y: so two never write the
 * same place, and of several elements for one place the last one stays. */
static void scatter_share(void *user, int rank, int size) {
    const wi_gather_args *const a = user;
    if (size == 1)
        move_elements(a, 0, a->n, false);
    else
        move_elements(a, wi_team_share(a->m, rank, size), wi_team_share(a->m, rank + 1, size),
                      true);
}

weft_status wi_scatter_threads(weft_context *ctx, const void *args) {
    wi_gather_args a = *(const wi_gather_args *)args;
    wi_team_run(ctx, team_of(ctx, &a), scatter_share, &a);
    return WEFT_OK;
}
