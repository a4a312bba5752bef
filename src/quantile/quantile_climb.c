/* SPDX-License-Identifier: Apache-2.0 */
/* quantile's climb: the median element of random numbers. */
#include <stdio.h>
#include <string.h>

#include "climb/data.h"
#include "quantile/quantile.h"

static weft_status make(const wi_setup *setup, void **problem) {
    return wi_data_make_random(setup, sizeof(uint64_t), problem);
}

static uint64_t middle_of(const wi_data *data) {
    return data->setup.n / 2;
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const uint64_t rank = middle_of(data);
    return weft_nth(data->setup.ctx, data->setup.type, data->setup.n, data->x, 1, &rank, data->z);
}

static weft_status serial(void *problem) {
    const wi_data *const data = problem;
    const wi_quantile_job job = {.rank = middle_of(data)};
    const wi_quantile_args args = {.call = "weft_nth",
                                   .type = data->setup.type,
                                   .n = data->setup.n,
                                   .x = data->host_x,
                                   .count = 1,
                                   .jobs = &job,
                                   .elements = true,
                                   .out = data->host_z};
    return wi_quantile_serial(data->setup.ctx, &args);
}

/* Is x less than y? There is no NaN here, and no zero. */
static bool is_less(weft_type type, const void *x, const void *y) {
    if (type == WEFT_I64)
        return *(const int64_t *)x < *(const int64_t *)y;
    if (type == WEFT_U64)
        return *(const uint64_t *)x < *(const uint64_t *)y;
    return wi_element_value(type, x) < wi_element_value(type, y);
}

/* The element of a rank has no more elements below it than its rank, and with its equals more. */
static bool check(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const size_t size = weft_type_size(data->setup.type);
    size_t below = 0, above = 0;
    if (!wi_data_try(data, call, why, bytes))
        return false;
    for (size_t i = 0; i < data->setup.n; i++) {
        const char *const x = (const char *)data->host_x + i * size;
        below += is_less(data->setup.type, x, data->host_z);
        above += is_less(data->setup.type, data->host_z, x);
    }
    const uint64_t rank = middle_of(data);
    if (below <= rank && rank < data->setup.n - above)
        return true;
    snprintf(why, bytes, "%zu elements are below the one of rank %llu, and %zu above", below,
             (unsigned long long)rank, above);
    return false;
}

const wi_climb wi_quantile_climb = {
    .ladder = &wi_quantile_ladder,
    .example = "the median",
    .type = WEFT_F32,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .describe = wi_data_describe_read,
    .drop = wi_data_drop,
};
