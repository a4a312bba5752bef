/* SPDX-License-Identifier: Apache-2.0 */
/* `weft map`: a formula over arrays, element by element. */
#include <string.h>

#include "cli/formula.h"
#include "cli/map_inputs.h"
#include "cli/outcome.h"
#include "cli/ranks.h"
#include "cli/session.h"
#include "expr/expr.h"
#include "weft/reduce.h"

static void list_reductions(const wi_command *command, wi_words *words) {
    static const char *const names[] = {"sum", "product", "min",    "max",   "and", "or",
                                        "xor", "argmin",  "argmax", "count", NULL};
    (void)command;
    for (size_t k = 0; names[k]; k++)
        wi_words_add(words, names[k]);
}

static const wi_option reduce_option = {
    .name = "reduce",
    .value = "OP",
    .help = "print the values' sum, min, ... and write no array; count: how many are not 0",
    .list = list_reductions,
    .heading = "OP"};

/* The arrays of one command, and their formula. */
typedef struct arrays {
    wi_map_inputs in;
    wi_npy out;
    weft_expr_input inputs[WEFT_EXPR_MAX_INPUTS];
    wi_formula formula;
} arrays;

static wi_exit check_shapes(const wi_map_inputs *in) {
    const wi_npy_layout *const first = &in->array[0].layout;
    for (size_t k = 1; k < in->count; k++) {
        const wi_npy_layout *const other = &in->array[k].layout;
        if (other->dims != first->dims ||
            memcmp(other->shape, first->shape, first->dims * sizeof *first->shape) != 0) {
            wi_say_error("%s and %s differ in shape; save them alike", in->label[0], in->label[k]);
            return WI_EXIT_FAILED;
        }
    }
    return WI_EXIT_OK;
}

static wi_exit load(const wi_arguments *args, weft_context *ctx, arrays *a) {
    const wi_exit result = wi_map_load(args, ctx, &a->in);
    return result == WI_EXIT_OK ? check_shapes(&a->in) : result;
}

/* All in C order, unless all are in Fortran order and no position is asked for. */
static wi_exit align_orders(arrays *a, const wi_arguments *args) {
    wi_note note = {""};
    const char *const name = wi_value(args, &reduce_option);
    bool mixed = name && strncmp(name, "arg", 3) == 0;
    for (size_t k = 1; k < a->in.count; k++)
        mixed |= a->in.array[k].layout.fortran_order != a->in.array[0].layout.fortran_order;
    for (size_t k = 0; mixed && k < a->in.count; k++)
        if (wi_npy_to_c_order(&a->in.array[k], &note) != WEFT_OK) {
            wi_say_error("%s", note.text);
            return WI_EXIT_FAILED;
        }
    return WI_EXIT_OK;
}

static wi_exit parse(const wi_arguments *args, arrays *a) {
    wi_formula_input inputs[WEFT_EXPR_MAX_INPUTS];
    char why[WI_REASON_BYTES];
    for (size_t k = 0; k < a->in.count; k++) {
        const weft_type type = a->in.array[k].layout.type;
        inputs[k] = (wi_formula_input){a->in.name[k], type};
        a->inputs[k] = (weft_expr_input){type, a->in.array[k].data};
    }
    return wi_formula_parse(args->operand[0], inputs, a->in.count,
                            wi_given(args, &wi_type_option) ? &args->type : NULL, &a->formula, why)
               ? WI_EXIT_OK
               : wi_usage(args->command, "formula: %s", why);
}

static wi_exit compute(weft_context *ctx, arrays *a) {
    const size_t n = a->in.array[0].layout.count;
    const wi_formula *const formula = &a->formula;
    a->out.layout = a->in.array[0].layout;
    a->out.layout.type = formula->type;
    a->out.layout.opaque = a->out.layout.swapped = false;
    a->out.data = wi_host_alloc(n * weft_type_size(formula->type));
    if (!a->out.data && n > 0) {
        wi_say_error("no memory for %zu elements", n);
        return WI_EXIT_FAILED;
    }
    return weft_expr(ctx, formula->step, formula->steps, n, a->inputs, a->in.count, formula->type,
                     a->out.data) == WEFT_OK
               ? WI_EXIT_OK
               : wi_session_failed(ctx);
}

/* The formula's values compared with 0. */
static bool compare_with_0(wi_formula *f) {
    const weft_type type = wi_expr_widened(f->type);
    if (f->steps + 2 > WEFT_EXPR_MAX_STEPS)
        return false;
    f->step[f->steps++] = (weft_expr_step){.op = WEFT_X_CONSTANT, .argument = (int)type};
    f->step[f->steps++] = (weft_expr_step){.op = WEFT_X_NE};
    f->type = WEFT_U32;
    return true;
}

static wi_exit reduce(const wi_arguments *args, weft_context *ctx, arrays *a, wi_outcome *o) {
    const char *const name = wi_value(args, &reduce_option);
    const bool counts = strcmp(name, "count") == 0;
    const weft_op op = counts ? WEFT_SUM : wi_find_op(name)->op;
    if (counts && !compare_with_0(&a->formula))
        return wi_usage(args->command, "formula: it is too long to be counted");
    const weft_type type = wi_expr_widened(a->formula.type);
    o->type = type;
    if (op < WEFT_AND || op > WEFT_XOR)
        weft_reduce_type(op, type, &o->type);
    o->nowhere = op >= WEFT_ARGMIN && wi_npy_whole(&a->in.array[0].layout) == 0;
    return weft_expr_reduce(ctx, op, a->formula.step, a->formula.steps, a->in.array[0].layout.count,
                            a->inputs, a->in.count, type, o->value) == WEFT_OK
               ? WI_EXIT_OK
               : wi_session_failed(ctx);
}

