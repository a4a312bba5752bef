/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "blocks" of group_keys. A thread takes the next block of keys, marks which of them begin
 * a run, packs these into a buffer of its own, and publishes how many there are and where the first
 * and the last of them lie. Then it reduces the elements of the block that it took before: the
 * counts of all blocks before that one tell where its results belong, and the note of the block
 * behind it where its last run ends. So keys and elements are read from memory once, and where runs
 * begin is written nowhere but to a cache.
 *
 * A piece of a run (group_simd.h) is reduced by the block in which it begins. Results of runs that
 * end in the block in which they begin are written at once, but for the last run of each block; the
 * pieces of that one, and of a run that is open where a block begins, are kept and combined
 * afterwards, one after another. So the bits depend neither on blocks nor on threads.
 *
 * In place: block b writes keys only before its own end, and only when all blocks before it have
 * been packed. Its last key, which block b + 1 compares its first with, is only ever written over
 * with itself: a key whose place does not change. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "core/smaller.h"
#include "cpu/stream.h"
#include "cpu/team.h"
#include "group/group_tile_runs.h"

enum {
    BLOCK = 2 * WI_GROUP_PIECE, /* elements */
    STEP = 128,                 /* elements that are marked between prefetches */
    TILE = WI_GROUP_TILE,       /* elements whose runs are reduced at once */
    LONG = 32,                  /* elements of a run from which on keys are packed one by one */
    SLOTS = BLOCK / WI_GROUP_PIECE + 1,
    /* Larger outputs would not stay in a cache until they are next used. */
    STREAM_BYTES = 1 << 24,
    /* How often a thread looks for a note before it gives its core to others. */
    PATIENCE = 1 << 6
};

#define UNKNOWN UINT32_MAX

/* What a block tells others. */
typedef struct note {
    _Atomic uint32_t heads; /* how many runs begin in it, or UNKNOWN */
    uint32_t first, last;   /* where in the block, if any do */
    uint32_t pieces;        /* it keeps so many of the run that is open where it begins */
} note;

typedef struct plan {
    const wi_group_keys_args *k;
    const wi_select_simd *simd;
    const wi_group_tile_runs *tiles;
    wi_group_column column[WEFT_COLUMNS];
    size_t block, blocks;
    int word;        /* log2 of the bytes of a key that vectors compare; -1: none */
    bool streams;    /* past the caches */
    note *notes;     /* of each block */
    uint32_t *count; /* 0, 1, 2 ... TILE - 1 */
    /* SLOTS for each block and column: the pieces of the run that is open where the block begins;
     * the last slot is what the last run that begins in it has made so far. */
    wi_group_state *states;
    char *rooms; /* of the workers */
    _Alignas(64) atomic_size_t taken;
} plan;

/* A block that has been marked. */
typedef struct marked {
    size_t b, first, n; /* which, its first element, how many */
    size_t heads;
    uint64_t *marks; /* bit i % 64 of marks[i / 64]: does a run begin at element i? */
    char *keys;      /* of those */
} marked;

typedef struct worker {
    plan *p;
    marked own, next;
    size_t ahead;     /* the block to mark after `next` */
    uint32_t *starts; /* in a tile */
    char *sums;       /* of a row of a tile */
    char *results;    /* of a tile */
    size_t known;     /* the notes of so many blocks have been read: */
    size_t kept;      /* so many runs begin in them, */
    size_t open;      /* the last of them at this element */
} worker;

