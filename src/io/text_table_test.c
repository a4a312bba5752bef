/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as text: what is accepted, what the numbers are, and what messages say. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/text_table.h"
#include "testing.h"

static weft_context *reader(void) {
    static weft_context *ctx;
    if (!ctx)
        ctx = test_open("cpu:3");
    return ctx;
}

static weft_status read_text(const char *text, size_t length, const char *columns,
                             const weft_type *type, wi_npy *array, wi_note *note) {
    FILE *const file =
        length ? fmemopen((void *)(uintptr_t)text, length, "rb") : fopen("/dev/null", "rb");
    assert_non_null(file);
    *note = (wi_note){""};
    const weft_status status =
        wi_text_table_read(reader(), file, "t.csv", columns, type, array, note);
    fclose(file);
    assert_int_equal(status == WEFT_OK, note->text[0] == '\0');
    return status;
}

static wi_npy good(const char *text, const char *columns, const weft_type *type) {
    wi_npy array;
    wi_note note;
    if (read_text(text, strlen(text), columns, type, &array, &note) != WEFT_OK)
        fail_msg("\"%s\": %s", text, note.text);
    return array;
}

static void expect(const char *text, const char *columns, size_t rows, size_t cols,
                   const double *values) {
    wi_npy a = good(text, columns, NULL);
    const double *const got = a.data;
    assert_int_equal(a.layout.type, WEFT_F64);
    assert_int_equal(a.layout.dims, cols == 1 ? 1 : 2);
    assert_int_equal(a.layout.shape[0], rows);
    if (cols > 1)
        assert_int_equal(a.layout.shape[1], cols);
    assert_int_equal(a.layout.count, rows * cols);
    for (size_t k = 0; k < rows * cols; k++)
        if (!(got[k] == values[k] || (isnan(got[k]) && isnan(values[k]))))
            fail_msg("\"%s\": number %zu is %.17g, not %.17g", text, k, got[k], values[k]);
    wi_npy_free(&a);
}

static void expect_titles(const char *text, const char *columns, const char *titles) {
    wi_npy a = good(text, columns, NULL);
    if (titles)
        assert_string_equal(a.titles, titles);
    else
        assert_null(a.titles);
    wi_npy_free(&a);
}

static void titles(void **state) {
    (void)state;
    expect_titles("a,b\n1,2\n", NULL, "a,b");
    expect_titles("a,b,c\n1,2,3\n", "c,1", "c,a");
    expect_titles("a \"b; c\" \"d,e\"\n1 2 3\n", NULL, "a,\"b; c\",\"d,e\"");
    expect_titles("a;;c\n1;2;3\n", NULL, "a,\"\",c");
    expect_titles("a,\"b\"\"c\"\n1,2\n", NULL, NULL);
    expect_titles("1,2\n3,4\n", NULL, NULL);
}

