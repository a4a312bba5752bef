/* SPDX-License-Identifier: Apache-2.0 */
/* Races the dense kernels of the sparse Cholesky factorization against OpenBLAS, on one thread: one
 * JSON object a line, the rate of fused multiply-adds first. What works in place is given a fresh
 * copy before every run, on both sides and inside the time. Results are compared before they are
 * timed. `dense_peer quick` leaves out sizes above 512. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matrices.h"
#include "sparse/dense.h"

enum {
    NOTHING_TO_RACE = 77
};

#ifdef WEFT_OPENBLAS_PEER
#    include <cblas.h>
#    ifdef __x86_64__
#        include <immintrin.h>
#    endif

void dpotrf_(const char *part, const int *n, double *a, const int *lda, int *info);

enum {
    LARGEST = 2048,
    FLOPS_A_SAMPLE = 20000000,
    ALIGNED = 64
};

/* Sizes of a call, its matrices, and how often it runs in one sample. */
typedef struct job {
    int m, n, k, ld;
    double *a, *b, *c, *fresh, *room;
    int64_t times;
    void (*once)(struct job *);
} job;

static void renew(job *j) {
    for (int64_t column = 0; column < j->n; column++)
        memcpy(j->c + column * j->ld, j->fresh + column * j->ld, (size_t)j->m * sizeof *j->c);
}

static void check_info(int64_t done, int64_t want) {
    if (done != want) {
        fprintf(stderr, "dense_peer: no positive pivot in column %lld\n", (long long)done);
        exit(1);
    }
}

/* ---- the contestants: C -= A Bt, C -= A At, C = C L^-T, L Lt = C, and a front ---- */

static void our_multiply(job *j) {
    wi_dense_multiply(j->m, j->n, j->k, j->a, j->ld, j->b, j->ld, j->c, j->ld, j->room);
}
static void their_multiply(job *j) {
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, j->m, j->n, j->k, -1, j->a, j->ld, j->b,
                j->ld, 1, j->c, j->ld);
}

static void our_update(job *j) {
    wi_dense_update(j->m, j->k, j->a, j->ld, 0, j->m, j->c, j->ld, j->room);
}
static void their_update(job *j) {
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, j->m, j->k, -1, j->a, j->ld, 1, j->c,
                j->ld);
}

static void our_solve(job *j) {
    renew(j);
    wi_dense_solve_right(j->m, j->n, j->b, j->ld, j->c, j->ld, j->room);
}
static void their_solve(job *j) {
    renew(j);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, j->m, j->n, 1,
                j->b, j->ld, j->c, j->ld);
}

static void our_cholesky(job *j) {
    renew(j);
    check_info(wi_dense_cholesky(j->n, j->c, j->ld, j->room), j->n);
}
static void their_cholesky(job *j) {
    int info;
    renew(j);
    dpotrf_("L", &j->n, j->c, &j->ld, &info);
    check_info(info, 0);
}

/* k columns of m are eliminated from the front C. */
static void our_front(job *j) {
    double *const corner = j->c + j->k + (int64_t)j->k * j->ld;
    renew(j);
    check_info(wi_dense_panel(j->m, j->k, j->c, j->ld, j->room), j->k);
    wi_dense_update(j->m - j->k, j->k, j->c + j->k, j->ld, 0, j->m - j->k, corner, j->ld, j->room);
}
static void their_front(job *j) {
    const int below = j->m - j->k;
    double *const corner = j->c + j->k + (int64_t)j->k * j->ld;
    int info;
    renew(j);
    dpotrf_("L", &j->k, j->c, &j->ld, &info);
    check_info(info, 0);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, below, j->k, 1,
                j->c, j->ld, j->c + j->k, j->ld);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, below, j->k, -1, j->c + j->k, j->ld, 1,
                corner, j->ld);
}

typedef struct contest {
    const char *name;
    void (*ours)(job *), (*theirs)(job *);
    bool triangle; /* the result is a lower triangle */
} contest;

