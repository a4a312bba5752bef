/* SPDX-License-Identifier: Apache-2.0 */
/* `weft unique`: removes elements that equal the one before, and counts how often each occurred. */
#include "cli/ranks.h"
#include "cli/session.h"
#include "cli/text.h"
#include "weft/select.h"

static const wi_option lengths_option = {.name = "lengths",
                                         .letter = 'l',
                                         .value = "FILE",
                                         .help = "where the lengths of runs go, as u64",
                                         .file = WI_FILE_WRITTEN};

/* Writes the lengths of runs to --lengths. */
static wi_exit save_lengths(const wi_arguments *args, weft_context *ctx, wi_npy *lengths,
                            const uint64_t *count) {
    lengths->layout.type = WEFT_U64;
    const wi_exit result = wi_take_own(ctx, lengths, count);
    return result != WI_EXIT_OK ? result : wi_save_part(args, ctx, &lengths_option, lengths);
}

/* In place, in C order. */
static wi_exit compute(const wi_arguments *args, weft_context *ctx, wi_npy *array,
                       wi_npy *lengths) {
    wi_note note = {""};
    const weft_type type = array->layout.type;
    const size_t n = array->layout.count;
    uint64_t count = 0;
    if (wi_npy_to_c_order(array, &note) != WEFT_OK) {
        wi_say_error("%s", note.text);
        return WI_EXIT_FAILED;
    }
    weft_status status;
    if (wi_given(args, &lengths_option)) {
        lengths->data = wi_host_alloc(n * sizeof(uint64_t));
        if (!lengths->data) {
            wi_say_error("unique: no host memory for %zu lengths", n);
            return WI_EXIT_FAILED;
        }
        status = weft_run_length(ctx, type, n, array->data, array->data, WEFT_U64, lengths->data,
                                 &count);
    } else {
        status = weft_unique(ctx, type, n, array->data, array->data, &count);
    }
    if (status != WEFT_OK)
        return wi_session_failed(ctx);
    const wi_exit result = wi_take_own(ctx, array, &count);
    return result == WI_EXIT_OK && wi_given(args, &lengths_option)
               ? save_lengths(args, ctx, lengths, &count)
               : result;
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    wi_npy array = {.data = NULL}, lengths = {.data = NULL};
    const bool saves = wi_given(args, &wi_output_option) || !wi_given(args, &lengths_option);
    wi_exit result = saves ? wi_need_output(args) : WI_EXIT_OK;
    if (result == WI_EXIT_OK)
        result = wi_check_array_output(args, &lengths_option);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "select", &ctx);
    if (result == WI_EXIT_OK)
        result = wi_load_part(args, ctx, args->operand[0], &array);
    if (result == WI_EXIT_OK)
        result = wi_need_one_column(args, ctx, &array);
    if (result == WI_EXIT_OK)
        result = compute(args, ctx, &array, &lengths);
    if (result == WI_EXIT_OK && saves)
        result = wi_save_part(args, ctx, &wi_output_option, &array);
    if (result == WI_EXIT_OK)
        wi_print_saved(args, "unique", "select", ctx, &array.layout);
    wi_npy_free(&array);
    wi_npy_free(&lengths);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {
    &wi_output_option, &lengths_option,    &wi_columns_option,
    &wi_place_option,  &wi_variant_option, &wi_read_type_option,
    &wi_json_option,   &wi_help_option,    NULL};

const wi_command wi_unique_command = {
    .name = "unique",
    .operand_text = "FILE(.npy|.csv|.txt)",
    .summary = "drop every element that repeats the one before",
    .details = "Writes the array, in C order and as one dimension, without the elements that "
               "have the same bits as the one before them; of a sorted array each value remains "
               "once. --lengths writes how many elements each of them stood for, in addition to "
               "the array or, without --output, alone.",
    .examples = {{"weft unique x.npy -o values.npy", "the values of runs"},
                 {"weft unique x.npy --lengths n.npy", "how long runs are"},
                 {"weft unique x.npy -o v.npy --lengths n.npy", "run-length encoding"}},
    .options = options,
    .ladder = "select",
    .over_ranks = true,
    .unrounded = true,
    .suffixes = "npy csv txt",
    .least_operands = 1,
    .most_operands = 1,
    .run = execute,
};
