/* SPDX-License-Identifier: Apache-2.0 */
/* reduce's climb: the sum, left in memory of the place. */
#include "core/data_climb.h"
#include "reduce/reduce.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    RESULT_BYTES = 8 /* no result is larger */
};

static weft_status make(wi_case *c) {
    return wi_data_make(c, WI_DATA_PLACE, false, RESULT_BYTES);
}

static weft_status call(wi_case *c) {
    return weft_reduce(c->ctx, WEFT_SUM, c->type, c->n, c->x, c->z);
}

static weft_status serial(wi_case *c) {
    const wi_data *data = c->expected;
    wi_reduce_args args = {
        .op = WI_RED_SUM, .type = c->type, .n = c->n, .x = data->host_x, .result = data->host_z};
    return wi_reduce_serial(c->ctx, &args);
}

/* The sum in the type that weft_reduce gives it: exact until the one rounding at its end. */
static bool check(wi_case *c, char *why, size_t bytes) {
    const wi_data *data = c->expected;
    weft_type type;
    if (weft_reduce_type(WEFT_SUM, c->type, &type) != WEFT_OK ||
        wi_data_poison(c, RESULT_BYTES) != WEFT_OK || call(c) != WEFT_OK ||
        wi_data_fetch(c, RESULT_BYTES) != WEFT_OK) {
        snprintf(why, bytes, "%s", weft_message(c->ctx));
        return false;
    }
    uint64_t right = 0, got = 0;
    size_t chunks = (c->n + WI_DATA_CHUNK - 1) / WI_DATA_CHUNK;
    wi_data_convert(type, 1, &data->before[chunks], &right);
    memcpy(&got, data->host_z, weft_type_size(type));
    if (got != right) {
        snprintf(why, bytes, "the sum of %zu elements has the bits %#" PRIx64 ", not %#" PRIx64,
                 c->n, got, right);
    }
    return got == right;
}

static double bytes_moved(const wi_case *c) {
    return (double)(c->n * weft_type_size(c->type));
}

const wi_climb wi_reduce_climb = {
    .ladder = &wi_reduce_ladder,
    .example = "sum",
    .type = WEFT_F32,
    .roof = WI_ROOF_READ,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .bytes = bytes_moved,
    .drop = wi_data_drop,
};
