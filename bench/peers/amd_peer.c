/* SPDX-License-Identifier: Apache-2.0 */
/* Races the minimum degree orderings against SuiteSparse's AMD: fill and time, on the matrices in
 * the folder that WEFT_MATRICES names and on generated problems. One JSON object a line; then, per
 * ordering, the geometric mean and the worst of each ratio. Both start from the lower triangle by
 * columns, SuiteSparse with its 32-bit indices. `amd_peer quick` leaves out the large problems. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sparse/generate.h"
#include "sparse/order.h"
#include "sparse/symbolic.h"
#include "weft/weft.h"

enum {
    NOTHING_TO_RACE = 77
};

#ifdef WEFT_AMD_PEER
#    include <suitesparse/amd.h>

enum {
    LEAST_REPEATS = 9,
    MOST_MATRICES = 64,
    MOST_REPEATS = 99
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One matrix, in both libraries' terms. */
typedef struct problem {
    weft_context *ctx;
    const weft_sparse *matrix;
    wi_pattern graph;
    int64_t *perm;
    const char *ordering;
    int32_t n, *start, *row, *theirs;
} problem;

static void fail(weft_context *ctx) {
    fprintf(stderr, "amd_peer: %s\n", weft_message(ctx));
    exit(1);
}

static void their_order(problem *p) {
    if (amd_order(p->n, p->start, p->row, p->theirs, NULL, NULL) < AMD_OK) {
        fprintf(stderr, "amd_peer: amd_order failed\n");
        exit(1);
    }
}

