/* SPDX-License-Identifier: Apache-2.0 */
/* `weft scan`: running sums, and their kin, of the array in a file. */
#include "weft/scan.h"

#include "cli/ops.h"
#include "cli/session.h"
#include "cli/text.h"

/* Reads --init as an element of the file's type. */
static wi_exit read_init(const wi_arguments *args, weft_type type, uint64_t *init) {
    const char *const text = args->value[WI_OPT_INIT];
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
    const weft_scan_kind kind = wi_given(args, WI_OPT_EXCLUSIVE) ? WEFT_EXCLUSIVE : WEFT_INCLUSIVE;
    const weft_status status =
        weft_scan(ctx, kind, op->op, layout->type, layout->count, array->data, array->data,
                  wi_given(args, WI_OPT_INIT) ? &init : NULL);
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

wi_exit wi_scan_command(const wi_arguments *args) {
    const wi_op_name *op;
    weft_context *ctx = NULL;
    wi_npy array = {.data = NULL};
    wi_exit result = wi_chosen_op(args, &op);
    if (result == WI_EXIT_OK)
        result = wi_need_output(args);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "scan", &ctx);
    if (result == WI_EXIT_OK)
        result = wi_load(args, args->operand[0], &array);
    if (result == WI_EXIT_OK)
        result = compute(args, op, ctx, &array);
    if (result == WI_EXIT_OK)
        result = wi_save(args, &array);
    if (result == WI_EXIT_OK)
        wi_print_saved(args, op->name, "scan", ctx, &array.layout);
    wi_npy_free(&array);
    weft_close(ctx);
    return result;
}
