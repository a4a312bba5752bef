/* SPDX-License-Identifier: Apache-2.0 */
/* Writing columns that have types of their own: as a table of text, or joined to an array of one
 * type. */
#include <errno.h>
#include <string.h>

#include "cli/columns.h"
#include "cli/ranks.h"
#include "cli/table_file.h"
#include "cli/text.h"
#include "weft/expr.h"

/* ---- text ---- */

/* Writes the columns' own titles, if all have one. */
static void write_own_titles(FILE *file, char separator, const wi_column_set *columns) {
    for (size_t k = 0; k < columns->count; k++)
        if (!columns->column[k].titles)
            return;
    for (size_t k = 0; k < columns->count; k++) {
        fputs(columns->column[k].titles, file);
        putc(k + 1 < columns->count ? separator : '\n', file);
    }
}

weft_status wi_columns_write(FILE *file, const char *name, const char *titles,
                             const wi_column_set *columns, wi_note *note) {
    const char separator = wi_table_separator(name);
    const size_t rows = wi_table_rows(columns);
    if (titles)
        wi_titles_write(file, titles, separator);
    else
        write_own_titles(file, separator, columns);
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < columns->count; k++) {
            const wi_npy *const column = &columns->column[k];
            const size_t size = weft_type_size(column->layout.type);
            char text[WI_FIELD_BYTES];
            fputs(
                wi_format_element(column->layout.type, (const char *)column->data + r * size, text),
                file);
            putc(k + 1 < columns->count ? separator : '\n', file);
        }
    if (fflush(file) == 0 && !ferror(file))
        return WEFT_OK;
    return wi_note_fail(note, WEFT_EIO, "%s: writing failed: %s", name, strerror(errno));
}

/* ---- an array ---- */

/* i64 or f64, unless all have one type. */
static weft_type type_of(const wi_column_set *columns) {
    bool same = true, integers = true;
    for (size_t k = 0; k < columns->count; k++) {
        const weft_type type = columns->column[k].layout.type;
        same = same && type == columns->column[0].layout.type;
        integers = integers && !wi_type_is_float(type);
    }
    return same && columns->count > 0 ? columns->column[0].layout.type
           : integers                 ? WEFT_I64
                                      : WEFT_F64;
}

/* That of an array of them. */
static wi_npy_layout layout_of(const wi_column_set *columns) {
    const size_t rows = wi_table_rows(columns), width = columns->count;
    const weft_type type = type_of(columns);
    return (wi_npy_layout){.type = type,
                           .opaque = type == WEFT_BF16,
                           .dims = width == 1 ? 1 : 2,
                           .shape = {rows, width},
                           .count = rows * width};
}

/* The name of column k: in the titles that are written, else its own, else its number. */
static const char *name_of(const wi_column_set *columns, const char *titles, size_t k,
                           char out[WI_COLUMN_BYTES]) {
    wi_table_text rest = {titles, titles ? titles + strlen(titles) : titles}, name = {NULL, NULL};
    wi_table_after after;
    for (size_t at = 0; titles && at <= k; at++)
        name = wi_table_next_field(&rest, ',', &after);
    if (!name.begin)
        return wi_column_name(columns, k, out);
    snprintf(out, WI_COLUMN_BYTES, "%.*s", (int)(name.end - name.begin), name.begin);
    return out;
}

/* *first: the first of n integers that its cell, converted from it, does not hold exactly; n if all
 * do. */
static weft_status find_inexact(weft_context *ctx, const wi_npy *from, weft_type type,
                                const void *cells, size_t *first) {
    const size_t n = from->layout.count, size = weft_type_size(from->layout.type);
    char *const back = wi_host_alloc(n * size);
    if (!back)
        return wi_fail(ctx, WEFT_ENOMEM, "no host memory for %zu elements", n);
    const weft_status status =
        weft_convert(ctx, WEFT_X_SATURATE, type, from->layout.type, n, cells, back);
    for (*first = 0; *first < n; ++*first) {
        const char *const own = (const char *)from->data + *first * size;
        if (memcmp(back + *first * size, own, size) != 0)
            break;
    }
    wi_host_free(back);
    return status;
}

