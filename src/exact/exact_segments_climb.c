/* SPDX-License-Identifier: Apache-2.0 */
/* exact_segments' climb: the segments of group's. */
#include "climb/data.h"
#include "exact/exact_error_climb.h"
#include "exact/exact_segments.h"
#include "group/group_climb.h"

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    return weft_exact_reduce_segments(setup->ctx, WEFT_SUM, setup->type, setup->n, data->x,
                                      wi_group_climb_segments(setup->n), WEFT_U64, data->y,
                                      wi_group_climb_type(setup), data->z);
}

static weft_status serial(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    const wi_group_args args = {.op = WI_RED_SUM,
                                .type = setup->type,
                                .result_type = wi_group_climb_type(setup),
                                .n = setup->n,
                                .segments = wi_group_climb_segments(setup->n),
                                .x = data->host_x,
                                .starts = data->host_y,
                                .start_bytes = sizeof(uint64_t),
                                .y = data->host_z};
    return wi_exact_segments_serial(setup->ctx, &args);
}

static bool check(void *problem, char *why, size_t bytes) {
    return wi_group_climb_check(problem, call, why, bytes);
}

/* One segment holds all. */
static weft_status add_up(const wi_setup *setup, size_t n, const void *x, void *sum) {
    const uint64_t offsets[2] = {0, n};
    return weft_exact_reduce_segments(setup->ctx, WEFT_SUM, setup->type, n, x, 1, WEFT_U64, offsets,
                                      WEFT_F64, sum);
}

static weft_status error(const wi_setup *setup, double *ulps) {
    return wi_error_of_sum(setup, WEFT_F64, add_up, ulps);
}

const wi_climb wi_exact_segments_climb = {
    .ladder = &wi_exact_segments_ladder,
    .example = "sums of segments",
    .type = WEFT_F64,
    .types = WI_FLOATS,
    .make = wi_group_climb_make,
    .call = call,
    .serial = serial,
    .check = check,
    .error = error,
    .describe = wi_group_climb_describe,
    .drop = wi_data_drop,
};
