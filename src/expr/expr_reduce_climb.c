/* SPDX-License-Identifier: Apache-2.0 */
/* The climb of weft_expr_reduce: the sum of (x - y)^2, whose terms are all exact. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cpu/half.h"
#include "expr/expr_climb.h"
#include "expr/expr_reduce.h"

enum {
    RESULT_BYTES = 8
};

static const weft_expr_step squares[] = {{.op = WEFT_X_INPUT, .argument = 0},
                                         {.op = WEFT_X_INPUT, .argument = 1},
                                         {.op = WEFT_X_SUB},
                                         {.op = WEFT_X_DUP},
                                         {.op = WEFT_X_MUL}};
static const size_t steps = sizeof squares / sizeof *squares;

static weft_status make(const wi_setup *setup, void **problem) {
    return wi_data_make(setup, WI_DATA_PLACE, true, RESULT_BYTES, problem);
}

static weft_status sum_of(weft_context *ctx, const wi_setup *setup, const void *x, const void *y,
                          void *z) {
    const weft_expr_input inputs[] = {{setup->type, x}, {setup->type, y}};
    return weft_expr_reduce(ctx, WEFT_SUM, squares, steps, setup->n, inputs, 2,
                            wi_expr_widened(setup->type), z);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    return sum_of(data->setup.ctx, &data->setup, data->x, data->y, data->z);
}

static weft_status serial(void *problem) {
    const wi_data *const data = problem;
    const weft_type type = wi_expr_widened(data->setup.type);
    wi_expr_reduce_args args = {.fold = wi_expr_fold_of(WEFT_SUM, type), .result = data->host_z};
    wi_expr_program program;
    const weft_status status =
        wi_expr_compile_xy(data, "weft_expr_reduce", squares, steps, type, &program, &args.expr);
    return status == WEFT_OK ? wi_expr_reduce_serial(data->setup.ctx, &args) : status;
}

/* The sum of squares of differences of k, of which floats hold an eighth. */
static uint64_t expected(const wi_data *data) {
    uint64_t sum = 0;
    for (size_t first = 0; first < data->setup.n; first += WI_DATA_CHUNK) {
        const size_t left = data->setup.n - first;
        const size_t count = left < WI_DATA_CHUNK ? left : WI_DATA_CHUNK;
        int64_t x[WI_DATA_CHUNK], y[WI_DATA_CHUNK];
        wi_data_draw(data, 0, first, count, x);
        wi_data_draw(data, 1, first, count, y);
        for (size_t i = 0; i < count; i++)
            sum += (uint64_t)((x[i] - y[i]) * (x[i] - y[i]));
    }
    return sum;
}

static bool check(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const weft_type type = wi_expr_widened(data->setup.type);
    uint64_t right = 0, got = 0;
    if (!wi_data_try(data, call, why, bytes))
        return false;
    right = expected(data);
    const double value = (double)right / 64;
    const float rounded = (float)value;
    if (type == WEFT_F32)
        right = wi_float_bits(rounded);
    else if (type == WEFT_F64)
        right = wi_x_bits_f64(value);
    memcpy(&got, data->host_z, type == WEFT_F32 ? sizeof rounded : sizeof right);
    if (got != right)
        snprintf(why, bytes, "the sum has the bits %#" PRIx64 ", not %#" PRIx64, got, right);
    return got == right;
}

/* Two arrays are read. */
static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    (void)rung;
    *facts = (wi_facts){.size = wi_size_of(data->setup.n),
                        .bytes = 2.0 * (double)wi_data_bytes(&data->setup),
                        .roof = WI_ROOF_READ};
}

const wi_climb wi_expr_reduce_climb = {
    .ladder = &wi_expr_reduce_ladder,
    .example = "sum of (x - y)^2",
    .type = WEFT_F32,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .describe = describe,
    .drop = wi_data_drop,
};
