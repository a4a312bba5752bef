/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs with threads. `sampled` guesses from a sample between which keys each rank is, then
 * goes over the elements once: it counts what is below, and keeps what is between. If a guess was
 * wrong, which the counts tell, it does what `narrowed` does from the start: counting digits closes
 * in on the rank, 8 bits at a time, until few enough elements are left to keep. */
#include <string.h>

#include "cpu/team.h"
#include "quantile/quantile_simd.h"
#include "sort/sort_simd.h"

enum {
    SAMPLED_FROM = 1 << 13, /* elements; fewer are all kept */
    SMALL_SAMPLE = 1 << 12,
    LARGE_SAMPLE = 1 << 14, /* from LARGE elements on */
    LARGE = 1 << 20,
    SPARE = 4096 /* keys that a job has room for beyond those expected */
};

typedef struct plan {
    const weft_context *ctx;
    const wi_quantile_args *args;
    size_t size;   /* bytes of an element */
    size_t room;   /* keys that can be kept for a job */
    size_t sample; /* elements in the sample; 0: there is none */
    int team;
    unsigned jobs; /* of the current group: what one pass serves */
    wi_quantile_store stores[WI_QUANTILE_GROUP];
    wi_quantile_bracket *brackets;     /* for each thread, those of a group */
    size_t (*counts)[WI_SORT_BUCKETS]; /* a row for each thread */
    uint64_t *keys;                    /* of the sample, then of all jobs */
    const wi_sort_split *split;        /* of the round of counting */
} plan;

static size_t sample_size(size_t n) {
    return n <= SAMPLED_FROM ? 0 : n < LARGE ? SMALL_SAMPLE : LARGE_SAMPLE;
}

/* Room for twice what a bracket in the middle of a sample holds. */
static size_t room_of(size_t n) {
    const size_t sample = sample_size(n);
    if (sample == 0)
        return n;
    const wi_quantile_window w = wi_quantile_window_of(n / 2, n, (double)sample);
    const double part = (w.last - w.first) / (double)sample;
    const double room = 2 * part * (double)n + SPARE;
    return room < (double)n ? (size_t)room : n;
}

/* ---- passes ---- */

static void pass_part(void *user, int rank, int team) {
    plan *const p = user;
    const size_t first = wi_team_share(p->args->n, rank, team);
    wi_quantile_share share = {.type = p->args->type,
                               .n = wi_team_share(p->args->n, rank + 1, team) - first,
                               .x = (const char *)p->args->x + first * p->size,
                               .count = p->jobs,
                               .brackets = p->brackets + (size_t)rank * WI_QUANTILE_GROUP,
                               .stores = p->stores};
    WI_OF_ISA(wi_cpu_isa(), wi_quantile_simd)->pass(&share);
}

/* One pass over the elements. Of the brackets, whose ends low and high are set, it finds the
 * counts, and keeps the keys strictly between the ends in the jobs' stores. */
static void pass(plan *p, unsigned jobs, wi_quantile_bracket *brackets) {
    p->jobs = jobs;
    for (unsigned j = 0; j < jobs; j++) {
        atomic_init(&p->stores[j].used, 0);
        p->stores[j].room = p->room;
        p->stores[j].keys = p->keys + j * p->room;
    }
    for (int rank = 0; rank < p->team; rank++)
        for (unsigned j = 0; j < jobs; j++)
            p->brackets[(size_t)rank * WI_QUANTILE_GROUP + j] =
                (wi_quantile_bracket){.low = brackets[j].low, .high = brackets[j].high};
    wi_team_run(p->ctx, p->team, pass_part, p);
    for (unsigned j = 0; j < jobs; j++) {
        wi_quantile_bracket *const b = &brackets[j];
        *b = p->brackets[j];
        for (int rank = 1; rank < p->team; rank++) {
            const wi_quantile_bracket *const own =
                &p->brackets[(size_t)rank * WI_QUANTILE_GROUP + j];
            b->below += own->below;
            b->at_low += own->at_low;
            b->at_high += own->at_high;
            b->inside += own->inside;
        }
    }
}

/* Finds the key of job->rank, which the bracket is known to hold, and the key of the rank after it,
 * among the `inside` keys that were kept. */
static void settle(const wi_quantile_bracket *b, const wi_quantile_job *job, uint64_t *keys,
                   uint64_t *key, uint64_t *next) {
    const uint64_t from = job->rank - b->below, last = b->at_low + b->inside;
    *next = b->high;
    if (from < b->at_low) {
        *key = b->low;
        if (from + 1 < b->at_low)
            *next = b->low;
        for (size_t i = 0; i < b->inside && from + 1 == b->at_low; i++)
            *next = keys[i] < *next ? keys[i] : *next;
        return;
    }
    *key = b->high;
    if (from >= last)
        return;
    const size_t k = from - b->at_low;
    *key = wi_quantile_select(keys, b->inside, k);
    for (size_t i = k + 1; i < b->inside; i++)
        *next = keys[i] < *next ? keys[i] : *next;
}