static void shapes(void **state) {
    (void)state;
    const double six[] = {1, 2, 3, 4, 5, 6}, some[] = {1, NAN, NAN, 4, INFINITY, -INFINITY};
    const double swapped[] = {3, 1, 6, 4}, one[] = {2, 5}, quoted[] = {1.5, -2, 0.25, 1e-3};
    expect("1,2,3\n4,5,6\n", NULL, 2, 3, six);
    expect("1,2,3\r\n4,5,6", NULL, 2, 3, six);
    expect("\xEF\xBB\xBF"
           "1;2;3\n4;5;6\n",
           NULL, 2, 3, six);
    expect("1\t2\t3\n4\t5\t6\n", NULL, 2, 3, six);
    expect("# made by hand\n\n  1 2   3 \n\n4\t5 6\n#end", NULL, 2, 3, six);
    expect(" 1 , 2,3\n4, 5 ,6 \n", NULL, 2, 3, six);
    expect("1\n2\n3\n4\n5\n6\n", NULL, 6, 1, six);
    expect("1,,nan\n4,inf,-Infinity\n", NULL, 2, 3, some);
    expect("1,,\n4,inf,-inf\n", NULL, 2, 3, some);
    expect("1,NULL,N/A\n4,+INF,-inf\n", NULL, 2, 3, some);
    expect("1\t\tNone\n4\tinf\t-Inf\n", NULL, 2, 3, some);
    expect("1\t2\n\t\n \n\n3\t4\n", NULL, 3, 2, (const double[]){1, 2, NAN, NAN, 3, 4});
    expect("a,b,c\n1,2,3\n4,5,6\n", NULL, 2, 3, six);
    expect("a,b,c\n1,2,3\n4,5,6\n", "c,a", 2, 2, swapped);
    expect("a,b,c\n1,2,3\n4,5,6\n", "3,1", 2, 2, swapped);
    expect("a,\"b, of all\",c\n1,2,3\n4,5,6\n", "\"b, of all\"", 2, 1, one);
    expect("3,2,1\n1,2,3\n4,5,6\n", "2", 3, 1, (const double[]){2, 2, 5});
    expect("x,y\n\"1.5\",-2\n\".25\" , \"1e-3\"\n", NULL, 2, 2, quoted);
    expect("when,x\n2026-01-02,2\n\"a,b\",5\n", "x", 2, 1, one);
    expect("said,x\n\"\"\"a\"\", b\",2\n\"a\" b,5\n", "x", 2, 1, one);
    expect("x,y,x\n0,2,1\n0,5,1\n", "y", 2, 1, one);
    expect("x,y,x\n0,2,2\n0,5,5\n", "3", 2, 1, one);
}

