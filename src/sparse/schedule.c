/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the schedule of a factorization on a GPU. */
#include "sparse/schedule.h"

#include <string.h>

/* While a schedule is made: arrays with one element for each supernode, and counters. */
typedef struct making {
    const wi_symbolic *symbolic;
    wi_schedule *out;
    const wi_schedule_wish *wish;
    int32_t *depth, *order, *other, *slot, *count;
    int32_t depths, most_panels;
} making;

static int32_t panels_of(const wi_symbolic *symbolic, int64_t s) {
    return wi_pieces((int32_t)wi_super_columns(symbolic, s), WI_PANEL);
}

/* 0 and 1: small; 2: large. */
static int class_of(const making *m, int64_t s) {
    const int64_t height = wi_super_height(m->symbolic, s);
    return height > m->wish->small ? WI_CLASSES : height > WI_FRONT_TINY;
}

/* The depths that fronts of the top have. */
static int32_t depths_of_top(making *m) {
    int32_t depths = 0;
    for (int64_t s = m->symbolic->supernodes - 1; s >= 0; s--) {
        const int64_t parent = m->symbolic->super_parent[s];
        if (!wi_is_top(m->wish, s))
            continue;
        m->depth[s] = parent < 0 ? 0 : m->depth[parent] + 1;
        depths = m->depth[s] >= depths ? m->depth[s] + 1 : depths;
    }
    return depths;
}

/* Below the top all subtrees begin at the same depth. */
static void find_depths(making *m) {
    const wi_symbolic *const symbolic = m->symbolic;
    const int32_t top = depths_of_top(m);
    for (int64_t s = symbolic->supernodes - 1; s >= 0; s--) {
        const int64_t parent = symbolic->super_parent[s];
        if (!wi_is_top(m->wish, s))
            m->depth[s] =
                parent < 0 || wi_is_below_top(m->symbolic, m->wish, s) ? top : m->depth[parent] + 1;
        if (m->depth[s] >= m->depths)
            m->depths = m->depth[s] + 1;
        if (panels_of(symbolic, s) > m->most_panels)
            m->most_panels = panels_of(symbolic, s);
    }
}

/* In a level: tiny fronts, small ones, and large ones with the most panels first; of those with as
 * many, first those that are too high for a cluster. */
static int32_t place_in_level(const making *m, int64_t s) {
    const int kind = class_of(m, s);
    const bool fits =
        wi_fits_cluster((int32_t)wi_super_height(m->symbolic, s),
                        (int32_t)wi_super_columns(m->symbolic, s), m->wish->flow_from);
    return kind < WI_CLASSES
               ? kind
               : WI_CLASSES + 2 * (m->most_panels - panels_of(m->symbolic, s)) + (int32_t)fits;
}

static int32_t deepest_first(const making *m, int64_t s) {
    return m->depths - 1 - m->depth[s];
}

/* A stable counting sort of `from` by a key below `keys`. */
static void sort_by(making *m, int32_t keys, int32_t (*key)(const making *m, int64_t s),
                    const int32_t *from, int32_t *to) {
    const int64_t n = m->symbolic->supernodes;
    int32_t before = 0;
    memset(m->count, 0, (size_t)keys * sizeof *m->count);
    for (int64_t k = 0; k < n; k++)
        m->count[key(m, k)]++;
    for (int32_t k = 0; k < keys; k++) {
        const int32_t here = m->count[k];
        m->count[k] = before;
        before += here;
    }
    for (int64_t k = 0; k < n; k++)
        to[m->count[key(m, from[k])]++] = from[k];
}

static void sort_fronts(making *m) {
    for (int64_t s = 0; s < m->symbolic->supernodes; s++)
        m->order[s] = (int32_t)s;
    sort_by(m, WI_CLASSES + 2 * (m->most_panels + 1), place_in_level, m->order, m->other);
    sort_by(m, m->depths, deepest_first, m->other, m->order);
}

