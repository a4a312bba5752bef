/* SPDX-License-Identifier: Apache-2.0 */
/* scan's climb: the inclusive sum. */
#include "climb/data.h"
#include "scan/scan.h"

static weft_status make(const wi_setup *setup, void **problem) {
    return wi_data_make(setup, WI_DATA_PLACE, false, wi_data_bytes(setup), problem);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    return weft_scan(data->setup.ctx, WEFT_INCLUSIVE, WEFT_SUM, data->setup.type, data->setup.n,
                     data->x, data->z, NULL);
}

static weft_status serial(void *problem) {
    const wi_data *const data = problem;
    const wi_scan_args args = {.op = WEFT_SUM,
                               .kind = WEFT_INCLUSIVE,
                               .type = data->setup.type,
                               .n = data->setup.n,
                               .x = data->host_x,
                               .y = data->host_z};
    return wi_scan_serial(data->setup.ctx, &args);
}

static bool check(void *problem, char *why, size_t bytes) {
    return wi_data_try(problem, call, why, bytes) &&
           wi_data_compare(problem, wi_data_prefixes, why, bytes);
}

const wi_climb wi_scan_climb = {
    .ladder = &wi_scan_ladder,
    .example = "inclusive sum",
    .type = WEFT_F32,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .describe = wi_data_describe_copy,
    .drop = wi_data_drop,
};