static void integers(void **state) {
    (void)state;
    const weft_type i64 = WEFT_I64, u64 = WEFT_U64, i8 = WEFT_I8, f16 = WEFT_F16, f64 = WEFT_F64;
    wi_npy a = good("9223372036854775807\n-9223372036854775808\n+3\n", NULL, &i64);
    assert_memory_equal(a.data, ((const int64_t[]){INT64_MAX, INT64_MIN, 3}), 24);
    wi_npy_free(&a);
    a = good("18446744073709551615 0\n", NULL, &u64);
    assert_memory_equal(a.data, ((const uint64_t[]){UINT64_MAX, 0}), 16);
    wi_npy_free(&a);
    a = good("-128,127\n", NULL, &i8);
    assert_memory_equal(a.data, ((const int8_t[]){-128, 127}), 2);
    wi_npy_free(&a);
    a = good("9007199254740993\n-9223372036854775807\n18446744073709551615\n", NULL, &f64);
    assert_memory_equal(a.data, ((const double[]){0x1p53, -0x1p63, 0x1p64}), 24);
    wi_npy_free(&a);
    a = good("9007199254740994\n-9223372036854775808\n9007199254740993.0\n9007199254740993e0\n"
             "100000000000000000001\n-9007199254740992\n",
             NULL, NULL); /* f64 has the integers, and the others were written as floats */
    assert_memory_equal(a.data,
                        ((const double[]){0x1p53 + 2, -0x1p63, 0x1p53, 0x1p53, 1e20, -0x1p53}), 48);
    wi_npy_free(&a);
    a = good("1.5\n-2\n", NULL, &f16);
    assert_memory_equal(a.data, ((const uint16_t[]){0x3E00, 0xC000}), 4);
    wi_npy_free(&a);
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *text, *columns, *message;
        int type;
    } cases[] = {
        {"1,2\n3,x\n", NULL,
         "t.csv: line 2, column 2: \"x\" is no number; choose columns of numbers with --columns",
         -1},
        {"1,2\n3,x\n", "2", "t.csv: line 2, column 2: \"x\" is no number", -1},
        {"1;2\n3;4,5\n", NULL,
         "t.csv: line 2, column 2: \"4,5\" is no number; a number has no comma, as 1000.5", -1},
        {"a,b\n\n1,2\n3,4y\n", NULL,
         "t.csv: line 4, column 2 (b): \"4y\" is no number; choose columns of numbers with "
         "--columns",
         -1},
        {"1,2\n3\n", NULL, "t.csv: line 2 has fewer columns than the 2 columns of the first line",
         -1},
        {"1,2\n3,4,\n", NULL, "t.csv: line 2 has more columns than the 2 columns of the first line",
         -1},
        {"1 2\n3 4 5\n", NULL,
         "t.csv: line 2 has more columns than the 2 columns of the first line", -1},
        {"1,2\n3,1e999\n", NULL, "t.csv: line 2, column 2: \"1e999\" does not fit f64", -1},
        {"1\n1.5\n", NULL, "t.csv: line 2, column 1: \"1.5\" is no whole number; read it as f64",
         WEFT_I32},
        {"1\n256\n", NULL, "t.csv: line 2, column 1: \"256\" does not fit u8", WEFT_U8},
        {"1\n-1\n", NULL, "t.csv: line 2, column 1: \"-1\" does not fit u8", WEFT_U8},
        {"1\n18446744073709551616\n", NULL,
         "t.csv: line 2, column 1: \"18446744073709551616\" does not fit u64", WEFT_U64},
        {"1,2\n", "3",
         "t.csv: there is no column \"3\"; its columns have no names, and numbers from 1 to 2", -1},
        {"a,b\n1,2\n", "c", "t.csv: there is no column \"c\"; it has 2 columns: a, b", -1},
        {"a\n1\n", "c", "t.csv: there is no column \"c\"; it has 1 column: a", -1},
        {"size,latency\n1,2\n", "latncy",
         "t.csv: there is no column \"latncy\"; did you mean \"latency\"?", -1},
        {"size,latency\n1,2\n", "Size",
         "t.csv: there is no column \"Size\"; did you mean \"size\"?", -1},
        {"a,b\n1,2\n", "b,2", "t.csv: column 2 is chosen twice; name each column once", -1},
        {"x,y,x\n1,2,3\n", "y,x",
         "t.csv: columns 1 and 3 are both named \"x\"; choose one of them by its number", -1},
        {"1,2\n\"3\"0,4\n", NULL,
         "t.csv: line 2, column 1: \"\"3\"0\" is no number; choose columns of numbers with "
         "--columns",
         -1},
        {"x,said\n1,\"a\n5,b\"\n", "x",
         "t.csv: line 2, column 2 (said): a quote does not end on this line; a field is within a "
         "line",
         -1},
        {"x,\"said\n1,2\n", "x",
         "t.csv: the first line, column 2: a quote does not end on this line; a field is within a "
         "line",
         -1},
        {"id,x\n9007199254740992,1\n9007199254740993,2\n", NULL,
         "t.csv: line 3, column 1 (id): \"9007199254740993\" is an integer that f64 rounds; read "
         "it with --type i64 or u64, or f64 to round it",
         -1},
        {" -9223372036854775807 , 1\n", NULL,
         "t.csv: line 1, column 1: \"-9223372036854775807\" is an integer that f64 rounds; read "
         "it with --type i64 or u64, or f64 to round it",
         -1},
        {"18446744073709551615\n", NULL,
         "t.csv: line 1, column 1: \"18446744073709551615\" is an integer that f64 rounds; read "
         "it with --type i64 or u64, or f64 to round it",
         -1},
        {"1 EUR,b\n", NULL,
         "t.csv: it has no line of numbers behind that of the names; check the first line", -1},
        {"", NULL, "t.csv: it has no line of numbers", -1},
        {"# nothing\n\n", NULL, "t.csv: it has no line of numbers", -1},
        {"\xFF\xFE"
         "1\n",
         NULL, "t.csv: it is UTF-16; save it as UTF-8", -1},
        {"\x1f\x8b\b", NULL,
         "t.csv: the file is compressed by gzip; unpack it first, as gzip -d does", -1},
        {"PK\3\4", NULL,
         "t.csv: the file is a zip archive, as .npz and .xlsx are; unpack it, or save it as .npy "
         "or "
         ".csv",
         -1},
        {"gr\xc3\xb6\xc3\x9f"
         "e,x\n1,2\n",
         "grosse",
         "t.csv: there is no column \"grosse\"; it has 2 columns: gr\xc3\xb6\xc3\x9f"
         "e, x",
         -1},
        {"a,b\n1,01234567890123456789012345678901234567890123456\xc3\xb6\n", "b",
         "t.csv: line 2, column 2 (b): \"01234567890123456789012345678901234567890123456\" is no "
         "number",
         -1},
        {"a,b\n1,0123456789012345678901234567890123456789012345\xc3\xb6\n", "b",
         "t.csv: line 2, column 2 (b): \"0123456789012345678901234567890123456789012345\" is no "
         "number",
         -1},
        {"1,2,3,4,5,6,7,8,9\n\n1\n1\n1\n1\n1\n1\n1\n", NULL,
         "t.csv: line 3 has fewer columns than the 9 columns of the first line", -1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const weft_type type = (weft_type)cases[k].type;
        wi_npy array;
        wi_note note;
        if (read_text(cases[k].text, strlen(cases[k].text), cases[k].columns,
                      cases[k].type < 0 ? NULL : &type, &array, &note) == WEFT_OK)
            fail_msg("\"%s\" is not refused", cases[k].text);
        assert_string_equal(note.text, cases[k].message);
        assert_null(array.data);
    }
}

