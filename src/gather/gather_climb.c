/* SPDX-License-Identifier: Apache-2.0 */
/* The climbs of gather and scatter: all elements of an array, at positions in no order. */
#include <stdio.h>
#include <string.h>

#include "climb/data.h"
#include "cpu/team.h"
#include "gather/gather.h"

/* A permutation of 0 ... n - 1 without an array: a bijection of the next power of two, which is
 * applied until the result is below n. */
static uint64_t place_of(size_t n, uint64_t i) {
    uint64_t mask = 1;
    while (mask < n)
        mask *= 2;
    mask -= 1;
    do {
        i = (i * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u) & mask;
        i ^= i >> 7;
        i = (i * 0xD1B54A32D192ED03u) & mask;
    } while (i >= n);
    return i;
}

static void fill_share(void *user, int rank, int size) {
    const wi_data *const data = user;
    const size_t n = data->setup.n, end = wi_team_share(n, rank + 1, size);
    for (size_t i = wi_team_share(n, rank, size); i < end; i++)
        ((uint64_t *)data->host_y)[i] = place_of(n, i);
}

/* x has the elements and y the indices. z gets the gathered elements, this many bytes with padding,
 * and after them 8 bytes for `bad`. */
static size_t gathered_bytes(const wi_setup *setup) {
    return (wi_data_bytes(setup) + 7) / 8 * 8;
}

static weft_status make(const wi_setup *setup, void **problem) {
    const weft_status status =
        wi_data_make(setup, WI_DATA_PLACE, false, gathered_bytes(setup) + 8, problem);
    return status == WEFT_OK ? wi_data_add_y(*problem, setup->n * sizeof(uint64_t), fill_share)
                             : status;
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    return weft_gather(setup->ctx, setup->n, weft_type_size(setup->type), WEFT_U64, data->y,
                       setup->n, data->x, data->z,
                       (uint64_t *)(void *)((char *)data->z + gathered_bytes(setup)));
}

static weft_status serial(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    const wi_gather_args args = {.n = setup->n,
                                 .m = setup->n,
                                 .width = weft_type_size(setup->type),
                                 .index_type = WEFT_U64,
                                 .index = data->host_y,
                                 .x = data->host_x,
                                 .y = data->host_z};
    return wi_gather_serial(setup->ctx, &args);
}

static void expected(const wi_data *data, size_t first, size_t count, int64_t *k) {
    for (size_t i = 0; i < count; i++)
        wi_data_draw(data, 0, place_of(data->setup.n, first + i), 1, &k[i]);
}

static bool check(void *problem, char *why, size_t bytes) {
    return wi_data_try(problem, call, why, bytes) && wi_data_compare(problem, expected, why, bytes);
}

/* Indices and elements read once, elements written once. */
static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    (void)rung;
    *facts =
        (wi_facts){.size = wi_size_of(data->setup.n),
                   .bytes = 2.0 * (double)wi_data_bytes(&data->setup) + 8.0 * (double)data->setup.n,
                   .roof = WI_ROOF_COPY};
}

const wi_climb wi_gather_climb = {
    .ladder = &wi_gather_ladder,
    .example = "in another order",
    .type = WEFT_F32,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .describe = describe,
    .drop = wi_data_drop,
};

/* ---- scatter: the same arrays ---- */

static weft_status call_scatter(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    return weft_scatter(setup->ctx, setup->n, weft_type_size(setup->type), data->x, WEFT_U64,
                        data->y, WEFT_REPEATS_ANY, setup->n, data->z,
                        (uint64_t *)(void *)((char *)data->z + gathered_bytes(setup)));
}

static bool check_scatter(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const size_t n = data->setup.n, size = weft_type_size(data->setup.type);
    if (!wi_data_try(data, call_scatter, why, bytes))
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *const from = (const char *)data->host_x + i * size;
        const uint64_t to = place_of(n, i);
        if (memcmp((const char *)data->host_z + to * size, from, size) == 0)
            continue;
        snprintf(why, bytes, "element %zu of %zu is not at position %llu", i, n,
                 (unsigned long long)to);
        return false;
    }
    return true;
}

const wi_climb wi_scatter_climb = {
    .ladder = &wi_scatter_ladder,
    .example = "to another order",
    .type = WEFT_F32,
    .make = make,
    .call = call_scatter,
    .check = check_scatter,
    .describe = describe,
    .drop = wi_data_drop,
};
