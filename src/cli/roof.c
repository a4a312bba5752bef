/* SPDX-License-Identifier: Apache-2.0 */
/* The roofs of a CPU: how fast all its threads together can read, and copy, memory. */
#include <omp.h>
#include <string.h>
#include <unistd.h>

#include "cli/meter.h"

#if defined(__x86_64__)
#    include <emmintrin.h>
#endif

enum {
    PASSES = 9,
    USUAL_CACHE_BYTES = 32 << 20, /* where the system does not tell */
    PIECE_BYTES = 64              /* threads start at cache lines */
};

size_t wi_cpu_cache_bytes(void) {
    const long level_3 = sysconf(_SC_LEVEL3_CACHE_SIZE), level_2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    const long last = level_3 > 0 ? level_3 : level_2;
    return last > 0 ? (size_t)last : USUAL_CACHE_BYTES;
}

/* Exclusive or of all words: the cheapest use that still makes the processor fetch them. Wider
 * vectors or more chains make it no faster: the memory is what takes the time. */
static uint64_t fold(const uint64_t *p, size_t count) {
    uint64_t folded = 0;
    for (size_t i = 0; i < count; i++)
        folded ^= p[i];
    return folded;
}

static void copy_plain(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
}

#if defined(__x86_64__)
/* Copies past the caches, which spares the reading of lines that will be overwritten. */
static void copy_streaming(void *to, const void *from, size_t bytes) {
    const __m128i *const source = from;
    __m128i *const sink = to;
    for (size_t i = 0; i < bytes / sizeof *sink; i++)
        _mm_stream_si128(&sink[i], _mm_load_si128(&source[i]));
    _mm_sfence();
}
#endif

typedef void (*copier)(void *to, const void *from, size_t bytes);

/* The part of `bytes` that belongs to the calling thread. */
static size_t own_part(size_t bytes, size_t *start) {
    const size_t pieces = bytes / PIECE_BYTES, team = (size_t)omp_get_num_threads();
    const size_t me = (size_t)omp_get_thread_num();
    *start = pieces * me / team * PIECE_BYTES;
    return pieces * (me + 1) / team * PIECE_BYTES - *start;
}

/* Reads the whole arena once. The result is of no use but keeps the reads from being left out. */
static uint64_t read_arena(const wi_meter *meter) {
    uint64_t folded = 0;
#pragma omp parallel num_threads(meter->ctx->threads) reduction(^ : folded)
    {
        size_t start;
        const size_t bytes = own_part(meter->arena_bytes, &start);
        folded ^= fold((const uint64_t *)((const char *)meter->arena + start), bytes / 8);
    }
    return folded;
}

/* Copies the first half of the arena to the second. */
static void copy_arena(const wi_meter *meter, copier copy) {
    const size_t half = meter->arena_bytes / 2;
#pragma omp parallel num_threads(meter->ctx->threads)
    {
        size_t start;
        const size_t bytes = own_part(half, &start);
        char *const from = (char *)meter->arena + start;
        copy(from + half, from, bytes);
    }
}

static volatile uint64_t unused; /* where results that nobody needs go */

void wi_cpu_flush(const wi_meter *meter) {
    unused = read_arena(meter);
}

static double read_rate(const wi_meter *meter) {
    double samples[PASSES];
    wi_cpu_flush(meter);
    for (size_t k = 0; k < PASSES; k++) {
        const double start = wi_now();
        wi_cpu_flush(meter);
        samples[k] = wi_now() - start;
    }
    return (double)meter->arena_bytes / wi_median(samples, PASSES);
}

static double copy_rate(const wi_meter *meter, copier copy) {
    double samples[PASSES];
    copy_arena(meter, copy);
    for (size_t k = 0; k < PASSES; k++) {
        const double start = wi_now();
        copy_arena(meter, copy);
        samples[k] = wi_now() - start;
    }
    const size_t half = meter->arena_bytes / 2; /* copied: read once and written once */
    return 2.0 * (double)half / wi_median(samples, PASSES);
}

weft_status wi_cpu_roof(const wi_meter *meter, wi_roof roof, double *rate) {
    if (roof == WI_ROOF_LINK)
        return wi_fail(meter->ctx, WEFT_EUNSUPPORTED, "a cpu place has no link to measure");
    if (roof == WI_ROOF_READ) {
        *rate = read_rate(meter);
        return WEFT_OK;
    }
    *rate = copy_rate(meter, copy_plain);
#if defined(__x86_64__)
    const double streaming = copy_rate(meter, copy_streaming);
    *rate = streaming > *rate ? streaming : *rate;
#endif
    return WEFT_OK;
}
