/* SPDX-License-Identifier: Apache-2.0 */
/* `weft sort`: the array in a file in order, or the positions that put it there. */
#include "weft/sort.h"

#include "cli/ranks.h"
#include "cli/session.h"
#include "cli/text.h"

static const wi_option descending_option = {
    .name = "descending", .letter = 'd', .help = "the largest first"};

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
    const weft_order order = wi_given(args, &descending_option) ? WEFT_DESCENDING : WEFT_ASCENDING;
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

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    wi_npy array = {.data = NULL};
    wi_exit result = wi_need_output(args);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "sort", &ctx);
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
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {&wi_output_option,    &descending_option,
                                           &wi_indices_option,   &wi_columns_option,
                                           &wi_place_option,     &wi_variant_option,
                                           &wi_read_type_option, &wi_json_option,
                                           &wi_help_option,      NULL};

const wi_command wi_sort_command = {
    .name = "sort",
    .operand_text = "FILE(.npy|.csv|.txt)",
    .summary = "put the elements of an array in order",
    .details =
        "Writes all elements in order, in the shape of the input, C order. NaN come last "
        "(first with --descending), and -0.0 before +0.0. With --indices it writes the "
        "position of each instead, as u64 counted in C order; equal elements keep their "
        "order. Of a table of text it takes one column; rows are put in order by a column as "
        "in the last example. A file name of - is standard input or output.",
    .examples = {{"weft sort x.npy -o sorted.npy", "the smallest first"},
                 {"weft sort x.npy --descending --indices -o order.npy", "where they were"},
                 {"weft sort - -o - <x.npy | weft scan - -o sums.npy", "in a pipe"},
                 {"weft sort log.csv -c time -i -o - | weft gather log.csv - -o out.csv",
                  "the rows of a table, by a column"}},
    .options = options,
    .ladder = "sort",
    .over_ranks = true,
    .unrounded = true,
    .suffixes = "npy csv txt",
    .least_operands = 1,
    .most_operands = 1,
    .run = execute,
};
