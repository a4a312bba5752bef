/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as text, .csv and .txt, wherever the command takes or writes an array. */
#include "cli/table_file.h"

#include <errno.h>
#include <string.h>

#include "cli/output.h"
#include "cli/text.h"
#include "io/text_table.h"

bool wi_is_table_name(const char *path) {
    return wi_ends_in(path, ".csv") || wi_ends_in(path, ".txt");
}

bool wi_holds_table(const char *path, FILE *file) {
    if (!wi_is_standard(path))
        return wi_is_table_name(path);
    const int first = getc(file);
    if (first != EOF)
        ungetc(first, file);
    return first != EOF && first != WI_NPY_FIRST;
}

weft_status wi_table_load(FILE *file, const char *name, const char *columns, const weft_type *type,
                          bool unrounded, wi_npy *array, wi_note *note) {
    weft_context *threads = NULL;
    wi_text_table *table = NULL;
    weft_status status = weft_open(&threads, "cpu");
    if (status != WEFT_OK)
        return wi_note_fail(note, status, "%s", weft_message(NULL));
    status = wi_text_table_open(threads, file, name, "--type", &table, note);
    if (status == WEFT_OK)
        status = wi_text_table_array(table, columns, type, unrounded, array);
    wi_text_table_close(table);
    weft_close(threads);
    return status;
}

/* The number of the next column in the list, counted from 0; `columns` if it is none of them. */
static size_t next_column(wi_table_text *list, size_t columns, wi_table_after *after) {
    const wi_table_text field = wi_table_next_field(list, ',', after);
    size_t number = 0;
    for (const char *at = field.begin; at < field.end; at++) {
        if (*at < '0' || *at > '9' || number > columns)
            return columns;
        number = 10 * number + (size_t)(*at - '0');
    }
    return number >= 1 && number <= columns ? number - 1 : columns;
}

/* Moves column `from` of the array to column `to` of an array with rows of `width` elements. */
static void take_column(const wi_npy *array, size_t from, char *out, size_t to, size_t width) {
    const wi_npy_layout *const l = &array->layout;
    const size_t size = weft_type_size(l->type), rows = l->shape[0], columns = l->shape[1];
    for (size_t r = 0; r < rows; r++) {
        const size_t at = l->fortran_order ? from * rows + r : r * columns + from;
        memcpy(out + (r * width + to) * size, (const char *)array->data + at * size, size);
    }
}

weft_status wi_columns_choose(const char *columns, const char *name, wi_npy *array, wi_note *note) {
    wi_npy_layout *const l = &array->layout;
    wi_table_text list = {columns, columns + strlen(columns)};
    size_t width = 0;
    wi_table_after after = WI_TABLE_MORE;
    if (l->dims != 2)
        return wi_note_fail(note, WEFT_EARG,
                            "%s: an array of %zu dimension%s has no columns to choose; it takes 2",
                            name, l->dims, wi_plural(l->dims));
    for (wi_table_text rest = list; after == WI_TABLE_MORE; width++)
        if (next_column(&rest, l->shape[1], &after) == l->shape[1])
            return wi_note_fail(
                note, WEFT_EARG,
                "%s: \"%s\" names no columns of it; they have numbers from 1 to %zu", name, columns,
                l->shape[1]);
    char *const chosen = wi_host_alloc(l->shape[0] * width * weft_type_size(l->type));
    if (!chosen)
        return wi_note_fail(note, WEFT_ENOMEM, "%s: no host memory for %zu elements", name,
                            l->shape[0] * width);
    for (size_t k = 0; k < width; k++)
        take_column(array, next_column(&list, l->shape[1], &after), chosen, k, width);
    wi_host_free(array->data);
    array->data = chosen;
    l->fortran_order = false;
    l->dims = width == 1 ? 1 : 2;
    l->shape[1] = width;
    l->count = l->shape[0] * width;
    return WEFT_OK;
}

char wi_table_separator(const char *name) {
    return wi_ends_in(name, ".csv") ? ',' : ' ';
}

void wi_titles_write(FILE *file, const char *titles, char separator) {
    bool quoted = false;
    for (; *titles; titles++) {
        quoted ^= *titles == '"';
        putc(*titles == ',' && !quoted ? separator : *titles, file);
    }
    putc('\n', file);
}

size_t wi_titles_count(const char *titles) {
    bool quoted = false;
    size_t count = 1;
    for (; *titles; titles++) {
        quoted ^= *titles == '"';
        count += *titles == ',' && !quoted;
    }
    return count;
}

weft_status wi_table_save(FILE *file, const char *name, const char *titles, const wi_npy *array,
                          wi_note *note) {
    const wi_npy_layout *const l = &array->layout;
    const size_t size = weft_type_size(l->type), parts = l->pairs ? 2 : 1;
    const size_t columns = parts * (l->dims == 2 ? l->shape[1] : 1);
    const char separator = wi_table_separator(name);
    if (l->dims > 2)
        return wi_note_fail(note, WEFT_EUNSUPPORTED,
                            "%s: an array of %zu dimensions is no table; name a .npy file", name,
                            l->dims);
    if (titles)
        wi_titles_write(file, titles, separator);
    for (size_t k = 0; k < l->count; k++) {
        const size_t row = k / columns, column = k % columns;
        const size_t at = l->fortran_order ? column * (l->count / columns) + row : k;
        char text[WI_FIELD_BYTES];
        fputs(wi_format_element(l->type, (const char *)array->data + at * size, text), file);
        putc(column + 1 < columns ? separator : '\n', file);
    }
    if (fflush(file) == 0 && !ferror(file))
        return WEFT_OK;
    return wi_note_fail(note, WEFT_EIO, "%s: writing failed: %s", name, strerror(errno));
}
