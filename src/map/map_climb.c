/* SPDX-License-Identifier: Apache-2.0 */
/* map's climb: z = x + y; and stage's, the same on pageable host memory, computed on a GPU place.
 */
#include "climb/data.h"
#include "core/stage.h"
#include "map/map.h"

static weft_status make(const wi_setup *setup, void **problem) {
    return wi_data_make(setup, WI_DATA_PLACE, true, wi_data_bytes(setup), problem);
}

static weft_status make_on_host(const wi_setup *setup, void **problem) {
    return wi_data_make(setup, WI_DATA_HOST, true, wi_data_bytes(setup), problem);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    return weft_add(setup->ctx, setup->type, setup->n, data->x, data->y, data->z);
}

static weft_status serial(void *problem) {
    const wi_data *const data = problem;
    const size_t n = data->setup.n;
    const wi_map_args args = {.op = WI_MAP_ADD,
                              .type = data->setup.type,
                              .rows = 1,
                              .cols = n,
                              .x = data->host_x,
                              .y = data->host_y,
                              .z = data->host_z,
                              .ldx = n,
                              .ldy = n,
                              .ldz = n};
    return wi_map_serial(data->setup.ctx, &args);
}

static void expected(const wi_data *data, size_t first, size_t count, int64_t *k) {
    int64_t y[WI_DATA_CHUNK];
    wi_data_draw(data, 0, first, count, k);
    wi_data_draw(data, 1, first, count, y);
    for (size_t i = 0; i < count; i++) {
        k[i] += y[i];
    }
}

static bool check(void *problem, char *why, size_t bytes) {
    return wi_data_try(problem, call, why, bytes) && wi_data_compare(problem, expected, why, bytes);
}

/* x and y are copied to the device; z is copied back at the same time, in the other direction of a
 * full-duplex link. */
static void describe_travel(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    (void)rung;
    *facts = (wi_facts){.size = wi_size_of(data->setup.n),
                        .bytes = 2.0 * (double)wi_data_bytes(&data->setup),
                        .roof = WI_ROOF_LINK,
                        .on_host = true};
}

const wi_climb wi_map_climb = {
    .ladder = &wi_map_ladder,
    .example = "add",
    .type = WEFT_F32,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .describe = wi_data_describe_join,
    .drop = wi_data_drop,
};

const wi_climb wi_stage_climb = {
    .ladder = &wi_stage_ladder,
    .example = "add of host arrays",
    .type = WEFT_F32,
    .make = make_on_host,
    .call = call,
    .serial = serial,
    .check = check,
    .describe = describe_travel,
    .drop = wi_data_drop,
};
