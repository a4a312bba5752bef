/* SPDX-License-Identifier: Apache-2.0 */
/* reduce's climb: the sum, left in memory of the place. */
#include "climb/data.h"
#include "exact/exact_error_climb.h"
#include "reduce/reduce.h"

enum {
    RESULT_BYTES = 8 /* no result is larger */
};

static weft_status make(const wi_setup *setup, void **problem) {
    return wi_data_make(setup, WI_DATA_PLACE, false, RESULT_BYTES, problem);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    return weft_reduce(data->setup.ctx, WEFT_SUM, data->setup.type, data->setup.n, data->x,
                       data->z);
}

static weft_status serial(void *problem) {
    const wi_data *const data = problem;
    const wi_reduce_args args = {.op = WI_RED_SUM,
                                 .type = data->setup.type,
                                 .n = data->setup.n,
                                 .x = data->host_x,
                                 .result = data->host_z};
    return wi_reduce_serial(data->setup.ctx, &args);
}

/* The sum in the type that weft_reduce gives it: exact until it is rounded once at the end. */
static bool check(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    weft_type type = WEFT_F64;
    weft_reduce_type(WEFT_SUM, data->setup.type, &type);
    return wi_data_check_sum(data, call, type, why, bytes);
}

static weft_status add_up(const wi_setup *setup, size_t n, const void *x, void *sum) {
    return weft_reduce(setup->ctx, WEFT_SUM, setup->type, n, x, sum);
}

static weft_status error(const wi_setup *setup, double *ulps) {
    weft_type type = WEFT_F64;
    weft_reduce_type(WEFT_SUM, setup->type, &type);
    return wi_error_of_sum(setup, type, add_up, ulps);
}

const wi_climb wi_reduce_climb = {
    .ladder = &wi_reduce_ladder,
    .example = "sum",
    .type = WEFT_F32,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .error = error,
    .describe = wi_data_describe_read,
    .drop = wi_data_drop,
};
