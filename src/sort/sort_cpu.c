/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "buckets" of sort, and the gather that goes with it. Threads distribute their shares of
 * the elements to 256 buckets, keeping their order, and then sort one bucket after the other in
 * cache. */
#include <float.h>
#include <stdatomic.h>
#include <string.h>

#include "cpu/team.h"
#include "sort/sort_parts.h"
#include "sort/sort_scalar.h"

enum {
    SAMPLES = 1024,
    EACH = SAMPLES / WI_SORT_BUCKETS, /* samples in a bucket, if all buckets are equal */
    CELLS = 1 << 13,
    OUTLIERS = 4,          /* so many samples at each end do not widen the buckets */
    SHORT_BYTES = 1 << 17, /* fewer bytes are sorted in one piece */
    /* less is sorted in one piece, where vectors do it: with as much spare memory it fits a
     * second-level cache, and it is too little for several threads */
    PIECE_BYTES = 2 * WI_WORTHWHILE_BYTES,
    STREAM_BYTES = 1 << 22
};

/* Scratch memory that the threads of a sort share. */
typedef struct shared_scratch {
    uint64_t samples[SAMPLES], spare[SAMPLES];
    uint8_t table[CELLS];
} shared_scratch;

typedef unsigned char parcels[WI_SORT_BUCKETS][WI_SORT_PARCEL_BYTES];

/* Scratch memory of one thread. */
typedef struct own_scratch {
    parcels keys, values;
    size_t counts[WI_SORT_BUCKETS];
} own_scratch;

/* Elements first ... first + n - 1 of a call, and what the threads that sort them share. */
typedef struct plan {
    const weft_context *ctx;
    const wi_sort_args *args;
    const wi_sort_simd *simd;
    const wi_sort_parts *parts;
    size_t first, n;
    wi_sort_split split;
    shared_scratch *shared;
    int team;
    own_scratch *own; /* one for each thread */
    size_t starts[WI_SORT_BUCKETS + 1];
    atomic_size_t taken; /* how many buckets threads have taken */
} plan;

/* One thread's part of the samples. */
static void take_samples(void *user, int rank, int size) {
    const plan *const p = user;
    const wi_sort_args *const a = p->args;
    const uint64_t mask = UINT64_MAX >> (64 - (a->end_bit - a->first_bit));
    const size_t step = p->n / SAMPLES, end = wi_team_share(SAMPLES, rank + 1, size);
    for (size_t k = wi_team_share(SAMPLES, rank, size); k < end; k++) {
        const size_t i = p->first + k * step + k * 7919 % step;
        const uint64_t key = wi_sort_key_at(&p->parts->key, p->parts->range.key_bytes, a->x, i);
        p->shared->samples[k] = key >> a->first_bit & mask;
    }
}

static void sort_samples(shared_scratch *d) {
    const wi_sort_range range = {.key_bytes = sizeof *d->samples,
                                 .end_bit = 64,
                                 .n = SAMPLES,
                                 .keys = d->samples,
                                 .spare_keys = d->spare};
    WI_OF_ISA(wi_cpu_isa(), wi_sort_simd)->sort(&range);
}

/* Cells of equal width between the smallest and the largest of some samples. */
static wi_sort_split split_of(const plan *p, const uint64_t *samples, unsigned cells) {
    const uint64_t low = samples[OUTLIERS], high = samples[SAMPLES - 1 - OUTLIERS];
    unsigned shift = 0;
    while ((high - low) >> shift >= cells)
        shift++;
    return (wi_sort_split){.first_bit = p->args->first_bit,
                           .end_bit = p->args->end_bit,
                           .low = low,
                           .shift = shift,
                           .last = cells - 1};
}

static unsigned cell_of(const wi_sort_split *split, uint64_t sample) {
    const uint64_t above = sample > split->low ? (sample - split->low) >> split->shift : 0;
    return above < split->last ? (unsigned)above : split->last;
}

