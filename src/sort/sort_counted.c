/* SPDX-License-Identifier: Apache-2.0 */
/* The first k on a cpu, if k is not small: the k-th key is guessed from samples, and the elements
 * up to there are collected in their order, and sorted. If the guess is wrong, the key is found by
 * counting, 8 bits at a time. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "cpu/team.h"
#include "sort/sort_few.h"
#include "sort/sort_parts.h"
#include "sort/sort_run.h"
#include "sort/sort_scalar.h"

enum {
    SPARE = 1 << 15,         /* elements collected beyond 5/4 k, to save a round of counting */
    LEAST_SAMPLES = 1 << 12, /* from which the place of the k-th key is guessed */
    MOST_SAMPLES = 1 << 16,
    SPARSE = 16, /* a sample of at least so many elements */
    LEAST_GUESSED = SPARSE * LEAST_SAMPLES,
    LOOK = 1 << 12 /* elements looked at together */
};

/* How many elements are collected at most. */
static size_t capacity_of(size_t n, size_t k) {
    const size_t left = n - k, more = k / 4;
    return left <= more || left - more <= SPARE ? n : k + more + SPARE;
}

bool wi_top_k_is_guessed(const wi_top_k_args *a) {
    return a->n >= LEAST_GUESSED && capacity_of(a->n, a->k) < a->n;
}

/* The range of keys in which the k-th is: keys below `low` are all among the first k, and so are
 * some of the `width` keys from there on. */
typedef struct bracket {
    uint64_t low, width; /* width 0: 2^64 */
    size_t below, inside;
} bracket;

/* The arguments of the threads. */
typedef struct plan {
    const weft_context *ctx;
    const wi_top_k_args *args;
    const wi_sort_simd *simd;
    wi_sort_key key;
    unsigned size;
    int team;
    size_t capacity;
    size_t (*counts)[WI_SORT_BUCKETS]; /* a row for each thread */
    size_t index_bytes;                /* of a position; 0: positions are not wanted */
    size_t n_samples;
    uint64_t *samples; /* and as much spare memory */
    char *keys, *positions;
    size_t collected;
} plan;

/* What the threads do next. */
typedef struct step {
    const plan *p;
    const wi_sort_split *split; /* for counting */
    const bracket *b;           /* for collecting */
} step;

static void count_part(void *user, int rank, int team) {
    const step *const s = user;
    const plan *const p = s->p;
    const size_t first = wi_team_share(p->args->n, rank, team);
    const wi_sort_deal share = {.key_bytes = p->size,
                                .key = p->key,
                                .split = *s->split,
                                .n = wi_team_share(p->args->n, rank + 1, team) - first,
                                .x = (const char *)p->args->x + first * p->size};
    p->simd->count(&share, p->counts[rank]);
}

static void count_all(const plan *p, const wi_sort_split *split) {
    memset(p->counts, 0, (size_t)p->team * sizeof *p->counts);
    wi_team_run(p->ctx, p->team, count_part, &(step){.p = p, .split = split});
}

/* Narrows the bracket to that 256th part of it which contains the k-th key. Keys below the bracket
 * are counted with its first part, those above with its last. */
static bracket narrow(const plan *p, bracket b, unsigned shift) {
    const wi_sort_split split = {
        .end_bit = 8 * p->size, .low = b.low, .shift = shift, .last = WI_SORT_BUCKETS - 1};
    size_t before = 0, here = 0, part = 0;
    count_all(p, &split);
    for (;; part++) {
        here = 0;
        for (int rank = 0; rank < p->team; rank++)
            here += p->counts[rank][part];
        if (part == WI_SORT_BUCKETS - 1 || before + here >= p->args->k)
            break;
        before += here;
    }
    const size_t above = part == WI_SORT_BUCKETS - 1 ? p->args->n - b.below - b.inside : 0;
    const size_t below = part == 0 ? b.below : before;
    return (bracket){.low = b.low + ((uint64_t)part << shift),
                     .width = (uint64_t)1 << shift,
                     .below = below,
                     .inside = before + here - below - above};
}

/* A thread's share of collecting. */
static wi_sort_pick share_of(const plan *p, const bracket *b, int rank) {
    const wi_top_k_args *const a = p->args;
    const size_t first = wi_team_share(a->n, rank, p->team);
    return (wi_sort_pick){.key_bytes = p->size,
                          .value_bytes = (unsigned)p->index_bytes,
                          .key = p->key,
                          .low = b->low,
                          .last = b->low + b->width - 1,
                          .n = wi_team_share(a->n, rank + 1, p->team) - first,
                          .first = first,
                          .x = (const char *)a->x + first * p->size};
}

