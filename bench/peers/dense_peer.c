/* SPDX-License-Identifier: Apache-2.0 */
/* Races whole fronts of the sparse Cholesky factorization, k columns eliminated from m, against
 * OpenBLAS's dpotrf, dtrsm and dsyrk, on one thread: one JSON object a line, the rate of fused
 * multiply-adds first. A front is given a fresh copy before every run, on both sides and inside the
 * time. Results are compared before they are timed. `dense_peer quick` leaves out sizes above 512.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matrices.h"
#include "sparse/front.h"

enum {
    NOTHING_TO_RACE = 77
};

#ifdef WEFT_OPENBLAS_PEER
#    include <cblas.h>

#    include "climb/chains.h"

void dpotrf_(const char *part, const int *n, double *a, const int *lda, int *info);

enum {
    LARGEST = 4096,
    FLOPS_A_SAMPLE = 20000000,
    ALIGNED = 64
};

/* A front, by blocks as the factorization has it and as one matrix, and how often it is done in one
 * sample. */
typedef struct job {
    int m, k;
    wi_front front;
    double *fresh, *room; /* panel and update, one after the other as in front */
    double *theirs, *their_fresh;
    int64_t times;
    void (*once)(struct job *);
} job;

static int64_t front_entries(const job *j) {
    return wi_block_entries(j->m, j->k) + wi_update_entries(j->m, j->k);
}

static void check_done(int64_t done, int64_t want) {
    if (done != want) {
        fprintf(stderr, "dense_peer: no positive pivot in column %lld\n", (long long)done);
        exit(1);
    }
}

static void our_front(job *j) {
    wi_thread_group group = wi_thread_group_of_one(0);
    int64_t failed = j->k;
    memcpy(j->front.panel, j->fresh, (size_t)front_entries(j) * sizeof *j->fresh);
    check_done(wi_front_factor(&group, &j->front, j->room, &failed), j->k);
}

static void their_front(job *j) {
    const int below = j->m - j->k;
    double *const corner = j->theirs + j->k + (int64_t)j->k * j->m;
    int info;
    for (int64_t column = 0; column < j->m; column++)
        memcpy(j->theirs + column * j->m + column, j->their_fresh + column * j->m + column,
               (size_t)(j->m - column) * sizeof *j->theirs);
    dpotrf_("L", &j->k, j->theirs, &j->m, &info);
    check_done(info, 0);
    if (below == 0)
        return;
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, below, j->k, 1,
                j->theirs, j->m, j->theirs + j->k, j->m);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, below, j->k, -1, j->theirs + j->k, j->m, 1,
                corner, j->m);
}

/* ---- matrices ---- */

static double *array_of(int64_t doubles) {
    const size_t bytes = ((size_t)doubles * sizeof(double) / ALIGNED + 1) * ALIGNED;
    double *const a = aligned_alloc(ALIGNED, bytes);
    if (!a) {
        fprintf(stderr, "dense_peer: no memory\n");
        exit(1);
    }
    memset(a, 0, bytes);
    return a;
}

/* Column c of the front by blocks; row i of it, i >= c, is at [i]. */
static double *our_column(const job *j, double *entries, int64_t c) {
    if (c < j->k)
        return entries + wi_block_column_at(j->m, c);
    return entries + wi_block_entries(j->m, j->k) + wi_block_column_at(j->m - j->k, c - j->k) -
           j->k;
}

/* Entries up to 1/2, and a diagonal that makes the matrix positive definite. */
static job job_of(int m, int k) {
    job j = {.m = m, .k = k};
    uint64_t seed = 2;
    j.front = (wi_front){.height = m, .columns = k, .panel = array_of(front_entries(&j))};
    j.front.update = j.front.panel + wi_block_entries(m, k);
    j.fresh = array_of(front_entries(&j));
    j.theirs = array_of((int64_t)m * m);
    j.their_fresh = array_of((int64_t)m * m);
    j.room = array_of(wi_dense_packed(m, k));
    for (int64_t c = 0; c < m; c++)
        for (int64_t i = c; i < m; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const double entry = i == c ? m + 1 : (double)(seed >> 33) * 0x1p-31 - 0.5;
            j.their_fresh[i + c * m] = our_column(&j, j.fresh, c)[i] = entry;
        }
    return j;
}

