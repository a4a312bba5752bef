/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices from and to files: the symmetry of general files, dense files, files that are refused,
 * and what is written reads back the same. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "full_disk.h"
#include "sparse/generate.h"
#include "testing.h"

#define BANNER "%%MatrixMarket matrix "

enum {
    PATH_BYTES = 64
};

/* A file with this text; the caller removes it. */
static void put(char path[PATH_BYTES], const char *text) {
    strcpy(path, "/tmp/weft_sparse_file_test_XXXXXX");
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, strlen(text)), strlen(text));
    close(descriptor);
}

static weft_sparse *read_good(weft_context *ctx, const char *text) {
    char path[PATH_BYTES];
    weft_sparse *m;
    put(path, text);
    if (weft_sparse_read(ctx, &m, path) != WEFT_OK)
        fail_msg("%s", weft_message(ctx));
    unlink(path);
    return m;
}

static void refuse(weft_context *ctx, const char *text, weft_status status, const char *piece) {
    char path[PATH_BYTES];
    weft_sparse *m = (weft_sparse *)ctx;
    put(path, text);
    test_refused(ctx, weft_sparse_read(ctx, &m, path), status, "weft_sparse_read", NULL);
    if (!strstr(weft_message(ctx), piece) || !strstr(weft_message(ctx), path))
        fail_msg("no \"%s\" in \"%s\"", piece, weft_message(ctx));
    assert_null(m);
    unlink(path);
}

/* What the matrix holds, as "row,col=value ". */
static void check_held(const weft_sparse *m, bool symmetric, const char *expected) {
    char got[256] = "";
    const int64_t *const start = weft_sparse_starts(m), *const row = weft_sparse_row_indices(m);
    for (size_t j = 0; j < weft_sparse_cols(m); j++) {
        for (int64_t k = start[j]; k < start[j + 1]; k++) {
            const size_t used = strlen(got);
            snprintf(got + used, sizeof got - used, "%lld,%zu=%g ", (long long)row[k], j,
                     weft_sparse_values(m)[k]);
        }
    }
    assert_string_equal(got, expected);
    assert_int_equal(weft_sparse_is_symmetric(m), symmetric);
}

static void check_text(weft_context *ctx, const char *text, bool symmetric, const char *expected) {
    weft_sparse *const m = read_good(ctx, text);
    check_held(m, symmetric, expected);
    weft_sparse_destroy(m);
}

static void symmetry(weft_context *ctx) {
    check_text(ctx, BANNER "coordinate real symmetric\n2 2 3\n2 2 3\n2 1 2\n1 1 1\n", true,
               "0,0=1 1,0=2 1,1=3 ");
    check_text(ctx, BANNER "coordinate real general\n2 2 4\n2 2 3\n2 1 2\n1 1 1\n1 2 2\n", true,
               "0,0=1 1,0=2 1,1=3 ");
    check_text(ctx, BANNER "coordinate real general\n2 2 4\n2 2 3\n2 1 2\n1 1 1\n1 2 -2\n", false,
               "0,0=1 1,0=2 0,1=-2 1,1=3 ");
    check_text(ctx, BANNER "coordinate real general\n2 2 3\n2 2 3\n2 1 2\n1 1 1\n", false,
               "0,0=1 1,0=2 1,1=3 ");
    check_text(ctx, BANNER "coordinate real general\n2 3 2\n2 3 3\n1 1 1\n", false, "0,0=1 1,2=3 ");
    check_text(ctx, BANNER "coordinate pattern symmetric\n2 2 2\n2 1\n1 1\n", true, "0,0=1 1,0=1 ");
    check_text(ctx, BANNER "coordinate integer symmetric\n2 2 3\n2 1 4\n1 1 7\n2 1 5\n", true,
               "0,0=7 1,0=9 ");
    check_text(ctx, BANNER "coordinate real symmetric\n0 0 0\n", true, "");
}

/* A zero on one side of the diagonal with no entry on the other side; it is held. */
static void one_sided_zeros(weft_context *ctx) {
    check_text(ctx, BANNER "coordinate real general\n2 2 3\n1 1 4\n1 2 0\n2 2 5\n", true,
               "0,0=4 1,0=0 1,1=5 ");
    check_text(ctx, BANNER "coordinate real general\n2 2 3\n1 1 4\n2 1 -0.0\n2 2 5\n", true,
               "0,0=4 1,0=-0 1,1=5 ");
    check_text(ctx, BANNER "coordinate real general\n3 3 5\n1 2 0\n1 3 0\n3 2 7\n2 3 7\n2 1 0\n",
               true, "1,0=0 2,0=0 2,1=7 ");
    check_text(ctx, BANNER "coordinate real general\n2 2 3\n1 1 4\n1 2 1e-300\n2 2 5\n", false,
               "0,0=4 0,1=1e-300 1,1=5 ");
    check_text(ctx, BANNER "coordinate real general\n3 3 3\n1 2 0\n3 3 5\n3 1 2\n", false,
               "2,0=2 0,1=0 2,2=5 ");
}