/* ---- narrowing ---- */

static void count_part(void *user, int rank, int team) {
    const plan *const p = user;
    const size_t first = wi_team_share(p->args->n, rank, team);
    const wi_sort_deal share = {.key_bytes = (unsigned)p->size,
                                .key = wi_sort_key_of(p->args->type, false),
                                .split = *p->split,
                                .n = wi_team_share(p->args->n, rank + 1, team) - first,
                                .x = (const char *)p->args->x + first * p->size};
    WI_OF_ISA(wi_cpu_isa(), wi_sort_simd)->count(&share, p->counts[rank]);
}

/* How many keys are in each 256th part from `low` on, each of 2^shift keys; those below with the
 * first, those above with the last. The sums are in the first row. */
static void count_digit(plan *p, uint64_t low, unsigned shift) {
    const wi_sort_split split = {
        .end_bit = 8 * (unsigned)p->size, .low = low, .shift = shift, .last = WI_SORT_BUCKETS - 1};
    memset(p->counts, 0, (size_t)p->team * sizeof *p->counts);
    p->split = &split;
    wi_team_run(p->ctx, p->team, count_part, p);
    for (int rank = 1; rank < p->team; rank++)
        for (size_t k = 0; k < WI_SORT_BUCKETS; k++)
            p->counts[0][k] += p->counts[rank][k];
}

/* A bracket that surely holds the rank, with no more keys inside than there is room for: counts the
 * keys by their next 8 bits, and goes on with the part that the rank is in, until they are few. */
static wi_quantile_bracket narrow(plan *p, uint64_t rank) {
    uint64_t low = 0, below = 0, inside = p->args->n;
    uint64_t width = UINT64_MAX >> (64 - 8 * p->size); /* the number of keys less 1 */
    for (unsigned shift = 8 * (unsigned)p->size; shift > 0 && inside > p->room;) {
        const uint64_t above = p->args->n - below - inside;
        shift -= 8;
        count_digit(p, low, shift);
        size_t *const counts = p->counts[0];
        counts[0] -= below;
        counts[WI_SORT_BUCKETS - 1] -= above;
        size_t part = 0;
        while (below + counts[part] <= rank)
            below += counts[part++];
        inside = counts[part];
        low += (uint64_t)part << shift;
        width = ((uint64_t)1 << shift) - 1;
    }
    return (wi_quantile_bracket){.low = low, .high = low + width};
}

/* Finds job j without a guess. A job with a fraction also needs the key of the next rank: from the
 * same bracket if that holds both, else from one of its own. */
static void find_surely(plan *p, size_t j) {
    const wi_quantile_job *const job = &p->args->jobs[j];
    uint64_t key[2] = {0, 0};
    for (int k = 0; k < 1 + (job->fraction > 0); k++) {
        const wi_quantile_job one = {.rank = job->rank + (uint64_t)k};
        wi_quantile_bracket b = narrow(p, one.rank);
        uint64_t next;
        pass(p, 1, &b);
        settle(&b, &one, p->keys, &key[k], &next);
        if (k == 0 && wi_quantile_holds(&b, job)) {
            settle(&b, job, p->keys, &key[0], &key[1]);
            break;
        }
    }
    wi_quantile_put(p->args, j, key[0], key[1]);
}

/* ---- the sample ---- */

/* Copies the sample, turns it into keys and sorts them. */
static void take_sample(const plan *p, void *sample, void *spare) {
    const wi_sort_simd *const sort = WI_OF_ISA(wi_cpu_isa(), wi_sort_simd);
    const wi_sort_key form = wi_sort_key_of(p->args->type, false);
    const size_t size = p->size;
    for (size_t i = 0; i < p->sample; i++)
        memcpy((char *)spare + i * size,
               (const char *)p->args->x + wi_quantile_sampled(i, p->sample, p->args->n) * size,
               size);
    sort->to_keys(&form, (unsigned)size, p->sample, spare, sample);
    sort->sort(&(wi_sort_range){.key_bytes = (unsigned)size,
                                .end_bit = 8 * (unsigned)size,
                                .n = p->sample,
                                .keys = sample,
                                .spare_keys = spare});
}

/* A bracket that very likely holds the job's rank: two keys of the sorted sample around it. */
static wi_quantile_bracket guess(const plan *p, const void *sample, const wi_quantile_job *job) {
    const double size = (double)p->sample;
    const wi_quantile_window w = wi_quantile_window_of(job->rank, p->args->n, size);
    wi_quantile_bracket b = {.low = 0, .high = UINT64_MAX >> (64 - 8 * p->size)};
    if (w.first >= 0)
        b.low = wi_element_bits(sample, p->size, (size_t)w.first);
    if (w.last < size)
        b.high = wi_element_bits(sample, p->size, (size_t)w.last);
    return b;
}