static void free_job(job *j) {
    free(j->front.panel);
    free(j->fresh);
    free(j->theirs);
    free(j->their_fresh);
    free(j->room);
}

/* ---- the race ---- */

static void run_sample(void *what) {
    job *const j = what;
    for (int64_t t = 0; t < j->times; t++)
        j->once(j);
}

static double seconds_of(job *j, void (*once)(job *)) {
    j->once = once;
    return median_seconds(run_sample, j) / (double)j->times;
}

/* The largest difference between results. */
static double difference(job *j) {
    double most = 0;
    our_front(j);
    their_front(j);
    for (int64_t c = 0; c < j->m; c++)
        for (int64_t i = c; i < j->m; i++) {
            const double d = fabs(our_column(j, j->front.panel, c)[i] - j->theirs[i + c * j->m]);
            most = d <= most ? most : d;
        }
    return most;
}

static void race(const char *variant, int m, int k) {
    job made = job_of(m, k), *const j = &made;
    const double rest = m - k, flops = k * (double)k * k / 3 + rest * k * k + rest * rest * k;
    const double d = difference(j);
    if (!(d <= 1e-12 * m)) {
        fprintf(stderr, "dense_peer: results for m %d, k %d differ by %g\n", m, k, d);
        exit(1);
    }
    j->times = (int64_t)(FLOPS_A_SAMPLE / flops) + 1;
    const double ours = seconds_of(j, our_front), theirs = seconds_of(j, their_front);
    printf("{\"op\": \"sparse_dense\", \"variant\": \"%s\", \"peer\": \"OpenBLAS %s\", "
           "\"threads\": 1, \"m\": %d, \"k\": %d, \"seconds\": %.4g, \"peer_seconds\": %.4g, "
           "\"gflops\": %.3g, \"peer_gflops\": %.3g, \"time_ratio\": %.3f}\n",
           variant, openblas_get_corename(), m, k, ours, theirs, 1e-9 * flops / ours,
           1e-9 * flops / theirs, ours / theirs);
    fflush(stdout);
    free_job(j);
}

/* ---- the roof: multiply-adds in registers ---- */

enum {
    LINKS = 200000
};

static void run_chains(void *chains) {
    ((const wi_chains *)chains)->f64(LINKS);
}

static void print_roof(void) {
    wi_chains chains = *WI_OF_ISA(wi_cpu_isa(), wi_chains);
    const double seconds = median_seconds(run_chains, &chains);
    printf("{\"op\": \"sparse_dense\", \"variant\": \"fma\", \"threads\": 1, \"gflops\": %.3g}\n",
           1e-9 * chains.f64_flops * LINKS / seconds);
}

int main(int argc, char **argv) {
    static const int squares[] = {4,   8,   12,  16,  24,  32,   48,   64,  96,
                                  128, 192, 256, 384, 512, 1024, 2048, 4096};
    static const int shapes[][2] = {{5, 1},      {12, 3},     {20, 4},     {40, 8},
                                    {60, 20},    {80, 16},    {150, 32},   {300, 64},
                                    {500, 128},  {600, 128},  {1000, 300}, {2048, 64},
                                    {2048, 128}, {2048, 256}, {3000, 1000}};
    const int most = argc > 1 && strcmp(argv[1], "quick") == 0 ? 512 : LARGEST;
    openblas_set_num_threads(1);
    print_roof();
    for (size_t s = 0; s < sizeof squares / sizeof *squares; s++)
        if (squares[s] <= most)
            race("cholesky", squares[s], squares[s]);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        if (shapes[s][0] <= most)
            race("front", shapes[s][0], shapes[s][1]);
    return 0;
}
#else
int main(void) {
    fprintf(stderr, "dense_peer: built without OpenBLAS; install libopenblas-dev\n");
    return NOTHING_TO_RACE;
}
#endif
