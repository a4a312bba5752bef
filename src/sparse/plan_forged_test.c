/* SPDX-License-Identifier: Apache-2.0 */
/* Plans forged from scratch with a right checksum: extents whose differences overflow, which must
 * be refused without computing them (UndefinedBehaviorSanitizer sees it otherwise), and rows that
 * each search has to go far for. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "testing.h"

enum {
    N = 2, /* places of words in the header */
    SUPERNODES,
    ROWS,
    NNZ_A,
    CHECKSUM = 7, /* of all words, where its own counts as 0 */
    HEADER_WORDS = 13,
    SECONDS = 4 /* of a processor: a search that goes row by row takes ten times as long */
};

/* The arrays of a plan. */
typedef struct forged {
    int64_t n, supernodes, rows;
    int64_t *perm, *parent, *count, *first, *rows_at, *super_parent, *row;
    uint64_t *words;
    size_t bytes;
} forged;

/* Takes the header of a plan of a unit matrix, for its first words. */
static void take_header(weft_context *ctx, uint64_t header[HEADER_WORDS]) {
    static const int64_t one[] = {0};
    static const double value[] = {1};
    uint64_t words[64];
    size_t bytes;
    weft_sparse *matrix;
    weft_chol *plan;
    assert_int_equal(weft_sparse_create_triplets(ctx, &matrix, WEFT_SYMMETRIC_LOWER, 1, 1, 1,
                                                 WEFT_I64, one, one, value),
                     WEFT_OK);
    assert_int_equal(weft_chol_analyze(ctx, matrix, NULL, &plan), WEFT_OK);
    assert_int_equal(weft_chol_save_memory(ctx, plan, words, sizeof words, &bytes), WEFT_OK);
    memcpy(header, words, HEADER_WORDS * sizeof *header);
    weft_chol_destroy(plan);
    weft_sparse_destroy(matrix);
}

static forged begin(weft_context *ctx, int64_t n, int64_t supernodes, int64_t rows) {
    forged f = {.n = n, .supernodes = supernodes, .rows = rows};
    f.bytes = (size_t)(HEADER_WORDS + 3 * n + 3 * supernodes + 2 + rows) * sizeof(uint64_t);
    f.words = calloc(1, f.bytes);
    assert_non_null(f.words);
    take_header(ctx, f.words);
    f.words[N] = (uint64_t)n;
    f.words[SUPERNODES] = (uint64_t)supernodes;
    f.words[ROWS] = (uint64_t)rows;
    f.words[NNZ_A] = (uint64_t)n;
    f.perm = (int64_t *)f.words + HEADER_WORDS;
    f.parent = f.perm + n;
    f.count = f.parent + n;
    f.first = f.count + n;
    f.rows_at = f.first + supernodes + 1;
    f.super_parent = f.rows_at + supernodes + 1;
    f.row = f.super_parent + supernodes;
    return f;
}

/* Loads what was forged, and frees it. */
static weft_status load(weft_context *ctx, const forged *f, weft_chol **plan) {
    uint64_t sum = UINT64_C(0xCBF29CE484222325);
    f->words[CHECKSUM] = 0;
    for (size_t k = 0; k < f->bytes / sizeof *f->words; k++)
        sum = (sum ^ f->words[k]) * UINT64_C(0x100000001B3);
    f->words[CHECKSUM] = sum;
    const weft_status status = weft_chol_load_memory(ctx, f->words, f->bytes, plan);
    free(f->words);
    return status;
}

/* A chain of four columns; two supernodes begin so far apart that the third seems wide. */
static void extents(void **state) {
    static const int64_t first[] = {0, 1, INT64_MIN, -1, 4};
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    weft_chol *plan;
    for (int of_rows = 0; of_rows < 2; of_rows++) {
        const forged f = begin(ctx, 4, 4, 4);
        for (int64_t k = 0; k < 4; k++) {
            f.perm[k] = f.row[k] = k;
            f.parent[k] = f.super_parent[k] = k < 3 ? k + 1 : -1;
            f.count[k] = k < 3 ? 2 : 1;
        }
        for (int64_t k = 0; k <= 4; k++) {
            f.rows_at[k] = first[k];
            f.first[k] = of_rows ? k : first[k];
        }
        test_refused(ctx, load(ctx, &f, &plan), WEFT_EFORMAT, "weft_chol_load_memory", "damaged");
        assert_null(plan);
    }
    weft_close(ctx);
}

/* As many leaves as one supernode has columns; all columns have the last one as their parent. */
static void far_rows(void **state) {
    enum {
        HALF = 200000
    };
    (void)state;
    weft_context *const ctx = test_open("cpu:1");
    weft_chol *plan;
    const forged f = begin(ctx, 2 * HALF, HALF + 1, 3 * HALF);
    for (int64_t k = 0; k < f.n; k++) {
        f.perm[k] = k;
        f.parent[k] = k + 1 < f.n ? f.n - 1 : -1;
        f.count[k] = k + 1 < f.n ? 2 : 1;
    }
    for (int64_t t = 0; t <= HALF; t++) {
        f.first[t] = t;
        f.rows_at[t] = 2 * t;
        f.super_parent[t] = t < HALF ? HALF : -1;
    }
    f.first[HALF + 1] = f.n;
    f.rows_at[HALF + 1] = f.rows;
    for (int64_t t = 0; t < HALF; t++) {
        f.row[2 * t] = t;
        f.row[2 * t + 1] = f.n - 1;
        f.row[2 * HALF + t] = HALF + t;
    }
    const clock_t before = clock();
    assert_int_equal(load(ctx, &f, &plan), WEFT_OK);
    assert_true(clock() - before < SECONDS * (clock_t)CLOCKS_PER_SEC);
    weft_chol_destroy(plan);
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(extents), cmocka_unit_test(far_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
