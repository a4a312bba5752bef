/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: the public calls, what they refuse, and plans in files, whole and damaged. */
#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "full_disk.h"
#include "sparse/order.h"
#include "systems.h"
#include "testing.h"

enum {
    MATRICES = 300,
    LARGEST = 30
};

/* The matrix of a graph: each diagonal entry there or not, values of no meaning. */
static weft_sparse *matrix_of(weft_context *ctx, test_random *r, const test_graph *g,
                              weft_storage storage) {
    int64_t row[TEST_MOST_VERTICES * TEST_MOST_VERTICES],
        col[TEST_MOST_VERTICES * TEST_MOST_VERTICES];
    double value[TEST_MOST_VERTICES * TEST_MOST_VERTICES];
    size_t count = 0;
    for (int64_t i = 0; i < g->n; i++) {
        for (int64_t j = 0; j < g->n; j++) {
            const bool wanted = i == j ? test_below(r, 4) > 0 : g->edge[i][j];
            if (!wanted || (storage == WEFT_SYMMETRIC_LOWER && i < j) ||
                (storage == WEFT_SYMMETRIC_UPPER && i > j))
                continue;
            row[count] = i;
            col[count] = j;
            value[count++] = 1;
        }
    }
    weft_sparse *matrix;
    const weft_status status = weft_sparse_create_triplets(
        ctx, &matrix, storage, (size_t)g->n, (size_t)g->n, count, WEFT_I64, row, col, value);
    if (status != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    return matrix;
}

static void check_report(const weft_chol_report *report, const test_graph *g,
                         const weft_sparse *matrix, const int64_t *perm) {
    static test_factor f;
    test_eliminate(g, perm, &f);
    assert_int_equal(report->size, sizeof *report);
    assert_int_equal(report->n, g->n);
    assert_int_equal(report->nnz_a, weft_sparse_entries(matrix));
    assert_int_equal(report->nnz_l, f.nnz);
    assert_true(report->nnz_l_stored >= report->nnz_l);
    assert_true(report->flops == f.flops);
    assert_true(report->factor_bytes >= 8 * report->nnz_l_stored);
    assert_true(report->supernodes <= report->n && report->tree_height <= report->n);
    assert_true(report->analyze_seconds >= report->order_seconds && report->order_seconds >= 0);
}

/* Any storage of the same matrix gives the same plan; so does the given permutation of the plan. */
static void test_public_calls(void **state) {
    (void)state;
    static const weft_storage storages[] = {WEFT_SYMMETRIC_LOWER, WEFT_SYMMETRIC_UPPER,
                                            WEFT_SYMMETRIC_FULL};
    static test_graph g;
    test_random r = test_random_at(6);
    weft_context *const ctx = test_open("cpu:2");
    for (int k = 0; k < MATRICES; k++) {
        weft_chol *plan, *again;
        weft_chol_options options = {.size = sizeof options, .ordering = k % 2 ? "amd" : NULL};
        test_graph_random(&r, LARGEST, &g);
        weft_sparse *const matrix = matrix_of(ctx, &r, &g, storages[k % 3]);
        assert_int_equal(weft_chol_analyze(ctx, matrix, &options, &plan), WEFT_OK);
        const weft_chol_report report = test_report_of(ctx, plan);
        const int64_t *const perm = weft_chol_permutation(plan);
        check_report(&report, &g, matrix, perm);
        assert_string_equal(report.ordering,
                            "amd"); /* best finds nothing better for a small matrix */
        options =
            (weft_chol_options){.size = sizeof options, .ordering = "given", .permutation = perm};
        assert_int_equal(weft_chol_analyze(ctx, matrix, &options, &again), WEFT_OK);
        const weft_chol_report second = test_report_of(ctx, again);
        assert_string_equal(second.ordering, "given");
        assert_int_equal(second.nnz_l, report.nnz_l);
        assert_int_equal(second.tree_height, report.tree_height);
        weft_chol_destroy(plan);
        weft_chol_destroy(again);
        weft_sparse_destroy(matrix);
    }
    weft_close(ctx);
}

/* The ordering in the options is for one call: what weft_use forced stays. */
static void test_choice(void **state) {
    (void)state;
    static test_graph g;
    test_random r = test_random_at(7);
    weft_context *const ctx = test_open("cpu:1");
    test_graph_random(&r, LARGEST, &g);
    weft_sparse *const matrix = matrix_of(ctx, &r, &g, WEFT_SYMMETRIC_LOWER);
    const weft_chol_options amd = {.size = sizeof amd, .ordering = "amd"};
    const char *const expected[] = {"rcm", "amd", "rcm"};
    assert_int_equal(weft_use(ctx, "sparse_order", "rcm"), WEFT_OK);
    for (int k = 0; k < 3; k++) {
        weft_chol *plan;
        assert_int_equal(weft_chol_analyze(ctx, matrix, k == 1 ? &amd : NULL, &plan), WEFT_OK);
        assert_string_equal(test_report_of(ctx, plan).ordering, expected[k]);
        weft_chol_destroy(plan);
    }
    weft_sparse_destroy(matrix);
    weft_close(ctx);
}

/* How much supernodes are merged: whoever changes the thresholds, or the order of merging, must
 * measure the cost and gain again, and then write the new sizes here. */
static void test_merging(void **state) {
    (void)state;
    static const struct {
        const char *kind;
        size_t n, nnz_l, stored, supernodes;
    } cases[] = {{"laplace2d", 40, 20771, 31522, 255},
                 {"laplace3d", 10, 32190, 42229, 181},
                 {"elasticity3d", 4, 16152, 18708, 20}};
    const weft_chol_options options = {.size = sizeof options, .ordering = "amd"};
    weft_context *const ctx = test_open("cpu:1");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const wi_recipe recipe = {.n = cases[k].n};
        weft_sparse *matrix;
        weft_chol *plan;
        assert_int_equal(wi_find_generator(cases[k].kind)->make(ctx, "test", &recipe, &matrix),
                         WEFT_OK);
        assert_int_equal(weft_chol_analyze(ctx, matrix, &options, &plan), WEFT_OK);
        const weft_chol_report report = test_report_of(ctx, plan);
        assert_int_equal(report.nnz_l, cases[k].nnz_l);
        assert_int_equal(report.nnz_l_stored, cases[k].stored);
        assert_int_equal(report.supernodes, cases[k].supernodes);
        weft_chol_destroy(plan);
        weft_sparse_destroy(matrix);
    }
    weft_close(ctx);
}