/* The graph is part of the work: amd_order builds its own as well. */
static void our_order(problem *p) {
    wi_pattern graph;
    if (weft_use(p->ctx, "sparse_order", p->ordering) != WEFT_OK ||
        wi_pattern_build(p->ctx, "amd_peer", p->matrix, &graph) != WEFT_OK)
        fail(p->ctx);
    const wi_order_args args = {
        .call = "amd_peer", .graph = &graph, .perm = p->perm, .seconds_budget = 60};
    if (wi_run(p->ctx, &wi_sparse_order_ladder, "amd_peer", (size_t)graph.n, &args) != WEFT_OK)
        fail(p->ctx);
    wi_pattern_free(&graph);
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of as many runs as take a second, nine at least; of slow ones, of three. */
static double median_seconds(void (*run)(problem *), problem *p) {
    double seconds[MOST_REPEATS], total = 0;
    int count = 0;
    run(p);
    do {
        const double begin = now();
        run(p);
        seconds[count] = now() - begin;
        total += seconds[count++];
    } while (count < MOST_REPEATS && (total < 1 || count < (total > 3 ? 3 : LEAST_REPEATS)));
    qsort(seconds, (size_t)count, sizeof *seconds, compare);
    return seconds[count / 2];
}

/* nnz(L) and flops of an ordering, by this library's own count. */
static void count(problem *p, const int64_t *perm, double *nnz, double *flops) {
    wi_symbolic symbolic;
    if (wi_symbolic_build(p->ctx, "amd_peer", &p->graph, perm, &wi_relax_default, &symbolic) !=
        WEFT_OK)
        fail(p->ctx);
    *nnz = (double)symbolic.nnz_l;
    *flops = symbolic.flops;
    wi_symbolic_free(&symbolic);
}

/* Ratios of ours to theirs over all problems. */
typedef struct tally {
    double fill_logs, most_fill, time_logs, most_time;
    int count;
} tally;

static void add(tally *t, double fill, double time) {
    t->fill_logs += log(fill);
    t->time_logs += log(time);
    t->most_fill = fmax(t->most_fill, fill);
    t->most_time = fmax(t->most_time, time);
    t->count++;
}

static const char *const orderings[] = {"amd", "mmd", "md", "nd"};
enum {
    ORDERINGS = sizeof orderings / sizeof *orderings,
    MOST_FOR_MD = 10000 /* columns: its time grows with their square */
};
static tally tallies[ORDERINGS];

static void race(problem *p, const char *name) {
    double nnz, flops, nnz_theirs, flops_theirs;
    const double seconds_theirs = median_seconds(their_order, p);
    for (int32_t k = 0; k < p->n; k++)
        p->perm[k] = p->theirs[k];
    count(p, p->perm, &nnz_theirs, &flops_theirs);
    for (int o = 0; o < ORDERINGS; o++) {
        p->ordering = orderings[o];
        if (strcmp(p->ordering, "md") == 0 && p->n > MOST_FOR_MD)
            continue;
        const double seconds = median_seconds(our_order, p);
        count(p, p->perm, &nnz, &flops);
        printf("{\"op\": \"sparse_order\", \"variant\": \"%s\", \"peer\": \"SuiteSparse AMD\", "
               "\"matrix\": \"%s\", \"n\": %d, \"seconds\": %.4g, \"peer_seconds\": %.4g, "
               "\"nnz_l\": %.0f, \"peer_nnz_l\": %.0f, \"flops\": %.4g, \"peer_flops\": %.4g, "
               "\"fill_ratio\": %.4f, \"time_ratio\": %.3f}\n",
               p->ordering, name, p->n, seconds, seconds_theirs, nnz, nnz_theirs, flops,
               flops_theirs, nnz / nnz_theirs, seconds / seconds_theirs);
        fflush(stdout);
        add(&tallies[o], nnz / nnz_theirs, seconds / seconds_theirs);
    }
}

static void race_matrix(weft_context *ctx, const char *name, weft_sparse *matrix) {
    problem p = {.ctx = ctx, .matrix = matrix, .n = (int32_t)weft_sparse_cols(matrix)};
    const size_t n = weft_sparse_cols(matrix), entries = weft_sparse_entries(matrix);
    p.start = malloc((n + 1) * sizeof *p.start);
    p.row = malloc(entries * sizeof *p.row);
    p.theirs = malloc(n * sizeof *p.theirs);
    p.perm = malloc(n * sizeof *p.perm);
    if (!p.start || !p.row || !p.theirs || !p.perm ||
        wi_pattern_build(ctx, "amd_peer", matrix, &p.graph) != WEFT_OK)
        fail(ctx);
    for (size_t j = 0; j <= n; j++)
        p.start[j] = (int32_t)weft_sparse_starts(matrix)[j];
    for (size_t k = 0; k < entries; k++)
        p.row[k] = (int32_t)weft_sparse_row_indices(matrix)[k];
    race(&p, name);
    wi_pattern_free(&p.graph);
    free(p.start);
    free(p.row);
    free(p.theirs);
    free(p.perm);
    weft_sparse_destroy(matrix);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void race_folder(weft_context *ctx, const char *folder) {
    char *names[MOST_MATRICES], path[4096];
    size_t found = 0;
    DIR *const listing = opendir(folder);
    if (!listing) {
        fprintf(stderr, "amd_peer: cannot list WEFT_MATRICES=%s\n", folder);
        exit(1);
    }
    for (const struct dirent *entry; (entry = readdir(listing)) && found < MOST_MATRICES;) {
        const char *const ending = strrchr(entry->d_name, '.');
        if (ending && strcmp(ending, ".mtx") == 0)
            names[found++] = strdup(entry->d_name);
    }
    closedir(listing);
    qsort(names, found, sizeof *names, by_name);
    for (size_t k = 0; k < found; k++) {
        weft_sparse *matrix;
        snprintf(path, sizeof path, "%s/%s", folder, names[k]);
        if (weft_sparse_read(ctx, &matrix, path) != WEFT_OK)
            fail(ctx);
        if (weft_sparse_is_symmetric(matrix))
            race_matrix(ctx, names[k], matrix);
        else
            weft_sparse_destroy(matrix);
        free(names[k]);
    }
}

int main(int argc, char **argv) {
    static const struct {
        const char *kind;
        size_t n;
        bool large;
    } made[] = {{"laplace2d", 100, false},  {"laplace2d", 300, false},   {"laplace2d", 1000, true},
                {"laplace3d", 20, false},   {"laplace3d", 50, true},     {"laplace3d", 80, true},
                {"elasticity3d", 8, false}, {"elasticity3d", 20, false}, {"random", 3000, false}};
    const bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    const char *const folder = getenv("WEFT_MATRICES");
    weft_context *ctx;
    if (weft_open(&ctx, "cpu:1") != WEFT_OK)
        fail(NULL);
    if (folder)
        race_folder(ctx, folder);
    for (size_t k = 0; k < sizeof made / sizeof *made; k++) {
        const wi_recipe recipe = {.n = made[k].n, .seed = 1, .per_row = 6};
        char name[64];
        weft_sparse *matrix;
        if (quick && made[k].large)
            continue;
        if (wi_find_generator(made[k].kind)->make(ctx, "amd_peer", &recipe, &matrix) != WEFT_OK)
            fail(ctx);
        snprintf(name, sizeof name, "%s %zu", made[k].kind, made[k].n);
        race_matrix(ctx, name, matrix);
    }
    for (int o = 0; o < ORDERINGS; o++) {
        const tally *const t = &tallies[o];
        printf("{\"op\": \"sparse_order\", \"variant\": \"%s\", \"peer\": \"SuiteSparse AMD\", "
               "\"matrices\": %d, \"fill_ratio_mean\": %.4f, \"fill_ratio_most\": %.4f, "
               "\"time_ratio_mean\": %.3f, \"time_ratio_most\": %.3f}\n",
               orderings[o], t->count, exp(t->fill_logs / t->count), t->most_fill,
               exp(t->time_logs / t->count), t->most_time);
    }
    weft_close(ctx);
    return 0;
}
#else
int main(void) {
    fprintf(stderr, "amd_peer: built without SuiteSparse AMD; install libsuitesparse-dev\n");
    return NOTHING_TO_RACE;
}
#endif
