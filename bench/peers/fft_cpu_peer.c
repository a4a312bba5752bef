/* SPDX-License-Identifier: Apache-2.0 */
/* Races weft_fft on a cpu against FFTW 3 (plans by FFTW_MEASURE, threads), in turns on the same
 * arrays, out of place; the least time of all turns counts. One JSON object a line, and in the end
 * the geometric mean. `fft_cpu_peer [PLACE [N...]]`: cpu:2, and powers of 2 and mixed lengths, if
 * none are named. Short lines are transformed in batches of 2^16 numbers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "weft/weft.h"

#if WEFT_FFTW_PEER
#    include <fftw3.h>

enum {
    LEAST_TURNS = 7,
    LEAST_NUMBERS = 1 << 16
};

static void require(weft_context *ctx, weft_status status) {
    if (status == WEFT_OK)
        return;
    fprintf(stderr, "fft_cpu_peer: %s\n", weft_message(ctx));
    exit(1);
}

static void *take(size_t bytes) {
    void *const p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!p) {
        fprintf(stderr, "fft_cpu_peer: no memory\n");
        exit(1);
    }
    memset(p, 0, bytes);
    return p;
}

/* A plan of either precision. */
typedef struct plan {
    fftw_plan f64;
    fftwf_plan f32;
} plan;

static plan plan_of(weft_type type, int n, int batch, void *x, void *y) {
    plan p = {NULL, NULL};
    if (type == WEFT_F64)
        p.f64 = fftw_plan_many_dft(1, &n, batch, x, NULL, 1, n, y, NULL, 1, n, FFTW_FORWARD,
                                   FFTW_MEASURE);
    else
        p.f32 = fftwf_plan_many_dft(1, &n, batch, x, NULL, 1, n, y, NULL, 1, n, FFTW_FORWARD,
                                    FFTW_MEASURE);
    return p;
}

static void execute(const plan *p) {
    if (p->f64)
        fftw_execute(p->f64);
    else
        fftwf_execute(p->f32);
}

static void drop(plan *p) {
    if (p->f64)
        fftw_destroy_plan(p->f64);
    if (p->f32)
        fftwf_destroy_plan(p->f32);
}

static void fill(weft_type type, void *x, size_t n) {
    uint64_t seed = 1;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const double v = (double)(seed >> 33) * 0x1p-31 - 0.5;
        if (type == WEFT_F64)
            ((double *)x)[i] = v;
        else
            ((float *)x)[i] = (float)v;
    }
}

static double value_at(weft_type type, const void *x, size_t i) {
    return type == WEFT_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static double difference(weft_type type, const void *a, const void *b, size_t n) {
    double wrong = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        const double u = value_at(type, a, i), v = value_at(type, b, i);
        wrong += (u - v) * (u - v);
        size += u * u;
    }
    return sqrt(wrong / size);
}

/* FFTW's time over ours. */
static double run(weft_context *ctx, weft_type type, size_t n) {
    const size_t batch = n < LEAST_NUMBERS ? LEAST_NUMBERS / n : 1, numbers = n * batch;
    const size_t bytes = numbers * 2 * weft_type_size(type);
    void *const x = take(bytes), *const y = take(bytes), *const z = take(bytes);
    const weft_fft_description d = {.type = type, .rank = 1, .n = {n}, .batch = batch};
    plan p = plan_of(type, (int)n, (int)batch, x, z);
    double ours = 1e9, theirs = 1e9;
    const double begin = now();
    fill(type, x, 2 * numbers);
    require(ctx, weft_fft_prepare(ctx, &d));
    for (int turn = 0; turn < LEAST_TURNS || now() - begin < 0.4; turn++) {
        double at = now();
        require(ctx, weft_fft(ctx, &d, x, y));
        const double took = now() - at;
        at = now();
        execute(&p);
        const double other = now() - at;
        ours = took < ours ? took : ours;
        theirs = other < theirs ? other : theirs;
    }
    const double wrong = difference(type, z, y, 2 * numbers);
    printf("{\"op\":\"fft\",\"type\":\"%s\",\"n\":%zu,\"batch\":%zu,\"variant\":\"%s\",\"seconds\":"
           "%.4g,"
           "\"gflops\":%.2f,\"peer\":\"FFTW\",\"peer_seconds\":%.4g,\"peer_ratio\":%.3f,"
           "\"difference\":%.2g}\n",
           weft_type_name(type), n, batch, weft_used(ctx, "fft"), ours,
           5e-9 * (double)numbers * log2((double)n) / ours, theirs, theirs / ours, wrong);
    fflush(stdout);
    drop(&p);
    free(x);
    free(y);
    free(z);
    return theirs / ours;
}

int main(int argc, char **argv) {
    static const size_t mixed[] = {12,    15,    20,    36,    60,    84,    100,   105,
                                   120,   144,   225,   240,   360,   420,   500,   625,
                                   720,   729,   1000,  1001,  1331,  1500,  2187,  2310,
                                   2401,  3000,  4050,  5000,  6561,  10000, 12000, 15625,
                                   16807, 19683, 27000, 30030, 44100, 50000, 65610, 100000};
    weft_context *ctx = NULL;
    double sum = 0;
    int count = 0;
    const char *const place = argc > 1 ? argv[1] : "cpu:2";
    require(NULL, weft_open(&ctx, place));
    fftw_init_threads();
    fftwf_init_threads();
    const int threads = strncmp(place, "cpu:", 4) == 0 ? atoi(place + 4) : 1;
    fftw_plan_with_nthreads(threads);
    fftwf_plan_with_nthreads(threads);
    for (int t = 0; t < 2; t++) {
        const weft_type type = t ? WEFT_F64 : WEFT_F32;
        for (int k = 2; k < argc; k++, count++)
            sum += log(run(ctx, type, (size_t)strtoull(argv[k], NULL, 10)));
        for (int bits = 4; argc <= 2 && bits <= 24; bits++, count++)
            sum += log(run(ctx, type, (size_t)1 << bits));
        for (size_t k = 0; argc <= 2 && k < sizeof mixed / sizeof *mixed; k++, count++)
            sum += log(run(ctx, type, mixed[k]));
    }
    printf("{\"op\":\"fft\",\"geometric_mean\":%.3f,\"lengths\":%d}\n", exp(sum / count), count);
    weft_close(ctx);
    return 0;
}
#else
int main(void) {
    fprintf(stderr, "fft_cpu_peer: no race: FFTW 3 was not there when this was compiled\n");
    return 77;
}
#endif