static bool is_own(const wi_schedule_wish *wish, int64_t s) {
    return !wish->owner || (wish->owner[s] < 0 ? 0 : wish->owner[s]) == wish->gpu;
}

/* Is it a front that all GPUs factor? */
static bool is_together(const making *m, int64_t s) {
    return m->wish->owner && m->wish->owner[s] == WI_TOGETHER && !m->wish->interchanged &&
           class_of(m, s) == WI_CLASSES;
}

static bool is_guest(const making *m, int64_t s) {
    const int64_t parent = m->symbolic->super_parent[s];
    return !is_own(m->wish, s) && parent >= 0 && is_own(m->wish, parent);
}

/* Of the order, this GPU's fronts stay, and after them come guests and hosted fronts. */
static void keep_own(making *m) {
    wi_schedule *const out = m->out;
    int32_t *const order = m->other; /* sorting is done */
    for (int64_t k = 0; k < m->symbolic->supernodes; k++)
        if (is_own(m->wish, m->order[k]))
            order[out->fronts++] = m->order[k];
    for (int64_t s = 0; s < m->symbolic->supernodes; s++)
        if (is_guest(m, s))
            order[out->fronts + out->guests++] = (int32_t)s;
    for (int64_t s = 0; s < m->symbolic->supernodes && m->wish->gpu > 0; s++)
        if (is_together(m, s))
            order[out->fronts + out->guests + out->hosted++] = (int32_t)s;
    m->other = m->order;
    m->order = order;
    for (int64_t k = 0; k < wi_schedule_records(out); k++)
        m->slot[order[k]] = (int32_t)k;
}

/* The steps of a front with so many panels: one a panel, and one a window. */
static int32_t steps_of(const making *m, int32_t panels) {
    return panels + (m->wish->interchanged ? wi_windows_of_front(panels * WI_PANEL) : 0);
}

/* Of a front in L, with what may be lost before the first. */
static int64_t numbers_of(const wi_symbolic *symbolic, int64_t s) {
    const int32_t height = (int32_t)wi_super_height(symbolic, s);
    return wi_front_aligned(height, height) * wi_super_columns(symbolic, s) +
           wi_front_alignment(height) - WI_FRONT_ALIGNMENT;
}

int64_t wi_schedule_widest(const wi_symbolic *symbolic, const wi_schedule_wish *wish) {
    int64_t most = 0;
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const int64_t numbers = is_own(wish, s) ? numbers_of(symbolic, s) : 0;
        most = numbers > most ? numbers : most;
    }
    return most;
}

/* The level of the k-th front in the order: a new one for each depth, for each window, and for each
 * front that all GPUs factor, for which windows leave no room. */
static int32_t *find_levels(making *m) {
    int32_t *const level = m->other, depth = -1;
    int64_t numbers = 0;
    bool together = false;
    for (int64_t k = 0; k < m->out->fronts; k++) {
        const int64_t s = m->order[k], own = numbers_of(m->symbolic, s);
        const bool is_full = m->wish->window > 0 && numbers + own > m->wish->window;
        const bool was_together = together;
        together = m->wish->window == 0 && is_together(m, s);
        if (m->depth[s] != depth || is_full || together || was_together) {
            m->out->levels++;
            depth = m->depth[s];
            numbers = 0;
        }
        numbers += own;
        level[k] = (int32_t)m->out->levels - 1;
    }
    return level;
}

/* Steps and sums: those of a level are as many as its first large front has panels. */
static void count_lists(making *m, const int32_t *level) {
    wi_schedule *const out = m->out;
    int32_t *const most = m->count; /* panels, of each level */
    int64_t small = 0;              /* fronts of the level so far */
    memset(most, 0, (size_t)out->levels * sizeof *most);
    for (int64_t k = 0; k < out->fronts; k++) {
        const int64_t s = m->order[k];
        const bool is_small = class_of(m, s) < WI_CLASSES;
        small = k > 0 && level[k] == level[k - 1] ? small : 0;
        wi_sweep_count(out, wi_super_height(m->symbolic, s), wi_super_columns(m->symbolic, s),
                       is_small, small);
        small += is_small;
        if (is_small)
            continue;
        const int32_t panels = panels_of(m->symbolic, s);
        out->lists += 3 + 2 * (int64_t)steps_of(m, panels) + panels; /* 2 and more sums; middle */
        if (panels > most[level[k]])
            most[level[k]] = panels;
    }
    for (int64_t k = 0; k < out->levels; k++) {
        const int32_t steps = steps_of(m, most[k]);
        out->steps += steps;
        out->lists += 2 + 2 * (int64_t)steps + most[k];
    }
}

