/* SPDX-License-Identifier: Apache-2.0 */
/* `weft group`: counts, sums, means and more of the rows that have a key in common. */
#include <stdio.h>
#include <string.h>

#include "cli/grouping.h"
#include "cli/ranks.h"
#include "cli/table_file.h"

static void list_ops(const wi_command *command, wi_words *words) {
    (void)command;
    for (size_t k = 0; k < WI_GROUP_OPS; k++)
        wi_words_add(words, wi_group_op_names[k]);
}

static const wi_option by_option = {.name = "by",
                                    .letter = 'b',
                                    .value = "LIST",
                                    .help = "the columns that hold the key: names or numbers"};
static const wi_option op_option = {.name = "op",
                                    .value = "LIST",
                                    .help = "what is wanted, as count,mean; default count,sum",
                                    .list = list_ops,
                                    .heading = "OP"};
static const wi_option runs_option = {.name = "runs",
                                      .help = "only neighbours form a group: do not sort first"};

static const wi_option exact_option = {.name = "exact",
                                       .help = "sums of floats are exact, rounded once"};

enum {
    TITLE_BYTES = 1 << 15,
    MOST_COLUMNS = WI_GROUP_MOST_COLUMNS, /* of keys, and of values */
    LABEL_BYTES = 32
};

/* The names of columns in the output. */
typedef struct labels {
    size_t count;
    char name[MOST_COLUMNS][LABEL_BYTES];
} labels;

/* ---- options ---- */

/* The word by which the option names a column, if it can stand in any table; else its place in the
 * list. */
static void label(wi_table_text field, size_t place, char out[LABEL_BYTES]) {
    const size_t length = (size_t)(field.end - field.begin);
    bool plain = length > 0 && length < LABEL_BYTES;
    for (const char *at = field.begin; at < field.end; at++)
        plain = plain && !strchr(" ,;\t\"#", *at);
    if (plain)
        snprintf(out, LABEL_BYTES, "%.*s", (int)length, field.begin);
    else
        snprintf(out, LABEL_BYTES, "%zu", place);
}

/* The columns that the option lists; none if it is not given. */
static wi_exit read_labels(const wi_arguments *args, const wi_option *option, labels *l) {
    const char *const text = wi_value(args, option);
    wi_table_text rest = {text, text ? text + strlen(text) : text};
    wi_table_after after = text ? WI_TABLE_MORE : WI_TABLE_LAST;
    for (l->count = 0; after == WI_TABLE_MORE; l->count++) {
        if (l->count == MOST_COLUMNS)
            return wi_usage(args->command, "option --%s: more than %d columns", option->name,
                            MOST_COLUMNS);
        label(wi_table_next_field(&rest, ',', &after), l->count + 1, l->name[l->count]);
    }
    return WI_EXIT_OK;
}

static wi_exit read_ops(const wi_arguments *args, wi_grouping *g) {
    const char *at = wi_value(args, &op_option);
    at = at ? at : "count,sum";
    for (bool more = true; more;) {
        char word[LABEL_BYTES];
        const size_t length = strcspn(at, ",");
        size_t op = 0;
        snprintf(word, sizeof word, "%.*s", (int)(length < LABEL_BYTES ? length : LABEL_BYTES), at);
        while (op < WI_GROUP_OPS && strcmp(word, wi_group_op_names[op]) != 0)
            op++;
        if (op == WI_GROUP_OPS)
            return wi_usage_word(args->command, "operation", word, list_ops);
        for (size_t k = 0; k < g->ops; k++)
            if (g->op[k] == (wi_group_op)op)
                return wi_usage(args->command, "option --op: %s stands there twice", word);
        g->op[g->ops++] = (wi_group_op)op;
        more = at[length] == ',';
        at += length + more;
    }
    return WI_EXIT_OK;
}

