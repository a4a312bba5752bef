/* SPDX-License-Identifier: Apache-2.0 */
/* One rank dies in the middle of an operation; the others must hear of it within seconds. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "core/core.h"
#include "dist.h"
#include "sparse/chol.h"
#include "sparse/generate.h"
#include "weft/fft.h"
#include "weft/gemm.h"
#include "weft/lu.h"
#include "weft/nbody.h"

enum {
    EDGE = 64,          /* rows of matrices, and columns of a rank */
    N = EDGE * EDGE,    /* elements of an array */
    TURNS = 5,          /* calls before the rank dies */
    MOST_US = 30 * 1000 /* until then, from the beginning of a call on */
};

static double x[2 * N], y[2 * N], z[2 * N];
static int64_t pivots[EDGE];

static weft_status kill_sort(weft_context *ctx) {
    return weft_sort(ctx, WEFT_ASCENDING, WEFT_F64, N, x, y);
}

static weft_status kill_scan(weft_context *ctx) {
    return weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, WEFT_F64, N, x, y, NULL);
}

static weft_status kill_reduce(weft_context *ctx) {
    return weft_reduce(ctx, WEFT_SUM, WEFT_F64, N, x, y);
}

/* Panels travel while others are multiplied. */
static weft_status kill_gemm(weft_context *ctx) {
    const size_t k = EDGE / (size_t)dist_ranks;
    return weft_gemm(ctx, 0, WEFT_F64, WEFT_F64, EDGE, EDGE, k, 1, x, EDGE, y, EDGE, 0, z, EDGE);
}

/* The broadcast of a block goes on in the background. */
static weft_status kill_lu(weft_context *ctx) {
    memcpy(y, x, N * sizeof *y);
    return weft_lu_factor(ctx, 0, WEFT_F64, EDGE, EDGE / (size_t)dist_ranks, y, EDGE, pivots);
}

/* The ranks of a row, and of a column, of the grid communicate apart from the others. */
static weft_status kill_lu_grid(weft_context *ctx) {
    const weft_status status = weft_use(ctx, "lu", "ranks_grid");
    return status == WEFT_OK ? kill_lu(ctx) : status;
}

/* So do exchanges. */
static weft_status kill_fft(weft_context *ctx) {
    const weft_fft_description d = {
        .type = WEFT_F64, .rank = 2, .n = {EDGE * (size_t)dist_ranks, EDGE}, .batch = 1};
    return weft_fft(ctx, &d, x, y);
}

static weft_status kill_nbody(weft_context *ctx) {
    const weft_nbody system = {.type = WEFT_F64, .n = N / 4, .softening = 0.5, .tolerance = 1e-2};
    return weft_nbody_accelerations(ctx, &system, x, NULL, y, NULL, NULL);
}

/* Subtrees are dealt out, and updates sent to their parents' ranks; then a solve. */
static weft_status kill_sparse(weft_context *ctx) {
    static weft_sparse *matrix;
    static weft_chol *plan;
    const wi_recipe recipe = {.n = EDGE};
    weft_status status = WEFT_OK;
    if (!matrix)
        status = wi_find_generator("laplace2d")->make(ctx, "test", &recipe, &matrix);
    if (status == WEFT_OK && !plan)
        status = weft_chol_analyze(ctx, matrix, NULL, &plan);
    if (status != WEFT_OK)
        return status;
    plan->least_work = 0;
    status = weft_chol_factor(ctx, plan, matrix);
    return status == WEFT_OK ? weft_chol_solve(ctx, plan, matrix, NULL, 1, x, N, y, N) : status;
}

static const struct {
    const char *name;
    weft_status (*call)(weft_context *ctx);
} calls[] = {{"sort", kill_sort}, {"scan", kill_scan},   {"reduce", kill_reduce},
             {"gemm", kill_gemm}, {"lu", kill_lu},       {"lu_grid", kill_lu_grid},
             {"fft", kill_fft},   {"nbody", kill_nbody}, {"sparse", kill_sparse}};

/* This process is killed a little later, whatever it does then. */
static void die_soon(void) {
    test_random r = test_random_at(85);
    const struct itimerval after = {.it_value.tv_usec = 1 + (long)test_below(&r, MOST_US)};
    printf("rank %d dies after %ld us\n", dist_rank, (long)after.it_value.tv_usec);
    fflush(stdout);
    signal(SIGALRM, SIG_DFL);
    setitimer(ITIMER_REAL, &after, NULL);
}

static weft_status call_until_it_fails(weft_context *ctx, weft_status (*call)(weft_context *ctx),
                                       int culprit, double *begin) {
    weft_status status = WEFT_OK;
    for (int turn = 0; status == WEFT_OK; turn++) {
        if (turn == TURNS)
            *begin = wi_now();
        if (turn == TURNS && dist_rank == culprit)
            die_soon();
        status = call(ctx);
    }
    return status;
}

int dist_kill(const char *place, const char *op) {
    weft_context *ctx;
    char name[32];
    size_t which = 0;
    while (which < sizeof calls / sizeof *calls && strcmp(calls[which].name, op) != 0)
        which++;
    if (which == sizeof calls / sizeof *calls || weft_open(&ctx, place) != WEFT_OK) {
        printf("FAILED: %s: %s\n", op, weft_message(NULL));
        return 1;
    }
    dist_rank = weft_rank(ctx);
    dist_ranks = weft_ranks(ctx);
    test_random r = test_random_at(86 + (uint64_t)dist_rank);
    for (size_t k = 0; k < 2 * (size_t)N; k++)
        x[k] = y[k] = 1 + (double)test_below(&r, 4096) / 4096;
    double begin = 0;
    const weft_status status = call_until_it_fails(ctx, calls[which].call, dist_ranks / 2, &begin);
    snprintf(name, sizeof name, "rank %d", dist_ranks / 2);
    const bool told = status == WEFT_ECOMM && strstr(weft_message(ctx), name);
    printf("%s: rank %d, after %.1f s: %s\n", told && wi_now() - begin < 10 ? "survived" : "FAILED",
           dist_rank, wi_now() - begin, weft_message(ctx));
    weft_close(ctx);
    return 0;
}
