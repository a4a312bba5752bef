/* SPDX-License-Identifier: Apache-2.0 */
/* reduce's climb: the sum, left in memory of the place. */
#include "climb/data.h"
#include "reduce/reduce.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
    const size_t n = data->setup.n, chunks = (n + WI_DATA_CHUNK - 1) / WI_DATA_CHUNK;
    weft_type type;
    uint64_t right = 0, got = 0;
    if (!wi_data_try(data, call, why, bytes))
        return false;
    weft_reduce_type(WEFT_SUM, data->setup.type, &type); /* cannot fail if the call has not */
    wi_data_convert(type, 1, &data->before[chunks], &right);
    memcpy(&got, data->host_z, weft_type_size(type));
    if (got != right) {
        snprintf(why, bytes, "the sum of %zu elements has the bits %#" PRIx64 ", not %#" PRIx64, n,
                 got, right);
    }
    return got == right;
}

/* Each element is read once. */
static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    (void)rung;
    *facts = (wi_facts){.size = wi_size_of(data->setup.n),
                        .bytes = (double)wi_data_bytes(&data->setup),
                        .roof = WI_ROOF_READ};
}

const wi_climb wi_reduce_climb = {
    .ladder = &wi_reduce_ladder,
    .example = "sum",
    .type = WEFT_F32,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .describe = describe,
    .drop = wi_data_drop,
};
