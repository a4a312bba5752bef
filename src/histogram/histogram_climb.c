/* SPDX-License-Identifier: Apache-2.0 */
/* histogram's climb: elements spread evenly over 256 bins, or over all values of 16-bit integers.
 */
#include "core/data_climb.h"
#include "cpu/team.h"
#include "histogram/histogram.h"

#include <stdio.h>
#include <string.h>

/* Drawn for element i: its first bits are the number of its bin. */
static uint64_t draw(const wi_case *c, uint64_t i) {
    uint64_t z = (c->seed << 32 ^ i) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static bool counts_values(const wi_case *c) {
    return weft_type_size(c->type) <= 2 && !wi_type_is_float(c->type);
}

static size_t bin_count(const wi_case *c) {
    return c->type == WEFT_I16 || c->type == WEFT_U16 ? 65536 : 256;
}

static size_t counts_bytes(const wi_case *c) {
    return bin_count(c) * sizeof(uint64_t);
}

/* Floats cover [0, 1), integers all their values. */
static weft_bins bins_of(const wi_case *c) {
    const int bits = 8 * (int)weft_type_size(c->type);
    const double values = (double)((uint64_t)1 << (bits - 1)) * 2;
    weft_bins bins = {.count = bin_count(c), .lo = 0, .hi = 1};
    if (!wi_type_is_float(c->type)) {
        bins.lo = wi_type_is_signed(c->type) ? -values / 2 : 0;
        bins.hi = bins.lo + values;
    }
    return bins;
}

/* A number in [0, 1) of as many of the first bits as the type holds exactly. */
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
    const wi_case *const c = user;
    const wi_data *const data = c->expected;
    const size_t end = wi_team_share(c->n, rank + 1, size);
    for (size_t i = wi_team_share(c->n, rank, size); i < end; i++)
        put(c->type, draw(c, i), data->host_x, i);
}

static weft_status make(wi_case *c) {
    weft_status status = wi_data_make(c, WI_DATA_PLACE, false, counts_bytes(c));
    if (status != WEFT_OK)
        return status;
    const wi_data *data = c->expected;
    wi_team_run(c->ctx, c->ctx->threads, put_part, c);
    if (data->shared || c->n == 0)
        return WEFT_OK;
    status = weft_copy(c->ctx, c->x, data->host_x, c->n * weft_type_size(c->type));
    if (status != WEFT_OK)
        wi_data_drop(c);
    return status;
}

static weft_status call(wi_case *c) {
    const weft_bins bins = bins_of(c);
    return weft_histogram(c->ctx, c->type, c->n, 1, c->x, counts_values(c) ? NULL : &bins,
                          WEFT_OVERWRITE, WEFT_U64, c->z, NULL);
}

static weft_status serial(wi_case *c) {
    const wi_data *data = c->expected;
    const weft_bins bins = bins_of(c);
    const wi_histogram_args args = {.type = c->type,
                                    .n = c->n,
                                    .channels = 1,
                                    .x = data->host_x,
                                    .bins = wi_bins_of(c->type, counts_values(c) ? NULL : &bins),
                                    .wide = true,
                                    .counts = data->host_z};
    return wi_histogram_serial(c->ctx, &args);
}

static bool compare(const wi_case *c, const uint64_t *got, char *why, size_t bytes) {
    const size_t count = bin_count(c);
    uint64_t *const right = wi_host_alloc(counts_bytes(c));
    if (!right) {
        snprintf(why, bytes, "no memory to check %zu bins", count);
        return false;
    }
    memset(right, 0, counts_bytes(c));
    for (size_t i = 0; i < c->n; i++)
        right[draw(c, i) >> 48 >> (count == 256 ? 8 : 0)]++;
    size_t k = 0;
    while (k < count && got[k] == right[k])
        k++;
    if (k < count)
        snprintf(why, bytes, "bin %zu has %llu elements, should have %llu", k,
                 (unsigned long long)got[k], (unsigned long long)right[k]);
    wi_host_free(right);
    return k == count;
}

static bool check(wi_case *c, char *why, size_t bytes) {
    if (wi_data_poison(c, counts_bytes(c)) != WEFT_OK || call(c) != WEFT_OK ||
        wi_data_fetch(c, counts_bytes(c)) != WEFT_OK) {
        snprintf(why, bytes, "%s", weft_message(c->ctx));
        return false;
    }
    const wi_data *data = c->expected;
    return compare(c, data->host_z, why, bytes);
}

/* Each element read once; the counts are nothing beside them. */
static double bytes_moved(const wi_case *c) {
    return (double)c->n * (double)weft_type_size(c->type);
}

const wi_climb wi_histogram_climb = {
    .ladder = &wi_histogram_ladder,
    .example = "counts in 256 bins",
    .type = WEFT_U8,
    .roof = WI_ROOF_READ,
    .make = make,
    .call = call,
    .serial = serial,
    .check = check,
    .bytes = bytes_moved,
    .drop = wi_data_drop,
};