/* A full disk; and what the path leads to, maybe a device, is not removed. */
static void refuse_full(weft_context *ctx, const weft_chol *plan) {
    static const char device[] = "/dev/full";
    char folder[] = "/tmp/weft-plan-XXXXXX", path[64], target[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/plan", folder);
    assert_int_equal(symlink(device, path), 0);
    test_refused(ctx, weft_chol_save(ctx, plan, path), WEFT_EIO, "weft_chol_save", path);
    assert_int_equal(readlink(path, target, sizeof target), sizeof device - 1);
    assert_int_equal(unlink(path), 0);
    /* if there is a plan already, it stays complete, and nothing is left beside it */
    assert_int_equal(weft_chol_save(ctx, plan, path), WEFT_OK);
    test_limit_files(64);
    const weft_status status = weft_chol_save(ctx, plan, path);
    test_limit_files(RLIM_INFINITY);
    test_refused(ctx, status, WEFT_EIO, "weft_chol_save", "writing failed: File too large");
    weft_chol *again;
    assert_int_equal(weft_chol_load(ctx, path, &again), WEFT_OK);
    weft_chol_destroy(again);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void test_refusals(void **state) {
    (void)state;
    static const char call[] = "weft_chol_analyze";
    static const int64_t twice[] = {0, 0};
    const double values[] = {1, 1};
    const int64_t start[] = {0, 1, 2}, index[] = {0, 1};
    weft_context *const ctx = test_open("cpu:1");
    weft_sparse *matrix, *general;
    weft_chol *plan = NULL, *const nowhere = (weft_chol *)&twice;
    weft_chol_report report = {.size = 0};
    assert_int_equal(weft_sparse_create_csc(ctx, &matrix, WEFT_SYMMETRIC_LOWER, 2, 2, WEFT_I64,
                                            start, index, values),
                     WEFT_OK);
    assert_int_equal(
        weft_sparse_create_csc(ctx, &general, WEFT_GENERAL, 2, 2, WEFT_I64, start, index, values),
        WEFT_OK);
    assert_int_equal(weft_chol_analyze(NULL, matrix, NULL, &plan), WEFT_EARG);
    test_refused(ctx, weft_chol_analyze(ctx, matrix, NULL, NULL), WEFT_EARG, call, "plan");
    test_refused(ctx, weft_chol_analyze(ctx, NULL, NULL, &plan), WEFT_EARG, call, "matrix");
    test_refused(ctx, weft_chol_analyze(ctx, general, NULL, &plan), WEFT_EARG, call, "matrix");
    const struct {
        weft_chol_options options;
        weft_status status;
        const char *word;
    } wrong[] = {
        {{.size = 0}, WEFT_EARG, "size"},
        {{.size = sizeof(weft_chol_options) + 1}, WEFT_EARG, "size"},
        {{.size = sizeof(size_t) + 4, .ordering = "amd"}, WEFT_EARG, "size"},
        {{.size = sizeof(weft_chol_options), .ordering = "amdd"}, WEFT_EARG, "ordering"},
        {{.size = sizeof(weft_chol_options), .ordering = "amd,md"}, WEFT_EARG, "ordering"},
        {{.size = sizeof(weft_chol_options), .ordering = "given"},
         WEFT_EUNSUPPORTED,
         "permutation"},
        {{.size = sizeof(weft_chol_options), .ordering = "given", .permutation = twice},
         WEFT_EARG,
         "permutation"},
        {{.size = sizeof(weft_chol_options), .ordering_seconds = -1},
         WEFT_EARG,
         "ordering_seconds"},
        {{.size = sizeof(weft_chol_options), .ordering_seconds = (double)NAN},
         WEFT_EARG,
         "ordering_seconds"},
        {{.size = sizeof(weft_chol_options), .factorizations = -1}, WEFT_EARG, "factorizations"},
        {{.size = sizeof(weft_chol_options), .factorizations = (double)NAN},
         WEFT_EARG,
         "factorizations"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        plan = nowhere;
        test_refused(ctx, weft_chol_analyze(ctx, matrix, &wrong[k].options, &plan), wrong[k].status,
                     call, wrong[k].word);
        assert_null(plan);
    }
    assert_int_equal(weft_chol_analyze(ctx, matrix, NULL, &plan), WEFT_OK);
    test_refused(ctx, weft_chol_get_report(ctx, NULL, &report), WEFT_EARG, "weft_chol_get_report",
                 "plan");
    test_refused(ctx, weft_chol_get_report(ctx, plan, &report), WEFT_EARG, "weft_chol_get_report",
                 "size");
    report.size = sizeof report.size + sizeof report.n; /* an older caller */
    report.nnz_a = 77;
    assert_int_equal(weft_chol_get_report(ctx, plan, &report), WEFT_OK);
    assert_true(report.n == 2 && report.nnz_a == 77);
    test_refused(ctx, weft_chol_save(ctx, NULL, "x"), WEFT_EARG, "weft_chol_save", "plan");
    test_refused(ctx, weft_chol_save(ctx, plan, NULL), WEFT_EARG, "weft_chol_save", "path");
    test_refused(ctx, weft_chol_save(ctx, plan, "/nowhere/plan"), WEFT_EIO, "weft_chol_save", NULL);
    refuse_full(ctx, plan);
    weft_chol_destroy(plan);
    test_refused(ctx, weft_chol_load(ctx, NULL, &plan), WEFT_EARG, "weft_chol_load", "path");
    test_refused(ctx, weft_chol_load(ctx, "x", NULL), WEFT_EARG, "weft_chol_load", "plan");
    test_refused(ctx, weft_chol_load(ctx, "/nowhere/plan", &plan), WEFT_EIO, "weft_chol_load",
                 NULL);
    test_refused(ctx, weft_chol_load(ctx, "/tmp", &plan), WEFT_EIO, "weft_chol_load",
                 "/tmp: reading failed: Is a directory");
    weft_chol_destroy(NULL);
    assert_null(weft_chol_permutation(NULL));
    weft_sparse_destroy(matrix);
    weft_sparse_destroy(general);
    weft_close(ctx);
}

/* ---- files ---- */

static void write_bytes(const char *path, const unsigned char *bytes, size_t count) {
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static size_t read_bytes(const char *path, unsigned char *bytes, size_t room) {
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    const size_t count = fread(bytes, 1, room, file);
    fclose(file);
    return count;
}

static void same_plans(const weft_chol *a, const weft_chol *b) {
    const wi_symbolic *const x = &a->symbolic, *const y = &b->symbolic;
    assert_int_equal(x->n, y->n);
    assert_int_equal(x->supernodes, y->supernodes);
    assert_memory_equal(x->perm, y->perm, 4 * (size_t)x->n * sizeof(int64_t));
    assert_memory_equal(x->first, y->first,
                        (size_t)(6 * x->supernodes + 2 + x->rows_at[x->supernodes]) *
                            sizeof(int64_t));
    assert_int_equal(x->work_bytes, y->work_bytes);
    assert_int_equal(a->fingerprint, b->fingerprint);
    assert_int_equal(a->kind, b->kind);
    assert_true(a->perturbation == b->perturbation && !a->negative == !b->negative);
    if (a->negative)
        assert_memory_equal(a->negative, b->negative,
                            (size_t)wi_sign_words(x->n) * sizeof *a->negative);
    assert_int_equal(a->report.nnz_l, b->report.nnz_l);
    assert_string_equal(a->report.ordering, b->report.ordering);
}

/* Every truncated file is refused, and every one with a wrong bit. */
static void damage(weft_context *ctx, const char *path) {
    static unsigned char bytes[1 << 16];
    weft_chol *plan;
    const size_t count = read_bytes(path, bytes, sizeof bytes);
    assert_true(count + 8 < sizeof bytes);
    for (size_t cut = 0; cut < count; cut += 1 + cut / 8) {
        write_bytes(path, bytes, cut);
        test_refused(ctx, weft_chol_load(ctx, path, &plan), WEFT_EFORMAT, "weft_chol_load", NULL);
        assert_null(plan);
    }
    write_bytes(path, bytes, count + 8);
    test_refused(ctx, weft_chol_load(ctx, path, &plan), WEFT_EFORMAT, "weft_chol_load", NULL);
    for (size_t at = 0; at < count; at += at < 128 ? 1 : 5) {
        bytes[at] ^= (unsigned char)(1u << at % 8);
        write_bytes(path, bytes, count);
        test_refused(ctx, weft_chol_load(ctx, path, &plan), WEFT_EFORMAT, "weft_chol_load",
                     "damaged");
        bytes[at] ^= (unsigned char)(1u << at % 8);
    }
}

/* The rung up_looking goes from every column to its parent, which must be one of its rows. */
static void expect_parents(const wi_symbolic *s) {
    for (int64_t t = 0; t < s->supernodes; t++) {
        for (int64_t j = s->first[t]; j < s->first[t + 1]; j++) {
            bool found = s->parent[j] < 0;
            for (int64_t k = s->rows_at[t]; k < s->rows_at[t + 1]; k++)
                found |= s->rows[k] > j && s->rows[k] == s->parent[j];
            assert_true(found);
        }
    }
}

enum {
    CHECKSUM = 7 /* which word of a plan it is */
};

/* Gives the words of a plan the checksum they should have. */
static void sum_words(uint64_t *words, size_t count) {
    uint64_t sum = UINT64_C(0xCBF29CE484222325);
    words[CHECKSUM] = 0;
    for (size_t k = 0; k < count; k++)
        sum = (sum ^ words[k]) * UINT64_C(0x100000001B3);
    words[CHECKSUM] = sum;
}

/* A wrong word with a correct checksum: if the plan is accepted, later phases must be able to index
 * with it, as its own check in a second saving shows. */
static void forge(weft_context *ctx, test_random *r, const char *path, const weft_sparse *matrix) {
    enum {
        WORDS = 1 << 13,
        HEADER_WORDS = 10
    };
    static uint64_t words[WORDS];
    const size_t count = read_bytes(path, (unsigned char *)words, sizeof words) / 8;
    assert_true(count < WORDS && count > HEADER_WORDS);
    for (int k = 0; k < 200; k++) {
        weft_chol *plan, *again;
        const size_t at = HEADER_WORDS + test_below(r, count - HEADER_WORDS);
        const uint64_t kept = words[at], sum_kept = words[CHECKSUM];
        words[at] = test_below(r, 3) ? words[at] + test_below(r, 5) - 2 : test_bits(r);
        sum_words(words, count);
        write_bytes(path, (const unsigned char *)words, count * 8);
        if (weft_chol_load(ctx, path, &plan) == WEFT_OK) {
            assert_int_equal(weft_chol_save(ctx, plan, path), WEFT_OK);
            assert_int_equal(weft_chol_load(ctx, path, &again), WEFT_OK);
            same_plans(plan, again);
            expect_parents(&plan->symbolic);
            for (size_t rung = 0; rung < wi_sparse_ladder.count; rung++) {
                const wi_row *const row = &wi_sparse_ladder.rows[rung];
                if (!wi_row_serves(row, ctx))
                    continue;
                assert_int_equal(weft_use(ctx, "sparse", row->name), WEFT_OK);
                weft_chol_factor(ctx, plan, matrix); /* any status, but no harm */
            }
            weft_chol_destroy(plan);
            weft_chol_destroy(again);
        }
        words[at] = kept;
        words[CHECKSUM] = sum_kept;
    }
}

/* Two paths, 0 - 2 - 3 and 1 - 3, eliminated alternately: every column is plausible, but subtrees
 * are not contiguous. */
static void refuse_turns(weft_context *ctx, const char *path) {
    static const uint64_t turns[] = {0, 0, 0, /* kind, words of signs, perturbation */
                                     0, 1, 2, 3, 2, 3, 3, UINT64_MAX, 2, 2, 2, 1, 0, 1, 2, 3, 4, 0,
                                     2, 4, 6, 7, 2, 3, 3, UINT64_MAX, 0, 2, 1, 3, 2, 3, 3};
    enum {
        HEADER_WORDS = 10,
        COUNT = sizeof turns / sizeof *turns
    };
    const weft_chol_options options = {.size = sizeof options, .ordering = "natural"};
    static const int64_t row[] = {0, 1, 2, 2, 3, 3, 3}, col[] = {0, 1, 0, 2, 1, 2, 3};
    static const double value[] = {2, 2, -1, 2, -1, -1, 2};
    uint64_t words[HEADER_WORDS + COUNT + 64];
    weft_sparse *matrix;
    weft_chol *plan;
    assert_int_equal(weft_sparse_create_triplets(ctx, &matrix, WEFT_SYMMETRIC_LOWER, 4, 4, 7,
                                                 WEFT_I64, row, col, value),
                     WEFT_OK);
    assert_int_equal(weft_chol_analyze(ctx, matrix, &options, &plan), WEFT_OK);
    assert_int_equal(weft_chol_save(ctx, plan, path), WEFT_OK);
    assert_true(read_bytes(path, (unsigned char *)words, sizeof words) >= 8 * HEADER_WORDS);
    words[3] = 4; /* supernodes */
    words[4] = 7; /* their rows */
    memcpy(words + HEADER_WORDS, turns, sizeof turns);
    sum_words(words, HEADER_WORDS + COUNT);
    write_bytes(path, (const unsigned char *)words, 8 * (HEADER_WORDS + COUNT));
    weft_chol_destroy(plan);
    test_refused(ctx, weft_chol_load(ctx, path, &plan), WEFT_EFORMAT, "weft_chol_load", "damaged");
    weft_sparse_destroy(matrix);
}

/* More entries of A than L has: this number alone would decide how much memory is allocated. */
static void forge_entries(weft_context *ctx, const char *path) {
    enum {
        NNZ_A = 5
    };
    static uint64_t words[1 << 13];
    static const uint64_t wrong[] = {UINT64_MAX, UINT64_C(1) << 61, UINT64_C(1) << 40};
    const size_t count = read_bytes(path, (unsigned char *)words, sizeof words) / 8;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        weft_chol *plan;
        words[NNZ_A] = wrong[k];
        sum_words(words, count);
        write_bytes(path, (const unsigned char *)words, count * 8);
        test_refused(ctx, weft_chol_load(ctx, path, &plan), WEFT_EFORMAT, "weft_chol_load",
                     "damaged");
    }
}

static void test_files(void **state) {
    (void)state;
    static test_graph g;
    char path[64];
    test_random r = test_random_at(8);
    weft_context *const ctx = test_open("cpu:1");
    const int file = memfd_create("plan", 0);
    assert_true(file >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    for (int k = 0; k < 40; k++) {
        weft_chol *plan, *loaded;
        test_graph_random(&r, LARGEST, &g);
        weft_sparse *const matrix = matrix_of(ctx, &r, &g, WEFT_SYMMETRIC_LOWER);
        int8_t signs[TEST_MOST_VERTICES];
        for (int64_t i = 0; i < g.n; i++)
            signs[i] = test_below(&r, 2) ? 1 : -1;
        const weft_chol_options options = {.size = sizeof options,
                                           .kind = (weft_chol_kind)(k % 3),
                                           .signs = k % 2 ? signs : NULL,
                                           .perturbation = k % 3 ? 1e-3 : 0};
        assert_int_equal(weft_chol_analyze(ctx, matrix, &options, &plan), WEFT_OK);
        assert_int_equal(weft_chol_save(ctx, plan, path), WEFT_OK);
        if (weft_chol_load(ctx, path, &loaded) != WEFT_OK)
            fail_msg("%s", weft_message(ctx));
        same_plans(plan, loaded);
        if (k < 4)
            damage(ctx, path);
        assert_int_equal(weft_chol_save(ctx, plan, path), WEFT_OK);
        if (g.n > 0)
            forge(ctx, &r, path, matrix);
        assert_int_equal(weft_chol_save(ctx, plan, path), WEFT_OK);
        forge_entries(ctx, path);
        weft_chol_destroy(plan);
        weft_chol_destroy(loaded);
        weft_sparse_destroy(matrix);
    }
    refuse_turns(ctx, path);
    close(file);
    weft_close(ctx);
}

static void toggle(test_graph *g, uint64_t i, uint64_t j) {
    g->edge[i][j] = g->edge[j][i] = !g->edge[i][j];
}

/* Patterns that differ in one entry, or in the row of one entry, have different fingerprints. */
static void test_fingerprint(void **state) {
    (void)state;
    static test_graph g;
    test_random r = test_random_at(9);
    weft_context *const ctx = test_open("cpu:1");
    for (int k = 0; k < 200; k++) {
        do
            test_graph_random(&r, LARGEST, &g);
        while (g.n < 2);
        const test_random values = test_random_at(10);
        test_random same = values;
        weft_sparse *const a = matrix_of(ctx, &same, &g, WEFT_SYMMETRIC_LOWER);
        const uint64_t i = 1 + test_below(&r, (uint64_t)g.n - 1), j = test_below(&r, i);
        toggle(&g, i, j);
        if (k % 2 == 0 && i + 1 < (uint64_t)g.n && g.edge[i][j] == g.edge[i + 1][j])
            toggle(&g, i + 1, j);
        same = values;
        weft_sparse *const b = matrix_of(ctx, &same, &g, WEFT_SYMMETRIC_LOWER);
        assert_true(a->fingerprint != b->fingerprint);
        weft_sparse_destroy(a);
        weft_sparse_destroy(b);
    }
    weft_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_public_calls), cmocka_unit_test(test_choice),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_files),
        cmocka_unit_test(test_fingerprint),  cmocka_unit_test(test_merging),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
