/* SPDX-License-Identifier: Apache-2.0 */
/* map's climb: z = x + y. */
#include "core/data_climb.h"
#include "map/map.h"

#include <stdio.h>

static size_t array_bytes(const wi_case *c) {
    return c->n * weft_type_size(c->type);
}

static weft_status make(wi_case *c) {
    return wi_data_make(c, WI_DATA_PLACE, true, array_bytes(c));
}

weft_status wi_data_add(wi_case *c) {
    return weft_add(c->ctx, c->type, c->n, c->x, c->y, c->z);
}

weft_status wi_data_add_serial(wi_case *c) {
    const wi_data *data = c->expected;
    wi_map_args args = {.op = WI_MAP_ADD,
                        .type = c->type,
                        .rows = 1,
                        .cols = c->n,
                        .x = data->host_x,
                        .y = data->host_y,
                        .z = data->host_z,
                        .ldx = c->n,
                        .ldy = c->n,
                        .ldz = c->n};
    return wi_map_serial(c->ctx, &args);
}

static void expected(const wi_case *c, size_t first, size_t count, int64_t *k) {
    int64_t y[WI_DATA_CHUNK];
    wi_data_draw(c, 0, first, count, k);
    wi_data_draw(c, 1, first, count, y);
    for (size_t i = 0; i < count; i++) {
        k[i] += y[i];
    }
}

bool wi_data_add_check(wi_case *c, char *why, size_t bytes) {
    if (wi_data_poison(c, array_bytes(c)) != WEFT_OK || wi_data_add(c) != WEFT_OK ||
        wi_data_fetch(c, array_bytes(c)) != WEFT_OK) {
        snprintf(why, bytes, "%s", weft_message(c->ctx));
        return false;
    }
    return wi_data_compare(c, expected, why, bytes);
}

/* Two arrays read, one written. */
static double bytes_moved(const wi_case *c) {
    return 3.0 * (double)array_bytes(c);
}

const wi_climb wi_map_climb = {
    .ladder = &wi_map_ladder,
    .example = "add",
    .type = WEFT_F32,
    .roof = WI_ROOF_COPY,
    .make = make,
    .call = wi_data_add,
    .serial = wi_data_add_serial,
    .check = wi_data_add_check,
    .bytes = bytes_moved,
    .drop = wi_data_drop,
};
