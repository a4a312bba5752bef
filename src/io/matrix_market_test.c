/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the Matrix Market reader and writer: every kind of file, in blocks of every size and
 * with several threads, files with false headers, and the matrices in WEFT_MATRICES. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/matrix_market.h"
#include "testing.h"

#define BANNER "%%MatrixMarket matrix "

/* How to read a file: as a pipe or with a known size, with so many threads, in blocks of so many
 * bytes. */
typedef struct manner {
    bool pipe;
    int threads;
    size_t block_bytes;
} manner;

static const manner manners[] = {
    {false, 1, 0}, {true, 1, 0}, {false, 3, 0}, {false, 1, 1}, {true, 3, 1}, {true, 7, 100},
};

static weft_status read_text(const char *text, size_t length, manner how, wi_mm *m, wi_note *note) {
    FILE *const file =
        how.pipe && length ? fmemopen((void *)(uintptr_t)text, length, "rb") : tmpfile();
    assert_non_null(file);
    if (!how.pipe) {
        assert_int_equal(fwrite(text, 1, length, file), length);
        rewind(file);
    }
    char place[16];
    snprintf(place, sizeof place, "cpu:%d", how.threads);
    weft_context *const ctx = test_open(place);
    const weft_status status = wi_mm_read(ctx, file, "file", how.block_bytes, m, note);
    weft_close(ctx);
    fclose(file);
    return status;
}

/* The contents of a valid file. */
typedef struct expected {
    wi_mm_head head;
    int64_t row[6], col[6];
    double value[6];
} expected;

static void accept(const char *text, const expected *e) {
    for (size_t k = 0; k < sizeof manners / sizeof *manners; k++) {
        wi_note note = {""};
        wi_mm m;
        if (read_text(text, strlen(text), manners[k], &m, &note) != WEFT_OK)
            fail_msg("%s\n%s", note.text, text);
        assert_int_equal(m.head.array, e->head.array);
        assert_int_equal(m.head.field, e->head.field);
        assert_int_equal(m.head.symmetry, e->head.symmetry);
        assert_int_equal(m.head.rows, e->head.rows);
        assert_int_equal(m.head.cols, e->head.cols);
        assert_int_equal(m.head.entries, e->head.entries);
        for (size_t i = 0; i < m.head.entries; i++) {
            assert_true(m.value[i] == e->value[i]);
            assert_true(m.head.array || (m.row[i] == e->row[i] && m.col[i] == e->col[i]));
        }
        wi_mm_free(&m);
        assert_null(m.value);
    }
}

static void kinds(void **state) {
    (void)state;
    accept(BANNER "coordinate real general\n2 3 2\n1 1 1.5\n2 3 -2e1\n",
           &(expected){{false, WI_MM_REAL, WI_MM_GENERAL, 2, 3, 2}, {0, 1}, {0, 2}, {1.5, -20}});
    accept(BANNER "coordinate integer symmetric\n2 2 2\n1 1 12\n2 1 -7\n",
           &(expected){{false, WI_MM_INTEGER, WI_MM_SYMMETRIC, 2, 2, 2}, {0, 1}, {0, 0}, {12, -7}});
    accept(BANNER "coordinate pattern skew-symmetric\n3 3 1\n3 1\n",
           &(expected){{false, WI_MM_PATTERN, WI_MM_SKEW, 3, 3, 1}, {2}, {0}, {1}});
    accept(BANNER "array real general\n2 2\n1\n2\n3\n4\n",
           &(expected){{true, WI_MM_REAL, WI_MM_GENERAL, 2, 2, 4}, {0}, {0}, {1, 2, 3, 4}});
    accept(BANNER "array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
           &(expected){{true, WI_MM_REAL, WI_MM_SYMMETRIC, 3, 3, 6}, {0}, {0}, {1, 2, 3, 4, 5, 6}});
    accept(BANNER "array integer skew-symmetric\n3 3\n1\n2\n3\n",
           &(expected){{true, WI_MM_INTEGER, WI_MM_SKEW, 3, 3, 3}, {0}, {0}, {1, 2, 3}});
    accept(BANNER "coordinate real general\n0 0 0\n",
           &(expected){.head = {false, WI_MM_REAL, WI_MM_GENERAL, 0, 0, 0}});
    accept(BANNER "array real symmetric\n0 0\n",
           &(expected){.head = {true, WI_MM_REAL, WI_MM_SYMMETRIC, 0, 0, 0}});
}

