/* SPDX-License-Identifier: Apache-2.0 */
/* sort over GPUs that reach each other's memory, by ranges (sort_ranges.h). Each GPU has a few
 * groups of ranges, the first one short: while one is sorted, the side lane fetches the next from
 * the other GPUs. A range is sorted into its place in the whole array, so it need not be as long as
 * foreseen, and may end in another GPU's block. */
#include "sort/sort_ranges.h"

#include <string.h>

#include "comm/dist.h"

#ifdef WEFT_CUDA

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
    MEMORY_WORDS = COUNTS + WI_SORT_MOST_DIGITS
};

/* A call while it runs. */
typedef struct work {
    weft_context *ctx;
    const wi_sort_args *args;
    size_t key_bytes;
    wi_sort_plan_ranges plan;
    char *y, *values_out;        /* where the whole begins; or NULL */
    char *taken;                 /* memory for samples: */
    void *samples[WI_MOST_GPUS]; /* of all ranks: keys */
    void *sorted;
    uint32_t *number;
    wi_sort_bounds *bounds;
    uint64_t *counts;
    uint32_t (*digits)[WI_SORT_MOST_DIGITS];  /* samples of each rank and digit */
    char *keys, *values;                      /* memory for elements */
    uint64_t all[WI_MOST_GPUS][MEMORY_WORDS]; /* what the ranks tell of theirs */
    wi_sort_piece piece[WI_SORT_MOST_DIGITS]; /* each range, once it is fetched */
} work;

