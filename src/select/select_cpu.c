/* SPDX-License-Identifier: Apache-2.0 */
/* The rung "threads" of select. A thread takes the next block, marks and packs it tile by tile into
 * its own buffer, and publishes its count; the counts of all blocks before it give the place of the
 * buffer in the output. Between the tiles of the block that it takes after that, it writes the
 * buffer to that place, piece by piece, and prefetches the block that it will take next. So memory
 * is read and written all the time, each byte once, for any number of threads.
 *
 * In place: block k writes only before its own end, and only when the counts of all blocks before
 * it are known; a block's count is published only when the whole block is in the buffer. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "cpu/stream.h"
#include "cpu/team.h"
#include "select/select_plan.h"

enum {
    /* How often a thread looks for a count before it counts that block itself: longer than a
     * running thread needs for a block. */
    PATIENCE = 1 << 9,
    MANY = 8 /* positions: one element of so many, or more, is wanted */
};

#define UNKNOWN UINT32_MAX

/* What the threads know about one another. */
typedef struct relay {
    _Alignas(WI_LINE_BYTES) atomic_size_t taken; /* blocks that threads have taken */
    _Atomic uint32_t *counts;                    /* of each block, or UNKNOWN */
} relay;

/* Bytes on their way to an output. */
typedef struct parcel {
    char *buffer, *to;
    size_t bytes, written;
    size_t part; /* written at a time: whole cache lines */
} parcel;

typedef struct worker {
    const wi_select_plan *p;
    relay *r;
    uint64_t *marks;                   /* of a block */
    parcel packed[WI_SELECT_OUTPUTS];  /* of this block */
    parcel pending[WI_SELECT_OUTPUTS]; /* of `pending_block` */
    size_t pending_block;
    bool addressed; /* is its place in the output known? */
    size_t known;   /* the counts of so many blocks are added up */
    uint64_t kept;  /* in those blocks, so many elements are kept */
} worker;

static size_t worker_bytes(const wi_select_plan *p) {
    return p->marks_bytes + 2 * (p->room[WI_SELECT_TO_KEPT] + p->room[WI_SELECT_TO_REST] +
                                 p->room[WI_SELECT_TO_POSITIONS]);
}

static size_t counts_bytes(const wi_select_plan *p) {
    return wi_select_round_up(p->blocks * sizeof(_Atomic uint32_t));
}

static worker make_worker(const wi_select_plan *p, relay *r, char *memory) {
    worker w = {.p = p, .r = r, .marks = (uint64_t *)(void *)memory};
    memory += p->marks_bytes;
    for (int k = 0; k < WI_SELECT_OUTPUTS; k++) {
        w.packed[k].buffer = memory;
        w.pending[k].buffer = memory + p->room[k];
        memory += 2 * p->room[k];
    }
    return w;
}

static size_t elements_of(size_t n, size_t first, size_t most) {
    return n - first < most ? n - first : most;
}

/* Marks elements [first, first + n); returns how many are wanted. */
static size_t mark(const wi_select_plan *p, size_t first, size_t n, uint64_t *marks) {
    const wi_select_args *args = p->args;
    const char *const x = (const char *)args->tested + first * args->tested_bytes;
    if (!args->unique)
        return p->simd->mark_range[p->tested_log](x, n, &args->range, marks);
    if (first > 0)
        return p->simd->mark_changes[p->tested_log](x, n, marks);
    /* The first element of all has none before it: the marks of the next 63 are shifted to where
     * they belong. */
    uint64_t carried = 1;
    const size_t count =
        1 + p->simd->mark_changes[p->tested_log](x + args->tested_bytes, n - 1, marks);
    for (size_t w = 0; 64 * w < n; w++) {
        const uint64_t word = 64 * w < n - 1 ? marks[w] : 0;
        marks[w] = word << 1 | carried;
        carried = word >> 63;
    }
    return count;
}

/* ---- passing on counts ---- */

/* Counts block k in place of a thread that may have lost its core to another process. */
static uint32_t count_for_another(const wi_select_plan *p, size_t k) {
    uint64_t
        marks[WI_SELECT_KEEP_BYTES / 64]; /* a tile has at most as many elements as bytes, or 64 */
    const size_t first = k * p->block, n = elements_of(p->args->n, first, p->block);
    size_t count = 0;
    for (size_t at = 0; at < n; at += p->tile)
        count += mark(p, first + at, elements_of(n, at, p->tile), marks);
    return (uint32_t)count;
}

/* The count of block k; UNKNOWN if it is not known and `wait` is false. */
static uint32_t count_of(const worker *w, size_t k, bool wait) {
    for (unsigned looks = 1;; looks++) {
        const uint32_t count = atomic_load_explicit(&w->r->counts[k], memory_order_acquire);
        if (count != UNKNOWN || !wait)
            return count;
        wi_cpu_relax();
        if (looks % PATIENCE)
            continue;
        if (!w->p->in_place) /* in place, the block's own thread must have read it first */
            return count_for_another(w->p, k);
        sched_yield();
    }
}