static const contest contests[] = {{"multiply", our_multiply, their_multiply, false},
                                   {"update", our_update, their_update, true},
                                   {"solve_right", our_solve, their_solve, false},
                                   {"cholesky", our_cholesky, their_cholesky, true}};
static const contest fronts = {"front", our_front, their_front, true};

/* ---- matrices ---- */

static double *matrix_of(size_t doubles, uint64_t seed) {
    const size_t bytes = (doubles * sizeof(double) + ALIGNED - 1) / ALIGNED * ALIGNED;
    double *const a = aligned_alloc(ALIGNED, bytes);
    if (!a) {
        fprintf(stderr, "dense_peer: no memory\n");
        exit(1);
    }
    for (size_t i = 0; i < doubles; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        a[i] = (double)(seed >> 33) * 0x1p-31 - 0.5;
    }
    return a;
}

/* B and the fresh C get a diagonal that makes them positive definite and well conditioned. */
static job job_of(int m, int n, int k, double *room) {
    const int wide = k > n ? k : n, ld = (m > n ? m : n) + ALIGNED / (int)sizeof(double);
    const size_t doubles = (size_t)ld * (size_t)wide;
    const job j = {.m = m,
                   .n = n,
                   .k = k,
                   .ld = ld,
                   .a = matrix_of(doubles, 2),
                   .b = matrix_of(doubles, 3),
                   .c = matrix_of(doubles, 4),
                   .fresh = matrix_of(doubles, 5),
                   .room = room};
    for (int64_t i = 0; i < n; i++)
        j.b[i + i * ld] = j.fresh[i + i * ld] = n + 1;
    return j;
}

static void free_job(job *j) {
    free(j->a);
    free(j->b);
    free(j->c);
    free(j->fresh);
}

/* ---- the race ---- */

static double flops_of(const contest *c, const job *j) {
    const double m = j->m, n = j->n, k = j->k;
    if (c == &fronts)
        return k * k * k / 3 + (m - k) * k * k + (m - k) * (m - k) * k;
    if (c == &contests[0])
        return 2 * m * n * k;
    if (c == &contests[1])
        return m * m * k;
    return c == &contests[2] ? m * n * n : n * n * n / 3;
}

static void run_sample(void *what) {
    job *const j = what;
    for (int64_t t = 0; t < j->times; t++)
        j->once(j);
}

static double seconds_of(job *j, void (*once)(job *)) {
    j->once = once;
    return median_seconds(run_sample, j) / (double)j->times;
}

/* The largest difference of the two results, which start from the same matrix. */
static double difference(const contest *c, job *j) {
    double *const kept = malloc((size_t)j->ld * (size_t)j->n * sizeof *kept), most = 0;
    if (!kept)
        exit(1);
    renew(j);
    c->ours(j);
    memcpy(kept, j->c, (size_t)j->ld * (size_t)j->n * sizeof *kept);
    renew(j);
    c->theirs(j);
    for (int64_t column = 0; column < j->n; column++)
        for (int64_t i = c->triangle ? column : 0; i < j->m; i++) {
            const double d = fabs(j->c[i + column * j->ld] - kept[i + column * j->ld]);
            most = d <= most ? most : d;
        }
    free(kept);
    return most;
}

static void race(const contest *c, int m, int n, int k, double *room) {
    job made = job_of(m, n, k, room), *const j = &made;
    const double flops = flops_of(c, j);
    const double d = difference(c, j);
    if (!(d <= 1e-12 * (j->k + j->n))) {
        fprintf(stderr, "dense_peer: %s of %d: results differ by %g\n", c->name, j->m, d);
        exit(1);
    }
    j->times = (int64_t)(FLOPS_A_SAMPLE / flops) + 1;
    const double ours = seconds_of(j, c->ours), theirs = seconds_of(j, c->theirs);
    printf("{\"op\": \"sparse_dense\", \"variant\": \"%s\", \"peer\": \"OpenBLAS %s\", "
           "\"threads\": 1, \"m\": %d, \"n\": %d, \"k\": %d, \"seconds\": %.4g, "
           "\"peer_seconds\": %.4g, \"gflops\": %.3g, \"peer_gflops\": %.3g, "
           "\"time_ratio\": %.3f}\n",
           c->name, openblas_get_corename(), j->m, j->n, j->k, ours, theirs, 1e-9 * flops / ours,
           1e-9 * flops / theirs, ours / theirs);
    fflush(stdout);
    free_job(j);
}

