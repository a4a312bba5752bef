/* SPDX-License-Identifier: Apache-2.0 */
/* blend's climb: two images of n elements in one row. */
#include "blend/blend.h"
#include "climb/data.h"

static weft_status make(const wi_setup *setup, void **problem) {
    return wi_data_make(setup, WI_DATA_PLACE, true, wi_data_bytes(setup), problem);
}

/* 2 x - y: sums of small whole numbers, and of eighths, are exact. */
static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const weft_blending b = {.type = data->setup.type,
                             .width = data->setup.n,
                             .height = 1,
                             .channels = 1,
                             .weight_a = 2,
                             .weight_b = -1};
    return weft_blend(data->setup.ctx, &b, data->x, data->y, NULL, data->z);
}

static void expected(const wi_data *data, size_t first, size_t count, int64_t *k) {
    int64_t y[WI_DATA_CHUNK];
    const int64_t most = data->setup.type == WEFT_U8 ? 255 : 65535;
    wi_data_draw(data, 0, first, count, k);
    wi_data_draw(data, 1, first, count, y);
    for (size_t i = 0; i < count; i++) {
        k[i] = 2 * k[i] - y[i];
        if (!wi_type_is_float(data->setup.type))
            k[i] = k[i] < 0 ? 0 : k[i] > most ? most : k[i];
    }
}

static bool check(void *problem, char *why, size_t bytes) {
    return wi_data_try(problem, call, why, bytes) && wi_data_compare(problem, expected, why, bytes);
}

/* Both images are read and one is written. */
static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    (void)rung;
    *facts = (wi_facts){.size = wi_size_of(data->setup.n),
                        .bytes = 3 * (double)wi_data_bytes(&data->setup),
                        .roof = WI_ROOF_COPY};
}

const wi_climb wi_blend_climb = {
    .ladder = &wi_blend_ladder,
    .example = "2 x - y of images",
    .type = WEFT_U8,
    .types = WI_TYPE(WEFT_U8) | WI_TYPE(WEFT_U16) | WI_TYPE(WEFT_F32),
    .make = make,
    .call = call,
    .check = check,
    .describe = describe,
    .drop = wi_data_drop,
};