/* How many samples the fullest cell holds. */
static unsigned fullest(const wi_sort_split *split, const uint64_t *samples) {
    unsigned most = 0, here = 0;
    for (size_t k = 0; k < SAMPLES; k++) {
        const bool next = k == 0 || cell_of(split, samples[k]) != cell_of(split, samples[k - 1]);
        here = next ? 1 : here + 1;
        most = here > most ? here : most;
    }
    return most;
}

/* The value of a sample, whose type is a float of 4 or 8 bytes. */
static double value_of(const plan *p, uint64_t sample) {
    union {
        uint64_t key;
        uint32_t short_key;
        float f32;
        double f64;
    } bits = {sample};
    const unsigned bytes = p->parts->range.key_bytes;
    if (bytes == 4)
        bits.short_key = (uint32_t)sample;
    p->simd->of_keys(&p->parts->key, bytes, 1, &bits, &bits);
    return bytes == 4 ? (double)bits.f32 : bits.f64;
}

/* Tries buckets between whose ends the values differ by the same amount; false if some samples are
 * not finite, or in too few buckets. */
static bool split_by_value(plan *p, const uint64_t *samples) {
    if (p->args->type != WEFT_F32 && p->args->type != WEFT_F64)
        return false;
    const double first = value_of(p, samples[OUTLIERS]);
    const double last = value_of(p, samples[SAMPLES - 1 - OUTLIERS]);
    const double low = first < last ? first : last, high = first < last ? last : first;
    const double scale = WI_SORT_BUCKETS / (high - low);
    if (!wi_sort_whole(p->args) || !(scale > FLT_MIN && scale < FLT_MAX) || !(high < FLT_MAX) ||
        !(low > -FLT_MAX))
        return false;
    unsigned counts[WI_SORT_BUCKETS] = {0}, most = 0;
    for (size_t k = 0; k < SAMPLES; k++) {
        const double above = (value_of(p, samples[k]) - low) * scale;
        const double cell = above < WI_SORT_BUCKETS - 1 ? above : WI_SORT_BUCKETS - 1;
        const unsigned here = ++counts[(unsigned)(cell > 0 ? cell : 0)];
        most = here > most ? here : most;
    }
    if (most > 6 * EACH)
        return false;
    p->split = (wi_sort_split){.origin = low, .scale = scale, .last = WI_SORT_BUCKETS - 1};
    return true;
}

/* Chooses buckets of equal width if samples say that they would be about equally full. For keys
 * that are concentrated they are not: then many narrow cells, and buckets made of several cells. */
static void choose_split(plan *p) {
    const uint64_t *const samples = p->shared->samples;
    wi_team_run(p->ctx, p->team, take_samples, p); /* by all: so they are awake when it matters */
    sort_samples(p->shared);
    p->split = split_of(p, samples, WI_SORT_BUCKETS);
    if (fullest(&p->split, samples) <= 6 * EACH || split_by_value(p, samples))
        return;
    p->split = split_of(p, samples, CELLS);
    p->split.table = p->shared->table;
    size_t passed = 0, in_bucket = 0, bucket = 0;
    for (unsigned cell = 0; cell < CELLS; cell++) {
        p->shared->table[cell] = (uint8_t)bucket;
        for (; passed < SAMPLES && cell_of(&p->split, samples[passed]) == cell; passed++)
            in_bucket++;
        if (in_bucket >= EACH && bucket < WI_SORT_BUCKETS - 1) {
            bucket++;
            in_bucket = 0;
        }
    }
}

static wi_sort_deal share_of(const plan *p, int rank) {
    const wi_sort_args *a = p->args;
    const wi_sort_range *r = &p->parts->range;
    const size_t first = p->first + wi_team_share(p->n, rank, p->team);
    const size_t end = p->first + wi_team_share(p->n, rank + 1, p->team);
    const char *const values = a->values;
    return (wi_sort_deal){.key_bytes = r->key_bytes,
                          .value_bytes = r->value_bytes,
                          .key = p->parts->key,
                          .split = p->split,
                          .n = end - first,
                          .first = first,
                          .x = (const char *)a->x + first * r->key_bytes,
                          .values = values ? values + first * r->value_bytes : NULL,
                          .keys_out = r->keys,
                          .values_out = r->values,
                          .at = p->own[rank].counts,
                          .parcels = p->own[rank].keys,
                          .value_parcels = p->own[rank].values,
                          .stream = p->n * r->key_bytes >= STREAM_BYTES};
}