static size_t lined(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/* ---- the whole ---- */

static weft_status take_samples(work *w) {
    const size_t most = WI_SORT_MOST_SAMPLES, keys = lined(most * w->key_bytes);
    const size_t numbers = lined(most * sizeof(uint32_t)), bounds = lined(sizeof *w->bounds);
    const size_t counts = WI_SORT_MOST_DIGITS * sizeof(uint64_t);
    const size_t digits = WI_MOST_GPUS * sizeof *w->digits;
    void *p;
    const weft_status status =
        wi_dist_take_near(w->ctx, 1, 2 * keys + numbers + bounds + counts + digits, &p);
    w->taken = p;
    if (status != WEFT_OK)
        return status;
    w->sorted = w->taken + keys;
    w->number = (uint32_t *)(w->taken + 2 * keys);
    w->bounds = (wi_sort_bounds *)(w->taken + 2 * keys + numbers);
    w->counts = (uint64_t *)(w->taken + 2 * keys + numbers + bounds);
    w->digits = (void *)(w->counts + WI_SORT_MOST_DIGITS);
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
    for (int r = 0; r < w->plan.ranges.ranks; r++) {
        const uint64_t *const words = all + r * PART_WORDS;
        char *const p = (char *)(uintptr_t)words[k] - w->plan.ranges.first[r] * width;
        if (words[N] == 0 || words[k] == 0)
            continue;
        fits = fits && (!any || p == *whole);
        *whole = p;
        any = true;
    }
    return fits;
}

/* All ranks learn of all parts, and decide alike. */
static weft_status find_whole(work *w, bool *fits) {
    const wi_sort_args *const a = w->args;
    const bool ready = take_samples(w) == WEFT_OK && is_ready(w);
    const uint64_t own[PART_WORDS] = {a->n, (uintptr_t)a->y, (uintptr_t)a->values_out,
                                      (uintptr_t)w->taken, ready},
                   *all;
    wi_sort_ranges *const r = &w->plan.ranges;
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
    const uint64_t some = total / 4 + 1;
    r->samples = some < WI_SORT_MOST_SAMPLES ? some : WI_SORT_MOST_SAMPLES;
    return WEFT_OK;
}

/* ---- where ranges begin ---- */

static weft_status sort_samples(work *w) {
    const wi_sort_args samples = {.call = w->args->call,
                                  .type = w->key_bytes == 4 ? WEFT_U32 : WEFT_U64,
                                  .end_bit = 8 * (unsigned)w->key_bytes,
                                  .n = (size_t)w->plan.ranges.samples,
                                  .x = w->taken,
                                  .y = w->sorted,
                                  .value_bytes = sizeof *w->number,
                                  .values_out = w->number};
    return wi_run(w->ctx->child, &wi_sort_ladder, samples.call, samples.type, &samples);
}

static weft_status find_bounds(work *w) {
    weft_context *const ctx = w->ctx, *const child = ctx->child;
    wi_sort_bounds seen = {0};
    weft_status status = WEFT_OK;
    wi_sort_ranges_divide(&w->plan);
    WI_LOCAL_STEP(ctx, status, sort_samples(w));
    WI_LOCAL_STEP(ctx, status,
                  wi_sort_ranges_bound(child, w->key_bytes, &w->plan.ranges, w->sorted, w->number,
                                       w->bounds));
    WI_LOCAL_STEP(ctx, status, weft_copy(child, &seen, w->bounds, sizeof seen));
    for (int rank = 0; rank < w->plan.ranges.ranks; rank++)
        memcpy(w->plan.drawn[rank], seen.samples[rank], sizeof seen.samples[rank]);
    return status;
}

/* All ranks have the same samples, and come to the same ranges. */
static weft_status find_ranges(work *w) {
    weft_context *const ctx = w->ctx, *const child = ctx->child;
    weft_status status = WEFT_OK;
    WI_LOCAL_STEP(
        ctx, status,
        wi_sort_ranges_sample(child, w->args, &w->plan.ranges, ctx->comm->rank, w->samples));
    WI_LOCAL_STEP(ctx, status, weft_sync(child));
    status = wi_agree(ctx, 0, status); /* all samples have arrived */
    WI_LOCAL_STEP(ctx, status,
                  wi_sort_digits_count(child, w->key_bytes, &w->plan.ranges, w->taken, w->digits));
    WI_LOCAL_STEP(ctx, status,
                  weft_copy(child, w->plan.drawn, w->digits,
                            (size_t)w->plan.ranges.ranks * sizeof *w->digits));
    if (status != WEFT_OK)
        return status;
    return wi_sort_digits_divide(&w->plan) ? WEFT_OK : find_bounds(w);
}

static weft_status take_memory(work *w) {
    const size_t n = w->plan.length[w->ctx->comm->rank];
    void *keys = NULL, *values = NULL;
    weft_status status = wi_dist_take_near(w->ctx, n, w->key_bytes, &keys);
    w->keys = keys;
    if (status == WEFT_OK && w->args->value_bytes > 0)
        status = wi_dist_take_near(w->ctx, n, w->args->value_bytes, &values);
    w->values = values;
    return status;
}

/* ---- partitioning ---- */

static weft_status deal_digits(work *w) {
    const int rank = w->ctx->comm->rank;
    wi_sort_rooms rooms = {.keys = w->keys, .values = w->values};
    for (int k = 0; k < w->plan.ranges.count; k++) {
        rooms.begin[k] = w->plan.place[rank][k];
        rooms.end[k] = w->plan.place[rank][k] + w->plan.room[rank][k];
    }
    return wi_sort_digits_deal(w->ctx->child, w->args, w->plan.ranges.first[rank], &rooms,
                               w->counts);
}

static weft_status deal_out(work *w) {
    const int rank = w->ctx->comm->rank;
    const wi_sort_args *const a = w->args;
    if (w->plan.by_digit)
        return deal_digits(w);
    wi_sort_deal d = {.sort = a,
                      .first = w->plan.ranges.first[rank],
                      .count = w->plan.ranges.count,
                      .bounds = w->bounds,
                      .counts = w->counts};
    for (int k = 0; k < d.count; k++) {
        const size_t at = w->plan.place[rank][k];
        d.keys[k] = w->keys + at * w->key_bytes;
        d.values[k] = w->values ? w->values + at * a->value_bytes : NULL;
        d.room[k] = w->plan.room[rank][k];
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
                            (size_t)w->plan.ranges.count * sizeof *w->counts));
    for (int k = 0; w->plan.by_digit && k < w->plan.ranges.count; k++)
        own[COUNTS + k] -= w->plan.place[ctx->comm->rank][k];
    own[KEYS] = (uintptr_t)w->keys;
    own[VALUES] = (uintptr_t)w->values;
    own[TAKEN] = taken;
    status = wi_agree(ctx, 0, taken ? status : WEFT_OK);
    if (status == WEFT_OK)
        status = ctx->comm->calls->all_gather(ctx, own, w->all, MEMORY_WORDS, WEFT_U64);
    *fits = true;
    for (int r = 0; r < w->plan.ranges.ranks; r++) {
        *fits = *fits && w->all[r][TAKEN];
        for (int k = 0; k < w->plan.ranges.count; k++)
            *fits = *fits && w->all[r][COUNTS + k] <= w->plan.room[r][k];
    }
    return status;
}

/* ---- the ranges of this rank ---- */

/* Queues copies of what the others have of range k: before the own elements and behind them, so
 * that all are in the order of ranks. */
