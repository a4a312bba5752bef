/* SPDX-License-Identifier: Apache-2.0 */
/* The first k on a cpu, if k is small: everything is read once.
 *
 * Elements are ranked by key and, among equal keys, by position, so that no two are equal. They are
 * divided into blocks, each represented by its smallest key. Only the k blocks that come first, by
 * that key and then by position, can contain any of the first k elements: each of them has an
 * element that comes before all elements of any other block. Finding these blocks is the same
 * problem with fewer keys, so it is repeated until few enough are left to rank them all. On the way
 * back the k blocks are searched in order, as long as they begin before the k-th element found so
 * far. This holds for any data in any order. */
#include "sort/sort_few.h"

#include <string.h>

#include "cpu/stream.h"
#include "cpu/team.h"
#include "sort/sort_run.h"
#include "sort/sort_simd.h"

/* The key, above a position of 64 bits. */
__extension__ typedef unsigned __int128 ranked;

enum {
    FEW = 16,               /* so few are sorted by insertion */
    ALL = 512,              /* so few are all ranked */
    LEAST_LEVEL_RATIO = 16, /* below this, one more level would not save time */
    MOST_LEVELS = 32,
    LINE_BYTES = 64,
    CHUNK = 512,     /* keys read at a time */
    SOON = 4,        /* blocks that are on their way while others are looked through */
    MOST_ASKED = 256 /* elements asked for of each */
};

#define NAME(f) f##_ranked
#define T ranked
#include "sort/sort_quick.inc"

/* Elements (the caller's, or the smallest keys of blocks), and how they are divided into blocks. */
typedef struct level {
    const void *x;
    wi_sort_key key; /* makes keys of elements; smallest keys are keys already */
    size_t n, block, blocks;
    void *least; /* the smallest key of each block */
} level;

typedef struct plan {
    const wi_sort_simd *simd;
    unsigned size; /* of a key */
    size_t k;
    int depth; /* number of levels with blocks; in the next one all elements are ranked */
    level levels[MOST_LEVELS];
    size_t room;  /* for ranks found so far */
    ranked *best; /* the first k found so far */
    ranked *found;
    size_t bytes;
} plan;

/* ---- ranks ---- */

static unsigned most_partitions(size_t n) {
    unsigned log2 = 0;
    while (n >>= 1)
        log2++;
    return 2 * log2;
}

/* Moves the first k of n to the front, the last of them to x[k - 1]. */
static void put_first(ranked *x, size_t n, size_t k) {
    unsigned left = most_partitions(n);
    size_t nth = k - 1;
    while (n > FEW) {
        if (left-- == 0) {
            heap_ranked(x, n);
            return;
        }
        const size_t low = partition_ranked(x, n);
        if (nth < low) {
            n = low;
        } else {
            x += low;
            n -= low;
            nth -= low;
        }
    }
    insertion_ranked(x, n);
}

/* The first k of those found become `best`, in order. */
static void take_best(plan *p, size_t found) {
    if (found > p->k)
        put_first(p->found, found, p->k);
    quick_ranked(p->found, p->k, most_partitions(p->k));
    memcpy(p->best, p->found, p->k * sizeof *p->best);
}

static ranked rank_of(uint64_t key, uint64_t position) {
    return (ranked)key << 64 | position;
}

/* Notes which of n keys are at most `most`; returns how many. A constant size makes it fast. */
static inline size_t note_of_size(const uint64_t *keys, unsigned size, size_t n, uint64_t most,
                                  uint16_t *at) {
    size_t noted = 0;
    for (size_t k = 0; k < n; k++) {
        at[noted] = (uint16_t)k;
        noted += wi_element_bits(keys, size, k) <= most;
    }
    return noted;
}

static size_t note(const uint64_t *keys, unsigned size, size_t n, uint64_t most, uint16_t *at) {
    switch (size) {
    case 1:
        return note_of_size(keys, 1, n, most, at);
    case 2:
        return note_of_size(keys, 2, n, most, at);
    case 4:
        return note_of_size(keys, 4, n, most, at);
    default:
        return note_of_size(keys, 8, n, most, at);
    }
}

/* Collects those of elements first ... end - 1 of a level that come no later than `last`. Returns
 * how many are found. */
static size_t look_through(const plan *p, const level *l, size_t first, size_t end, ranked last,
                           size_t found) {
    uint64_t keys[CHUNK]; /* room for keys of any width */
    uint16_t at[CHUNK];
    for (size_t i = first; i < end; i += CHUNK) {
        const size_t n = end - i < CHUNK ? end - i : CHUNK;
        p->simd->to_keys(&l->key, p->size, n, (const char *)l->x + i * p->size, keys);
        const size_t noted = note(keys, p->size, n, (uint64_t)(last >> 64), at);
        for (size_t k = 0; k < noted; k++) {
            const ranked rank = rank_of(wi_element_bits(keys, p->size, at[k]), i + at[k]);
            if (rank <= last)
                p->found[found++] = rank;
        }
    }
    return found;
}

/* Asks for the blocks that are opened soon: their order is that of their keys, so each is
 * elsewhere.
 */
static void ask_for(const plan *p, const level *l, size_t j) {
    if (j < p->k)
        wi_fetch((const char *)l->x + (uint64_t)p->best[j] * l->block * p->size,
                 (l->block < MOST_ASKED ? l->block : MOST_ASKED) * p->size);
}

