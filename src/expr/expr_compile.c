/* SPDX-License-Identifier: Apache-2.0 */
/* From postfix to codes on an accumulator. A stack of descriptions says where each value is: still
 * an input or a constant, in the accumulator, or put aside in a slot. Only an operation makes code,
 * so that most operands are never moved. */
#include <string.h>

#include "cpu/half.h"
#include "expr/expr.h"

typedef struct value {
    weft_type type;
    unsigned at;
} value;

typedef struct translation {
    weft_context *ctx;
    const char *call;
    const weft_expr_step *step;
    size_t position;
    wi_expr_writer writer;
    value stack[WEFT_EXPR_MAX_DEPTH];
    unsigned depth;
    unsigned uses[WI_X_SLOTS]; /* how many values on the stack are in the slot */
    weft_status status;
} translation;

/* Refuses the step; why as "needs two values on the stack". */
static void refuse(translation *t, const char *why) {
    if (t->status == WEFT_OK)
        t->status = wi_fail(t->ctx, WEFT_EARG, "%s: program: step %zu, %s, %s", t->call,
                            t->position, wi_expr_name(t->step->op), why);
}

static void push(translation *t, weft_type type, unsigned at) {
    if (t->depth == WEFT_EXPR_MAX_DEPTH) {
        refuse(t, "is one value too many: the stack holds WEFT_EXPR_MAX_DEPTH");
        return;
    }
    t->stack[t->depth++] = (value){type, at};
}

static bool is_slot(unsigned at) {
    return at >= WI_X_AT_SLOT && at < WI_X_AT_CONSTANT;
}

/* The top value leaves the stack. If it is in a slot it stays there until it is released, behind
 * the step that uses it. */
static value pop(translation *t) {
    return t->stack[--t->depth];
}

static void release(translation *t, value v) {
    if (is_slot(v.at))
        t->uses[v.at - WI_X_AT_SLOT]--;
}

/* Puts the accumulator aside. */
static unsigned save(translation *t) {
    unsigned k = 0;
    while (t->uses[k])
        k++;
    t->uses[k] = 1;
    if (t->writer.program->slots < k + 1)
        t->writer.program->slots = k + 1;
    wi_expr_emit(&t->writer, WI_X_SAVE, WI_X_AT_SLOT + k, WI_X_NONE);
    return WI_X_AT_SLOT + k;
}

/* If a value on the stack is in the accumulator, moves it to a slot. */
static void clear(translation *t) {
    for (unsigned k = 0; k < t->depth; k++)
        if (t->stack[k].at == WI_X_ACC)
            t->stack[k].at = save(t);
}

/* Brings a value that has left the stack to the accumulator. */
static void load(translation *t, value v) {
    if (v.at == WI_X_ACC)
        return;
    clear(t);
    wi_expr_emit(&t->writer, WI_X_LOAD, v.at, WI_X_NONE);
}

static bool has(translation *t, unsigned count, const char *why) {
    if (t->depth < count)
        refuse(t, why);
    return t->status == WEFT_OK;
}

/* The step's code for values of a type; refuses the step if there is none. */
static wi_expr_do find(translation *t, weft_type type) {
    const wi_expr_do what = wi_expr_code_of(t->step->op, type);
    if (what == WI_X_DOS)
        refuse(t, wi_type_is_float(type) ? "takes integers only; convert the value first"
                                         : "takes floats only; convert the value first");
    return what;
}

static void unary(translation *t) {
    if (!has(t, 1, "needs a value on the stack"))
        return;
    const value v = pop(t);
    const wi_expr_do what = find(t, v.type);
    if (t->status != WEFT_OK)
        return;
    load(t, v);
    release(t, v);
    if (what != WI_X_LOAD)
        wi_expr_emit(&t->writer, what, WI_X_ACC, WI_X_NONE);
    push(t, v.type, WI_X_ACC);
}

/* Chooses the code of a binary operation, and sees to it that its first operand is in the
 * accumulator. A right operand that is there already stays if the operation has a code for its
 * operands in the other order; else it is put aside, and the left one is loaded. */
static wi_expr_do arrange(translation *t, value *left, value *right) {
    const wi_expr_do what = find(t, left->type);
    if (t->status != WEFT_OK || left->at == WI_X_ACC)
        return what;
    const wi_expr_do turned = wi_expr_turned_code_of(t->step->op, left->type);
    if (right->at == WI_X_ACC && turned != WI_X_DOS) {
        right->at = left->at;
        return turned;
    }
    if (right->at == WI_X_ACC)
        right->at = save(t);
    load(t, *left);
    return what;
}

static void binary(translation *t) {
    if (!has(t, 2, "needs two values on the stack"))
        return;
    const value right = pop(t), left = pop(t);
    if (left.type != right.type) {
        refuse(t, "needs two values of one type; convert one of them first");
        return;
    }
    value a = left, b = right;
    const wi_expr_do what = arrange(t, &a, &b);
    if (t->status != WEFT_OK)
        return;
    wi_expr_emit(&t->writer, what, WI_X_ACC, b.at);
    release(t, left);
    release(t, right);
    if (b.at != left.at && b.at != right.at)
        release(t, b);
    push(t, t->step->op >= WEFT_X_EQ ? WEFT_U32 : left.type, WI_X_ACC);
}

