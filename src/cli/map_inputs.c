/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of `weft map`: whole files, and columns of tables that the formula names. */
#include "cli/map_inputs.h"

#include <stdio.h>
#include <string.h>

#include "cli/formula.h"
#include "cli/ranks.h"
#include "cli/text.h"

enum {
    LIST_BYTES = 1 << 12 /* of the names of a table's columns */
};

static const char letters[] = "abcdefg"; /* of the files */
_Static_assert(sizeof letters == WEFT_EXPR_MAX_INPUTS + 1, "a letter for each file");

/* One of the files. */
typedef struct source {
    const char *path;
    wi_text_table *table;                     /* NULL: it is no table of text */
    bool whole;                               /* the formula has its letter */
    size_t columns;                           /* that the formula names */
    wi_table_text name[WEFT_EXPR_MAX_INPUTS]; /* of each in the formula */
} source;

/* What is known while inputs are read. */
typedef struct reading {
    const wi_arguments *args;
    weft_context *ctx;
    weft_context *threads; /* that parse text */
    wi_said_types said;
    wi_note note;
    source source[WEFT_EXPR_MAX_INPUTS];
    size_t sources;
} reading;

static wi_exit failed(const reading *r) {
    wi_say_error("%s", r->note.text);
    return WI_EXIT_FAILED;
}

/* ---- files ---- */

static wi_exit open_table(reading *r, source *s) {
    FILE *file;
    if (wi_check_shared(r->ctx, s->path) != WI_EXIT_OK)
        return WI_EXIT_FAILED;
    if (!r->threads && weft_open(&r->threads, "cpu") != WEFT_OK) {
        wi_say_error("%s", weft_message(NULL));
        return WI_EXIT_FAILED;
    }
    const wi_exit result = wi_open_input(r->args, s->path, "table", &file);
    if (result != WI_EXIT_OK)
        return result;
    const weft_status status = wi_text_table_open(r->threads, file, wi_input_name(s->path),
                                                  "--types", &s->table, &r->note);
    wi_close_input(file);
    return status == WEFT_OK ? WI_EXIT_OK : failed(r);
}

static wi_exit open_files(reading *r) {
    size_t standard = 0;
    r->sources = r->args->operands - 1;
    for (size_t k = 0; k < r->sources; k++) {
        r->source[k].path = r->args->operand[k + 1];
        standard += wi_is_standard(r->source[k].path);
    }
    if (standard > 1)
        return wi_usage(r->args->command, "only one of the files can be standard input");
    wi_exit result = WI_EXIT_OK;
    for (size_t k = 0; k < r->sources && result == WI_EXIT_OK; k++)
        if (wi_is_table(r->ctx, r->source[k].path))
            result = open_table(r, &r->source[k]);
    return result;
}

/* ---- names ---- */

/* The name of a column, without what marks it in a formula. */
static wi_table_text bare(wi_table_text name) {
    const bool quoted = *name.begin == '"', number = *name.begin == '$';
    return (wi_table_text){name.begin + (quoted || number), name.end - quoted};
}

/* The file whose letter the name is; `sources` if it is none. */
static size_t find_letter(const reading *r, wi_table_text name) {
    const char *const found =
        name.end - name.begin == 1 ? memchr(letters, *name.begin, r->sources) : NULL;
    return found ? (size_t)(found - letters) : r->sources;
}

/* How many tables have the column; *at is the last of them. */
static size_t find_tables(const reading *r, wi_table_text name, size_t *at) {
    size_t count = 0;
    for (size_t k = 0; k < r->sources; k++)
        if (r->source[k].table && wi_text_table_find(r->source[k].table, bare(name)) != SIZE_MAX) {
            *at = k;
            count++;
        }
    return count;
}

