/* SPDX-License-Identifier: Apache-2.0 */
/* random's climb: integers of any number of bits, or floats in [0, 1). */
#include <stdio.h>
#include <string.h>

#include "climb/data.h"
#include "random/random.h"

enum {
    CHUNK = 1 << 12
};

static weft_status make(const wi_setup *setup, void **problem) {
    return wi_data_make(setup, WI_DATA_PLACE, false, wi_data_bytes(setup), problem);
}

static bool has_uniform(weft_type type) {
    return type == WEFT_F32 || type == WEFT_F64;
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const s = &data->setup;
    return has_uniform(s->type) ? weft_random_uniform(s->ctx, s->type, s->n, s->seed, 0, data->z)
                                : weft_random_bits(s->ctx, s->type, s->n, s->seed, 0, data->z);
}

/* The same by the serial rung, of elements first ... first + n - 1. */
static weft_status make_serial(const wi_data *data, size_t first, size_t n, void *x) {
    const wi_setup *const s = &data->setup;
    const wi_random_op op = s->type == WEFT_F32   ? WI_RANDOM_UNIFORM_32
                            : s->type == WEFT_F64 ? WI_RANDOM_UNIFORM_64
                                                  : WI_RANDOM_BITS;
    const wi_random_args args = {
        .op = op, .type = s->type, .n = n, .seed = s->seed, .first = first, .x = x};
    return wi_random_serial(s->ctx, &args);
}

static weft_status serial(void *problem) {
    const wi_data *const data = problem;
    return make_serial(data, 0, data->setup.n, data->host_z);
}

/* Position alone makes an element, so the oracle makes them chunk by chunk. */
static bool check(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const size_t n = data->setup.n, size = weft_type_size(data->setup.type);
    uint64_t right[CHUNK];
    if (!wi_data_try(data, call, why, bytes))
        return false;
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t count = n - first < CHUNK ? n - first : CHUNK;
        make_serial(data, first, count, right);
        if (memcmp(right, (const char *)data->host_z + first * size, count * size) != 0) {
            snprintf(why, bytes, "elements %zu ... %zu are wrong", first, first + count - 1);
            return false;
        }
    }
    return true;
}

/* Each element is written once. */
static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    (void)rung;
    *facts = (wi_facts){.size = wi_size_of(data->setup.n),
                        .bytes = (double)wi_data_bytes(&data->setup),
                        .roof = WI_ROOF_WRITE};
}

const wi_climb wi_random_climb = {
    .ladder = &wi_random_ladder,
    .example = "random bits",
    .type = WEFT_U32,
    .types = WI_INTEGERS | WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .describe = describe,
    .drop = wi_data_drop,
};