static wi_exit check_options(const wi_arguments *args) {
    const bool two = args->operands == 2;
    if (!two && !wi_given(args, &by_option))
        return wi_usage(args->command, "option --by is missing; add --by COLUMN, or a second file "
                                       "that holds the key of each element");
    if (two && wi_given(args, &by_option))
        return wi_usage(args->command,
                        "option --by: %s holds the keys already; leave one of them out",
                        args->operand[1]);
    if (two && wi_is_standard(args->operand[0]) && wi_is_standard(args->operand[1]))
        return wi_usage(args->command, "only one of the files can be standard input");
    return wi_given(args, &wi_output_option) ? wi_need_output(args) : WI_EXIT_OK;
}

/* ---- files ---- */

static wi_exit check_shared(const wi_arguments *args, const weft_context *ctx) {
    wi_exit result = WI_EXIT_OK;
    for (size_t k = 0; k < args->operands && result == WI_EXIT_OK; k++)
        result = wi_check_shared(ctx, args->operand[k]);
    return result;
}

/* The columns of --by, and behind them those of --columns. */
static wi_exit load_both(const wi_arguments *args, const wi_said_types *said, const labels *by,
                         wi_grouping *g) {
    char both[TITLE_BYTES];
    const char *const keys = wi_value(args, &by_option);
    const char *const more = wi_value(args, &wi_columns_option);
    const int length =
        snprintf(both, sizeof both, "%s%s%s", keys, more ? "," : "", more ? more : "");
    if (length >= TITLE_BYTES)
        return wi_usage(args->command, "options --by and --columns: their lists are too long");
    wi_column_set all;
    wi_exit result = wi_columns_load(args, args->operand[0], both, said, &all);
    if (result == WI_EXIT_OK)
        result = wi_columns_make(args, by->count, &g->keys);
    if (result == WI_EXIT_OK)
        result = wi_columns_make(args, all.count - by->count, &g->values);
    for (size_t k = 0; k < all.count && result == WI_EXIT_OK; k++) {
        wi_npy *const to = k < by->count ? &g->keys.column[k] : &g->values.column[k - by->count];
        *to = all.column[k];
        all.column[k] = (wi_npy){.data = NULL};
    }
    wi_columns_free(&all);
    return result;
}

/* Keys of a second file. */
static wi_exit load_two(const wi_arguments *args, const wi_said_types *said, wi_grouping *g) {
    static const wi_said_types none = {.types = {.typing = WI_TABLE_OWN}};
    wi_exit result = wi_columns_load(args, args->operand[1], NULL, &none, &g->keys);
    if (result == WI_EXIT_OK)
        result = wi_columns_load(args, args->operand[0], wi_value(args, &wi_columns_option), said,
                                 &g->values);
    if (result != WI_EXIT_OK)
        return result;
    if (wi_table_rows(&g->values) == wi_table_rows(&g->keys) || g->keys.count == 0)
        return WI_EXIT_OK;
    wi_say_error("group: %s holds %zu rows, but %s holds %zu keys; give one for each row",
                 args->operand[0], wi_table_rows(&g->values), args->operand[1],
                 wi_table_rows(&g->keys));
    return WI_EXIT_FAILED;
}

/* Reads the rows to group; `by` are the key's columns, unless a second file holds it. */
static wi_exit load(const wi_arguments *args, wi_grouping *g, const labels *by, labels *columns) {
    wi_said_types said;
    wi_exit result = wi_types_said(args, WI_TABLE_OWN, &said);
    if (result == WI_EXIT_OK)
        result = args->operands == 2 ? load_two(args, &said, g) : load_both(args, &said, by, g);
    if (result != WI_EXIT_OK)
        return result;
    if (g->keys.count > MOST_COLUMNS || g->values.count > MOST_COLUMNS)
        return wi_usage(args->command, "more than %d columns; choose some with --columns",
                        MOST_COLUMNS);
    for (size_t c = 0; c < g->values.count; c++) {
        if (c >= columns->count)
            snprintf(columns->name[c], LABEL_BYTES, "%zu", c + 1);
        g->value_name[c] = columns->name[c];
    }
    if (g->keys.count > 0)
        return WI_EXIT_OK;
    wi_say_error("group: %s has no columns; give one or more for the key", args->operand[1]);
    return WI_EXIT_FAILED;
}

