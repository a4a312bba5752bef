/* SPDX-License-Identifier: Apache-2.0 */
/* The roofs of a CPU: how fast all its threads together read, write and copy memory and do
 * multiply-adds, and how long it takes to wake them. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "climb/chains.h"
#include "climb/meter.h"
#include "cpu/team.h"

#if defined(__x86_64__)
#    include <emmintrin.h>
#endif

enum {
    PASSES = 9,
    CHAIN_PASSES = 25,
    PIECE_BYTES = 64, /* each thread's part starts at a cache line */
    PAGE_BYTES = 4096,
    PAGES = 4,          /* read alternately */
    AHEAD_BYTES = 4096, /* how far ahead to prefetch */
    FIRST_LINKS = 1 << 12,
    CALLS = 64, /* of all threads, timed together */
    FILL_BYTE = 1
};

static const double least_chain_seconds = 2e-3;

/* With a sanitizer its checks would be timed, not the memory. */
#define UNCHECKED __attribute__((no_sanitize("address", "undefined")))

/* The exclusive-or of all words: the cheapest operation that makes the processor read them. */
UNCHECKED static uint64_t fold_plain(const uint64_t *p, size_t count) {
    uint64_t folded = 0;
    for (size_t i = 0; i < count; i++)
        folded ^= p[i];
    return folded;
}

/* The same, reading a few pages alternately and prefetching the next few: hardware prefetching
 * stops at page ends, and memory is faster when several pages are read at once. A prefetch beyond
 * the end of the arena does nothing. */
UNCHECKED static uint64_t fold_pages(const uint64_t *p, size_t count) {
    const size_t line = PIECE_BYTES / sizeof *p, page = PAGE_BYTES / sizeof *p;
    const size_t turn = PAGES * page, whole = count / turn * turn;
    uint64_t folded[PIECE_BYTES / sizeof *p] = {0};
    for (size_t base = 0; base < whole; base += turn)
        for (size_t at = 0; at < turn; at += line) {
            const uint64_t *const now =
                p + base + at / line % PAGES * page + at / (line * PAGES) * line;
            __builtin_prefetch((const void *)((uintptr_t)now + PAGES * PAGE_BYTES), 0, 2);
            for (size_t k = 0; k < PIECE_BYTES / sizeof *p; k++)
                folded[k] ^= now[k];
        }
    return fold_plain(folded, line) ^ fold_plain(p + whole, count - whole);
}

typedef uint64_t (*folder)(const uint64_t *p, size_t count);

static void copy_plain(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
}

#if defined(__x86_64__)
/* Copies with streaming stores, which do not first read the lines that they overwrite. */
UNCHECKED static void copy_streaming(void *to, const void *from, size_t bytes) {
    const __m128i *const source = from;
    __m128i *const sink = to;
    for (size_t i = 0; i < bytes / sizeof *sink; i++) {
        if (i % (PIECE_BYTES / sizeof *sink) == 0)
            __builtin_prefetch((const void *)((uintptr_t)&source[i] + AHEAD_BYTES), 0, 2);
        _mm_stream_si128(&sink[i], _mm_load_si128(&source[i]));
    }
    _mm_sfence();
}
#endif

typedef void (*copier)(void *to, const void *from, size_t bytes);

static void fill_plain(void *to, size_t bytes) {
    memset(to, FILL_BYTE, bytes);
}

#if defined(__x86_64__)
/* Fills with streaming stores. */
UNCHECKED static void fill_streaming(void *to, size_t bytes) {
    const __m128i all = _mm_set1_epi8(FILL_BYTE);
    __m128i *const sink = to;
    for (size_t i = 0; i < bytes / sizeof *sink; i++)
        _mm_stream_si128(&sink[i], all);
    _mm_sfence();
}
#endif

typedef void (*filler)(void *to, size_t bytes);

/* The part of `bytes` that a thread does. */
static size_t own_part(size_t bytes, int rank, int team, size_t *start) {
    const size_t pieces = bytes / PIECE_BYTES;
    *start = wi_team_share(pieces, rank, team) * PIECE_BYTES;
    return wi_team_share(pieces, rank + 1, team) * PIECE_BYTES - *start;
}