/* Turns counts into positions: each bucket begins with the keys of thread 0, then those of thread
 * 1, and so on. */
static void place_buckets(plan *p) {
    size_t sum = p->first;
    for (size_t bucket = 0; bucket < WI_SORT_BUCKETS; bucket++) {
        p->starts[bucket] = sum;
        for (int rank = 0; rank < p->team; rank++) {
            const size_t own = p->own[rank].counts[bucket];
            p->own[rank].counts[bucket] = sum;
            sum += own;
        }
    }
    p->starts[WI_SORT_BUCKETS] = sum;
}

/* Sorts elements first ... end - 1 of the parts, and stores them where the caller wants them.
 * Bucket `next`, if there is one, is read after that. */
static void finish(const plan *p, size_t first, size_t end, const wi_sort_range *spare,
                   size_t next) {
    wi_sort_range bucket = wi_sort_part(p->parts, first, end);
    if (next < WI_SORT_BUCKETS) {
        const wi_sort_range then = wi_sort_part(p->parts, p->starts[next], p->starts[next + 1]);
        bucket.next = then.keys;
        bucket.next_bytes = then.n * then.key_bytes;
    }
    if (p->parts->own_spare_keys)
        bucket.spare_keys = spare->spare_keys;
    if (p->parts->own_spare_values)
        bucket.spare_values = spare->spare_values;
    p->simd->sort(&bucket);
    wi_sort_store(p->args, p->parts, &bucket, first);
}

/* The longest bucket that fits one thread's share of the spare arrays. Longer ones are sorted
 * first, with all of these arrays. */
static size_t longest_shared(const plan *p) {
    return p->n / (size_t)p->team;
}

static void finish_long(const plan *p) {
    for (size_t k = 0; k < WI_SORT_BUCKETS; k++) {
        const size_t first = p->starts[k], end = p->starts[k + 1];
        if (end - first > longest_shared(p)) {
            const wi_sort_range own = wi_sort_part(p->parts, first, end);
            finish(p, first, end, &own, WI_SORT_BUCKETS);
        }
    }
}

static size_t take_bucket(plan *p) {
    return atomic_fetch_add_explicit(&p->taken, 1, memory_order_relaxed);
}

/* One thread's part of the other buckets. It uses the same spare arrays for every bucket: they stay
 * in its cache, and the system need not provide the rest of the spare memory. It takes a bucket one
 * ahead, so that its keys come while others are sorted, but for the last ones, of which each thread
 * takes what it can. */
static void finish_short(void *user, int rank, int size) {
    plan *const p = user;
    const size_t at = p->first + (size_t)rank * longest_shared(p);
    const wi_sort_range spare = wi_sort_part(p->parts, at, at);
    size_t k = take_bucket(p);
    while (k < WI_SORT_BUCKETS) {
        const bool many = k + 4 * (size_t)size < WI_SORT_BUCKETS;
        const size_t next = many ? take_bucket(p) : WI_SORT_BUCKETS;
        const size_t first = p->starts[k], end = p->starts[k + 1];
        if (first < end && end - first <= longest_shared(p))
            finish(p, first, end, &spare, next);
        k = many ? next : take_bucket(p);
    }
}

static void count_part(void *user, int rank, int size) {
    const plan *const p = user;
    const wi_sort_deal share = share_of(p, rank);
    (void)size;
    memset(share.at, 0, WI_SORT_BUCKETS * sizeof *share.at);
    p->simd->count(&share, share.at);
}

static void deal_part(void *user, int rank, int size) {
    const plan *const p = user;
    const wi_sort_deal share = share_of(p, rank);
    (void)size;
    p->simd->deal(&share);
}