/* ---- the output ---- */

static void add_title(char *titles, const char *op, const labels *l, size_t k, bool alone) {
    char name[2 * LABEL_BYTES], number[LABEL_BYTES];
    snprintf(number, sizeof number, "%zu", k + 1);
    const char *const label = k < l->count ? l->name[k] : number;
    if (alone)
        snprintf(name, sizeof name, "%s", op);
    else
        snprintf(name, sizeof name, "%s_%s", op, label);
    wi_append(titles, TITLE_BYTES, ",", name);
}

/* Is the word the name of another column, or of a member of each JSON object? */
static bool is_taken(const char *name) {
    static const char *const members[] = {"op", "variant", "place", "ranks", "comm", "file"};
    bool taken = false;
    for (size_t k = 0; k < sizeof members / sizeof *members; k++)
        taken = taken || strcmp(name, members[k]) == 0;
    for (size_t k = 0; k < WI_GROUP_OPS; k++)
        taken = taken || strcmp(name, wi_group_op_names[k]) == 0;
    return taken;
}

/* The names of the table's columns: those of the keys, with key_ before one that is taken; then
 * count, sum and so on. */
static void make_titles(const wi_grouping *g, const labels *by, const labels *columns,
                        char titles[TITLE_BYTES]) {
    titles[0] = '\0';
    for (size_t k = 0; k < g->keys.count; k++) {
        const bool named = k < by->count && strspn(by->name[k], "0123456789") == 0;
        if (named && !is_taken(by->name[k]))
            wi_append(titles, TITLE_BYTES, ",", by->name[k]);
        else
            add_title(titles, "key", by, k, !named && g->keys.count == 1);
    }
    for (size_t o = 0; o < g->ops; o++) {
        const char *const name = wi_group_op_names[g->op[o]];
        const bool counts = g->op[o] == WI_GROUP_COUNT;
        for (size_t c = 0; c < (counts ? 1 : g->values.count); c++)
            add_title(titles, name, columns, c, counts || g->values.count == 1);
    }
}

/* Which ladder's rung to name: of those that reduce segments, if one ran for all of the call. */
static const char *ladder_used(const weft_context *ctx) {
    return weft_used(ctx, "group") ? "group" : "group_keys";
}

static void print_json(const wi_arguments *args, const weft_context *ctx,
                       const wi_column_set *table, const char *titles) {
    for (size_t r = 0; r < wi_table_rows(table); r++) {
        wi_json json;
        const char *title = titles;
        wi_json_open(&json);
        wi_json_string(&json, "op", "group");
        wi_json_string(&json, "variant", weft_used(ctx, ladder_used(ctx)));
        wi_json_string(&json, "place", weft_place(ctx));
        wi_json_ranks(&json, ctx);
        wi_json_string(&json, "file", args->operand[0]);
        for (size_t c = 0; c < table->count; c++) {
            const wi_npy *const column = &table->column[c];
            char name[2 * LABEL_BYTES];
            const size_t length = strcspn(title, ",");
            snprintf(name, sizeof name, "%.*s", (int)length, title);
            wi_json_element(&json, name, column->layout.type,
                            (const char *)column->data + r * weft_type_size(column->layout.type));
            title += length + 1;
        }
        wi_json_close(&json);
    }
}

static wi_exit show(const wi_arguments *args, const weft_context *ctx, const wi_column_set *table,
                    const char *titles) {
    wi_note note = {""};
    if (wi_given(args, &wi_output_option)) {
        const wi_exit result = wi_columns_save(args, &wi_output_option, titles, table);
        if (result == WI_EXIT_OK)
            wi_columns_print_saved(args, "group", ladder_used(ctx), ctx, table);
        return result;
    }
    if (wi_given(args, &wi_json_option)) {
        print_json(args, ctx, table, titles);
        return WI_EXIT_OK;
    }
    if (wi_columns_write(stdout, "standard output", titles, table, &note) == WEFT_OK)
        return WI_EXIT_OK;
    wi_say_error("%s", note.text);
    return WI_EXIT_FAILED;
}

