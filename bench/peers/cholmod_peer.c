/* SPDX-License-Identifier: Apache-2.0 */
/* Races the sparse Cholesky solver against CHOLMOD, with its AMD and its METIS ordering, on the
 * matrices in the folder that WEFT_MATRICES names and on generated problems: analysis, factor and
 * solve with one right-hand side, each from scratch, and the factor alone with the permutation of
 * CHOLMOD's better ordering. One JSON object a line. Both use two threads, or as many as the first
 * argument says; CHOLMOD's are those of its BLAS, which OPENBLAS_NUM_THREADS sets.
 *   cholmod_peer [THREADS] [quick|large|same]
 * quick: without the large problems; large: nothing but laplace3d 80; same: that, ordered once, by
 * weft, and factored by both in turn with that permutation. */
#include <math.h>
#include <unistd.h>

#include "matrices.h"

enum {
    NOTHING_TO_RACE = 77
};

#ifdef WEFT_CHOLMOD_PEER
#    include <suitesparse/cholmod.h>

enum {
    PHASES = 3 /* analyze, factor, solve */
};

/* Seconds of each phase of each run. */
typedef struct runs {
    double seconds[PHASES][MOST_REPEATS], total[MOST_REPEATS];
    int count;
    double flops, error; /* of the factor; normwise residual of the solution */
} runs;

typedef struct problem {
    weft_context *ctx;
    const weft_sparse *matrix;
    cholmod_common common;
    cholmod_sparse *theirs;
    cholmod_dense *b;
    double *x, *r;
} problem;

/* max |b - A x| / max |b|, b all ones. */
static double residual(problem *p, const double *x) {
    const size_t n = weft_sparse_cols(p->matrix);
    double most = 0;
    if (weft_sparse_multiply(p->ctx, p->matrix, 1, x, n, p->r, n) != WEFT_OK)
        fail(p->ctx);
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(1 - p->r[i]));
    return most;
}

static void keep_times(runs *to, const double *at) {
    for (int phase = 0; phase < PHASES; phase++)
        to->seconds[phase][to->count] = at[phase + 1] - at[phase];
    to->total[to->count++] = at[PHASES] - at[0];
}

/* `given`: the permutation of the ordering CHOLMOD_GIVEN, else NULL. */
static void run_theirs(problem *p, int ordering, SuiteSparse_long *given, runs *to) {
    cholmod_common *const common = &p->common;
    double at[PHASES + 1];
    common->method[0].ordering = ordering;
    at[0] = now();
    cholmod_factor *factor = cholmod_l_analyze_p(p->theirs, given, NULL, 0, common);
    at[1] = now();
    cholmod_l_factorize(p->theirs, factor, common);
    at[2] = now();
    cholmod_dense *x = cholmod_l_solve(CHOLMOD_A, factor, p->b, common);
    at[3] = now();
    if (common->status != CHOLMOD_OK || !x) {
        fprintf(stderr, "cholmod_peer: CHOLMOD failed, status %d\n", common->status);
        exit(1);
    }
    keep_times(to, at);
    to->flops = common->fl;
    to->error = residual(p, x->x);
    cholmod_l_free_dense(&x, common);
    cholmod_l_free_factor(&factor, common);
}

static void run_ours(problem *p, const weft_chol_options *options, runs *to) {
    const size_t n = weft_sparse_cols(p->matrix);
    weft_chol *plan;
    weft_chol_report report = {.size = sizeof report};
    double at[PHASES + 1];
    at[0] = now();
    weft_status status = weft_chol_analyze(p->ctx, p->matrix, options, &plan);
    at[1] = now();
    if (status == WEFT_OK)
        status = weft_chol_factor(p->ctx, plan, p->matrix);
    at[2] = now();
    if (status == WEFT_OK)
        status = weft_chol_solve(p->ctx, plan, p->matrix, NULL, 1, p->b->x, n, p->x, n);
    at[3] = now();
    if (status != WEFT_OK || weft_chol_get_report(p->ctx, plan, &report) != WEFT_OK)
        fail(p->ctx);
    keep_times(to, at);
    to->flops = report.flops;
    to->error = residual(p, p->x);
    weft_chol_destroy(plan);
}

