/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas drawn at random, and over how many blocks a kernel computes them: for the tests. */
#ifndef WI_EXPR_DRAWING_H
#define WI_EXPR_DRAWING_H

#include <stdio.h>
#include <string.h>

#include "expr/expr.h"
#include "limits.h"
#include "testing.h"

enum {
    DRAWING_MOST_STEPS = 24
};

/* A formula being drawn over inputs of given types. */
typedef struct drawing {
    test_random *random;
    const weft_expr_input *input;
    size_t inputs, steps;
    weft_expr_step step[DRAWING_MOST_STEPS];
    weft_type stack[WEFT_EXPR_MAX_DEPTH];
    int depth;
} drawing;

static inline size_t drawing_below(drawing *d, size_t bound) {
    return test_below(d->random, bound);
}

static inline void drawing_add(drawing *d, weft_expr_op op, int argument) {
    d->step[d->steps++] = (weft_expr_step){.op = op, .argument = argument};
}

static inline void drawing_leaf(drawing *d) {
    if (drawing_below(d, 3) > 0) {
        const size_t k = drawing_below(d, d->inputs);
        drawing_add(d, WEFT_X_INPUT, (int)k);
        d->stack[d->depth++] = wi_expr_widened(d->input[k].type);
        return;
    }
    const weft_type type = (weft_type)drawing_below(d, WEFT_TYPE_COUNT);
    drawing_add(d, WEFT_X_CONSTANT, (int)type);
    weft_expr_step *const s = &d->step[d->steps - 1];
    s->value.u = drawing_below(d, 2) ? test_bits(d->random) : drawing_below(d, 70);
    if (test_is_float(type))
        s->value.f = test_unit(d->random) * 300;
    d->stack[d->depth++] = wi_expr_widened(type);
}

static inline void drawing_convert(drawing *d, weft_type type) {
    drawing_add(d, drawing_below(d, 2) ? WEFT_X_SATURATE : WEFT_X_WRAP, (int)type);
    d->stack[d->depth - 1] = wi_expr_widened(type);
}

static inline void drawing_unary(drawing *d) {
    static const weft_expr_op of_floats[] = {WEFT_X_NEG,   WEFT_X_ABS,  WEFT_X_SQRT,
                                             WEFT_X_FLOOR, WEFT_X_CEIL, WEFT_X_ROUND};
    static const weft_expr_op of_integers[] = {WEFT_X_NEG, WEFT_X_ABS, WEFT_X_NOT};
    if (drawing_below(d, 2))
        drawing_convert(d, (weft_type)drawing_below(d, WEFT_TYPE_COUNT));
    else if (test_is_float(d->stack[d->depth - 1]))
        drawing_add(d, of_floats[drawing_below(d, 6)], 0);
    else
        drawing_add(d, of_integers[drawing_below(d, 3)], 0);
}

static inline void drawing_binary(drawing *d) {
    const weft_type type = d->stack[d->depth - 2];
    if (d->stack[d->depth - 1] != type)
        drawing_convert(d, type);
    const bool compares = drawing_below(d, 4) == 0;
    const size_t arithmetic = test_is_float(type) ? 6 : 12; /* ADD ... MAX, or ADD ... SHR */
    const size_t k = compares ? (size_t)WEFT_X_EQ + drawing_below(d, 6)
                              : (size_t)WEFT_X_ADD + drawing_below(d, arithmetic);
    drawing_add(d, (weft_expr_op)k, 0);
    d->stack[--d->depth - 1] = compares ? WEFT_U32 : type;
}

static inline void drawing_select(drawing *d) {
    const weft_type type = d->stack[d->depth - 2];
    if (d->stack[d->depth - 1] != type)
        drawing_convert(d, type);
    drawing_add(d, WEFT_X_SELECT, 0);
    d->depth -= 2;
    d->stack[d->depth - 1] = type;
}

static inline void drawing_step(drawing *d) {
    const bool has_mask =
        d->depth >= 3 && (d->stack[d->depth - 3] == WEFT_U32 || d->stack[d->depth - 3] == WEFT_I32);
    const size_t which = drawing_below(d, 9);
    if (has_mask && which < 3) {
        drawing_select(d);
    } else if (d->depth >= 2 && which < 5) {
        drawing_binary(d);
    } else if (d->depth >= 1 && which == 5 && d->depth < 5) {
        drawing_add(d, WEFT_X_DUP, 0);
        d->stack[d->depth] = d->stack[d->depth - 1];
        d->depth++;
    } else if (d->depth >= 1 && which == 6) {
        drawing_unary(d);
    } else if (d->depth < 5) {
        drawing_leaf(d);
    } else {
        drawing_binary(d);
    }
}

/* Draws a formula over such inputs; its value has the type that elements of `type` are widened to.
 * Returns how many steps it has. */
static inline size_t drawing_formula(test_random *random, const weft_expr_input *input,
                                     size_t inputs, weft_type type,
                                     weft_expr_step step[DRAWING_MOST_STEPS]) {
    drawing d = {.random = random, .input = input, .inputs = inputs};
    const size_t length = 1 + test_below(random, 10);
    drawing_leaf(&d);
    while (d.steps < length)
        drawing_step(&d);
    while (d.depth > 1)
        drawing_binary(&d);
    if (d.stack[0] != wi_expr_widened(type))
        drawing_convert(&d, type);
    memcpy(step, d.step, sizeof d.step);
    return d.steps;
}

/* Appends the types of the inputs, and the steps, to a text. */
static inline void drawing_tell(char *text, size_t room, const weft_expr_input *input,
                                size_t inputs, const weft_expr_step *step, size_t steps) {
    size_t at = strlen(text);
    for (size_t k = 0; k < inputs && at < room; k++)
        at += (size_t)snprintf(text + at, room - at, " %s", test_type_name(input[k].type));
    for (size_t k = 0; k < steps && at < room; k++)
        at += (size_t)snprintf(text + at, room - at, " %d/%d", (int)step[k].op, step[k].argument);
}

/* On emu kernels get one block, which goes through many tiles, or a few, or all there are. */
static inline void drawing_few_blocks(test_random *random) {
#ifdef WEFT_EMU
    static const size_t most[] = {1, 3, 0x7fffffff};
    wi_expr_most_blocks = most[test_below(random, 3)];
#else
    (void)random;
#endif
}
static inline void drawing_all_blocks(void) {
#ifdef WEFT_EMU
    wi_expr_most_blocks = 0x7fffffff;
#endif
}

#endif