static wi_exit group(const wi_arguments *args, weft_context *ctx, wi_grouping *g,
                     wi_column_set *table) {
    wi_exit result = wi_grouping_begin(ctx, g);
    result = wi_agree_result(args, ctx, result);
    if (result == WI_EXIT_OK)
        result = wi_group_rows(args, ctx, g, table);
    return result == WI_EXIT_OK ? wi_columns_collect(args, ctx, table) : result;
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    wi_grouping g = {.exact = wi_given(args, &exact_option), .runs = wi_given(args, &runs_option)};
    wi_column_set table = {.column = NULL};
    labels by, columns;
    char titles[TITLE_BYTES];
    wi_exit result = check_options(args);
    if (result == WI_EXIT_OK)
        result = read_ops(args, &g);
    if (result == WI_EXIT_OK)
        result = read_labels(args, &by_option, &by);
    if (result == WI_EXIT_OK)
        result = read_labels(args, &wi_columns_option, &columns);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "group", &ctx);
    if (result == WI_EXIT_OK)
        result = check_shared(args, ctx);
    if (result == WI_EXIT_OK)
        result = load(args, &g, &by, &columns);
    if (ctx)
        result = wi_agree_result(args, ctx, result);
    if (result == WI_EXIT_OK)
        result = group(args, ctx, &g, &table);
    if (result == WI_EXIT_OK && weft_rank(ctx) == 0) {
        make_titles(&g, &by, &columns, titles);
        result = show(args, ctx, &table, titles);
    }
    if (ctx)
        result = wi_agree_result(args, ctx, result);
    wi_grouping_free(&g);
    wi_columns_free(&table);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {&by_option,
                                           &op_option,
                                           &runs_option,
                                           &exact_option,
                                           &wi_output_option,
                                           &wi_columns_option,
                                           &wi_place_option,
                                           &wi_variant_option,
                                           &wi_read_type_option,
                                           &wi_types_option,
                                           &wi_json_option,
                                           &wi_help_option,
                                           NULL};

const wi_command wi_group_command = {
    .name = "group",
    .operand_text = "FILE(.npy|.csv|.txt) [KEYS]",
    .summary = "count, add and compare what has a key in common",
    .details =
        "Prints a line for each key, in ascending order: the key, then what --op wants of the rows "
        "that have it. NaN among them makes all but count NaN. The keys are numbers, too: columns "
        "of the same table, which --by names, or a second file with one for each row. count is the "
        "number of rows; sum, mean, min, max and product are "
        "of each column of values, those of --columns or, with a second file, all. With --exact "
        "sums "
        "of floats are the exact values, rounded once to f64, and means are these divided by the "
        "count. --output "
        "writes the table instead; as an array it is of i64 if all of it is integers, else of f64. "
        "Columns of a table of text have types of their own, so that integers of 64 bits stay what "
        "they are beside floats; a sum or product of them that is too large is refused. Keys are "
        "equal if their bits are, so that -0 and 0 are two. Files are .npy arrays, or tables of "
        "text, "
        ".csv or .txt, whose first line may hold names. A file name of - is standard input or "
        "output. On place mpi every rank reads the whole files and groups its share of the rows; "
        "rank 0 prints or writes the table.",
    .examples = {{"weft group log.csv --by sensor -c temperature --op count,mean,min,max",
                  "a line for each sensor"},
                 {"weft group log.csv --by sensor --op count", "how many rows each has"},
                 {"weft group values.npy keys.npy -o sums.npy", "keys from another file"},
                 {"weft group log.csv --by day,sensor -c 3,4 -o sums.csv", "a key of two columns"},
                 {"mpirun -np 4 weft group log.csv --by sensor --place mpi", "over four ranks"}},
    .options = options,
    .ladder = "group",
    .suffixes = "npy csv txt",
    .least_operands = 1,
    .most_operands = 2,
    .run = execute,
    .over_ranks = true,
};