static void sort_in_buckets(plan *p) {
    choose_split(p);
    wi_team_run(p->ctx, p->team, count_part, p);
    place_buckets(p);
    wi_team_run(p->ctx, p->team, deal_part, p);
    finish_long(p);
    wi_team_run(p->ctx, p->team, finish_short, p);
}

size_t wi_sort_team_bytes(int team) {
    return sizeof(shared_scratch) + (size_t)team * sizeof(own_scratch);
}

bool wi_sort_is_short(const wi_sort_args *args, size_t n) {
    return n * (weft_type_size(args->type) + args->value_bytes) <= SHORT_BYTES;
}

static plan plan_of(const weft_context *ctx, const wi_sort_args *args, const wi_sort_parts *parts,
                    int team, size_t first, size_t end) {
    plan p = {.ctx = ctx,
              .args = args,
              .simd = WI_OF_ISA(wi_cpu_isa(), wi_sort_simd),
              .parts = parts,
              .first = first,
              .n = end - first,
              .team = team,
              .shared = parts->extra};
    p.own = (own_scratch *)(void *)(p.shared + 1);
    return p;
}

static void sort_in_one(const plan *p) {
    const wi_sort_range all = wi_sort_load(p->args, p->parts, p->first, p->first + p->n);
    finish(p, p->first, p->first + p->n, &all, WI_SORT_BUCKETS);
}

void wi_sort_stretch(const weft_context *ctx, const wi_sort_args *args, const wi_sort_parts *parts,
                     int team, size_t first, size_t end) {
    plan p = plan_of(ctx, args, parts, team, first, end);
    if (wi_sort_is_short(args, p.n))
        sort_in_one(&p);
    else
        sort_in_buckets(&p);
}

/* Are the elements sorted in one piece? */
static bool is_one_piece(const wi_sort_args *call) {
    const size_t size = weft_type_size(call->type);
    const bool by_vectors =
        wi_cpu_isa() == WI_ISA_AVX512 && size >= 4 && call->value_bytes == 0 && wi_sort_whole(call);
    return wi_sort_is_short(call, call->n) || (by_vectors && call->n * size < PIECE_BYTES);
}

weft_status wi_sort_some(weft_context *ctx, const wi_sort_args *call, size_t n) {
    const bool one = is_one_piece(call);
    const size_t bytes = call->n * (weft_type_size(call->type) + call->value_bytes);
    const int team = wi_team_size(ctx, WI_SORT_BUCKETS, bytes);
    wi_sort_parts parts;
    weft_status status =
        wi_sort_take_parts(ctx, call, !one, one ? 0 : wi_sort_team_bytes(team), &parts);
    if (status != WEFT_OK || call->bytes)
        return status;
    const plan p = plan_of(ctx, call, &parts, team, 0, n);
    if (one)
        sort_in_one(&p);
    else
        wi_sort_stretch(ctx, call, &parts, team, 0, n);
    wi_host_free(parts.memory);
    return WEFT_OK;
}

weft_status wi_sort_buckets(weft_context *ctx, const void *args) {
    const wi_sort_args *const call = args;
    return wi_sort_some(ctx, call, call->n);
}

/* ---- gather ---- */

static void gather_part(void *user, int rank, int size) {
    const wi_sort_gather_args *const g = user;
    const size_t end = wi_team_share(g->n, rank + 1, size);
    const size_t bytes = g->value_bytes;
    for (size_t i = wi_team_share(g->n, rank, size); i < end; i++) {
        const size_t from = g->index_bytes == 4 ? ((const uint32_t *)g->indices)[i]
                                                : ((const uint64_t *)g->indices)[i];
        memcpy((char *)g->values_out + i * bytes, (const char *)g->values + from * bytes, bytes);
    }
}

weft_status wi_sort_gather_threads(weft_context *ctx, const void *args) {
    wi_sort_gather_args g = *(const wi_sort_gather_args *)args;
    wi_team_run(ctx, wi_team_size(ctx, g.n, g.n * g.value_bytes), gather_part, &g);
    return WEFT_OK;
}
