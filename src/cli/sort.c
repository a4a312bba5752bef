/* SPDX-License-Identifier: Apache-2.0 */
/* `weft sort`: the array in a file in order, or the positions that put it there. */
#include "weft/sort.h"

#include "cli/ranks.h"
#include "cli/rows.h"

static const wi_option descending_option = {
    .name = "descending", .letter = 'd', .help = "the largest first"};

static const wi_option by_option = {
    .name = "by",
    .letter = 'b',
    .value = "LIST",
    .help = "sort the rows of a table by these columns: names or numbers, the first counts first"};

static weft_order direction(const wi_arguments *args) {
    return wi_given(args, &descending_option) ? WEFT_DESCENDING : WEFT_ASCENDING;
}

/* Replaces the elements by the positions that sort them: u64, in the same shape. */
static wi_exit sort_positions(weft_context *ctx, weft_order order, wi_npy *array) {
    wi_npy_layout *const layout = &array->layout;
    uint64_t *const positions = wi_host_alloc(layout->count * sizeof *positions);
    if (!positions) {
        wi_say_error("sort: no memory for the positions of %zu elements", layout->count);
        return WI_EXIT_FAILED;
    }
    const weft_status status = weft_sort_indices(ctx, order, layout->type, layout->count,
                                                 array->data, WEFT_U64, positions);
    if (status != WEFT_OK) {
        wi_host_free(positions);
        return wi_session_failed(ctx);
    }
    wi_host_free(array->data);
    wi_host_free(array->titles);
    array->data = positions;
    array->titles = NULL;
    layout->type = WEFT_U64;
    layout->opaque = false;
    return WI_EXIT_OK;
}

