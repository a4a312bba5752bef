/* SPDX-License-Identifier: Apache-2.0 */
/* Races the minimum degree orderings against SuiteSparse's AMD: fill and time, on the matrices in
 * the folder that WEFT_MATRICES names and on generated problems. One JSON object a line; then, per
 * ordering, the geometric mean and the worst of each ratio. Both start from the lower triangle by
 * columns, SuiteSparse with its 32-bit indices. `amd_peer quick` leaves out the large problems. */
#include <math.h>

#include "matrices.h"
#include "sparse/order.h"
#include "sparse/symbolic.h"

enum {
    NOTHING_TO_RACE = 77
};

#ifdef WEFT_AMD_PEER
#    include <suitesparse/amd.h>

/* One matrix, in both libraries' terms. */
typedef struct problem {
    weft_context *ctx;
    const weft_sparse *matrix;
    wi_pattern graph;
    int64_t *perm;
    const char *ordering;
    int32_t n, *start, *row, *theirs;
} problem;

static void their_order(void *what) {
    problem *const p = what;
    if (amd_order(p->n, p->start, p->row, p->theirs, NULL, NULL) < AMD_OK) {
        fprintf(stderr, "amd_peer: amd_order failed\n");
        exit(1);
    }
}

/* The graph is part of the work: amd_order builds its own as well. */
static void our_order(void *what) {
    problem *const p = what;
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

/* nnz(L) and flops of an ordering, by this library's own count. */
static void count(problem *p, const int64_t *perm, double *nnz, double *flops) {
    wi_symbolic symbolic;
    if (wi_symbolic_build(p->ctx, "amd_peer", &p->graph, perm, INFINITY, &wi_relax_default, NULL,
                          &symbolic) != WEFT_OK)
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

static void race_both(weft_context *ctx, const char *name, const weft_sparse *matrix) {
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
}

int main(int argc, char **argv) {
    static const made_matrix made[] = {
        {"laplace2d", 100, false},  {"laplace2d", 300, false},   {"laplace2d", 1000, true},
        {"laplace3d", 20, false},   {"laplace3d", 50, true},     {"laplace3d", 80, true},
        {"elasticity3d", 8, false}, {"elasticity3d", 20, false}, {"random", 3000, false}};
    const bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    weft_context *ctx;
    if (weft_open(&ctx, "cpu:1") != WEFT_OK)
        fail(NULL);
    race_all(ctx, made, sizeof made / sizeof *made, quick, race_both);
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
