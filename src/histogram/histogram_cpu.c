/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "threads" of histogram. Every thread counts its share in its own tables, which are added
 * at the end.
 *
 * Adding to a counter that was just changed is slow: the addition waits for the one before. Bytes
 * are counted two at a time, which halves the additions, in 8-bit counters that fit the first-level
 * cache; which of the two comes first does not matter, so 33,024 counters are enough. A block that
 * repeats one word is counted at once. For other elements, vectors find the slots of a whole block
 * first, and neighbouring elements use different copies of a counter. */
#include <pthread.h>
#include <string.h>

#include "cpu/stream.h"
#include "cpu/team.h"
#include "histogram/histogram_simd.h"

enum {
    BLOCK = 4096, /* elements whose slots are found at a time */
    SHORT_VALUES = 1 << 16,
    TABLE_WORTHWHILE = 1 << 18, /* with so many elements, a table of all 16-bit values pays */
    COPIES = 4,                 /* of each counter, if they are few */
    TURN = 16,                  /* slots that are counted between prefetches */
    FEW_SLOTS = 1 << 12,
    PAIR_WORTHWHILE = 1 << 19, /* with so many bytes in a share, counting pairs pays */
    WORD = sizeof(uint64_t),
    PAIRS = 512,        /* pairs numbered at a time */
    UNROLLED = 32,      /* pairs counted at a time */
    SAMPLE = 64,        /* pairs that are checked for frequent repetitions */
    AHEAD_BYTES = 2048, /* how far ahead bytes are prefetched */
};

/* After so many elements, 32-bit counters are added to the 64-bit ones. */
static const size_t span_elements = (size_t)1 << 31;

typedef struct plan {
    const wi_histogram_args *args;
    wi_bin_table table;
    const wi_histogram_simd *simd;
    wi_slots_run slots;          /* or NULL */
    uint32_t *of_value;          /* the slots of all 16-bit values, or NULL */
    size_t of_channel, counters; /* counters of one channel, and of all channels together */
    uint32_t copies;
} plan;

/* ---- bytes ---- */

/* How often each pair of bytes was met, modulo 256. If pairs repeat often, copies are used in turn.
 */
typedef struct pair_table {
    _Alignas(64) uint8_t times[COPIES][WI_BYTE_PAIRS];
    bool has_copies; /* else only times[0] is used */
} pair_table;

static inline void add_pair(uint32_t *counters, uint32_t pair, uint32_t times) {
    counters[pair & 0xff] += times;
    counters[(pair + (pair >> 8)) & 0xff] += times;
}

/* A function of its own, because it is rare: the loops that call it stay small. */
static __attribute__((noinline)) void carry(uint32_t *counters, uint32_t pair) {
    add_pair(counters, pair, 256);
}

static inline void count_pair(uint8_t *times, size_t pair, uint32_t *counters) {
    if (__builtin_expect(++times[pair] == 0, 0))
        carry(counters, (uint32_t)pair);
}

static void tally_word(uint32_t *counters, uint64_t word, uint32_t times) {
    for (int k = 0; k < WORD; k++)
        counters[word >> 8 * k & 0xff] += times;
}

/* Does a block of pairs repeat its first word? */
static bool is_one_word(const uint8_t *x, uint64_t *word) {
    uint64_t next;
    memcpy(word, x, WORD);
    memcpy(&next, x + WORD, WORD);
    return *word == next && memcmp(x, x + WORD, 2 * PAIRS - WORD) == 0;
}

/* Is a pair often the same as one of the two after it? */
static bool do_crowd(const uint16_t *pairs) {
    uint16_t same = 0;
    for (int k = 0; k < SAMPLE; k++)
        same = (uint16_t)(same + (pairs[k] == pairs[k + 1]) + (pairs[k] == pairs[k + 2]));
    return same > SAMPLE / 4;
}

static void count_crowd(pair_table *t, const uint16_t *pairs, uint32_t *counters) {
    if (!t->has_copies)
        memset(t->times[1], 0, sizeof t->times - sizeof t->times[0]);
    t->has_copies = true;
    for (int k = 0; k < PAIRS; k += COPIES)
        for (int c = 0; c < COPIES; c++)
            count_pair(t->times[c], pairs[k + c], counters);
}

/* x: the bytes of the pairs. Prefetches are spread evenly: memory is not faster when many come at
 * once. */
static void count_block(pair_table *t, const uint8_t *x, const uint16_t *pairs,
                        uint32_t *counters) {
    for (int k = 0; k < PAIRS; k += UNROLLED) {
        __builtin_prefetch((const void *)((uintptr_t)(x + 2 * k) + AHEAD_BYTES));
#pragma GCC unroll 32
        for (int u = 0; u < UNROLLED; u++)
            count_pair(t->times[0], pairs[k + u], counters);
    }
}

