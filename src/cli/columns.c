/* SPDX-License-Identifier: Apache-2.0 */
/* Reading columns that have types of their own. */
#include "cli/columns.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/ranks.h"
#include "cli/table_file.h"
#include "cli/text.h"

enum {
    TYPE_BYTES = 8 /* of a type's name */
};

/* ---- --type and --types ---- */

/* Is --type of this command about reading? */
static bool reads_type(const wi_command *command) {
    const wi_option *at = wi_next_option(command, NULL);
    while (at && at != &wi_read_type_option)
        at = wi_next_option(command, at);
    return at != NULL;
}

/* Reads one entry of the list: TYPE, or COLUMN=TYPE. */
static wi_exit read_wish(const wi_arguments *args, wi_table_text entry, wi_table_wish *wish) {
    const char *equal = entry.end;
    char word[TYPE_BYTES];
    while (equal > entry.begin && equal[-1] != '=')
        equal--;
    snprintf(word, sizeof word, "%.*s", (int)(entry.end - equal), equal);
    if (!wi_find_type(word, &wish->type))
        return wi_usage_word(args->command, "type", word, wi_list_types);
    wish->column = (wi_table_text){NULL, NULL};
    if (equal > entry.begin) {
        wi_table_text name = {entry.begin, equal - 1};
        wi_table_after after;
        wish->column = wi_table_next_field(&name, ',', &after);
    }
    return WI_EXIT_OK;
}

wi_exit wi_types_said(const wi_arguments *args, wi_table_typing typing, wi_said_types *said) {
    const char *const list = wi_value(args, &wi_types_option);
    wi_table_text rest = {list, list ? list + strlen(list) : list};
    wi_table_types *const types = &said->types;
    *types = (wi_table_types){.typing = typing, .wishes = said->wish};
    said->by_column = list != NULL;
    said->type = reads_type(args->command) && wi_given(args, &wi_type_option) ? &args->type : NULL;
    if (said->type)
        said->wish[types->count++] = (wi_table_wish){{NULL, NULL}, args->type};
    for (wi_table_after after = list ? WI_TABLE_MORE : WI_TABLE_LAST; after == WI_TABLE_MORE;) {
        const wi_table_text entry = wi_table_next_field(&rest, ',', &after);
        if (types->count > WI_MOST_TYPES)
            return wi_usage(args->command, "option --types: more than %d types", WI_MOST_TYPES);
        const wi_exit result = read_wish(args, entry, &said->wish[types->count++]);
        if (result != WI_EXIT_OK)
            return result;
    }
    return WI_EXIT_OK;
}

bool wi_is_table(const weft_context *ctx, const char *path) {
    if (wi_is_standard(path) && (weft_ranks(ctx) > 1 || isatty(STDIN_FILENO)))
        return false;
    return wi_holds_table(path, stdin);
}

/* ---- arrays ---- */

/* The columns of an array in C order, of which further dimensions are taken as one. */
static weft_status split(const wi_npy *array, const char *name, wi_column_set *out, wi_note *note) {
    const wi_npy_layout *const l = &array->layout;
    const size_t size = weft_type_size(l->type), rows = l->dims > 0 ? l->shape[0] : l->count;
    size_t width = 1;
    for (size_t k = 1; k < l->dims; k++)
        width *= l->shape[k];
    out->column = wi_host_alloc(width * sizeof *out->column);
    if (!out->column)
        return wi_note_fail(note, WEFT_ENOMEM, "%s: no host memory for %zu columns", name, width);
    memset(out->column, 0, width * sizeof *out->column);
    for (out->count = 0; out->count < width; out->count++) {
        wi_npy *const to = &out->column[out->count];
        to->layout.type = l->type;
        to->layout.opaque = l->opaque;
        wi_npy_flatten(to, rows);
        to->data = wi_host_alloc(rows * size);
        if (!to->data)
            return wi_note_fail(note, WEFT_ENOMEM, "%s: no host memory for %zu rows", name, rows);
        for (size_t r = 0; r < rows; r++)
            memcpy((char *)to->data + r * size,
                   (const char *)array->data + (r * width + out->count) * size, size);
    }
    return WEFT_OK;
}

static weft_status load_array(FILE *file, const char *name, const char *columns,
                              const wi_said_types *said, wi_column_set *out, wi_note *note) {
    wi_npy array = {.data = NULL};
    weft_status status = WEFT_OK;
    if (said->by_column)
        status = wi_note_fail(note, WEFT_EARG,
                              "%s: --types is about tables of text; an array has one type", name);
    if (status == WEFT_OK)
        status = wi_npy_read(file, name, said->type, &array, note);
    if (status == WEFT_OK && columns)
        status = wi_columns_choose(columns, name, &array, note);
    if (status == WEFT_OK)
        status = wi_npy_to_c_order(&array, note);
    if (status == WEFT_OK)
        status = split(&array, name, out, note);
    wi_npy_free(&array);
    return status;
}

/* ---- files ---- */

/* Reads several lists of columns of a table, each into one of the outputs. */
static weft_status load_text(FILE *file, const char *name, size_t lists, const char *const *columns,
                             const wi_table_types *types, wi_column_set *out, wi_note *note) {
    weft_context *threads = NULL;
    wi_text_table *table = NULL;
    weft_status status = weft_open(&threads, "cpu");
    if (status != WEFT_OK)
        return wi_note_fail(note, status, "%s", weft_message(NULL));
    status = wi_text_table_open(threads, file, name, "--types", &table, note);
    for (size_t k = 0; k < lists && status == WEFT_OK; k++)
        status = wi_text_table_columns(table, columns[k], types, &out[k]);
    wi_text_table_close(table);
    weft_close(threads);
    return status;
}