static void print_outcome(const wi_arguments *args, const weft_context *ctx, const arrays *a,
                          const wi_outcome *o) {
    wi_json json;
    if (weft_rank(ctx) > 0)
        return;
    if (!wi_given(args, &wi_json_option)) {
        wi_outcome_print(o);
        return;
    }
    wi_json_open(&json);
    wi_json_string(&json, "op", "map");
    wi_json_string(&json, "reduce", wi_value(args, &reduce_option));
    wi_json_string(&json, "variant", weft_used(ctx, "expr_reduce"));
    wi_json_string(&json, "place", weft_place(ctx));
    wi_outcome_json(&json, ctx, &a->in.array[0].layout, o);
    wi_json_close(&json);
}

static wi_exit check_options(const wi_arguments *args) {
    const char *const name = wi_value(args, &reduce_option);
    if (!name)
        return wi_need_output(args);
    if (wi_given(args, &wi_output_option))
        return wi_usage(args->command, "--reduce prints one value; leave --output out");
    wi_words words = {.at = NULL};
    list_reductions(args->command, &words);
    const bool known = wi_words_have(&words, name);
    wi_words_free(&words);
    return known ? WI_EXIT_OK : wi_usage_word(args->command, "operation", name, list_reductions);
}

static wi_exit map_or_reduce(const wi_arguments *args, weft_context *ctx, arrays *a) {
    wi_outcome o = {.nowhere = false};
    wi_exit result = parse(args, a);
    if (result != WI_EXIT_OK)
        return result;
    if (wi_given(args, &reduce_option)) {
        result = reduce(args, ctx, a, &o);
        if (result == WI_EXIT_OK)
            print_outcome(args, ctx, a, &o);
        return result;
    }
    result = compute(ctx, a);
    if (result == WI_EXIT_OK)
        result = wi_save_part(args, ctx, &wi_output_option, &a->out);
    if (result == WI_EXIT_OK)
        wi_print_saved(args, "map", "expr", ctx, &a->out.layout);
    return result;
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    arrays a = {.in = {.count = 0}};
    wi_exit result = check_options(args);
    if (result == WI_EXIT_OK)
        result =
            wi_session_open(args, wi_given(args, &reduce_option) ? "expr_reduce" : "expr", &ctx);
    if (result == WI_EXIT_OK)
        result = load(args, ctx, &a);
    if (result == WI_EXIT_OK)
        result = align_orders(&a, args);
    if (result == WI_EXIT_OK)
        result = map_or_reduce(args, ctx, &a);
    wi_map_free(&a.in);
    wi_npy_free(&a.out);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {&wi_output_option,  &reduce_option,  &wi_place_option,
                                           &wi_variant_option, &wi_type_option, &wi_types_option,
                                           &wi_json_option,    &wi_help_option, NULL};

const wi_command wi_map_command = {
    .name = "map",
    .operand_text = "FORMULA A(.npy|.csv|.txt) [B ...]",
    .summary = "compute a formula over arrays, element by element",
    .details =
        "Writes what the formula gives for each element of the files, which it calls a, b, c and "
        "so on, up to g. Operators as in C: + - * / % & | ^ ~ << >> == != < <= > >= and mask ? "
        "value : other, but comparisons bind least and are not chained; a formula that begins with "
        "- stands in brackets. Functions: abs, sqrt, exp, log, pow, min, max, floor, ceil, round; "
        "i8(...) to f64(...) convert and hold in range, wrap_i8(...) and so on "
        "keep the low bits. Where types differ, floats win, then 64 bits. --type converts the "
        "result; else a comparison gives u8, and other results have the type of the first file "
        "whose values are of their kind. --reduce sum, or another operation, prints one value of "
        "them all and writes no array; values then have 32 or 64 bits, and positions count in C "
        "order from 0. The files have one shape. Of a table of text a "
        "formula may name columns instead, as temp, \"temp, C\" or $2, each of which has a type of "
        "its own, i64, u64 or f64, unless --types says another. A file name of - is standard input "
        "or output.",
    .examples = {{"weft map '2*a + b' a.npy b.npy -o c.npy", "one pass over memory"},
                 {"weft map 'a > 0.5' x.npy -o mask.npy", "a mask of u8"},
                 {"weft map 'temp * 1.8 + 32' log.csv -o f.csv", "a column of a table"},
                 {"weft map '(a - b) * (a - b)' x.npy y.npy --reduce sum", "without an array"},
                 {"weft map 'round(a * 255)' x.npy -t u8 -o bytes.npy", "held in 0 ... 255"}},
    .options = options,
    .ladder = "expr",
    .over_ranks = true,
    .takes_formula = true,
    .suffixes = "npy csv txt",
    .least_operands = 2,
    .most_operands = 1 + WEFT_EXPR_MAX_INPUTS,
    .run = execute,
};