static wi_exit add_column(const reading *r, source *s, wi_table_text name) {
    const size_t column = wi_text_table_find(s->table, bare(name));
    for (size_t k = 0; k < s->columns; k++) {
        const wi_table_text own = s->name[k];
        if (wi_table_is_same(own, name))
            return WI_EXIT_OK;
        if (wi_text_table_find(s->table, bare(own)) == column)
            return wi_usage(r->args->command, "formula: %.*s and %.*s are one column; write one",
                            (int)(own.end - own.begin), own.begin, (int)(name.end - name.begin),
                            name.begin);
    }
    if (s->columns == WEFT_EXPR_MAX_INPUTS)
        return wi_usage(r->args->command, "formula: it names more than %d columns",
                        WEFT_EXPR_MAX_INPUTS);
    s->name[s->columns++] = name;
    return WI_EXIT_OK;
}

/* What is neither a column nor a file's letter is left to the parser, unless there is a table that
 * can say which columns it has. */
static wi_exit refuse_name(reading *r, wi_table_text name) {
    for (size_t k = 0; k < r->sources; k++)
        if (r->source[k].table &&
            wi_text_table_must_find(r->source[k].table, bare(name)) != WEFT_OK)
            return failed(r);
    return WI_EXIT_OK;
}

static wi_exit find_name(reading *r, wi_table_text name) {
    const size_t letter = find_letter(r, name);
    const int length = (int)(name.end - name.begin);
    size_t at = 0;
    const size_t tables = find_tables(r, name, &at);
    if (tables == 0 && letter == r->sources)
        return refuse_name(r, name);
    if (tables > 1)
        return wi_usage(r->args->command, "formula: %.*s is a column of several files; rename one",
                        length, name.begin);
    if (tables == 1 && letter < r->sources && r->sources > 1)
        return wi_usage(r->args->command,
                        "formula: %.*s is the file %s, and a column of %s; write the column as "
                        "\"%.*s\", in double quotes",
                        length, name.begin, r->source[letter].path, r->source[at].path, length,
                        name.begin);
    if (tables == 1)
        return add_column(r, &r->source[at], name);
    r->source[letter].whole = true;
    return WI_EXIT_OK;
}

static wi_exit find_names(reading *r) {
    const char *text = r->args->operand[0];
    wi_table_text name;
    wi_exit result = WI_EXIT_OK;
    while (result == WI_EXIT_OK && wi_formula_next_name(&text, &name))
        result = find_name(r, name);
    return result;
}

/* ---- inputs ---- */

static wi_npy *add_input(wi_map_inputs *in, wi_table_text name) {
    in->array[in->count] = (wi_npy){.data = NULL};
    in->name[in->count] = name;
    return &in->array[in->count++];
}

/* A whole table has one type. */
static wi_exit load_whole(reading *r, size_t at, wi_map_inputs *in) {
    source *const s = &r->source[at];
    const weft_type *type = NULL;
    snprintf(in->label[in->count], WI_LABEL_BYTES, "%s", s->path);
    wi_npy *const array = add_input(in, (wi_table_text){letters + at, letters + at + 1});
    if (!s->table)
        return wi_load_any_part(r->args, r->ctx, s->path, NULL, array);
    for (size_t w = 0; w < r->said.types.count; w++) {
        if (r->said.wish[w].column.begin)
            return wi_usage(r->args->command,
                            "option --types: the formula names no columns of %s; say one type "
                            "for all",
                            wi_input_name(s->path));
        type = &r->said.wish[w].type;
    }
    weft_status status = wi_text_table_array(s->table, NULL, type, false, array);
    if (status == WEFT_OK)
        status = wi_npy_take_part(weft_rank(r->ctx), weft_ranks(r->ctx), array, &r->note);
    return status == WEFT_OK ? WI_EXIT_OK : failed(r);
}