static double seconds_of(const runs *of) {
    return median(of->total, of->count);
}

static void print(const char *matrix, size_t n, const char *who, const char *ordering,
                  const runs *of) {
    const double factor = median(of->seconds[1], of->count);
    printf("{\"op\": \"sparse\", \"matrix\": \"%s\", \"n\": %zu, \"who\": \"%s\", "
           "\"ordering\": \"%s\", \"analyze_seconds\": %.4g, \"factor_seconds\": %.4g, "
           "\"solve_seconds\": %.4g, \"total_seconds\": %.4g, \"flops\": %.4g, \"gflops\": %.4g, "
           "\"residual\": %.2g, \"runs\": %d}\n",
           matrix, n, who, ordering, median(of->seconds[0], of->count), factor,
           median(of->seconds[2], of->count), seconds_of(of), of->flops, of->flops / factor * 1e-9,
           of->error, of->count);
    fflush(stdout);
}

/* `ours` and `theirs` have used the same permutation. */
static void print_ratios(const char *name, const char *ordering, double time_ratio,
                         const runs *ours, const runs *theirs) {
    printf("{\"op\": \"sparse\", \"matrix\": \"%s\", \"peer\": \"CHOLMOD\", \"peer_ordering\": "
           "\"%s\", \"time_ratio\": %.3f, \"factor_rate_ratio_same_permutation\": %.3f}\n",
           name, ordering, time_ratio,
           ours->flops / median(ours->seconds[1], ours->count) *
               median(theirs->seconds[1], theirs->count) / theirs->flops);
    fflush(stdout);
}

/* The permutation of CHOLMOD's ordering; its postordering is part of it. */
static int64_t *their_permutation(problem *p, int ordering) {
    p->common.method[0].ordering = ordering;
    cholmod_factor *factor = cholmod_l_analyze(p->theirs, &p->common);
    int64_t *const permutation = malloc(factor->n * sizeof *permutation);
    const SuiteSparse_long *const given = factor->Perm;
    if (!permutation)
        exit(1);
    for (size_t k = 0; k < factor->n; k++)
        permutation[k] = given[k];
    cholmod_l_free_factor(&factor, &p->common);
    return permutation;
}

/* Threads of either library that wait for work may do so busily for a while. */
static void let_threads_sleep(void) {
    usleep(60000);
}

/* Has one run of this taken far longer than one of the other? */
static bool beaten(const runs *one, const runs *other) {
    return one->count > 0 && other->count > 0 && one->total[0] > 1 + 2 * other->total[0];
}

static void race(problem *p, const char *name) {
    static const int orderings[] = {CHOLMOD_AMD, CHOLMOD_METIS};
    static const char *const names[] = {"amd", "metis"};
    const size_t n = weft_sparse_cols(p->matrix);
    runs theirs[2] = {{.count = 0}}, ours = {.count = 0}, same = {.count = 0};
    double spent = 0;
    const double begin = now();
    do {
        for (int o = 0; o < 2; o++) {
            if (beaten(&theirs[o], &theirs[1 - o]))
                continue;
            run_theirs(p, orderings[o], NULL, &theirs[o]);
            let_threads_sleep();
        }
        run_ours(p, NULL, &ours);
        let_threads_sleep();
        spent = now() - begin;
    } while (ours.count < MOST_REPEATS && (ours.count < 3 || spent < 5));
    const int better = seconds_of(&theirs[1]) < seconds_of(&theirs[0]);
    int64_t *const permutation = their_permutation(p, orderings[better]);
    const weft_chol_options options = {
        .size = sizeof options, .ordering = "given", .permutation = permutation};
    while (same.count < 3) {
        run_ours(p, &options, &same);
        let_threads_sleep();
    }
    free(permutation);
    for (int o = 0; o < 2; o++)
        print(name, n, "CHOLMOD", names[o], &theirs[o]);
    print(name, n, "weft", "default", &ours);
    print(name, n, "weft", names[better], &same);
    const runs *const best = &theirs[better];
    print_ratios(name, names[better], seconds_of(&ours) / seconds_of(best), &same, best);
}