static void count_by_pairs(const plan *p, pair_table *t, size_t n, const uint8_t *x,
                           uint32_t *counters) {
    uint16_t pairs[PAIRS];
    uint64_t word;
    size_t i = 0;
    memset(t->times[0], 0, sizeof t->times[0]);
    t->has_copies = false;
    for (; i + sizeof pairs <= n; i += sizeof pairs) {
        if (is_one_word(x + i, &word)) {
            tally_word(counters, word, sizeof pairs / WORD);
            continue;
        }
        p->simd->pairs(PAIRS, x + i, pairs);
        if (do_crowd(pairs))
            count_crowd(t, pairs, counters);
        else
            count_block(t, x + i, pairs, counters);
    }
    for (; i < n; i++)
        counters[x[i]]++;
    for (int c = 0; c < (t->has_copies ? COPIES : 1); c++)
        for (uint32_t pair = 0; pair < WI_BYTE_PAIRS; pair++)
            add_pair(counters, pair, t->times[c][pair]);
}

static void count_bytes(const plan *p, size_t first, size_t n, uint32_t *counters) {
    const uint8_t *const x = (const uint8_t *)p->args->x + first;
    const uint32_t channels = p->args->channels;
    uint32_t channel = (uint32_t)((p->args->channel + first) % channels);
    for (size_t i = 0; i < n; i++) {
        counters[channel * WI_BYTE_VALUES + x[i]]++;
        channel = channel + 1 < channels ? channel + 1 : 0;
    }
}

/* ---- other elements ---- */

static void find_slots(const plan *p, size_t first, size_t n, uint32_t *slots) {
    const size_t size = weft_type_size(p->args->type);
    const void *const x = (const char *)p->args->x + first * size;
    if (p->slots) {
        p->slots(&p->args->bins, n, x, slots);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (p->of_value)
            slots[i] = p->of_value[((const uint16_t *)x)[i]];
        else
            slots[i] = wi_slot_of_bits(&p->args->bins, &p->table, wi_element_bits(x, size, i));
    }
}

/* Counts slots, neighbours in different copies; copy c of a counter is at c * p->counters.
 * Meanwhile prefetches from `ahead` on, where the elements of the next slots are. */
static void count_one_channel(const plan *p, size_t n, const uint32_t *slots, const char *ahead,
                              uint32_t *counters) {
    const size_t turn_bytes = TURN * weft_type_size(p->args->type);
    uint32_t *copy[COPIES];
    size_t i = 0;
    for (uint32_t c = 0; c < COPIES; c++)
        copy[c] = counters + (c & (p->copies - 1)) * p->counters;
    for (; i + TURN <= n; i += TURN, ahead += turn_bytes) {
        wi_fetch(ahead, turn_bytes);
#pragma GCC unroll 16
        for (size_t k = 0; k < TURN; k++)
            copy[k % COPIES][slots[i + k]]++;
    }
    for (; i < n; i++)
        copy[i % COPIES][slots[i]]++;
}

/* The same for elements from `first` on of several channels. */
static void count_channels(const plan *p, size_t first, size_t n, const uint32_t *slots,
                           uint32_t *counters) {
    const uint32_t channels = p->args->channels, mask = p->copies - 1;
    uint32_t channel = (uint32_t)((p->args->channel + first) % channels);
    for (size_t i = 0; i < n; i++) {
        counters[(i & mask) * p->counters + channel * p->of_channel + slots[i]]++;
        channel = channel + 1 < channels ? channel + 1 : 0;
    }
}

static void count_others(const plan *p, size_t first, size_t n, uint32_t *counters) {
    const size_t size = weft_type_size(p->args->type);
    const char *const x = p->args->x;
    uint32_t slots[BLOCK];
    for (size_t at = 0; at < n; at += BLOCK) {
        const size_t count = n - at < BLOCK ? n - at : BLOCK;
        find_slots(p, first + at, count, slots);
        if (p->args->channels > 1)
            count_channels(p, first + at, count, slots, counters);
        else
            count_one_channel(p, count, slots, x + (first + at + count) * size, counters);
    }
}

/* ---- shares ---- */

bool wi_histogram_counts_pairs(const wi_histogram_args *args, size_t n) {
    return weft_type_size(args->type) == 1 && args->channels == 1 && n >= PAIR_WORTHWHILE;
}

/* Adds the counters to the caller's counts. */
static void hand_over(const plan *p, uint32_t *counters) {
    const wi_histogram_args *const args = p->args;
    const bool bytes = weft_type_size(args->type) == 1;
    for (uint32_t channel = 0; channel < args->channels; channel++) {
        for (uint32_t k = 0; k < p->of_channel; k++) {
            uint64_t times = 0;
            for (uint32_t c = 0; c < p->copies; c++)
                times += counters[c * p->counters + channel * p->of_channel + k];
            if (times)
                wi_count(args, channel, bytes ? wi_slot_of_bits(&args->bins, &p->table, k) : k,
                         times);
        }
    }
    memset(counters, 0, p->copies * p->counters * sizeof *counters);
}