/* Several parts, for several threads: every number is in its place, and so is a fault. */
static void long_tables(void **state) {
    (void)state;
    enum {
        ROWS = 150000,
        LINE_BYTES = 64
    };
    char *const text = malloc((size_t)ROWS * LINE_BYTES);
    size_t length = 0;
    wi_npy array;
    wi_note note;
    assert_non_null(text);
    test_random random = test_random_at(81);
    double *const right = malloc(ROWS * 2 * sizeof *right);
    assert_non_null(right);
    for (size_t i = 0; i < ROWS; i++) {
        right[2 * i] = test_unit(&random);
        right[2 * i + 1] = (double)i;
        length += (size_t)snprintf(text + length, LINE_BYTES, "%.17g,%zu\n", right[2 * i], i);
    }
    assert_int_equal(read_text(text, length, NULL, NULL, &array, &note), WEFT_OK);
    assert_memory_equal(array.data, right, ROWS * 2 * sizeof *right);
    wi_npy_free(&array);
    text[length - 2] = 'x';
    assert_int_equal(read_text(text, length, NULL, NULL, &array, &note), WEFT_EFORMAT);
    assert_non_null(strstr(note.text, "line 150000, column 2: \"14999x\""));
    free(text);
    free(right);
}

/* ---- lines of all kinds, drawn ---- */

/* A number, in a form that the type has. */
static double draw_number(test_random *random, bool is_float, char *text, size_t room) {
    static const char *const forms[] = {"%.0f", "%.0f.", "%.0fe0", "%.1fd0", "%.3f", "%+.17f"};
    static const double most[] = {10, 100, 1e5, 1e9};
    const size_t form = is_float ? (size_t)test_below(random, 6) : 0;
    const double value = trunc(test_unit(random) * most[test_below(random, 4)]);
    if (test_below(random, 20) == 0)
        snprintf(text, room, "%s0", value < 0 ? "-" : "+");
    else
        snprintf(text, room, forms[form], value);
    return strchr(text, 'd') ? value : strtod(text, NULL); /* which knows no Fortran */
}

static size_t draw_row(test_random *random, bool is_float, char separator, size_t columns,
                       bool plain, char *to, double *values) {
    static const char *const around[][2] = {{" ", ""}, {"", "  "}, {"\"", "\""}, {"\" ", " \""}};
    char number[64];
    size_t length = 0;
    for (size_t k = 0; k < columns; k++) {
        const size_t odd = plain ? 0 : (size_t)test_below(random, 8);
        const char *const before = odd < 4 ? "" : around[odd - 4][0];
        const char *const after = odd < 4 ? "" : around[odd - 4][1];
        values[k] = draw_number(random, is_float, number, sizeof number);
        length += (size_t)sprintf(to + length, "%s%s%s", before, number, after);
        if (k + 1 < columns)
            to[length++] = separator;
    }
    return length + (size_t)sprintf(to + length, test_below(random, 8) ? "\n" : "\r\n");
}

