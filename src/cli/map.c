/* SPDX-License-Identifier: Apache-2.0 */
/* `weft map`: a formula over arrays, element by element. */
#include <string.h>

#include "cli/formula.h"
#include "cli/ranks.h"
#include "cli/session.h"

/* The arrays of one command. */
typedef struct arrays {
    wi_npy in[WEFT_EXPR_MAX_INPUTS], out;
    size_t count;
} arrays;

static wi_exit check_shapes(const wi_arguments *args, const arrays *a) {
    const wi_npy_layout *const first = &a->in[0].layout;
    for (size_t k = 1; k < a->count; k++) {
        const wi_npy_layout *const other = &a->in[k].layout;
        if (other->dims != first->dims ||
            memcmp(other->shape, first->shape, first->dims * sizeof *first->shape) != 0) {
            wi_say_error("%s and %s differ in shape; save them alike", args->operand[1],
                         args->operand[k + 1]);
            return WI_EXIT_FAILED;
        }
    }
    return WI_EXIT_OK;
}

static wi_exit load(const wi_arguments *args, weft_context *ctx, arrays *a) {
    wi_exit result = WI_EXIT_OK;
    size_t standard = 0;
    a->count = args->operands - 1;
    for (size_t k = 0; k < a->count; k++)
        standard += wi_is_standard(args->operand[k + 1]);
    if (standard > 1)
        return wi_usage(args->command, "only one of the files can be standard input");
    for (size_t k = 0; k < a->count && result == WI_EXIT_OK; k++)
        result = wi_load_any_part(args, ctx, args->operand[k + 1], NULL, &a->in[k]);
    return result == WI_EXIT_OK ? check_shapes(args, a) : result;
}

/* All in C order, unless all are in Fortran order. */
static wi_exit align_orders(arrays *a) {
    wi_note note = {""};
    bool mixed = false;
    for (size_t k = 1; k < a->count; k++)
        mixed |= a->in[k].layout.fortran_order != a->in[0].layout.fortran_order;
    for (size_t k = 0; mixed && k < a->count; k++)
        if (wi_npy_to_c_order(&a->in[k], &note) != WEFT_OK) {
            wi_say_error("%s", note.text);
            return WI_EXIT_FAILED;
        }
    return WI_EXIT_OK;
}

static wi_exit compute(const wi_arguments *args, weft_context *ctx, arrays *a) {
    weft_expr_input inputs[WEFT_EXPR_MAX_INPUTS];
    weft_type types[WEFT_EXPR_MAX_INPUTS];
    char why[WI_REASON_BYTES];
    wi_formula formula;
    const size_t n = a->in[0].layout.count;
    for (size_t k = 0; k < a->count; k++) {
        types[k] = a->in[k].layout.type;
        inputs[k] = (weft_expr_input){types[k], a->in[k].data};
    }
    if (!wi_formula_parse(args->operand[0], types, a->count,
                          wi_given(args, &wi_type_option) ? &args->type : NULL, &formula, why))
        return wi_usage(args->command, "formula: %s", why);
    a->out.layout = a->in[0].layout;
    a->out.layout.type = formula.type;
    a->out.layout.opaque = a->out.layout.swapped = false;
    a->out.data = wi_host_alloc(n * weft_type_size(formula.type));
    if (!a->out.data && n > 0) {
        wi_say_error("no memory for %zu elements", n);
        return WI_EXIT_FAILED;
    }
    return weft_expr(ctx, formula.step, formula.steps, n, inputs, a->count, formula.type,
                     a->out.data) == WEFT_OK
               ? WI_EXIT_OK
               : wi_session_failed(ctx);
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    arrays a = {.count = 0};
    wi_exit result = wi_need_output(args);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "expr", &ctx);
    if (result == WI_EXIT_OK)
        result = load(args, ctx, &a);
    if (result == WI_EXIT_OK)
        result = align_orders(&a);
    if (result == WI_EXIT_OK)
        result = compute(args, ctx, &a);
    if (result == WI_EXIT_OK)
        result = wi_save_part(args, ctx, &wi_output_option, &a.out);
    if (result == WI_EXIT_OK)
        wi_print_saved(args, "map", "expr", ctx, &a.out.layout);
    for (size_t k = 0; k < a.count; k++)
        wi_npy_free(&a.in[k]);
    wi_npy_free(&a.out);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {&wi_output_option,
                                           &wi_place_option,
                                           &wi_variant_option,
                                           &wi_type_option,
                                           &wi_json_option,
                                           &wi_help_option,
                                           NULL};

const wi_command wi_map_command = {
    .name = "map",
    .operand_text = "FORMULA A.npy [B.npy ...]",
    .summary = "compute a formula over arrays, element by element",
    .details =
        "Writes what the formula gives for each element of the files, which it calls a, b, c and "
        "so on, up to g. Operators as in C: + - * / % & | ^ ~ << >> == != < <= > >= and mask ? "
        "value : other, but comparisons bind least. Functions: abs, sqrt, exp, log, pow, min, max, "
        "floor, ceil, round; i8(...) to f64(...) convert and hold in range, wrap_i8(...) and so on "
        "keep the low bits. Where types differ, floats win, then 64 bits. --type converts the "
        "result; else a comparison gives u8, and other results have the type of the first file "
        "whose values are of their kind. The files have one shape. A file name of - is standard "
        "input or output.",
    .examples = {{"weft map '2*a + b' a.npy b.npy -o c.npy", "one pass over memory"},
                 {"weft map 'u64(a) << 32 | b' hi.npy lo.npy -o keys.npy", "two keys in one"},
                 {"weft map 'a > 0.5' x.npy -o mask.npy", "a mask of u8"},
                 {"weft map 'round(a * 255)' x.npy -t u8 -o bytes.npy", "held in 0 ... 255"}},
    .options = options,
    .ladder = "expr",
    .over_ranks = true,
    .suffixes = "npy",
    .least_operands = 2,
    .most_operands = 1 + WEFT_EXPR_MAX_INPUTS,
    .run = execute,
};