/* Finds how many elements are kept in all blocks before k. */
static bool learn_kept(worker *w, size_t k, bool wait) {
    for (; w->known < k; w->known++) {
        const uint32_t count = count_of(w, w->known, wait);
        if (count == UNKNOWN)
            return false;
        w->kept += count;
    }
    return true;
}

/* ---- packing ---- */

/* Packs elements of any width. */
static void pack(const wi_select_plan *p, size_t first, size_t n, const uint64_t *marks,
                 uint64_t flip, char *to) {
    const char *const x = (const char *)p->args->x + first * p->width;
    if (p->args->units == 1 && p->width <= 8) {
        p->simd->pack[wi_select_log_of(p->width)](x, n, marks, flip, to);
        return;
    }
    for (size_t w = 0; 64 * w < n; w++)
        for (uint64_t word = (marks[w] ^ flip) & wi_select_valid(n, w); word; word &= word - 1) {
            memcpy(to, x + (64 * w + (size_t)__builtin_ctzll(word)) * p->width, p->width);
            to += p->width;
        }
}

/* All positions of a tile, packed as elements are: quicker if many are wanted. */
static void pack_many_positions(const wi_select_plan *p, size_t first, size_t n,
                                const uint64_t *marks, char *to) {
    union {
        uint32_t shorter[WI_SELECT_KEEP_BYTES / sizeof(uint32_t)];
        uint64_t longer[WI_SELECT_KEEP_BYTES / sizeof(uint32_t)];
    } at; /* a tile has at most as many bytes of positions, or 64 elements */
    if (p->size[WI_SELECT_TO_POSITIONS] == sizeof(uint32_t)) {
        for (size_t i = 0; i < n; i++)
            at.shorter[i] = (uint32_t)(first + i);
        p->simd->pack[2](&at, n, marks, 0, to);
    } else {
        for (size_t i = 0; i < n; i++)
            at.longer[i] = first + i;
        p->simd->pack[3](&at, n, marks, 0, to);
    }
}

static void pack_positions(const wi_select_plan *p, size_t first, size_t n, const uint64_t *marks,
                           size_t count, char *to) {
    const size_t bytes = p->size[WI_SELECT_TO_POSITIONS];
    if (count > n / MANY) {
        pack_many_positions(p, first, n, marks, to);
        return;
    }
    for (size_t w = 0; 64 * w < n; w++)
        for (uint64_t word = marks[w]; word; word &= word - 1, to += bytes) {
            const uint64_t at = first + 64 * w + (size_t)__builtin_ctzll(word);
            const uint32_t shorter = (uint32_t)at;
            if (bytes == sizeof shorter)
                memcpy(to, &shorter, sizeof shorter);
            else
                memcpy(to, &at, sizeof at);
        }
}

/* Adds a tile's elements, `count` of which are marked, to the block's outputs. */
static void pack_tile(worker *w, size_t first, size_t n, const uint64_t *marks, size_t count) {
    const wi_select_plan *const p = w->p;
    const size_t counts[WI_SELECT_OUTPUTS] = {[WI_SELECT_TO_KEPT] = count,
                                              [WI_SELECT_TO_REST] = n - count,
                                              [WI_SELECT_TO_POSITIONS] = count};
    for (int k = 0; k < WI_SELECT_OUTPUTS; k++) {
        parcel *const packed = &w->packed[k];
        if (!p->size[k])
            continue;
        if (k == WI_SELECT_TO_POSITIONS)
            pack_positions(p, first, n, marks, count, packed->buffer + packed->bytes);
        else
            pack(p, first, n, marks, k == WI_SELECT_TO_REST ? UINT64_MAX : 0,
                 packed->buffer + packed->bytes);
        packed->bytes += counts[k] * p->size[k];
    }
}

static void write(const worker *w, parcel *pending, size_t bytes) {
    if (bytes == 0)
        return;
    w->p->store(pending->to + pending->written, pending->buffer + pending->written, bytes);
    pending->written += bytes;
}

/* Finds where the pending output belongs. Does not wait for that if `tiles` are still to come. */
static bool address(worker *w, size_t tiles) {
    const size_t first = w->pending_block * w->p->block;
    if (w->addressed || !learn_kept(w, w->pending_block, tiles == 0))
        return w->addressed;
    const uint64_t before[WI_SELECT_OUTPUTS] = {[WI_SELECT_TO_KEPT] = w->kept,
                                                [WI_SELECT_TO_REST] = first - w->kept,
                                                [WI_SELECT_TO_POSITIONS] = w->kept};
    for (int k = 0; k < WI_SELECT_OUTPUTS; k++) {
        if (!w->p->size[k])
            continue;
        w->pending[k].to = w->p->to[k] + before[k] * w->p->size[k];
        w->pending[k].part = tiles ? wi_select_round_up(w->pending[k].bytes / tiles + 1) : 0;
    }
    return w->addressed = true;
}