/* Wishes that other tables can grant are left out. */
static wi_table_types types_of(const reading *r, const source *s, wi_table_wish *wishes) {
    wi_table_types types = {.typing = WI_TABLE_OWN, .wishes = wishes};
    for (size_t w = 0; w < r->said.types.count; w++) {
        const wi_table_wish wish = r->said.wish[w];
        size_t at = 0;
        const size_t tables = wish.column.begin ? find_tables(r, wish.column, &at) : 0;
        if (tables == 0 || wi_text_table_find(s->table, wish.column) != SIZE_MAX)
            wishes[types.count++] = wish;
    }
    return types;
}

/* Lists the columns as --columns does. */
static bool list_columns(const source *s, char list[LIST_BYTES]) {
    size_t used = 0;
    for (size_t k = 0; k < s->columns && used < LIST_BYTES; k++) {
        const bool number = *s->name[k].begin == '$';
        used += (size_t)snprintf(list + used, LIST_BYTES - used, "%s%.*s", k > 0 ? "," : "",
                                 (int)(s->name[k].end - s->name[k].begin) - number,
                                 s->name[k].begin + number);
    }
    return used < LIST_BYTES;
}

static wi_exit load_named(reading *r, source *s, wi_map_inputs *in) {
    char list[LIST_BYTES];
    wi_table_wish wishes[WI_MOST_TYPES + 1];
    const wi_table_types types = types_of(r, s, wishes);
    wi_column_set columns = {.column = NULL};
    if (!list_columns(s, list))
        return wi_usage(r->args->command, "formula: the names of its columns are too long");
    weft_status status = wi_text_table_columns(s->table, list, &types, &columns);
    for (size_t k = 0; k < columns.count && status == WEFT_OK; k++) {
        snprintf(in->label[in->count], WI_LABEL_BYTES, "column %.*s of %s",
                 (int)(s->name[k].end - s->name[k].begin), s->name[k].begin,
                 wi_input_name(s->path));
        wi_npy *const array = add_input(in, s->name[k]);
        *array = columns.column[k];
        columns.column[k] = (wi_npy){.data = NULL};
        status = wi_npy_take_part(weft_rank(r->ctx), weft_ranks(r->ctx), array, &r->note);
    }
    wi_columns_free(&columns);
    return status == WEFT_OK ? WI_EXIT_OK : failed(r);
}

static wi_exit load_inputs(reading *r, wi_map_inputs *in) {
    wi_exit result = WI_EXIT_OK;
    size_t count = 0;
    for (size_t k = 0; k < r->sources; k++) {
        source *const s = &r->source[k];
        s->whole = s->whole || s->columns == 0;
        count += s->columns + s->whole;
    }
    if (count > WEFT_EXPR_MAX_INPUTS)
        return wi_usage(r->args->command, "formula: it takes more than %d files and columns",
                        WEFT_EXPR_MAX_INPUTS);
    for (size_t k = 0; k < r->sources && result == WI_EXIT_OK; k++) {
        if (r->source[k].whole)
            result = load_whole(r, k, in);
        if (r->source[k].columns > 0 && result == WI_EXIT_OK)
            result = load_named(r, &r->source[k], in);
    }
    return result;
}

wi_exit wi_map_load(const wi_arguments *args, weft_context *ctx, wi_map_inputs *in) {
    reading r = {.args = args, .ctx = ctx};
    *in = (wi_map_inputs){.count = 0};
    wi_exit result = wi_types_said(args, WI_TABLE_OWN, &r.said);
    if (result == WI_EXIT_OK)
        result = open_files(&r);
    if (result == WI_EXIT_OK)
        result = find_names(&r);
    result = wi_agree_result(args, ctx, result);
    if (result == WI_EXIT_OK)
        result = wi_agree_result(args, ctx, load_inputs(&r, in));
    for (size_t k = 0; k < r.sources; k++)
        wi_text_table_close(r.source[k].table);
    weft_close(r.threads);
    return result;
}

void wi_map_free(wi_map_inputs *in) {
    for (size_t k = 0; k < in->count; k++)
        wi_npy_free(&in->array[k]);
}
