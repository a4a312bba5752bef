/* SPDX-License-Identifier: Apache-2.0 */
/* The threads rung of select. A thread takes the next block, marks and packs it into a buffer while
 * it is in cache, adds its count to what came before, and only then writes to the output. So memory
 * is read once and written once, whatever the number of threads.
 *
 * In place: block k writes to places before its own end, and does so when the counts of all blocks
 * before it are known; a block's count is made known only when all of it is in the buffer. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "cpu/team.h"
#include "select/select_simd.h"

enum {
    BLOCK_BYTES = 1 << 16, /* of the wider array: with its buffer it fits a second-level cache */
    /* Outputs together larger than this would not be in a cache when next looked for. */
    STREAM_BYTES = 1 << 24,
    PATIENCE = 1 << 9 /* looks at what others have done before a waiting thread lets them run */
};

/* A call as blocks of `block` elements. */
typedef struct plan {
    const wi_select_args *args;
    const wi_select_simd *simd;
    int tested_log; /* log2 of tested_bytes */
    size_t width, block, blocks;
    char *rest; /* where the first of the rest goes, or NULL */
    void (*store)(void *to, const void *from, size_t bytes);
    size_t buffer_bytes; /* of marks, of those kept and of the rest, for one thread */
} plan;

/* How blocks hand on how many were kept. */
typedef struct relay {
    _Alignas(64) atomic_size_t taken; /* blocks that threads have taken */
    _Alignas(64) atomic_size_t done;  /* blocks whose count is in `kept` */
    uint64_t kept;                    /* of whoever is next */
} relay;

static int log_of(size_t bytes) {
    return __builtin_ctzll(bytes);
}

static void store_plain(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
}

static size_t marks_bytes(const plan *p) {
    return p->block / 8;
}

static size_t area_bytes(const plan *p) {
    return p->block * p->width + WI_SELECT_SLACK_BYTES;
}

static plan make_plan(const wi_select_args *args) {
    plan p = {.args = args,
              .simd = WI_OF_ISA(wi_cpu_isa(), wi_select_simd),
              .tested_log = log_of(args->tested_bytes),
              .width = args->unit * args->units};
    const size_t wider = p.width > args->tested_bytes ? p.width : args->tested_bytes;
    p.block = BLOCK_BYTES / wider / 64 * 64;
    p.block = p.block ? p.block : 64;
    p.blocks = args->n / p.block + (args->n % p.block != 0);
    p.store = args->n * p.width >= STREAM_BYTES ? p.simd->stream : store_plain;
    p.buffer_bytes = (marks_bytes(&p) + 2 * area_bytes(&p) + 63) / 64 * 64;
    return p;
}

static size_t elements_of(const plan *p, size_t k) {
    const size_t left = p->args->n - k * p->block;
    return left < p->block ? left : p->block;
}

