/* SPDX-License-Identifier: Apache-2.0 */
/* `weft gather`: the elements or rows of a file that a list of positions names. */
#include "weft/gather.h"

#include "cli/ranks.h"
#include "cli/rows.h"
#include "cli/text.h"
#include "weft/expr.h"

static const wi_option by_option = {.name = "by",
                                    .letter = 'b',
                                    .value = "COLUMN",
                                    .help = "the column of POSITIONS that holds them"};

/* What is gathered from, and what comes of it: of a table of text its columns, else an array. */
typedef struct task {
    bool is_table;
    wi_column_set columns, columns_out;
    wi_npy array, array_out, positions;
} task;

/* The positions: integers, of a table of text those of one column. */
static wi_exit load_positions(const wi_arguments *args, weft_context *ctx, task *t) {
    const char *const path = args->operand[1], *const by = wi_value(args, &by_option);
    static const wi_said_types none = {.types = {.typing = WI_TABLE_OWN}};
    wi_column_set read;
    if (!wi_is_table(ctx, path) && !by)
        return wi_load_any_columns_part(args, ctx, path, NULL, NULL, &t->positions);
    wi_exit result = wi_columns_load_part(args, ctx, path, by, &none, &read);
    if (result != WI_EXIT_OK)
        return result;
    if (read.count == 1) {
        t->positions = read.column[0];
        read.column[0] = (wi_npy){.data = NULL};
    } else {
        result = wi_usage(args->command,
                          "%s: it has %zu columns; name the one that holds positions with --by",
                          wi_input_name(path), read.count);
    }
    wi_columns_free(&read);
    return result;
}

/* Reads the file: of an array each rank its part, which are elements of one dimension. */
static wi_exit load_array(const wi_arguments *args, weft_context *ctx, wi_npy *array) {
    wi_note note = {""};
    weft_status status = WEFT_OK;
    const wi_exit result = wi_load_part(args, ctx, args->operand[0], array);
    if (result != WI_EXIT_OK)
        return result;
    if (weft_ranks(ctx) > 1 && array->layout.dims > 1)
        status = wi_note_fail(&note, WEFT_EUNSUPPORTED,
                              "%s has %zu dimensions; ranks gather elements of one: make rows the "
                              "elements of a file, or use one place",
                              args->operand[0], array->layout.dims);
    return wi_agree_loaded(args, ctx, status, &note);
}

static wi_exit load(const wi_arguments *args, weft_context *ctx, task *t) {
    const char *const path = args->operand[0];
    wi_note note = {""};
    if (wi_is_standard(path) && wi_is_standard(args->operand[1]))
        return wi_usage(args->command, "only one of the files can be standard input");
    t->is_table = wi_is_table(ctx, path);
    wi_said_types said;
    wi_exit result = wi_types_said(args, WI_TABLE_UNROUNDED, &said);
    if (result != WI_EXIT_OK)
        return result;
    if (t->is_table)
        result = wi_columns_load_part(args, ctx, path, wi_value(args, &wi_columns_option), &said,
                                      &t->columns);
    else
        result = said.by_column ? wi_usage(args->command,
                                           "option --types is about tables of text, and %s is none",
                                           wi_input_name(path))
                                : load_array(args, ctx, &t->array);
    if (result == WI_EXIT_OK)
        result = load_positions(args, ctx, t);
    if (result != WI_EXIT_OK)
        return result;
    if (wi_npy_to_c_order(&t->array, &note) == WEFT_OK &&
        wi_npy_to_c_order(&t->positions, &note) == WEFT_OK)
        return WI_EXIT_OK;
    wi_say_error("%s", note.text);
    return WI_EXIT_FAILED;
}