/* One text, read with each storage. */
static void read_as(weft_context *ctx) {
    static const char *const general =
        BANNER "coordinate real general\n2 2 4\n1 1 4\n2 1 1.0000000000000018\n1 2 1\n2 2 5\n";
    static const char *const upper = BANNER "coordinate real general\n2 2 2\n1 2 1\n2 2 5\n";
    static const char *const lower = BANNER "coordinate real symmetric\n2 2 2\n2 1 3\n2 2 5\n";
    static const struct {
        const char *text;
        weft_storage storage;
        double tolerance, expected, asymmetry; /* of the entry below the diagonal */
    } cases[] = {
        {general, WEFT_SYMMETRIC_FULL, 0, 1.0000000000000009, 0x1p-49 / 4.4721359549995794},
        {general, WEFT_SYMMETRIC_USE_LOWER, 0, 1.0000000000000018, 0},
        {general, WEFT_SYMMETRIC_USE_UPPER, -1, 1, 0},
        {upper, WEFT_SYMMETRIC_UPPER, 0, 1, 0},
        {upper, WEFT_SYMMETRIC_USE_UPPER, 0, 1, 0},
        {upper, WEFT_SYMMETRIC_FULL, 1, 0.5, 1},
        {lower, WEFT_SYMMETRIC_UPPER, 0, 3, 0}, /* a symmetric file ignores the storage */
        {lower, WEFT_SYMMETRIC_FULL, -1, 3, 0},
    };
    char path[PATH_BYTES];
    weft_sparse *m;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        put(path, cases[c].text);
        if (weft_sparse_read_as(ctx, &m, path, cases[c].storage, cases[c].tolerance) != WEFT_OK)
            fail_msg("case %zu: %s", c, weft_message(ctx));
        unlink(path);
        assert_true(weft_sparse_is_symmetric(m));
        const double *const value = weft_sparse_values(m);
        const size_t at = weft_sparse_row_indices(m)[0] == 0; /* after the diagonal */
        if (!(value[at] == cases[c].expected && value[at + 1] == 5 &&
              fabs(weft_sparse_asymmetry(m) - cases[c].asymmetry) <= 1e-3 * cases[c].asymmetry))
            fail_msg("case %zu: %.17g and %g, asymmetry %g", c, value[at], value[at + 1],
                     weft_sparse_asymmetry(m));
        assert_int_equal(weft_sparse_update(ctx, m, weft_sparse_entries(m), value), WEFT_OK);
        weft_sparse_destroy(m);
    }
    put(path, general);
    test_refused(ctx, weft_sparse_read_as(ctx, &m, path, WEFT_SYMMETRIC_FULL, -1), WEFT_EARG,
                 "weft_sparse_read_as", "symmetric");
    assert_non_null(strstr(weft_message(ctx), "row 1 of column 0 holds 1.000000000000002, row 0 of "
                                              "column 1 1 (counted from 0)"));
    test_refused(ctx, weft_sparse_read_as(ctx, &m, path, WEFT_SYMMETRIC_LOWER, 0), WEFT_EARG,
                 "weft_sparse_read_as", "WEFT_SYMMETRIC_USE_LOWER");
    unlink(path);
    put(path, BANNER "coordinate real general\n2 3 1\n1 1 4\n");
    test_refused(ctx, weft_sparse_read_as(ctx, &m, path, WEFT_SYMMETRIC_FULL, 0), WEFT_EARG,
                 "weft_sparse_read_as", "square");
    unlink(path);
}

static void dense(weft_context *ctx) {
    check_text(ctx, BANNER "array real symmetric\n3 3\n1\n0\n2\n3\n0\n4\n", true,
               "0,0=1 2,0=2 1,1=3 2,2=4 ");
    check_text(ctx, BANNER "array real general\n2 2\n1\n5\n5\n0\n", true, "0,0=1 1,0=5 ");
    check_text(ctx, BANNER "array integer general\n2 1\n0\n-5\n", false, "1,0=-5 ");
}

static void refused(weft_context *ctx) {
    refuse(ctx, "hello\n", WEFT_EFORMAT, "not a Matrix Market file");
    refuse(ctx, BANNER "coordinate real general\n1 1 1\n1 2 1\n", WEFT_EFORMAT, "line 3");
    refuse(ctx, BANNER "coordinate complex general\n1 1 1\n1 1 1 0\n", WEFT_EUNSUPPORTED,
           "complex");
    refuse(ctx, BANNER "coordinate real skew-symmetric\n2 2 1\n2 1 1\n", WEFT_EUNSUPPORTED,
           "symmetric ones only");
    refuse(ctx, BANNER "coordinate real general\n1 1 1\n1 1 inf\n", WEFT_ENONFINITE, "line 3");
    refuse(ctx, BANNER "coordinate real general\n1 1 2\n1 1 1e308\n1 1 1e308\n", WEFT_ENONFINITE,
           "add up to inf");
    refuse(ctx, BANNER "coordinate real general\n1000000000000 3 1\n1 1 1\n", WEFT_EFORMAT,
           "1000000000000 x 3");
}

