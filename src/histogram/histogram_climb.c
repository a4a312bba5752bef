/* SPDX-License-Identifier: Apache-2.0 */
/* histogram's climb: elements spread evenly over 256 bins, or over all values of 16-bit integers.
 */
#include "climb/data.h"
#include "cpu/team.h"
#include "histogram/histogram.h"

#include <stdio.h>
#include <string.h>

/* A random number for element i; its first bits are the number of the bin. */
static uint64_t draw(const wi_setup *setup, uint64_t i) {
    uint64_t z = (setup->seed << 32 ^ i) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static bool counts_values(weft_type type) {
    return weft_type_size(type) <= 2 && !wi_type_is_float(type);
}

static size_t bin_count(weft_type type) {
    return type == WEFT_I16 || type == WEFT_U16 ? 65536 : 256;
}

/* Floats cover [0, 1), integers all their values. */
static weft_bins bins_of(weft_type type) {
    const int bits = 8 * (int)weft_type_size(type);
    const double values = (double)((uint64_t)1 << (bits - 1)) * 2;
    weft_bins bins = {.count = bin_count(type), .lo = 0, .hi = 1};
    if (!wi_type_is_float(type)) {
        bins.lo = wi_type_is_signed(type) ? -values / 2 : 0;
        bins.hi = bins.lo + values;
    }
    return bins;
}

/* A number in [0, 1) made of as many of the first bits as the type holds exactly. */
static void put_float(weft_type type, uint64_t drawn, void *x, size_t i) {
    if (type == WEFT_F64)
        ((double *)x)[i] = (double)(drawn >> 11) * 0x1p-53;
    else if (type == WEFT_F32)
        ((float *)x)[i] = (float)(drawn >> 40) * 0x1p-24f;
    else if (type == WEFT_F16)
        ((weft_f16 *)x)[i] = weft_f16_from_float((float)(drawn >> 53) * 0x1p-11f);
    else
        ((weft_bf16 *)x)[i] = weft_bf16_from_float((float)(drawn >> 56) * 0x1p-8f);
}

static void put(weft_type type, uint64_t drawn, void *x, size_t i) {
    if (wi_type_is_signed(type))
        drawn ^= (uint64_t)1 << 63;
    if (wi_type_is_float(type))
        put_float(type, drawn, x, i);
    else if (weft_type_size(type) == 1)
        ((uint8_t *)x)[i] = (uint8_t)(drawn >> 56);
    else if (weft_type_size(type) == 2)
        ((uint16_t *)x)[i] = (uint16_t)(drawn >> 48);
    else if (weft_type_size(type) == 4)
        ((uint32_t *)x)[i] = (uint32_t)(drawn >> 32);
    else
        ((uint64_t *)x)[i] = drawn;
}

static void put_part(void *user, int rank, int size) {
    const wi_data *const data = user;
    const wi_setup *const setup = &data->setup;
    const size_t end = wi_team_share(setup->n, rank + 1, size);
    for (size_t i = wi_team_share(setup->n, rank, size); i < end; i++)
        put(setup->type, draw(setup, i), data->host_x, i);
}

static weft_status make(const wi_setup *setup, void **problem) {
    return wi_data_make_filled(setup, bin_count(setup->type) * sizeof(uint64_t), put_part, problem);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    const weft_bins bins = bins_of(setup->type);
    return weft_histogram(setup->ctx, setup->type, setup->n, 1, data->x,
                          counts_values(setup->type) ? NULL : &bins, WEFT_OVERWRITE, WEFT_U64,
                          data->z, NULL);
}

static weft_status serial(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    const weft_bins bins = bins_of(setup->type);
    const wi_histogram_args args = {
        .type = setup->type,
        .n = setup->n,
        .channels = 1,
        .x = data->host_x,
        .bins = wi_bins_of(setup->type, counts_values(setup->type) ? NULL : &bins),
        .wide = true,
        .counts = data->host_z};
    return wi_histogram_serial(setup->ctx, &args);
}

static bool compare(const wi_data *data, char *why, size_t bytes) {
    const wi_setup *const setup = &data->setup;
    const size_t count = bin_count(setup->type);
    const uint64_t *const got = data->host_z;
    uint64_t *const right = wi_host_alloc(data->z_bytes);
    if (!right) {
        snprintf(why, bytes, "no memory to check %zu bins", count);
        return false;
    }
    memset(right, 0, data->z_bytes);
    for (size_t i = 0; i < setup->n; i++)
        right[draw(setup, i) >> 48 >> (count == 256 ? 8 : 0)]++;
    size_t k = 0;
    while (k < count && got[k] == right[k])
        k++;
    if (k < count)
        snprintf(why, bytes, "bin %zu has %llu elements, should have %llu", k,
                 (unsigned long long)got[k], (unsigned long long)right[k]);
    wi_host_free(right);
    return k == count;
}

static bool check(void *problem, char *why, size_t bytes) {
    return wi_data_try(problem, call, why, bytes) && compare(problem, why, bytes);
}

const wi_climb wi_histogram_climb = {
    .ladder = &wi_histogram_ladder,
    .example = "counts in 256 bins",
    .type = WEFT_U8,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .describe = wi_data_describe_read,
    .drop = wi_data_drop,
};
