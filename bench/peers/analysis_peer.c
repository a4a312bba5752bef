/* SPDX-License-Identifier: Apache-2.0 */
/* Times the analysis of sparse matrices on 1, 2, 4, ... threads, up to those that the machine has:
 * the ordering, what comes after it, and whether the permutation is the same. There is no peer:
 * sparse_gpu_peer has cuDSS's figures, cholmod_peer CHOLMOD's. One JSON object a line.
 *   analysis_peer [quick] [ORDERING]          quick: without the large problems */
#include "matrices.h"
#include "sparse/chol.h"

enum {
    TIMES = 5
};

static const char *ordering;

/* A number that another permutation is not likely to have. */
static unsigned long long hash(const weft_chol *plan, size_t n) {
    unsigned long long sum = 0;
    for (size_t k = 0; k < n; k++)
        sum = (sum ^ (unsigned long long)weft_chol_permutation(plan)[k]) * 0x9E3779B97F4A7C15ULL;
    return sum;
}

/* The medians of several analyses, each from scratch. */
static void time_threads(const char *name, const weft_sparse *matrix, int threads) {
    const weft_chol_options options = {.size = sizeof options, .ordering = ordering};
    weft_chol_report report = {.size = sizeof report};
    double seconds[TIMES], order[TIMES];
    unsigned long long found = 0;
    char place[32];
    weft_context *ctx;
    snprintf(place, sizeof place, "cpu:%d", threads);
    if (weft_open(&ctx, place) != WEFT_OK)
        fail(NULL);
    for (int k = 0; k < TIMES; k++) {
        weft_chol *plan;
        const double begin = now();
        if (weft_chol_analyze(ctx, matrix, &options, &plan) != WEFT_OK)
            fail(ctx);
        seconds[k] = now() - begin;
        if (weft_chol_get_report(ctx, plan, &report) != WEFT_OK)
            fail(ctx);
        order[k] = report.order_seconds;
        found = hash(plan, report.n);
        weft_chol_destroy(plan);
    }
    printf("{\"problem\":\"%s\",\"threads\":%d,\"ordering\":\"%s\",\"analysis_s\":%.4f,"
           "\"order_s\":%.4f,\"nnz_l\":%zu,\"flops\":%.5g,\"permutation\":\"%016llx\"}\n",
           name, threads, report.ordering, median(seconds, TIMES), median(order, TIMES),
           report.nnz_l, report.flops, found);
    fflush(stdout);
    weft_close(ctx);
}

static void time_all(weft_context *ctx, const char *name, const weft_sparse *matrix) {
    for (int threads = 1; threads < ctx->threads; threads *= 2)
        time_threads(name, matrix, threads);
    time_threads(name, matrix, ctx->threads);
}

int main(int argc, char **argv) {
    static const made_matrix made[] = {{"laplace3d", 50, false},  {"laplace3d", 80, false},
                                       {"laplace3d", 110, true},  {"laplace2d", 1000, false},
                                       {"laplace2d", 2000, true}, {"elasticity3d", 30, false}};
    const bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    weft_context *ctx;
    ordering = argc > 1 + quick ? argv[1 + quick] : NULL;
    if (weft_open(&ctx, "cpu") != WEFT_OK)
        fail(NULL);
    race_all(ctx, made, sizeof made / sizeof *made, quick, time_all);
    weft_close(ctx);
    return 0;
}