/* Writes part of the pending output, up to the end of a cache line, if its place is known; `tiles`
 * are still to come. */
static void write_some(worker *w, size_t tiles) {
    if (!address(w, tiles))
        return;
    for (int k = 0; k < WI_SELECT_OUTPUTS; k++) {
        parcel *const pending = &w->pending[k];
        const size_t left = pending->bytes - pending->written;
        const size_t beyond = ((uintptr_t)pending->to + pending->written) % WI_LINE_BYTES;
        write(w, pending, pending->part - beyond < left ? pending->part - beyond : left);
    }
}

/* Writes all of it. */
static void write_rest(worker *w) {
    address(w, 0);
    for (int k = 0; k < WI_SELECT_OUTPUTS; k++)
        write(w, &w->pending[k], w->pending[k].bytes - w->pending[k].written);
}

/* Makes the output of block k, which is packed, the pending one. */
static void turn(worker *w, size_t k) {
    w->pending_block = k;
    w->addressed = false;
    for (int o = 0; o < WI_SELECT_OUTPUTS; o++) {
        const parcel written = w->pending[o];
        w->pending[o] = w->packed[o];
        w->packed[o] = (parcel){.buffer = written.buffer};
    }
}

/* Prefetches one tile's share of a whole block of elements of `bytes` bytes: lines from all over
 * it. */
WI_INLINE void fetch_share(const wi_select_plan *p, const void *elements, size_t bytes,
                           size_t block, size_t tile) {
    const char *const x = (const char *)elements + block * p->block * bytes;
    const size_t each = p->tile * bytes / WI_LINE_BYTES, lines = each * p->tiles;
    for (size_t line = tile * each; line < (tile + 1) * each; line++)
        wi_prefetch(x + wi_fetch_order(line, lines) * WI_LINE_BYTES, WI_LINE_BYTES);
}

WI_INLINE void fetch_tile(const wi_select_plan *p, size_t block, size_t tile) {
    const wi_select_args *args = p->args;
    if (block >= p->whole_blocks)
        return;
    fetch_share(p, args->tested, args->tested_bytes, block, tile);
    if ((p->size[WI_SELECT_TO_KEPT] || p->size[WI_SELECT_TO_REST]) && args->x != args->tested)
        fetch_share(p, args->x, p->width, block, tile);
}

/* Tests and packs tile t of block k; writes and prefetches meanwhile. The tile is whole, and so is
 * block `next` if there is one. Returns how many elements are kept. */
static size_t keep_tile(worker *w, size_t k, size_t next, size_t t) {
    const wi_select_plan *const p = w->p;
    parcel *const packed = &w->packed[WI_SELECT_TO_KEPT];
    parcel *const pending = &w->pending[WI_SELECT_TO_KEPT];
    const size_t tile_bytes = p->tile * p->width, block_bytes = p->block * p->width;
    const char *const x = p->args->x;
    const bool goes = address(w, p->tiles - t);
    const size_t left = pending->bytes - pending->written;
    const size_t beyond = goes ? ((uintptr_t)pending->to + pending->written) % WI_LINE_BYTES : 0;
    const size_t head = beyond ? WI_LINE_BYTES - beyond : 0;
    if (goes && head < left)
        write(w, pending, head);
    const size_t lines = goes && head < left ? (left - head) / WI_LINE_BYTES : 0;
    const size_t part = pending->part / WI_LINE_BYTES;
    const wi_select_tile tile = {.x = x + k * block_bytes + t * tile_bytes,
                                 .n = p->tile,
                                 .to = packed->buffer + packed->bytes,
                                 .next = x + (next < p->whole_blocks ? next : k) * block_bytes +
                                         t * tile_bytes / WI_FETCHES,
                                 .quarter = block_bytes / WI_FETCHES,
                                 .lines = pending->buffer + pending->written,
                                 .line_to = pending->to + pending->written,
                                 .line_count = part < lines ? part : lines};
    const size_t count = p->simd->keep[p->tested_log](&tile, &p->args->range);
    packed->bytes += count * p->width;
    pending->written += tile.line_count * WI_LINE_BYTES;
    return count;
}

/* Marks and packs tile t of block k, then writes and prefetches. Returns how many elements are
 * wanted. */
