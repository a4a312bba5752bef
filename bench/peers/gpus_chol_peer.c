/* SPDX-License-Identifier: Apache-2.0 */
/* Factors laplace3d N on several places, the same plan's analysis on each: the first factor, factor
 * again, and solve with one right-hand side, with the rate of the factorization. The first place is
 * the one that the others are compared with. Of several GPUs solutions must have the same bits;
 * else the program ends with status 1. One JSON object a line.
 *
 *   gpus_chol_peer [N [PLACE ...]]           130, gpu:0 and gpus; or cpu:16 to see the cores alone
 */
#include "matrices.h"
#include "weft/sparse.h"

enum {
    NOTHING_TO_RACE = 77
};

typedef struct factoring {
    weft_context *ctx;
    weft_chol *plan;
    const weft_sparse *matrix;
    size_t rows;
    double *b, *x;
} factoring;

static void factor(void *user) {
    const factoring *const f = user;
    if (weft_chol_factor(f->ctx, f->plan, f->matrix) != WEFT_OK || weft_sync(f->ctx) != WEFT_OK)
        fail(f->ctx);
}

static void solve(void *user) {
    const factoring *const f = user;
    if (weft_chol_solve(f->ctx, f->plan, f->matrix, NULL, 1, f->b, f->rows, f->x, f->rows) !=
        WEFT_OK)
        fail(f->ctx);
}

static double seconds_of(void (*run)(void *), void *what) {
    const double begin = now();
    run(what);
    return now() - begin;
}

/* Runs all on one place; *first is the time of factor again on the first place, 0 before it. */
static void race(factoring *f, size_t n, double *first) {
    weft_chol_report report = {.size = sizeof report};
    const double begin = now();
    if (weft_chol_analyze(f->ctx, f->matrix, NULL, &f->plan) != WEFT_OK ||
        weft_chol_reserve(f->ctx, f->plan, 1) != WEFT_OK)
        fail(f->ctx);
    const double analysis = now() - begin, once = seconds_of(factor, f),
                 again = median_seconds(factor, f), solving = median_seconds(solve, f);
    if (weft_chol_get_report(f->ctx, f->plan, &report) != WEFT_OK)
        fail(f->ctx);
    *first = *first > 0 ? *first : again;
    printf("{\"problem\":\"laplace3d %zu\",\"place\":\"%s\",\"ordering\":\"%s\","
           "\"analysis_s\":%.3f,\"first_factor_s\":%.4f,\"refactor_s\":%.5f,\"gflops\":%.0f,"
           "\"solve_s\":%.5f,\"times\":%.3f,\"backward_error\":%.2g}\n",
           n, weft_place(f->ctx), report.ordering, analysis, once, again,
           1e-9 * report.flops / again, solving, *first / again, report.backward_error);
    fflush(stdout);
    weft_chol_destroy(f->plan);
}

int main(int argc, char **argv) {
    static const char *const usual[] = {"gpu:0", "gpus"};
    const made_matrix made = {"laplace3d", argc > 1 ? strtoull(argv[1], NULL, 10) : 130, false};
    const wi_recipe recipe = {.n = made.n};
    const int places = argc > 2 ? argc - 2 : 2;
    const size_t rows = made.n * made.n * made.n;
    double first = 0, *const b = malloc(rows * sizeof *b), *const x = malloc(rows * sizeof *x),
           *const x0 = malloc(rows * sizeof *x0);
    bool same = true, compared = false;
    if (!b || !x || !x0)
        return 1;
    for (size_t i = 0; i < rows; i++)
        b[i] = (double)(i % 1000) / 1000 - 0.4;
    for (int k = 0; k < places; k++) {
        factoring f = {.rows = rows, .b = b, .x = x};
        weft_sparse *matrix;
        if (weft_open(&f.ctx, argc > 2 ? argv[2 + k] : usual[k]) != WEFT_OK) {
            fprintf(stderr, "gpus_chol_peer: %s\n", weft_message(NULL));
            return NOTHING_TO_RACE;
        }
        if (wi_find_generator(made.kind)->make(f.ctx, "peer", &recipe, &matrix) != WEFT_OK)
            fail(f.ctx);
        f.matrix = matrix;
        race(&f, made.n, &first);
        const bool on_gpu = strncmp(weft_place(f.ctx), "gpu", 3) == 0;
        if (on_gpu && compared)
            same = same && memcmp(x0, x, rows * sizeof *x) == 0;
        else if (on_gpu)
            memcpy(x0, x, rows * sizeof *x);
        compared = compared || on_gpu;
        weft_sparse_destroy(matrix);
        weft_close(f.ctx);
    }
    if (!same)
        fprintf(stderr, "gpus_chol_peer: the solutions differ\n");
    free(b), free(x), free(x0);
    return same ? 0 : 1;
}