wi_exit wi_columns_load(const wi_arguments *args, const char *path, const char *columns,
                        const wi_said_types *said, wi_column_set *out) {
    wi_note note = {""};
    FILE *file;
    *out = (wi_column_set){.column = NULL};
    const wi_exit result = wi_open_input(args, path, ".npy file", &file);
    if (result != WI_EXIT_OK)
        return result;
    const char *const name = wi_input_name(path);
    const weft_status status = wi_holds_table(path, file)
                                   ? load_text(file, name, 1, &columns, &said->types, out, &note)
                                   : load_array(file, name, columns, said, out, &note);
    wi_close_input(file);
    if (status == WEFT_OK)
        return WI_EXIT_OK;
    wi_columns_free(out);
    wi_say_error("%s", note.text);
    return WI_EXIT_FAILED;
}

/* Keeps this rank's rows, if `result` says that all have been read; agrees on that. */
static wi_exit take_part(const wi_arguments *args, weft_context *ctx, wi_exit result,
                         wi_column_set *columns) {
    wi_note note = {""};
    weft_status status = WEFT_OK;
    for (size_t k = 0; k < columns->count && status == WEFT_OK && weft_ranks(ctx) > 1; k++)
        status = wi_npy_take_part(weft_rank(ctx), weft_ranks(ctx), &columns->column[k], &note);
    if (status != WEFT_OK) {
        wi_say_error("%s", note.text);
        result = WI_EXIT_FAILED;
    }
    return wi_agree_result(args, ctx, result);
}

wi_exit wi_columns_load_part(const wi_arguments *args, weft_context *ctx, const char *path,
                             const char *columns, const wi_said_types *said, wi_column_set *out) {
    *out = (wi_column_set){.column = NULL};
    wi_exit result = wi_check_shared(ctx, path);
    if (result == WI_EXIT_OK)
        result = wi_columns_load(args, path, columns, said, out);
    return take_part(args, ctx, result, out);
}

wi_exit wi_columns_load_lists(const wi_arguments *args, weft_context *ctx, const char *path,
                              const char *const columns[2], const wi_said_types *said,
                              wi_column_set out[2]) {
    wi_note note = {""};
    FILE *file;
    out[0] = out[1] = (wi_column_set){.column = NULL};
    wi_exit result = wi_check_shared(ctx, path);
    if (result == WI_EXIT_OK)
        result = wi_open_input(args, path, "table", &file);
    if (result == WI_EXIT_OK) {
        if (load_text(file, wi_input_name(path), 2, columns, &said->types, out, &note) != WEFT_OK) {
            wi_say_error("%s", note.text);
            result = WI_EXIT_FAILED;
        }
        wi_close_input(file);
    }
    for (size_t k = 0; k < 2; k++)
        result = take_part(args, ctx, result, &out[k]);
    return result;
}

wi_exit wi_columns_load_each(const wi_arguments *args, weft_context *ctx, const char *path,
                             wi_table_typing typing, wi_column_set *out) {
    wi_said_types said;
    *out = (wi_column_set){.column = NULL};
    wi_exit result = wi_types_said(args, typing, &said);
    if (result != WI_EXIT_OK)
        return result;
    if (wi_is_table(ctx, path))
        return wi_columns_load_part(args, ctx, path, wi_value(args, &wi_columns_option), &said,
                                    out);
    if (said.by_column)
        return wi_usage(args->command, "option --types is about tables of text, and %s is none",
                        wi_input_name(path));
    result = wi_columns_make(args, 1, out);
    return result == WI_EXIT_OK ? wi_load_part(args, ctx, path, out->column) : result;
}

const char *wi_column_name(const wi_column_set *columns, size_t k, char out[WI_COLUMN_BYTES]) {
    const char *const title = columns->column[k].titles;
    const bool quoted = title && *title == '"';
    if (title)
        snprintf(out, WI_COLUMN_BYTES, "%.*s", (int)strlen(title) - 2 * quoted, title + quoted);
    else
        snprintf(out, WI_COLUMN_BYTES, "%zu", k + 1);
    return out;
}

size_t wi_table_rows(const wi_column_set *columns) {
    return columns->count > 0 ? columns->column[0].layout.count : 0;
}

wi_exit wi_columns_make(const wi_arguments *args, size_t count, wi_column_set *out) {
    out->column = wi_host_alloc(count * sizeof *out->column);
    if (!out->column) {
        wi_say_error("%s: no host memory for %zu columns", args->command->name, count);
        return WI_EXIT_FAILED;
    }
    memset(out->column, 0, count * sizeof *out->column);
    out->count = count;
    return WI_EXIT_OK;
}

wi_exit wi_columns_collect(const wi_arguments *args, weft_context *ctx, wi_column_set *columns) {
    wi_exit result = WI_EXIT_OK;
    for (size_t k = 0; k < columns->count && result == WI_EXIT_OK; k++) {
        wi_npy *const array = &columns->column[k];
        result = wi_collect(args, ctx, weft_type_size(array->layout.type), &array->layout.count,
                            &array->data);
        if (result == WI_EXIT_OK)
            wi_npy_flatten(array, array->layout.count);
    }
    return result;
}