/* One matrix in every form that the format allows, or that files in practice use. */
static void spellings(void **state) {
    (void)state;
    static const char *const texts[] = {
        BANNER "coordinate real general\n2 2 2\n2 1 0.5\n1 2 1e3\n",
        BANNER "coordinate real general\n2 2 2\n2 1 0.5\n1 2 1e3",
        BANNER "coordinate real general\r\n2 2 2\r\n2 1 0.5\r\n1 2 1e3\r\n",
        "%%matrixmarket MATRIX Coordinate DOUBLE General  \n% c\n%\n\n  % d\n2 2 2\n2 1 .5\n1 2 "
        "1e3",
        BANNER "coordinate real general\n\n \t2\t2  2 \n\n  2 1\t5.d-1  \n\n%c\n1 2 +1.0D+03\n\n\n",
        BANNER "coordinate real general\n% a comment of more than a hundred characters, so that "
               "the smallest blocks have to grow before there is a whole line of them\n2 2 2\n"
               "0000000000000000000000002 1 0.50000000000000000000000000000000000000000000000000000"
               "000000000000000000000000\n1 2 1000\n",
    };
    const expected e = {{false, WI_MM_REAL, WI_MM_GENERAL, 2, 2, 2}, {1, 0}, {0, 1}, {0.5, 1000}};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        accept(texts[k], &e);
}

static void refuse(const char *text, weft_status status, const char *piece) {
    for (size_t k = 0; k < sizeof manners / sizeof *manners; k++) {
        wi_note note = {""};
        wi_mm m;
        const weft_status got = read_text(text, strlen(text), manners[k], &m, &note);
        if (got != status || !strstr(note.text, piece) || strchr(note.text, '\n'))
            fail_msg("%s with \"%s\", not %s with \"%s\"", weft_status_name(got), note.text,
                     weft_status_name(status), piece);
        assert_null(m.value);
        assert_null(m.row);
        assert_int_equal(m.head.entries, 0);
    }
}

static void broken_heads(void **state) {
    (void)state;
    refuse("", WEFT_EFORMAT, "begins %%MatrixMarket");
    refuse("\n", WEFT_EFORMAT, "not a Matrix Market file");
    refuse("1 2 3\n", WEFT_EFORMAT, "not a Matrix Market file");
    refuse("%%MatrixMarket", WEFT_EFORMAT, "object is \"\"");
    refuse("%%MatrixMarket vector coordinate real general\n", WEFT_EFORMAT, "object is \"vector\"");
    refuse(BANNER "dense real general\n", WEFT_EFORMAT, "coordinate or array");
    refuse(BANNER "coordinate quaternion general\n", WEFT_EFORMAT, "real, integer or pattern");
    refuse(BANNER "coordinate real upper\n", WEFT_EFORMAT, "symmetry is \"upper\"");
    refuse(BANNER "array pattern general\n", WEFT_EFORMAT, "cannot be pattern");
    refuse(BANNER "coordinate complex general\n", WEFT_EUNSUPPORTED, "complex");
    refuse(BANNER "coordinate real hermitian\n", WEFT_EUNSUPPORTED, "hermitian");
    refuse(BANNER "coordinate real general\n", WEFT_EFORMAT, "before its line of sizes");
    refuse(BANNER "coordinate real general\n% only\n\n", WEFT_EFORMAT, "after 3 lines");
    refuse(BANNER "coordinate real general\n2 2\n", WEFT_EFORMAT, "line 2 should hold three sizes");
    refuse(BANNER "coordinate real general\n2 2 1 9\n", WEFT_EFORMAT, "three sizes");
    refuse(BANNER "coordinate real general\n2 2 -1\n", WEFT_EFORMAT, "three sizes");
    refuse(BANNER "coordinate real general\n2 2 18446744073709551616\n", WEFT_EFORMAT, "sizes");
    refuse(BANNER "coordinate real general\n2 9223372036854775808 0\n", WEFT_EFORMAT, "sizes");
    refuse(BANNER "array real general\n2 2 4\n", WEFT_EFORMAT, "two sizes");
    refuse(BANNER "array real general\n4294967296 4294967296\n", WEFT_EFORMAT, "63 bits");
    refuse(BANNER "array real symmetric\n9223372036854775807 9223372036854775807\n", WEFT_EFORMAT,
           "63 bits");
    refuse(BANNER "coordinate real symmetric\n2 3 1\n", WEFT_EFORMAT, "cannot be symmetric");
}