static size_t whole_lines(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* ---- where runs begin ---- */

static size_t mark_one_by_one(const plan *p, size_t first, size_t n, uint64_t *marks) {
    const size_t width = p->k->width;
    const char *const keys = p->k->keys;
    size_t count = 0;
    memset(marks, 0, (n + 63) / 64 * sizeof *marks);
    for (size_t i = 0; i < n; i++) {
        const char *const key = keys + (first + i) * width;
        const bool begins = first + i == 0 || memcmp(key, key - width, width) != 0;
        marks[i / 64] |= (uint64_t)begins << i % 64;
        count += begins;
    }
    return count;
}

/* Returns how many runs begin. Vectors compare all but the first word of marks of the first block:
 * its first key has none before it. */
static size_t mark(const plan *p, size_t first, size_t n, uint64_t *marks) {
    const size_t alone = p->word < 0 ? n : first == 0 ? wi_smaller(n, 64) : 0;
    size_t count = alone > 0 ? mark_one_by_one(p, first, alone, marks) : 0;
    if (alone < n)
        count +=
            p->simd->mark_changes[p->word]((const char *)p->k->keys + (first + alone) * p->k->width,
                                           n - alone, marks + alone / 64);
    return count;
}

static void pack_keys(const plan *p, const marked *m) {
    const size_t width = p->k->width;
    const char *const keys = (const char *)p->k->keys + m->first * width;
    char *to = m->keys;
    if (p->word >= 0 && m->heads > m->n / LONG) {
        p->simd->pack[p->word](keys, m->n, m->marks, 0, to);
        return;
    }
    for (size_t w = 0; 64 * w < m->n; w++)
        for (uint64_t bits = m->marks[w]; bits; bits &= bits - 1, to += width)
            memcpy(to, keys + (64 * w + (size_t)__builtin_ctzll(bits)) * width, width);
}

static void publish(const plan *p, const marked *m) {
    note *const own = &p->notes[m->b];
    if (m->heads > 0) {
        size_t first = 0, last = (m->n - 1) / 64;
        while (!m->marks[first])
            first++;
        while (!m->marks[last])
            last--;
        own->first = (uint32_t)(64 * first + (size_t)__builtin_ctzll(m->marks[first]));
        own->last = (uint32_t)(64 * last + 63 - (size_t)__builtin_clzll(m->marks[last]));
    }
    atomic_store_explicit(&own->heads, (uint32_t)m->heads, memory_order_release);
}

static size_t take_block(plan *p) {
    return atomic_fetch_add_explicit(&p->taken, 1, memory_order_relaxed);
}

/* Prefetches keys of the block to mark next, as many as belong to n elements from t on. That block
 * is whole, and so are lines. */
WI_INLINE void fetch_share(const worker *w, size_t t, size_t n) {
    const plan *const p = w->p;
    const size_t width = p->k->width;
    const char *const keys = (const char *)p->k->keys + w->ahead * p->block * width;
    for (size_t line = t * width / 64; line < (t + n) * width / 64; line++)
        wi_fetch(keys + wi_fetch_order(line, p->block * width / 64) * 64, 64);
}

/* Marks the block that was taken before, if there is one, and says so; takes another, whose keys
 * are prefetched meanwhile, evenly. */
static void mark_block(worker *w) {
    plan *const p = w->p;
    marked *const m = &w->next;
    m->b = w->ahead;
    w->ahead = take_block(p);
    if (m->b >= p->blocks)
        return;
    m->first = m->b * p->block;
    m->n = wi_smaller(p->k->n - m->first, p->block);
    m->heads = 0;
    for (size_t t = 0; t < m->n; t += STEP) {
        if (w->ahead + 1 < p->blocks)
            fetch_share(w, t, STEP);
        m->heads += mark(p, m->first + t, wi_smaller(m->n - t, STEP), m->marks + t / 64);
    }
    if (p->k->keys_out)
        pack_keys(p, m);
    publish(p, m);
}

/* ---- what other blocks have found ---- */

/* A thread waits for blocks before its own, and for the one behind. Whoever has taken that one has
 * marked it, or does so before it waits, or its own block is an earlier one: so nobody waits in a
 * circle. */
static size_t heads_of(const plan *p, size_t b) {
    for (unsigned looks = 1;; looks++) {
        const uint32_t heads = atomic_load_explicit(&p->notes[b].heads, memory_order_acquire);
        if (heads != UNKNOWN)
            return heads;
        wi_cpu_relax();
        if (looks % PATIENCE == 0)
            sched_yield();
    }
}

static void learn(worker *w, size_t b) {
    for (; w->known < b; w->known++) {
        const size_t heads = heads_of(w->p, w->known);
        if (heads > 0)
            w->open = w->known * w->p->block + w->p->notes[w->known].last;
        w->kept += heads;
    }
}

/* Where the run ends to which the last element of block b belongs; if that is more than a piece
 * behind the block, a place that far. */
static size_t end_behind(const plan *p, size_t b) {
    if (b + 1 == p->blocks)
        return p->k->n;
    const size_t first = (b + 1) * p->block;
    return heads_of(p, b + 1) > 0 ? first + p->notes[b + 1].first
                                  : wi_smaller(first + p->block, p->k->n);
}

/* ---- the elements of a block ---- */

static void put(const plan *p, void *to, const void *from, size_t bytes) {
    if (p->streams)
        p->simd->stream(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

void wi_group_reduce_runs(const wi_group_column *c, size_t first, const uint32_t *starts,
                          size_t runs, void *y) {
    wi_group_args a = *c->run.args;
    a.x = (const char *)a.x + first * c->size;
    a.segments = runs + 1;
    a.starts = starts;
    a.start_bytes = sizeof *starts;
    a.y = y;
    const wi_group_run run = {.args = &a, .segments = runs + 1, .flip = c->run.flip};
    wi_group_reduce_segments(c->loops, &run, 0, runs);
    if (a.op == WI_RED_ARGMIN || a.op == WI_RED_ARGMAX)
        for (size_t s = 0; s < runs; s++)
            ((uint64_t *)y)[s] += first;
}

/* The runs that begin in the block but for the last. Of a tile these are the one that is open where
 * it begins, and those that begin in it but for the last. */
static void reduce_whole_runs(worker *w) {
    const plan *const p = w->p;
    const marked *const m = &w->own;
    uint32_t open[2] = {0, 0};
    size_t from = 0, done = w->kept;
    bool is_open = false;
    for (size_t at = 0; at < m->n; at += TILE) {
        wi_group_tile t = {.simd = p->simd,
                           .count = p->count,
                           .first = m->first + at,
                           .n = wi_smaller(m->n - at, TILE),
                           .next = at + TILE < m->n || w->next.b >= p->blocks ? m->first + at + TILE
                                                                              : w->next.first,
                           .marks = m->marks + at / 64,
                           .starts = w->starts,
                           .sums = w->sums};
        p->tiles->count_heads(&t);
        if (t.heads == 0)
            continue;
        open[1] = (uint32_t)(at + t.first_head - from);
        for (size_t k = 0; k < p->k->columns; k++) {
            const wi_group_column *const c = &p->column[k];
            if (is_open)
                wi_group_reduce_runs(c, m->first + from, open, 1, w->results);
            p->tiles->reduce(c, &t, w->results + (is_open ? c->result_bytes : 0));
            put(p, (char *)c->run.args->y + done * c->result_bytes, w->results,
                (is_open + t.heads - 1) * c->result_bytes);
        }
        done += is_open + t.heads - 1;
        from = at + t.last_head;
        is_open = true;
    }
}

static void reduce_piece(const wi_group_column *c, size_t at, size_t end, wi_group_state *state) {
    c->loops->piece(&c->run, at, wi_smaller(end - at, WI_GROUP_PIECE), state);
}

/* The pieces, which begin in the block, of the run that is open where it begins. */
static void reduce_open_run(worker *w) {
    const plan *const p = w->p;
    const marked *const m = &w->own;
    note *const own = &p->notes[m->b];
    own->pieces = 0;
    if (m->b == 0)
        return;
    const size_t pieces = (m->first - w->open + WI_GROUP_PIECE - 1) / WI_GROUP_PIECE;
    const size_t stop = m->first + (m->heads > 0 ? own->first : m->n);
    size_t at = w->open + pieces * WI_GROUP_PIECE;
    const size_t end = m->heads > 0 || at >= stop ? stop : end_behind(p, m->b);
    for (; at < stop; at += WI_GROUP_PIECE, own->pieces++)
        for (size_t k = 0; k < p->k->columns; k++)
            reduce_piece(&p->column[k], at, end,
                         &p->states[(m->b * p->k->columns + k) * SLOTS + own->pieces]);
}

static void reduce_last_run(const worker *w) {
    const plan *const p = w->p;
    const marked *const m = &w->own;
    const size_t stop = m->first + m->n, end = end_behind(p, m->b);
    const size_t first = m->first + p->notes[m->b].last;
    for (size_t k = 0; k < p->k->columns; k++) {
        const wi_group_column *const c = &p->column[k];
        wi_group_state *const total = &p->states[(m->b * p->k->columns + k) * SLOTS + SLOTS - 1];
        wi_group_state next;
        reduce_piece(c, first, end, total);
        for (size_t at = first + WI_GROUP_PIECE; at < stop; at += WI_GROUP_PIECE) {
            reduce_piece(c, at, end, &next);
            c->loops->merge(&c->run, total, &next);
        }
    }
}

static void do_block(worker *w) {
    const plan *const p = w->p;
    const marked *const m = &w->own;
    const size_t width = p->k->width;
    learn(w, m->b);
    if (p->k->keys_out)
        put(p, (char *)p->k->keys_out + w->kept * width, m->keys, m->heads * width);
    if (p->k->columns == 0)
        return;
    reduce_open_run(w);
    if (m->heads > 1)
        reduce_whole_runs(w);
    if (m->heads > 0)
        reduce_last_run(w);
}

/* ---- all blocks ---- */

/* The results of runs that are the last of a block. */
static void join(const plan *p, const wi_group_column *c, size_t k) {
    wi_group_state total = {.squares = {0}};
    size_t kept = 0;
    for (size_t b = 0; b < p->blocks; b++) {
        const note *const at = &p->notes[b];
        const wi_group_state *const slot = &p->states[(b * p->k->columns + k) * SLOTS];
        const size_t heads = heads_of(p, b);
        for (uint32_t i = 0; i < at->pieces; i++)
            c->loops->merge(&c->run, &total, &slot[i]);
        if (heads == 0)
            continue;
        if (kept > 0)
            c->loops->finish(&c->run, kept - 1, &total);
        total = slot[SLOTS - 1];
        kept += heads;
    }
    c->loops->finish(&c->run, kept - 1, &total);
}

static size_t marks_bytes(const plan *p) {
    return whole_lines((p->block + 63) / 64 * sizeof(uint64_t));
}

static size_t keys_bytes(const plan *p) {
    return p->k->keys_out ? whole_lines(p->block * p->k->width + WI_SELECT_SLACK_BYTES) : 0;
}

enum {
    LISTS_BYTES = WI_GROUP_STARTS_BYTES + WI_GROUP_SUMS_BYTES + WI_GROUP_RESULTS_BYTES
};

static size_t room_bytes(const plan *p) {
    return LISTS_BYTES + 2 * (marks_bytes(p) + keys_bytes(p));
}

static void do_blocks(void *user, int rank, int size) {
    plan *const p = user;
    char *room = p->rooms + (size_t)rank * room_bytes(p);
    worker w = {.p = p, .starts = (uint32_t *)(void *)room};
    (void)size;
    w.sums = room + WI_GROUP_STARTS_BYTES;
    w.results = w.sums + WI_GROUP_SUMS_BYTES;
    room += LISTS_BYTES;
    w.own.marks = (uint64_t *)(void *)room;
    w.next.marks = (uint64_t *)(void *)(room + marks_bytes(p));
    w.own.keys = room + 2 * marks_bytes(p);
    w.next.keys = w.own.keys + keys_bytes(p);
    w.ahead = take_block(p);
    mark_block(&w);
    while (w.next.b < p->blocks) {
        const marked taken = w.next;
        w.next = w.own;
        w.own = taken;
        mark_block(&w);
        do_block(&w);
    }
    wi_stream_done();
}

static wi_group_column column_of(const wi_group_args *a, size_t n) {
    wi_group_running_sums *const running =
        a->op == WI_RED_SUM ? WI_OF_ISA(wi_cpu_isa(), wi_group_running)->sums[a->type] : NULL;
    return (wi_group_column){.run = {.args = a, .segments = n, .flip = wi_group_flip(a)},
                             .loops = wi_group_loops_of(a),
                             .running = running,
                             .size = weft_type_size(a->type),
                             .result_bytes = weft_type_size(a->result_type)};
}

static plan make_plan(const wi_group_keys_args *k) {
    plan p = {.k = k,
              .simd = WI_OF_ISA(wi_cpu_isa(), wi_select_simd),
              .tiles = WI_OF_ISA(wi_cpu_isa(), wi_group_tile_runs),
              .word = -1};
    const size_t width = k->width;
    if (width <= 8 && (width & (width - 1)) == 0 && (uintptr_t)k->keys % width == 0)
        p.word = __builtin_ctzll(width);
    p.block = wi_smaller((k->n + STEP - 1) / STEP * STEP, BLOCK);
    p.blocks = (k->n - 1) / p.block + 1;
    p.streams = k->n * (k->keys_out ? width : 4) >= STREAM_BYTES;
    for (size_t c = 0; c < k->columns; c++)
        p.column[c] = column_of(&k->column[c], k->n);
    return p;
}

weft_status wi_group_keys_blocks(weft_context *ctx, const void *args) {
    const wi_group_keys_args *const k = args;
    plan p = make_plan(k);
    const int team = wi_team_size(ctx, p.blocks, (size_t)wi_group_keys_bytes(k));
    const size_t notes = whole_lines(p.blocks * sizeof *p.notes);
    const size_t states = whole_lines(p.blocks * k->columns * SLOTS * sizeof *p.states);
    const size_t count = TILE * sizeof *p.count;
    void *memory = NULL;
    const weft_status status = wi_group_take(
        ctx, k->call, notes + states + count + (size_t)team * room_bytes(&p), &memory);
    if (status != WEFT_OK)
        return status;
    p.notes = memory;
    p.states = (wi_group_state *)(void *)((char *)memory + notes);
    p.count = (uint32_t *)(void *)((char *)memory + notes + states);
    p.rooms = (char *)memory + notes + states + count;
    for (size_t b = 0; b < p.blocks; b++)
        atomic_init(&p.notes[b].heads, UNKNOWN);
    for (uint32_t i = 0; i < TILE && i < k->n; i++)
        p.count[i] = i;
    atomic_init(&p.taken, 0);
    wi_team_run(ctx, team, do_blocks, &p);
    *k->count = 0;
    for (size_t b = 0; b < p.blocks; b++)
        *k->count += heads_of(&p, b);
    for (size_t c = 0; c < k->columns; c++)
        join(&p, &p.column[c], c);
    return wi_group_give(ctx, memory);
}