/* The first levels, of a few small fronts, which rung `rising` does; not where something is copied
 * between levels. */
static void count_rising(making *m, const int32_t *level) {
    wi_schedule *const out = m->out;
    if (m->wish->window > 0 || m->wish->owner || m->wish->interchanged)
        return;
    for (int64_t k = 0; k < out->fronts;) {
        const int32_t now = level[k];
        int32_t small[WI_CLASSES + 1] = {0};
        for (; k < out->fronts && level[k] == now; k++)
            small[class_of(m, m->order[k])]++;
        if (small[WI_CLASSES] > 0 || small[0] + small[1] > WI_RISE_MOST)
            return;
        wi_rise_count(out, small);
    }
}

static void fill_record(const making *m, int64_t s, wi_front_record *r) {
    const wi_symbolic *const symbolic = m->symbolic;
    *r = (wi_front_record){.relative = symbolic->rows_at[s] + wi_super_columns(symbolic, s),
                           .rows = symbolic->rows_at[s],
                           .first = (int32_t)symbolic->first[s],
                           .number = (int32_t)s,
                           .height = (int32_t)wi_super_height(symbolic, s),
                           .columns = (int32_t)wi_super_columns(symbolic, s)};
    const int32_t below = r->height - r->columns;
    r->ld = (int32_t)wi_front_aligned(r->height, r->height);
    r->ld_update = (int32_t)wi_front_aligned(below, below);
}

static void list_children(const making *m, int64_t s, wi_front_record *r, int32_t *children) {
    const wi_symbolic *const symbolic = m->symbolic;
    r->child = *children;
    for (int64_t c = wi_last_child(symbolic, s); c >= 0; c = wi_child_before(symbolic, s, c))
        m->out->child[(*children)++] = m->slot[c];
    r->children = *children - r->child;
}

/* Appends the sums of `count` large fronts. */
static int64_t add_sums(wi_schedule *out, int64_t *next, int32_t first, int32_t count,
                        int32_t (*blocks)(const wi_schedule *out, const wi_front_record *r,
                                          int32_t p),
                        int32_t p) {
    const int64_t at = *next;
    int32_t sum = 0;
    for (int32_t k = 0; k < count; k++) {
        out->list[(*next)++] = sum;
        sum += blocks(out, &out->front[first + k], p);
    }
    out->list[(*next)++] = sum;
    return at;
}

static int32_t blocks_of_height(const wi_schedule *out, const wi_front_record *r, int32_t p) {
    (void)p, (void)out;
    return wi_pieces(r->height, WI_FRONT_COLUMNS);
}

static int32_t blocks_of_columns(const wi_schedule *out, const wi_front_record *r, int32_t p) {
    (void)p, (void)out;
    return wi_pieces(r->columns, WI_FRONT_COLUMNS);
}

static int32_t blocks_of_rows(const wi_schedule *out, const wi_front_record *r, int32_t p) {
    return p * WI_PANEL < wi_flow_columns(r->columns, out->flow_from)
               ? 0
               : wi_panel_blocks(r->height, p);
}

static int32_t blocks_of_tiles(const wi_schedule *out, const wi_front_record *r, int32_t p) {
    if (!wi_ends_block(r->columns, p, out->flow_from) &&
        (p + 1) * WI_PANEL < wi_flow_columns(r->columns, out->flow_from))
        return 0;
    return wi_panel_tiles(r->height, wi_panel_scope_of(r->height, r->columns, p, out->flow_from));
}

