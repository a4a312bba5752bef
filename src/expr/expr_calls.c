/* SPDX-License-Identifier: Apache-2.0 */
/* The calls for one operation: each is a formula of a few steps. */
#include <string.h>

#include "expr/expr.h"

/* A formula over arrays of given names, as a call passes it on. */
typedef struct formula {
    const char *name;
    const weft_expr_step *steps;
    size_t count;
    weft_expr_input inputs[3];
    const char *names[3];
    size_t input_count;
    weft_type type;
    void *z;
} formula;

static weft_status run(weft_context *ctx, const formula *f, size_t n, weft_status status) {
    wi_expr_program program;
    if (status == WEFT_OK)
        status = wi_expr_compile(ctx, f->name, f->steps, f->count, f->inputs, f->input_count,
                                 f->type, &program);
    return wi_expr_run(ctx, f->name, &program, n, f->inputs, f->names, f->z, "z", status);
}

static weft_status check_type(weft_context *ctx, const char *name, weft_type type) {
    return wi_check_context(ctx) == WEFT_OK ? wi_check_type(ctx, name, type) : WEFT_EARG;
}

/* Is op from `first` to `last`, and for these elements? */
static weft_status check_op(weft_context *ctx, const char *name, weft_expr_op op, weft_type type,
                            weft_expr_op first, weft_expr_op last, const char *which) {
    const weft_status status = check_type(ctx, name, type);
    if (status != WEFT_OK)
        return status;
    if ((unsigned)op < (unsigned)first || (unsigned)op > (unsigned)last)
        return wi_fail(ctx, WEFT_EARG, "%s: op is %d; pass one of %s", name, (int)op, which);
    if (!wi_expr_takes(op, wi_expr_widened(type)))
        return wi_fail(ctx, WEFT_EUNSUPPORTED, "%s: %s takes no %s; convert the elements first",
                       name, wi_expr_name(op), weft_type_name(type));
    return WEFT_OK;
}

weft_status weft_unary(weft_context *ctx, weft_expr_op op, weft_type type, size_t n, const void *x,
                       void *z) {
    const weft_expr_step steps[] = {{.op = WEFT_X_INPUT, .argument = 0}, {.op = op}};
    const formula f = {"weft_unary", steps, 2, {{type, x}}, {"x"}, 1, type, z};
    return run(
        ctx, &f, n,
        check_op(ctx, f.name, op, type, WEFT_X_NEG, WEFT_X_ROUND, "WEFT_X_NEG ... WEFT_X_ROUND"));
}

static const char binary_ops[] = "WEFT_X_ADD ... WEFT_X_GE";

static weft_type result_of(weft_expr_op op, weft_type type) {
    return op >= WEFT_X_EQ ? WEFT_U8 : type;
}

weft_status weft_binary(weft_context *ctx, weft_expr_op op, weft_type type, size_t n, const void *x,
                        const void *y, void *z) {
    const weft_expr_step steps[] = {
        {.op = WEFT_X_INPUT, .argument = 0}, {.op = WEFT_X_INPUT, .argument = 1}, {.op = op}};
    const formula f = {"weft_binary",       steps, 3, {{type, x}, {type, y}}, {"x", "y"}, 2,
                       result_of(op, type), z};
    return run(ctx, &f, n, check_op(ctx, f.name, op, type, WEFT_X_ADD, WEFT_X_GE, binary_ops));
}

weft_expr_step wi_expr_constant_at(weft_type type, const void *p) {
    weft_expr_step step = {.op = WEFT_X_CONSTANT, .argument = (int)type};
    if (wi_type_is_float(type))
        step.value.f = wi_element_value(type, p);
    else
        step.value.u = wi_element_bits(p, weft_type_size(type), 0);
    return step;
}

weft_status weft_binary_scalar(weft_context *ctx, weft_expr_op op, weft_type type, size_t n,
                               const void *x, const void *y, void *z) {
    weft_expr_step steps[] = {{.op = WEFT_X_INPUT, .argument = 0}, {.op = op}, {.op = op}};
    const formula f = {"weft_binary_scalar", steps, 3, {{type, x}}, {"x"}, 1,
                       result_of(op, type),  z};
    weft_status status = check_op(ctx, f.name, op, type, WEFT_X_ADD, WEFT_X_GE, binary_ops);
    if (status == WEFT_OK && !y)
        status = wi_fail(ctx, WEFT_EARG, "%s: y is NULL; pass a pointer to one element", f.name);
    if (status == WEFT_OK)
        steps[1] = wi_expr_constant_at(type, y);
    return run(ctx, &f, n, status);
}

weft_status weft_where(weft_context *ctx, weft_type type, size_t n, const void *mask, const void *x,
                       const void *y, void *z) {
    static const weft_expr_step steps[] = {{.op = WEFT_X_INPUT, .argument = 0},
                                           {.op = WEFT_X_INPUT, .argument = 1},
                                           {.op = WEFT_X_INPUT, .argument = 2},
                                           {.op = WEFT_X_SELECT}};
    const formula f = {"weft_where",       steps, 4,    {{WEFT_U8, mask}, {type, x}, {type, y}},
                       {"mask", "x", "y"}, 3,     type, z};
    return run(ctx, &f, n, check_type(ctx, f.name, type));
}

weft_status wi_expr_compile_conversion(weft_context *ctx, const char *call, weft_type from,
                                       weft_type to, wi_expr_program *program) {
    const weft_expr_step steps[] = {{.op = WEFT_X_INPUT, .argument = 0},
                                    {.op = WEFT_X_SATURATE, .argument = (int)to}};
    const weft_expr_input input = {from, NULL};
    return wi_expr_compile(ctx, call, steps, sizeof steps / sizeof *steps, &input, 1, to, program);
}

weft_status weft_convert(weft_context *ctx, weft_expr_op how, weft_type from, weft_type to,
                         size_t n, const void *x, void *z) {
    const weft_expr_step steps[] = {{.op = WEFT_X_INPUT, .argument = 0},
                                    {.op = how, .argument = (int)to}};
    const formula f = {"weft_convert", steps, 2, {{from, x}}, {"x"}, 1, to, z};
    weft_status status = check_type(ctx, f.name, from);
    if (status == WEFT_OK)
        status = wi_check_type(ctx, f.name, to);
    if (status == WEFT_OK && how != WEFT_X_SATURATE && how != WEFT_X_WRAP)
        status = wi_fail(ctx, WEFT_EARG, "%s: how is %d; pass WEFT_X_SATURATE or WEFT_X_WRAP",
                         f.name, (int)how);
    return run(ctx, &f, n, status);
}