/* Marks block k. */
static size_t mark(const plan *p, size_t k, uint64_t *marks) {
    const wi_select_args *args = p->args;
    const size_t first = k * p->block, n = elements_of(p, k);
    const char *const x = (const char *)args->tested + first * args->tested_bytes;
    if (!args->unique)
        return p->simd->mark_range[p->tested_log](x, n, &args->range, marks);
    if (first > 0)
        return p->simd->mark_changes[p->tested_log](x, n, marks);
    /* The first of all has none before it: the 63 behind it are moved to their places. */
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

/* Packs elements of any width. */
static void pack(const plan *p, const char *x, size_t n, const uint64_t *marks, uint64_t flip,
                 char *to) {
    if (p->args->units == 1 && p->width <= 8) {
        p->simd->pack[log_of(p->width)](x, n, marks, flip, to);
        return;
    }
    for (size_t w = 0; 64 * w < n; w++)
        for (uint64_t word = (marks[w] ^ flip) & wi_select_valid(n, w); word; word &= word - 1) {
            memcpy(to, x + (64 * w + (size_t)__builtin_ctzll(word)) * p->width, p->width);
            to += p->width;
        }
}

/* Adds a block's count to those before it, once they are known; gives these. */
static uint64_t hand_on(relay *r, size_t k, size_t count) {
    int looks = 0;
    while (atomic_load_explicit(&r->done, memory_order_acquire) != k) {
        if (++looks % PATIENCE)
            wi_cpu_relax();
        else
            sched_yield();
    }
    const uint64_t before = r->kept;
    r->kept = before + count;
    atomic_store_explicit(&r->done, k + 1, memory_order_release);
    return before;
}

static void put_positions(const plan *p, size_t first, size_t n, const uint64_t *marks,
                          uint64_t to) {
    const wi_select_args *args = p->args;
    for (size_t w = 0; 64 * w < n; w++)
        for (uint64_t word = marks[w]; word; word &= word - 1, to++) {
            const size_t i = first + 64 * w + (size_t)__builtin_ctzll(word);
            if (args->position_bytes == 4)
                ((uint32_t *)args->positions)[to] = (uint32_t)i;
            else
                ((uint64_t *)args->positions)[to] = i;
        }
}

static void keep_block(const plan *p, relay *r, size_t k, char *buffer) {
    const wi_select_args *args = p->args;
    uint64_t *const marks = (uint64_t *)(void *)buffer;
    char *const kept = buffer + marks_bytes(p), *const rest = kept + area_bytes(p);
    const size_t first = k * p->block, n = elements_of(p, k), count = mark(p, k, marks);
    const char *const x = (const char *)args->x + first * p->width;
    if (args->kept)
        pack(p, x, n, marks, 0, kept);
    if (p->rest)
        pack(p, x, n, marks, UINT64_MAX, rest);
    const uint64_t before = hand_on(r, k, count);
    if (args->kept)
        p->store((char *)args->kept + before * p->width, kept, count * p->width);
    if (p->rest)
        p->store(p->rest + (first - before) * p->width, rest, (n - count) * p->width);
    if (args->positions)
        put_positions(p, first, n, marks, before);
}

static void expand_block(const plan *p, relay *r, size_t k, char *buffer) {
    const wi_select_args *args = p->args;
    uint64_t *const marks = (uint64_t *)(void *)buffer;
    const void *const fill = args->fill ? args->fill : args->fill_bytes;
    const size_t first = k * p->block, n = elements_of(p, k);
    uint64_t from = hand_on(r, k, mark(p, k, marks));
    for (size_t i = 0; i < n; i++) {
        const bool wanted = marks[i / 64] >> i % 64 & 1;
        char *const to = (char *)args->kept + (first + i) * p->width;
        if (wanted && from < args->packed)
            memcpy(to, (const char *)args->x + from * p->width, p->width);
        else if (args->has_fill)
            memcpy(to, fill, p->width);
        from += wanted;
    }
}

static void count_block(const plan *p, relay *r, size_t k, char *buffer) {
    hand_on(r, k, mark(p, k, (uint64_t *)(void *)buffer));
}

typedef void (*block_work)(const plan *p, relay *r, size_t k, char *buffer);

/* Does the work on every block; gives the count of all. */
static uint64_t run_blocks(const plan *p, int team, char *buffers, block_work work) {
    relay r = {.kept = 0};
    atomic_init(&r.taken, 0);
    atomic_init(&r.done, 0);
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
    for (int rank = 0; rank < team; rank++) {
        char *const buffer = buffers + (size_t)rank * p->buffer_bytes;
        for (size_t k; (k = atomic_fetch_add(&r.taken, 1)) < p->blocks;)
            work(p, &r, k, buffer);
    }
    return r.kept;
}

weft_status wi_select_threads(weft_context *ctx, const void *arguments) {
    static const block_work works[WI_SELECT_JOBS] = {[WI_SELECT_KEEP] = keep_block,
                                                     [WI_SELECT_COUNT] = count_block,
                                                     [WI_SELECT_EXPAND] = expand_block};
    const wi_select_args *args = arguments;
    plan p = make_plan(args);
    const size_t wider = p.width > args->tested_bytes ? p.width : args->tested_bytes;
    const int team = wi_team_size(ctx, p.blocks, args->n * wider);
    char *const buffers = wi_host_alloc((size_t)team * p.buffer_bytes);
    if (!buffers)
        return wi_fail(ctx, WEFT_ENOMEM, "select: no host memory for %d buffers of %zu bytes", team,
                       p.buffer_bytes);
    p.rest = args->rest;
    if (args->rest_follows)
        p.rest = (char *)args->kept + run_blocks(&p, team, buffers, count_block) * p.width;
    const uint64_t kept = run_blocks(&p, team, buffers, works[args->job]);
    wi_host_free(buffers);
    if (args->lengths)
        wi_select_take_distances(args, kept);
    if (args->count)
        *args->count = kept;
    return WEFT_OK;
}
