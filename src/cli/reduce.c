/* SPDX-License-Identifier: Apache-2.0 */
/* `weft reduce`: one value from the array in a file. */
#include <string.h>

#include "cli/ops.h"
#include "cli/outcome.h"
#include "cli/ranks.h"
#include "cli/session.h"
#include "weft/exact.h"
#include "weft/reduce.h"

static const wi_option op_option = {.name = "op",
                                    .value = "OP",
                                    .help = "what to combine elements with; default sum",
                                    .list = wi_list_reductions,
                                    .heading = "OP"};

static const wi_option exact_option = {
    .name = "exact", .help = "round sums, norms and dot products of floats once, as weft_sum does"};

static void print_json(const wi_arguments *args, const wi_op_name *op, const weft_context *ctx,
                       const wi_npy *x, const wi_outcome *o) {
    const bool exact = wi_given(args, &exact_option) && wi_type_is_float(x->layout.type);
    wi_json json;
    wi_json_open(&json);
    wi_json_string(&json, "op", op->name);
    wi_json_string(&json, "variant", weft_used(ctx, exact ? "exact" : "reduce"));
    wi_json_string(&json, "place", weft_place(ctx));
    wi_json_string(&json, "file", args->operand[0]);
    wi_json_string(&json, "type", weft_type_name(x->layout.type));
    wi_outcome_json(&json, ctx, &x->layout, o);
    wi_json_close(&json);
}

static bool is_position(const wi_op_name *op) {
    return op->op == WEFT_ARGMIN || op->op == WEFT_ARGMAX;
}

/* Puts the arrays in C order if it matters: for positions, and for a dot product of arrays in
 * different orders. */
static wi_exit arrange(const wi_op_name *op, wi_npy *x, wi_npy *y) {
    wi_note note = {""};
    weft_status status = WEFT_OK;
    if (is_position(op) || (op->pairs && x->layout.fortran_order != y->layout.fortran_order)) {
        status = wi_npy_to_c_order(x, &note);
        if (status == WEFT_OK)
            status = wi_npy_to_c_order(y, &note);
    }
    if (status == WEFT_OK)
        return WI_EXIT_OK;
    wi_say_error("%s", note.text);
    return WI_EXIT_FAILED;
}

static weft_status compute(weft_context *ctx, const wi_op_name *op, bool exact, const wi_npy *x,
                           const wi_npy *y, wi_outcome *o) {
    const wi_npy_layout *const layout = &x->layout;
    weft_status status = weft_reduce_type(op->op, layout->type, &o->type);
    if (status != WEFT_OK)
        return wi_fail(ctx, status, "%s of %s is not offered", op->name,
                       weft_type_name(layout->type));
    if (exact && op->pairs)
        return weft_dot(ctx, layout->type, layout->count, x->data, y->data, o->value);
    if (exact)
        return weft_exact_reduce(ctx, op->op, layout->type, layout->count, x->data, o->type,
                                 o->value);
    if (op->pairs)
        return weft_dot_fast(ctx, layout->type, layout->count, x->data, y->data, o->value);
    o->nowhere = is_position(op) && wi_npy_whole(layout) == 0;
    return weft_reduce(ctx, op->op, layout->type, layout->count, x->data, o->value);
}

static wi_exit check_operands(const wi_arguments *args, const wi_op_name *op) {
    if (op->pairs && args->operands < 2)
        return wi_usage(args->command, "--op dot takes two files; add the second");
    if (!op->pairs && args->operands > 1)
        return wi_usage(args->command, "--op %s takes one file; leave \"%s\" out, or add --op dot",
                        op->name, args->operand[1]);
    if (op->pairs && wi_is_standard(args->operand[0]) && wi_is_standard(args->operand[1]))
        return wi_usage(args->command, "only one of the files can be standard input");
    return WI_EXIT_OK;
}

static wi_exit execute(const wi_arguments *args) {
    const wi_op_name *op;
    weft_context *ctx = NULL;
    wi_npy x = {.data = NULL}, y = {.data = NULL};
    wi_outcome o = {.nowhere = false};
    wi_exit result = wi_chosen_op(args, &op_option, &op);
    if (result == WI_EXIT_OK)
        result = check_operands(args, op);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "reduce", &ctx);
    if (result == WI_EXIT_OK)
        result = wi_load_part(args, ctx, args->operand[0], &x);
    if (result == WI_EXIT_OK && op->pairs)
        result = wi_load_part(args, ctx, args->operand[1], &y);
    if (result == WI_EXIT_OK && op->pairs)
        result = wi_check_alike(args, &x.layout, &y.layout);
    if (result == WI_EXIT_OK)
        result = arrange(op, &x, &y);
    if (result == WI_EXIT_OK &&
        compute(ctx, op, wi_given(args, &exact_option), &x, &y, &o) != WEFT_OK)
        result = wi_session_failed(ctx);
    if (result == WI_EXIT_OK && weft_rank(ctx) == 0) {
        if (wi_given(args, &wi_json_option))
            print_json(args, op, ctx, &x, &o);
        else
            wi_outcome_print(&o);
    }
    wi_npy_free(&x);
    wi_npy_free(&y);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {
    &op_option,       &exact_option,      &wi_columns_option,
    &wi_place_option, &wi_variant_option, &wi_read_type_option,
    &wi_json_option,  &wi_help_option,    NULL};

const wi_command wi_reduce_command = {
    .name = "reduce",
    .operand_text = "FILE(.npy|.csv|.txt) [FILE2]",
    .summary = "reduce an array to one value",
    .details = "Prints one value: sum, product, min, max, argmin, argmax, nrm1, nrm2 or nrminf "
               "of the array, or with --op dot the dot product of two. Floats are printed with "
               "enough digits to read back exactly. Positions count in C order from 0. A file "
               "name of - is standard input. --exact rounds sum, nrm1, nrm2 and dot of floats "
               "once, so that they have the same bits everywhere. --type bf16 reads files of "
               "two-byte voids, which is how ml_dtypes writes them. For the mean there is weft "
               "summary, for the median weft quantile.",
    .examples = {{"weft reduce x.npy", "the sum"},
                 {"weft reduce x.npy --op argmax --json", "where the largest is"},
                 {"weft reduce a.npy b.npy --op dot --exact", "the dot product, correctly rounded"},
                 {"gzip -dc x.npy.gz | weft reduce - --op nrm2", "from a pipe"}},
    .options = options,
    .ladder = "reduce",
    .over_ranks = true,
    .suffixes = "npy csv txt",
    .least_operands = 1,
    .most_operands = 2,
    .run = execute,
};