/* Does the copy engine bring what panel p updates? */
static bool is_by_ring(const wi_schedule *out, const wi_front_record *r, int32_t p) {
    return wi_ends_block(r->columns, p, out->flow_from) &&
           wi_has_ring(r->height, r->columns, out->flow_from);
}

static int32_t blocks_of_boxes(const wi_schedule *out, const wi_front_record *r, int32_t p) {
    const wi_panel_scope scope = wi_panel_scope_of(r->height, r->columns, p, out->flow_from);
    return is_by_ring(out, r, p) ? wi_ring_tiles(r->height, scope) : 0;
}

static int32_t blocks_beside_boxes(const wi_schedule *out, const wi_front_record *r, int32_t p) {
    return is_by_ring(out, r, p) ? 0 : blocks_of_tiles(out, r, p);
}

/* The tiles of step p: those by the copy engine if there are many. */
static void add_tiles(wi_schedule *out, wi_chol_step *now, int64_t *next, int32_t first,
                      int32_t p) {
    int32_t boxes = 0;
    for (int32_t k = 0; k < now->active; k++)
        boxes += blocks_of_boxes(out, &out->front[first + k], p);
    const bool many = boxes > 0 && boxes >= wi_ring_least(out->flow_from);
    now->tiles_at =
        add_sums(out, next, first, now->active, many ? blocks_beside_boxes : blocks_of_tiles, p);
    now->boxes_at = -1;
    if (many)
        now->boxes_at = add_sums(out, next, first, now->active, blocks_of_boxes, p);
}

static int32_t blocks_below_window(const wi_schedule *out, const wi_front_record *r, int32_t p) {
    (void)out;
    return wi_window_blocks(r->height, r->columns, p);
}

static int32_t tiles_of_window(const wi_schedule *out, const wi_front_record *r, int32_t p) {
    (void)out;
    return wi_window_tiles(r->height, r->columns, p);
}

/* The windows of a level, after its panels. */
static void list_windows(making *m, wi_chol_level *level, int64_t *step, int64_t *next) {
    wi_schedule *const out = m->out;
    const int32_t large = level->first + wi_small_fronts(level);
    level->window = *step;
    level->windows =
        level->large && m->wish->interchanged ? wi_windows_of_front(out->front[large].columns) : 0;
    int32_t active = level->large;
    for (int32_t p = 0; p < level->windows; p++) {
        while (wi_windows_of_front(out->front[large + active - 1].columns) <= p)
            active--;
        wi_chol_step *const now = &out->step[(*step)++];
        now->active = active;
        now->rows_at = add_sums(out, next, large, active, blocks_below_window, p);
        now->tiles_at = add_sums(out, next, large, active, tiles_of_window, p);
    }
}

static void list_level(making *m, wi_chol_level *level, int64_t *step, int64_t *next) {
    wi_schedule *const out = m->out;
    const int32_t large = level->first + wi_small_fronts(level);
    level->heights_at = add_sums(out, next, large, level->large, blocks_of_height, 0);
    level->columns_at = add_sums(out, next, large, level->large, blocks_of_columns, 0);
    level->step = *step;
    level->steps = level->large ? wi_pieces(out->front[large].columns, WI_PANEL) : 0;
    level->maps = out->maps;
    for (int32_t k = 0; k < level->large; k++)
        if (wi_has_ring(out->front[large + k].height, out->front[large + k].columns,
                        out->flow_from))
            level->mapped = k + 1;
    out->maps += level->mapped;
    int32_t active = level->large;
    for (int32_t p = 0; p < level->steps; p++) {
        while (out->front[large + active - 1].columns <= p * WI_PANEL)
            active--;
        wi_chol_step *const now = &out->step[(*step)++];
        now->active = active;
        now->rows_at = add_sums(out, next, large, active, blocks_of_rows, p);
        add_tiles(out, now, next, large, p);
    }
    list_windows(m, level, step, next);
    wi_middle_list(out, level, next);
}

