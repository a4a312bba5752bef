/* SPDX-License-Identifier: Apache-2.0 */
/* sort over GPUs that reach each other's memory, by ranges (sort_ranges.h). Each GPU has a few
 * ranges, the first one short: while one is sorted, the side lane fetches the next from the other
 * GPUs. A range is sorted into its place in the whole array, so it need not be as long as foreseen,
 * and may end in another GPU's block. */
#include "sort/sort_ranges.h"

#include <math.h>
#include <string.h>

#include "comm/dist.h"

#ifdef WEFT_CUDA

enum {
    RANGES_OF_RANK = 3, /* at most */
    ROUND = 64          /* elements: memory of a range begins at a multiple */
};

/* Each range is so much longer than the one before: a GPU sorts one in the time in which the next
 * one arrives. An H200 sorts 2.7 times as many keys as a link brings; with values, fewer. */
static const double growth = 2.5;

/* What a rank tells of its part, and then of its memory. */
enum {
    N,
    Y,
    VALUES_OUT,
    SAMPLES,
    FITS,
    PART_WORDS,
    KEYS = 0,
    VALUES,
    TAKEN,
    COUNTS,
    MEMORY_WORDS = COUNTS + WI_SORT_MOST_RANGES
};

/* A call while it runs. */
typedef struct work {
    weft_context *ctx;
    const wi_sort_args *args;
    size_t key_bytes;
    wi_sort_ranges ranges;
    int of_rank;                 /* ranges of each rank */
    char *y, *values_out;        /* where the whole begins; or NULL */
    char *taken;                 /* memory for samples: */
    void *samples[WI_MOST_GPUS]; /* of all ranks: keys */
    void *sorted;
    uint32_t *number;
    wi_sort_bounds *bounds;
    uint64_t *counts;
    wi_sort_bounds seen;                            /* the bounds, on the host */
    size_t room[WI_MOST_GPUS][WI_SORT_MOST_RANGES]; /* for elements of a rank and range */
    char *keys, *values;                            /* memory for elements */
    uint64_t all[WI_MOST_GPUS][MEMORY_WORDS];       /* what the ranks tell of theirs */
} work;