static void tally_part(void *user, int rank, int team) {
    const step *const s = user;
    wi_sort_pick share = share_of(s->p, s->b, rank);
    (void)team;
    s->p->simd->tally(&share);
    s->p->counts[rank][0] = share.below;
    s->p->counts[rank][1] = share.inside;
}

/* Counts what is below the bracket and inside it, by thread and in all. */
static void tally_all(const plan *p, bracket *b) {
    b->below = b->inside = 0;
    wi_team_run(p->ctx, p->team, tally_part, &(step){.p = p, .b = b});
    for (int rank = 0; rank < p->team; rank++) {
        b->below += p->counts[rank][0];
        b->inside += p->counts[rank][1];
    }
}

/* Can the elements up to the bracket's end be collected? Of keys that are all equal, the first
 * ones are enough. */
static bool is_closed(const plan *p, const bracket *b) {
    const size_t k = p->args->k, up_to = b->below + b->inside;
    return b->below < k && k <= up_to && (up_to <= p->capacity || b->width == 1);
}

/* Which of so many samples in order is likely to come behind the k-th key, counted from 0; less
 * than nothing with `sign` -1: before it. */
static double place_of(size_t n, size_t k, size_t samples, double sign) {
    const double middle = (double)k / (double)n * (double)samples;
    return middle + sign * (1 + 3 * sqrt(middle));
}

/* So many samples that what comes before their guess is likely to fit, or what is sensible. */
static size_t samples_of(size_t n, size_t k) {
    size_t samples = LEAST_SAMPLES;
    for (; samples < MOST_SAMPLES && 4 * SPARSE * samples <= n; samples *= 4) {
        const double high = 1 + place_of(n, k, samples, 1);
        if ((high + 3 * sqrt(high)) * (double)n / (double)samples <= (double)capacity_of(n, k))
            break;
    }
    return samples;
}

static void take_samples(void *user, int rank, int team) {
    const plan *const p = ((const step *)user)->p;
    const size_t apart = p->args->n / p->n_samples;
    const size_t end = wi_team_share(p->n_samples, rank + 1, team);
    for (size_t j = wi_team_share(p->n_samples, rank, team); j < end; j++)
        p->samples[j] = wi_sort_key_at(&p->key, p->size, p->args->x, j * apart + j * 7919 % apart);
}

/* A bracket between two of some samples in order, which are likely to be on either side of the
 * k-th key. */
static bracket guess(const plan *p) {
    const wi_top_k_args *const a = p->args;
    const uint64_t *const samples = p->samples;
    wi_team_run(p->ctx, p->team, take_samples, &(step){.p = p});
    const wi_sort_range all = {.key_bytes = sizeof *samples,
                               .end_bit = 64,
                               .n = p->n_samples,
                               .keys = p->samples,
                               .spare_keys = p->samples + p->n_samples};
    p->simd->sort(&all);
    const size_t last = p->n_samples - 1;
    const double low = place_of(a->n, a->k, p->n_samples, -1);
    const double high = place_of(a->n, a->k, p->n_samples, 1);
    const uint64_t least = low > 0 ? samples[(size_t)low] : 0;
    const uint64_t most = samples[high < (double)last ? (size_t)high : last];
    return (bracket){.low = least, .width = most - least + 1};
}

/* Begins with a bracket that may be closed, if there is one. */
static bracket close_in(const plan *p, const bracket *guessed) {
    bracket b = {.inside = p->args->n};
    if (guessed) {
        b = *guessed;
        tally_all(p, &b);
        if (!is_closed(p, &b)) { /* maybe very many are equal to the last key */
            b = (bracket){.low = b.low + b.width - 1, .width = 1};
            tally_all(p, &b);
        }
        if (is_closed(p, &b))
            return b;
        b = (bracket){.inside = p->args->n};
    }
    for (unsigned shift = 8 * p->size; shift > 0 && b.below + b.inside > p->capacity;) {
        shift -= 8;
        b = narrow(p, b, shift);
    }
    tally_all(p, &b);
    return b;
}

/* Computes where each thread stores what it collects, and how many keys from inside the bracket it
 * takes: the first ones, as many as fit. */
static void deal_out(plan *p, const bracket *b) {
    size_t at = 0, left = p->capacity - b->below;
    for (int rank = 0; rank < p->team; rank++) {
        size_t *const own = p->counts[rank];
        const size_t inside = own[1] < left ? own[1] : left, below = own[0];
        own[0] = at;
        own[1] = inside;
        at += below + inside;
        left -= inside;
    }
    p->collected = at;
}

