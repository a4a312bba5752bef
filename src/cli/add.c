/* SPDX-License-Identifier: Apache-2.0 */
/* `weft add`: the sum of two arrays, element by element. */
#include <string.h>

#include "cli/ranks.h"
#include "cli/session.h"
#include "cli/text.h"
#include "weft/map.h"

/* a = a + b, in the memory order of both if that is the same, else in C order. */
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

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    wi_npy a = {.data = NULL}, b = {.data = NULL};
    wi_exit result = wi_need_output(args);
    if (result == WI_EXIT_OK && wi_is_standard(args->operand[0]) &&
        wi_is_standard(args->operand[1]))
        result = wi_usage(args->command, "only one of the files can be standard input");
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "map", &ctx);
    if (result == WI_EXIT_OK)
        result = wi_load_part(args, ctx, args->operand[0], &a);
    if (result == WI_EXIT_OK)
        result = wi_load_part(args, ctx, args->operand[1], &b);
    if (result == WI_EXIT_OK)
        result = wi_check_alike(args, &a.layout, &b.layout);
    if (result == WI_EXIT_OK)
        result = compute(ctx, &a, &b);
    if (result == WI_EXIT_OK)
        result = wi_save_part(args, ctx, &wi_output_option, &a);
    if (result == WI_EXIT_OK)
        wi_print_saved(args, "add", "map", ctx, &a.layout);
    wi_npy_free(&a);
    wi_npy_free(&b);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {
    &wi_output_option,    &wi_columns_option, &wi_place_option, &wi_variant_option,
    &wi_read_type_option, &wi_json_option,    &wi_help_option,  NULL};

const wi_command wi_add_command = {
    .name = "add",
    .operand_text = "A(.npy|.csv|.txt) B",
    .summary = "add two arrays of the same shape and type",
    .details = "Writes A + B, element by element. Integers wrap. The result is in Fortran "
               "order if both are. A file name of - is standard input or output.",
    .examples = {{"weft add a.npy b.npy -o sum.npy", "one sum for each pair of elements"},
                 {"weft add a.npy - -o - <b.npy >sum.npy", "in a pipe"}},
    .options = options,
    .ladder = "map",
    .over_ranks = true,
    .suffixes = "npy csv txt",
    .least_operands = 2,
    .most_operands = 2,
    .run = execute,
};