static size_t lined(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static size_t rounded(size_t elements) {
    return (elements + ROUND - 1) / ROUND * ROUND;
}

/* ---- the whole ---- */

static weft_status take_samples(work *w) {
    const size_t most = WI_SORT_MOST_SAMPLES, keys = lined(most * w->key_bytes);
    const size_t numbers = lined(most * sizeof(uint32_t)), bounds = lined(sizeof *w->bounds);
    void *p;
    const weft_status status = wi_dist_take_near(
        w->ctx, 1, 2 * keys + numbers + bounds + WI_SORT_MOST_RANGES * sizeof(uint64_t), &p);
    w->taken = p;
    if (status != WEFT_OK)
        return status;
    w->sorted = w->taken + keys;
    w->number = (uint32_t *)(w->taken + 2 * keys);
    w->bounds = (wi_sort_bounds *)(w->taken + 2 * keys + numbers);
    w->counts = (uint64_t *)(w->taken + 2 * keys + numbers + bounds);
    return wi_local(w->ctx, weft_sync(w->ctx->child)); /* others will write to it */
}

/* Can this rank's kernels take its arrays as they are? */
static bool is_ready(const work *w) {
    const wi_sort_args *const a = w->args;
    const void *const array[] = {a->x, a->y, a->values, a->values_out};
    bool near = true;
    for (size_t k = 0; k < sizeof array / sizeof *array; k++)
        near = near && (!array[k] || wi_is_device(w->ctx->child, array[k]));
    const uintptr_t values = (uintptr_t)a->values | (uintptr_t)a->values_out;
    return a->n == 0 || (near && (a->value_bytes == 0 || values % a->value_bytes == 0));
}

/* Do the ranks' parts of the array in word `k` follow one another? If so, *whole is its begin. */
static bool follows(const work *w, const uint64_t *all, int k, size_t width, char **whole) {
    bool any = false, fits = true;
    for (int r = 0; r < w->ranges.ranks; r++) {
        const uint64_t *const words = all + r * PART_WORDS;
        char *const p = (char *)(uintptr_t)words[k] - w->ranges.first[r] * width;
        if (words[N] == 0 || words[k] == 0)
            continue;
        fits = fits && (!any || p == *whole);
        *whole = p;
        any = true;
    }
    return fits;
}

/* Divides the sorted samples: each rank's share of the whole into ranges that grow. */
static void divide(wi_sort_ranges *r, int of_rank) {
    const double all = (pow(growth, of_rank) - 1) / (growth - 1);
    const uint64_t total = r->first[r->ranks];
    r->count = r->ranks * of_rank;
    for (int k = 0; k < r->count; k++) {
        const int rank = k / of_rank;
        const double part = (pow(growth, k % of_rank) - 1) / (growth - 1) / all;
        const uint64_t first = r->first[rank];
        const uint64_t at = first + (uint64_t)(part * (double)(r->first[rank + 1] - first));
        r->begin[k] = (uint64_t)((double)at / (double)total * (double)r->samples);
    }
}

/* All ranks learn of all parts, and decide alike. */
static weft_status find_whole(work *w, bool *fits) {
    const wi_sort_args *const a = w->args;
    const bool ready = take_samples(w) == WEFT_OK && is_ready(w);
    const uint64_t own[PART_WORDS] = {a->n, (uintptr_t)a->y, (uintptr_t)a->values_out,
                                      (uintptr_t)w->taken, ready},
                   *all;
    wi_sort_ranges *const r = &w->ranges;
    r->ranks = w->ctx->comm->size;
    const weft_status status = wi_all_words(w->ctx, own, PART_WORDS, &all);
    if (status != WEFT_OK)
        return status;
    *fits = true;
    for (int k = 0; k < r->ranks; k++) {
        r->first[k + 1] = r->first[k] + all[k * PART_WORDS + N];
        w->samples[k] = (void *)(uintptr_t)all[k * PART_WORDS + SAMPLES];
        *fits = *fits && all[k * PART_WORDS + FITS];
    }
    const uint64_t total = r->first[r->ranks];
    *fits = *fits && follows(w, all, Y, w->key_bytes, &w->y) &&
            follows(w, all, VALUES_OUT, a->value_bytes, &w->values_out);
    if (!*fits)
        return WEFT_OK;
    const int most = WI_SORT_MOST_RANGES / r->ranks;
    w->of_rank = most < RANGES_OF_RANK ? most : RANGES_OF_RANK;
    const uint64_t some = total / 4 + 1;
    r->samples = some < WI_SORT_MOST_SAMPLES ? some : WI_SORT_MOST_SAMPLES;
    divide(r, w->of_rank);
    return WEFT_OK;
}

/* ---- where ranges begin ---- */

static weft_status sort_samples(work *w) {
    const wi_sort_args samples = {.call = w->args->call,
                                  .type = w->key_bytes == 4 ? WEFT_U32 : WEFT_U64,
                                  .end_bit = 8 * (unsigned)w->key_bytes,
                                  .n = (size_t)w->ranges.samples,
                                  .x = w->taken,
                                  .y = w->sorted,
                                  .value_bytes = sizeof *w->number,
                                  .values_out = w->number};
    return wi_run(w->ctx->child, &wi_sort_ladder, samples.call, samples.type, &samples);
}

static weft_status find_bounds(work *w) {
    weft_context *const ctx = w->ctx, *const child = ctx->child;
    weft_status status = WEFT_OK;
    WI_LOCAL_STEP(ctx, status,
                  wi_sort_ranges_sample(child, w->args, &w->ranges, ctx->comm->rank, w->samples));
    WI_LOCAL_STEP(ctx, status, weft_sync(child));
    status = wi_agree(ctx, 0, status); /* all samples have arrived */
    WI_LOCAL_STEP(ctx, status, sort_samples(w));
    WI_LOCAL_STEP(
        ctx, status,
        wi_sort_ranges_bound(child, w->key_bytes, &w->ranges, w->sorted, w->number, w->bounds));
    WI_LOCAL_STEP(ctx, status, weft_copy(child, &w->seen, w->bounds, sizeof w->seen));
    return status;
}

/* ---- memory ---- */

static void plan_room(work *w) {
    const wi_sort_ranges *const r = &w->ranges;
    const double stretch = (double)r->first[r->ranks] / (double)r->samples;
    for (int rank = 0; rank < r->ranks; rank++) {
        const uint64_t has = r->first[rank + 1] - r->first[rank];
        for (int k = 0; k < r->count; k++) {
            const uint64_t most =
                wi_sort_ranges_room(w->key_bytes, w->seen.samples[rank][k], stretch);
            w->room[rank][k] = rounded((size_t)(most < has ? most : has));
        }
    }
}

/* Where in the memory of `owner` the elements of range k lie: its own ranges first, each with those
 * of all ranks in their order, then what it has for other ranks. For k = count, the length. */
static size_t place_of(const work *w, int owner, int k, int rank) {
    const int first = owner * w->of_rank, end = first + w->of_rank, count = w->ranges.count;
    size_t at = 0;
    for (int own = first; own < end; own++) {
        for (int from = 0; from < w->ranges.ranks; from++) {
            if (own == k && from == rank)
                return at;
            at += w->room[from][own];
        }
    }
    for (int other = 0; other < count; other++) {
        if (other == k)
            return at;
        at += other < first || other >= end ? w->room[owner][other] : 0;
    }
    return at;
}

static weft_status take_memory(work *w) {
    const size_t n = place_of(w, w->ctx->comm->rank, w->ranges.count, 0);
    void *keys = NULL, *values = NULL;
    weft_status status = wi_dist_take_near(w->ctx, n, w->key_bytes, &keys);
    w->keys = keys;
    if (status == WEFT_OK && w->args->value_bytes > 0)
        status = wi_dist_take_near(w->ctx, n, w->args->value_bytes, &values);
    w->values = values;
    return status;
}

/* ---- partitioning ---- */

static weft_status deal_out(work *w) {
    const int rank = w->ctx->comm->rank;
    const wi_sort_args *const a = w->args;
    wi_sort_deal d = {.sort = a,
                      .first = w->ranges.first[rank],
                      .count = w->ranges.count,
                      .bounds = w->bounds,
                      .counts = w->counts};
    for (int k = 0; k < d.count; k++) {
        const size_t at = place_of(w, rank, k, rank);
        d.keys[k] = w->keys + at * w->key_bytes;
        d.values[k] = w->values ? w->values + at * a->value_bytes : NULL;
        d.room[k] = w->room[rank][k];
    }
    return wi_sort_ranges_deal(w->ctx->child, &d);
}

/* Every rank partitions its elements, and learns how many of each range all have. *fits: was there
 * memory for all? */
static weft_status meet(work *w, bool *fits) {
    weft_context *const ctx = w->ctx;
    uint64_t own[MEMORY_WORDS] = {0};
    weft_status status = take_memory(w);
    const bool taken = status == WEFT_OK;
    WI_LOCAL_STEP(ctx, status, deal_out(w));
    WI_LOCAL_STEP(ctx, status,
                  weft_copy(ctx->child, own + COUNTS, w->counts,
                            (size_t)w->ranges.count * sizeof *w->counts));
    own[KEYS] = (uintptr_t)w->keys;
    own[VALUES] = (uintptr_t)w->values;
    own[TAKEN] = taken;
    status = wi_agree(ctx, 0, taken ? status : WEFT_OK);
    if (status == WEFT_OK)
        status = ctx->comm->calls->all_gather(ctx, own, w->all, MEMORY_WORDS, WEFT_U64);
    *fits = true;
    for (int r = 0; r < w->ranges.ranks; r++) {
        *fits = *fits && w->all[r][TAKEN];
        for (int k = 0; k < w->ranges.count; k++)
            *fits = *fits && w->all[r][COUNTS + k] <= w->room[r][k];
    }
    return status;
}

/* ---- the ranges of this rank ---- */

/* Queues copies of what the others have of range k: before the own elements and behind them, so
 * that all are in the order of ranks. *begin is where they begin then, *n how many they are. */
static weft_status fetch(work *w, int k, size_t *begin, size_t *n) {
    weft_context *const child = w->ctx->child;
    const int own = w->ctx->comm->rank;
    size_t at = place_of(w, own, k, own);
    for (int r = 0; r < own; r++)
        at -= (size_t)w->all[r][COUNTS + k];
    *begin = at;
    weft_status status = WEFT_OK;
    for (int r = 0; r < w->ranges.ranks && status == WEFT_OK; r++) {
        const size_t count = (size_t)w->all[r][COUNTS + k], there = place_of(w, r, k, r);
        const char *const keys = (const char *)(uintptr_t)w->all[r][KEYS],
                          *const values = (const char *)(uintptr_t)w->all[r][VALUES];
        const size_t size = w->key_bytes, wide = w->args->value_bytes;
        if (r != own && count > 0) {
            status =
                wi_gpu_copy_within(child, w->keys + at * size, keys + there * size, count * size);
            if (status == WEFT_OK && wide > 0)
                status = wi_gpu_copy_within(child, w->values + at * wide, values + there * wide,
                                            count * wide);
        }
        at += count;
    }
    *n = at - *begin;
    return status;
}

/* Fetches range k on the side lane; what is queued on the stream afterwards waits for it. */
static weft_status fetch_aside(work *w, int k, size_t *begin, size_t *n) {
    weft_context *const child = w->ctx->child;
    wi_gpu_take_side(child, true);
    const weft_status status = fetch(w, k, begin, n);
    wi_gpu_take_side(child, false);
    return status;
}

/* Sorts n elements, which lie from `begin` on, to position `to` of the whole. */
static weft_status sort_range(work *w, size_t begin, size_t n, uint64_t to) {
    wi_sort_args part = *w->args;
    const size_t wide = part.value_bytes;
    part.n = n;
    part.x = w->keys + begin * w->key_bytes;
    part.y = w->y ? w->y + to * w->key_bytes : NULL;
    part.values = w->values ? w->values + begin * wide : NULL;
    part.values_out = w->values_out ? w->values_out + to * wide : NULL;
    part.spends = true;
    return n == 0 ? WEFT_OK : wi_run(w->ctx->child, &wi_sort_ladder, part.call, part.type, &part);
}

/* Where range k begins in the whole. */
static uint64_t position_of(const work *w, int k) {
    uint64_t at = 0;
    for (int r = 0; r < w->ranges.ranks; r++)
        for (int before = 0; before < k; before++)
            at += w->all[r][COUNTS + before];
    return at;
}

/* Between fork and join of the side lane. After a failure copies may still be under way. */
static weft_status sort_each_range(work *w) {
    weft_context *const child = w->ctx->child;
    const int first = w->ctx->comm->rank * w->of_rank, end = first + w->of_rank;
    size_t begin, n, next_begin = 0, next_n = 0;
    weft_status status = fetch_aside(w, first, &begin, &n);
    for (int k = first; k < end && status == WEFT_OK; k++) {
        status = wi_gpu_join(child);
        if (status == WEFT_OK && k + 1 < end)
            status = fetch_aside(w, k + 1, &next_begin, &next_n);
        if (status == WEFT_OK)
            status = sort_range(w, begin, n, position_of(w, k));
        begin = next_begin;
        n = next_n;
    }
    return status;
}

/* When it returns nothing is under way, so that memory can be given back. */
static weft_status sort_ranges(work *w) {
    weft_context *const child = w->ctx->child;
    weft_status status = wi_gpu_fork(child);
    if (status != WEFT_OK)
        return status;
    status = sort_each_range(w);
    const weft_status joined = wi_gpu_join(child), done = weft_sync(child);
    if (status == WEFT_OK)
        status = joined;
    return status == WEFT_OK ? done : status;
}

static weft_status run(work *w, bool *done) {
    weft_status status = find_whole(w, done);
    if (status != WEFT_OK || !*done)
        return status;
    status = find_bounds(w);
    plan_room(w);
    status = wi_agree(w->ctx, 0, status);
    if (status == WEFT_OK)
        status = meet(w, done);
    if (status != WEFT_OK || !*done)
        return status;
    status = wi_local(w->ctx, sort_ranges(w));
    return wi_agree(w->ctx, 0, status); /* nobody reads this memory any more */
}

weft_status wi_sort_by_ranges(weft_context *ctx, const wi_sort_args *args, uint64_t total,
                              bool *done) {
    *done = false;
    if (!wi_sort_ranges_pay(args, total, ctx->comm->size))
        return WEFT_OK;
    work w = {.ctx = ctx, .args = args, .key_bytes = weft_type_size(args->type)};
    const weft_status status = run(&w, done);
    wi_dist_give_near(ctx, w.taken);
    wi_dist_give_near(ctx, w.keys);
    wi_dist_give_near(ctx, w.values);
    return status;
}

#else

weft_status wi_sort_by_ranges(weft_context *ctx, const wi_sort_args *args, uint64_t total,
                              bool *done) {
    (void)ctx, (void)args, (void)total;
    *done = false;
    return WEFT_OK;
}

#endif