static void broken_entries(void **state) {
    (void)state;
#define REAL BANNER "coordinate real general\n2 2 3\n1 1 1\n"
    refuse(REAL "\n2 1\n", WEFT_EFORMAT, "line 5 should hold a row, a column and a value: \"2 1\"");
    refuse(REAL "2 1 x\n", WEFT_EFORMAT, "line 4 should hold");
    refuse(REAL "2 1 1 1\n", WEFT_EFORMAT, "line 4 should hold");
    refuse(REAL "2 1 1e\n", WEFT_EFORMAT, "line 4 should hold");
    refuse(REAL "2,1,1\n", WEFT_EFORMAT, "line 4 should hold");
    refuse(REAL "1.0 1 1\n", WEFT_EFORMAT, "line 4 should hold");
    refuse(REAL "-1 1 1\n", WEFT_EFORMAT, "line 4 should hold");
    refuse(REAL "18446744073709551617 1 1\n", WEFT_EFORMAT, "line 4 should hold");
    refuse(REAL "%\n0 1 1\n", WEFT_EFORMAT, "line 5 is outside the matrix of 2 x 2");
    refuse(REAL "3 1 1\n", WEFT_EFORMAT, "count from 1");
    refuse(REAL "1 3 1\n", WEFT_EFORMAT, "line 4 is outside");
    refuse(REAL "1 2 nan\n", WEFT_ENONFINITE, "line 4 holds a value that is not a finite");
    refuse(REAL "1 2 -INF\n", WEFT_ENONFINITE, "line 4");
    refuse(REAL "1 2 1e309\n", WEFT_ENONFINITE, "line 4");
    refuse(REAL "1 2 1\n", WEFT_EFORMAT, "ends after 4 lines with 2 of the 3 entries");
    refuse(REAL "1 2 1\n2 2 1\n\n2 1 1\n", WEFT_EFORMAT, "line 7 is one entry too many");
    refuse(REAL "1 2 \x01\xff\n", WEFT_EFORMAT, "\"1 2 ?\\xff\"");
#undef REAL
    refuse(BANNER "coordinate integer general\n1 1 1\n1 1 1.5\n", WEFT_EFORMAT, "no integer");
    refuse(BANNER "coordinate pattern general\n1 1 1\n1 1 1\n", WEFT_EFORMAT,
           "line 3 should hold a row and a column");
    refuse(BANNER "coordinate real symmetric\n2 2 1\n1 2 1\n", WEFT_EFORMAT,
           "line 3 is an entry above the diagonal");
    refuse(BANNER "coordinate real skew-symmetric\n2 2 1\n2 2 1\n", WEFT_EFORMAT,
           "on or above the diagonal");
    refuse(BANNER "array real general\n2 1\n1 2\n", WEFT_EFORMAT, "line 3 should hold one value");
    refuse(BANNER "array real general\n2 1\n1\n2\n3\n", WEFT_EFORMAT, "line 5 is one entry too");
}

/* Files declare more than they contain, and get no memory for it; lines that do not end are
 * refused. */
static void lying_sizes(void **state) {
    (void)state;
    refuse(BANNER "coordinate real general\n9 9 1000000000000000000\n1 1 1\n", WEFT_EFORMAT,
           "1 of the 1000000000000000000 entries");
    refuse(BANNER "array real general\n1000000000 1000000000\n1\n", WEFT_EFORMAT, "with 1 of the");
    const size_t length = (size_t)40 << 20;
    char *const text = malloc(length);
    wi_note note = {""};
    wi_mm m;
    assert_non_null(text);
    memset(text, ' ', length);
    assert_int_equal(read_text(text, length, manners[0], &m, &note), WEFT_EFORMAT);
    assert_non_null(strstr(note.text, "line 1 is longer than"));
    free(text);
}

/* Thousands of entries with comments between them: each must be in the right place for all block
 * sizes, and of two faults the first is reported. */
static void many_entries(void **state) {
    (void)state;
    enum {
        ENTRIES = 20000,
        ROWS = 1000
    };
    test_random r = test_random_at(1);
    char *text = NULL;
    size_t length = 0;
    static int64_t row[ENTRIES], col[ENTRIES];
    static double value[ENTRIES];
    FILE *const file = open_memstream(&text, &length);
    assert_non_null(file);
    fprintf(file, "%scoordinate real general\n%d %d %d\n", BANNER, ROWS, ROWS, ENTRIES);
    for (int k = 0; k < ENTRIES; k++) {
        row[k] = (int64_t)test_below(&r, ROWS);
        col[k] = (int64_t)test_below(&r, ROWS);
        value[k] = test_unit(&r) * ldexp(1, (int)test_below(&r, 200) - 100);
        fprintf(file, "%*lld %lld %.17g\n%s", (int)test_below(&r, 9), (long long)row[k] + 1,
                (long long)col[k] + 1, value[k], test_below(&r, 9) ? "" : "% strewn in\n\n");
    }
    fclose(file);
    for (int threads = 1; threads <= 70; threads = 2 * threads + 1) {
        for (size_t block = 0; block < 100000; block = 3 * block + 1000) {
            wi_note note = {""};
            wi_mm m;
            const manner how = {test_below(&r, 2), threads, block};
            if (read_text(text, length, how, &m, &note) != WEFT_OK)
                fail_msg("%s", note.text);
            assert_memory_equal(m.row, row, sizeof row);
            assert_memory_equal(m.col, col, sizeof col);
            assert_memory_equal(m.value, value, sizeof value);
            wi_mm_free(&m);
        }
    }
    char *const middle = memchr(text + length / 2, '\n', length / 2);
    size_t line = 2;
    for (const char *p = text; p < middle; p++)
        line += *p == '\n';
    middle[1] = text[length - 2] = 'x'; /* in the first line and in the last */
    for (int threads = 1; threads <= 3; threads++) {
        char piece[32];
        wi_note note = {""};
        wi_mm m;
        snprintf(piece, sizeof piece, "line %zu should", line);
        assert_int_equal(read_text(text, length, (manner){false, threads, 0}, &m, &note),
                         WEFT_EFORMAT);
        if (!strstr(note.text, piece))
            fail_msg("no \"%s\" in \"%s\"", piece, note.text);
    }
    free(text);
}