/* Replaces the best blocks of a level by its best elements. */
static void open_blocks(plan *p, const level *l) {
    /* Each of the k blocks contains its own smallest key, so there are k elements up to this one.
     */
    ranked last = p->best[p->k - 1] | UINT64_MAX;
    size_t found = 0;
    for (size_t j = 0; j < p->k; j++) {
        ask_for(p, l, j + SOON);
        const size_t first = (uint64_t)p->best[j] * l->block;
        const size_t end = l->n - first < l->block ? l->n : first + l->block;
        if (rank_of((uint64_t)(p->best[j] >> 64), first) > last)
            break;
        found = look_through(p, l, first, end, last, found);
        if (found >= 2 * p->k) {
            put_first(p->found, found, p->k);
            found = p->k;
            last = p->found[p->k - 1];
        }
    }
    take_best(p, found);
}

/* ---- levels ---- */

/* The length of blocks such that the k blocks opened are about as long as there are blocks; if that
 * leaves enough blocks, the caller's elements are read in whole cache lines. */
static size_t block_of(size_t ratio, size_t line) {
    /* Opening blocks of the caller's elements waits for memory, and one thread does it. */
    const size_t dear = line > 1 ? 8 : 4;
    size_t block = 1;
    while (dear * block * block <= ratio)
        block *= 2;
    while (block < line && 8 * block <= ratio)
        block *= 2;
    return block;
}

static plan plan_of(const wi_top_k_args *a) {
    plan p = {.simd = WI_OF_ISA(wi_cpu_isa(), wi_sort_simd),
              .size = (unsigned)weft_type_size(a->type),
              .k = a->k};
    size_t n = a->n;
    wi_sort_key key = wi_sort_key_of(a->type, a->descending);
    for (; n > ALL && n / a->k >= LEAST_LEVEL_RATIO; p.depth++) {
        level *const l = &p.levels[p.depth];
        const size_t block = block_of(n / a->k, p.depth ? 1 : LINE_BYTES / p.size);
        *l = (level){.key = key, .n = n, .block = block, .blocks = (n + block - 1) / block};
        p.room = p.room < 2 * a->k + block ? 2 * a->k + block : p.room;
        p.bytes += l->blocks * p.size;
        n = l->blocks;
        key = (wi_sort_key){0};
    }
    p.levels[p.depth] = (level){.key = key, .n = n};
    p.room = p.room < n ? n : p.room;
    p.bytes += (a->k + p.room) * sizeof(ranked);
    return p;
}

static void place(plan *p, const void *x, char *memory) {
    p->best = (ranked *)(void *)memory;
    p->found = p->best + p->k;
    memory += (p->k + p->room) * sizeof(ranked);
    for (int d = 0; d <= p->depth; d++) {
        level *const l = &p->levels[d];
        l->x = x;
        l->least = memory;
        memory += l->blocks * p->size;
        x = l->least;
    }
}

/* The arguments of the threads for a level. */
typedef struct finding {
    const plan *p;
    const level *l;
} finding;

static void find_part(void *user, int rank, int team) {
    const finding *const f = user;
    const plan *const p = f->p;
    const level *const l = f->l;
    const size_t first = wi_team_share(l->blocks, rank, team);
    const size_t end = wi_team_share(l->blocks, rank + 1, team);
    const size_t from = first * l->block, n = (end < l->blocks ? end * l->block : l->n) - from;
    p->simd->least(&l->key, p->size, l->block, n, (const char *)l->x + from * p->size,
                   (char *)l->least + first * p->size);
}

static void find_least(weft_context *ctx, const plan *p, const level *l) {
    const int team = wi_team_size(ctx, l->blocks, l->n * p->size);
    wi_team_run(ctx, team, find_part, &(finding){p, l});
}

/* ---- the call ---- */

static void put_out(const plan *p, const wi_top_k_args *a) {
    for (size_t i = 0; i < p->k; i++) {
        const uint64_t key = (uint64_t)(p->best[i] >> 64);
        if (a->values)
            memcpy((char *)a->values + i * p->size, &key, p->size);
        if (a->positions)
            a->positions[i] = (uint64_t)p->best[i];
    }
    if (a->values)
        p->simd->of_keys(&p->levels[0].key, p->size, p->k, a->values, a->values);
}

weft_status wi_top_k_blocks(weft_context *ctx, const void *arguments) {
    const wi_top_k_args *const args = arguments;
    plan p = plan_of(args);
    if (args->bytes) {
        *args->bytes += p.bytes;
        return WEFT_OK;
    }
    void *memory = NULL;
    weft_status status = wi_sort_take(ctx, args->call, p.bytes, &memory);
    if (status != WEFT_OK)
        return status;
    place(&p, args->x, memory);
    for (int d = 0; d < p.depth; d++)
        find_least(ctx, &p, &p.levels[d]);
    const level *const top = &p.levels[p.depth];
    take_best(&p, look_through(&p, top, 0, top->n, rank_of(UINT64_MAX, UINT64_MAX), 0));
    for (int d = p.depth; d > 0; d--)
        open_blocks(&p, &p.levels[d - 1]);
    put_out(&p, args);
    wi_sort_give(ctx, memory);
    return WEFT_OK;
}
