/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of tables as text that have types of their own: which type a column gets, that it keeps
 * every number, and that neither depends on where the text is divided or on how many threads read
 * it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/text_table.h"
#include "testing.h"

static weft_status read_text(weft_context *ctx, const char *text, const char *columns,
                             const wi_table_types *types, wi_column_set *out, wi_note *note) {
    FILE *const file = fmemopen((void *)(uintptr_t)text, strlen(text), "rb");
    wi_text_table *table;
    assert_non_null(file);
    *note = (wi_note){""};
    *out = (wi_column_set){.column = NULL};
    weft_status status = wi_text_table_open(ctx, file, "t.csv", "--types", &table, note);
    if (status == WEFT_OK)
        status = wi_text_table_columns(table, columns, types, out);
    wi_text_table_close(table);
    fclose(file);
    assert_int_equal(status == WEFT_OK, note->text[0] == '\0');
    return status;
}

static double f64_at(const wi_npy *a, size_t i) {
    return ((const double *)a->data)[i];
}

/* What the columns hold: "i64:1,2 f64:0.5,nan". */
static void describe(const wi_column_set *columns, char *out, size_t room) {
    size_t used = 0;
    for (size_t k = 0; k < columns->count; k++) {
        const wi_npy *const a = &columns->column[k];
        used += (size_t)snprintf(out + used, room - used, "%s%s", k ? " " : "",
                                 weft_type_name(a->layout.type));
        assert_int_equal(a->layout.dims, 1);
        for (size_t i = 0; i < a->layout.count; i++) {
            const char separator = i ? ',' : ':';
            if (a->layout.type == WEFT_I64)
                used += (size_t)snprintf(out + used, room - used, "%c%" PRId64, separator,
                                         ((const int64_t *)a->data)[i]);
            else if (a->layout.type == WEFT_U64)
                used += (size_t)snprintf(out + used, room - used, "%c%" PRIu64, separator,
                                         ((const uint64_t *)a->data)[i]);
            else if (a->layout.type == WEFT_F64)
                used +=
                    (size_t)snprintf(out + used, room - used, "%c%.17g", separator, f64_at(a, i));
            else
                used += (size_t)snprintf(
                    out + used, room - used, "%c%g", separator,
                    wi_element_value(a->layout.type,
                                     (const char *)a->data + i * weft_type_size(a->layout.type)));
        }
    }
}

typedef struct example {
    const char *text, *columns, *right; /* what describe says, or the message */
} example;

static void check(const example *e, const wi_table_types *types) {
    static const char *const places[] = {"cpu:1", "cpu:3"};
    for (size_t p = 0; p < 2; p++) {
        weft_context *const ctx = test_open(places[p]);
        wi_column_set columns;
        wi_note note;
        char got[512] = "";
        if (read_text(ctx, e->text, e->columns, types, &columns, &note) == WEFT_OK)
            describe(&columns, got, sizeof got);
        else
            snprintf(got, sizeof got, "%s", note.text);
        if (strcmp(got, e->right) != 0)
            fail_msg("\"%s\": \"%s\", not \"%s\"", e->text, got, e->right);
        wi_columns_free(&columns);
        weft_close(ctx);
    }
}

static void own_types(void **state) {
    (void)state;
    static const wi_table_types own = {.typing = WI_TABLE_OWN};
    static const example examples[] = {
        {"id,x\n9007199254740993,0.5\n-1,2\n", NULL, "i64:9007199254740993,-1 f64:0.5,2"},
        {"id,x\r\n9007199254740993,0.5\n-1,2\r\n\r\n", "x,id", "f64:0.5,2 i64:9007199254740993,-1"},
        {"5\n", NULL, "i64:5"},
        {"\"5\";\" -6 \"\n", NULL, "i64:5 i64:-6"},
        {"9223372036854775807 -9223372036854775808\n", NULL,
         "i64:9223372036854775807 i64:-9223372036854775808"},
        {"9223372036854775807\n9223372036854775808\n18446744073709551615\n0\n", NULL,
         "u64:9223372036854775807,9223372036854775808,18446744073709551615,0"},
        {"-1\n2\n", NULL, "i64:-1,2"},
        {"1,1\n2,\n3,4\n", NULL, "i64:1,2,3 f64:1,nan,4"},
        {"1\n2.0\n3\n", NULL, "f64:1,2,3"},
        {"1\n3e0\n", NULL, "f64:1,3"},
        {"0\n-0\n5\n", NULL, "f64:0,-0,5"},
        {"1\n18446744073709551616\n", NULL, "f64:1,1.8446744073709552e+19"},
        {"-9007199254740992\n0.5\n", NULL, "f64:-9007199254740992,0.5"},
        {"-8\n9223372036854775808\n", NULL, "f64:-8,9.2233720368547758e+18"},
        {"9223372036854775808\n-8\n", NULL, "f64:9.2233720368547758e+18,-8"},
        {"id,x\n9007199254740993,1\n,2\n", NULL,
         "t.csv: line 2, column 1 (id): \"9007199254740993\" is an integer that f64 rounds, and "
         "neither i64 nor u64 holds all of the column; say --types f64 to round it"},
        {"0.5\n9007199254740993\n", NULL,
         "t.csv: line 2, column 1: \"9007199254740993\" is an integer that f64 rounds, and "
         "neither i64 nor u64 holds all of the column; say --types f64 to round it"},
        {"-1\n18446744073709551615\n", NULL,
         "t.csv: line 2, column 1: \"18446744073709551615\" is an integer that f64 rounds, and "
         "neither i64 nor u64 holds all of the column; say --types f64 to round it"},
        {"18446744073709551615\n-1\n", NULL,
         "t.csv: line 1, column 1: \"18446744073709551615\" is an integer that f64 rounds, and "
         "neither i64 nor u64 holds all of the column; say --types f64 to round it"},
        {"id,when\n1,May\n", NULL,
         "t.csv: line 2, column 2 (when): \"May\" is no number; choose columns of numbers with "
         "--columns"},
        {"id,when\n1,May\n", "id", "i64:1"},
        {"a,b\n1,1e999\n", NULL, "t.csv: line 2, column 2 (b): \"1e999\" does not fit f64"},
        {"a,b\n1\n", NULL, "t.csv: line 2 has fewer columns than the 2 columns of the first line"},
        {"a,b\n", NULL, "i64 i64"}, /* as a select writes that has found nothing */
        {"a,b\r\n\r\n# no row\n", "b", "i64"},
        {"not a table\n", NULL,
         "t.csv: it has no line of numbers behind that of the names; check the first line"},
        {"1 EUR,b\n", NULL,
         "t.csv: it has no line of numbers behind that of the names; check the first line"},
    };
    for (size_t k = 0; k < sizeof examples / sizeof *examples; k++)
        check(&examples[k], &own);
}

