/* SPDX-License-Identifier: Apache-2.0 */
/* `weft add`: the sum of two arrays, element by element. */
#include <string.h>

#include "cli/session.h"
#include "cli/text.h"
#include "weft/map.h"

/* a = a + b, in the order they share, or else in C order. */
static wi_exit compute(weft_context *ctx, wi_npy *a, wi_npy *b) {
    wi_note note = {""};
    weft_status status = WEFT_OK;
    if (a->layout.fortran_order != b->layout.fortran_order) {
        status = wi_npy_to_c_order(a, &note);
        if (status == WEFT_OK)
            status = wi_npy_to_c_order(b, &note);
    }
    if (status != WEFT_OK) {
        wi_say_error("%s", note.text);
        return WI_EXIT_FAILED;
    }
    status = weft_add(ctx, a->layout.type, a->layout.count, a->data, b->data, a->data);
    return status == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

wi_exit wi_add_command(const wi_arguments *args) {
    weft_context *ctx = NULL;
    wi_npy a = {.data = NULL}, b = {.data = NULL};
    wi_exit result = wi_need_output(args);
    if (result == WI_EXIT_OK && strcmp(args->operand[0], "-") == 0 &&
        strcmp(args->operand[1], "-") == 0)
        result = wi_usage(args->command, "only one of the files can be standard input");
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "map", &ctx);
    if (result == WI_EXIT_OK)
        result = wi_load(args, args->operand[0], &a);
    if (result == WI_EXIT_OK)
        result = wi_load(args, args->operand[1], &b);
    if (result == WI_EXIT_OK)
        result = wi_check_alike(args, &a.layout, &b.layout);
    if (result == WI_EXIT_OK)
        result = compute(ctx, &a, &b);
    if (result == WI_EXIT_OK)
        result = wi_save(args, &a);
    if (result == WI_EXIT_OK)
        wi_print_saved(args, "add", "map", ctx, &a.layout);
    wi_npy_free(&a);
    wi_npy_free(&b);
    weft_close(ctx);
    return result;
}