static void pick_part(void *user, int rank, int team) {
    const step *const s = user;
    const plan *const p = s->p;
    wi_sort_pick share = share_of(p, s->b, rank);
    (void)team;
    share.quota = p->counts[rank][1];
    share.keys_out = p->keys + p->counts[rank][0] * p->size;
    share.values_out = p->positions + p->counts[rank][0] * p->index_bytes;
    p->simd->pick(&share);
}

/* Collects everything up to the bracket's end; of equal keys only the first ones, if there are more
 * than fit. */
static void collect(plan *p, const bracket *b) {
    deal_out(p, b);
    wi_team_run(p->ctx, p->team, pick_part, &(step){.p = p, .b = b});
}

/* How many elements a thread collects before they are counted: at most four times its share. */
static size_t room_of(const plan *p) {
    const size_t team = (size_t)p->team, has = p->args->n / team, few = p->capacity / team * 4;
    const size_t most = few < p->capacity ? few : p->capacity;
    return (most <= has ? most : has + 1) + WI_SORT_PICKED;
}

static void try_part(void *user, int rank, int team) {
    const step *const s = user;
    const plan *const p = s->p;
    const size_t at = (size_t)rank * room_of(p);
    wi_sort_pick share = share_of(p, s->b, rank);
    (void)team;
    share.quota = SIZE_MAX;
    share.room = room_of(p);
    share.keys_out = p->keys + at * p->size;
    share.values_out = p->positions + at * p->index_bytes;
    p->simd->pick(&share);
    p->counts[rank][0] = share.below;
    p->counts[rank][1] = share.inside;
    p->counts[rank][2] = share.full;
}

/* Collects everything up to the end of a bracket that was not counted, each thread in its part of
 * the memory. False if a part is full, if all parts together have more than the call can sort, or
 * if the k-th key is not in the bracket. */
static bool try_collect(plan *p, bracket *b) {
    bool full = false;
    b->below = b->inside = 0;
    wi_team_run(p->ctx, p->team, try_part, &(step){.p = p, .b = b});
    for (int rank = 0; rank < p->team; rank++) {
        b->below += p->counts[rank][0];
        b->inside += p->counts[rank][1];
        full = full || p->counts[rank][2] > 0;
    }
    if (full || b->below + b->inside > p->capacity || !is_closed(p, b))
        return false;
    p->collected = 0;
    for (int rank = 0; rank < p->team; rank++) {
        const size_t from = (size_t)rank * room_of(p),
                     own = p->counts[rank][0] + p->counts[rank][1];
        memmove(p->keys + p->collected * p->size, p->keys + from * p->size, own * p->size);
        memmove(p->positions + p->collected * p->index_bytes, p->positions + from * p->index_bytes,
                own * p->index_bytes);
        p->collected += own;
    }
    return true;
}

/* The arguments for sorting what was collected: unsigned keys, in place. */
static wi_sort_args sort_of(const plan *p, size_t *bytes) {
    static const weft_type unsigned_of[] = {
        [1] = WEFT_U8, [2] = WEFT_U16, [4] = WEFT_U32, [8] = WEFT_U64};
    void *const positions = p->index_bytes > 0 ? p->positions : NULL;
    return (wi_sort_args){.call = p->args->call,
                          .type = unsigned_of[p->size],
                          .end_bit = 8 * p->size,
                          .n = p->capacity,
                          .x = p->keys,
                          .y = p->keys,
                          .value_bytes = p->index_bytes,
                          .values = positions,
                          .values_out = positions,
                          .bytes = bytes};
}

static void put_out(const plan *p) {
    const wi_top_k_args *const a = p->args;
    if (a->values)
        p->simd->of_keys(&p->key, p->size, a->k, p->keys, a->values);
    for (size_t i = 0; i < a->k && a->positions; i++)
        a->positions[i] = wi_element_bits(p->positions, p->index_bytes, i);
}

static plan plan_of(const weft_context *ctx, const wi_top_k_args *a) {
    const size_t size = weft_type_size(a->type);
    return (plan){.ctx = ctx,
                  .args = a,
                  .simd = WI_OF_ISA(wi_cpu_isa(), wi_sort_simd),
                  .key = wi_sort_key_of(a->type, a->descending),
                  .size = (unsigned)size,
                  .team = wi_team_size(ctx, a->n, a->n * size),
                  .capacity = capacity_of(a->n, a->k),
                  .n_samples = samples_of(a->n, a->k),
                  .index_bytes = !a->positions            ? 0
                                 : a->n - 1 <= UINT32_MAX ? 4
                                                          : 8};
}