/* Sorts in place, in C order. */
static wi_exit compute(const wi_arguments *args, weft_context *ctx, wi_npy *array) {
    wi_note note = {""};
    const wi_npy_layout *const layout = &array->layout;
    const weft_order order = direction(args);
    if (wi_npy_to_c_order(array, &note) != WEFT_OK) {
        wi_say_error("%s", note.text);
        return WI_EXIT_FAILED;
    }
    if (wi_given(args, &wi_indices_option))
        return sort_positions(ctx, order, array);
    const weft_status status =
        weft_sort(ctx, order, layout->type, layout->count, array->data, array->data);
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

/* ---- rows of tables ---- */

/* Makes the positions that put rows in order. */
static wi_exit order_rows(const wi_arguments *args, weft_context *ctx, const wi_column_set *keys,
                          wi_npy *positions) {
    const size_t n = wi_table_rows(keys);
    char *const packed = wi_keys_pack(keys);
    positions->layout.type = WEFT_U64;
    wi_npy_flatten_part(positions, n, wi_npy_whole(&keys->column[0].layout));
    positions->data = wi_host_alloc(n * sizeof(uint64_t));
    wi_exit result = WI_EXIT_OK;
    if (!packed || !positions->data) {
        wi_say_error("sort: no host memory for %zu rows", n);
        result = WI_EXIT_FAILED;
    }
    result = wi_agree_result(args, ctx, result);
    if (result == WI_EXIT_OK &&
        wi_keys_order(ctx, direction(args), keys, packed, positions->data) != WEFT_OK)
        result = wi_session_failed(ctx);
    wi_host_free(packed);
    return result;
}

static wi_exit save_positions(const wi_arguments *args, weft_context *ctx,
                              const wi_npy *positions) {
    const wi_exit result = wi_save_part(args, ctx, &wi_output_option, positions);
    if (result == WI_EXIT_OK)
        wi_print_saved(args, "sort", "sort", ctx, &positions->layout);
    return result;
}

/* The columns of --columns, else all, by those of --by. */
static wi_exit load_rows(const wi_arguments *args, weft_context *ctx, wi_column_set both[2]) {
    const char *const path = args->operand[0];
    const char *const lists[] = {wi_value(args, &wi_columns_option), wi_value(args, &by_option)};
    wi_said_types said;
    wi_exit result = wi_types_said(args, WI_TABLE_UNROUNDED, &said);
    if (result == WI_EXIT_OK)
        result = wi_check_shared(ctx, path);
    if (result == WI_EXIT_OK && !wi_is_table(ctx, path))
        result = wi_usage(args->command,
                          "option --by is about tables of text, named .csv or .txt, and %s is none",
                          wi_input_name(path));
    if (result == WI_EXIT_OK)
        result = wi_columns_load_lists(args, ctx, path, lists, &said, both);
    if (result == WI_EXIT_OK && both[1].count > WI_KEY_COLUMNS)
        result = wi_usage(args->command, "option --by: more than %d columns", WI_KEY_COLUMNS);
    return result;
}

static wi_exit sort_rows(const wi_arguments *args, weft_context *ctx) {
    wi_column_set both[2] = {{.count = 0}}, out = {.count = 0};
    wi_npy positions = {.data = NULL};
    wi_exit result = load_rows(args, ctx, both);
    if (result == WI_EXIT_OK)
        result = order_rows(args, ctx, &both[1], &positions);
    if (result == WI_EXIT_OK && wi_given(args, &wi_indices_option)) {
        result = save_positions(args, ctx, &positions);
    } else if (result == WI_EXIT_OK) {
        result = wi_rows_gather(args, ctx, &positions, &both[0], &out);
        if (result == WI_EXIT_OK)
            result = wi_columns_save_part(args, ctx, &out);
    }
    wi_columns_free(&both[0]);
    wi_columns_free(&both[1]);
    wi_columns_free(&out);
    wi_npy_free(&positions);
    return result;
}

/* ---- elements ---- */

static wi_exit sort_elements(const wi_arguments *args, weft_context *ctx) {
    wi_npy array = {.data = NULL};
    wi_exit result = WI_EXIT_OK;
    if (wi_given(args, &wi_types_option))
        result = wi_usage(args->command, "option --types goes with --by; for one column there is "
                                         "--type");
    if (result == WI_EXIT_OK)
        result = wi_load_part(args, ctx, args->operand[0], &array);
    if (result == WI_EXIT_OK)
        result = wi_need_one_column(args, ctx, &array);
    if (result == WI_EXIT_OK)
        result = compute(args, ctx, &array);
    if (result == WI_EXIT_OK)
        result = wi_save_part(args, ctx, &wi_output_option, &array);
    if (result == WI_EXIT_OK)
        wi_print_saved(args, "sort", "sort", ctx, &array.layout);
    wi_npy_free(&array);
    return result;
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    wi_exit result = wi_need_output(args);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "sort", &ctx);
    if (result == WI_EXIT_OK)
        result = wi_given(args, &by_option) ? sort_rows(args, ctx) : sort_elements(args, ctx);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {
    &wi_output_option,  &descending_option, &wi_indices_option, &by_option,
    &wi_columns_option, &wi_place_option,   &wi_variant_option, &wi_read_type_option,
    &wi_types_option,   &wi_json_option,    &wi_help_option,    NULL};

const wi_command wi_sort_command = {
    .name = "sort",
    .operand_text = "FILE(.npy|.csv|.txt)",
    .summary = "put the elements of an array in order",
    .details = "Writes all elements in order, in the shape of the input, C order. NaN come last "
               "(first with --descending), and -0.0 before +0.0. With --indices it writes the "
               "position of each instead, as u64 counted in C order; equal elements keep their "
               "order. Of a table of text it takes one column, or with --by whole rows, whose "
               "columns have "
               "types of their own: rows with equal keys keep their order. A file name of - is "
               "standard input or output.",
    .examples = {{"weft sort x.npy -o sorted.npy", "the smallest first"},
                 {"weft sort x.npy --descending --indices -o order.npy", "where they were"},
                 {"weft sort - -o - <x.npy | weft scan - -o sums.npy", "in a pipe"},
                 {"weft sort log.csv --by day,sensor -o out.csv",
                  "the rows of a table, by two columns"}},
    .options = options,
    .ladder = "sort",
    .over_ranks = true,
    .unrounded = true,
    .suffixes = "npy csv txt",
    .least_operands = 1,
    .most_operands = 1,
    .run = execute,
};