/* ---- the rungs ---- */

static void run_group(plan *p, size_t first, const void *sample) {
    const wi_quantile_group group = wi_quantile_group_at(p->args, first);
    wi_quantile_bracket brackets[WI_QUANTILE_GROUP];
    uint64_t found[WI_QUANTILE_GROUP][2];
    bool held[WI_QUANTILE_GROUP];
    for (unsigned j = 0; j < group.count; j++)
        brackets[j] = guess(p, sample, &group.job[j]);
    pass(p, group.count, brackets);
    for (unsigned j = 0; j < group.count; j++) {
        held[j] = wi_quantile_holds(&brackets[j], &group.job[j]) && brackets[j].inside <= p->room;
        if (held[j])
            settle(&brackets[j], &group.job[j], p->stores[j].keys, &found[j][0], &found[j][1]);
    }
    for (unsigned j = 0; j < group.count; j++) { /* find_surely overwrites the keys that are kept */
        if (held[j])
            wi_quantile_put(p->args, first + j, found[j][0], found[j][1]);
        else
            find_surely(p, first + j);
    }
}

/* Divides `memory` among the arrays, the widest elements first; returns how many bytes they take.
 * If `memory` is NULL it only returns that. */
static size_t lay_out(plan *p, char *memory, char **sample) {
    const size_t jobs = p->args->count < WI_QUANTILE_GROUP ? p->args->count : WI_QUANTILE_GROUP;
    const size_t keys = jobs * p->room * sizeof(uint64_t);
    const size_t brackets = (size_t)p->team * WI_QUANTILE_GROUP * sizeof *p->brackets;
    const size_t counts = (size_t)p->team * sizeof *p->counts;
    if (memory) {
        p->keys = (void *)memory;
        p->brackets = (void *)(memory + keys);
        p->counts = (void *)(memory + keys + brackets);
        *sample = memory + keys + brackets + counts;
    }
    return keys + brackets + counts + 2 * p->sample * p->size;
}

static weft_status run(weft_context *ctx, const wi_quantile_args *args, bool samples) {
    const size_t size = weft_type_size(args->type);
    plan p = {.ctx = ctx,
              .args = args,
              .size = size,
              .room = room_of(args->n),
              .sample = samples ? sample_size(args->n) : 0,
              .team = wi_team_size(ctx, args->n, args->n * size)};
    char *sample = NULL, *const memory = wi_host_alloc(lay_out(&p, NULL, NULL));
    if (!memory)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for the elements near %zu ranks; free some",
                       args->call, args->count);
    lay_out(&p, memory, &sample);
    if (p.sample > 0)
        take_sample(&p, sample, sample + p.sample * size);
    for (size_t first = 0; first < args->count && samples; first += WI_QUANTILE_GROUP)
        run_group(&p, first, sample);
    for (size_t j = 0; j < args->count && !samples; j++)
        find_surely(&p, j);
    wi_host_free(memory);
    return WEFT_OK;
}

weft_status wi_quantile_narrowed(weft_context *ctx, const void *args) {
    return run(ctx, args, false);
}

weft_status wi_quantile_sampled_threads(weft_context *ctx, const void *args) {
    return run(ctx, args, true);
}

/* ---- over ranks ---- */

weft_status wi_quantile_count(weft_context *ctx, const wi_quantile_args *args,
                              const wi_quantile_prefix *prefixes, unsigned count, unsigned shift,
                              uint64_t (*counts)[WI_QUANTILE_DIGITS]) {
#ifdef WEFT_CUDA
    if (ctx->kind == WI_CUDA)
        return wi_quantile_count_cuda(ctx, args, prefixes, count, shift, counts);
#endif
    const size_t size = weft_type_size(args->type);
    plan p = {
        .ctx = ctx, .args = args, .size = size, .team = wi_team_size(ctx, args->n, args->n * size)};
    p.counts = wi_host_alloc((size_t)p.team * sizeof *p.counts);
    if (!p.counts)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for the counts of %d threads", args->call,
                       p.team);
    for (unsigned j = 0; j < count; j++) {
        const wi_quantile_prefix *const prefix = &prefixes[j];
        count_digit(&p, shift < 64 ? prefix->bits << shift : 0, shift - WI_QUANTILE_DIGIT_BITS);
        for (size_t d = 0; d < WI_QUANTILE_DIGITS; d++)
            counts[j][d] = p.counts[0][d];
        counts[j][0] -= prefix->below;
        counts[j][WI_QUANTILE_DIGITS - 1] -= args->n - prefix->below - prefix->inside;
    }
    wi_host_free(p.counts);
    return WEFT_OK;
}
