/* SPDX-License-Identifier: Apache-2.0 */
/* scan's climb: the inclusive sum. */
#include "core/data_climb.h"
#include "scan/scan.h"

#include <stdio.h>

static size_t array_bytes(const wi_case *c) {
    return c->n * weft_type_size(c->type);
}

static weft_status make(wi_case *c) {
    return wi_data_make(c, WI_DATA_PLACE, false, array_bytes(c));
}

static weft_status call(wi_case *c) {
    return weft_scan(c->ctx, WEFT_INCLUSIVE, WEFT_SUM, c->type, c->n, c->x, c->z, NULL);
}

static weft_status serial(wi_case *c) {
    const wi_data *data = c->expected;
    wi_scan_args args = {.op = WEFT_SUM,
                         .kind = WEFT_INCLUSIVE,
                         .type = c->type,
                         .n = c->n,
                         .x = data->host_x,
                         .y = data->host_z};
    return wi_scan_serial(c->ctx, &args);
}

static void expected(const wi_case *c, size_t first, size_t count, int64_t *k) {
    const wi_data *data = c->expected;
    int64_t sum = data->before[first / WI_DATA_CHUNK];
    wi_data_draw(c, 0, first, count, k);
    for (size_t i = 0; i < count; i++) {
        sum += k[i];
        k[i] = sum;
    }
}

static bool check(wi_case *c, char *why, size_t bytes) {
    if (wi_data_poison(c, array_bytes(c)) != WEFT_OK || call(c) != WEFT_OK ||
        wi_data_fetch(c, array_bytes(c)) != WEFT_OK) {
        snprintf(why, bytes, "%s", weft_message(c->ctx));
        return false;
    }
    return wi_data_compare(c, expected, why, bytes);
}

/* Each element read once and written once. */
static double bytes_moved(const wi_case *c) {
    return 2.0 * (double)array_bytes(c);
}

const wi_climb wi_scan_climb = {
    .ladder = &wi_scan_ladder,
    .example = "inclusive sum",
    .type = WEFT_F32,
    .roof = WI_ROOF_COPY,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .bytes = bytes_moved,
    .drop = wi_data_drop,
};
