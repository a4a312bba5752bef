/* SPDX-License-Identifier: Apache-2.0 */
/* Triplets in any order, with duplicates, to a sparse matrix; and a solve.
 *     job_matrix [PLACE]
 * Row and column become one key. In order, duplicates are neighbours and are summed; where each row
 * begins, a search for its first possible key tells. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "weft/weft.h"

enum {
    SIDE = 120, /* a grid of SIDE x SIDE unknowns: a conductor between each and its neighbours */
    N = SIDE * SIDE,
    TRIPLETS = 9 * N
};

static weft_context *ctx;
static uint64_t row[TRIPLETS], col[TRIPLETS], key[TRIPLETS], low[N + 1], start[N + 1];
static double value[TRIPLETS], entry[TRIPLETS], x[N], b[N], solution[N];

static void check(weft_status status) {
    if (status != WEFT_OK) {
        fprintf(stderr, "job_matrix: %s: %s\n", weft_status_name(status), weft_message(ctx));
        exit(2);
    }
}

/* A conductor between p and its neighbour q is four triplets; at an edge q is p itself, and they
 * are 0. Each unknown leaks a little to earth. */
static void assemble(void) {
    for (uint32_t p = 0, n = 0; p < N; p++) {
        const uint32_t left = p % SIDE ? p - 1 : p, above = p < SIDE ? p : p - SIDE;
        row[n] = col[n] = p, value[n++] = 0.01;
        for (int k = 0; k < 8; k++, n++) {
            const uint32_t q = k & 4 ? left : above;
            row[n] = k & 1 ? q : p, col[n] = k & 2 ? q : p;
            value[n] = q == p ? 0 : row[n] == col[n] ? 1 : -1;
        }
    }
}

/* The triplets become rows without duplicates, as csr: start, key (the columns) and entry. */
static uint64_t make_rows(void) {
    const size_t n = TRIPLETS;
    uint64_t entries;
    const weft_column sums = {WEFT_SUM, WEFT_F64, value, entry};
    check(weft_binary_scalar(ctx, WEFT_X_SHL, WEFT_U64, n, row, &(uint64_t){32}, key));
    check(weft_binary(ctx, WEFT_X_OR, WEFT_U64, n, key, col, key));
    check(weft_sort_pairs(ctx, WEFT_ASCENDING, WEFT_U64, n, key, key, sizeof *value, value, value));
    check(weft_reduce_by_key(ctx, n, sizeof *key, key, key, 1, &sums, &entries));
    check(weft_iota(ctx, WEFT_U64, N + 1, &(uint64_t){0}, &(uint64_t){1ull << 32}, low));
    check(weft_search(ctx, WEFT_LOWER, WEFT_ASCENDING, WEFT_U64, entries, key, N + 1, low, start));
    check(weft_binary_scalar(ctx, WEFT_X_AND, WEFT_U64, entries, key, &(uint64_t){~0u}, key));
    return entries;
}

int main(int argc, char **argv) {
    weft_sparse *matrix;
    weft_chol *plan;
    double worst = 0;
    check(weft_open(&ctx, argc > 1 ? argv[1] : NULL));
    assemble();
    const uint64_t entries = make_rows();
    check(weft_sparse_create_csr(ctx, &matrix, WEFT_SYMMETRIC_FULL, N, N, WEFT_U64, start, key,
                                 entry));
    check(weft_random_uniform(ctx, WEFT_F64, N, 1, 0, x));
    check(weft_sparse_multiply(ctx, matrix, 1, x, N, b, N));
    check(weft_chol_analyze(ctx, matrix, NULL, &plan));
    check(weft_chol_factor(ctx, plan, matrix));
    check(weft_chol_solve(ctx, plan, matrix, NULL, 1, b, N, solution, N));
    for (size_t i = 0; i < N; i++)
        worst = fmax(worst, fabs(solution[i] - x[i]));
    printf("%d triplets, %zu entries; x is right to %.1e\n", TRIPLETS, (size_t)entries, worst);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
    weft_close(ctx);
    return !(worst <= 1e-9) || entries != 5 * N - 4 * SIDE;
}