/* Column k of an array with rows of `width` cells. */
static wi_exit join_column(const wi_arguments *args, weft_context *ctx, const char *titles,
                           const wi_column_set *columns, size_t k, wi_npy *array) {
    const wi_npy *const from = &columns->column[k];
    const size_t n = from->layout.count, size = weft_type_size(array->layout.type);
    char *const cells = wi_host_alloc(n * size), text[WI_FIELD_BYTES], name[WI_COLUMN_BYTES];
    size_t inexact = n;
    weft_status status = cells ? weft_convert(ctx, WEFT_X_SATURATE, from->layout.type,
                                              array->layout.type, n, from->data, cells)
                               : wi_fail(ctx, WEFT_ENOMEM, "no host memory for %zu elements", n);
    if (status == WEFT_OK && !wi_type_is_float(from->layout.type))
        status = find_inexact(ctx, from, array->layout.type, cells, &inexact);
    for (size_t i = 0; i < n && status == WEFT_OK; i++)
        memcpy((char *)array->data + (i * columns->count + k) * size, cells + i * size, size);
    wi_host_free(cells);
    if (status != WEFT_OK)
        return wi_session_failed(ctx);
    if (inexact == n)
        return WI_EXIT_OK;
    wi_say_error("%s: an array has one type, and %s cannot hold %s of column %s exactly; write a "
                 "table of text, whose columns have types of their own, as -o OUT.csv",
                 args->command->name, weft_type_name(array->layout.type),
                 wi_format_element(
                     from->layout.type,
                     (const char *)from->data + inexact * weft_type_size(from->layout.type), text),
                 name_of(columns, titles, k, name));
    return WI_EXIT_FAILED;
}

static wi_exit join(const wi_arguments *args, const char *titles, const wi_column_set *columns,
                    wi_npy *array) {
    weft_context *ctx = NULL;
    const size_t width = columns->count;
    array->layout = layout_of(columns);
    array->data = wi_host_alloc(array->layout.count * weft_type_size(array->layout.type));
    if (!array->data || weft_open(&ctx, "cpu") != WEFT_OK) {
        wi_say_error("%s: no host memory for %zu elements", args->command->name,
                     array->layout.count);
        return WI_EXIT_FAILED;
    }
    wi_exit result = WI_EXIT_OK;
    for (size_t k = 0; k < width && result == WI_EXIT_OK; k++)
        result = join_column(args, ctx, titles, columns, k, array);
    weft_close(ctx);
    return result;
}

/* Writes one array in which all columns are. */
static wi_exit save_array(const wi_arguments *args, const wi_option *option, const char *titles,
                          const wi_column_set *columns) {
    wi_npy array = {.data = NULL};
    wi_exit result = join(args, titles, columns, &array);
    if (result == WI_EXIT_OK)
        result = wi_save_titled(args, option, titles, &array);
    wi_npy_free(&array);
    return result;
}

wi_exit wi_columns_save(const wi_arguments *args, const wi_option *option, const char *titles,
                        const wi_column_set *columns) {
    const char *const path = wi_value(args, option);
    wi_output output;
    wi_note note = {""};
    if (!wi_is_table_name(path))
        return save_array(args, option, titles, columns);
    const wi_exit result = wi_output_open(path, &output);
    if (result != WI_EXIT_OK)
        return result;
    const bool written = wi_columns_write(output.file, path, titles, columns, &note) == WEFT_OK;
    if (!written)
        wi_say_error("%s", note.text);
    return wi_output_end(&output, written);
}

void wi_columns_print_saved(const wi_arguments *args, const char *op, const char *ladder,
                            const weft_context *ctx, const wi_column_set *columns) {
    const wi_npy_layout layout = layout_of(columns);
    wi_print_saved(args, op, ladder, ctx, &layout);
}

wi_exit wi_columns_save_part(const wi_arguments *args, weft_context *ctx, wi_column_set *columns) {
    const char *const name = args->command->name;
    wi_exit result = wi_columns_collect(args, ctx, columns);
    if (result == WI_EXIT_OK && weft_rank(ctx) == 0)
        result = wi_columns_save(args, &wi_output_option, NULL, columns);
    result = wi_agree_result(args, ctx, result);
    if (result == WI_EXIT_OK)
        wi_columns_print_saved(args, name, name, ctx, columns);
    return result;
}