/* One pass over the arena, with the arguments of the threads. */
typedef struct arena_pass {
    char *arena;
    size_t length;
    folder fold;
    copier copy;
    filler fill;
    _Atomic uint64_t folded;
} arena_pass;

static void fold_part(void *user, int rank, int size) {
    arena_pass *const p = user;
    size_t start;
    const size_t bytes = own_part(p->length, rank, size, &start);
    atomic_fetch_xor(&p->folded, p->fold((const uint64_t *)(void *)(p->arena + start), bytes / 8));
}

static void copy_part(void *user, int rank, int size) {
    const arena_pass *const p = user;
    size_t start;
    const size_t bytes = own_part(p->length, rank, size, &start);
    p->copy(p->arena + start + p->length, p->arena + start, bytes);
}

static void fill_part(void *user, int rank, int size) {
    const arena_pass *const p = user;
    size_t start;
    const size_t bytes = own_part(p->length, rank, size, &start);
    p->fill(p->arena + start, bytes);
}

/* Reads the beginning of the arena. The result is returned only so that the reads are not optimized
 * away. */
static uint64_t read_arena(const wi_meter *meter, size_t length, folder fold) {
    arena_pass pass = {.arena = meter->arena, .length = length, .fold = fold};
    wi_team_run_together(meter->ctx, meter->ctx->threads, fold_part, &pass);
    return pass.folded;
}

/* Half of the arena, rounded down to whole pieces. */
static size_t half_of(const wi_meter *meter) {
    return meter->arena_bytes / (2 * PIECE_BYTES) * PIECE_BYTES;
}

/* Copies the first half of the arena to the second. */
static void copy_arena(const wi_meter *meter, copier copy) {
    arena_pass pass = {.arena = meter->arena, .length = half_of(meter), .copy = copy};
    wi_team_run_together(meter->ctx, meter->ctx->threads, copy_part, &pass);
}

static volatile uint64_t unused; /* takes results, so that they must be computed */

void wi_cpu_flush(const wi_meter *meter) {
    const size_t enough = meter->cache_bytes;
    unused =
        read_arena(meter, enough < meter->arena_bytes ? enough : meter->arena_bytes, fold_plain);
}

static double seconds_of_read(const wi_meter *meter, folder fold) {
    const double start = wi_now();
    unused = read_arena(meter, meter->arena_bytes, fold);
    return wi_now() - start;
}

static weft_status read_rate(const wi_meter *meter, double *rate) {
    double samples[PASSES];
    const double plain = seconds_of_read(meter, fold_plain);
    const folder fold = seconds_of_read(meter, fold_pages) < plain ? fold_pages : fold_plain;
    for (size_t k = 0; k < PASSES; k++)
        samples[k] = seconds_of_read(meter, fold);
    *rate = (double)meter->arena_bytes / wi_median(samples, PASSES);
    return WEFT_OK;
}

static double seconds_of_fill(const wi_meter *meter, filler fill) {
    arena_pass pass = {.arena = meter->arena, .length = 2 * half_of(meter), .fill = fill};
    const double start = wi_now();
    wi_team_run_together(meter->ctx, meter->ctx->threads, fill_part, &pass);
    return wi_now() - start;
}

/* The faster of the two ways to fill; tries each once. */
static filler choose_filler(const wi_meter *meter) {
#if defined(__x86_64__)
    const double plain = seconds_of_fill(meter, fill_plain);
    return seconds_of_fill(meter, fill_streaming) < plain ? fill_streaming : fill_plain;
#else
    seconds_of_fill(meter, fill_plain);
    return fill_plain;
#endif
}

static weft_status write_rate(const wi_meter *meter, double *rate) {
    double samples[PASSES];
    const filler fill = choose_filler(meter);
    for (size_t k = 0; k < PASSES; k++)
        samples[k] = seconds_of_fill(meter, fill);
    *rate = (double)(2 * half_of(meter)) / wi_median(samples, PASSES);
    return WEFT_OK;
}

static double seconds_of_copy(const wi_meter *meter, copier copy) {
    const double start = wi_now();
    copy_arena(meter, copy);
    return wi_now() - start;
}