/* ---- the roof: sixteen chains of fused multiply-adds in registers ---- */

enum {
    CHAINS = 16,
    LINKS = 200000
};
static double sums[CHAINS * 8];

#    ifdef __x86_64__
__attribute__((target("avx512f"))) static void chains_avx512(void *lanes) {
    __m512d s[CHAINS];
    const __m512d x = _mm512_set1_pd(0.999);
    for (int c = 0; c < CHAINS; c++)
        s[c] = _mm512_set1_pd(c);
    for (int i = 0; i < LINKS; i++)
#        pragma GCC unroll 16
        for (int c = 0; c < CHAINS; c++)
            s[c] = _mm512_fmadd_pd(s[c], x, x);
    for (int c = 0; c < CHAINS; c++)
        _mm512_storeu_pd(sums + (size_t)8 * (size_t)c, s[c]);
    *(int *)lanes = 8;
}
__attribute__((target("avx2,fma"))) static void chains_avx2(void *lanes) {
    __m256d s[CHAINS];
    const __m256d x = _mm256_set1_pd(0.999);
    for (int c = 0; c < CHAINS; c++)
        s[c] = _mm256_set1_pd(c);
    for (int i = 0; i < LINKS; i++)
#        pragma GCC unroll 16
        for (int c = 0; c < CHAINS; c++)
            s[c] = _mm256_fmadd_pd(s[c], x, x);
    for (int c = 0; c < CHAINS; c++)
        _mm256_storeu_pd(sums + (size_t)8 * (size_t)c, s[c]);
    *(int *)lanes = 4;
}

static void print_roof(void) {
    int lanes = 0;
    void (*const chains)(void *) = __builtin_cpu_supports("avx512f") ? chains_avx512 : chains_avx2;
    if (!__builtin_cpu_supports("fma"))
        return;
    const double seconds = median_seconds(chains, &lanes);
    printf("{\"op\": \"sparse_dense\", \"variant\": \"fma\", \"threads\": 1, \"gflops\": %.3g}\n",
           2e-9 * lanes * CHAINS * LINKS / seconds);
}
#    else
static void print_roof(void) {}
#    endif

int main(int argc, char **argv) {
    static const int sizes[] = {4,  8,   12,  16,  24,  32,  48,   64,
                                96, 128, 192, 256, 384, 512, 1024, 2048};
    static const int shapes[][2] = {{5, 1},   {12, 3},   {20, 4},   {40, 8},    {60, 20},
                                    {80, 16}, {150, 32}, {300, 64}, {600, 128}, {1000, 300}};
    const int most = argc > 1 && strcmp(argv[1], "quick") == 0 ? 512 : LARGEST;
    double *const room = matrix_of((size_t)wi_dense_room(LARGEST, LARGEST, LARGEST), 1);
    openblas_set_num_threads(1);
    print_roof();
    for (size_t c = 0; c < sizeof contests / sizeof *contests; c++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes && sizes[s] <= most; s++)
            race(&contests[c], sizes[s], sizes[s], sizes[s], room);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        race(&fronts, shapes[s][0], shapes[s][0], shapes[s][1], room);
    free(room);
    return 0;
}
#else
int main(void) {
    fprintf(stderr, "dense_peer: built without OpenBLAS; install libopenblas-dev\n");
    return NOTHING_TO_RACE;
}
#endif