static void written(void **state) {
    (void)state;
    static const double values[] = {1, -0.0, 0.1, 1e-310, -1.7976931348623157e308, 4.001};
    enum {
        VALUES = sizeof values / sizeof *values
    };
    char *text = NULL;
    size_t length = 0;
    wi_note note = {""};
    wi_mm m;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    const wi_mm_head head = {
        .symmetry = WI_MM_SYMMETRIC, .rows = 1234567, .cols = 1234567, .entries = VALUES};
    wi_mm_write_head(file, &head);
    for (size_t k = 0; k < VALUES; k++)
        wi_mm_write_entry(file, 1234566, (int64_t)k * 1000, values[k]);
    assert_int_equal(wi_mm_write_end(file, "file", &note), WEFT_OK);
    fclose(file);
    if (read_text(text, length, manners[0], &m, &note) != WEFT_OK)
        fail_msg("%s", note.text);
    assert_int_equal(m.head.symmetry, WI_MM_SYMMETRIC);
    assert_int_equal(m.head.cols, 1234567);
    assert_memory_equal(m.value, values, sizeof values);
    for (size_t k = 0; k < VALUES; k++)
        assert_true(m.row[k] == 1234566 && m.col[k] == (int64_t)k * 1000);
    wi_mm_free(&m);
    free(text);
    file = fopen("/dev/full", "wb");
    if (file) {
        wi_mm_write_head(file, &head);
        assert_int_equal(wi_mm_write_end(file, "file", &note), WEFT_EIO);
        assert_non_null(strstr(note.text, "writing failed"));
        fclose(file);
    }
}

/* Reads a file with scanf, which shares no code with the reader, and compares. */
static void compare_with_scanf(const char *path) {
    char line[1024];
    long long rows, cols, entries;
    wi_note note = {""};
    wi_mm m;
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    weft_context *const ctx = test_open("cpu:2");
    if (wi_mm_read(ctx, file, path, 0, &m, &note) != WEFT_OK)
        fail_msg("%s", note.text);
    weft_close(ctx);
    rewind(file);
    do
        assert_non_null(fgets(line, sizeof line, file));
    while (line[0] == '%');
    assert_int_equal(sscanf(line, "%lld %lld %lld", &rows, &cols, &entries), 3);
    assert_int_equal(m.head.rows, rows);
    assert_int_equal(m.head.cols, cols);
    assert_int_equal(m.head.entries, entries);
    for (long long k = 0; k < entries; k++) {
        long long row, col;
        double value;
        assert_int_equal(fscanf(file, "%lld %lld %lf", &row, &col, &value), 3);
        if (m.row[k] != row - 1 || m.col[k] != col - 1 || m.value[k] != value)
            fail_msg("%s: entry %lld differs", path, k);
    }
    fclose(file);
    wi_mm_free(&m);
}

static void real_matrices(void **state) {
    (void)state;
    const char *const folder = getenv("WEFT_MATRICES");
    DIR *const listing = folder ? opendir(folder) : NULL;
    if (!listing)
        skip();
    size_t count = 0;
    for (const struct dirent *entry = readdir(listing); entry; entry = readdir(listing)) {
        const size_t length = strlen(entry->d_name);
        char path[4096];
        if (length < 4 || strcmp(entry->d_name + length - 4, ".mtx") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        compare_with_scanf(path);
        count++;
    }
    closedir(listing);
    assert_true(count > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),        cmocka_unit_test(spellings),
        cmocka_unit_test(broken_heads), cmocka_unit_test(broken_entries),
        cmocka_unit_test(lying_sizes),  cmocka_unit_test(many_entries),
        cmocka_unit_test(written),      cmocka_unit_test(real_matrices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