static weft_status fetch(work *w, int k) {
    weft_context *const child = w->ctx->child;
    const int own = w->ctx->comm->rank;
    size_t at = w->plan.place[own][k];
    for (int r = 0; r < own; r++)
        at -= (size_t)w->all[r][COUNTS + k];
    w->piece[k].from = at;
    weft_status status = WEFT_OK;
    for (int r = 0; r < w->plan.ranges.ranks && status == WEFT_OK; r++) {
        const size_t count = (size_t)w->all[r][COUNTS + k], there = w->plan.place[r][k];
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
    w->piece[k].n = at - w->piece[k].from;
    return status;
}

/* Fetches ranges on the side lane; what is queued on the stream afterwards waits for them. */
static weft_status fetch_aside(work *w, int first, int end) {
    weft_context *const child = w->ctx->child;
    weft_status status = WEFT_OK;
    wi_gpu_take_side(child, true);
    for (int k = first; k < end && status == WEFT_OK; k++)
        status = fetch(w, k);
    wi_gpu_take_side(child, false);
    return status;
}

/* Sorts ranges to their places in the whole. */
static weft_status sort_group(work *w, int first, int end) {
    const wi_sort_piece *const p = &w->piece[first];
    weft_context *const child = w->ctx->child;
    const size_t wide = w->args->value_bytes;
    wi_sort_args part = *w->args;
    part.x = w->keys;
    part.y = w->y;
    part.values = w->values;
    part.values_out = w->values_out;
    if (w->plan.by_digit)
        return wi_sort_pieces(child, &part, p, end - first);
    part.n = p->n;
    part.x = w->keys + p->from * w->key_bytes;
    part.y = w->y ? w->y + p->to * w->key_bytes : NULL;
    part.values = w->values ? w->values + p->from * wide : NULL;
    part.values_out = w->values_out ? w->values_out + p->to * wide : NULL;
    part.spends = true;
    return p->n == 0 ? WEFT_OK : wi_run(child, &wi_sort_ladder, part.call, part.type, &part);
}

/* Where in the whole each range begins. */
static void plan_positions(work *w) {
    uint64_t at = 0;
    for (int k = 0; k < w->plan.ranges.count; k++) {
        w->piece[k].to = at;
        for (int r = 0; r < w->plan.ranges.ranks; r++)
            at += w->all[r][COUNTS + k];
    }
}

/* Between fork and join of the side lane. After a failure copies may still be under way. */
static weft_status sort_each_group(work *w) {
    weft_context *const child = w->ctx->child;
    int first[WI_SORT_MOST_GROUPS + 1];
    const int groups = wi_sort_ranges_groups(&w->plan, w->ctx->comm->rank, first);
    weft_status status = fetch_aside(w, first[0], first[1]);
    for (int g = 0; g < groups && status == WEFT_OK; g++) {
        status = wi_gpu_join(child);
        if (status == WEFT_OK && g + 1 < groups)
            status = fetch_aside(w, first[g + 1], first[g + 2]);
        if (status == WEFT_OK)
            status = sort_group(w, first[g], first[g + 1]);
    }
    return status;
}

/* When it returns nothing is under way, so that memory can be given back. */
static weft_status sort_ranges(work *w) {
    weft_context *const child = w->ctx->child;
    weft_status status = wi_gpu_fork(child);
    if (status != WEFT_OK)
        return status;
    plan_positions(w);
    status = sort_each_group(w);
    const weft_status joined = wi_gpu_join(child), done = weft_sync(child);
    if (status == WEFT_OK)
        status = joined;
    return status == WEFT_OK ? done : status;
}

static weft_status run(work *w, bool *done) {
    weft_status status = find_whole(w, done);
    if (status != WEFT_OK || !*done)
        return status;
    status = find_ranges(w);
    wi_sort_ranges_place(&w->plan, w->key_bytes);
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
    work *const w = wi_host_alloc(sizeof *w);
    weft_status status = w ? WEFT_OK
                           : wi_fail(ctx, WEFT_ENOMEM, "%s: no host memory for a plan of %zu bytes",
                                     args->call, sizeof *w);
    status = wi_agree(ctx, 0, status);
    if (status == WEFT_OK) {
        memset(w, 0, sizeof *w);
        w->ctx = ctx;
        w->args = args;
        w->key_bytes = weft_type_size(args->type);
        status = run(w, done);
        wi_dist_give_near(ctx, w->taken);
        wi_dist_give_near(ctx, w->keys);
        wi_dist_give_near(ctx, w->values);
    }
    wi_host_free(w);
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