static void find_wait(making *m) {
    wi_schedule *const out = m->out;
    while (out->waits < out->levels &&
           !wi_is_top(m->wish, out->front[out->level[out->waits].first].number))
        out->waits++;
}

static void fill(making *m, const int32_t *level_of) {
    wi_schedule *const out = m->out;
    int32_t children = 0;
    int64_t step = 0, next = 0;
    for (int64_t k = 0; k < out->fronts; k++) {
        const int64_t s = m->order[k];
        wi_chol_level *const level = &out->level[level_of[k]];
        const int kind = class_of(m, s);
        if (level->l == 0) {
            level->first = (int32_t)k;
            level->depth = m->depth[s];
            level->l_at = out->l;
            level->together = m->wish->window == 0 && is_together(m, s);
        }
        *(kind < WI_CLASSES ? &level->small[kind] : &level->large) += 1;
        fill_record(m, s, &out->front[k]);
        list_children(m, s, &out->front[k], &children);
        out->front[k].panel = wi_front_aligned(wi_schedule_level_at(out, level_of[k]) + level->l,
                                               out->front[k].height);
        level->l += numbers_of(m->symbolic, s);
        out->l += numbers_of(m->symbolic, s);
    }
    for (int64_t k = out->fronts; k < wi_schedule_records(out); k++)
        fill_record(m, m->order[k], &out->front[k]);
    wi_schedule_place(m->symbolic, m->wish, out);
    find_wait(m);
    for (int64_t k = 0; k < out->levels; k++)
        list_level(m, &out->level[k], &step, &next);
    out->maps += out->flow_from > 0 ? out->hosted : 0;
    wi_sweep_list(out);
    wi_rise_list(out);
}

static weft_status take(weft_context *ctx, const char *call, wi_schedule *out) {
    const size_t bytes = wi_schedule_host_bytes(out);
    out->level = wi_host_alloc(bytes + 1);
    if (!out->level)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes, a schedule; free some", call,
                       bytes);
    memset(out->level, 0, bytes);
    out->step = (wi_chol_step *)(out->level + out->levels);
    out->item = (wi_sweep_item *)(out->step + out->steps);
    out->front = (wi_front_record *)(out->item + out->ups + out->downs);
    out->child = (int32_t *)(out->front + wi_schedule_records(out));
    out->list = out->child + wi_schedule_records(out);
    out->rise = (wi_rise_item *)(out->list + out->lists);
    return WEFT_OK;
}

weft_status wi_schedule_make(weft_context *ctx, const char *call, const wi_symbolic *symbolic,
                             const wi_schedule_wish *wish, wi_schedule *schedule) {
    const size_t n = (size_t)symbolic->supernodes;
    const size_t counters = n + 2 * ((size_t)symbolic->n / WI_PANEL + 2) + WI_CLASSES;
    const size_t bytes = (4 * n + counters) * sizeof(int32_t);
    *schedule = (wi_schedule){.window = wish->window, .flow_from = wish->flow_from};
    if (symbolic->n > INT32_MAX)
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: a GPU counts columns with 32 bits, and the matrix has %lld; factor on "
                       "a cpu place",
                       call, (long long)symbolic->n);
    making m = {.symbolic = symbolic, .out = schedule, .wish = wish};
    m.depth = wi_host_alloc(bytes);
    if (!m.depth)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes, a schedule; free some", call,
                       bytes);
    m.order = m.depth + n;
    m.other = m.order + n;
    m.slot = m.other + n;
    m.count = m.slot + n;
    find_depths(&m);
    sort_fronts(&m);
    keep_own(&m);
    const int32_t *const level = find_levels(&m);
    count_lists(&m, level);
    count_rising(&m, level);
    const weft_status status = take(ctx, call, schedule);
    if (status == WEFT_OK)
        fill(&m, level);
    wi_host_free(m.depth);
    return status;
}

void wi_schedule_free(wi_schedule *schedule) {
    wi_host_free(schedule->level);
    *schedule = (wi_schedule){.fronts = 0};
}