static void unrounded(void **state) {
    (void)state;
    static const wi_table_types unrounded = {.typing = WI_TABLE_UNROUNDED};
    static const wi_table_types floats = {.typing = WI_TABLE_FLOATS};
    static const example kept[] = {
        {"1,2\n3,4\n", NULL, "f64:1,3 f64:2,4"},
        {"1,9007199254740993\n3,-4\n", NULL, "f64:1,3 i64:9007199254740993,-4"},
        {"18446744073709551615,9007199254740993\n3,4\n", NULL,
         "u64:18446744073709551615,3 i64:9007199254740993,4"},
        {"9007199254740993\n4.5\n", NULL,
         "t.csv: line 1, column 1: \"9007199254740993\" is an integer that f64 rounds, and "
         "neither i64 nor u64 holds all of the column; say --types f64 to round it"},
    };
    static const example refused = {
        "1\n9007199254740993\n", NULL,
        "t.csv: line 2, column 1: \"9007199254740993\" is an integer that f64 rounds; read it "
        "with --types i64 or u64, or f64 to round it"};
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
        check(&kept[k], &unrounded);
    check(&refused, &floats);
}

static wi_table_text piece(const char *text) {
    return (wi_table_text){text, text + strlen(text)};
}

static void said_types(void **state) {
    (void)state;
    const wi_table_wish wishes[] = {{piece("id"), WEFT_F64},
                                    {piece("3"), WEFT_U8},
                                    {{NULL, NULL}, WEFT_F32},
                                    {piece("lost"), WEFT_F32}};
    const wi_table_types three = {.typing = WI_TABLE_OWN, .count = 3, .wishes = wishes};
    const wi_table_types two = {.typing = WI_TABLE_OWN, .count = 2, .wishes = wishes};
    const wi_table_types four = {.typing = WI_TABLE_OWN, .count = 4, .wishes = wishes};
    const char *const text = "id,x,n\n9007199254740993,1,255\n";
    check(&(example){text, NULL, "f64:9007199254740992 f32:1 u8:255"}, &three);
    check(&(example){text, NULL, "f64:9007199254740992 i64:1 u8:255"}, &two);
    check(&(example){text, "n,x", "u8:255 i64:1"}, &two);
    check(&(example){"id,x,n\n1,1,256\n", NULL,
                     "t.csv: line 2, column 3 (n): \"256\" does not fit u8"},
          &two);
    check(&(example){text, NULL, "t.csv: there is no column \"lost\"; it has 3 columns: id, x, n"},
          &four);
}

/* ---- several parts ---- */

enum {
    ROWS = 120000,
    LINE_BYTES = 96,
    COLUMNS = 4
};

/* A column's fields are integers up to a bound, but for one in `odd`, and the first in `first`. */
typedef struct shape {
    const char *odd; /* NULL: there is none */
    int64_t most;    /* of the others, from -most or, if `natural`, from 0 */
    bool natural;
    weft_type right;
    const char *first;
} shape;

static const shape shapes[] = {
    {NULL, INT64_MAX, false, WEFT_I64, NULL},
    {"0.5", 1000, false, WEFT_F64, NULL},
    {"", (int64_t)1 << 53, false, WEFT_F64, NULL},
    {"18446744073709551615", INT64_MAX, true, WEFT_U64, NULL},
    {"-7", INT64_MAX, false, WEFT_I64, NULL},
    {"-0", 9, true, WEFT_F64, NULL},
    {"9223372036854775808", 5, true, WEFT_F64, "-3"},
};

