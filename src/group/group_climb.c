/* SPDX-License-Identifier: Apache-2.0 */
/* group's climb: the sums of segments of mixed lengths, one of eight of them empty. */
#include <stdio.h>
#include <string.h>

#include "climb/data.h"
#include "cpu/team.h"
#include "exact/exact_error_climb.h"
#include "group/group.h"
#include "group/group_climb.h"

enum {
    PERIOD = 8, /* segments, after which the lengths repeat */
    PERIOD_ELEMENTS = 1024
};
static const size_t lengths[PERIOD] = {1, 2, 0, 10, 3, 100, 8, 900};

/* How many segments n elements have; the last may be cut short. */
size_t wi_group_climb_segments(size_t n) {
    size_t s = n / PERIOD_ELEMENTS * PERIOD, at = n / PERIOD_ELEMENTS * PERIOD_ELEMENTS;
    for (; at < n; s++)
        at += lengths[s % PERIOD];
    return s;
}

static size_t offset_of(size_t segment) {
    size_t at = segment / PERIOD * PERIOD_ELEMENTS;
    for (size_t s = 0; s < segment % PERIOD; s++)
        at += lengths[s];
    return at;
}

static void fill_offsets(void *user, int rank, int team) {
    const wi_data *const data = user;
    const size_t segments = wi_group_climb_segments(data->setup.n);
    uint64_t *const offsets = data->host_y;
    const size_t end = wi_team_share(segments, rank + 1, team);
    for (size_t s = wi_team_share(segments, rank, team); s < end; s++)
        offsets[s] = offset_of(s);
    if (rank == 0)
        offsets[segments] = data->setup.n;
}

weft_type wi_group_climb_type(const wi_setup *setup) {
    weft_type type = WEFT_F64;
    weft_reduce_type(WEFT_SUM, setup->type, &type);
    return type;
}

/* x has the elements, y the offsets, z the sums. */
weft_status wi_group_climb_make(const wi_setup *setup, void **problem) {
    const size_t bytes =
        wi_group_climb_segments(setup->n) * weft_type_size(wi_group_climb_type(setup));
    weft_status status = wi_data_make(setup, WI_DATA_PLACE, false, bytes, problem);
    if (status != WEFT_OK)
        return status;
    status = wi_data_add_y(*problem, (wi_group_climb_segments(setup->n) + 1) * sizeof(uint64_t),
                           fill_offsets);
    if (status != WEFT_OK)
        wi_data_drop(*problem);
    return status;
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    return weft_reduce_segments(setup->ctx, WEFT_SUM, setup->type, setup->n, data->x,
                                wi_group_climb_segments(setup->n), WEFT_U64, data->y, data->z);
}

static weft_status serial(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    const wi_group_args args = {.op = WI_RED_SUM,
                                .type = setup->type,
                                .n = setup->n,
                                .segments = wi_group_climb_segments(setup->n),
                                .x = data->host_x,
                                .starts = data->host_y,
                                .start_bytes = sizeof(uint64_t),
                                .y = data->host_z};
    return setup->n > 0 ? wi_group_serial(setup->ctx, &args) : WEFT_OK;
}

/* The sum of elements first ... end - 1 as a number of eighths, or of ones in integers. */
static int64_t sum_of(const wi_data *data, size_t first, size_t end) {
    int64_t sum = 0, k[WI_DATA_CHUNK];
    while (first < end) {
        const size_t count = end - first < WI_DATA_CHUNK ? end - first : WI_DATA_CHUNK;
        wi_data_draw(data, 0, first, count, k);
        for (size_t i = 0; i < count; i++)
            sum += k[i];
        first += count;
    }
    return sum;
}

bool wi_group_climb_check(void *problem, weft_status (*run)(void *problem), char *why,
                          size_t bytes) {
    wi_data *const data = problem;
    const uint64_t *const offsets = data->host_y;
    const size_t segments = wi_group_climb_segments(data->setup.n);
    const weft_type type = wi_group_climb_type(&data->setup);
    const size_t size = weft_type_size(type);
    if (!wi_data_try(data, run, why, bytes))
        return false;
    for (size_t s = 0; s < segments; s++) {
        const int64_t sum = sum_of(data, offsets[s], offsets[s + 1]);
        uint64_t right = 0;
        wi_data_convert(type, 1, &sum, &right);
        const char *const got = (const char *)data->host_z + s * size;
        if (memcmp(got, &right, size) != 0) {
            snprintf(why, bytes, "sum %zu of %zu is %.9g, should be %.9g", s, segments,
                     wi_element_value(type, got), wi_element_value(type, &right));
            return false;
        }
    }
    return true;
}

static bool check(void *problem, char *why, size_t bytes) {
    return wi_group_climb_check(problem, call, why, bytes);
}

/* One segment holds all. */
static weft_status add_up(const wi_setup *setup, size_t n, const void *x, void *sum) {
    const uint64_t offsets[2] = {0, n};
    return weft_reduce_segments(setup->ctx, WEFT_SUM, setup->type, n, x, 1, WEFT_U64, offsets, sum);
}

static weft_status error(const wi_setup *setup, double *ulps) {
    return wi_error_of_sum(setup, wi_group_climb_type(setup), add_up, ulps);
}

/* Elements and offsets read once, sums written once. */
void wi_group_climb_describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    const double segments = (double)wi_group_climb_segments(data->setup.n);
    (void)rung;
    *facts =
        (wi_facts){.size = wi_size_of(data->setup.n),
                   .bytes = (double)wi_data_bytes(&data->setup) +
                            segments * (double)(sizeof(uint64_t) +
                                                weft_type_size(wi_group_climb_type(&data->setup))),
                   .roof = WI_ROOF_READ};
}

const wi_climb wi_group_climb = {
    .ladder = &wi_group_ladder,
    .example = "sums of segments",
    .type = WEFT_F32,
    .make = wi_group_climb_make,
    .call = call,
    .serial = serial,
    .check = check,
    .error = error,
    .describe = wi_group_climb_describe,
    .drop = wi_data_drop,
};