/* The faster of the two ways to copy; tries each once. */
static copier choose_copier(const wi_meter *meter) {
#if defined(__x86_64__)
    const double plain = seconds_of_copy(meter, copy_plain);
    return seconds_of_copy(meter, copy_streaming) < plain ? copy_streaming : copy_plain;
#else
    seconds_of_copy(meter, copy_plain);
    return copy_plain;
#endif
}

static weft_status copy_rate(const wi_meter *meter, double *rate) {
    double samples[PASSES];
    const copier copy = choose_copier(meter);
    for (size_t k = 0; k < PASSES; k++)
        samples[k] = seconds_of_copy(meter, copy);
    *rate = (double)(2 * half_of(meter)) / wi_median(samples, PASSES);
    return WEFT_OK;
}

/* So many links that the clock's resolution and the waking of threads do not affect the rate. */
static int64_t enough_links(wi_chains_run *run) {
    double seconds;
    int64_t links = FIRST_LINKS;
    do {
        links *= 2;
        const double start = wi_now();
        run(links);
        seconds = wi_now() - start;
    } while (seconds < least_chain_seconds);
    return links;
}

/* The arguments of the threads. */
typedef struct chains_pass {
    wi_chains_run *run;
    int64_t links;
    atomic_int awake;
    double start;
} chains_pass;

static void run_chains(void *user, int rank, int size) {
    chains_pass *const p = user;
    atomic_fetch_add(&p->awake, 1);
    while (atomic_load(&p->awake) < size)
        wi_cpu_relax();
    if (rank == 0)
        p->start = wi_now();
    p->run(p->links);
}

/* Seconds in which every thread does `links` links, counted from when all are awake. */
static double seconds_of_chains(const wi_meter *meter, wi_chains_run *run, int64_t links) {
    chains_pass pass = {.run = run, .links = links};
    wi_team_run_together(meter->ctx, meter->ctx->threads, run_chains, &pass);
    return wi_now() - pass.start;
}

/* The best of several passes: disturbances can only make a pass slower. */
static double chains_rate(const wi_meter *meter, wi_chains_run *run, double flops) {
    const int64_t links = enough_links(run);
    double shortest = INFINITY;
    for (size_t k = 0; k < CHAIN_PASSES; k++)
        shortest = fmin(shortest, seconds_of_chains(meter, run, links));
    return flops * (double)links * (double)meter->ctx->threads / shortest;
}

static weft_status fma_f32_rate(const wi_meter *meter, double *rate) {
    const wi_chains *const chains = WI_OF_ISA(wi_cpu_isa(), wi_chains);
    *rate = chains_rate(meter, chains->f32, chains->f32_flops);
    return WEFT_OK;
}

static weft_status fma_f64_rate(const wi_meter *meter, double *rate) {
    const wi_chains *const chains = WI_OF_ISA(wi_cpu_isa(), wi_chains);
    *rate = chains_rate(meter, chains->f64, chains->f64_flops);
    return WEFT_OK;
}

static void do_nothing(void *user, int rank, int size) {
    (void)user;
    (void)rank;
    (void)size;
}

/* The time to wake all threads. With one thread there are none to wake, and no such roof. */
static weft_status launch_seconds(const wi_meter *meter, double *seconds) {
    double samples[PASSES];
    if (meter->ctx->threads == 1)
        return WEFT_OK;
    for (size_t k = 0; k < PASSES; k++) {
        const double start = wi_now();
        for (int call = 0; call < CALLS; call++)
            wi_team_run_together(meter->ctx, meter->ctx->threads, do_nothing, NULL);
        samples[k] = (wi_now() - start) / CALLS;
    }
    *seconds = wi_median(samples, PASSES);
    return WEFT_OK;
}

weft_status wi_cpu_roof(const wi_meter *meter, wi_roof roof, double *value) {
    static weft_status (*const ways[WI_ROOFS])(const wi_meter *, double *) = {
        [WI_ROOF_READ] = read_rate,       [WI_ROOF_WRITE] = write_rate,
        [WI_ROOF_COPY] = copy_rate,       [WI_ROOF_FMA_F32] = fma_f32_rate,
        [WI_ROOF_FMA_F64] = fma_f64_rate, [WI_ROOF_LAUNCH] = launch_seconds,
    };
    return ways[roof] ? ways[roof](meter, value) : WEFT_OK;
}