/* Divides the memory, the widest elements first; returns how many bytes. NULL: only that. */
static size_t lay_out(plan *p, char *memory) {
    const size_t samples = 2 * p->n_samples * sizeof *p->samples;
    const size_t counts = (size_t)p->team * sizeof *p->counts + samples;
    const size_t parts = room_of(p) * (size_t)p->team;
    const size_t all = parts > p->capacity ? parts : p->capacity;
    const size_t keys = all * p->size, positions = all * p->index_bytes;
    if (!memory)
        return counts + keys + positions;
    const bool keys_first = p->size >= p->index_bytes;
    p->samples = (uint64_t *)(void *)memory;
    p->counts = (size_t(*)[WI_SORT_BUCKETS])(void *)(memory + samples);
    p->keys = memory + counts + (keys_first ? 0 : positions);
    p->positions = memory + counts + (keys_first ? keys : 0);
    return counts + keys + positions;
}

/* ---- data whose first k elements are the first k of all ---- */

/* The search for an element behind the first k that comes before one of them. */
typedef struct search {
    const plan *p;
    uint64_t last; /* the key of the last of the first k */
    atomic_bool found;
} search;

static uint64_t least_key(const plan *p, const wi_sort_key *key, size_t first, size_t n) {
    uint64_t least = 0;
    p->simd->least(key, p->size, n, n, (const char *)p->args->x + first * p->size, &least);
    return least;
}

static void look_behind(search *s, size_t first, size_t end) {
    for (size_t at = first; at < end && !atomic_load(&s->found); at += LOOK)
        if (least_key(s->p, &s->p->key, at, end - at < LOOK ? end - at : LOOK) < s->last)
            atomic_store(&s->found, true);
}

static void look_part(void *user, int rank, int team) {
    search *const s = user;
    const size_t k = s->p->args->k, behind = s->p->args->n - k;
    look_behind(s, k + wi_team_share(behind, rank, team),
                k + wi_team_share(behind, rank + 1, team));
}

/* Of equal elements, and of those in order, everything is read once. Of others a few elements are
 * looked at, and no thread is woken. */
static bool begins_with_all(const plan *p) {
    const wi_top_k_args *const a = p->args;
    const uint64_t most = UINT64_MAX >> (64 - 8 * p->size);
    wi_sort_key turned = p->key;
    turned.flip ^= most;
    search s = {.p = p, .last = most - least_key(p, &turned, 0, a->k)};
    look_behind(&s, a->k, a->k + (a->n - a->k < LOOK ? a->n - a->k : LOOK));
    if (!atomic_load(&s.found))
        wi_team_run(p->ctx, p->team, look_part, &s);
    return !atomic_load(&s.found);
}

/* ---- the call ---- */

/* Collects what contains the first k. */
static void gather(plan *p) {
    const bool guessed = wi_top_k_is_guessed(p->args);
    bracket b;
    if (guessed && begins_with_all(p)) {
        wi_top_k_args first = *p->args;
        first.n = first.k;
        plan of_first = *p;
        of_first.args = &first;
        of_first.team = 1;
        of_first.counts[0][0] = 0;
        of_first.counts[0][1] = first.k;
        collect(&of_first, &(bracket){.inside = first.k});
        p->collected = of_first.collected;
        return;
    }
    if (guessed) {
        b = guess(p);
        if (try_collect(p, &b))
            return;
    }
    b = close_in(p, guessed ? &b : NULL);
    collect(p, &b);
}

static weft_status run(weft_context *ctx, plan *p) {
    gather(p);
    const wi_sort_args sort = sort_of(p, NULL);
    const weft_status status = wi_sort_some(ctx, &sort, p->collected);
    if (status == WEFT_OK)
        put_out(p);
    return status;
}

weft_status wi_top_k_counted(weft_context *ctx, const void *args) {
    const wi_top_k_args *const a = args;
    plan p = plan_of(ctx, a);
    const size_t needed = lay_out(&p, NULL);
    if (a->bytes) {
        /* when asked for bytes only, it matters whether they are NULL, not what they are */
        p.keys = p.positions = a->values ? a->values : (void *)a->positions;
        const wi_sort_args sort = sort_of(&p, a->bytes);
        *a->bytes += needed;
        return wi_sort_buckets(ctx, &sort);
    }
    void *memory = NULL;
    weft_status status = wi_sort_take(ctx, a->call, needed, &memory);
    if (status != WEFT_OK)
        return status;
    lay_out(&p, memory);
    status = run(ctx, &p);
    wi_sort_give(ctx, memory);
    return status;
}