/* Positions of any integer type become i64, in place of what they were. */
static wi_exit widen(const wi_arguments *args, weft_context *ctx, wi_npy *positions) {
    const weft_type type = positions->layout.type;
    const size_t n = positions->layout.count;
    if (wi_type_is_float(type)) {
        wi_say_error("gather: %s holds %s; positions are integers, all of them: no number is empty "
                     "or has a point",
                     wi_input_name(args->operand[1]), weft_type_name(type));
        return WI_EXIT_FAILED;
    }
    if (weft_type_size(type) >= sizeof(int32_t))
        return WI_EXIT_OK;
    int64_t *const wide = wi_host_alloc(n * sizeof *wide);
    if (!wide) {
        wi_say_error("gather: no host memory for %zu positions", n);
        return WI_EXIT_FAILED;
    }
    const weft_status status =
        weft_convert(ctx, WEFT_X_SATURATE, type, WEFT_I64, n, positions->data, wide);
    wi_host_free(positions->data);
    positions->data = wide;
    positions->layout.type = WEFT_I64;
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

/* Gathers along the first dimension: elements of a vector, rows of a matrix. */
static wi_exit compute(weft_context *ctx, wi_npy *array, const wi_npy *positions, wi_npy *out) {
    const wi_npy_layout *const from = &array->layout;
    const bool rows = weft_ranks(ctx) == 1 && from->dims > 0;
    const size_t n = positions->layout.count, m = rows ? from->shape[0] : from->count;
    const size_t row = !rows ? 1 : m > 0 ? from->count / m : 0;
    out->layout = *from;
    out->titles = array->titles;
    array->titles = NULL;
    out->layout.dims = from->dims > 0 ? from->dims : 1;
    out->layout.shape[0] = weft_ranks(ctx) > 1 ? wi_npy_whole(&positions->layout) : n;
    out->layout.count = n * row;
    out->data = wi_host_alloc(n * row * weft_type_size(from->type));
    if (!out->data) {
        wi_say_error("gather: no host memory for %zu elements", n * row);
        return WI_EXIT_FAILED;
    }
    if (m > 0 && row == 0)
        return WI_EXIT_OK;
    const weft_status status =
        weft_gather(ctx, n, row > 0 ? row * weft_type_size(from->type) : 1, positions->layout.type,
                    positions->data, m, array->data, out->data, NULL);
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

static wi_exit save(const wi_arguments *args, weft_context *ctx, task *t) {
    if (t->is_table)
        return wi_columns_save_part(args, ctx, &t->columns_out);
    const wi_exit result = wi_save_part(args, ctx, &wi_output_option, &t->array_out);
    if (result == WI_EXIT_OK)
        wi_print_saved(args, "gather", "gather", ctx, &t->array_out.layout);
    return result;
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    task t = {.is_table = false};
    wi_exit result = wi_need_output(args);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "gather", &ctx);
    if (result == WI_EXIT_OK)
        result = load(args, ctx, &t);
    if (result == WI_EXIT_OK)
        result = widen(args, ctx, &t.positions);
    if (result == WI_EXIT_OK)
        result = t.is_table ? wi_rows_gather(args, ctx, &t.positions, &t.columns, &t.columns_out)
                            : compute(ctx, &t.array, &t.positions, &t.array_out);
    if (result == WI_EXIT_OK)
        result = save(args, ctx, &t);
    wi_columns_free(&t.columns);
    wi_columns_free(&t.columns_out);
    wi_npy_free(&t.array);
    wi_npy_free(&t.array_out);
    wi_npy_free(&t.positions);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {
    &wi_output_option,    &wi_columns_option, &by_option,      &wi_place_option, &wi_variant_option,
    &wi_read_type_option, &wi_types_option,   &wi_json_option, &wi_help_option,  NULL};

const wi_command wi_gather_command = {
    .name = "gather",
    .operand_text = "FILE(.npy|.csv|.txt) POSITIONS",
    .summary = "take the elements or rows that positions name",
    .details = "Writes element i of FILE for each position i of POSITIONS, in their order: of an "
               "array of two dimensions row i, counted from 0. Positions are integers of any type; "
               "each must be less than the number of elements or rows. Both files are .npy arrays, "
               "or tables of text, .csv or .txt, of which each column keeps its numbers exactly; "
               "--columns, --type and --types are about FILE, --by about POSITIONS. A file name of "
               "- is standard input or output.",
    .examples = {{"weft gather x.npy order.npy -o sorted.npy", "as sort --indices has put them"},
                 {"weft gather log.csv rows.txt -o some.csv", "rows of a table"},
                 {"weft gather log.csv found.csv --by row -o some.csv", "of which one column says"},
                 {"weft gather x.npy - -o y.npy <where.npy", "positions from a pipe"}},
    .options = options,
    .ladder = "gather",
    .over_ranks = true,
    .suffixes = "npy csv txt",
    .least_operands = 2,
    .most_operands = 2,
    .run = execute,
};
