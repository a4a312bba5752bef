/* SPDX-License-Identifier: Apache-2.0 */
/* The items of the substitutions of a schedule, in the order in which blocks of threads take them.
 */
#include "sparse/schedule.h"

void wi_sweep_count(wi_schedule *schedule, int64_t height, int64_t columns, bool small, int64_t k) {
    if (small) {
        schedule->ups += k % WI_UP_WARPS == 0;
        schedule->downs += k % WI_DOWN_WARPS == 0;
        return;
    }
    const int32_t panels = wi_pieces((int32_t)columns, WI_PANEL);
    schedule->ups += panels + wi_pieces((int32_t)(height - columns), WI_PANEL);
    schedule->downs += panels;
}

/* The small fronts of a level, so many to an item. */
static wi_sweep_item *list_small(const wi_chol_level *level, int32_t each, int32_t after,
                                 wi_sweep_item *next) {
    const int32_t all = wi_small_fronts(level);
    for (int32_t k = 0; k < all; k += each)
        *next++ = (wi_sweep_item){
            .front = level->first + k, .fronts = all - k < each ? all - k : each, .after = after};
    return next;
}

/* Panels first: they are a chain, and the rows below wait for them. */
static void list_up(const wi_schedule *s, wi_chol_level *level, int64_t at) {
    const int32_t large = level->first + wi_small_fronts(level), after = (int32_t)at;
    wi_sweep_item *next = s->item + at;
    for (int32_t p = 0; p < level->steps; p++)
        for (int32_t k = 0; k < s->step[level->step + p].active; k++)
            *next++ = (wi_sweep_item){.front = large + k, .part = p, .after = after};
    for (int32_t k = large; k < large + level->large; k++) {
        const wi_front_record *const r = &s->front[k];
        const int32_t panels = wi_pieces(r->columns, WI_PANEL);
        const int32_t blocks = wi_pieces(r->height - r->columns, WI_PANEL);
        for (int32_t b = 0; b < blocks; b++)
            *next++ = (wi_sweep_item){.front = k, .part = panels + b, .after = after};
    }
    next = list_small(level, WI_UP_WARPS, after, next);
    level->up = at;
    level->ups = (int32_t)(next - s->item - at);
}

static void list_down(const wi_schedule *s, wi_chol_level *level, int64_t at) {
    const int32_t large = level->first + wi_small_fronts(level);
    wi_sweep_item *next = s->item + at;
    for (int32_t p = level->steps - 1; p >= 0; p--)
        for (int32_t k = 0; k < s->step[level->step + p].active; k++)
            *next++ = (wi_sweep_item){.front = large + k, .part = p};
    next = list_small(level, WI_DOWN_WARPS, 0, next);
    level->down = at;
    level->downs = (int32_t)(next - s->item - at);
}

void wi_sweep_list(wi_schedule *s) {
    int64_t at = 0;
    for (int64_t k = 0; k < s->levels; at += s->level[k++].ups)
        list_up(s, &s->level[k], at);
    for (int64_t k = s->levels - 1; k >= 0; at += s->level[k--].downs)
        list_down(s, &s->level[k], at);
}
