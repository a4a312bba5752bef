/* SPDX-License-Identifier: Apache-2.0 */
/* exact's climb: the sum, left in memory of the place. */
#include "climb/data.h"
#include "exact/exact.h"
#include "exact/exact_error_climb.h"

enum {
    RESULT_BYTES = 8
};

static weft_status make(const wi_setup *setup, void **problem) {
    return wi_data_make(setup, WI_DATA_PLACE, false, RESULT_BYTES, problem);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    return weft_exact_reduce(data->setup.ctx, WEFT_SUM, data->setup.type, data->setup.n, data->x,
                             WEFT_F64, data->z);
}

static weft_status serial(void *problem) {
    const wi_data *const data = problem;
    const wi_exact_args args = {.terms = WI_EXACT_SUM,
                                .type = data->setup.type,
                                .result_type = WEFT_F64,
                                .n = data->setup.n,
                                .x = data->host_x,
                                .result = data->host_z};
    return wi_exact_serial(data->setup.ctx, &args);
}

/* The elements stand for whole numbers, whose sum is known. */
static bool check(void *problem, char *why, size_t bytes) {
    return wi_data_check_sum(problem, call, WEFT_F64, why, bytes);
}

static weft_status add_up(const wi_setup *setup, size_t n, const void *x, void *sum) {
    return weft_exact_reduce(setup->ctx, WEFT_SUM, setup->type, n, x, WEFT_F64, sum);
}

static weft_status error(const wi_setup *setup, double *ulps) {
    return wi_error_of_sum(setup, WEFT_F64, add_up, ulps);
}

const wi_climb wi_exact_climb = {
    .ladder = &wi_exact_ladder,
    .example = "sum",
    .type = WEFT_F64,
    .types = WI_FLOATS,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .error = error,
    .describe = wi_data_describe_read,
    .drop = wi_data_drop,
};
