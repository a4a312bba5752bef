/* SPDX-License-Identifier: Apache-2.0 */
/* Exact sums on a cpu beside a loop in double-double and beside reading, in turns on the same
 * array; the least time of all turns counts. `exact_cpu_peer [PLACE [LOG2_N]]`: cpu:2 and 2^26; the
 * loops have as many threads as the place. One JSON object for each type. The loops keep 32 sums
 * each, and are compiled for the vectors of the processor. */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "weft/weft.h"

enum {
    TURNS = 15,
    MOST_THREADS = 64,
    LANES = 32
};

#if defined(__x86_64__) && !defined(__clang__)
#    define FOR_ALL_VECTORS __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#    define FOR_ALL_VECTORS
#endif

/* A thread's part of an array; what its loop finds. */
typedef struct part {
    const void *x;
    size_t n;
    double high, low;
    uint64_t bits;
} part;

static void fail(const char *why) {
    fprintf(stderr, "exact_cpu_peer: %s\n", why);
    exit(1);
}

/* ---- loops ---- */

#define DOUBLE_DOUBLE(NAME, T)                                                                     \
    FOR_ALL_VECTORS static void NAME(const T *restrict x, size_t n, double *restrict high,         \
                                     double *restrict low) {                                       \
        size_t i = 0;                                                                              \
        for (; i + LANES <= n; i += LANES)                                                         \
            for (int k = 0; k < LANES; k++) {                                                      \
                const double v = (double)x[i + (size_t)k], sum = high[k] + v,                      \
                             of_v = sum - high[k];                                                 \
                low[k] += (high[k] - (sum - of_v)) + (v - of_v);                                   \
                high[k] = sum;                                                                     \
            }                                                                                      \
        for (; i < n; i++)                                                                         \
            low[0] += (double)x[i];                                                                \
    }
DOUBLE_DOUBLE(double_double_f64, double)
DOUBLE_DOUBLE(double_double_f32, float)

FOR_ALL_VECTORS static void read_words(const uint64_t *restrict x, size_t n,
                                       uint64_t *restrict bits) {
    for (size_t i = 0; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            bits[k] ^= x[i + (size_t)k];
}

static void join(part *p, const double *high, const double *low) {
    p->high = p->low = 0;
    for (int k = 0; k < LANES; k++) {
        const double sum = p->high + high[k], of_h = sum - p->high;
        p->low += (p->high - (sum - of_h)) + (high[k] - of_h) + low[k];
        p->high = sum;
    }
}

static void *add_f64(void *user) {
    part *const p = user;
    double high[LANES] = {0}, low[LANES] = {0};
    double_double_f64(p->x, p->n, high, low);
    join(p, high, low);
    return NULL;
}

static void *add_f32(void *user) {
    part *const p = user;
    double high[LANES] = {0}, low[LANES] = {0};
    double_double_f32(p->x, p->n, high, low);
    join(p, high, low);
    return NULL;
}

static void *read_all(void *user) {
    part *const p = user;
    uint64_t bits[LANES] = {0};
    read_words(p->x, p->n, bits);
    for (int k = 0; k < LANES; k++)
        p->bits ^= bits[k];
    return NULL;
}

/* Seconds of a loop over n elements of `width` bytes, by all threads; *sum: of double-double. */
static double time_loop(void *(*loop)(void *), int threads, const void *x, size_t n, size_t width,
                        double *sum) {
    pthread_t thread[MOST_THREADS];
    part parts[MOST_THREADS] = {0};
    const double begin = now();
    for (int t = 0; t < threads; t++) {
        const size_t from = n * (size_t)t / (size_t)threads;
        const size_t end = n * (size_t)(t + 1) / (size_t)threads;
        parts[t].x = (const char *)x + from * width;
        parts[t].n = end - from;
        if (t > 0 && pthread_create(&thread[t], NULL, loop, &parts[t]) != 0)
            fail("no thread");
    }
    loop(&parts[0]);
    double high = parts[0].high, low = parts[0].low;
    for (int t = 1; t < threads; t++) {
        pthread_join(thread[t], NULL);
        const double both = high + parts[t].high, of = both - high;
        low += (high - (both - of)) + (parts[t].high - of) + parts[t].low;
        high = both;
    }
    const double seconds = now() - begin;
    *sum = high + low;
    return seconds;
}

/* ---- the race ---- */

static void race(weft_context *ctx, weft_type type, size_t n, int threads) {
    const size_t width = weft_type_size(type), bytes = n * width;
    void *const x = aligned_alloc(64, bytes);
    double ours = 1e9, theirs = 1e9, reading = 1e9, exact = 0, sum = 0, unused;
    uint64_t seed = 1;
    if (!x)
        fail("no memory");
    for (size_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const double v = (double)(seed >> 33) * 0x1p-30 - 1;
        if (type == WEFT_F64)
            ((double *)x)[i] = v;
        else
            ((float *)x)[i] = (float)v;
    }
    for (int turn = 0; turn < TURNS; turn++) {
        const double begin = now();
        if (weft_exact_reduce(ctx, WEFT_SUM, type, n, x, WEFT_F64, &exact) != WEFT_OK)
            fail(weft_message(ctx));
        ours = fmin(ours, now() - begin);
        theirs = fmin(theirs,
                      time_loop(type == WEFT_F64 ? add_f64 : add_f32, threads, x, n, width, &sum));
        reading = fmin(reading, time_loop(read_all, threads, x, bytes / 8, 8, &unused));
    }
    printf("{\"op\":\"exact\",\"type\":\"%s\",\"n\":%zu,\"variant\":\"%s\",\"seconds\":%.4g,"
           "\"bytes_per_s\":%.3e,\"roof_bytes_per_s\":%.3e,\"roof_share\":%.3f,"
           "\"peer\":\"double_double\",\"peer_seconds\":%.4g,\"peer_ratio\":%.3f,"
           "\"peer_error\":%.2g}\n",
           weft_type_name(type), n, weft_used(ctx, "exact"), ours, (double)bytes / ours,
           (double)bytes / reading, reading / ours, theirs, theirs / ours,
           fabs(sum - exact) / fabs(exact));
    fflush(stdout);
    free(x);
}

int main(int argc, char **argv) {
    const char *const place = argc > 1 ? argv[1] : "cpu:2";
    const size_t n = (size_t)1 << (argc > 2 ? atoi(argv[2]) : 26);
    const int named = strncmp(place, "cpu:", 4) == 0 ? atoi(place + 4) : 1;
    const int threads = named > MOST_THREADS ? MOST_THREADS : named;
    weft_context *ctx = NULL;
    if (weft_open(&ctx, place) != WEFT_OK)
        fail(weft_message(NULL));
    race(ctx, WEFT_F64, n, threads);
    race(ctx, WEFT_F32, n, threads);
    weft_close(ctx);
    return 0;
}
