/* SPDX-License-Identifier: Apache-2.0 */
/* expr's climb: z = max(3 - 2 x, y) + 5 x, whose values are all exact. */
#include "expr/expr_climb.h"

static weft_status make(const wi_setup *setup, void **problem) {
    return wi_data_make(setup, WI_DATA_PLACE, true, wi_data_bytes(setup), problem);
}

static weft_expr_step constant(weft_type type, int k) {
    weft_expr_step step = {.op = WEFT_X_CONSTANT, .argument = (int)type};
    if (wi_type_is_float(type))
        step.value.f = k;
    else
        step.value.i = k;
    return step;
}

enum {
    STEPS = 11
};

/* Constants and values are of the type that the elements are widened to. */
static void write_formula(weft_type type, weft_expr_step steps[STEPS]) {
    const weft_type wide = wi_expr_widened(type);
    const weft_expr_step formula[STEPS] = {
        constant(wide, 3),  {.op = WEFT_X_INPUT, .argument = 0},
        constant(wide, 2),  {.op = WEFT_X_MUL},
        {.op = WEFT_X_SUB}, {.op = WEFT_X_INPUT, .argument = 1},
        {.op = WEFT_X_MAX}, {.op = WEFT_X_INPUT, .argument = 0},
        constant(wide, 5),  {.op = WEFT_X_MUL},
        {.op = WEFT_X_ADD},
    };
    for (int k = 0; k < STEPS; k++)
        steps[k] = formula[k];
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    const weft_expr_input inputs[] = {{setup->type, data->x}, {setup->type, data->y}};
    weft_expr_step steps[STEPS];
    write_formula(setup->type, steps);
    return weft_expr(setup->ctx, steps, STEPS, setup->n, inputs, 2, setup->type, data->z);
}

static weft_status serial(void *problem) {
    const wi_data *const data = problem;
    const weft_type type = data->setup.type;
    weft_expr_step steps[STEPS];
    wi_expr_program program;
    wi_expr_args args;
    write_formula(type, steps);
    const weft_status status =
        wi_expr_compile_xy(data, "weft_expr", steps, STEPS, type, &program, &args);
    return status == WEFT_OK ? wi_expr_serial(data->setup.ctx, &args) : status;
}

/* k of floats is 8 times the value. Of unsigned elements the difference wraps. */
static void expected(const wi_data *data, size_t first, size_t count, int64_t *k) {
    const weft_type type = data->setup.type;
    const int64_t one = wi_type_is_float(type) ? 8 : 1;
    const bool wraps = !wi_type_is_float(type) && !wi_type_is_signed(type);
    int64_t y[WI_DATA_CHUNK];
    wi_data_draw(data, 0, first, count, k);
    wi_data_draw(data, 1, first, count, y);
    for (size_t i = 0; i < count; i++) {
        const int64_t difference = 3 * one - 2 * k[i];
        const bool is_more = difference > y[i] || (wraps && difference < 0);
        k[i] = (is_more ? difference : y[i]) + 5 * k[i];
    }
}

static bool check(void *problem, char *why, size_t bytes) {
    return wi_data_try(problem, call, why, bytes) && wi_data_compare(problem, expected, why, bytes);
}

const wi_climb wi_expr_climb = {
    .ladder = &wi_expr_ladder,
    .example = "max(3 - 2x, y) + 5x",
    .type = WEFT_F32,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .describe = wi_data_describe_join,
    .drop = wi_data_drop,
};