enum {
    MOST_LINES = 200,
    MOST_COLUMNS = 3
};

typedef struct drawn {
    char text[MOST_LINES * MOST_COLUMNS * 64];
    double values[MOST_LINES * MOST_COLUMNS];
    size_t length, lines, rows;
} drawn;

static void draw_table(test_random *random, bool is_float, char separator, size_t columns,
                       drawn *d) {
    static const char *const blank[] = {"\n", "  \n", "# 5\n", " #\n", "#\n", "\r\n", "\t\r\n"};
    const bool few_odd = test_below(random, 2);
    d->length = d->rows = 0;
    for (d->lines = 0; d->lines < MOST_LINES; d->lines++) {
        const size_t kind = d->lines == 0 ? 9 : (size_t)test_below(random, few_odd ? 100 : 10);
        if (kind < 3)
            d->length += (size_t)sprintf(d->text + d->length, "%s",
                                         blank[test_below(random, separator == '\t' ? 6 : 7)]);
        else
            d->length += draw_row(random, is_float, separator, columns, kind != 3,
                                  d->text + d->length, d->values + columns * d->rows++);
    }
    if (test_below(random, 2) && d->text[d->length - 2] != '\r')
        d->length--;
}

static void check_drawn(const drawn *d, weft_type type, size_t columns, uint64_t seed) {
    wi_npy a;
    wi_note note;
    if (read_text(d->text, d->length, NULL, &type, &a, &note) != WEFT_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, note.text);
    assert_int_equal(a.layout.count, d->rows * columns);
    for (size_t i = 0; i < a.layout.count; i++) {
        const double got = type == WEFT_F64   ? ((const double *)a.data)[i]
                           : type == WEFT_F32 ? (double)((const float *)a.data)[i]
                                              : (double)((const int32_t *)a.data)[i];
        const double right = type == WEFT_F32 ? (double)(float)d->values[i] : d->values[i];
        if (got != right || (type != WEFT_I32 && !signbit(got) != !signbit(right)))
            fail_msg("seed %llu: number %zu is %.17g, not %.17g", (unsigned long long)seed, i, got,
                     right);
    }
    wi_npy_free(&a);
}

/* A letter in place of a row's first character is a fault in its line. */
static void check_fault(test_random *random, drawn *d, weft_type type) {
    const size_t wanted = 1 + (size_t)test_below(random, d->lines - 1);
    char *at = d->text, told[32];
    wi_npy a;
    wi_note note;
    for (size_t line = 0; line < wanted; line++)
        at = strchr(at, '\n') + 1;
    if (!strchr("+-0123456789", *at))
        return;
    *at = 'x';
    assert_int_equal(read_text(d->text, d->length, NULL, &type, &a, &note), WEFT_EFORMAT);
    snprintf(told, sizeof told, "line %zu, column 1", wanted + 1);
    if (!strstr(note.text, told))
        fail_msg("\"%s\" does not say %s", note.text, told);
}

static void lines_of_all_kinds(void **state) {
    (void)state;
    static const weft_type types[] = {WEFT_F64, WEFT_F32, WEFT_I32};
    static drawn d;
    for (size_t k = 0; k < test_times(600); k++) {
        test_random random = test_random_at(1000 + k);
        const weft_type type = types[k % 3];
        const size_t columns = 1 + (size_t)test_below(&random, MOST_COLUMNS);
        const char separator = ",;\t "[test_below(&random, 4)];
        draw_table(&random, type != WEFT_I32, separator, columns, &d);
        check_drawn(&d, type, columns, 1000 + k);
        check_fault(&random, &d, type);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),      cmocka_unit_test(titles),
        cmocka_unit_test(integers),    cmocka_unit_test(refusals),
        cmocka_unit_test(long_tables), cmocka_unit_test(lines_of_all_kinds),
    };
    const int failed = cmocka_run_group_tests_name("text table", tests, NULL, NULL);
    weft_close(reader());
    return failed;
}
