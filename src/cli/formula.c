/* SPDX-License-Identifier: Apache-2.0 */
/* A parser by recursive descent that makes a tree, and a second pass that gives types to its nodes
 * and writes them in postfix. */
#include "cli/formula.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr/expr.h"

enum {
    NODES = 128,
    DEPTH = 64, /* of operands within operands, as by parentheses and signs */
    NAME_BYTES = 16
};

/* A node of the tree. A literal takes the type of the other operand if that can hold it (`meet`).
 */
typedef struct node {
    weft_expr_op op; /* INPUT: argument says which; CONSTANT: a literal */
    int argument;
    int child[3], children;
    weft_type type; /* of the value, widened */
    double number;  /* of a literal, and the same as an integer if it is whole */
    uint64_t integer;
    bool whole;   /* it is an integer of 64 bits */
    bool negated; /* it stands behind a minus */
} node;

typedef struct parser {
    const char *text, *at;
    node nodes[NODES];
    int count, depth;
    size_t inputs;
    const wi_formula_input *input;
    wi_formula *formula;
    char *why;
    bool failed;
} parser;

static int fail(parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(parser *p, const char *format, ...) {
    if (!p->failed) {
        va_list list;
        va_start(list, format);
        vsnprintf(p->why, WI_REASON_BYTES, format, list);
        va_end(list);
    }
    p->failed = true;
    return 0;
}

static void skip(parser *p) {
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static int fail_here(parser *p, const char *wanted) {
    char shown[NAME_BYTES];
    snprintf(shown, sizeof shown, "%s", p->at);
    return *p->at ? fail(p, "\"%s\" is not %s", shown, wanted)
                  : fail(p, "it ends where %s should be", wanted);
}

/* Goes past a token if it is next. */
static bool take(parser *p, const char *token) {
    skip(p);
    const size_t length = strlen(token);
    if (strncmp(p->at, token, length) != 0)
        return false;
    p->at += length;
    return true;
}

static int add_node(parser *p, node n) {
    if (p->count == NODES)
        return fail(p, "it is too long");
    p->nodes[p->count] = n;
    return p->count++;
}

static int add_operation(parser *p, weft_expr_op op, int a, int b) {
    return add_node(p, (node){.op = op, .child = {a, b}, .children = op < WEFT_X_NEG ? 2 : 1});
}

static int parse_choice(parser *p);

/* A number as strtod reads it: decimal, or hexadecimal after 0x. */
static int parse_number(parser *p) {
    char *end, *whole_end;
    node n = {.op = WEFT_X_CONSTANT, .number = strtod(p->at, &end)};
    const bool hexadecimal = p->at[0] == '0' && (p->at[1] == 'x' || p->at[1] == 'X');
    errno = 0;
    n.integer = strtoull(p->at, &whole_end, hexadecimal ? 16 : 10);
    n.whole = whole_end == end && errno != ERANGE;
    p->at = end;
    return add_node(p, n);
}

static const struct {
    const char *name;
    weft_expr_op op;
    int arguments;
} functions[] = {
    {"abs", WEFT_X_ABS, 1},     {"sqrt", WEFT_X_SQRT, 1},   {"exp", WEFT_X_EXP, 1},
    {"log", WEFT_X_LOG, 1},     {"pow", WEFT_X_POW, 2},     {"min", WEFT_X_MIN, 2},
    {"max", WEFT_X_MAX, 2},     {"floor", WEFT_X_FLOOR, 1}, {"ceil", WEFT_X_CEIL, 1},
    {"round", WEFT_X_ROUND, 1},
};

static int parse_arguments(parser *p, node n) {
    if (!take(p, "("))
        return fail_here(p, "a parenthesis");
    for (int k = 0; k < n.children; k++) {
        if (k > 0 && !take(p, ","))
            return fail_here(p, "a comma");
        n.child[k] = parse_choice(p);
    }
    if (!p->failed && !take(p, ")"))
        return fail_here(p, "a closing parenthesis");
    return add_node(p, n);
}

/* Refuses a name that is neither an input nor a function nor a conversion to a type. */
static int fail_name(parser *p, const char *name) {
    skip(p);
    if (*p->at != '(')
        return fail(p, "\"%s\" is no input; %s", name,
                    p->inputs == 1 ? "there is one file, a" : "files are a, b and so on, in order");
    char list[WI_REASON_BYTES / 2];
    size_t used = 0;
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s, ", functions[k].name);
    return fail(p, "there is no function \"%s\"; there are %si8 ... f64 and wrap_i8 ...", name,
                list);
}

/* The input of that name, or -1. */
static int find_input(const parser *p, wi_table_text name) {
    for (size_t k = 0; k < p->inputs; k++)
        if (wi_table_is_same(p->input[k].name, name))
            return (int)k;
    return -1;
}

static int parse_name(parser *p) {
    char name[NAME_BYTES];
    const size_t length = wi_formula_name_length(p->at);
    const wi_table_text written = {p->at, p->at + length};
    const int input = wi_formula_is_called(written.end) ? -1 : find_input(p, written);
    snprintf(name, sizeof name, "%.*s", (int)(length < NAME_BYTES ? length : NAME_BYTES - 1),
             p->at);
    p->at += length;
    if (input >= 0)
        return add_node(p, (node){.op = WEFT_X_INPUT, .argument = input});
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        if (strcmp(name, functions[k].name) == 0)
            return parse_arguments(
                p, (node){.op = functions[k].op, .children = functions[k].arguments});
    const bool wraps = strncmp(name, "wrap_", 5) == 0;
    weft_type type;
    if (wi_find_type(name + (wraps ? 5 : 0), &type))
        return parse_arguments(p, (node){.op = wraps ? WEFT_X_WRAP : WEFT_X_SATURATE,
                                         .argument = (int)type,
                                         .children = 1});
    return fail_name(p, name);
}

/* Refuses what is no operand. For operators of C that formulas do not have, the message says what
 * to write instead. */
static int fail_operand(parser *p) {
    static const struct {
        char first;
        const char *hint;
    } hints[] = {{'*', "; a power is pow(x, y)"},
                 {'&', "; masks are joined by one, as (a > 0) & (a < 1)"},
                 {'|', "; masks are joined by one, as (a < 0) | (a > 1)"},
                 {'!', "; not a is a == 0"}};
    char wanted[WI_REASON_BYTES / 2];
    const char *hint = "";
    for (size_t k = 0; k < sizeof hints / sizeof *hints; k++)
        hint = *p->at == hints[k].first ? hints[k].hint : hint;
    snprintf(wanted, sizeof wanted, "a number, an input or a function%s", hint);
    return fail_here(p, wanted);
}

static int parse_unary(parser *p);

/* What stands behind a minus. A literal there may be 2^63, but no more, to be an integer. */
static int parse_negated(parser *p) {
    const int operand = parse_unary(p);
    node *const n = &p->nodes[operand];
    n->negated = true;
    n->whole = n->whole && n->integer <= (uint64_t)1 << 63;
    return operand;
}

static int parse_unary(parser *p) {
    skip(p);
    if (p->depth == DEPTH)
        return fail(p, "it is nested too deeply");
    p->depth++;
    int result;
    if (take(p, "-"))
        result = add_operation(p, WEFT_X_NEG, parse_negated(p), 0);
    else if (take(p, "~"))
        result = add_operation(p, WEFT_X_NOT, parse_unary(p), 0);
    else if (take(p, "(")) {
        result = parse_choice(p);
        if (!p->failed && !take(p, ")"))
            result = fail_here(p, "a closing parenthesis");
    } else if (isdigit((unsigned char)*p->at) || *p->at == '.')
        result = parse_number(p);
    else if (wi_formula_name_length(p->at) > 0)
        result = parse_name(p);
    else
        result = fail_operand(p);
    p->depth--;
    return result;
}

/* Operators of a higher level bind closer; those of one level are taken from the left. The table is
 * searched from its beginning, so "<" stands after "<=" and "<<", which begin with it. */
static const struct {
    int level;
    const char *token;
    weft_expr_op op;
} operators[] = {
    {0, "==", WEFT_X_EQ},  {0, "!=", WEFT_X_NE}, {0, "<=", WEFT_X_LE}, {0, ">=", WEFT_X_GE},
    {1, "|", WEFT_X_OR},   {2, "^", WEFT_X_XOR}, {3, "&", WEFT_X_AND}, {4, "<<", WEFT_X_SHL},
    {4, ">>", WEFT_X_SHR}, {0, "<", WEFT_X_LT},  {0, ">", WEFT_X_GT},  {5, "+", WEFT_X_ADD},
    {5, "-", WEFT_X_SUB},  {6, "*", WEFT_X_MUL}, {6, "/", WEFT_X_DIV}, {6, "%", WEFT_X_REM},
};
enum {
    LEVELS = 7
};

/* The operator that is next, if it is of this level. */
static bool take_operator(parser *p, int level, weft_expr_op *op) {
    skip(p);
    for (size_t k = 0; k < sizeof operators / sizeof *operators; k++) {
        const size_t length = strlen(operators[k].token);
        if (strncmp(p->at, operators[k].token, length) != 0)
            continue;
        if (operators[k].level != level)
            return false;
        p->at += length;
        *op = operators[k].op;
        return true;
    }
    return false;
}

static int parse_level(parser *p, int level) {
    weft_expr_op op;
    if (level == LEVELS)
        return parse_unary(p);
    int left = parse_level(p, level + 1);
    for (int k = 0; !p->failed && take_operator(p, level, &op); k++) {
        if (level == 0 && k > 0) /* a < b < c would compare 0 or 1 with c */
            return fail(p, "one comparison is compared; write (a < b) & (b < c)");
        left = add_operation(p, op, left, parse_level(p, level + 1));
    }
    return left;
}

/* mask ? value : other */
static int parse_choice(parser *p) {
    const int mask = parse_level(p, 0);
    if (p->failed || !take(p, "?"))
        return mask;
    const int value = parse_choice(p);
    if (!p->failed && !take(p, ":"))
        return fail_here(p, "a colon");
    const int other = p->failed ? 0 : parse_choice(p);
    return add_node(p, (node){.op = WEFT_X_SELECT, .child = {mask, value, other}, .children = 3});
}

/* ---- types ---- */

static bool is_literal(const node *n) {
    return n->op == WEFT_X_CONSTANT;
}

/* The type in which two values are combined. If either is a float: f64 if one of them is f64, else
 * f32. Two different integer types: 64 bits, signed if either is signed. */
static weft_type common_type(weft_type a, weft_type b) {
    if (a == b)
        return a;
    if (wi_type_is_float(a) || wi_type_is_float(b))
        return a == WEFT_F64 || b == WEFT_F64 ? WEFT_F64 : WEFT_F32;
    return wi_type_is_signed(a) || wi_type_is_signed(b) ? WEFT_I64 : WEFT_U64;
}

static weft_type type_of_literal(const node *n) {
    const uint64_t most = (uint64_t)INT64_MAX + n->negated;
    return !n->whole ? WEFT_F64 : n->integer <= most ? WEFT_I64 : WEFT_U64;
}

/* The type in which a literal and a value of type `other` are combined: that type, if it can hold
 * the literal. */
static weft_type type_with_literal(const node *literal, weft_type other) {
    if (wi_type_is_float(other) || !literal->whole)
        return wi_type_is_float(other) ? other : WEFT_F64;
    const bool is_signed = wi_type_is_signed(other);
    const unsigned bits = (unsigned)(8 * weft_type_size(other) - is_signed);
    if (literal->integer <= UINT64_MAX >> (64 - bits))
        return other;
    return literal->integer <= INT64_MAX ? WEFT_I64 : is_signed ? WEFT_F64 : WEFT_U64;
}

/* The same for nodes. Two literals take the type of the larger. */
static weft_type meet(const node *a, const node *b) {
    if (is_literal(a) && is_literal(b) && a->whole && b->whole)
        return a->integer > b->integer ? a->type : b->type;
    if (is_literal(a) != is_literal(b))
        return is_literal(a) ? type_with_literal(a, b->type) : type_with_literal(b, a->type);
    return common_type(a->type, b->type);
}

static bool takes_floats_only(weft_expr_op op) {
    return !wi_expr_takes(op, WEFT_I32);
}

/* Types from the leaves up. Children come before their parents. */
static void find_types(parser *p) {
    for (int k = 0; k < p->count; k++) {
        node *const n = &p->nodes[k];
        const node *const a = &p->nodes[n->child[0]], *const b = &p->nodes[n->child[1]];
        if (n->op == WEFT_X_INPUT)
            n->type = wi_expr_widened(p->input[n->argument].type);
        else if (n->op == WEFT_X_CONSTANT)
            n->type = type_of_literal(n);
        else if (n->op == WEFT_X_SATURATE || n->op == WEFT_X_WRAP)
            n->type = wi_expr_widened((weft_type)n->argument);
        else if (n->op == WEFT_X_SELECT)
            n->type = meet(b, &p->nodes[n->child[2]]);
        else if (n->op >= WEFT_X_EQ && n->op <= WEFT_X_GE)
            n->type = WEFT_U32;
        else
            n->type = n->children == 2 ? meet(a, b) : a->type;
        const bool by_table = n->op >= WEFT_X_ADD && n->op < WEFT_X_SELECT;
        if (by_table && takes_floats_only(n->op) && !wi_type_is_float(n->type))
            n->type = WEFT_F64;
        if (by_table && !wi_expr_takes(n->op, n->type))
            fail(p, "%s takes integers only; convert by i64(...)", wi_expr_name(n->op));
    }
}

/* ---- postfix ---- */

static void write_step(parser *p, weft_expr_step step) {
    if (p->formula->steps == WEFT_EXPR_MAX_STEPS)
        fail(p, "it is too long: more than %d steps", WEFT_EXPR_MAX_STEPS);
    else
        p->formula->step[p->formula->steps++] = step;
}

static void write_literal(parser *p, const node *n, weft_type type) {
    weft_expr_step step = {.op = WEFT_X_CONSTANT, .argument = (int)type};
    if (wi_type_is_float(type))
        step.value.f = n->number;
    else
        step.value.i = (int64_t)n->integer;
    write_step(p, step);
}

static void write_node(parser *p, int at, weft_type wanted);

/* The type in which a node computes. A comparison computes in the type of its operands, and gives a
 * mask. */
static weft_type working_type(const parser *p, const node *n) {
    const bool compares = n->op >= WEFT_X_EQ && n->op <= WEFT_X_GE;
    return compares ? meet(&p->nodes[n->child[0]], &p->nodes[n->child[1]]) : n->type;
}

/* Leaves the node's value on the stack as a mask of 32 bits: whether it is not 0, if it has another
 * size or is a float. */
static void write_mask(parser *p, int at) {
    const node *const n = &p->nodes[at];
    write_node(p, at, n->type);
    if (n->type == WEFT_U32 || n->type == WEFT_I32)
        return;
    write_step(p, (weft_expr_step){.op = WEFT_X_CONSTANT, .argument = (int)n->type});
    write_step(p, (weft_expr_step){.op = WEFT_X_NE});
}

/* Leaves the node's value, as `wanted`, on the stack. */
static void write_node(parser *p, int at, weft_type wanted) {
    const node *const n = &p->nodes[at];
    if (p->failed)
        return;
    if (is_literal(n)) {
        write_literal(p, n, wanted);
        return;
    }
    const bool converts = n->op == WEFT_X_SATURATE || n->op == WEFT_X_WRAP;
    const weft_type working = working_type(p, n);
    for (int k = 0; k < n->children; k++) {
        if (n->op == WEFT_X_SELECT && k == 0)
            write_mask(p, n->child[0]);
        else
            write_node(p, n->child[k], converts ? p->nodes[n->child[k]].type : working);
    }
    write_step(p, (weft_expr_step){.op = n->op, .argument = n->argument});
    if (n->type != wanted)
        write_step(p, (weft_expr_step){.op = WEFT_X_SATURATE, .argument = (int)wanted});
}

/* The type of the output if the user asks for none: u8 for a mask, the type of a conversion, and
 * else that of the first input whose values, once widened, have the type of the result. */
static weft_type usual_type(const parser *p, const node *n) {
    if (n->op >= WEFT_X_EQ && n->op <= WEFT_X_GE)
        return WEFT_U8;
    if (n->op == WEFT_X_SATURATE || n->op == WEFT_X_WRAP)
        return (weft_type)n->argument;
    for (size_t k = 0; k < p->inputs; k++)
        if (wi_expr_widened(p->input[k].type) == n->type)
            return p->input[k].type;
    return n->type;
}

bool wi_formula_parse(const char *text, const wi_formula_input *inputs, size_t count,
                      const weft_type *type, wi_formula *formula, char why[WI_REASON_BYTES]) {
    parser p = {
        .text = text, .at = text, .inputs = count, .input = inputs, .formula = formula, .why = why};
    formula->steps = 0;
    const int root = parse_choice(&p);
    skip(&p);
    if (!p.failed && *p.at)
        fail_here(&p, "an operator");
    if (!p.failed)
        find_types(&p);
    if (p.failed)
        return false;
    const node *const n = &p.nodes[root];
    formula->type = type ? *type : usual_type(&p, n);
    write_node(&p, root, n->type);
    if (type)
        write_step(&p, (weft_expr_step){.op = WEFT_X_SATURATE, .argument = (int)*type});
    return !p.failed;
}
