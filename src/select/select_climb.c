/* SPDX-License-Identifier: Apache-2.0 */
/* select's climb: the elements above their middle. */
#include "climb/data.h"
#include "select/select.h"

#include <stdio.h>
#include <string.h>

enum {
    MIDDLE_UNSIGNED = 63 /* of k for unsigned types; for signed ones it is 0 */
};

static bool has_negatives(weft_type type) {
    return wi_type_is_float(type) || wi_type_is_signed(type);
}

static int64_t middle_of(weft_type type) {
    return has_negatives(type) ? 0 : MIDDLE_UNSIGNED;
}

static weft_predicate above_middle(weft_type type) {
    weft_predicate p = {.test = WEFT_GT, .type = type};
    const int64_t middle = middle_of(type);
    wi_data_convert(type, 1, &middle, &p.a);
    return p;
}

/* The offset of the count in z: after the output array. */
static size_t count_at(const wi_setup *setup) {
    return (wi_data_bytes(setup) + 7) / 8 * 8;
}

static uint64_t *count_in(const wi_setup *setup, void *z) {
    return (uint64_t *)(void *)((char *)z + count_at(setup));
}

static weft_status make(const wi_setup *setup, void **problem) {
    const size_t z_bytes = count_at(setup) + sizeof(uint64_t);
    return wi_data_make(setup, WI_DATA_PLACE, false, z_bytes, problem);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    return weft_select(setup->ctx, above_middle(setup->type), setup->n, data->x, data->z,
                       count_in(setup, data->z));
}

static weft_status serial(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    const weft_predicate p = above_middle(setup->type);
    const wi_select_args args = {
        .job = WI_SELECT_KEEP,
        .n = setup->n,
        .tested = data->host_x,
        .tested_bytes = weft_type_size(setup->type),
        .range = wi_select_range_of(&p),
        .x = data->host_x,
        .unit = weft_type_size(setup->type),
        .units = 1,
        .kept = data->host_z,
        .count = count_in(setup, data->host_z),
    };
    return wi_select_serial(setup->ctx, &args);
}

/* Draws the input again, chunk by chunk, and checks that each wanted element is at its place in the
 * output. */
static bool compare(const wi_data *data, char *why, size_t bytes) {
    const wi_setup *const setup = &data->setup;
    const size_t size = weft_type_size(setup->type), n = setup->n;
    const int64_t middle = middle_of(setup->type);
    const char *const z = data->host_z;
    uint64_t kept = 0, count;
    memcpy(&count, z + count_at(setup), sizeof count);
    for (size_t first = 0; first < n; first += WI_DATA_CHUNK) {
        int64_t k[WI_DATA_CHUNK], right[WI_DATA_CHUNK];
        const size_t left = n - first, drawn = left < WI_DATA_CHUNK ? left : WI_DATA_CHUNK;
        size_t wanted = 0;
        wi_data_draw(data, 0, first, drawn, k);
        for (size_t i = 0; i < drawn; i++) {
            if (k[i] > middle)
                k[wanted++] = k[i];
        }
        wi_data_convert(setup->type, wanted, k, right);
        if (memcmp(z + kept * size, right, wanted * size) != 0) {
            snprintf(why, bytes, "an element between %zu and %zu is not the one kept there",
                     (size_t)kept, (size_t)kept + wanted);
            return false;
        }
        kept += wanted;
    }
    if (count != kept) {
        snprintf(why, bytes, "the count is %zu, should be %zu", (size_t)count, (size_t)kept);
        return false;
    }
    return true;
}

static bool check(void *problem, char *why, size_t bytes) {
    return wi_data_try(problem, call, why, bytes) && compare(problem, why, bytes);
}

/* Each element is read once; those kept, 63 of 127, are written once. */
static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    (void)rung;
    *facts = (wi_facts){.size = wi_size_of(data->setup.n),
                        .bytes = (1 + 63.0 / 127) * (double)wi_data_bytes(&data->setup),
                        .roof = WI_ROOF_COPY};
}

const wi_climb wi_select_climb = {
    .ladder = &wi_select_ladder,
    .example = "above the middle",
    .type = WEFT_F32,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .describe = describe,
    .drop = wi_data_drop,
};
