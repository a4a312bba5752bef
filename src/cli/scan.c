/* SPDX-License-Identifier: Apache-2.0 */
/* `weft scan`: running sums, products, minima and so on of the array in a file. */
#include "weft/scan.h"

#include "cli/ops.h"
#include "cli/ranks.h"
#include "cli/session.h"
#include "cli/text.h"

static const wi_option op_option = {.name = "op",
                                    .value = "OP",
                                    .help = "what to combine elements with; default sum",
                                    .list = wi_list_scans,
                                    .heading = "OP"};
static const wi_option exclusive_option = {
    .name = "exclusive", .letter = 'x', .help = "leave each element out of its own output"};
static const wi_option init_option = {.name = "init",
                                      .value = "VALUE",
                                      .help =
                                          "value to start from; default: the operation's identity"};

/* Reads --init as an element of the file's type. */
static wi_exit read_init(const wi_arguments *args, weft_type type, uint64_t *init) {
    const char *const text = wi_value(args, &init_option);
    if (!text || wi_read_element(type, text, init))
        return WI_EXIT_OK;
    char why[WI_REASON_BYTES];
    wi_explain_element(type, text, why);
    return wi_usage(args->command, "option --init: %s", why);
}

/* Scans in place, in C order. */
static wi_exit compute(const wi_arguments *args, const wi_op_name *op, weft_context *ctx,
                       wi_npy *array) {
    wi_note note = {""};
    uint64_t init = 0;
    const wi_npy_layout *const layout = &array->layout;
    const wi_exit result = read_init(args, layout->type, &init);
    if (result != WI_EXIT_OK)
        return result;
    if (wi_npy_to_c_order(array, &note) != WEFT_OK) {
        wi_say_error("%s", note.text);
        return WI_EXIT_FAILED;
    }
    const weft_scan_kind kind = wi_given(args, &exclusive_option) ? WEFT_EXCLUSIVE : WEFT_INCLUSIVE;
    const weft_status status =
        weft_scan(ctx, kind, op->op, layout->type, layout->count, array->data, array->data,
                  wi_given(args, &init_option) ? &init : NULL);
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

static wi_exit execute(const wi_arguments *args) {
    const wi_op_name *op;
    weft_context *ctx = NULL;
    wi_npy array = {.data = NULL};
    wi_exit result = wi_chosen_op(args, &op_option, &op);
    if (result == WI_EXIT_OK)
        result = wi_need_output(args);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "scan", &ctx);
    if (result == WI_EXIT_OK)
        result = wi_load_part(args, ctx, args->operand[0], &array);
    if (result == WI_EXIT_OK)
        result = wi_need_one_column(args, ctx, &array);
    if (result == WI_EXIT_OK)
        result = compute(args, op, ctx, &array);
    if (result == WI_EXIT_OK)
        result = wi_save_part(args, ctx, &wi_output_option, &array);
    if (result == WI_EXIT_OK)
        wi_print_saved(args, op->name, "scan", ctx, &array.layout);
    wi_npy_free(&array);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {&wi_output_option,
                                           &op_option,
                                           &exclusive_option,
                                           &init_option,
                                           &wi_columns_option,
                                           &wi_place_option,
                                           &wi_variant_option,
                                           &wi_read_type_option,
                                           &wi_json_option,
                                           &wi_help_option,
                                           NULL};

const wi_command wi_scan_command = {
    .name = "scan",
    .operand_text = "FILE(.npy|.csv|.txt)",
    .summary = "replace every element by the sum of all up to it",
    .details =
        "Writes an array in which each element combines all elements up to it: sum, "
        "product, min, max, and, or, xor (the last three for integers). Elements run "
        "in C order, and the result has the shape of the input; of a table of text one column "
        "is taken. A file name of - is standard input or output.",
    .examples = {{"weft scan x.npy -o sums.npy", "running sums"},
                 {"weft scan x.npy --exclusive --init 100 -o from.npy", "starting from 100"},
                 {"weft scan - --op max -o - <x.npy | weft reduce -", "in a pipe"}},
    .options = options,
    .ladder = "scan",
    .over_ranks = true,
    .suffixes = "npy csv txt",
    .least_operands = 1,
    .most_operands = 1,
    .run = execute,
};
