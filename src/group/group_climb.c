/* SPDX-License-Identifier: Apache-2.0 */
/* The climbs of group: sums, and running sums, of segments of mixed lengths, one of eight of them
 * empty; sums of runs of equal keys of the same lengths. */
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
    const weft_status status = wi_data_make(setup, WI_DATA_PLACE, false, bytes, problem);
    return status == WEFT_OK
               ? wi_data_add_y(*problem, (wi_group_climb_segments(setup->n) + 1) * sizeof(uint64_t),
                               fill_offsets)
               : status;
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

/* ---- group_scan ---- */

static weft_status make_scan(const wi_setup *setup, void **problem) {
    const weft_status status =
        wi_data_make(setup, WI_DATA_PLACE, false, wi_data_bytes(setup), problem);
    return status == WEFT_OK
               ? wi_data_add_y(*problem, (wi_group_climb_segments(setup->n) + 1) * sizeof(uint64_t),
                               fill_offsets)
               : status;
}

static weft_status call_scan(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    return weft_scan_segments(setup->ctx, WEFT_INCLUSIVE, WEFT_SUM, setup->type, setup->n, data->x,
                              data->z, wi_group_climb_segments(setup->n), WEFT_U64, data->y);
}

static bool check_scan(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const uint64_t *const offsets = data->host_y;
    const size_t size = weft_type_size(data->setup.type);
    if (!wi_data_try(data, call_scan, why, bytes))
        return false;
    int64_t k = 0, sum = 0;
    for (size_t i = 0, s = 0; i < data->setup.n; i++) {
        uint64_t right = 0;
        for (; offsets[s] <= i; s++)
            sum = 0;
        wi_data_draw(data, 0, i, 1, &k);
        sum += k;
        wi_data_convert(data->setup.type, 1, &sum, &right);
        if (memcmp((const char *)data->host_z + i * size, &right, size) == 0)
            continue;
        snprintf(why, bytes, "element %zu of %zu is wrong", i, data->setup.n);
        return false;
    }
    return true;
}

/* Elements and offsets read once, elements written once. */
static void describe_scan(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    (void)rung;
    *facts = (wi_facts){.size = wi_size_of(data->setup.n),
                        .bytes = 2 * (double)wi_data_bytes(&data->setup) +
                                 8 * (double)wi_group_climb_segments(data->setup.n),
                        .roof = WI_ROOF_COPY};
}

const wi_climb wi_group_scan_climb = {
    .ladder = &wi_group_scan_ladder,
    .example = "sums in segments",
    .type = WEFT_F32,
    .make = make_scan,
    .call = call_scan,
    .check = check_scan,
    .describe = describe_scan,
    .drop = wi_data_drop,
};

/* ---- group_keys: y has the keys; z how many runs there are, their sums and their keys ---- */

static void fill_keys(void *user, int rank, int team) {
    const wi_data *const data = user;
    const size_t n = data->setup.n, segments = wi_group_climb_segments(n);
    const size_t end = wi_team_share(segments, rank + 1, team);
    for (size_t s = wi_team_share(segments, rank, team); s < end; s++) {
        const size_t stop = s + 1 < segments ? offset_of(s + 1) : n;
        for (size_t i = offset_of(s); i < stop; i++)
            ((uint32_t *)data->host_y)[i] = (uint32_t)s;
    }
}

static weft_status make_keys(const wi_setup *setup, void **problem) {
    const size_t room = sizeof(uint64_t) + setup->n * (sizeof(double) + sizeof(uint32_t));
    const weft_status status = wi_data_make(setup, WI_DATA_PLACE, false, room, problem);
    return status == WEFT_OK ? wi_data_add_y(*problem, setup->n * sizeof(uint32_t), fill_keys)
                             : status;
}

static weft_status call_keys(void *problem) {
    const wi_data *const data = problem;
    const wi_setup *const setup = &data->setup;
    uint64_t *const count = data->z;
    const weft_column column = {WEFT_SUM, setup->type, data->x, count + 1};
    return weft_reduce_by_key(setup->ctx, setup->n, sizeof(uint32_t), data->y, count + 1 + setup->n,
                              1, &column, count);
}

static bool check_keys(void *problem, char *why, size_t bytes) {
    wi_data *const data = problem;
    const size_t n = data->setup.n, segments = wi_group_climb_segments(n);
    const weft_type type = wi_group_climb_type(&data->setup);
    const size_t size = weft_type_size(type);
    const uint64_t *const count = data->host_z;
    const char *const sums = (const char *)(count + 1);
    const uint32_t *const keys = (const uint32_t *)(count + 1 + n);
    size_t run = 0;
    if (!wi_data_try(data, call_keys, why, bytes))
        return false;
    for (size_t s = 0; s < segments; s++) {
        const size_t first = offset_of(s), stop = s + 1 < segments ? offset_of(s + 1) : n;
        uint64_t right = 0;
        if (first == stop)
            continue;
        const int64_t sum = sum_of(data, first, stop);
        wi_data_convert(type, 1, &sum, &right);
        if (keys[run] != s || memcmp(sums + run * size, &right, size) != 0) {
            snprintf(why, bytes, "run %zu has a wrong key or sum", run);
            return false;
        }
        run++;
    }
    if (*count != run)
        snprintf(why, bytes, "%llu runs were found, and there are %zu", (unsigned long long)*count,
                 run);
    return *count == run;
}

/* Elements and keys read once, sums and keys of runs written once. */
static void describe_keys(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    const double runs = (double)wi_group_climb_segments(data->setup.n) * (PERIOD - 1) / PERIOD;
    const double key = sizeof(uint32_t),
                 sum = (double)weft_type_size(wi_group_climb_type(&data->setup));
    (void)rung;
    *facts = (wi_facts){.size = wi_size_of(data->setup.n),
                        .bytes = (double)wi_data_bytes(&data->setup) + key * (double)data->setup.n +
                                 runs * (key + sum),
                        .roof = WI_ROOF_READ};
}

const wi_climb wi_group_keys_climb = {
    .ladder = &wi_group_keys_ladder,
    .example = "sums by key",
    .type = WEFT_F32,
    .make = make_keys,
    .call = call_keys,
    .check = check_keys,
    .describe = describe_keys,
    .drop = wi_data_drop,
};
