/* SPDX-License-Identifier: Apache-2.0 */
/* The first k in order. On a cpu, unless k is small (sort_few.c), the k-th key is found by
 * counting, 8 bits at a time; then the elements up to it are collected in their order, and sorted.
 */
#include <math.h>
#include <string.h>

#include "comm/gpus.h"
#include "cpu/team.h"
#include "sort/sort_few.h"
#include "sort/sort_parts.h"
#include "sort/sort_run.h"

enum {
    SPARE = 4096 /* elements collected beyond 5/4 k, to save one more round of counting */
};

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
    char *keys, *positions;
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

static bracket close_in(const plan *p) {
    bracket b = {.inside = p->args->n};
    for (unsigned shift = 8 * p->size; shift > 0 && b.below + b.inside > p->capacity;) {
        shift -= 8;
        b = narrow(p, b, shift);
    }
    return b;
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

/* Computes where each thread stores what it collects, and how many keys from inside the bracket it
 * takes: the first ones, as many as fit. The rest of the capacity is filled with keys that come
 * last. */
static void deal_out(const plan *p, const bracket *b) {
    size_t at = 0, left = p->capacity - b->below;
    for (int rank = 0; rank < p->team; rank++) {
        size_t *const own = p->counts[rank];
        const size_t inside = own[1] < left ? own[1] : left, below = own[0];
        own[0] = at;
        own[1] = inside;
        at += below + inside;
        left -= inside;
    }
    memset(p->keys + at * p->size, 0xFF, (p->capacity - at) * p->size);
    if (p->index_bytes > 0)
        memset(p->positions + at * p->index_bytes, 0xFF, (p->capacity - at) * p->index_bytes);
}

static void tally_part(void *user, int rank, int team) {
    const step *const s = user;
    wi_sort_pick share = share_of(s->p, s->b, rank);
    (void)team;
    s->p->simd->tally(&share);
    s->p->counts[rank][0] = share.below;
    s->p->counts[rank][1] = share.inside;
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
static void collect(const plan *p, const bracket *b) {
    wi_team_run(p->ctx, p->team, tally_part, &(step){.p = p, .b = b});
    deal_out(p, b);
    wi_team_run(p->ctx, p->team, pick_part, &(step){.p = p, .b = b});
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

/* How many elements are collected at most. */
static size_t capacity_of(size_t n, size_t k) {
    const size_t left = n - k, more = k / 4;
    return left <= more || left - more <= SPARE ? n : k + more + SPARE;
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
                  .index_bytes = !a->positions            ? 0
                                 : a->n - 1 <= UINT32_MAX ? 4
                                                          : 8};
}

/* Divides the memory, the widest elements first; returns how many bytes. NULL: only that. */
static size_t lay_out(plan *p, char *memory) {
    const size_t counts = (size_t)p->team * sizeof *p->counts;
    const size_t keys = p->capacity * p->size, positions = p->capacity * p->index_bytes;
    if (!memory)
        return counts + keys + positions;
    const bool keys_first = p->size >= p->index_bytes;
    p->counts = (size_t(*)[WI_SORT_BUCKETS])(void *)memory;
    p->keys = memory + counts + (keys_first ? 0 : positions);
    p->positions = memory + counts + (keys_first ? keys : 0);
    return counts + keys + positions;
}

static weft_status run(weft_context *ctx, plan *p) {
    const bracket b = close_in(p);
    collect(p, &b);
    const wi_sort_args sort = sort_of(p, NULL);
    const weft_status status = wi_sort_buckets(ctx, &sort);
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

/* ---- costs, as seen on an AMD EPYC ---- */

static double counted_seconds(const weft_context *ctx, const void *args) {
    const wi_top_k_args *const a = args;
    const size_t size = weft_type_size(a->type);
    const double n = (double)a->n, k = (double)a->k, of_size = (double)size;
    const double cycles = 5000 * of_size + n * (8 + of_size) + k * 60;
    return wi_team_seconds(ctx, wi_team_size(ctx, a->n, a->n * size), cycles, 0);
}

/* One pass, and then mostly the sort of pieces of the k best blocks, in one thread. */
static double blocks_seconds(const weft_context *ctx, const void *args) {
    const wi_top_k_args *const a = args;
    const size_t size = weft_type_size(a->type);
    const double log2_k = log2((double)a->k);
    const double pass = (double)a->n * 0.12 * (double)size;
    return wi_team_seconds(ctx, wi_team_size(ctx, a->n, a->n * size), pass, 0) +
           wi_team_seconds(ctx, 1, (double)a->k * log2_k * log2_k * 3.5, 0);
}

static const wi_row rows[] = {
    {.name = "counted",
     .what = "the k-th key closed in on by counting digits; what is before it is sorted",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = counted_seconds,
     .run = wi_top_k_counted},
    {.name = "blocks",
     .what = "one pass finds the best of each block; the k best blocks hold all",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = blocks_seconds,
     .run = wi_top_k_blocks},
#ifdef WEFT_CUDA
    {.name = "digits",
     .what = "the k-th key by counting digits of 11 bits; what is before it is sorted",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_top_k_digits},
#endif
    {.name = "ranks",
     .what = "the first k of each part, and of those the first k",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_top_k_ranks},
};

const wi_ladder wi_top_k_ladder = {"top_k", rows, sizeof rows / sizeof rows[0]};

enum {
    X,
    VALUES,
    POSITIONS,
    ARRAYS
};

static weft_status run_part(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_top_k_args args = *(const wi_top_k_args *)user;
    args.x = part->p[X];
    args.values = part->p[VALUES];
    args.positions = part->p[POSITIONS];
    args.bytes = call->asked;
    return wi_run(ctx, &wi_top_k_ladder, call->name, args.type, &args);
}

/* Over ranks, k counts from the whole, which the rung knows. */
static weft_status check_k(weft_context *ctx, const wi_top_k_args *a) {
    if (a->k > a->n && !wi_is_dist(ctx))
        return wi_fail(ctx, WEFT_EARG, "%s: k is %zu, and there are %zu elements; pass k <= n",
                       a->call, a->k, a->n);
    if (a->k > 0 && !a->values && !a->positions)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: values and positions are both NULL; pass memory for one of them",
                       a->call);
    return WEFT_OK;
}

static weft_status check_arrays(weft_context *ctx, const wi_top_k_args *a, wi_call *call) {
    const unsigned wanted = WI_OUT | WI_OPTIONAL;
    *call = (wi_call){
        .name = a->call,
        .array = {[X] = wi_elements("x", a->x, a->n, a->type, WI_IN),
                  [VALUES] = wi_elements("values", a->values, a->k, a->type, wanted),
                  [POSITIONS] = wi_elements("positions", a->positions, a->k, WEFT_U64, wanted)},
        .count = ARRAYS,
        .asked = a->bytes,
        .distributed = !a->bytes};
    const weft_status status = wi_call_check(ctx, call);
    return status == WEFT_OK ? wi_sort_check_room(ctx, a->call, a->n, 0) : status;
}

/* On a place of several GPUs: all ranks get the result, and the first gives it to the caller. */
static weft_status run_share(weft_context *rank, void *user) {
    const wi_top_k_args *const a = user;
    const size_t size = weft_type_size(a->type);
    const wi_share share = wi_gpus_share(rank, a->x, a->n, size);
    const bool first = weft_rank(rank) == 0;
    void *values = first ? a->values : NULL, *positions = first ? a->positions : NULL;
    weft_status status = WEFT_OK;
    if (!first && a->values)
        status = wi_dist_take(rank, a->k, size, &values);
    if (!first && a->positions && status == WEFT_OK)
        status = wi_dist_take(rank, a->k, sizeof *a->positions, &positions);
    status = wi_agree(rank, 0, status);
    if (status == WEFT_OK)
        status = weft_top_k(rank, a->descending ? WEFT_DESCENDING : WEFT_ASCENDING, a->type,
                            share.n, wi_share_of(a->x, share, size), a->k, values, positions);
    if (!first) {
        wi_host_free(values);
        wi_host_free(positions);
    }
    return status;
}

static weft_status check_and_run(weft_context *ctx, weft_order order, wi_top_k_args *a) {
    wi_call call;
    weft_status status = wi_sort_check_keys(ctx, a->call, order, a->type);
    if (status == WEFT_OK)
        status = check_k(ctx, a);
    if (status == WEFT_OK)
        status = check_arrays(ctx, a, &call);
    if (status == WEFT_OK && !a->bytes &&
        wi_gpus_wanted(ctx, &wi_top_k_ladder, a->x, a->n, weft_type_size(a->type)))
        return wi_gpus_run(ctx, &wi_top_k_ladder, a->call, run_share, a);
    if (wi_is_dist(ctx) && !a->bytes)
        return wi_dist_run(ctx, &wi_top_k_ladder, a->call, a->type,
                           wi_alike(wi_alike(0, order), a->k), status, &(wi_dist_args){&call, a});
    if (status != WEFT_OK)
        return status;
    if (a->bytes)
        *a->bytes = 0;
    return a->k == 0 ? WEFT_OK : wi_sort_call_run(ctx, &call, run_part, a);
}

weft_status weft_top_k(weft_context *ctx, weft_order order, weft_type type, size_t n, const void *x,
                       size_t k, void *values, uint64_t *positions) {
    wi_top_k_args args = {.call = "weft_top_k",
                          .type = type,
                          .descending = order == WEFT_DESCENDING,
                          .n = n,
                          .k = k,
                          .x = x,
                          .values = values,
                          .positions = positions};
    return check_and_run(ctx, order, &args);
}

weft_status weft_top_k_bytes(weft_context *ctx, weft_order order, weft_type type, size_t n,
                             const void *x, size_t k, void *values, uint64_t *positions,
                             size_t *bytes) {
    wi_top_k_args args = {.call = "weft_top_k_bytes",
                          .type = type,
                          .descending = order == WEFT_DESCENDING,
                          .n = n,
                          .k = k,
                          .x = x,
                          .values = values,
                          .positions = positions,
                          .bytes = bytes};
    if (wi_check_context(ctx) != WEFT_OK || wi_sort_check_asked(ctx, args.call, bytes) != WEFT_OK)
        return WEFT_EARG;
    return check_and_run(ctx, order, &args);
}
