/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the reader of tables takes any bytes, alone and with three threads, all columns and
 * the second, as floats and as integers, and ends each time in the same array or the same message;
 * columns read alone are those of the whole, and those with types of their own have its numbers. */
#include "fuzz.h"
#include "io/text_table.h"

static weft_status read_bytes(const uint8_t *bytes, size_t length, const char *place,
                              const char *columns, const weft_type *type, wi_npy *array,
                              wi_note *note) {
    FILE *const file = open_bytes(bytes, length, true);
    *note = (wi_note){""};
    const weft_status status =
        wi_text_table_read(reader(place), file, "fuzz", columns, type, array, note);
    require(fclose(file) == 0);
    require((status == WEFT_OK) == (note->text[0] == '\0') && !strchr(note->text, '\n'));
    return status;
}

static bool same(const wi_npy *a, const wi_npy *b) {
    return a->layout.count == b->layout.count && a->layout.dims == b->layout.dims &&
           memcmp(a->layout.shape, b->layout.shape, sizeof a->layout.shape) == 0 &&
           memcmp(a->data, b->data, a->layout.count * weft_type_size(a->layout.type)) == 0;
}

/* What is read alone, the second column or one of that name, is a column of the array. */
static void check_column(const uint8_t *bytes, size_t length, const wi_npy *all) {
    wi_npy second;
    wi_note note;
    const size_t columns = all->layout.dims == 2 ? all->layout.shape[1] : 1;
    const weft_status status = read_bytes(bytes, length, "cpu:1", "2", NULL, &second, &note);
    if (status == WEFT_OK && columns >= 2) {
        const double *const one = second.data, *const of = all->data;
        size_t column = 0, k = 0;
        require(second.layout.count == all->layout.shape[0]);
        for (; column < columns && k < second.layout.count; column += k < second.layout.count)
            for (k = 0; k < second.layout.count; k++)
                if (memcmp(&one[k], &of[k * columns + column], sizeof *one) != 0)
                    break;
        require(column < columns);
    }
    wi_npy_free(&second);
}

static weft_status read_columns(const uint8_t *bytes, size_t length, const char *place,
                                wi_column_set *columns, wi_note *note) {
    static const wi_table_types own = {.typing = WI_TABLE_OWN};
    FILE *const file = open_bytes(bytes, length, true);
    wi_text_table *table;
    *note = (wi_note){""};
    *columns = (wi_column_set){.column = NULL};
    weft_status status = wi_text_table_open(reader(place), file, "fuzz", "--types", &table, note);
    if (status == WEFT_OK)
        status = wi_text_table_columns(table, NULL, &own, columns);
    wi_text_table_close(table);
    require(fclose(file) == 0);
    return status;
}

/* Columns with types of their own have the numbers of the whole. */
static void check_columns(const uint8_t *bytes, size_t length, weft_status whole,
                          const wi_npy *all) {
    wi_column_set columns, other;
    wi_note note, other_note;
    const weft_status status = read_columns(bytes, length, "cpu:1", &columns, &note);
    require(read_columns(bytes, length, "cpu:3", &other, &other_note) == status);
    require(strcmp(note.text, other_note.text) == 0 && (whole != WEFT_OK || status == WEFT_OK));
    for (size_t k = 0; k < columns.count; k++) {
        const wi_npy *const column = &columns.column[k];
        require(column->layout.type == other.column[k].layout.type);
        require(same(column, &other.column[k]));
        for (size_t i = 0; i < column->layout.count && whole == WEFT_OK; i++) {
            const double value =
                wi_element_value(column->layout.type, (const uint64_t *)column->data + i);
            const double right = ((const double *)all->data)[i * columns.count + k];
            require(memcmp(&value, &right, sizeof value) == 0 ||
                    (value != value && right != right));
        }
    }
    wi_columns_free(&columns);
    wi_columns_free(&other);
}

static void read_twice(const uint8_t *bytes, size_t length, const weft_type *type) {
    wi_npy array, other;
    wi_note note, other_note;
    const weft_status status = read_bytes(bytes, length, "cpu:1", NULL, type, &array, &note);
    require(read_bytes(bytes, length, "cpu:3", NULL, type, &other, &other_note) == status);
    require(strcmp(note.text, other_note.text) == 0);
    if (!type)
        check_columns(bytes, length, status, &array);
    if (status != WEFT_OK)
        return;
    require(array.layout.count <= 2 * length + 2);
    require(same(&array, &other));
    if (!type)
        check_column(bytes, length, &array);
    wi_npy_free(&array);
    wi_npy_free(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    const weft_type i32 = WEFT_I32;
    if (length > 0) {
        read_twice(bytes, length, NULL);
        read_twice(bytes, length, &i32);
    }
    return 0;
}
