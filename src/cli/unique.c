/* SPDX-License-Identifier: Apache-2.0 */
/* `weft unique`: a file without elements that repeat the one before, and how often they do. */
#include "cli/session.h"
#include "cli/text.h"
#include "weft/select.h"

/* Writes the lengths of runs to --lengths. */
static wi_exit save_lengths(const wi_arguments *args, wi_npy *lengths, uint64_t count) {
    wi_arguments other = *args;
    other.value[WI_OPT_OUTPUT] = args->value[WI_OPT_LENGTHS];
    lengths->layout.type = WEFT_U64;
    wi_npy_flatten(lengths, count);
    return wi_save(&other, lengths);
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
    if (wi_given(args, WI_OPT_LENGTHS)) {
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
    wi_npy_flatten(array, count);
    return wi_given(args, WI_OPT_LENGTHS) ? save_lengths(args, lengths, count) : WI_EXIT_OK;
}

wi_exit wi_unique_command(const wi_arguments *args) {
    weft_context *ctx = NULL;
    wi_npy array = {.data = NULL}, lengths = {.data = NULL};
    const bool saves = wi_given(args, WI_OPT_OUTPUT) || !wi_given(args, WI_OPT_LENGTHS);
    wi_exit result = saves ? wi_need_output(args) : WI_EXIT_OK;
    if (result == WI_EXIT_OK)
        result = wi_check_array_output(args, WI_OPT_LENGTHS);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "select", &ctx);
    if (result == WI_EXIT_OK)
        result = wi_load(args, args->operand[0], &array);
    if (result == WI_EXIT_OK)
        result = compute(args, ctx, &array, &lengths);
    if (result == WI_EXIT_OK && saves)
        result = wi_save(args, &array);
    if (result == WI_EXIT_OK)
        wi_print_saved(args, "unique", "select", ctx, &array.layout);
    wi_npy_free(&array);
    wi_npy_free(&lengths);
    weft_close(ctx);
    return result;
}
