/* SPDX-License-Identifier: Apache-2.0 */
/* The climb of layers, with the plainest of them: z = max(x, 0). */
#include "climb/data.h"
#include "nn/layers.h"
#include "weft/nn.h"

static weft_status make(const wi_setup *setup, void **problem) {
    return wi_data_make(setup, WI_DATA_PLACE, false, wi_data_bytes(setup), problem);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    return weft_activation_forward(s->ctx, WEFT_RELU, s->type, s->n, data->x, data->z);
}

static void expected(const wi_data *data, size_t first, size_t count, int64_t *k) {
    wi_data_draw(data, 0, first, count, k);
    for (size_t i = 0; i < count; i++)
        k[i] = k[i] > 0 ? k[i] : 0;
}

static bool check(void *problem, char *why, size_t bytes) {
    return wi_data_try(problem, call, why, bytes) && wi_data_compare(problem, expected, why, bytes);
}

const wi_climb wi_layers_climb = {
    .ladder = &wi_layers_ladder,
    .example = "ReLU",
    .type = WEFT_F32,
    .types = WI_FLOATS,
    .make = make,
    .call = call,
    .check = check,
    .describe = wi_data_describe_copy,
    .drop = wi_data_drop,
};