static void count_share(const plan *p, size_t first, size_t last, uint32_t *counters,
                        pair_table *pairs, pthread_mutex_t *lock) {
    for (; first < last; first += span_elements) {
        const size_t n = last - first < span_elements ? last - first : span_elements;
        if (pairs)
            count_by_pairs(p, pairs, n, (const uint8_t *)p->args->x + first, counters);
        else if (weft_type_size(p->args->type) == 1)
            count_bytes(p, first, n, counters);
        else
            count_others(p, first, n, counters);
        pthread_mutex_lock(lock);
        hand_over(p, counters);
        pthread_mutex_unlock(lock);
    }
}

/* With more counters than elements, each element is counted in the caller's counts at once. */
static void count_directly(const plan *p) {
    const wi_histogram_args *const args = p->args;
    uint32_t slots[BLOCK], channel = args->channel;
    wi_counts_clear(args);
    for (size_t at = 0; at < args->n; at += BLOCK) {
        const size_t count = args->n - at < BLOCK ? args->n - at : BLOCK;
        find_slots(p, at, count, slots);
        for (size_t i = 0; i < count; i++) {
            wi_count(args, channel, slots[i], 1);
            channel = channel + 1 < args->channels ? channel + 1 : 0;
        }
    }
}

/* What the threads share, such as the caller's counts. */
typedef struct work {
    const plan *p;
    char *memory;
    size_t each, table_bytes, pair_bytes; /* of a thread's memory; tables of pairs come first */
    pthread_mutex_t lock;
} work;

static void count_part(void *user, int rank, int size) {
    work *const w = user;
    const size_t n = w->p->args->n;
    char *const mine = w->memory + (size_t)rank * w->each;
    memset(mine + w->pair_bytes, 0, w->table_bytes);
    count_share(w->p, wi_team_share(n, rank, size), wi_team_share(n, rank + 1, size),
                (uint32_t *)(void *)(mine + w->pair_bytes),
                w->pair_bytes > 0 ? (pair_table *)(void *)mine : NULL, &w->lock);
}

static weft_status count_in_team(weft_context *ctx, const plan *p) {
    const wi_histogram_args *const args = p->args;
    const size_t table_bytes = p->copies * p->counters * sizeof(uint32_t);
    const int team = wi_team_size(ctx, args->n, args->n * weft_type_size(args->type));
    const bool by_pairs = wi_histogram_counts_pairs(args, args->n / (size_t)team);
    const size_t pair_bytes = by_pairs ? sizeof(pair_table) : 0;
    const size_t lines = (table_bytes + pair_bytes) / 64 + 1; /* each thread has its own lines */
    char *const memory = wi_host_alloc((size_t)team * lines * 64);
    if (!memory)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "weft_histogram: no memory for %d tables of %zu counters; use variant "
                       "serial, which needs none",
                       team, p->counters);
    wi_counts_clear(args);
    work w = {p, memory, lines * 64, table_bytes, pair_bytes, PTHREAD_MUTEX_INITIALIZER};
    wi_team_run(ctx, team, count_part, &w);
    pthread_mutex_destroy(&w.lock);
    wi_host_free(memory);
    return WEFT_OK;
}

/* ---- the rung ---- */

/* Chooses how slots are found; where arithmetic does not give the slots of 16-bit values, a table
 * does. */
static weft_status choose_slots(weft_context *ctx, plan *p) {
    const wi_histogram_args *const args = p->args;
    if (args->bins.rule == WI_BINS_SHIFT)
        p->slots = p->simd->shift[args->type];
    else if (args->bins.rule == WI_BINS_LINEAR && p->table.linear)
        p->slots = p->simd->linear[args->type];
    if (p->slots || weft_type_size(args->type) != 2 || args->n < TABLE_WORTHWHILE)
        return WEFT_OK;
    p->of_value = wi_host_alloc(SHORT_VALUES * sizeof *p->of_value);
    if (!p->of_value)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_histogram: no memory for the slots of %d values",
                       SHORT_VALUES);
    for (uint32_t value = 0; value < SHORT_VALUES; value++)
        p->of_value[value] = wi_slot_of_bits(&args->bins, &p->table, value);
    return WEFT_OK;
}

weft_status wi_histogram_threads(weft_context *ctx, const void *args) {
    plan p = {.args = args, .simd = WI_OF_ISA(wi_cpu_isa(), wi_histogram_simd)};
    weft_status status = wi_bin_table_make(ctx, &p.args->bins, &p.table);
    if (status == WEFT_OK)
        status = choose_slots(ctx, &p);
    if (status == WEFT_OK) {
        const bool bytes = weft_type_size(p.args->type) == 1;
        p.of_channel = bytes ? WI_BYTE_VALUES : wi_slots_of(&p.args->bins);
        p.counters = p.args->channels * p.of_channel;
        p.copies = bytes || p.counters > FEW_SLOTS ? 1 : COPIES;
        if (p.counters > p.args->n / 4)
            count_directly(&p);
        else
            status = count_in_team(ctx, &p);
    }
    wi_host_free(p.of_value);
    wi_host_free((void *)(uintptr_t)p.table.thresholds);
    return status;
}