enum {
    SHAPES = sizeof shapes / sizeof *shapes
};

static void draw_field(test_random *random, const shape *s, const char *odd, char *out,
                       size_t room) {
    const uint64_t size = test_below(random, (uint64_t)s->most);
    const bool negative = !s->natural && test_below(random, 2);
    if (odd)
        snprintf(out, room, "%s", odd);
    else
        snprintf(out, room, "%s%" PRIu64, negative && size > 0 ? "-" : "", size);
}

/* The field, read by the C library. */
static void check_field(const wi_npy *a, size_t i, const char *field) {
    const int64_t whole = strtoll(field, NULL, 10);
    const uint64_t natural = strtoull(field, NULL, 10);
    const double value = *field ? strtod(field, NULL) : NAN, got = f64_at(a, i);
    const bool same = a->layout.type == WEFT_I64   ? ((const int64_t *)a->data)[i] == whole
                      : a->layout.type == WEFT_U64 ? ((const uint64_t *)a->data)[i] == natural
                      : isnan(value)               ? isnan(got)
                                     : got == value && !signbit(got) == !signbit(value);
    if (!same)
        fail_msg("row %zu: \"%s\" is not what was read", i, field);
}

static void check_long(const char *text, const char *fields, const shape *const *chosen,
                       const char *place) {
    static const wi_table_types own = {.typing = WI_TABLE_OWN};
    weft_context *const ctx = test_open(place);
    wi_column_set columns;
    wi_note note;
    if (read_text(ctx, text, NULL, &own, &columns, &note) != WEFT_OK)
        fail_msg("%s", note.text);
    assert_int_equal(columns.count, COLUMNS);
    for (size_t k = 0; k < COLUMNS; k++) {
        const wi_npy *const a = &columns.column[k];
        assert_int_equal(a->layout.type, chosen[k]->right);
        assert_int_equal(a->layout.count, ROWS);
        for (size_t i = 0; i < ROWS; i++)
            check_field(a, i, fields + (i * COLUMNS + k) * 24);
    }
    wi_columns_free(&columns);
    weft_close(ctx);
}

static void long_tables(void **state) {
    (void)state;
    char *const text = malloc((size_t)ROWS * LINE_BYTES);
    char *const fields = malloc((size_t)ROWS * COLUMNS * 24);
    assert_true(text && fields);
    for (size_t round = 0; round < test_times(12); round++) {
        test_random random = test_random_at(4400 + round);
        const shape *chosen[COLUMNS];
        size_t odd[COLUMNS], length = 0;
        for (size_t k = 0; k < COLUMNS; k++) {
            const size_t next = round * COLUMNS + k; /* first each of them, odd in a later part */
            const size_t before = next < SHAPES ? ROWS / 2 : 0;
            chosen[k] = &shapes[next < SHAPES ? next : (size_t)test_below(&random, SHAPES)];
            odd[k] = chosen[k]->odd ? before + (size_t)test_below(&random, ROWS - before) : ROWS;
        }
        for (size_t i = 0; i < ROWS; i++)
            for (size_t k = 0; k < COLUMNS; k++) {
                char *const field = fields + (i * COLUMNS + k) * 24;
                draw_field(&random, chosen[k],
                           i == odd[k] ? chosen[k]->odd
                           : i == 0    ? chosen[k]->first
                                       : NULL,
                           field, 24);
                length += (size_t)snprintf(text + length, LINE_BYTES, "%s%c", field,
                                           k + 1 < COLUMNS ? ',' : '\n');
            }
        check_long(text, fields, chosen, "cpu:1");
        check_long(text, fields, chosen, "cpu:3");
    }
    free(text);
    free(fields);
}

/* An integer that f64 rounds in one part and a float in another: the first part's line is told, and
 * so it is before a later part's fault of another kind. */
static void faults_of_parts(void **state) {
    (void)state;
    char *const text = malloc((size_t)ROWS * LINE_BYTES);
    size_t length = 0;
    assert_non_null(text);
    for (size_t i = 0; i < ROWS; i++)
        length += (size_t)snprintf(text + length, LINE_BYTES, "%s,%020zu\n",
                                   i == 70      ? "9007199254740993"
                                   : i == 90000 ? "0.5"
                                                : "123456789012",
                                   i);
    static const example rounded = {
        NULL, NULL,
        "t.csv: line 71, column 1: \"9007199254740993\" is an integer that f64 rounds, and "
        "neither i64 nor u64 holds all of the column; say --types f64 to round it"};
    static const wi_table_types own = {.typing = WI_TABLE_OWN};
    check(&(example){text, NULL, rounded.right}, &own);
    memcpy(strstr(text, "00000050000\n"), "x", 1);
    check(&(example){text, NULL, rounded.right}, &own);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_types),       cmocka_unit_test(unrounded),
        cmocka_unit_test(said_types),      cmocka_unit_test(long_tables),
        cmocka_unit_test(faults_of_parts),
    };
    return cmocka_run_group_tests_name("text table columns", tests, NULL, NULL);
}