static size_t mark_tile(worker *w, size_t k, size_t next, size_t t, size_t tiles) {
    const wi_select_plan *const p = w->p;
    const size_t first = k * p->block, n = elements_of(p->args->n, first, p->block);
    const size_t at = t * p->tile, in_tile = elements_of(n, at, p->tile);
    uint64_t *const marks = w->marks + at / 64;
    fetch_tile(p, next, t);
    const size_t wanted = mark(p, first + at, in_tile, marks);
    pack_tile(w, first + at, in_tile, marks, wanted);
    write_some(w, tiles - t);
    return wanted;
}

/* Marks and packs block k and publishes its count; meanwhile writes what is pending and prefetches
 * block `next`. */
static void do_block(worker *w, size_t k, size_t next) {
    const wi_select_plan *const p = w->p;
    const size_t first = k * p->block, n = elements_of(p->args->n, first, p->block);
    const size_t tiles = (n - 1) / p->tile + 1;
    const bool keeps = p->keeps && k < p->whole_blocks;
    size_t count = 0;
    for (size_t t = 0; t < tiles; t++)
        count += keeps ? keep_tile(w, k, next, t) : mark_tile(w, k, next, t, tiles);
    write_rest(w);
    atomic_store_explicit(&w->r->counts[k], (uint32_t)count, memory_order_release);
}

/* Moves elements to the selected positions of block k. */
static void expand_block(worker *w, size_t k) {
    const wi_select_plan *const p = w->p;
    const wi_select_args *args = p->args;
    const void *const fill = args->fill ? args->fill : args->fill_bytes;
    const size_t first = k * p->block, n = elements_of(args->n, first, p->block);
    learn_kept(w, k, true);
    uint64_t from = w->kept;
    for (size_t i = 0; i < n; i++) {
        const bool wanted = w->marks[i / 64] >> i % 64 & 1;
        char *const to = (char *)args->kept + (first + i) * p->width;
        if (wanted && from < args->packed)
            memcpy(to, (const char *)args->x + from * p->width, p->width);
        else if (args->has_fill)
            memcpy(to, fill, p->width);
        from += wanted;
    }
}

/* ---- all blocks ---- */

static size_t take_block(relay *r) {
    return atomic_fetch_add_explicit(&r->taken, 1, memory_order_relaxed);
}

static void do_blocks(worker w) {
    const wi_select_plan *const p = w.p;
    size_t k = take_block(w.r);
    while (k < p->blocks) {
        const size_t next = take_block(w.r);
        do_block(&w, k, next);
        if (p->job == WI_SELECT_KEEP)
            turn(&w, k);
        else if (p->job == WI_SELECT_EXPAND)
            expand_block(&w, k);
        k = next;
    }
    write_rest(&w);
    wi_stream_done();
}

/* The arguments of the threads. */
typedef struct job {
    const wi_select_plan *p;
    relay *r;
    char *memory; /* for the workers */
} job;

static void do_part(void *user, int rank, int size) {
    const job *const j = user;
    (void)size;
    do_blocks(make_worker(j->p, j->r, j->memory + (size_t)rank * worker_bytes(j->p)));
}

/* Does all blocks; returns the number of wanted elements. `memory` is for the counts of all blocks
 * and, after them, for the workers. */
static uint64_t do_all(const weft_context *ctx, const wi_select_plan *p, int team, char *memory) {
    relay r = {.counts = (_Atomic uint32_t *)(void *)memory};
    atomic_init(&r.taken, 0);
    for (size_t k = 0; k < p->blocks; k++)
        atomic_init(&r.counts[k], UNKNOWN);
    wi_team_run(ctx, team, do_part, &(job){p, &r, memory + counts_bytes(p)});
    uint64_t kept = 0;
    for (size_t k = 0; k < p->blocks; k++)
        kept += atomic_load_explicit(&r.counts[k], memory_order_relaxed);
    return kept;
}

weft_status wi_select_threads(weft_context *ctx, const void *arguments) {
    const wi_select_args *args = arguments;
    wi_select_plan p = wi_select_make_plan(args);
    const int team = wi_team_size(ctx, p.blocks, args->n * wi_greater(p.width, args->tested_bytes));
    const size_t bytes = counts_bytes(&p) + (size_t)team * worker_bytes(&p);
    char *const memory = wi_host_alloc(bytes);
    if (!memory)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "select: no host memory for buffers of %zu bytes; free some, or use variant "
                       "serial, which needs none",
                       bytes);
    if (args->rest_follows) {
        wi_select_args count = *args;
        count.job = WI_SELECT_JUST_COUNT;
        const wi_select_plan counting = wi_select_make_plan(&count);
        p.to[WI_SELECT_TO_REST] =
            (char *)args->kept + do_all(ctx, &counting, team, memory) * p.width;
    }
    const uint64_t kept = do_all(ctx, &p, team, memory);
    wi_host_free(memory);
    if (args->lengths)
        wi_select_take_lengths(ctx, args, kept);
    if (args->count)
        *args->count = kept;
    return WEFT_OK;
}