/* New values of a matrix from a file come in the order in which they are held. */
static void update(weft_context *ctx) {
    const double value[] = {10, 20, 30};
    weft_sparse *const m =
        read_good(ctx, BANNER "coordinate real general\n2 2 4\n2 2 3\n2 1 2\n1 1 1\n1 2 2\n");
    assert_int_equal(weft_sparse_update(ctx, m, 3, value), WEFT_OK);
    check_held(m, true, "0,0=10 1,0=20 1,1=30 ");
    weft_sparse_destroy(m);
}

static void check_same(const weft_sparse *a, const weft_sparse *b) {
    const size_t entries = weft_sparse_entries(a);
    assert_int_equal(weft_sparse_is_symmetric(a), weft_sparse_is_symmetric(b));
    assert_int_equal(weft_sparse_rows(a), weft_sparse_rows(b));
    assert_int_equal(entries, weft_sparse_entries(b));
    assert_memory_equal(weft_sparse_starts(a), weft_sparse_starts(b),
                        (weft_sparse_cols(a) + 1) * sizeof(int64_t));
    assert_memory_equal(weft_sparse_row_indices(a), weft_sparse_row_indices(b),
                        entries * sizeof(int64_t));
    assert_memory_equal(weft_sparse_values(a), weft_sparse_values(b), entries * sizeof(double));
}

static void round_trips(weft_context *ctx) {
    static const wi_recipe recipe = {.n = 6, .seed = 3, .per_row = 4};
    char path[PATH_BYTES];
    put(path, "");
    for (size_t k = 0; k < wi_generator_count; k++) {
        weft_sparse *a, *b;
        assert_int_equal(wi_generators[k].make(ctx, "test", &recipe, &a), WEFT_OK);
        assert_int_equal(weft_sparse_write(ctx, a, path), WEFT_OK);
        assert_int_equal(weft_sparse_read(ctx, &b, path), WEFT_OK);
        check_same(a, b);
        weft_sparse_destroy(a);
        weft_sparse_destroy(b);
    }
    weft_sparse *const general =
        read_good(ctx, BANNER "coordinate real general\n2 3 3\n2 3 -0.0\n1 1 1e-310\n2 1 .1\n");
    weft_sparse *again;
    assert_int_equal(weft_sparse_write(ctx, general, path), WEFT_OK);
    assert_int_equal(weft_sparse_read(ctx, &again, path), WEFT_OK);
    check_same(general, again);
    test_refused(ctx, weft_sparse_write(ctx, general, "/no/such/folder/x"), WEFT_EIO,
                 "weft_sparse_write", "opening");
    if (access("/dev/full", W_OK) == 0)
        test_refused(ctx, weft_sparse_write(ctx, general, "/dev/full"), WEFT_EIO,
                     "weft_sparse_write", "writing");
    weft_sparse_destroy(general);
    weft_sparse_destroy(again);
    unlink(path);
    test_refused(ctx, weft_sparse_read(ctx, &again, "/tmp"), WEFT_EIO, "weft_sparse_read",
                 "/tmp: reading failed: Is a directory");
}

/* A full disk leaves the old file, and nothing beside it. */
static void full_disk(weft_context *ctx) {
    static const wi_recipe recipe = {.n = 20};
    char folder[PATH_BYTES] = "/tmp/weft_sparse_file_test_XXXXXX", path[2 * PATH_BYTES];
    weft_sparse *small, *large, *again;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/A.mtx", folder);
    small = read_good(ctx, BANNER "coordinate real general\n2 3 2\n2 3 3\n1 1 1\n");
    assert_int_equal(weft_sparse_write(ctx, small, path), WEFT_OK);
    assert_int_equal(wi_find_generator("laplace2d")->make(ctx, "test", &recipe, &large), WEFT_OK);
    test_limit_files(4096);
    const weft_status status = weft_sparse_write(ctx, large, path);
    test_limit_files(RLIM_INFINITY);
    test_refused(ctx, status, WEFT_EIO, "weft_sparse_write", "A.mtx: writing failed");
    assert_int_equal(weft_sparse_read(ctx, &again, path), WEFT_OK);
    check_same(small, again);
    weft_sparse_destroy(small);
    weft_sparse_destroy(large);
    weft_sparse_destroy(again);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_EACH_PLACE(symmetry),    TEST_ON_EACH_PLACE(one_sided_zeros),
        TEST_ON_EACH_PLACE(read_as),     TEST_ON_EACH_PLACE(dense),
        TEST_ON_EACH_PLACE(refused),     TEST_ON_EACH_PLACE(update),
        TEST_ON_EACH_PLACE(round_trips), TEST_ON_EACH_PLACE(full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
