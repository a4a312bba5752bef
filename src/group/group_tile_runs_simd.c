/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of a tile, in one of two ways. Where they begin is listed, and each is reduced by the
 * loops for segments; or, if they are short, all elements get the sums of their runs so far, and of
 * these the last of each run are packed, as select packs elements. Those of longer runs, whose
 * elements are added in another order, are then written anew. */
#include "group/group_tile_runs.h"

enum {
    LONG = 32,    /* elements of a run from which on its start is looked for by itself */
    RUNNING = 20, /* running sums of so many elements take the time of a short run otherwise */
    WORDS = WI_GROUP_TILE / 64,
    ROW_WORDS = WI_GROUP_ROW / 64
};

static size_t count_bits(const uint64_t *bits, size_t words) {
    size_t count = 0;
    for (size_t w = 0; w < words; w++)
        count += (size_t)__builtin_popcountll(bits[w]);
    return count;
}

/* ---- by lists ---- */

/* Where runs begin: one after another is quicker than vectors if they are long. */
static void list_starts(wi_group_tile *t) {
    uint32_t *starts = t->starts;
    t->listed = true;
    if (t->heads > t->n / LONG) {
        t->simd->pack[2](t->count, t->n, t->marks, 0, starts);
        return;
    }
    for (size_t w = 0; 64 * w < t->n; w++)
        for (uint64_t bits = t->marks[w]; bits; bits &= bits - 1)
            *starts++ = (uint32_t)(64 * w + (size_t)__builtin_ctzll(bits));
}

static void reduce_by_lists(const wi_group_column *c, wi_group_tile *t, void *y) {
    if (!t->listed)
        list_starts(t);
    wi_group_reduce_runs(c, t->first, t->starts, t->heads - 1, y);
}

/* ---- by running sums ---- */

/* Bit i: does a run that has begun in the tile end with element i? The last one of the tile is no
 * such end. */
static void mark_ends(const uint64_t *marks, uint64_t *ends) {
    for (size_t w = 0; w < WORDS; w++)
        ends[w] = marks[w] >> 1 | (w + 1 < WORDS ? marks[w + 1] << 63 : 0);
    size_t w = 0;
    if (marks[0] & 1)
        return;
    while (!ends[w])
        w++;
    ends[w] &= ends[w] - 1; /* of the run that is open where the tile begins */
}

/* The start of the run to which element i belongs. */
static size_t start_of(const uint64_t *marks, size_t i) {
    size_t w = i / 64;
    uint64_t bits = marks[w] << (63 - i % 64) >> (63 - i % 64);
    while (!bits)
        bits = marks[--w];
    return 64 * w + 63 - (size_t)__builtin_clzll(bits);
}

/* The bits of a word, and those that are `by` places below: some of them in the word before. */
static uint64_t spread(uint64_t bits, uint64_t before, int by) {
    return bits | bits << by | before >> (64 - by);
}

/* Of the ends, those of runs of WI_GROUP_LANES elements and more: no run has begun in the last
 * WI_GROUP_LANES - 1 of them. Returns how many there are. */
static size_t mark_long(const uint64_t *marks, const uint64_t *ends, uint64_t *is_long) {
    uint64_t one = 0, two = 0, four = 0, eight = 0;
    size_t count = 0;
    for (size_t w = 0; w < WORDS; w++) {
        const uint64_t now_two = spread(marks[w], one, 1), now_four = spread(now_two, two, 2);
        const uint64_t now_eight = spread(now_four, four, 4);
        is_long[w] = ends[w] & ~spread(now_eight, eight, WI_GROUP_LANES - 9);
        count += (size_t)__builtin_popcountll(is_long[w]);
        one = marks[w];
        two = now_two;
        four = now_four;
        eight = now_eight;
    }
    return count;
}

static void reduce_long_runs(const wi_group_column *c, const wi_group_tile *t, const uint64_t *ends,
                             const uint64_t *is_long, void *y) {
    wi_group_args a = *c->run.args;
    a.y = y;
    const wi_group_run run = {.args = &a, .segments = c->run.segments, .flip = c->run.flip};
    size_t done = 0;
    for (size_t w = 0; w < WORDS; w++) {
        for (uint64_t left = is_long[w]; left; left &= left - 1) {
            const int bit = __builtin_ctzll(left);
            const size_t end = 64 * w + (size_t)bit + 1, start = start_of(t->marks, end - 1);
            const uint64_t below = ends[w] & (((uint64_t)1 << bit) - 1);
            wi_group_state total;
            c->loops->piece(&run, t->first + start, end - start, &total);
            c->loops->finish(&run, done + (size_t)__builtin_popcountll(below), &total);
        }
        done += (size_t)__builtin_popcountll(ends[w]);
    }
}

static void sum_runs(const wi_group_column *c, const wi_group_tile *t, const uint64_t *ends,
                     void *y) {
    const char *const x = (const char *)c->run.args->x;
    const int word = __builtin_ctzll(c->result_bytes);
    char *to = y;
    for (size_t w = 0; w < WORDS; w += ROW_WORDS) {
        const size_t at = t->first + 64 * w;
        const size_t next = w + ROW_WORDS < WORDS ? at + WI_GROUP_ROW : t->next;
        c->running(x + at * c->size, t->marks + w, w > 0, x + next * c->size, t->sums);
        t->simd->pack[word](t->sums, WI_GROUP_ROW, ends + w, 0, to);
        to += count_bits(ends + w, ROW_WORDS) * c->result_bytes;
    }
}

/* The same, if it is quicker than by lists. */
static bool try_running(const wi_group_column *c, const wi_group_tile *t, void *y) {
    uint64_t ends[WORDS], is_long[WORDS];
    if (!c->running || t->n < WI_GROUP_TILE || t->heads <= WI_GROUP_TILE / RUNNING)
        return false;
    mark_ends(t->marks, ends);
    const size_t long_runs = mark_long(t->marks, ends, is_long);
    if (t->heads <= WI_GROUP_TILE / RUNNING + long_runs)
        return false;
    sum_runs(c, t, ends, y);
    if (long_runs > 0)
        reduce_long_runs(c, t, ends, is_long, y);
    return true;
}

static void reduce_tile(const wi_group_column *c, wi_group_tile *t, void *y) {
    if (t->heads >= 2 && !try_running(c, t, y))
        reduce_by_lists(c, t, y);
}

static void count_heads(wi_group_tile *t) {
    size_t first = 0, last = (t->n - 1) / 64;
    t->heads = count_bits(t->marks, last + 1);
    if (t->heads == 0)
        return;
    while (!t->marks[first])
        first++;
    while (!t->marks[last])
        last--;
    t->first_head = 64 * first + (size_t)__builtin_ctzll(t->marks[first]);
    t->last_head = 64 * last + 63 - (size_t)__builtin_clzll(t->marks[last]);
}

const wi_group_tile_runs WI_FOR_ISA(wi_group_tile_runs) = {.count_heads = count_heads,
                                                           .reduce = reduce_tile};