static void choose(translation *t) {
    if (!has(t, 3, "needs three values on the stack"))
        return;
    value other = pop(t), v = pop(t), mask = pop(t);
    if (mask.type != WEFT_U32 && mask.type != WEFT_I32) {
        refuse(t, "needs a mask of u32 or i32, as comparisons give it");
        return;
    }
    if (v.type != other.type) {
        refuse(t, "needs two values of one type; convert one of them first");
        return;
    }
    if (v.at != WI_X_ACC) {
        unsigned *const in_acc = other.at == WI_X_ACC  ? &other.at
                                 : mask.at == WI_X_ACC ? &mask.at
                                                       : NULL;
        if (in_acc)
            *in_acc = save(t);
        load(t, v);
    }
    const bool wide = weft_type_size(v.type) == 8;
    wi_expr_emit(&t->writer, WI_X_MASK, mask.at, WI_X_NONE);
    wi_expr_emit(&t->writer, wide ? WI_X_SELECT_64 : WI_X_SELECT_32, WI_X_ACC, other.at);
    release(t, other);
    release(t, v);
    release(t, mask);
    push(t, v.type, WI_X_ACC);
}

/* Pushes the top value once more. If it is in the accumulator, a copy of it is put aside for the
 * value below. */
static void duplicate(translation *t) {
    if (!has(t, 1, "needs a value on the stack"))
        return;
    value *const top = &t->stack[t->depth - 1];
    const unsigned copy = top->at;
    if (is_slot(copy))
        t->uses[copy - WI_X_AT_SLOT]++;
    else if (copy == WI_X_ACC)
        top->at = save(t);
    push(t, top->type, copy);
}

static void convert(translation *t) {
    const weft_type to = (weft_type)t->step->argument;
    if (weft_type_size(to) == 0)
        refuse(t, "needs a weft_type as its argument");
    if (!has(t, 1, "needs a value on the stack"))
        return;
    const value v = pop(t);
    load(t, v);
    release(t, v);
    wi_expr_emit_conversion(&t->writer, v.type, to, t->step->op == WEFT_X_SATURATE);
    push(t, wi_expr_widened(to), WI_X_ACC);
}

/* The bits of a constant, widened. */
static uint64_t bits_of(const weft_expr_step *step) {
    const double f = step->value.f;
    float single = (float)f;
    uint64_t bits = 0;
    switch ((weft_type)step->argument) {
    case WEFT_I8:
        return (uint32_t)(int8_t)step->value.i;
    case WEFT_I16:
        return (uint32_t)(int16_t)step->value.i;
    case WEFT_U8:
        return (uint8_t)step->value.u;
    case WEFT_U16:
        return (uint16_t)step->value.u;
    case WEFT_I32:
    case WEFT_U32:
        return (uint32_t)step->value.u;
    case WEFT_F64:
        memcpy(&bits, &f, sizeof f);
        return bits;
    case WEFT_F16:
        single = wi_f16_widen(wi_f16_narrow_double(f));
        break;
    case WEFT_BF16:
        single = wi_bf16_widen(wi_bf16_narrow_double(f));
        break;
    case WEFT_F32:
        break;
    default:
        return step->value.u;
    }
    return wi_float_bits(single);
}

static void translate(translation *t) {
    const weft_expr_step *const step = t->step;
    const uint32_t inputs = t->writer.program->inputs;
    switch (step->op) {
    case WEFT_X_INPUT:
        if (step->argument < 0 || (uint32_t)step->argument >= inputs)
            refuse(t, "names an input that is not there");
        else
            push(t, wi_expr_widened((weft_type)t->writer.program->from[step->argument]),
                 WI_X_AT_INPUT + (unsigned)step->argument);
        return;
    case WEFT_X_CONSTANT:
        if (weft_type_size((weft_type)step->argument) == 0)
            refuse(t, "needs a weft_type as its argument");
        else
            push(t, wi_expr_widened((weft_type)step->argument),
                 wi_expr_constant(&t->writer, bits_of(step),
                                  weft_type_size((weft_type)step->argument) == 8));
        return;
    case WEFT_X_DUP:
        duplicate(t);
        return;
    case WEFT_X_SELECT:
        choose(t);
        return;
    case WEFT_X_SATURATE:
    case WEFT_X_WRAP:
        convert(t);
        return;
    default:
        if (step->op < WEFT_X_NEG)
            binary(t);
        else
            unary(t);
    }
}

/* What is left on the stack must be what z takes. */
static weft_status finish(translation *t, weft_type type) {
    if (t->status != WEFT_OK)
        return t->status;
    if (t->depth != 1)
        return wi_fail(t->ctx, WEFT_EARG, "%s: program: it leaves %u values; leave one", t->call,
                       t->depth);
    if (t->stack[0].type != wi_expr_widened(type))
        return wi_fail(t->ctx, WEFT_EARG,
                       "%s: program: it gives %s, and type is %s; end with a conversion", t->call,
                       weft_type_name(t->stack[0].type), weft_type_name(type));
    load(t, t->stack[0]);
    return t->writer.full
               ? wi_fail(t->ctx, WEFT_EARG, "%s: program: it is too long; cut it in two", t->call)
               : WEFT_OK;
}

weft_status wi_expr_compile(weft_context *ctx, const char *call, const weft_expr_step *steps,
                            size_t count, const weft_expr_input *inputs, size_t input_count,
                            weft_type type, wi_expr_program *program) {
    translation t = {.ctx = ctx, .call = call, .writer = {program, false}, .status = WEFT_OK};
    memset(program, 0, sizeof *program);
    program->inputs = (uint32_t)input_count;
    program->type = (uint8_t)type;
    for (size_t k = 0; k < input_count; k++) {
        program->from[k] = (uint8_t)inputs[k].type;
        program->wide |= weft_type_size(inputs[k].type) == 8;
    }
    for (size_t k = 0; k < count && t.status == WEFT_OK; k++) {
        t.step = &steps[k];
        t.position = k;
        if ((unsigned)steps[k].op >= WEFT_X_COUNT)
            return wi_fail(ctx, WEFT_EARG, "%s: program: step %zu is no weft_expr_op", call, k);
        translate(&t);
    }
    return finish(&t, type);
}