/* With the permutation of weft's default, which CHOLMOD is given. */
static void race_same(problem *p, const char *name) {
    const size_t n = weft_sparse_cols(p->matrix);
    runs theirs = {.count = 0}, ours = {.count = 0};
    weft_chol *plan;
    SuiteSparse_long *const permutation = malloc(n * sizeof *permutation);
    if (!permutation || weft_chol_analyze(p->ctx, p->matrix, NULL, &plan) != WEFT_OK)
        fail(p->ctx);
    for (size_t k = 0; k < n; k++)
        permutation[k] = weft_chol_permutation(plan)[k];
    weft_chol_destroy(plan);
    const weft_chol_options options = {
        .size = sizeof options, .ordering = "given", .permutation = permutation};
    while (ours.count < 3) {
        run_theirs(p, CHOLMOD_GIVEN, permutation, &theirs);
        let_threads_sleep();
        run_ours(p, &options, &ours);
        let_threads_sleep();
    }
    free(permutation);
    print(name, n, "CHOLMOD", "given", &theirs);
    print(name, n, "weft", "given", &ours);
    print_ratios(name, "given", seconds_of(&ours) / seconds_of(&theirs), &ours, &theirs);
}

/* CHOLMOD takes the lower triangle by columns, with indices of 64 bits, as it is held here. */
static void race_in(void (*run)(problem *p, const char *name), weft_context *ctx, const char *name,
                    const weft_sparse *matrix) {
    const size_t n = weft_sparse_cols(matrix), entries = weft_sparse_entries(matrix);
    problem p = {.ctx = ctx, .matrix = matrix};
    cholmod_l_start(&p.common);
    p.common.nmethods = 1;
    p.common.postorder = 1;
    p.theirs = cholmod_l_allocate_sparse(n, n, entries, 1, 1, -1, CHOLMOD_REAL, &p.common);
    p.b = cholmod_l_ones(n, 1, CHOLMOD_REAL, &p.common);
    p.x = malloc(n * sizeof *p.x);
    p.r = malloc(n * sizeof *p.r);
    if (!p.theirs || !p.b || !p.x || !p.r) {
        fprintf(stderr, "cholmod_peer: no memory for %s\n", name);
        exit(1);
    }
    memcpy(p.theirs->p, weft_sparse_starts(matrix), (n + 1) * sizeof(int64_t));
    memcpy(p.theirs->i, weft_sparse_row_indices(matrix), entries * sizeof(int64_t));
    memcpy(p.theirs->x, weft_sparse_values(matrix), entries * sizeof(double));
    run(&p, name);
    cholmod_l_free_sparse(&p.theirs, &p.common);
    cholmod_l_free_dense(&p.b, &p.common);
    cholmod_l_finish(&p.common);
    free(p.x);
    free(p.r);
}

static void race_orderings(weft_context *ctx, const char *name, const weft_sparse *matrix) {
    race_in(race, ctx, name, matrix);
}

static void race_factors(weft_context *ctx, const char *name, const weft_sparse *matrix) {
    race_in(race_same, ctx, name, matrix);
}

int main(int argc, char **argv) {
    static const made_matrix made[] = {{"laplace2d", 300, false}, {"laplace2d", 1000, false},
                                       {"laplace3d", 30, false},  {"laplace3d", 50, false},
                                       {"laplace3d", 80, true},   {"elasticity3d", 20, false}};
    static const made_matrix large = {"laplace3d", 80, true};
    const char *const what = argc > 1 ? argv[argc - 1] : "";
    const bool quick = strcmp(what, "quick") == 0;
    const int threads = argc > 1 ? atoi(argv[1]) : 0;
    char place[32];
    weft_context *ctx;
    snprintf(place, sizeof place, "cpu:%d", threads > 0 ? threads : 2);
    if (weft_open(&ctx, place) != WEFT_OK)
        fail(NULL);
    if (strcmp(what, "same") == 0)
        race_made(ctx, &large, race_factors);
    else if (strcmp(what, "large") == 0)
        race_made(ctx, &large, race_orderings);
    else
        race_all(ctx, made, sizeof made / sizeof *made, quick, race_orderings);
    weft_close(ctx);
    return 0;
}
#else
int main(void) {
    fprintf(stderr, "cholmod_peer: built without CHOLMOD; install libsuitesparse-dev\n");
    return NOTHING_TO_RACE;
}
#endif
